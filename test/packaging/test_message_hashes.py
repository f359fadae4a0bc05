# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A changed field changes the type hash, and with it old bags and other robots fall silent.

`type_hashes.json` is frozen: a value there changes only together with the package's version
and a word in the release notes. Names, types and order of the fields count; comments do not.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

rclpy = pytest.importorskip('rclpy')

HASHES = json.loads((Path(__file__).parent / 'type_hashes.json').read_text())


@pytest.fixture(scope='module')
def node() -> Iterator[object]:
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node('type_hashes', context=context)
    yield node
    node.destroy_node()
    rclpy.shutdown(context=context)


@pytest.mark.parametrize('name', HASHES)
def test_a_live_publisher_announces_the_frozen_type_hash(node, name):
    message_type = getattr(importlib.import_module('thinking_policy.msg'), name)
    topic = f'/frozen/{name}'
    publisher = node.create_publisher(message_type, topic, 1)
    (endpoint,) = node.get_publishers_info_by_topic(topic)
    assert endpoint.topic_type == f'thinking_policy/msg/{name}'
    assert str(endpoint.topic_type_hash) == HASHES[name]
    node.destroy_publisher(publisher)


def test_every_message_of_the_package_is_frozen(checkout):
    assert sorted(HASHES) == sorted(path.stem for path in (checkout / 'msg').glob('*.msg'))
