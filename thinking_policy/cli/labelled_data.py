# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings for `label`, `train` and `evaluate`: bags, or situations that were exported."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from thinking_policy import ThinkingPolicyError
from thinking_policy.bags import Bag, Replay, open_bag, situations_of
from thinking_policy.bags.export import Arrays, collect_situations
from thinking_policy.bags.labelling.errors import LabelError
from thinking_policy.bags.labelling.recording import Recorder, Recording, load_recording
from thinking_policy.bags.locating import bag_name, bags_in, named_bags
from thinking_policy.cli import bag_lines
from thinking_policy.cli.bag_inspecting import nothing_readable, without_path
from thinking_policy.cli.progress import showing_progress
from thinking_policy.cli.robot_sections import configuration_of, sections_for, unread_names
from thinking_policy.situation import SituationConfig
from thinking_policy.training.stored_arrays import read

T = TypeVar('T')
Tell = Callable[[int], None]


@dataclass
class Sources:
    """Recordings by name, read one after the other.

    Attributes:
        paths: Bag or .npz file by name.
        signals: Names of the signals.
        config: What the robot perceives; None: the files say it.
        namespace: The robot's, in the bags.
        clock: Whose time the ticks follow.
        remarks: What was odd about the robot file.
        broken: By name, why it could not be read; grows while they are.
        noticed: What was odd or left out, with the names of the recordings; grows too.
    """

    paths: dict[str, Path]
    signals: tuple[str, ...]
    config: SituationConfig | None = None
    namespace: str = ''
    clock: str = 'auto'
    remarks: tuple[str, ...] = ()
    broken: dict[str, str] = field(default_factory=dict)
    noticed: dict[str, list[str]] = field(default_factory=dict)

    def recordings(self) -> Iterator[Recording]:
        """Yield one after the other, as far as labels need them; as `each` does."""
        for _, recording in self.each(self._loaded, self._labelling):
            yield recording

    def situations(self) -> Iterator[tuple[str, Arrays]]:
        """Yield name and situations of one after the other, as `bag situations` writes them."""
        yield from self.each(lambda _, path: read(path), self._collected)

    def each(
        self, load: Callable[[str, Path], T], replay: Callable[[str, Bag, Replay, Tell], T]
    ) -> Iterator[tuple[str, T]]:
        """Yield name and content of one recording after the other; a broken one is left out.

        Args:
            load: Reads an exported file, given its name and path.
            replay: Plays a bag to its end, given its name, and tells how many messages it played.

        Raises:
            ThinkingPolicyError: None could be read; with all the reasons.
        """
        for number, (name, path) in enumerate(self.paths.items(), 1):
            many = f' ({number} of {len(self.paths)})' if len(self.paths) > 1 else ''
            try:
                if self.config is None:
                    yield name, load(name, path)
                else:
                    yield name, self._played(name, path, self.config, f'{name}{many}', replay)
            except ThinkingPolicyError as error:
                if len(self.paths) == 1:
                    raise
                self.broken[name] = without_path(' '.join(str(error).split()), path)
        if len(self.broken) == len(self.paths):
            raise nothing_readable(self.broken)

    def failures(self) -> Iterator[str]:
        """Yield what was odd about robot file and recordings, and what could not be read."""
        if self.remarks:
            yield ''
            yield 'noticed in the robot file:'
            yield from (f'  {line}' for line in self.remarks)
        if self.noticed:
            yield ''
            yield 'noticed in the bags:'
        for what, names in self.noticed.items():
            others = f' and {len(names) - 3:,} more' if len(names) > 3 else ''
            yield f'  {what}: {", ".join(names[:3])}{others}'
        if self.broken:
            yield ''
            many = '' if len(self.broken) == 1 else 's'
            yield f'left out, since not readable: {len(self.broken):,} recording{many}'
        yield from bag_lines.left_alone(self.broken)

    def _loaded(self, name: str, path: Path) -> Recording:
        recording = load_recording(path, name)
        if recording.stride != 1:
            # Rules would miss readings, and events of left-out ticks would count to the next one
            # that was kept, even where that begins another episode.
            raise LabelError(
                f'{path}: holds only every {recording.stride}. tick, so rules and outcomes would '
                'miss what lies between; label the bag itself with --stride, or export it again '
                'without'
            )
        if recording.names != self.signals:
            raise LabelError(
                f'{path}: expected the signals of the first file, {", ".join(self.signals)}; '
                f'found {", ".join(recording.names)}'
            )
        return recording

    def _labelling(self, name: str, bag: Bag, replay: Replay, tell: Tell) -> Recording:
        assert self.config is not None
        recorder = Recorder(self.config)
        for situation in replay:
            recorder.add(situation)
            tell(replay.played)
        start = bag.start_ns if replay.clock == 'record' else None
        return recorder.recording(name, start or None)

    def _collected(self, name: str, bag: Bag, replay: Replay, tell: Tell) -> Arrays:
        assert self.config is not None
        return collect_situations(bag, self.config, replay, name=name, progress=tell)

    def _played(
        self,
        name: str,
        path: Path,
        config: SituationConfig,
        what: str,
        play: Callable[[str, Bag, Replay, Tell], T],
    ) -> T:
        with open_bag(path) as bag:
            replay = situations_of(bag, config, clock=self.clock, namespace=self.namespace)
            feeds = {
                feed.source.name: feed.source.count
                for feed in replay.feeds
                if feed.source and not feed.problem
            }
            with showing_progress(what, sum(feeds.values())) as progress:
                content = play(name, bag, replay, progress)
            for oddity in _oddities(bag, replay):
                self.noticed.setdefault(oddity, []).append(name)
            return content


