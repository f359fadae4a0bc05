# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The lean executor runs everything that rclpy's runs, with real nodes."""

from __future__ import annotations

import time

import pytest
import rclpy
from rclpy.callback_groups import CallbackGroup
from rclpy.context import Context
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import String
from std_srvs.srv import Trigger

from thinking_policy.ros.lean_executor import LeanExecutor


@pytest.fixture
def context():
    context = Context()
    rclpy.init(context=context, signal_handler_options=SignalHandlerOptions.NO)
    yield context
    rclpy.try_shutdown(context=context)


@pytest.fixture
def node(context):
    node = Node('lean', context=context, use_global_arguments=False)
    yield node
    node.destroy_node()


@pytest.fixture
def executor(context, node):
    executor = LeanExecutor(context=context)
    executor.add_node(node)
    yield executor
    executor.shutdown()


def spin_until(executor, condition):
    deadline = time.monotonic() + 20.0
    executor.get_nodes()[0].create_timer(0.05, lambda: None)  # so that no wait is for ever
    while not condition():
        assert time.monotonic() < deadline
        executor.spin_once()


def test_timers_subscriptions_and_services_are_run(node, executor):
    ticks, heard, answers = [], [], []
    node.create_timer(0.01, lambda: ticks.append(1))
    node.create_subscription(String, 'words', lambda m: heard.append(m.data), 10)
    publisher = node.create_publisher(String, 'words', 10)

    def answer(request, response):
        response.success = True
        return response

    node.create_service(Trigger, 'trigger', answer)
    client = node.create_client(Trigger, 'trigger')
    spin_until(executor, lambda: publisher.get_subscription_count() and client.service_is_ready())
    publisher.publish(String(data='word'))
    client.call_async(Trigger.Request()).add_done_callback(
        lambda future: answers.append(future.result().success)
    )
    spin_until(executor, lambda: len(ticks) > 5 and heard and answers)
    assert heard == ['word']
    assert answers == [True]


def test_guard_conditions_tasks_and_events_of_the_middleware_are_run(node, executor):
    triggered, done, events = [], [], []
    guard = node.create_guard_condition(lambda: triggered.append(1))
    guard.trigger()
    executor.create_task(lambda: done.append(1))
    node.create_publisher(
        String,
        'words',
        QoSProfile(depth=1),
        event_callbacks=PublisherEventCallbacks(incompatible_qos=events.append),
    )
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    node.create_subscription(String, 'words', lambda m: None, latched)
    spin_until(executor, lambda: triggered and done and events)
    assert len(triggered) == 1


def test_a_task_from_another_thread_wakes_it(node, executor):
    done = []
    executor.create_task(lambda: done.append(1))
    executor.spin_once()  # nothing else would end this wait
    while not done:
        executor.spin_once()


def test_what_a_group_withholds_is_not_taken(node, executor):
    class Closed(CallbackGroup):
        def can_execute(self, entity):
            return False

        def beginning_execution(self, entity):
            return False

        def ending_execution(self, entity):
            pass

    heard = []
    subscription = node.create_subscription(
        String, 'words', heard.append, 10, callback_group=Closed()
    )
    publisher = node.create_publisher(String, 'words', 10)
    ticks = []
    node.create_timer(0.01, lambda: ticks.append(1))
    spin_until(executor, publisher.get_subscription_count)
    publisher.publish(String(data='word'))
    count = len(ticks)
    spin_until(executor, lambda: len(ticks) > count + 5)
    assert heard == []
    with subscription.handle:
        assert subscription.handle.take_message(String, False)[0].data == 'word'


def test_an_error_in_a_callback_comes_out_and_the_next_round_works(node, executor):
    calls = []

    def fail():
        calls.append(1)
        raise ValueError('bad')

    timer = node.create_timer(0.01, fail)
    with pytest.raises(ValueError, match='bad'):
        spin_until(executor, lambda: False)
    timer.cancel()
    ticks = []
    node.create_timer(0.01, lambda: ticks.append(1))
    spin_until(executor, lambda: len(ticks) > 2)
    assert calls == [1]


def test_the_end_of_the_context_ends_the_wait(node, executor, context):
    rclpy.try_shutdown(context=context)
    with pytest.raises(ExternalShutdownException):
        executor.spin_once()
