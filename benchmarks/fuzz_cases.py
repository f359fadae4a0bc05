# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Good bags and configurations, and ways to damage them."""

from __future__ import annotations

import re
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import zstandard
from bag_writing import IMU, JOINTS, KINDS, ROS1, ROS2, SCAN, TEMPERATURE, Load, write_bag
from fuzz_contents import read, rewrite
from fuzz_records import damage_records
from fuzz_writing import read_bombs, write_bombs

MESSAGES = 60
_PARTS = (IMU, TEMPERATURE, SCAN, JOINTS)
ROBOT = """\
/**/thinking_policy:
  ros__parameters:
    tick_period_s: 0.1
    time_source: header
    signal_names: [heat, shaking, near, load]
    signals:
      heat: {topic: /temperature, type: sensor_msgs/msg/Temperature, field: temperature,
             nominal_low: 0.0, nominal_high: 80.0, limit_high: 45.0}
      shaking: {topic: /imu, type: sensor_msgs/msg/Imu, field: linear_acceleration,
                within_message: norm, over_time: std, nominal_high: 4.0}
      near: {topic: /scan, type: sensor_msgs/msg/LaserScan, field: ranges,
             within_message: range_min, nominal_high: 5.0}
      load: {topic: /joint_states, type: sensor_msgs/msg/JointState, field: 'effort[joint_3]',
             nominal_low: -2.0, nominal_high: 2.0}
"""
RULES = """\
default: none_called_for
precedence: [person, outcome, rule]
outcomes:
  - {name: hot, event: 'heat*', before: [hazard], within: 1, gap: 0.1, at: [cause], for: 0.5}
rules:
  - name: rising
    activities: [trend]
    confidence: 0.8
    when:
      all:
        - trend: {signal: heat, over: 1, by: 0.1}
        - not: {level: {signal: load, above: 9}}
"""
SPANS = 'from,to,activity\n0.2,0.4,hazard\n1700000000.5,1700000001,Watch the trend\n'
LABELS = 'bag,time,activities\nload,1700000000.500000000,hazard;cause\n'
TABLE = 't,heat\n' + '\n'.join(f'{1_700_000_000 + i},{40 + i % 7}' for i in range(40)) + '\n'
MAP = """\
time: {column: t, format: s}
columns:
  heat: {topic: /temperature, type: sensor_msgs/msg/Temperature, field: temperature}
"""
TEXTS = {
    'robot.yaml': ROBOT,
    'rules.yaml': RULES,
    'spans.csv': SPANS,
    'labels.csv': LABELS,
    'table.csv': TABLE,
    'map.yaml': MAP,
}
_CONFIG = ('--config', 'robot.yaml')
_ON_BAGS = (
    ('bag', 'info', 'BAG'),
    ('bag', 'info', 'BAG', *_CONFIG, '--json'),
    ('bag', 'info', 'BAG', '--propose', 'proposed.yaml'),
    ('bag', 'situations', 'BAG', *_CONFIG, '-o', 'made.npz'),
    ('label', 'BAG', *_CONFIG, '--rules', 'rules.yaml', '-o', 'made.csv'),
)
# Damaged text → commands that read it.
_ON_TEXTS = {
    'robot.yaml': _ON_BAGS[1:2] + _ON_BAGS[3:],
    'rules.yaml': _ON_BAGS[4:],
    'spans.csv': (('label', 'BAG', *_CONFIG, '--spans', 'spans.csv', '-o', 'made.csv'),),
    'labels.csv': (('train', 'BAG', *_CONFIG, '--labels', 'labels.csv', '-o', 'made.onnx',
                    '--steps', '1'),),
    'table.csv': (('bag', 'from-csv', 'table.csv', '--map', 'map.yaml', '-o', 'made'),),
    'map.yaml': (('bag', 'from-csv', 'table.csv', '--map', 'map.yaml', '-o', 'made'),),
}  # fmt: skip
_BOMB = 3 << 30  # bytes that a small file unpacks to

Random = np.random.Generator


