# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Bags that are well formed outside and odd inside: what damage to their bytes hardly reaches.

Checksums, compression and indexes hold, so that messages, times, types and sizes come as far as
they can.
"""

from __future__ import annotations

import dataclasses
import shutil
import struct
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from fuzz_writing import Bombs, Content, Row, write_mcap, write_ros1, write_sqlite
from rosbags.rosbag1 import Reader as Ros1Reader

from thinking_policy.bags import open_bag

Random = np.random.Generator
_SPARE = 'sensor_msgs/msg/Imu'
_TIMES = (
    0,
    1,
    -1,
    10**9,
    2**62,
    2**63 - 1,
    -(2**63),
    1_700_000_000 * 10**9,
    9_214_646_400 * 10**9,
)
_NUMBERS = (float('nan'), float('inf'), float('-inf'), 1e308, -1e308, 5e-324, -0.0)


def read(bag: Path, types: dict[str, tuple[str, str]], bombs: Bombs, ros1: bool) -> Content:
    """Read a good bag. `types` gives type and definition by topic."""
    if ros1:
        with Ros1Reader(bag) as reader:
            rows = [Row(c.topic, stamp, bytes(raw)) for c, stamp, raw in reader.messages()]
    else:
        with open_bag(bag) as opened:
            rows = [Row(*item) for item in opened.messages()]
    return Content(
        rows,
        {topic: kind for topic, (kind, _) in types.items()},
        {topic: text for topic, (_, text) in types.items()},
        bombs,
    )


def rewrite(bag: Path, kind: str, content: Content, random: Random) -> list[str]:
    """Replace a bag by an odd one; return what is odd."""
    chosen = [WAYS[int(random.integers(len(WAYS)))] for _ in range(int(random.integers(1, 4)))]
    for way in chosen:
        way(content, random)
    if bag.is_dir():
        shutil.rmtree(bag)
        bag.mkdir()
    else:
        bag.unlink()
    if kind == 'ROS 1':
        write_ros1(bag, content)
    elif kind.startswith('mcap'):
        write_mcap(bag / 'load.mcap', content, packed='zstd' in kind)
    else:
        write_sqlite(bag, kind, content)
    return [way.__name__.strip('_') for way in chosen]


def _few(rows: list[Row], random: Random) -> Iterable[int]:
    """Choose some places of rows."""
    if not rows:
        return []
    return random.integers(len(rows), size=int(2 ** random.uniform(0, 5)))


def _change(content: Content, random: Random, change: Callable[[bytes], bytes]) -> None:
    for place in _few(content.rows, random):
        row = content.rows[place]
        content.rows[place] = dataclasses.replace(row, raw=change(row.raw))


def _odd_times(content: Content, random: Random) -> None:
    for place in _few(content.rows, random):
        stamp = _TIMES[int(random.integers(len(_TIMES)))]
        content.rows[place] = dataclasses.replace(content.rows[place], stamp_ns=stamp)


def _shift_times(content: Content, random: Random) -> None:
    """From one message on the recorder's clock is another."""
    start = int(random.integers(len(content.rows) + 1))
    by = int(random.choice((1, -1))) * int(10 ** random.uniform(6, 18))
    content.rows[start:] = [
        dataclasses.replace(row, stamp_ns=row.stamp_ns + by) for row in content.rows[start:]
    ]


def _one_time(content: Content, random: Random) -> None:
    stamp = content.rows[0].stamp_ns if content.rows else 0
    content.rows = [dataclasses.replace(row, stamp_ns=stamp) for row in content.rows]


def _disorder(content: Content, random: Random) -> None:
    content.rows = [content.rows[i] for i in random.permutation(len(content.rows))]


def _repeat_messages(content: Content, random: Random) -> None:
    content.rows += [content.rows[place] for place in _few(content.rows, random)]


def _no_messages(content: Content, random: Random) -> None:
    topic = str(random.choice(sorted(content.types)))
    content.rows = [row for row in content.rows if row.topic != topic]


def _cut_messages(content: Content, random: Random) -> None:
    _change(content, random, lambda raw: raw[: int(random.integers(len(raw) + 1))])


def _lengthen_messages(content: Content, random: Random) -> None:
    _change(content, random, lambda raw: raw + random.bytes(int(2 ** random.uniform(0, 16))))


def _flip_messages(content: Content, random: Random) -> None:
    def flip(raw: bytes) -> bytes:
        changed = bytearray(raw)
        for _ in range(int(2 ** random.uniform(0, 6))):
            if changed:
                changed[int(random.integers(len(changed)))] ^= 1 << int(random.integers(8))
        return bytes(changed)

    _change(content, random, flip)


