# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Any order of storing, uploading, pinning and evicting, beside a model that is a dictionary."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from made_records import amendment, experience

from thinking_policy.experience.buffer import BufferOptions, ExperienceBuffer
from thinking_policy.experience.record import is_label, to_line
from thinking_policy.experience.store import EVICTION, Line

NUMBERS = st.integers(0, 8)
REVISIONS = st.integers(0, 3)
WITHIN_S = 10.0


def record_of(number, revision, differs=False):
    told = 'differs' if differs else ''
    if revision:
        kind = 'outcome' if revision == 2 else 'action'
        return amendment(experience(number), revision, kind, text=told)
    return experience(number, labelled=number % 3 == 0, text=told)


class Row:
    def __init__(self, record):
        self.record, self.state = record, 'pending'

    @property
    def labelled(self):
        record = self.record
        told = record.observations if record.kind == 'experience' else [record.observation]
        return any(is_label(one) for one in told)


class Model(RuleBasedStateMachine):
    """`rows` is what has to be in the file, by id and revision, in the order of storing."""

    @initialize()
    def begin(self):
        self.folder = tempfile.TemporaryDirectory()
        self.rows = {}
        self.pins = set()
        self.evicted = 0
        self.open()

    def open(self):
        self.buffer = ExperienceBuffer(
            Path(self.folder.name) / 'experience.db',
            BufferOptions(gather_s=0.0, keep_free_bytes=0),
        )

    def ask(self, question):
        return self.buffer.ask(question).result(WITHIN_S)

    def teardown(self):
        if hasattr(self, 'buffer'):
            self.buffer.close()
            self.folder.cleanup()

    @rule(batch=st.lists(st.tuples(NUMBERS, REVISIONS, st.booleans()), min_size=1, max_size=12))
    def put(self, batch):
        expected = []
        receipts = []
        for number, revision, differs in batch:
            record = record_of(number, revision, differs)
            row = self.rows.setdefault((record.id, revision), Row(record))
            expected.append(to_line(row.record) == to_line(record))
            receipts.append(self.buffer.put(record))
        for receipt, taken in zip(receipts, expected, strict=True):
            assert (receipt.exception(WITHIN_S) is None) == taken

    @rule(number=NUMBERS, revision=REVISIONS)
    def upload(self, number, revision):
        key = experience(number).id, revision
        self.ask(lambda store: store.uploaded([Line(*key, b'')], 1))
        if key in self.rows:
            self.rows[key].state = 'uploaded'

    @rule(number=NUMBERS, revision=REVISIONS)
    def quarantine(self, number, revision):
        key = experience(number).id, revision
        self.ask(lambda store: store.quarantine(Line(*key, b''), 'no'))
        if key in self.rows and self.rows[key].state == 'pending':
            self.rows[key].state = 'quarantined'

    @rule()
    def release(self):
        self.ask(lambda store: store.release())
        for row in self.rows.values():
            if row.state == 'quarantined':
                row.state = 'pending'

    @rule(number=NUMBERS, pinned=st.booleans())
    def pin(self, number, pinned):
        one = experience(number).id
        if pinned:
            self.ask(lambda store: store.pin(one, 'why'))
            self.pins.add(one)
        else:
            self.ask(lambda store: store.unpin(one, 'why'))
            self.pins.discard(one)

    @rule(kind=st.sampled_from(EVICTION), most=st.integers(1, 3))
    def evict(self, kind, most):
        count = self.ask(lambda store: store.evict(kind, most=most))
        chosen = []
        for (one, revision), row in self.rows.items():
            first = min(r for i, r in self.rows if i == one)
            free = one not in self.pins and one not in chosen
            if revision == first and free and self.is_of(kind, one, row):
                chosen.append(one)
        gone = [key for key in self.rows if key[0] in chosen[:most]]
        assert count == len(gone)
        self.evicted += count
        for key in gone:
            del self.rows[key]

    def is_of(self, kind, one, row):
        family = [r for (i, _), r in self.rows.items() if i == one]
        return {
            'uploaded': all(r.state == 'uploaded' for r in family),
            'quarantined': row.state == 'quarantined',
            'unlabelled': not any(r.labelled for r in family),
            'labelled': True,
        }[kind]

    @rule()
    def open_again(self):
        assert self.buffer.close() == 0
        self.open()

    @invariant()
    @precondition(lambda self: hasattr(self, 'buffer'))
    def the_file_holds_what_the_model_does(self):
        found = self.ask(lambda store: list(store.all_lines()))
        expected = {key: to_line(row.record) for key, row in self.rows.items()}
        assert {(one.id, one.revision): one.body for one in found} == expected
        assert len(found) == len(expected)
        pending = self.ask(lambda store: store.pending(1000, 10**9))
        assert [(one.id, one.revision) for one in pending] == [
            key for key, row in self.rows.items() if row.state == 'pending'
        ]
        totals, counters = self.ask(lambda store: (store.totals(), store.counters()))
        heads = [one for one, revision in self.rows if revision == 0]
        assert totals['experiences'] == len(heads)
        assert totals['labelled'] == sum(
            any(r.labelled for (i, _), r in self.rows.items() if i == one) for one in heads
        )
        evicted = sum(count for name, count in counters.items() if name.startswith('evicted_'))
        assert evicted == self.evicted
        assert counters.get('stored', 0) == len(self.rows) + evicted


Model.TestCase.settings = settings(
    max_examples=40,
    stateful_step_count=20,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
TestBufferStates = pytest.mark.timeout(120)(Model.TestCase)
