# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Reads what robots recorded: rosbag2, ROS 1 bags and tables."""

from thinking_policy.bags.errors import BagError
from thinking_policy.bags.reader import Bag, BagTopic, open_bag

__all__ = ['Bag', 'BagError', 'BagTopic', 'open_bag']
