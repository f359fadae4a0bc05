# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Outcomes: what a situation called for, told from what came after it.

The only labels that look ahead, and never beyond the episode: "an event within the next H
seconds". A policy that learns them sees nothing of that and has to find what announces it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from thinking_policy.bags.labelling.conditions import truth_of
from thinking_policy.bags.labelling.recording import Recording
from thinking_policy.bags.labelling.rule_file import Outcome
from thinking_policy.bags.labelling.rule_names import matching
from thinking_policy.bags.labelling.statements import (
    DOUBT,
    SILENT,
    YES,
    Answers,
    Statement,
    doubt_at_borders,
)
from thinking_policy.bags.labelling.truth import Flags

_NEVER = np.int64(2**62)


def outcome_statements(outcome: Outcome, recording: Recording, scale: str) -> Iterator[Statement]:
    """Yield what an outcome says of a recording: `before` it, and `at` it.

    Args:
        outcome: From a checked file.
        recording: The situations.
        scale: The file's own or nominal.
    """
    before = np.full(len(recording), SILENT, np.int8)
    at = before.copy()
    holds = None if outcome.when is None else truth_of(outcome.when, recording, scale)
    for stretch in recording.stretches:
        stamps = recording.stamp_ns[stretch]
        if holds is None:
            times = _event_times(outcome, recording, stretch)
            during = np.zeros(len(stamps), np.bool_)
        else:
            during = holds.yes[stretch]
            # It begins where it holds and is not known to have held before.
            begins = during & ~np.concatenate([[False], during[:-1]])
            times = stamps[begins]
        if outcome.within is not None:  # else it says nothing of what came before
            horizon = round(outcome.within * 1e9)
            before[stretch] = _before(outcome, horizon, stamps, times, during)
            if holds is not None:
                blind = _after(stamps[~holds.known[stretch]], stamps) - stamps
                # It may have happened where nobody could tell.
                unseen = (blind <= horizon) & (before[stretch] == SILENT) & ~during
                before[stretch][unseen] = DOUBT
        since = stamps - _at_or_before(times, stamps)
        at[stretch] = np.where(during | (since <= round(outcome.lasting * 1e9)), YES, SILENT)
        if holds is not None:
            at[stretch][~holds.known[stretch] & (at[stretch] == SILENT)] = DOUBT
    origin = f'outcome:{outcome.name}'
    for ids, answer in ((outcome.before, before), (outcome.at, at)):
        if ids:
            answer = doubt_at_borders(answer, recording, outcome.margin)
            yield Statement(origin, ids, answer, outcome.confidence)


def _event_times(outcome: Outcome, recording: Recording, stretch: slice) -> NDArray[np.int64]:
    codes = matching(outcome.event or '', set(recording.event_code))
    here = recording.event_episode == recording.episode[stretch.start]
    meant = np.array([code in codes for code in recording.event_code], np.bool_)
    times = recording.event_ns[here & meant]
    stamps = recording.stamp_ns[stretch]
    return np.sort(times[(times >= stamps[0]) & (times <= stamps[-1])])


def _before(
    outcome: Outcome,
    horizon: int,
    stamps: NDArray[np.int64],
    times: NDArray[np.int64],
    during: Flags,
) -> Answers:
    ahead = _after(times, stamps) - stamps
    gap = round(outcome.gap * 1e9)
    answer = np.where(ahead <= horizon, np.where(ahead <= gap, DOUBT, YES), SILENT)
    if outcome.end_of_episode == 'unsure':
        # Whether it would have come within the horizon, nobody saw.
        open_end = (stamps > stamps[-1] - horizon) & (ahead == _NEVER - stamps)
        answer = np.where(open_end & ~during, DOUBT, answer)
    # While it lasts it is not ahead, even where the next one is near.
    return np.where(during & (answer == YES), SILENT, answer).astype(np.int8)


def _after(times: NDArray[np.int64], stamps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each stamp the first time after it."""
    return np.append(times, _NEVER)[np.searchsorted(times, stamps, side='right')]


def _at_or_before(times: NDArray[np.int64], stamps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each stamp the last time up to it."""
    return np.insert(times, 0, -_NEVER)[np.searchsorted(times, stamps, side='right')]
