# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Plays a bag to live nodes: the recorded bytes on the recorded topics, and the clock.

At a rate, messages come when they were recorded and the clock goes on in between. In lockstep
the clock goes from tick to tick and waits for the policy node each time: that node then sees
exactly what an offline replay of the bag sees, since both get the steps of `bags/lockstep.py`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rclpy.node import Node

from thinking_policy import ThinkingPolicyError
from thinking_policy.bags import Bag, lockstep, open_bag, replay_grid
from thinking_policy.bags.lockstep import CLOCK_TOPIC, CLOCKS, Advance, Play, clock_of
from thinking_policy.ros.bag_outlets import BagOutlets, create_clock
from thinking_policy.ros.declaring import declare_options
from thinking_policy.ros.policy_partner import PolicyPartner
from thinking_policy.ros.quick_acknowledgements import quick_acknowledgements
from thinking_policy.ros.spinning import run_node
from thinking_policy.situation import SituationConfig, SituationError
from thinking_policy.situation.configuration import option

NODE_NAME = 'bag_player'
CLOCK_PERIOD_S = 0.01  # of the clock between messages, for those who listen
RUN_OUT_S = 1.0  # the clock goes on at least so long after the last message, in the bag's time
PARTNER_S = 15.0  # for the policy node to appear and be active, in lockstep
REWIND_S = 0.1  # for nodes to notice that the clock went back
GLANCE_S = 1.0  # for it to tell its topics, at a rate
MATCH_S = 5.0
TICK_S = 15.0  # for one tick of the policy node
RESEND_S = 0.5  # a clock value may get lost: subscriptions to it are best effort


@dataclass(frozen=True)
class PlayerOptions:
    """The player's parameters."""

    bag: str = option('', 'path of the bag: a rosbag2 folder or file, or a ROS 1 bag')
    rate: float = option(
        1.0, 'times real time; 0: as fast as the policy node keeps up, in lockstep', low=0.0
    )
    lockstep: bool = option(False, 'wait for the policy node at every tick, at any rate')
    loop: bool = option(False, 'begin again at the end; the clock goes back')
    clock: str = option(
        'auto',
        'record: time of recording; clock: the recorded /clock; auto: that where there is one',
        choices=CLOCKS,
    )
    topics: tuple[str, ...] = option((), 'names of the recorded topics to play; empty: all')