def write_good(folder: Path) -> Path:
    """Write the good files: a folder for each kind of bag, and the texts."""
    load = Load('fuzz', _PARTS, MESSAGES, 0.0)
    for number, kind in enumerate(KINDS):
        (folder / f'bag{number}').mkdir()
        write_bag(folder / f'bag{number}', kind, load, MESSAGES)
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    compressor = zstandard.ZstdCompressor().compressobj()
    zeros = bytes(1 << 24)
    packed = [compressor.compress(zeros) for _ in range(_BOMB // len(zeros))]
    (folder / 'bomb').write_bytes(b''.join([*packed, compressor.flush()]))
    write_bombs(folder)
    return folder


def damage(good: Path, folder: Path, random: Random) -> tuple[list[str], str]:
    """Copy the good files and damage one; return the words of a command, and what was done."""
    kind = int(random.integers(len(KINDS)))
    kind_name = KINDS[kind]
    for name in TEXTS:
        shutil.copy(good / name, folder / name)
    shutil.copytree(good / f'bag{kind}', folder / 'bag')
    bag = next((folder / 'bag').iterdir())
    words = _ON_BAGS[int(random.integers(len(_ON_BAGS)))]
    way = random.random()
    if way < 0.3:
        store = ROS1 if kind_name == 'ROS 1' else ROS2
        types = {p.name: (p.type, store.generate_msgdef(p.type)[0]) for p in _PARTS}
        content = read(bag, types, read_bombs(good), store is ROS1)
        return _told(words, bag, kind_name, 'contents', rewrite(bag, kind_name, content, random))
    if way < 0.4 and kind_name.startswith(('mcap', 'ROS')):
        file = next(bag.glob('*.mcap')) if bag.is_dir() else bag
        how = damage_records(file, read_bombs(good), random)
        return _told(words, bag, kind_name, 'records', how)
    if way < 0.75:
        files = sorted(p for p in bag.rglob('*') if p.is_file()) if bag.is_dir() else [bag]
        file = files[int(random.integers(len(files)))]
    else:
        name = sorted(_ON_TEXTS)[int(random.integers(len(_ON_TEXTS)))]
        file, commands = folder / name, _ON_TEXTS[name]
        words = commands[int(random.integers(len(commands)))]
    if file.name.endswith('.zstd') and random.random() < 0.05:
        shutil.copy(good / 'bomb', file)
        how = ['bomb']
    else:
        how = _damage(file, random)
    return _told(words, bag, kind_name, file.name, how)


def _told(
    words: tuple[str, ...], bag: Path, kind: str, what: str, how: list[str]
) -> tuple[list[str], str]:
    """Return the words of a command with the bag's path, and what was done."""
    named = [str(bag.relative_to(bag.parent.parent)) if w == 'BAG' else w for w in words]
    return named, f'{" ".join(words)}; {kind}: {what}: {", ".join(how)}'


def _damage(file: Path, random: Random) -> list[str]:
    content = bytearray(file.read_bytes())
    text = file.suffix in ('.yaml', '.csv')
    ways = (*_BYTES, *_TEXT) if text else _BYTES
    chosen = [ways[int(random.integers(len(ways)))] for _ in range(int(random.integers(1, 4)))]
    for way in chosen:
        content = bytearray(way(content, random))
    file.write_bytes(content)
    return [way.__name__.strip('_') for way in chosen]


def _place(content: bytearray, random: Random) -> int:
    return int(random.integers(len(content) + 1))


def _span(content: bytearray, random: Random) -> tuple[int, int]:
    start = _place(content, random)
    return start, min(len(content), start + int(2 ** random.uniform(0, 12)))


def _flip_bits(content: bytearray, random: Random) -> bytearray:
    for _ in range(int(2 ** random.uniform(0, 6))):
        if content:
            content[int(random.integers(len(content)))] ^= 1 << int(random.integers(8))
    return content


def _cut_off(content: bytearray, random: Random) -> bytearray:
    return content[: _place(content, random)]


def _zero(content: bytearray, random: Random) -> bytearray:
    start, stop = _span(content, random)
    content[start:stop] = bytes(stop - start)
    return content


def _scramble(content: bytearray, random: Random) -> bytearray:
    start, stop = _span(content, random)
    content[start:stop] = random.bytes(stop - start)
    return content


def _repeat(content: bytearray, random: Random) -> bytearray:
    start, stop = _span(content, random)
    return content[:stop] + content[start:]


def _move(content: bytearray, random: Random) -> bytearray:
    start, stop = _span(content, random)
    piece, rest = content[start:stop], content[:start] + content[stop:]
    place = _place(rest, random)
    return rest[:place] + piece + rest[place:]


def _enlarge_number(content: bytearray, random: Random) -> bytearray:
    """Put a huge or odd number where a length may stand."""
    place = _place(content, random)
    number = (0xFFFFFFFF, 0x7FFFFFFF, 1 << 40, (1 << 64) - 1, 1 << 20)[int(random.integers(5))]
    size = 8 if number >> 32 else 4
    return content[:place] + struct.pack('<Q', number)[:size] + content[place + size :]


def _lose_line(content: bytearray, random: Random) -> bytearray:
    lines = content.split(b'\n')
    del lines[int(random.integers(len(lines)))]
    return bytearray(b'\n'.join(lines))


def _swap_lines(content: bytearray, random: Random) -> bytearray:
    lines = content.split(b'\n')
    one, two = (int(random.integers(len(lines))) for _ in range(2))
    lines[one], lines[two] = lines[two], lines[one]
    return bytearray(b'\n'.join(lines))


def _odd_value(content: bytearray, random: Random) -> bytearray:
    """Replace a word or number by one that nobody expects there."""
    words = list(re.finditer(rb'[\w.]+', content))
    if not words:
        return content
    odd = (b'.nan', b'nan', b'-.inf', b'1e999', b'-1', b'9' * 400, b'null', b'[]', b'{}', b"''",
           b'true', b'*x', b'&x', b'!!python/object', b'2001-02-29', b'\xff\xfe', b'\0',
           b'a' * 70_000, b'[' * 3000, b'1_0', b'0x7fffffffffffffff')  # fmt: skip
    word = words[int(random.integers(len(words)))]
    return content[: word.start()] + odd[int(random.integers(len(odd)))] + content[word.end() :]


def _nest(content: bytearray, random: Random) -> bytearray:
    """Lists of lists of lists, each ten times the one before."""
    lines = ['a0: &a0 [x,x,x,x,x,x,x,x,x,x]']
    lines += [f'a{i}: &a{i} [{",".join([f"*a{i - 1}"] * 10)}]' for i in range(1, 9)]
    return bytearray('\n'.join(lines).encode()) + b'\n' + content


Way = Callable[[bytearray, Random], bytearray]
_BYTES: tuple[Way, ...] = (
    _flip_bits, _cut_off, _zero, _scramble, _repeat, _move, _enlarge_number,
)  # fmt: skip
_TEXT: tuple[Way, ...] = (_lose_line, _swap_lines, _odd_value, _odd_value, _odd_value, _nest)
