# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Bags of typical messages at typical rates, in every kind of storage."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.rosbag1 import Writer as Ros1Writer
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from thinking_policy.situation import SignalConfig, SituationConfig

KINDS = ('sqlite3', 'mcap', 'mcap, zstd chunks', 'sqlite3, zstd file', 'sqlite3, zstd message',
         'ROS 1')  # fmt: skip
START_NS = 1_700_000_000 * 10**9
ROS2, ROS1 = get_typestore(Stores.ROS2_JAZZY), get_typestore(Stores.ROS1_NOETIC)
_MODES = {
    'mcap, zstd chunks': CompressionMode.STORAGE,
    'sqlite3, zstd file': CompressionMode.FILE,
    'sqlite3, zstd message': CompressionMode.MESSAGE,
}
_VARIANTS = 64  # different messages of a topic; which one comes says nothing about the time
_JOINTS = 12


@dataclass(frozen=True)
class Topic:
    """One topic; `make` builds a message of a type store from a header and a random source."""

    name: str
    type: str
    rate_hz: float
    make: Callable[[Any, Any, np.random.Generator], Any]
    signals: tuple[SignalConfig, ...]


@dataclass(frozen=True)
class Load:
    """What a bag is full of.

    Attributes:
        name: For tables.
        parts: Its topics.
        count: Messages of the first topic.
        target: Least ratio to bare deserialisation that is wanted.
    """

    name: str
    parts: tuple[Topic, ...]
    count: int
    target: float

    @property
    def topics(self) -> frozenset[str]:
        """Names of the topics."""
        return frozenset(part.name for part in self.parts)

    @property
    def config(self) -> SituationConfig:
        """The signals that read them, at the shipped tick."""
        signals = tuple(signal for part in self.parts for signal in part.signals)
        return SituationConfig(tick_period_s=0.5, signals=signals)


