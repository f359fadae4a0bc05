# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`bag situations` over several bags: one .npz each, and none made twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from thinking_policy import ThinkingPolicyError
from thinking_policy.bags import Bag, Replay, open_bag, situations_of
from thinking_policy.bags.export import OutputError, check_free, export_situations, made_otherwise
from thinking_policy.bags.locating import locate
from thinking_policy.cli import bag_lines
from thinking_policy.cli.bag_inspecting import nothing_readable, without_path
from thinking_policy.cli.progress import showing_progress
from thinking_policy.cli.tables import columns
from thinking_policy.situation import SituationConfig

KEPT = 'kept, nothing has changed'
_LEFT_OUT = ('broken', 'late', 'future', 'overflow', 'jumped', 'unbound', 'pending')


@dataclass(frozen=True)
class Exporting:
    """How situations are made.

    Attributes:
        config: What the robot perceives.
        namespace: The robot's in the bags.
        clock: Whose time the ticks follow.
        robot_id: Begins the names of episodes.
        stride: Keep every n-th tick.
        force: Whether what is there is made anew in any case.
    """

    config: SituationConfig
    namespace: str = ''
    clock: str = 'auto'
    robot_id: str = ''
    stride: int = 1
    force: bool = False

    def replay(self, bag: Bag) -> Replay:
        """Return the situations of a bag, not begun yet."""
        return situations_of(bag, self.config, self.robot_id, self.clock, self.namespace)


@dataclass(frozen=True)
class Exported:
    """What became of one bag."""

    file: Path
    remark: str
    situations: int = 0
    episodes: int = 0
    events: int = 0
    fed: int = 0
    left_out: int = 0
    noticed: int = 0


@dataclass
class Outcome:
    """What became of several bags: made or kept, by name; and why the others could not be."""

    done: dict[str, Exported] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)


def export_all(bags: Mapping[str, Path], folder: Path, how: Exporting) -> Outcome:
    """Write one file for each bag into a folder; a broken bag is no obstacle.

    A file that is newer than its bag and was made in the same way is kept.

    Raises:
        ThinkingPolicyError: A file cannot be written, or none of the bags can be read.
    """
    outcome = Outcome()
    sizes = {name: _megabytes(path) for name, path in bags.items()}
    total, done = sum(sizes.values()), 0.0
    with showing_progress('replaying, MB', round(total)) as progress:
        for name, path in bags.items():

            def tell(share: float, before: float = done, size: float = sizes[name]) -> None:
                progress(round(before + share * size))

            try:
                outcome.done[name] = _export(path, name, folder / f'{name}.npz', how, tell)
            except OutputError:
                raise
            except ThinkingPolicyError as error:
                outcome.broken[name] = without_path(str(error), path)
            done += sizes[name]
    if not outcome.done:
        raise nothing_readable(outcome.broken)
    return outcome


def _export(
    path: Path, name: str, file: Path, how: Exporting, tell: Callable[[float], None]
) -> Exported:
    with open_bag(path) as bag:
        replay = how.replay(bag)
        remark = 'made'
        if file.is_file() and not how.force:
            other = made_otherwise(file, how.config, replay, how.stride)
            newer = file.stat().st_mtime >= _changed(path)
            if not other and newer:
                return Exported(file, KEPT)
            remark = f'made anew: {other or "the bag is newer"}'
        check_free(file, path, overwrite=True)
        arrays = export_situations(
            bag,
            how.config,
            replay,
            file,
            stride=how.stride,
            name=name,
            overwrite=True,
            progress=lambda played: tell(played / max(1, bag.message_count)),
        )
        left_out = sum(
            getattr(counts, kind)
            for counts in replay.counters.topics.values()
            for kind in _LEFT_OUT
        )
        return Exported(
            file,
            remark,
            len(arrays['stamp_ns']),
            len(set(arrays['episode'].tolist())),
            len(arrays['event_row']),
            int((arrays['states'] == 0).any(axis=0).sum()),
            left_out,
            sum(bag.problems.values()),
        )


def lines(outcome: Outcome, folder: Path, config: SituationConfig) -> Iterator[str]:
    """Yield a line for each bag, and the broken ones with their reason."""
    rows = [
        ('bag', 'situations', 'episodes', 'events', 'signals', 'left out', 'noticed', ''),
    ]
    for name, made in outcome.done.items():
        if made.remark == KEPT:
            rows.append((name, *('-',) * 6, made.remark))
            continue
        rows.append(
            (
                name,
                f'{made.situations:,}',
                f'{made.episodes:,}',
                f'{made.events:,}',
                f'{made.fed} of {len(config.signals)}',
                f'{made.left_out:,}',
                f'{made.noticed:,}',
                made.remark,
            )
        )
    yield from columns(rows, right=(1, 2, 3, 4, 5, 6))
    yield ''
    kept = sum(made.remark == KEPT for made in outcome.done.values())
    total = sum(made.situations for made in outcome.done.values())
    written = len(outcome.done) - kept
    yield (
        f'{folder}: {total:,} situations of {written} bag{"" if written == 1 else "s"} written, '
        f'{kept} kept, {len(outcome.broken)} cannot be used'
    )
    yield from bag_lines.left_alone(outcome.broken)


def _megabytes(path: Path) -> float:
    try:
        return sum(file.stat().st_size for file in locate(path).files) / 1e6
    except (ThinkingPolicyError, OSError):  # broken; said when it is opened
        return 0.0


def _changed(path: Path) -> float:
    """Return when a bag was changed last."""
    return max(file.stat().st_mtime for file in locate(path).files)
