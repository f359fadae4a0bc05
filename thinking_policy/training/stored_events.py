# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The events of an .npz file, exported or ready packed, as a network's inputs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinking_policy.situation.configuration import EventConfig
from thinking_policy.training.errors import LearningError
from thinking_policy.training.event_rows import EventStream, event_rows
from thinking_policy.training.learning_set import EventRows
from thinking_policy.training.stored_arrays import Arrays, numbers, require

PACKED = ('recent_code', 'recent_age', 'code_age', 'code_count')


def stored_events(
    arrays: Arrays,
    path: Path,
    episode: NDArray[np.int64],
    vocabulary: Sequence[str] | None,
    recent_events: int,
    settings: dict[str, Any],
) -> EventRows | None:
    """Return the event inputs of a file's rows.

    Args:
        arrays: Of the file.
        path: File named in errors.
        episode: int64 [N].
        vocabulary: Codes to pack exported events for; None: those of packed ones, if any; empty:
            events are not looked at.
        recent_events: E, recent events to pack.
        settings: Of the export: how many events a situation holds.

    Returns:
        None without a vocabulary.

    Raises:
        LearningError: Events are missing, don't match, or are packed for other codes.
    """
    if vocabulary is not None and not vocabulary:
        return None
    if 'vocabulary' in arrays:
        ready = tuple(str(code) for code in np.atleast_1d(arrays['vocabulary']))
        if vocabulary is not None and tuple(vocabulary) != ready:
            raise LearningError(
                f'{path}: its events are packed for {list(ready)}, not for {list(vocabulary)}'
            )
        require(arrays, PACKED, path)
        return EventRows(
            ready,
            _packed_codes(arrays, len(ready), path),
            *(numbers(arrays, name, path) for name in PACKED[1:]),
        )
    if vocabulary is None:
        return None
    require(arrays, ('stamp_ns', 'event_row', 'event_stamp_ns', 'event_code'), path)
    _check_export(arrays, len(episode), path)
    default = EventConfig()
    stream = EventStream(
        arrays['stamp_ns'],
        episode,
        arrays['event_row'],
        arrays.get('event_tick', np.zeros(len(arrays['event_row']), np.int64)),
        _is_over(arrays),
        arrays['event_stamp_ns'],
        arrays['event_code'],
        int(settings.get('recent', default.recent)),
        int(settings.get('known', default.known)),
    )
    return event_rows(stream, vocabulary, recent_events)


def _is_over(arrays: Arrays) -> NDArray[np.bool_]:
    """Tell which events are of an episode before that of their row, bool [M].

    Older files don't say it; without a stride there are none.
    """
    row = arrays['event_row']
    if 'event_episode' not in arrays:
        return np.zeros(len(row), np.bool_)
    own = np.append(arrays['episode'], '')[row]
    over: NDArray[np.bool_] = own != arrays['event_episode']
    return over


def _packed_codes(arrays: Arrays, known: int, path: Path) -> NDArray[np.int64]:
    """Return the recent codes of packed events, int64 [N, E]; shapes and codes checked."""
    codes = arrays['recent_code']
    rows, recent = codes.shape if codes.ndim == 2 else (-1, -1)
    wanted = {
        'recent_code': (rows, recent),
        'recent_age': (rows, recent),
        'code_age': (rows, known),
        'code_count': (rows, known),
    }
    for name, shape in wanted.items():
        if arrays[name].shape != shape:
            raise LearningError(
                f'{path}: {name}: expected [N, {shape[1]}], found {list(arrays[name].shape)}'
                if rows >= 0
                else f'{path}: {name}: expected [N, E], found {list(codes.shape)}'
            )
    if codes.dtype.kind not in 'iu' or (
        codes.size and not 0 <= codes.min() <= codes.max() <= known
    ):
        raise LearningError(
            f'{path}: recent_code: expected whole numbers 0...{known}, the place in the '
            f'vocabulary plus 1, found {codes.dtype} others; pack the events again'
        )
    return codes.astype(np.int64)


def _check_export(arrays: Arrays, rows: int, path: Path) -> None:
    """Check exported events: as many of each, in the order in which they became known."""
    row = arrays['event_row']
    shapes = {
        'stamp_ns': (rows,),
        'event_row': row.shape[:1],
        'event_stamp_ns': row.shape[:1],
        'event_code': row.shape[:1],
    }
    shapes |= {n: row.shape[:1] for n in ('event_tick', 'event_episode') if n in arrays}
    for name, shape in shapes.items():
        array = arrays[name]
        if array.shape != shape or (
            name not in ('event_code', 'event_episode') and array.dtype.kind not in 'iu'
        ):
            raise LearningError(
                f'{path}: {name}: expected {list(shape)} whole numbers, or codes, found '
                f'{array.dtype} {list(array.shape)}; export the situations again'
            )
    if len(row) and not (row[0] >= 0 and row[-1] <= rows and (np.diff(row) >= 0).all()):
        raise LearningError(
            f'{path}: event_row: expected rising rows in 0...{rows}; export the situations again'
        )