class BagPlayer(Node):
    """Plays in a thread of its own, while the executor hears the policy node."""

    def __init__(self) -> None:
        """Declare the parameters.

        Raises:
            SituationError: A parameter is refused.
        """
        super().__init__(NODE_NAME)
        self.finished = False
        self.exit_code = 0
        self._options = declare_options(self, PlayerOptions)
        if not self._options.bag:
            raise SituationError(f'{self.get_fully_qualified_name()}: bag: expected a path')
        self._stopping = threading.Event()
        self._partner = PolicyPartner(self, self._stopping)
        self._clock = create_clock(self)
        self._thread = threading.Thread(target=self._run, name='player')

    def start(self) -> None:
        """Begin to play."""
        self._thread.start()

    def report(self, where: str, error: Exception) -> None:
        """Say what a callback let through."""
        self.get_logger().error(f'{where}: {error}')

    def close(self) -> None:
        """Stop playing."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        """Play until the end and say what was played; the player's thread."""
        try:
            with open_bag(Path(self._options.bag).expanduser()) as bag:
                outlets = BagOutlets(self, bag, self._clock)
                try:
                    if self._options.lockstep or self._options.rate == 0:
                        self._play_in_lockstep(bag, outlets)
                    else:
                        self._play_at_rate(bag, outlets)
                finally:
                    for line in outlets.summary():
                        self.get_logger().info(line)
        except ThinkingPolicyError as error:
            self.get_logger().error(str(error))
            self.exit_code = 2
        except Exception as error:
            self.get_logger().error(f'{type(error).__name__}: {error}')
            self.exit_code = 1
        finally:
            self.finished = True
            self.executor.create_task(lambda: None)  # wakes who waits for `finished`

    def _passes(self) -> Iterator[int]:
        """Count the passes through the bag, until told to stop."""
        number = 0
        while not self._stopping.is_set() and (number == 0 or self._options.loop):
            yield number
            number += 1

    def _play_at_rate(self, bag: Bag, outlets: BagOutlets) -> None:
        config = self._partner.configuration(GLANCE_S)
        outlets.open(self._options.topics, config)
        recorded_clock = clock_of(bag, self._options.clock) == 'clock'
        outlets.wait_for_match(self._stopping, MATCH_S if config else GLANCE_S)
        for number in self._passes():
            self._set_clock_to_begin(bag, outlets, recorded_clock)
            if number:  # the first message must not meet the clock of the last pass
                self._stopping.wait(REWIND_S)
            pace = _Pace(self._options.rate, self._stopping)
            now_ns = bag.start_ns
            for topic, record_ns, raw in bag.messages():
                now_ns = max(now_ns, record_ns)
                self._let_pass(outlets, pace, now_ns, recorded_clock)
                if self._stopping.is_set():
                    return
                if topic == CLOCK_TOPIC:
                    if recorded_clock:
                        outlets.recorded_clock(raw)
                    continue
                outlets.publish(topic, raw)
            self._let_pass(outlets, pace, now_ns + _run_out_ns(config), recorded_clock)

    def _set_clock_to_begin(self, bag: Bag, outlets: BagOutlets, recorded_clock: bool) -> None:
        if not recorded_clock:
            outlets.clock(bag.start_ns)
            return
        for _, _, raw in bag.messages((CLOCK_TOPIC,)):
            outlets.recorded_clock(raw)
            return

    def _let_pass(
        self, outlets: BagOutlets, pace: _Pace, until_ns: int, recorded_clock: bool
    ) -> None:
        """Wait for a recorded time, setting the clock meanwhile."""
        while pace.wait(until_ns, CLOCK_PERIOD_S):
            if not recorded_clock:
                # a wait that took too long must not pass what the next clock will be
                outlets.clock(min(pace.now_ns(), until_ns))
        if not recorded_clock and pace.since_clock_s() >= CLOCK_PERIOD_S:
            outlets.clock(until_ns)

    def _play_in_lockstep(self, bag: Bag, outlets: BagOutlets) -> None:
        config = self._find_partner()
        feeds = outlets.open(self._options.topics, config, only_requested=True)
        if not outlets.wait_for_match(self._stopping, MATCH_S):
            self.get_logger().warning('lockstep: the policy node does not hear all of its topics')
        for topic in outlets.unreliable():
            self.get_logger().warning(
                f'lockstep: the policy node hears {topic} as best effort and may lose messages; '
                'start it with qos_reliability:=reliable'
            )
        grid = replay_grid(config)
        for _ in self._passes():
            pace = _Pace(self._options.rate, self._stopping)
            for step in lockstep(bag, feeds, grid, self._options.clock):
                if self._stopping.is_set():
                    return
                if isinstance(step, Play):
                    while pace.wait(step.record_ns):
                        pass
                    outlets.publish(step.topic, step.raw, acknowledged=True)
                else:
                    self._advance(outlets, step, grid.lateness_ns)

    def _find_partner(self) -> SituationConfig:
        config = self._partner.configuration(PARTNER_S)
        if config is None or not self._partner.wait_until_active(PARTNER_S):
            raise SituationError(
                f'lockstep: no active policy node in namespace {self.get_namespace()} after '
                f'{PARTNER_S:.0f} s; start it with use_sim_time:=true, or play at a rate'
            )
        return config

    def _advance(self, outlets: BagOutlets, step: Advance, lateness_ns: int) -> None:
        """Set the clock and wait until the policy node has closed its tick."""
        outlets.wait_until_acknowledged()
        deadline = time.monotonic() + TICK_S
        while not self._stopping.is_set():
            outlets.clock(step.clock_ns)
            if self._partner.wait_for_tick(step.clock_ns - lateness_ns, RESEND_S):
                return
            if time.monotonic() > deadline:
                raise SituationError(
                    f'lockstep: no thinking/situation for clock {step.clock_ns * 1e-9:.3f} after '
                    f'{TICK_S:.0f} s; is the policy node active, with use_sim_time:=true?'
                )


def _run_out_ns(config: SituationConfig | None) -> int:
    """Return how long the clock goes on after the last message, so that its tick is closed."""
    least_ns = round(RUN_OUT_S * 1e9)
    if config is None:
        return least_ns
    return max(least_ns, 2 * config.tick_period_ns + round(config.lateness_s * 1e9))


class _Pace:
    """Where a recording stands after so much time at a rate; rate 0: always there already."""

    def __init__(self, rate: float, stopping: threading.Event) -> None:
        self._rate, self._stopping = rate, stopping
        self._began_s = self._clock_s = time.monotonic()
        self._began_ns: int | None = None

    def now_ns(self) -> int:
        """Return the recording's time by now."""
        assert self._began_ns is not None
        return self._began_ns + round((time.monotonic() - self._began_s) * self._rate * 1e9)

    def since_clock_s(self) -> float:
        """Return how long ago this was called, if that is long enough to set the clock again."""
        now = time.monotonic()
        since = now - self._clock_s
        if since >= CLOCK_PERIOD_S:
            self._clock_s = now
        return since

    def wait(self, until_ns: int, longest_s: float = 3600.0) -> bool:
        """Wait for a recorded time, at most so long; return whether it is still to come."""
        if self._began_ns is None:
            self._began_ns = until_ns
        if not self._rate or self._stopping.is_set():
            return False
        passed_s = time.monotonic() - self._began_s
        left_s = (until_ns - self._began_ns) * 1e-9 / self._rate - passed_s
        if left_s <= 0:
            return False
        return not self._stopping.wait(min(left_s, longest_s)) and left_s > longest_s


def main(arguments: Sequence[str] | None = None) -> int:
    """Play until the end, SIGINT or SIGTERM, and return the exit code.

    Args:
        arguments: Command line with `--ros-args`; `sys.argv` where None.
    """
    with quick_acknowledgements():
        return run_node(BagPlayer, arguments)


if __name__ == '__main__':
    raise SystemExit(main())
