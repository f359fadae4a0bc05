# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Bags written by rosbags, in every storage that robots leave behind."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from rosbags.rosbag1 import Writer as Ros1Writer
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND  # a multiple of every tick period used here

KINDS = ('sqlite3', 'mcap', 'mcap-zstd', 'file-zstd', 'message-zstd', 'ros1', 'ros1-lz4')


class Messages:
    """Serialized messages with recognizable numbers."""

    def __init__(self):
        self.store = get_typestore(Stores.ROS2_JAZZY)
        self.ros1 = get_typestore(Stores.ROS1_NOETIC)

    def define(self, name, text):
        self.store.register(get_types_from_msg(text, name))

    def make(self, store, name, *values):
        return store.types[name](*values)

    def header(self, stamp_ns, store=None):
        store = store or self.store
        time = self.make(
            store, 'builtin_interfaces/msg/Time', stamp_ns // SECOND, stamp_ns % SECOND
        )
        sequence = (7,) if store is self.ros1 else ()
        return self.make(store, 'std_msgs/msg/Header', *sequence, time, 'frame')

    def temperature(self, value, stamp_ns=0, *, ros1=False):
        store = self.ros1 if ros1 else self.store
        name = 'sensor_msgs/msg/Temperature'
        message = self.make(store, name, self.header(stamp_ns, store), value, 0.0)
        serialize = store.serialize_ros1 if ros1 else store.serialize_cdr
        return bytes(serialize(message, name))

    def simple(self, name, value):
        return bytes(self.store.serialize_cdr(self.make(self.store, name, value), name))

    def clock(self, stamp_ns):
        time = self.make(
            self.store, 'builtin_interfaces/msg/Time', stamp_ns // SECOND, stamp_ns % SECOND
        )
        return self.simple('rosgraph_msgs/msg/Clock', time)

    def joints(self, names, effort, velocity=()):
        message = self.make(
            self.store,
            'sensor_msgs/msg/JointState',
            self.header(0),
            list(names),
            np.zeros(0),
            np.array(velocity, np.float64),
            np.array(effort, np.float64),
        )
        return bytes(self.store.serialize_cdr(message, 'sensor_msgs/msg/JointState'))


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope='session')
def messages():
    return Messages()


@pytest.fixture(scope='session')
def decoded(messages):
    """Return a function that reads the number in a Temperature, by rosbags."""
    name = 'sensor_msgs/msg/Temperature'
    return lambda raw: messages.store.deserialize_cdr(raw, name).temperature


@pytest.fixture(scope='session')
def snapshot():
    """Return a function that says everything about the files in a folder."""

    def look(folder):
        return {
            str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
            if path.is_file()
            else None
            for path in sorted(folder.rglob('*'))
        }

    return look


@pytest.fixture
def write_bag(tmp_path, messages):
    """Return a function that writes (topic, type, record time, raw) rows as a bag."""

    def write(rows, kind='sqlite3', name='bag'):
        if kind.startswith('ros1'):
            return write_ros1(rows, kind, tmp_path / f'{name}.bag', messages.ros1)
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        plugin = StoragePlugin.MCAP if kind.startswith('mcap') else StoragePlugin.SQLITE3
        writer = Writer(path, version=8, storage_plugin=plugin)
        modes = {
            'mcap-zstd': CompressionMode.STORAGE,
            'file-zstd': CompressionMode.FILE,
            'message-zstd': CompressionMode.MESSAGE,
        }
        if kind in modes:
            writer.set_compression(modes[kind], CompressionFormat.ZSTD)
        with writer:
            connections = {}
            for topic, type_name, stamp, raw in rows:
                if (topic, type_name) not in connections:
                    connections[topic, type_name] = writer.add_connection(
                        topic, type_name, typestore=messages.store
                    )
                writer.write(connections[topic, type_name], stamp, raw)
        return path

    return write


def write_ros1(rows, kind, path, store):
    writer = Ros1Writer(path)
    if kind == 'ros1-lz4':
        writer.set_compression(Ros1Writer.CompressionFormat.LZ4)
    with writer:
        connections = {}
        for topic, type_name, stamp, raw in rows:
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, type_name, typestore=store)
            writer.write(connections[topic], stamp, raw)
    return path


@pytest.fixture
def temperatures(messages):
    """Return a function that makes rows of one temperature topic: values, a period apart."""

    def rows(values, kind='sqlite3', period_ns=SECOND // 2, start=START, topic='/temperature'):
        ros1 = kind.startswith('ros1')
        return [
            (
                topic,
                'sensor_msgs/msg/Temperature',
                start + i * period_ns,
                messages.temperature(value, start + i * period_ns, ros1=ros1),
            )
            for i, value in enumerate(values)
        ]

    return rows


@pytest.fixture(scope='session')
def real_data():
    """Return the folder of real files, which are not part of the project."""
    root = Path(__file__).resolve().parent.parent.parent
    folder = Path(os.environ.get('THINKING_POLICY_REAL_DATA') or root.parent / 'shared' / 'data')
    if not (folder / 'bags').is_dir():
        pytest.skip(f'no real bags in {folder}; set THINKING_POLICY_REAL_DATA')
    return folder
