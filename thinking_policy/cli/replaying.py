# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A policy over the situations of one bag after the other, with a node's settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thinking_policy import ThinkingPolicyError
from thinking_policy.bags import Bag, Replay, open_bag, situations_of
from thinking_policy.cli import bag_lines
from thinking_policy.cli.bag_inspecting import nothing_readable, without_path
from thinking_policy.cli.progress import showing_progress
from thinking_policy.cli.robot_sections import sections_for, unread_names
from thinking_policy.cli.timeline import Timeline
from thinking_policy.cli.timeline_lines import Replayed, as_json
from thinking_policy.policy import (
    PolicyRuntime,
    Thinker,
    ThinkingSettings,
    baseline_of,
    thinking_settings,
)
from thinking_policy.policy.thinker import alike
from thinking_policy.situation import SituationConfig, load_configuration
from thinking_policy.situation.robot_file import load_parameters


@dataclass(frozen=True)
class Asking:
    """A policy, and how it is asked.

    Attributes:
        runtime: The policy with the robot's baseline.
        config: What the robot perceives.
        settings: Thresholds, hold, novelty threshold.
        remarks: What was noticed when they were loaded.
        namespace: The robot's in the bags.
        clock: Whose time the ticks follow.
    """

    runtime: PolicyRuntime
    config: SituationConfig
    settings: ThinkingSettings
    remarks: tuple[str, ...]
    namespace: str
    clock: str


@dataclass
class Outcome:
    """What became of several bags: as for JSON, by name; and why the others could not be."""

    done: dict[str, dict[str, Any]] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)


def asking(policy: Path, file: Path, namespace: str, clock: str) -> Asking:
    """Load policy, configuration and settings as a node with that robot file does.

    Raises:
        PolicyError: The policy cannot be used, or does not fit the configuration.
        SituationError: The file is wrong.
    """
    section = sections_for(file, namespace)
    config = load_configuration(file, section)
    values: dict[str, Any] = load_parameters(file, section)
    key = values.get('public_key_path', '')
    runtime = PolicyRuntime.load(
        policy,
        config=config,
        public_key=Path(str(key)) if key else None,
        baseline=baseline_of(config),
    )
    settings = thinking_settings(runtime.manifest.activities, values, str(file))
    unknown = sorted(set(values.get('thresholds', {})) - set(settings.thresholds))
    remarks = [f'{policy.name}: {warning}' for warning in alike(runtime.warnings)]
    remarks += [f'{file.name}: thresholds.{name}: not in the policy, unused' for name in unknown]
    remarks += [f'{file.name}: {line}' for line in unread_names(file, section)]
    return Asking(runtime, config, settings, tuple(remarks), namespace, clock)


def replayed_bag(name: str, path: Path, ask: Asking) -> tuple[Replayed, list[str]]:
    """Ask the policy about every situation of a bag.

    Returns:
        What it said, and lines about what of the bag was left out or odd.

    Raises:
        ThinkingPolicyError: The bag cannot be read or feeds nothing, or the policy fails.
    """
    with open_bag(path) as bag:
        replay = situations_of(bag, ask.config, clock=ask.clock, namespace=ask.namespace)
        found = _replayed(name, bag, replay, ask)
        return found, [*bag_lines.not_taken(replay), *bag_lines.problems(bag.problems)]


def replay_all(
    bags: Mapping[str, Path], ask: Asking, show: Callable[[Replayed, list[str]], None]
) -> Outcome:
    """Ask about one bag after the other; a broken one is no obstacle.

    Raises:
        ThinkingPolicyError: None of the bags can be read.
    """
    outcome = Outcome()
    for name, path in bags.items():
        try:
            found, notes = replayed_bag(name, path, ask)
        except ThinkingPolicyError as error:
            outcome.broken[name] = without_path(str(error), path)
            continue
        outcome.done[name] = as_json(found)
        show(found, notes)
    if not outcome.done:
        raise nothing_readable(outcome.broken)
    return outcome


def _replayed(name: str, bag: Bag, replay: Replay, ask: Asking) -> Replayed:
    runtime, config, settings = ask.runtime, ask.config, ask.settings
    thinker = Thinker(runtime, config.window_length)
    thinker.set_thresholds(settings.thresholds, settings.minimum_hold_s)
    timeline = Timeline(thinker.ids, config.names)
    feeds = {f.source.name: f.source.count for f in replay.feeds if f.source and not f.problem}
    with showing_progress(f'replaying {name}', sum(feeds.values())) as progress:
        for situation in replay:
            timeline.add(situation, *thinker.think(situation))
            progress(replay.played)
    start_ns = bag.start_ns if replay.clock == 'record' else 0
    if not start_ns and len(timeline):  # as labels count
        start_ns = int(timeline.stamp_ns[0]) - config.tick_period_ns
    manifest, tick_s = runtime.manifest, config.tick_period_s
    return Replayed(name, runtime.path.name, manifest, settings, start_ns, tick_s, timeline)
