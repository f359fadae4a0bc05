# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Labels recordings one after the other and remembers what there is to say about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from thinking_policy.bags.labelling.marked import Marked
from thinking_policy.bags.labelling.merging import Conflict, Merged, merge, spans_of
from thinking_policy.bags.labelling.outcomes import outcome_statements
from thinking_policy.bags.labelling.recording import Recording
from thinking_policy.bags.labelling.rule_file import RuleFile
from thinking_policy.bags.labelling.rule_loading import events_of, signals_of
from thinking_policy.bags.labelling.rule_names import matching
from thinking_policy.bags.labelling.rules import rule_statements
from thinking_policy.bags.labelling.spans import SpansFile
from thinking_policy.bags.labelling.statements import Statement


@dataclass
class Tally:
    """What there is of one activity: rows and spans it is called for, by whom, and unsure ones."""

    rows: int = 0
    spans: int = 0
    unsure: int = 0
    by_origin: Counter[str] = field(default_factory=Counter)


class Labeller:
    """Makes the labels of recordings and counts.

    Attributes:
        activities: A ids that some origin speaks about, in the order of the list of activities.
        tallies: By activity.
        conflicts: Of all recordings so far.
        rows: Situations so far.
        labelled: Of those, how many have a row in the table.
        nothing: Of these, for how many nothing is called for.
    """

    def __init__(
        self,
        titles: Mapping[str, str],
        rules: RuleFile | None,
        spans: Sequence[SpansFile],
        names: Sequence[str],
        source: Path | None = None,
    ) -> None:
        """Prepare.

        Args:
            titles: Title by id of all activities.
            rules: Checked rules and outcomes; None: only spans.
            spans: What persons marked.
            names: What the recordings are called.
            source: File of the rules, for remarks.
        """
        self._file = rules or RuleFile()
        self._has_rules = rules is not None
        self._source = source
        self._marked = [Marked(file, self._file.spans, names) for file in spans]
        self._titles = tuple(titles)
        said = _spoken_of(self._file, spans, self._titles)
        self.activities = tuple(id for id in self._titles if id in said or not said)
        self.tallies = {id: Tally() for id in self.activities}
        self.conflicts: list[Conflict] = []
        self.rows = self.labelled = self.nothing = 0
        self._codes: set[str] = set()
        self._never_valid: Counter[str] = Counter()

    @property
    def precedence(self) -> tuple[str, ...]:
        """The order in which origins count."""
        return self._file.precedence

    @property
    def default(self) -> str:
        """What holds where nobody says a thing."""
        return self._file.default

    def label(self, recording: Recording) -> Merged:
        """Label one recording."""
        statements = list(self.statements(recording))
        marked = any(one.origin.startswith('person:') for one in statements)
        # Without rules a recording that no span lies in was not looked at.
        default = self.default if self._has_rules or marked else 'unlabelled'
        merged = merge(recording, statements, self.activities, self.precedence, default)
        self._count(recording, merged)
        return merged

    def statements(self, recording: Recording) -> Sequence[Statement]:
        """Return what all origins say of a recording."""
        file, found = self._file, list[Statement]()
        for rule in file.rules:
            found += rule_statements(rule, recording, file.scale, self.activities)
        for outcome in file.outcomes:
            found += outcome_statements(outcome, recording, file.scale)
        for marked in self._marked:
            found += marked.statements(recording)
        return found

    def remarks(self) -> Sequence[str]:
        """Return what did not fit: spans, event codes that never occurred, silent signals."""
        lines = [line for marked in self._marked for line in marked.unmet()]
        for where, event in events_of(self._file):
            if not matching(event, self._codes):
                known = ', '.join(sorted(self._codes)[:8]) or 'none at all'
                lines.append(
                    f'{self._source}: {where}: event {event!r} never occurred; '
                    f'events that did: {known}'
                )
        for signal, count in self._never_valid.items():
            lines.append(
                f'signal {signal}: no reading in {count:,} '
                f'recording{"" if count == 1 else "s"}; what rests on it is unsure there'
            )
        return lines

    def _count(self, recording: Recording, merged: Merged) -> None:
        table = merged.table
        self.rows += len(recording)
        self.labelled += len(table)
        self.nothing += int((~table.label.any(axis=1)).sum())
        self.conflicts += merged.conflicts
        self._codes.update(recording.event_code)
        for column, activity in enumerate(self.activities):
            tally = self.tallies[activity]
            yes = table.label[:, column]
            tally.rows += int(yes.sum())
            tally.unsure += int((table.confidence[:, column] == 0).sum())
            tally.by_origin.update(table.origin[yes, column])
            called = np.zeros(len(recording), np.bool_)
            called[merged.labelled] = yes
            tally.spans += len(spans_of(called, recording.stretches))
        for name in signals_of(self._file):
            self._never_valid[name] += name in recording.silent
        self._never_valid = +self._never_valid


def _spoken_of(
    rules: RuleFile, spans: Sequence[SpansFile], titles: tuple[str, ...]
) -> frozenset[str]:
    """Return the activities that some origin can call for or deny.

    What is only ever denied all together, as by `denies: all`, is nothing to learn.
    """
    ids: set[str] = set()
    for rule in rules.rules:
        ids |= set(rule.activities) | (set() if rule.denies == 'all' else set(rule.denies))
    for outcome in rules.outcomes:
        ids |= set(outcome.before) | set(outcome.at)
    for file in spans:
        for span in file.spans:
            if span.activities != titles:
                ids |= set(span.activities)
    return frozenset(ids)
