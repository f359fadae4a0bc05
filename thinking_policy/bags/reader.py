# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Opens any bag and yields what was recorded: raw CDR in order of record time."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from thinking_policy.bags.decompression import message_bytes
from thinking_policy.bags.errors import BagError
from thinking_policy.bags.locating import METADATA, Located, locate
from thinking_policy.bags.mcap_storage import McapStorage
from thinking_policy.bags.message_definitions import TypeCatalog, type_name
from thinking_policy.bags.ros1_storage import Ros1Storage
from thinking_policy.bags.sqlite_storage import SqliteStorage
from thinking_policy.bags.staging import stage
from thinking_policy.bags.storage import Channel, Item, Source, Storage, in_order_of_time
from thinking_policy.situation.message_types import MessageType

_SERIALIZATIONS = ('cdr', 'ros1')


@dataclass(frozen=True)
class BagTopic:
    """One topic of a bag; `message_type` is None where nobody knows the type."""

    name: str
    type: str
    count: int
    message_type: MessageType | None


class Bag:
    """An opened bag; a context manager.

    Attributes:
        path: As given.
        formats: Kinds of its storage files: sqlite3, mcap or ros1.
        topics: Its topics by name, also those without messages.
        start_ns: Record time of the first message of any topic; 0 where there is none.
        end_ns: Record time of the last message.
        message_count: Messages on all topics, as far as they can be read.
        problems: What is or was lost or odd, with how often; grows while messages are read.
    """

    def __init__(self, path: Path, located: Located, stack: ExitStack) -> None:
        """Open every storage file; use `open_bag`.

        Raises:
            BagError: None of the files can be read.
        """
        self.path = path
        self.problems: Counter[str] = Counter(located.notes)
        self._stack = stack
        self._storages = _open_storages(path, located, stack, self.problems)
        self.formats = tuple(sorted({kind for kind, _ in self._storages}))
        self._catalog = TypeCatalog(
            definition for _, storage in self._storages for definition in storage.definitions
        )
        kinds = _kind_of_each_topic(self._storages, self.problems)
        self._types = {topic: kind for topic, (kind, _) in kinds.items()}
        self._ros1 = {
            topic for topic, (_, serialization) in kinds.items() if serialization == 'ros1'
        }
        counts: Counter[str] = Counter()
        for _, storage in self._storages:
            for channel in filter(self._readable, storage.channels):
                counts[channel.topic] += channel.count
        self.topics = tuple(
            BagTopic(name, kind, counts[name], self._catalog.message_type(kind))
            for name, kind in sorted(self._types.items())
        )
        self.message_count = counts.total()
        starts = [s.start_ns for _, s in self._storages if s.start_ns is not None]
        ends = [s.end_ns for _, s in self._storages if s.end_ns is not None]
        self.start_ns, self.end_ns = min(starts, default=0), max(ends, default=0)
        if self.start_ns < 0:
            seconds = -self.start_ns / 1e9
            self.problems[f'recorded from {seconds:,.3f} s before 1970: no tick ends there'] += 1
        self._collect()
        self._compare(located)

    def topic(self, name: str) -> BagTopic | None:
        """Return the topic of that name, or None."""
        return next((topic for topic in self.topics if topic.name == name), None)

    def messages(self, topics: Collection[str] | None = None) -> Iterator[Item]:
        """Yield messages as they were recorded.

        Args:
            topics: Names to read; all where None.

        Yields:
            Topic, record time in nanoseconds, raw CDR. Messages that are lost are counted in
            `problems`.

        Raises:
            BagError: The disk fails.
        """
        wanted = frozenset(self._types if topics is None else topics) & self._types.keys()
        sources = [
            Source(
                storage.start_ns,
                functools.partial(
                    storage.messages,
                    {c for c in storage.channels if c.topic in wanted and self._readable(c)},
                ),
            )
            for _, storage in self._storages
            if storage.start_ns is not None
        ]
        try:
            items = self._unpacked(in_order_of_time(sources))
            yield from self._converted(items) if self._ros1 & wanted else items
        except OSError as error:
            raise BagError(f'{self.path}: cannot be read on: {error.strerror or error}') from error
        finally:
            self._collect()

    def record_times(self) -> Iterator[int]:
        """Yield the record times of all messages in the order in which they were written.

        Raises:
            BagError: The disk fails.
        """
        try:
            for _, storage in self._storages:
                yield from storage.record_times()
        except OSError as error:
            raise BagError(f'{self.path}: cannot be read on: {error.strerror or error}') from error
        finally:
            self._collect()

    def _readable(self, channel: Channel) -> bool:
        return channel.serialization in _SERIALIZATIONS and (
            type_name(channel.type) == self._types[channel.topic]
            and (channel.serialization == 'ros1') == (channel.topic in self._ros1)
        )

    def _unpacked(self, items: Iterator[Item]) -> Iterator[Item]:
        for item in items:
            if item[2][:1] != b'\x28':  # not a zstd frame: as nearly always
                yield item
                continue
            topic, stamp, raw = item
            try:
                yield topic, stamp, message_bytes(raw)
            except ValueError as error:
                self.problems[f'{topic}: compressed message is damaged ({error})'] += 1

    def _converted(self, items: Iterator[Item]) -> Iterator[Item]:
        converters = {name: self._catalog.to_cdr(self._types[name]) for name in self._ros1}
        for topic, stamp, raw in items:
            if topic not in self._ros1:
                yield topic, stamp, raw
                continue
            convert = converters[topic]
            if convert is None:
                self.problems[
                    f'{topic}: unknown type {self._types[topic]}, cannot be turned into CDR'
                ] += 1
                continue
            try:
                yield topic, stamp, convert(raw)
            except ValueError as error:
                self.problems[f'{topic}: not a {self._types[topic]} ({error})'] += 1

    def _collect(self) -> None:
        for _, storage in self._storages:
            self.problems.update(storage.problems)
            storage.problems.clear()

    def _compare(self, located: Located) -> None:
        """Say where metadata.yaml promises more or less than there is."""
        have: Counter[str] = Counter()
        for _, storage in self._storages:
            for channel in storage.channels:
                have[channel.topic] += channel.count
        for name, expected in located.expected.items():
            lost = expected - have[name]
            if lost > 0:
                self.problems[
                    f'{name}: metadata.yaml promises {expected} messages, {have[name]} can be read'
                ] += lost
            elif lost < 0:
                self.problems[
                    f'{name}: metadata.yaml promises {expected} messages, {have[name]} are there'
                ] -= lost

    def close(self) -> None:
        """Close the files and remove temporary copies."""
        self._stack.close()

    def __enter__(self) -> Bag:
        """Return the bag."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def open_bag(path: Path | str) -> Bag:
    """Open a rosbag2 folder, a single .db3, .mcap or .zstd file of one, or a ROS 1 .bag.

    Nothing is ever written to the bag's folder. What cannot be read is counted in
    `Bag.problems`; memory stays flat whatever the bag's size.

    Raises:
        BagError: Nothing in it can be read; one line with the reason and what to do.
    """
    path = Path(path)
    stack = ExitStack()
    try:
        return Bag(path, locate(path), stack)
    except OSError as error:
        stack.close()
        raise BagError(f'{path}: cannot be read: {error.strerror or error}') from error
    except BaseException:
        stack.close()
        raise


def _open_storages(
    path: Path, located: Located, stack: ExitStack, problems: Counter[str]
) -> list[tuple[str, Storage]]:
    storages: list[tuple[str, Storage]] = []
    reasons: list[str] = []
    for file in located.files:
        try:
            staged, kind = stage(file, stack, problems)
            storage: Storage
            if kind == 'sqlite3':
                storage = SqliteStorage(staged, file.name, private_copy=staged != file)
            elif kind == 'mcap':
                storage = McapStorage(staged, file.name)
            else:
                storage = Ros1Storage(staged, file.name)
        except BagError as error:
            reasons.append(str(error))
            continue
        stack.callback(storage.close)
        storages.append((kind, storage))
    if not storages:
        more = f' (and {len(reasons) - 1} more files)' if len(reasons) > 1 else ''
        first = reasons[0] if reasons else 'no storage file'
        place = '' if first.startswith(str(path)) else f'{path}: '
        absent = ''.join(
            f'; {METADATA} names {name}, which is not there' for name in located.missing
        )
        raise BagError(f'{place}{first}{more}{absent}')
    for reason in reasons:
        problems[reason] += 1
    return storages


def _kind_of_each_topic(
    storages: list[tuple[str, Storage]], problems: Counter[str]
) -> dict[str, tuple[str, str]]:
    """Decide for topics that were recorded in several ways: the one with most messages.

    Returns:
        Type and serialization by topic.
    """
    counts: dict[str, Counter[tuple[str, str]]] = {}
    for _, storage in storages:
        for channel in storage.channels:
            kinds = counts.setdefault(channel.topic, Counter())
            readable = channel.serialization in _SERIALIZATIONS
            kinds[type_name(channel.type), channel.serialization] += channel.count * readable
            if not readable and channel.count:
                problems[
                    f'{channel.topic}: serialized as {channel.serialization!r}, '
                    'only cdr and ros1 can be decoded'
                ] += channel.count
    kinds_of = {}
    for topic, kinds in counts.items():
        (kinds_of[topic], _), *others = kinds.most_common()
        for kind, count in others:
            if count:
                problems[
                    f'{topic}: recorded as {_spelt(*kinds_of[topic])} and as {_spelt(*kind)}, '
                    'the latter left out'
                ] += count
    return kinds_of


def _spelt(kind: str, serialization: str) -> str:
    return kind if serialization == 'cdr' else f'{kind} in {serialization}'