def _oddities(bag: Bag, replay: Replay) -> Iterator[str]:
    """Yield what was odd about a bag and what its replay left out, without numbers.

    So that the same thing in many bags is one line; `bag situations` has the numbers.
    """
    for feed in replay.feeds:
        if feed.problem:
            yield f'not fed, {feed.topic}: {feed.problem}'
    for topic, counts in replay.counters.topics.items():
        if counts.received > counts.used + counts.pending:
            yield f'messages of {topic} left out (`bag situations` says why)'
    if replay.counters.jumps_back or replay.counters.jumps_forward:
        yield 'the clock jumped'
    yield from bag.problems


def find_sources(data: Sequence[Path], config: Path | str, namespace: str, clock: str) -> Sources:
    """Find the recordings behind some paths.

    Args:
        data: Bags, folders of bags, .npz files or folders of these; not mixed.
        config: Robot file; empty: none was named.
        namespace: The robot's, in the bags.
        clock: Whose time the ticks follow.

    Raises:
        ThinkingPolicyError: There are none, both kinds, or a robot file is missing or too many.
    """
    exported = [path for path in data if is_exported(path)]
    if exported and len(exported) < len(data):
        other = next(path for path in data if path not in exported)
        raise ThinkingPolicyError(
            f'expected bags or .npz files, found both: {exported[0]} and {other}; label them one '
            'kind at a time'
        )
    if exported:
        if config:
            raise ThinkingPolicyError(
                '--config: .npz files say themselves what the robot perceives; leave it out'
            )
        return _exported(exported)
    if not config:
        raise ThinkingPolicyError('--config is missing: which signals do the bags hold?')
    file = Path(config)
    configuration = configuration_of(file, namespace)
    remarks = tuple(
        f'{file.name}: {line}' for line in unread_names(file, sections_for(file, namespace))
    )
    bags = named_bags(data)
    return Sources(bags, configuration.names, configuration, namespace, clock, remarks)


def is_exported(path: Path) -> bool:
    """Tell whether a path is an .npz file or a folder of them.

    Raises:
        ThinkingPolicyError: A folder holds bags too: one of the two would be left out unseen.
    """
    if not path.is_dir():
        return path.suffix == '.npz'
    files = sorted(path.glob('*.npz'))
    if not files:
        return False
    try:
        bags = bags_in(path)
    except ThinkingPolicyError:  # there are none
        return True
    raise ThinkingPolicyError(
        f'{path}: holds bags ({bag_name(bags[0], path)}) and .npz files ({files[0].name}); name '
        'those that are meant, or move one kind elsewhere'
    )


def _exported(given: Sequence[Path]) -> Sources:
    files: list[Path] = []
    for path in given:
        files += sorted(path.glob('*.npz')) if path.is_dir() else [path]
    paths: dict[str, Path] = {}
    signals: tuple[str, ...] = ()
    for file in files:
        recording = load_recording(file, '')
        name = recording.name
        if name in paths:
            raise ThinkingPolicyError(
                f'{paths[name]} and {file}: both are of the bag {name!r}; give one of them'
            )
        paths[name] = file
        signals = signals or recording.names
    return Sources(paths, signals)