def header(store: Any, stamp_ns: int) -> Any:
    """Return a header; ROS 1 counts its messages."""
    stamp = store.types['builtin_interfaces/msg/Time'](stamp_ns // 10**9, stamp_ns % 10**9)
    number = (0,) if store is ROS1 else ()
    return store.types['std_msgs/msg/Header'](*number, stamp, 'base_link')


def temperature(store: Any, head: Any, random: np.random.Generator) -> Any:
    return store.types['sensor_msgs/msg/Temperature'](head, random.normal(40.0, 5.0), 0.0)


def imu(store: Any, head: Any, random: np.random.Generator) -> Any:
    vector = store.types['geometry_msgs/msg/Vector3']
    unknown = np.zeros(9)
    return store.types['sensor_msgs/msg/Imu'](
        head,
        store.types['geometry_msgs/msg/Quaternion'](0.0, 0.0, 0.0, 1.0),
        unknown,
        vector(*random.normal(0.0, 0.1, 3)),
        unknown,
        vector(*random.normal(0.0, 1.0, 3)),
        unknown,
    )


def scan(beams: int) -> Callable[[Any, Any, np.random.Generator], Any]:
    def make(store: Any, head: Any, random: np.random.Generator) -> Any:
        ranges = random.uniform(0.2, 8.0, beams).astype(np.float32)
        ranges[random.random(beams) < 0.1] = np.inf
        numbers = (-3.14, 3.14, 6.28 / beams, 0.0, 0.2, 0.12, 8.0)
        return store.types['sensor_msgs/msg/LaserScan'](
            head, *numbers, ranges, np.zeros(0, np.float32)
        )

    return make


def joints(store: Any, head: Any, random: np.random.Generator) -> Any:
    names = [f'joint_{number}' for number in range(_JOINTS)]
    return store.types['sensor_msgs/msg/JointState'](
        head, names, *(random.normal(0.0, 1.0, _JOINTS) for _ in range(3))
    )


def image(store: Any, head: Any, random: np.random.Generator) -> Any:
    pixels = random.integers(0, 255, 640 * 480 * 3, dtype=np.uint8)
    return store.types['sensor_msgs/msg/Image'](head, 480, 640, 'rgb8', 0, 640 * 3, pixels)


def signal(name: str, topic: str, kind: str, field: str, within: str, over: str) -> SignalConfig:
    return SignalConfig(
        name=name, topic=topic, type=kind, field=field, within_message=within, over_time=over
    )


_T, _I = 'sensor_msgs/msg/Temperature', 'sensor_msgs/msg/Imu'
_L, _J = 'sensor_msgs/msg/LaserScan', 'sensor_msgs/msg/JointState'
TEMPERATURE = Topic('/temperature', _T, 100.0, temperature, (
    signal('temperature', '/temperature', _T, 'temperature', '', 'mean'),))  # fmt: skip
IMU = Topic('/imu', _I, 200.0, imu, (
    signal('vibration', '/imu', _I, 'linear_acceleration', 'norm', 'std'),))  # fmt: skip
_SCAN_SIGNALS = (
    signal('distance', '/scan', _L, 'ranges', 'range_min', 'min'),
    signal('visibility', '/scan', _L, 'ranges', 'invalid_fraction', 'mean'),
)
SCAN, WIDE_SCAN = (
    Topic('/scan', _L, 10.0, scan(beams), _SCAN_SIGNALS[:1]) for beams in (360, 1080)
)
SCAN_FOR_TWO = dataclasses.replace(SCAN, signals=_SCAN_SIGNALS)
JOINTS = Topic('/joint_states', _J, 50.0, joints, (
    signal('load', '/joint_states', _J, 'effort', 'norm', 'mean'),))  # fmt: skip
IMAGES = Topic('/image', 'sensor_msgs/msg/Image', 30.0, image, ())

# 1.0 where a few fields are read from the raw message, 0.7 where whole arrays are.
LOADS = (
    Load('Temperature', (TEMPERATURE,), 100_000, 1.0),
    Load('Imu', (IMU,), 100_000, 1.0),
    Load('LaserScan, 360 beams', (SCAN,), 20_000, 0.7),
    Load('LaserScan, 1080 beams', (WIDE_SCAN,), 20_000, 0.7),
    Load('LaserScan, 360 beams, two signals', (SCAN_FOR_TWO,), 20_000, 0.7),
    Load('JointState, 12 joints', (JOINTS,), 50_000, 0.7),
    Load('all of them, as a robot', (IMU, TEMPERATURE, SCAN_FOR_TWO, JOINTS), 50_000, 0.7),
)


def write_bag(folder: Path, kind: str, load: Load, count: int) -> Path:
    """Write a bag with `count` messages of the load's first topic, the others by their rates."""
    seconds = count / load.parts[0].rate_hz
    store = ROS1 if kind == 'ROS 1' else ROS2
    return _write(folder, kind, load.parts, _in_time(load.parts, seconds, store), store)


def write_large_bag(folder: Path, kind: str, size: float) -> tuple[Path, Path]:
    """Write a bag of about `size` bytes, mostly images; return it and its robot file."""
    store = ROS1 if kind == 'ROS 1' else ROS2
    image_bytes = 640 * 480 * 3
    parts = (IMAGES, WIDE_SCAN, IMU)
    seconds = size / (image_bytes * IMAGES.rate_hz)
    bag = _write(folder, kind, parts, _in_time(parts, seconds, store), store)
    config = folder / 'robot.yaml'
    config.write_text(_ROBOT)
    return bag, config


_ROBOT = """\
/**/thinking_policy:
  ros__parameters:
    signal_names: [brightness, distance, vibration]
    signals:
      brightness: {topic: /image, type: sensor_msgs/msg/Image, field: data,
                   within_message: mean, nominal_high: 255.0}
      distance: {topic: /scan, type: sensor_msgs/msg/LaserScan, field: ranges,
                 within_message: range_min, nominal_high: 5.0}
      vibration: {topic: /imu, type: sensor_msgs/msg/Imu, field: linear_acceleration,
                  within_message: norm, over_time: std, nominal_high: 4.0}
"""


def _in_time(
    parts: Sequence[Topic], seconds: float, store: Any
) -> Iterator[tuple[Topic, int, bytes]]:
    """Yield topic, record time and message, in order of time."""
    random = np.random.default_rng(100)
    serialise = store.serialize_ros1 if store is ROS1 else store.serialize_cdr
    made = {
        part.name: [
            bytes(serialise(part.make(store, header(store, START_NS), random), part.type))
            for _ in range(4 if part is IMAGES else _VARIANTS)
        ]
        for part in parts
    }
    stamps = [
        (START_NS + round(number * 1e9 / part.rate_hz), place, number)
        for place, part in enumerate(parts)
        for number in range(int(seconds * part.rate_hz))
    ]
    for stamp_ns, place, number in sorted(stamps):
        variants = made[parts[place].name]
        yield parts[place], stamp_ns, variants[number % len(variants)]


def _write(
    folder: Path,
    kind: str,
    parts: Sequence[Topic],
    rows: Iterator[tuple[Topic, int, bytes]],
    store: Any,
) -> Path:
    path = folder / ('load.bag' if store is ROS1 else 'load')
    writer: Any
    if store is ROS1:
        writer = Ros1Writer(path)
    else:
        mcap = kind.startswith('mcap')
        plugin = StoragePlugin.MCAP if mcap else StoragePlugin.SQLITE3
        writer = Writer(path, version=9, storage_plugin=plugin)
        if kind in _MODES:
            writer.set_compression(_MODES[kind], CompressionFormat.ZSTD)
    with writer:
        connections = {
            part.name: writer.add_connection(part.name, part.type, typestore=store)
            for part in parts
        }
        for part, stamp_ns, raw in rows:
            writer.write(connections[part.name], stamp_ns, raw)
    return path
