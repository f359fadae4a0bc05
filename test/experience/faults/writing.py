# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Stores records in a buffer and notes, in the same folder, which ones were acknowledged.

    python writing.py FOLDER commit|interval|off SEED

Each line of the file `acknowledged` is the buffer's time, the id and revision of a record. The
time stands still but for a step with each burst, so that a run is the same on any machine.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from random import Random

sys.path.append(str(Path(__file__).resolve().parent.parent))

from made_records import amendment, experience

from thinking_policy.experience import buffer as buffers
from thinking_policy.experience.buffer import BufferOptions, ExperienceBuffer

STEP_S = 0.1
INTERVAL_S = 1.0
BURSTS = 40
WITHIN_S = 60.0


def main() -> None:
    folder, sync, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    random = Random(seed)
    notes = os.open(folder / 'acknowledged', os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    steps = 0
    number = 0
    if sync == 'off':
        never_sync()
    for life in range(2):  # it is closed and opened again once
        buffer = ExperienceBuffer(
            folder / 'experience.db',
            BufferOptions(
                sync='commit' if sync == 'off' else sync,
                sync_interval_s=INTERVAL_S,
                gather_s=0.0,
                keep_free_bytes=0,
            ),
            monotonic=lambda: steps * STEP_S,  # noqa: B023, the one that is then
        )
        for burst in range(BURSTS):
            steps += 1
            records = []
            for _ in range(random.choice((1, 1, 2, 5, 40))):
                record = experience(number, length=random.choice((1, 50, 400)))
                records += [record] + [amendment(record, 1)] * (random.random() < 0.2)
                number += 1
            receipts = [buffer.put(record) for record in records]
            for record, receipt in zip(records, receipts, strict=True):
                receipt.result(WITHIN_S)
                revision = getattr(record, 'revision', 0)
                os.write(notes, f'{steps * STEP_S:.1f} {record.id} {revision}\n'.encode())
            if burst % 10 == 9:
                ask(buffer, lambda store: store.uploaded(store.pending(20, 10**6), 1))
        # What a crash in the middle leaves is looked at too: the second life is not closed.
        if life == 0:
            buffer.close()
    ask(buffer, lambda store: None)
    os._exit(0)


def never_sync() -> None:
    """Have every file opened with SQLite's own switch for those who don't mind losing it."""
    open_database = buffers.open_database

    def opened_unsafely(*words, **options):
        opened = open_database(*words, **options)
        opened.database.conn.execute('PRAGMA synchronous=OFF')
        return opened

    buffers.open_database = opened_unsafely


def ask(buffer: ExperienceBuffer, question) -> None:
    buffer.ask(question).result(WITHIN_S)


if __name__ == '__main__':
    main()
