# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""One run from start to end: processes, what they say, what is heard, how it came out."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from thinking_policy import ThinkingPolicyError
from thinking_policy.cli.lines import Summary
from thinking_policy.cli.plan import Plan, environment_for, policy_process, source_process
from thinking_policy.cli.processes import Ended, Processes
from thinking_policy.cli.robot_files import find_configuration
from thinking_policy.cli.shows import Show, choose_show

if TYPE_CHECKING:
    from thinking_policy.cli.bag_coverage import Coverage
    from thinking_policy.cli.listener import Listener

REFRESH_S = 0.1
DISCOVERY_S = 1.0  # to see who is there already
GUARD_S = 10.0  # discovery repeats every 3 s what a busy machine has lost
NAMES_S = 4.0  # the name of a run may be discovered so long after its topics
MATCH_S = 20.0  # for the policy node to appear before its source is started without it
DRAIN_S = 1.0  # silence after the end of a bag that means that the last tick was heard
# How the policy node says that it stays inactive; nobody here would wake it later.
NEVER_ACTIVE = ('ERROR not configured: ', 'ERROR not activated: ')


def carry_out(plan: Plan, duration_s: float, json_lines: bool) -> int:
    """Run the plan until its source ends, its duration is over or a signal comes.

    Returns:
        0; 1 where a node failed or no activation was heard.

    Raises:
        ThinkingPolicyError: The bag cannot be opened, the policy node cannot become active, or
            somebody publishes already what the source would publish.
    """
    from thinking_policy.situation.robot_file import load_configuration  # NumPy

    load_configuration(plan.config, plan.namespace)  # said here in one line, not by a child
    coverage = _coverage(plan)
    os.environ.update(environment_for(plan, os.environ))
    with stop_on_signals() as stop:
        # After the environment is set: it joins ROS.
        from thinking_policy.cli.listener import Listener

        listener = Listener(plan.namespace, details=not json_lines, started_here=True)
        run = Run(plan, listener, choose_show(json_lines))
        failures: list[Ended] = []
        try:
            failures = run.follow(duration_s, stop)
            failures += run.processes.stop()
            run.show_output()
        except ThinkingPolicyError:
            run.summary = Summary()  # what was heard may be somebody else's
            raise
        finally:
            run.processes.stop()
            run.show.close(_account(run.summary, coverage))
            topic = listener.topic
            listener.close()
        if stop.is_set() and not failures:
            return 0  # whoever ended it so early doesn't want to know that nothing was heard
    return _verdict(failures, run.summary, topic)


