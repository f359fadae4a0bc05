#!/usr/bin/env python3
# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A planner in small: says what it would think about, whenever that changes."""

import contextlib

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile

from thinking_policy.msg import ThinkingActivations, ThinkingTaxonomy


class Planner(Node):
    def __init__(self):
        super().__init__('planner')
        self.directives, self.active = {}, set()
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.create_subscription(ThinkingTaxonomy, 'thinking/taxonomy', self.learn, latched)
        self.create_subscription(ThinkingActivations, 'thinking/activations', self.plan, 10)

    def learn(self, taxonomy):
        self.directives = dict(zip(taxonomy.id, taxonomy.directive, strict=True))

    def plan(self, message):
        if not self.directives:  # it is latched: it comes before long
            return
        active = {activity.id for activity in message.activations if activity.active}
        for id in sorted(active - self.active):
            # Here a planner would prefer safer actions, or a language model get this as a prompt.
            print(f'{id}: {self.directives.get(id, "")}', flush=True)
        self.active = active


if __name__ == '__main__':
    rclpy.init()
    with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin(Planner())
