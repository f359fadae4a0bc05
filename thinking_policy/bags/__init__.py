# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Reads what robots recorded: rosbag2, ROS 1 bags and tables.

A bag is opened whatever its storage (`reader`), its messages come out as raw CDR in order of
record time, and are replayed tick by tick (`lockstep`) into situations (`replay`): the ones
that a live node makes of the same bag. `from_csv` turns a table into a bag.
"""

from thinking_policy.bags.errors import BagError
from thinking_policy.bags.reader import Bag, BagTopic, open_bag
from thinking_policy.bags.replay import Replay, lockstep, replay_grid, situations_of

__all__ = [
    'Bag',
    'BagError',
    'BagTopic',
    'Replay',
    'lockstep',
    'open_bag',
    'replay_grid',
    'situations_of',
]
