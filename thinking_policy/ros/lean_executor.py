# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A single-threaded executor that waits with a tenth of rclpy's Python steps.

rclpy's executor builds handlers, tasks and context stacks for each round and wakes itself twice
for each callback: some 650 microseconds a tick for a node whose tick takes 1,500. Here a round
is one wait; timers and subscriptions run at once, what is rarer (services, guard conditions,
coroutines) is handed to rclpy's own round. Any other executor may spin the same nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.timer import Timer

_FOREVER_NS = -1
# What this relies on and rclpy doesn't promise.
_EXECUTOR_NAMES = (
    '_tasks',
    '_guard',
    '_sigint_gc',
    '_context',
    '_take_timer',
    '_take_subscription',
)
_GUARD_NAMES = ('_executor_triggered',)
_ENTITIES = ('subscription', 'guard_condition', 'timer', 'client', 'service')


def make_executor() -> SingleThreadedExecutor:
    """Return the lean executor, or rclpy's own where this rclpy is another one inside.

    The default context must be initialised.
    """
    executor = LeanExecutor()
    problem = executor.misfit()
    if not problem:
        return executor
    executor.shutdown()
    get_logger('thinking_policy').warning(
        f'this rclpy has another inside ({problem}): its own executor is used, at more CPU'
    )
    return SingleThreadedExecutor()


class LeanExecutor(SingleThreadedExecutor):
    """For nodes whose entities are made and destroyed in the thread that spins.

    That is why the handles need not be guarded against destruction while it waits.
    """

    def __init__(self, *, context: Context | None = None) -> None:
        """Begin without nodes; the default context where none is given."""
        self._entities: tuple[list[Any], ...] | None = None
        super().__init__(context=context)

    def add_node(self, node: Node) -> bool:
        """Spin another node, too."""
        self._entities = None
        return super().add_node(node)

    def remove_node(self, node: Node) -> None:
        """Leave a node alone from now on."""
        super().remove_node(node)
        self._entities = None

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Wait until something is ready and run it; see `Executor.spin_once`."""
        if timeout_sec is not None or self._tasks:
            super().spin_once(timeout_sec if timeout_sec is not None else 0.0)
            return
        if self._run_ready():
            super().spin_once(0.0)

    def misfit(self) -> str:
        """Return why this executor cannot work with the rclpy at hand; empty where it can."""
        missing = [name for name in _EXECUTOR_NAMES if not hasattr(self, name)]
        if not missing:
            missing = [name for name in _GUARD_NAMES if not hasattr(self._guard, name)]
        if missing:
            return f'without {", ".join(missing)}'
        try:
            self._guard.trigger()  # so that waiting ends at once
            self._wait([], [], [], [], [], [])
        except (AttributeError, TypeError, KeyError) as error:
            return f'{type(error).__name__}: {error}'.splitlines()[0]
        return ''

    def wake(self) -> None:
        """End a wait; also called when entities come and go."""
        self._entities = None
        super().wake()

    def _run_ready(self) -> bool:
        """Wait once and run ready timers and subscriptions; return whether there is more."""
        if not self._context.ok():
            raise ExternalShutdownException()
        if self._entities is None:
            self._entities = _gather(self.get_nodes())
        entities = self._entities
        found, more = self._wait(*entities)
        subscriptions, _, timers = entities[:3]
        ready = [(self._take_timer, t) for t in timers if t.handle.pointer in found['timer']]
        ready += [
            (self._take_subscription, s)
            for s in subscriptions
            if s.handle.pointer in found['subscription']
        ]
        for take, entity in ready:
            if not isinstance(entity, Timer) or entity.handle.is_timer_ready():
                _run(take, entity)
        return more

    def _wait(
        self,
        subscriptions: list[Any],
        guards: list[Any],
        timers: list[Timer],
        clients: list[Any],
        services: list[Any],
        waitables: list[Any],
    ) -> tuple[dict[str, list[int]], bool]:
        """Return pointers of what is ready by kind, and whether rclpy's round has work."""
        events = 0
        counts = [len(subscriptions), len(guards) + 2, len(timers), len(clients), len(services)]
        for waitable in waitables:
            needs = waitable.get_num_entities()
            events += needs.num_events
            for index, name in enumerate(
                ('subscriptions', 'guard_conditions', 'timers', 'clients', 'services')
            ):
                counts[index] += getattr(needs, f'num_{name}')
        wait_set = rclpy_implementation.WaitSet(*counts, events, self._context.handle)
        wait_set.clear_entities()
        for subscription in subscriptions:
            wait_set.add_subscription(subscription.handle)
        for timer in timers:
            wait_set.add_timer(timer.handle)
        for client in clients:
            wait_set.add_client(client.handle)
        for service in services:
            wait_set.add_service(service.handle)
        for guard in (*guards, self._guard, self._sigint_gc):
            wait_set.add_guard_condition(guard.handle)
        for waitable in waitables:
            waitable.add_to_wait_set(wait_set)
        wait_set.wait(_FOREVER_NS)
        if not self._context.ok():
            raise ExternalShutdownException()
        found = {kind: wait_set.get_ready_entities(kind) for kind in _ENTITIES}
        for guard in guards:
            # waiting has taken the trigger: rclpy's round knows it by this mark
            guard._executor_triggered |= guard.handle.pointer in found['guard_condition']
        more = bool(
            found['client']
            or found['service']
            or any(guard._executor_triggered for guard in guards)
            or any(waitable.is_ready(wait_set) for waitable in waitables)
        )
        return found, more


def _gather(nodes: Sequence[Node]) -> tuple[list[Any], ...]:
    """Return what to wait for: subscriptions, guards, timers, clients, services, waitables.

    Groups that withhold their members do so for good, or while a callback runs, which none does
    between two rounds.
    """
    kinds = ('subscriptions', 'guards', 'timers', 'clients', 'services', 'waitables')
    return tuple(
        [
            entity
            for node in nodes
            for entity in getattr(node, kind)
            if entity.callback_group.can_execute(entity)
        ]
        for kind in kinds
    )


def _run(take: Callable[[Any], Any], entity: Any) -> None:
    """Take from a ready entity and run its callback to the end; it may not be a coroutine."""
    execute = take(entity)
    if execute is None:
        return
    try:
        execute().send(None)
    except StopIteration:
        return
    raise RuntimeError(f'{entity}: its callback waits for something; the lean executor cannot')