def _odd_lengths(content: Content, random: Random) -> None:
    """Put a large number where the length of an array or text may stand."""

    def put(raw: bytes) -> bytes:
        place = 4 * int(random.integers(len(raw) // 4 + 1))
        length = (0xFFFFFFFF, 0x7FFFFFFF, 1 << 24, 1 << 16, 0)[int(random.integers(5))]
        return raw[:place] + struct.pack('<I', length) + raw[place + 4 :]

    _change(content, random, put)


def _odd_numbers(content: Content, random: Random) -> None:
    def put(raw: bytes) -> bytes:
        place = 4 + 8 * int(random.integers(len(raw) // 8 + 1))
        number = _NUMBERS[int(random.integers(len(_NUMBERS)))]
        return raw[:place] + struct.pack('<d', number) + raw[place + 8 :]

    _change(content, random, put)


def _packed_bomb(content: Content, random: Random) -> None:
    """A packed message that would fill the memory; its size is declared, wrongly, or not."""
    whole = content.bombs.zstd
    bombs = (whole, content.bombs.declared, whole[:100], b'\x28\xb5\x2f\xfd' + b'\xff' * 40)
    _change(content, random, lambda _: bombs[int(random.integers(len(bombs)))])


def _other_type(content: Content, random: Random) -> None:
    """Messages of one type under the name of another, or of a name that is none."""
    topic = str(random.choice(sorted(content.types)))
    kinds = (_SPARE, 'sensor_msgs/msg/Temperature', 'odd_msgs/msg/Odd', '', 'no type', '/',
             'a/b/c', 'std_msgs/msg/String', 'sensor_msgs/msg/PointCloud2', 'ä/msg/Ö',
             'x' * 5000)  # fmt: skip
    content.types[topic] = kinds[int(random.integers(len(kinds)))]


def _other_topic(content: Content, random: Random) -> None:
    old = str(random.choice(sorted(content.types)))
    names = ('/imu', '/scan', '', '/', '//', '/a b', '/\x07\x1b[31m', '/ä', '/' + 'x' * 5000,
             '/tf', '/clock', '/diagnostics', '../up')  # fmt: skip
    new = names[int(random.integers(len(names)))]
    if new in content.types:  # two kinds of messages on one topic
        content.types[new] = content.types[old]
    else:
        content.types[new] = content.types.pop(old)
        content.definitions[new] = content.definitions.pop(old)
    content.rows = [
        dataclasses.replace(row, topic=new) if row.topic == old else row for row in content.rows
    ]


def _other_definition(content: Content, random: Random) -> None:
    texts = odd_definitions()
    for topic in list(content.definitions):
        if random.random() < 0.5:
            content.definitions[topic] = texts[int(random.integers(len(texts)))]


def _scramble_definition(content: Content, random: Random) -> None:
    for topic, text in content.definitions.items():
        lines = text.split('\n')
        for _ in range(int(random.integers(1, 6))):
            one, two = (int(random.integers(len(lines))) for _ in range(2))
            lines[one], lines[two] = lines[two], lines[one][: int(random.integers(20))]
        content.definitions[topic] = '\n'.join(lines)


def _wide_bag(content: Content, random: Random) -> None:
    """Thousands of topics, as a name with a number in it makes them."""
    topic = sorted(content.types)[0]
    for number in range(3000):
        name = f'/many/t{number}'
        content.types[name] = content.types[topic]
        content.definitions[name] = content.definitions[topic]


WAYS: tuple[Callable[[Content, Random], None], ...] = (
    _odd_times, _shift_times, _one_time, _disorder, _repeat_messages, _no_messages,
    _cut_messages, _lengthen_messages, _flip_messages, _flip_messages, _odd_lengths, _odd_lengths,
    _odd_numbers, _odd_numbers, _packed_bomb, _other_type, _other_topic, _other_definition,
    _other_definition, _scramble_definition, _wide_bag,
)  # fmt: skip


def odd_definitions() -> list[str]:
    """Return definitions that no one writes by hand."""
    rule = '=' * 80 + '\n'
    deep = ''.join(f'{rule}MSG: o/L{i}\n' + f'o/L{i + 1} a\no/L{i + 1} b\n' for i in range(30))
    long = ''.join(f'{rule}MSG: o/L{i}\no/L{i + 1} a\n' for i in range(2000))
    return [
        'o/L0 a\n' + deep + f'{rule}MSG: o/L30\nfloat64 x\n',
        'o/L0 a\n' + long + f'{rule}MSG: o/L2000\nfloat64 x\n',
        f'o/A a\n{rule}MSG: o/A\no/A[] a\n',
        f'o/A a\n{rule}MSG: o/A\no/B b\n{rule}MSG: o/B\no/A a\n',
        f'o/E[] header\n{rule}MSG: o/E\n',
        f'o/E[4000000000] header\nfloat64 temperature\n{rule}MSG: o/E\n',
        'float64[4000000000] temperature\n',
        'float64[99999999999999999999999999] temperature\n',
        'string[4000000000] temperature\n',
        ''.join(f'float64 f{i}\n' for i in range(30_000)),
        'float64 temperature\nfloat64 temperature\n',
        'float64 class\nfloat64 None\n',
        'float64 temperature 1e999\nint8 x=99999999999999999999\n',
        '(' * 5000,
        'float64' + '[]' * 2000 + ' temperature\n',
        '\0\0\0',
        '',
        '#' * 100_000,
    ]
