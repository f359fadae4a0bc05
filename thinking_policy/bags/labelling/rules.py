# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Rules: what a situation calls for, told from what came before it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from thinking_policy.bags.labelling.conditions import truth_of
from thinking_policy.bags.labelling.recording import Recording
from thinking_policy.bags.labelling.rule_file import ALL, Rule
from thinking_policy.bags.labelling.statements import (
    DOUBT,
    NO,
    SILENT,
    YES,
    Statement,
    doubt_at_borders,
)
from thinking_policy.bags.labelling.truth import held


def rule_statements(
    rule: Rule, recording: Recording, scale: str, activities: tuple[str, ...]
) -> Iterator[Statement]:
    """Yield what a rule says of a recording; nothing where its condition does not hold.

    Args:
        rule: From a checked file.
        recording: The situations.
        scale: The file's own or nominal.
        activities: All ids, for `denies: all`.
    """
    truth = held(truth_of(rule.when, recording, scale), recording, rule.lasting)
    denied = activities if rule.denies == ALL else rule.denies
    for ids, word in ((rule.activities, YES), (denied, NO)):
        if ids:
            answer = np.where(truth.yes, word, np.where(truth.known, SILENT, DOUBT))
            answer = doubt_at_borders(answer.astype(np.int8), recording, rule.margin)
            yield Statement(f'rule:{rule.name}', tuple(ids), answer, rule.confidence)
