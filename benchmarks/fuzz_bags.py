#!/usr/bin/env python3
# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Mutated bags and configurations through the real commands: no traceback, bounded time, memory.

    .venv/bin/python benchmarks/fuzz_bags.py --count 2000
    .venv/bin/python benchmarks/fuzz_bags.py --seed 7 --case 123   # one again, with what it says

A case is a good bag (any storage) with its robot file, label rules, table of labels, spans, CSV
and CSV map, of which one is damaged; and a command that reads it. Each runs in a process of its
own with a limit of memory and time. What fails stays in --keep.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import importlib
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import fuzz_cases
import numpy as np

SECONDS = 30  # a command may take on a few hundred messages, on a busy machine
MEMORY_MB = 400  # that a command may take beyond what the program has before it
_LIMIT = 4 << 30  # bytes; so large that what asks for too much is seen and not turned away
_TRACEBACK = 70  # exit status of a case that raised


@dataclass(frozen=True)
class Outcome:
    """What became of a case.

    Attributes:
        number: Which.
        told: The command and what was done to which file.
        verdict: read (all, or what could be), refused; or the fault: traceback, killed, too slow,
            too large, silent.
        said: Last line of the output.
        seconds: What it took.
        peak_mb: Memory, beyond what the program had before.
    """

    number: int
    told: str
    verdict: str
    said: str
    seconds: float
    peak_mb: float

    @property
    def failed(self) -> bool:
        """Whether this may not happen."""
        return self.verdict not in ('read', 'refused')


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--count', type=int, default=2000, help='cases')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--case', type=int, help='only this one, and print what it says')
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    parser.add_argument('--keep', type=Path, default=Path('fuzz_failures'), help='of failures')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        good = fuzz_cases.write_good(Path(folder))
        if options.case is not None:
            outcome = run_case(good, options.seed, options.case, options.keep, show=True)
            print(f'{outcome.verdict}: {outcome.told} ({outcome.seconds:.1f} s)')
            sys.exit(outcome.failed)
        outcomes = run_all(good, options)
    print(summary(outcomes))
    for outcome in outcomes:
        if outcome.failed:
            print(f'FAILED {outcome.number}: {outcome.verdict}: {outcome.told}: {outcome.said}')
    sys.exit(any(outcome.failed for outcome in outcomes))


def run_all(good: Path, options: argparse.Namespace) -> list[Outcome]:
    """Run all cases, several at once."""
    context = multiprocessing.get_context('spawn')
    outcomes = []
    with concurrent.futures.ProcessPoolExecutor(options.jobs, context, warm_up) as pool:
        waiting = [
            pool.submit(run_case, good, options.seed, number, options.keep)
            for number in range(options.count)
        ]
        for done, future in enumerate(concurrent.futures.as_completed(waiting), 1):
            outcomes.append(future.result())
            if done % max(1, options.count // 20) == 0:
                failed = sum(outcome.failed for outcome in outcomes)
                print(f'  {done} of {options.count}, {failed} failed', file=sys.stderr, flush=True)
    return sorted(outcomes, key=lambda outcome: outcome.number)


def warm_up() -> None:
    """Import what the commands use, so that a case begins with all of it."""
    for name in (
        'torch',
        'thinking_policy.bags.labelling.labeller',
        'thinking_policy.bags.labelling.rule_loading',
        'thinking_policy.bags.labelling.spans',
        'thinking_policy.cli.bag',
        'thinking_policy.cli.label',
        'thinking_policy.cli.train',
    ):
        importlib.import_module(name)


def run_case(good: Path, seed: int, number: int, keep: Path, show: bool = False) -> Outcome:
    """Damage a copy of the good files and run a command on it, in a process of its own."""
    random = np.random.default_rng([seed, number])
    folder = Path(tempfile.mkdtemp(prefix='fuzz-'))
    try:
        words, told = fuzz_cases.damage(good, folder, random)
        begun = time.monotonic()
        status, peak_mb = run_apart(words, folder, show)
        seconds = time.monotonic() - begun
        output = (folder / 'output.txt').read_text('utf-8', 'replace')
        what = verdict(status, output, peak_mb)
        outcome = Outcome(number, told, what, last(output), seconds, peak_mb)
        if outcome.failed:
            shutil.copytree(folder, keep / f'{seed}-{number}', dirs_exist_ok=True)
        return outcome
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_apart(words: list[str], folder: Path, show: bool) -> tuple[int, float]:
    """Run a command of `thinking-policy` in a fork; return its wait status and memory, MB.

    The memory is the peak beyond what the program had before, with what it uses of libraries.
    """
    _, resident, shared, *_ = map(int, Path('/proc/self/statm').read_text().split())
    own = (resident - shared) * resource.getpagesize()  # a fork begins with that alone
    child = os.fork()
    if child == 0:
        _run(words, folder, show)
    _, status, usage = os.wait4(child, 0)
    return status, max(0.0, (usage.ru_maxrss * 1024 - own) / 1e6)


def _run(words: list[str], folder: Path, show: bool) -> None:
    """Never returns."""
    status = _TRACEBACK
    try:
        os.chdir(folder)
        if not show:
            file = os.open('output.txt', os.O_WRONLY | os.O_CREAT)
            os.dup2(file, 1)
            os.dup2(file, 2)
        else:
            Path('output.txt').touch()
        has = int(Path('/proc/self/statm').read_text().split()[0]) * os.sysconf('SC_PAGE_SIZE')
        resource.setrlimit(resource.RLIMIT_AS, (has + _LIMIT, has + _LIMIT))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.alarm(SECONDS)
        from thinking_policy.cli.main import main as command

        status = command(words)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def verdict(status: int, output: str, peak_mb: float = 0.0) -> str:
    """Tell what a wait status, an output and a peak of memory mean."""
    if os.WIFSIGNALED(status):
        by = os.WTERMSIG(status)
        return 'too slow' if by == signal.SIGALRM else f'killed by {signal.Signals(by).name}'
    code = os.WEXITSTATUS(status)
    if 'Traceback' in output or code == _TRACEBACK:
        return 'traceback'
    if peak_mb > MEMORY_MB:
        return 'too large'
    if code == 0:
        return 'read'
    return 'refused' if 'thinking-policy: error: ' in output else f'silent, status {code}'


def last(output: str) -> str:
    """Return the last line."""
    return next((line for line in reversed(output.splitlines()) if line.strip()), '')[:200]


def summary(outcomes: list[Outcome]) -> str:
    """Return how many of each verdict, and the largest figures."""
    counts = collections.Counter(outcome.verdict for outcome in outcomes)
    slowest = max(outcomes, key=lambda outcome: outcome.seconds)
    largest = max(outcomes, key=lambda outcome: outcome.peak_mb)
    return '\n'.join(
        [
            f'{len(outcomes)} cases: '
            + ', '.join(f'{what} {count}' for what, count in counts.most_common()),
            f'slowest: {slowest.seconds:.1f} s ({slowest.number}: {slowest.told})',
            f'largest: {largest.peak_mb:.0f} MB ({largest.number}: {largest.told})',
        ]
    )


if __name__ == '__main__':
    main()
