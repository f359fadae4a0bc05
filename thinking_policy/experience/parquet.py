# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Experiences as a Parquet table: a row for each, with what learning needs; needs pyarrow.

Later outcomes and feedback are in the row of what they amend, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from thinking_policy.experience.entry import Line
from thinking_policy.experience.record import (
    Amendment,
    Experience,
    Observation,
    from_line,
    is_label,
)

ROWS, ROWS_BYTES = 1000, 8 << 20  # of one row group: memory stays flat

_EVENT = pa.struct(
    [
        ('stamp', pa.timestamp('ns', 'UTC')),
        ('kind', pa.string()),
        ('code', pa.string()),
        ('source', pa.string()),
        ('value', pa.float64()),
        ('count', pa.uint32()),
    ]
)
_OBSERVATION = pa.struct(
    [
        ('revision', pa.int64()),  # 0: known when it was recorded
        ('kind', pa.string()),
        ('stamp', pa.timestamp('ns', 'UTC')),
        ('code', pa.string()),
        ('reward', pa.float64()),
        ('expected', pa.list_(pa.string())),
        ('verified', pa.bool_()),
        ('source', pa.string()),
        ('text', pa.string()),
    ]
)
_READING = pa.struct([('state', pa.string()), ('value', pa.float64()), ('age_s', pa.float64())])
_ACTIVATION = pa.struct(
    [
        ('id', pa.string()),
        ('probability', pa.float64()),
        ('threshold', pa.float64()),
        ('active', pa.bool_()),
    ]
)

SCHEMA = pa.schema(
    [
        ('id', pa.string()),
        ('robot', pa.string()),
        ('episode', pa.string()),
        ('stamp', pa.timestamp('ns', 'UTC')),
        ('tick', pa.uint64()),
        ('policy_version', pa.string()),
        ('reasons', pa.list_(pa.string())),
        ('labelled', pa.bool_()),
        ('period_s', pa.float64()),
        ('length', pa.int32()),  # T
        ('signals', pa.list_(pa.string())),  # F names
        ('window', pa.list_(pa.float32())),  # T·F, row-major, oldest first, nominal scale
        ('valid', pa.list_(pa.bool_())),  # T·F
        ('readings', pa.list_(_READING)),  # F, own units
        ('events', pa.list_(_EVENT)),
        ('recalled', pa.list_(_EVENT)),
        ('activations', pa.list_(_ACTIVATION)),
        ('active', pa.list_(pa.string())),
        ('novelty', pa.float64()),
        ('novelty_threshold', pa.float64()),
        ('observations', pa.list_(_OBSERVATION)),
    ]
)


def write_table(
    path: Path, groups: Iterable[list[Line]], told: Callable[[int], None]
) -> tuple[int, int]:
    """Write a row for each experience.

    Args:
        path: The file, replaced where it is.
        groups: The lines of each experience.
        told: Is told how many rows were written.

    Returns:
        How many rows, and how many amendments were left out since their experience isn't there.
    """
    rows: list[dict[str, Any]] = []
    size = written = alone = 0
    with pq.ParquetWriter(path, SCHEMA, compression='zstd') as writer:
        for lines in groups:
            if lines[0].revision:
                alone += len(lines)
                continue
            rows.append(_row(lines))
            size += sum(len(line.body) for line in lines)
            if len(rows) >= ROWS or size >= ROWS_BYTES:
                writer.write_batch(pa.RecordBatch.from_pylist(rows, SCHEMA))
                written += len(rows)
                rows, size = [], 0
                told(written)
        if rows:
            writer.write_batch(pa.RecordBatch.from_pylist(rows, SCHEMA))
    return written + len(rows), alone


def _row(lines: list[Line]) -> dict[str, Any]:
    experience, *amendments = (from_line(line.body, f'record {line.id}') for line in lines)
    assert isinstance(experience, Experience)
    situation = experience.situation
    row = experience.model_dump(mode='json', exclude={'kind', 'schema_version'})
    row |= {
        **row.pop('situation'),
        'stamp': situation.stamp_ns,
        'window': situation.array().ravel(),
        'valid': situation.mask().ravel(),
        'labelled': experience.labelled,
        'active': experience.active,
    }
    for event in (*row['events'], *row['recalled']):
        event['stamp'] = event.pop('stamp_ns')
    row['observations'] = [_observation(0, one) for one in experience.observations]
    for amendment in amendments:
        assert isinstance(amendment, Amendment)
        row['observations'].append(_observation(amendment.revision, amendment.observation))
        row['labelled'] |= is_label(amendment.observation)
    return row


def _observation(revision: int, observation: Observation) -> dict[str, Any]:
    fields = observation.model_dump(mode='json')
    return {'revision': revision, 'stamp': fields.pop('stamp_ns'), **fields}
