# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""From a person's spans to what they say of one recording; what fits nowhere is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import numpy as np

from thinking_policy.bags.labelling.errors import LabelError
from thinking_policy.bags.labelling.recording import Recording
from thinking_policy.bags.labelling.rule_file import Spans
from thinking_policy.bags.labelling.spans import Span, SpansFile
from thinking_policy.bags.labelling.statements import (
    SILENT,
    UNSURE,
    Statement,
    doubt_at_borders,
)


@dataclass
class Marked:
    """A person's spans, and how they fitted the recordings so far.

    Args:
        file: The spans.
        settings: How sure they are.
        names: All recordings.
    """

    file: SpansFile
    settings: Spans
    names: Sequence[str]
    remarks: Counter[str] = field(default_factory=Counter)
    _met: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Refuse spans of which nobody could tell the recording."""
        self._meant = recordings_meant(self.file, self.names)
        for span in self.file.spans:
            if len(self.names) > 1 and not span.bag and not span.begin.absolute:
                raise LabelError(
                    f'{self.file.path}:{span.line}: seconds since the start of which recording? '
                    'Add a column bag, write times since 1970, or label one recording at a time'
                )

    def statements(self, recording: Recording) -> Iterator[Statement]:
        """Yield what the spans say of a recording: one statement for each activity."""
        spans = [span for span in self.file.spans if self._concerns(span, recording)]
        ids = dict.fromkeys(id for span in spans for id in span.activities)
        for activity in ids:
            answer = np.full(len(recording), SILENT, np.int8)
            confidence = np.ones(len(recording), np.float32)
            taken = 0
            for span in spans:
                if activity not in span.activities:
                    continue
                rows = rows_of(span, recording)
                here = answer[rows]
                contrary = (here != SILENT) & (here != span.answer)
                taken += int(((here == span.answer) & ~contrary).any())
                if contrary.any():
                    what = f'situations where spans contradict each other on {activity}, unsure'
                    self.remarks[what] += int(contrary.sum())
                answer[rows] = np.where(contrary, UNSURE, span.answer)
                sure = span.confidence if span.confidence else self.settings.confidence
                confidence[rows] = sure
            if taken:
                self.remarks[f'spans of {activity} that overlap another, taken together'] += taken
            answer = doubt_at_borders(answer, recording, self.settings.margin)
            yield Statement(self.file.origin, (activity,), answer, confidence)

    def unmet(self) -> Iterator[str]:
        """Yield what is to be said when all recordings were seen."""
        for what, count in self.remarks.items():
            yield f'{self.file.path}: {what}: {count:,}'
        left = list(
            dict.fromkeys(span.line for span in self.file.spans if span.line not in self._met)
        )
        if left:
            lines = ', '.join(map(str, left[:8]))
            yield (
                f'{self.file.path}: spans in none of the recordings, left out: {len(left):,} '
                f'(line {lines}{", ..." if len(left) > 8 else ""})'
            )

    def _concerns(self, span: Span, recording: Recording) -> bool:
        if not len(recording) or (span.bag and self._meant.get(span.bag) != recording.name):
            return False
        begin, end = span.begin.on(recording.start_ns), span.end.on(recording.start_ns)
        first, last = (
            min(recording.start_ns, int(recording.stamp_ns.min())),
            int(recording.stamp_ns.max()),
        )
        if end < first or begin > last:
            return False
        self._met.add(span.line)
        if begin < first or end > last + round(recording.tick_s * 1e9):
            self.remarks['spans that reach beyond the recording, cut'] += 1
        return True


def rows_of(span: Span, recording: Recording) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the rows within a span; of a single moment the tick that it belongs to."""
    begin, end = span.begin.on(recording.start_ns), span.end.on(recording.start_ns)
    stamps = recording.stamp_ns
    rows = np.flatnonzero((stamps >= begin) & (stamps <= end))
    if not len(rows):
        tick = round(recording.tick_s * 1e9)
        rows = np.flatnonzero((stamps >= end) & (stamps - tick < end))
    return rows


def is_called(name: str, given: str) -> bool:
    """Return whether a person's word means a recording: its name, or the end of its path."""
    given = given.strip().replace('\\', '/').rstrip('/')
    if name == given:
        return True
    one, two = PurePosixPath(name).parts, PurePosixPath(given).parts
    size = min(len(one), len(two))
    if size and one[-size:] == two[-size:]:
        return True
    return PurePosixPath(name).with_suffix('').parts[-1:] == two[-1:] and len(two) == 1


def recordings_meant(file: SpansFile, names: Sequence[str]) -> dict[str, str]:
    """Return the recording that each word of the bag column means; what means none is left out.

    Raises:
        LabelError: A word could mean several.
    """
    meant: dict[str, str] = {}
    for span in file.spans:
        if not span.bag or span.bag in meant:
            continue
        found = [name for name in names if name == span.bag]
        found = found or [name for name in names if is_called(name, span.bag)]
        if len(found) > 1:
            raise LabelError(
                f'{file.path}:{span.line}: bag: {span.bag!r:.80} could be '
                f'{" or ".join(found[:3])}; write it as it stands there'
            )
        if found:
            meant[span.bag] = found[0]
    return meant
