# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""An experience node as others see it, and a policy's ticks in the hands of a test."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from node_processes import NodeProcess
from observer import Observer
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from std_msgs.msg import Header, String

from thinking_policy import msg as messages
from thinking_policy.experience.record import Amendment, Experience, Record, from_line
from thinking_policy.ros.conversions import time_message

SECOND = 1_000_000_000
PERIOD_S = 0.5
START_NS = 1_700_000_000 * SECOND
SIGNALS = ('temperature', 'current')
ACTIVITIES = ('hazard', 'trend')


def event(code: str, stamp_ns: int) -> messages.SituationEvent:
    """Return an event of a topic."""
    return messages.SituationEvent(
        header=Header(stamp=time_message(stamp_ns)),
        kind=messages.SituationEvent.TOPIC,
        code=code,
        source='mission/events',
        value=float('nan'),
    )


class ExperienceRobot:
    """One experience node in a namespace of its own, and its policy node, which is the test."""

    def __init__(
        self, observer: Observer, namespace: str, process: NodeProcess, database: Path
    ) -> None:
        """Begin to listen to it."""
        self.observer, self.namespace, self.process = observer, namespace, process
        self.database = database
        self.node = f'{namespace}/thinking_experience'
        self.diagnostics: dict[str, DiagnosticStatus] = {}
        self._situations = observer.speak(messages.Situation, f'{namespace}/thinking/situation')
        self._activations = observer.speak(
            messages.ThinkingActivations, f'{namespace}/thinking/activations'
        )
        self.feedback = observer.speak(messages.ThinkingFeedback, f'{namespace}/thinking/feedback')
        self.next_ns = START_NS
        observer.node.create_subscription(
            DiagnosticArray, '/diagnostics', self._hear_diagnostics, 100
        )

    @property
    def output(self) -> str:
        """What the process has printed."""
        return self.process.output

    def wait_for(self, condition: Any, what: str, timeout_s: float = 40.0) -> Any:
        """Wait as the observer does, unless the node has ended."""

        def holds() -> Any:
            result = condition()
            assert result or self.process.running, f'the node ended before: {what}\n{self.output}'
            return result

        return self.observer.wait_for(holds, what, timeout_s)

    def wait_until_heard(self) -> None:
        """Wait until the node hears its ticks and what is observed."""
        for publisher in (self._situations, self._activations, self.feedback):
            self.wait_for(
                publisher.get_subscription_count, f'a subscriber of {publisher.topic_name}'
            )
        # and has found the publishers itself, which a reliable message takes
        for topic in ('thinking/situation', 'thinking/activations', 'thinking/feedback'):
            self.wait_for(
                lambda topic=topic: self.values(f'topic {topic}').get('publishers', '0') != '0',
                f'the node to find {topic}',
            )

    def tick(
        self,
        *,
        active: Iterable[str] = (),
        novelty: float = 0.5,
        events: Iterable[messages.SituationEvent] = (),
        episode: str = 'first',
        stamp_ns: int | None = None,
        with_activations: bool = True,
    ) -> int:
        """Publish one tick and return its stamp; the next one is a period later."""
        at = self.next_ns if stamp_ns is None else stamp_ns
        self.next_ns = at + round(PERIOD_S * SECOND)
        header, tick = Header(stamp=time_message(at)), at // round(PERIOD_S * SECOND)
        if with_activations:
            self._activations.publish(
                messages.ThinkingActivations(
                    header=header,
                    policy_version='version1',
                    episode=episode,
                    tick=tick,
                    activations=[
                        messages.ThinkingActivation(
                            id=name, probability=0.75, threshold=0.5, active=name in set(active)
                        )
                        for name in ACTIVITIES
                    ],
                    novelty=novelty,
                    novelty_threshold=3.0,
                    signals=[
                        messages.SignalStatus(name=name, state=0, value=20.0, age=0.25)
                        for name in SIGNALS
                    ],
                )
            )
        self._situations.publish(
            messages.Situation(
                header=header,
                episode=episode,
                tick=tick,
                period=PERIOD_S,
                length=3,
                signals=list(SIGNALS),
                window=[0.25, 0.5, 0.75, 0.0, 0.125, 1.0],
                valid=[1, 1, 1, 0, 1, 1],
                events=list(events),
            )
        )
        return at

    def say(self, topic: str, text: str) -> None:
        """Publish a text on a topic of this robot that the node has found."""
        publisher = self.observer.speak(String, f'{self.namespace}/{topic}')
        self.observer.wait_until_heard(publisher)
        self.wait_for(
            lambda: self.values(f'topic {topic}').get('publishers') == '1', f'{topic} to be found'
        )
        publisher.publish(String(data=text))

    def give_feedback(self, stamp_ns: int, **fields: Any) -> None:
        """Publish a message of feedback that refers to a time."""
        fields.setdefault('reward', float('nan'))
        header = Header(stamp=time_message(stamp_ns))
        self.feedback.publish(messages.ThinkingFeedback(header=header, **fields))

    def lines(self) -> list[tuple[str, int, bytes]]:
        """Return id, revision and line of what the file holds, in the order of storing."""
        if not self.database.exists():
            return []
        connection = sqlite3.connect(f'file:{self.database}?mode=ro', uri=True, timeout=5.0)
        try:
            return connection.execute(
                'SELECT id, revision, body FROM record ORDER BY seq'
            ).fetchall()
        except sqlite3.OperationalError:  # not made yet
            return []
        finally:
            connection.close()

    def records(self) -> list[Record]:
        """Return what the file holds, in the order of storing."""
        return [from_line(body) for _, _, body in self.lines()]

    def experiences(self) -> list[Experience]:
        """Return the experiences in the file."""
        return [record for record in self.records() if isinstance(record, Experience)]

    def amendments(self) -> list[Amendment]:
        """Return the amendments in the file."""
        return [record for record in self.records() if isinstance(record, Amendment)]

    def wait_for_records(self, count: int) -> list[Record]:
        """Wait until the file holds so many records and return them."""
        self.wait_for(lambda: len(self.lines()) >= count, f'{count} records in the file')
        records = self.records()
        assert len(records) == count, records
        return records

    def wait_for_count(self, name: str, count: int, subject: str = 'recording') -> None:
        """Wait until a count of the diagnostics is reached."""
        self.wait_for(
            lambda: int(self.values(subject).get(name) or 0) >= count,
            f'{count} {name}, {subject} is {self.values(subject)}',
        )

    def wait_for_level(self, subject: str, level: int, word: str = '') -> str:
        """Wait until a status has a level and says a word; return its message."""

        def holds() -> bool:
            found, message, _ = self.diagnosis(subject)
            return found == level and word in message

        self.wait_for(holds, f'{subject} at level {level} with {word!r}')
        return self.diagnosis(subject)[1]

    def diagnosis(self, subject: str) -> tuple[int, str, Mapping[str, str]]:
        """Return level, message and values of a status; level -1 where there is none yet."""
        status = self.diagnostics.get(subject)
        if status is None:
            return -1, '', {}
        return (
            int.from_bytes(status.level, 'little'),
            status.message,
            {pair.key: pair.value for pair in status.values},
        )

    def values(self, subject: str) -> Mapping[str, str]:
        """Return the values of a status; none where there is none yet."""
        return self.diagnosis(subject)[2]

    def state(self) -> str:
        """Return the lifecycle state."""
        answer = self.observer.call(GetState, f'{self.node}/get_state', GetState.Request())
        return str(answer.current_state.label)

    def change_state(self, transition: int) -> bool:
        """Ask for a lifecycle transition and return whether it was made."""
        request = ChangeState.Request(transition=Transition(id=transition))
        answer = self.observer.call(ChangeState, f'{self.node}/change_state', request)
        return bool(answer.success)

    def set_parameter(self, name: str, value: Any) -> SetParametersResult:
        """Set one parameter and return the node's answer."""
        request = SetParameters.Request(
            parameters=[Parameter(name, value=value).to_parameter_msg()]
        )
        answer = self.observer.call(SetParameters, f'{self.node}/set_parameters', request)
        return answer.results[0]

    def end(self) -> None:
        """End the node as a launch does; it must go in time and without a traceback."""
        began = time.monotonic()
        assert self.process.end()[0] == 0
        assert time.monotonic() - began < 5.0
        assert 'Traceback' not in self.output

    def _hear_diagnostics(self, message: DiagnosticArray) -> None:
        prefix = f'thinking_experience: {self.namespace} '.replace('  ', ' ')
        for status in message.status:
            if status.name.startswith(prefix):
                self.diagnostics[status.name.removeprefix(prefix)] = status
