# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What one origin says about the situations of a recording."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinking_policy.bags.labelling.recording import Recording

SILENT, YES, NO, DOUBT, UNSURE = range(5)
"""Answers. DOUBT yields to anyone who knows; UNSURE is somebody's word that nobody can know."""

Answers = NDArray[np.int8]


@dataclass(frozen=True)
class Statement:
    """One origin on some activities.

    Attributes:
        origin: Such as `rule:rising`.
        activities: Ids.
        answer: int8 [N], one of the constants above, the same for all of them.
        confidence: 0...1, of YES and NO: one for all, or float32 [N].
    """

    origin: str
    activities: tuple[str, ...]
    answer: Answers
    confidence: float | NDArray[np.float32] = 1.0


def doubt_at_borders(answer: Answers, recording: Recording, margin_s: float) -> Answers:
    """Return an answer with DOUBT where a border of its YES or NO is closer than a margin.

    Borders of an episode are none, nor are those of a doubt: it is the margin already.
    """
    if margin_s <= 0:
        return answer
    result = answer.copy()
    margin = round(margin_s * 1e9)
    for stretch in recording.stretches:
        part = answer[stretch]
        sure = part < DOUBT
        borders = np.flatnonzero((np.diff(part) != 0) & sure[1:] & sure[:-1]) + 1
        if not len(borders):
            continue
        stamps = recording.stamp_ns[stretch]
        middle = stamps[borders - 1] + (stamps[borders] - stamps[borders - 1]) // 2
        place = np.searchsorted(middle, stamps)
        left = stamps - middle[np.maximum(place - 1, 0)]
        right = middle[np.minimum(place, len(middle) - 1)] - stamps
        close = (np.abs(left) < margin) | (np.abs(right) < margin)
        result[stretch] = np.where(close & (part != UNSURE), DOUBT, part)
    return result
