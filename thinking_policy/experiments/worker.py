# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A process that runs cells: reads them from stdin, one JSON a line, and answers on stdout.

A process of its own, and not a fork or `multiprocessing`: torch and BLAS take their number of
threads from the environment when they load, a fork of a process that has loaded them may hang,
and `multiprocessing` would run the program's entry a second time.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
import time
import traceback
from queue import SimpleQueue
from typing import Any, TextIO

from thinking_policy import ThinkingPolicyError
from thinking_policy.experiments.experiment import Cell, Experiment

# At most so often does a cell's progress go to the parent.
_PROGRESS_PERIOD_S = 0.2


def main(module: str) -> None:
    """Serve until stdin ends.

    Args:
        module: Name of the module that holds `EXPERIMENT`.
    """
    # What libraries print must not get between the answers.
    answers = os.fdopen(os.dup(1), 'w', encoding='utf-8')
    os.dup2(2, 1)
    requests: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    experiment: Experiment = importlib.import_module(module).EXPERIMENT
    while True:
        _say(answers, _answer(experiment, Cell(**json.loads(requests.get())), answers))


def _listen(requests: SimpleQueue[str]) -> None:
    for line in sys.stdin:
        requests.put(line)
    os._exit(0)  # the parent is gone, or wants no more: also in the middle of a cell


def _answer(experiment: Experiment, cell: Cell, answers: TextIO) -> dict[str, Any]:
    last = 0.0

    def tell(what: str, share: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _PROGRESS_PERIOD_S:
            last = now
            _say(answers, {'doing': what, 'share': share})

    start = time.monotonic()
    try:
        figures = experiment.run_cell(cell, tell)
        plain = {
            method: {metric: float(value) for metric, value in values.items()}
            for method, values in figures.items()
        }
    except ThinkingPolicyError as error:
        return {'error': str(error), 'trace': traceback.format_exc()}
    except Exception as error:  # anything else is a fault of ours: said with its kind
        return {'error': f'{type(error).__name__}: {error}', 'trace': traceback.format_exc()}
    return {'figures': plain, 'wall_s': time.monotonic() - start}


def _say(answers: TextIO, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message) + '\n')
    answers.flush()