@dataclass
class Run:
    """What is at work during one run; all of it belongs to one thread."""

    plan: Plan
    listener: Listener
    show: Show
    processes: Processes = field(default_factory=Processes)
    summary: Summary = field(default_factory=Summary)
    _heard_s: float = 0.0
    _mixed: bool = False
    _first: bool = False
    _taken_since_s: float = 0.0
    _topics: list[str] = field(default_factory=list)

    def follow(self, duration_s: float, stop: threading.Event) -> list[Ended]:
        """Start the nodes and show what is heard until the run is over.

        Returns:
            The children that failed.
        """
        source = source_process(self.plan)
        source_over = False
        started = self._heard_s = time.monotonic()
        self.processes.start(policy_process(self.plan))
        while not stop.is_set():
            now = time.monotonic()
            if source is not None and self._is_time(now - started):
                if not self._is_taken(ours=0):
                    self.processes.start(source)
                    source = None
            elif not self.plan.live and now - started < GUARD_S:
                self._is_taken(ours=1)
            self._listen()
            ended = self.processes.ended()
            failed = [end for end in ended if end.code != 0 or end.name == 'policy_node']
            if failed:
                return failed
            if ended:  # the source came to its end
                source_over, self._heard_s = True, time.monotonic()
            if source_over and now - self._heard_s > DRAIN_S:
                break
            if 0 < duration_s <= now - started:
                break
        return []

    def show_output(self) -> None:
        """Show what the nodes printed.

        Raises:
            ThinkingPolicyError: The policy node says that it stays inactive.
        """
        for name, line in self.processes.output():
            self.show.log(name, line)
            if line.startswith(NEVER_ACTIVE):
                raise ThinkingPolicyError(f'{name}: {line.removeprefix("ERROR ")}')

    def _listen(self) -> None:
        for message in self.listener.spin(REFRESH_S):
            self._heard_s = time.monotonic()
            picture = self.listener.picture_of(message)
            self.summary.add(picture)
            self.show.message(message, picture)
        self.show_output()
        self.show.refresh(self.listener.picture())
        if self.listener.publishers > 1 and not self._mixed:
            self._mixed = True
            self.show.log(
                'run',
                f'WARN another node publishes {self.listener.topic} too: what is shown mixes '
                'both; set another ROS_DOMAIN_ID or --namespace',
            )

    def _is_time(self, waited_s: float) -> bool:
        """Whether to start the source: a bag not before its first messages can be heard."""
        if self.plan.bag is None:
            return waited_s >= DISCOVERY_S
        return (waited_s >= DISCOVERY_S and self.listener.matched()) or waited_s > MATCH_S

    def _is_taken(self, ours: int) -> bool:
        """Keep a simulation or a bag away from a robot, or an earlier run, that is there.

        Topics and names are discovered in any order, so that a robot is told from a later run,
        which gives way itself, only after a while.

        Args:
            ours: How many publishers of a topic may be our own.

        Returns:
            Whether somebody else publishes what our source would publish.
        """
        earlier, later = self.listener.other_runs()
        self._first |= later and not earlier
        if self._first:  # the other one sees us too, and gives way
            return False
        taken = [topic for topic in self._sources() if self.listener.count(topic) > ours]
        if self.listener.publishers > 1:
            taken.append(self.listener.topic)
        if not taken:
            self._taken_since_s = 0.0
            return False
        now = time.monotonic()
        self._taken_since_s = self._taken_since_s or now
        if earlier or now - self._taken_since_s > NAMES_S:
            raise ThinkingPolicyError(
                f'run: {", ".join(taken)} {"is" if len(taken) == 1 else "are"} published already, '
                'by a robot or another run: hear it with --live, or keep apart with --namespace '
                'or another ROS_DOMAIN_ID'
            )
        return True

    def _sources(self) -> list[str]:
        """Return the topics that our source may publish."""
        if not self._topics:
            from thinking_policy.situation.robot_file import load_configuration  # NumPy

            # The simulated robot has the default topics, whatever the configuration asks for.
            file = self.plan.config if self.plan.bag else find_configuration('')
            names = {s.topic for s in load_configuration(file).signals if s.topic}
            names |= {'/clock'} if self.plan.bag else set()
            self._topics = sorted(self.listener.resolve(name) for name in names)
        return self._topics


@contextlib.contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
    """Turn Ctrl-C, SIGTERM and a closed terminal into an event while the block runs."""
    stop = threading.Event()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _account(summary: Summary, coverage: Coverage | None) -> list[str]:
    if coverage is None:
        return summary.lines() if summary.ticks else []
    return [*(summary.lines(coverage.remarks) if summary.ticks else ()), *coverage.lines]


def _verdict(failures: list[Ended], summary: Summary, topic: str) -> int:
    for end in failures:
        print(
            f'thinking-policy: error: {end.name} ended with {end.reason}'
            f'{"; its last lines:" if end.last_lines else ""}',
            file=sys.stderr,
        )
        for line in end.last_lines:
            print(f'  {line}', file=sys.stderr)
    if not failures and not summary.ticks:
        print(
            f'thinking-policy: error: nothing was heard on {topic}; see `thinking-policy doctor`',
            file=sys.stderr,
        )
    return 1 if failures or not summary.ticks else 0


def _coverage(plan: Plan) -> Coverage | None:
    """Return what the bag holds of the signals; a bad bag is said before anything starts."""
    if plan.bag is None:
        return None
    from thinking_policy.cli.bag_coverage import cover  # needs the extra [bags]

    return cover(plan.bag, plan.config, plan.namespace)
