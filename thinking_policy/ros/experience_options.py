# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the experience node can be told; its defaults are those of the room `experience`."""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass

from thinking_policy.experience.buffer import BufferOptions
from thinking_policy.experience.downlink_options import DownlinkOptions
from thinking_policy.experience.errors import ExperienceError
from thinking_policy.experience.link_options import TOKEN_VARIABLE, LinkOptions
from thinking_policy.experience.recorder import RecordingRules
from thinking_policy.experience.schema import SYNC
from thinking_policy.experience.uplink_options import MOST_RECORDS, UplinkOptions
from thinking_policy.situation.configuration import option

NODE_NAME = 'thinking_experience'
LONGEST_NAME = 256  # characters, in records

_RULES, _BUFFER = RecordingRules(), BufferOptions()
_LINK, _UPLINK, _DOWNLINK = LinkOptions(), UplinkOptions(), DownlinkOptions()


@dataclass(frozen=True)
class NodeSettings:
    """The node itself."""

    robot_id: str = option(
        '', 'name of this robot in records and diagnostics; empty: the namespace, else the host'
    )
    autostart: bool = option(True, 'configure and activate at start, without a lifecycle manager')
    database_path: str = option(
        '',
        'file that keeps the experiences; empty: in ROS_HOME, and nothing is recorded under sim '
        'time; none: nothing is recorded',
    )
    drain_period_s: float = option(
        0.2, 'what came in is taken so often; seconds', low=0.01, high=10.0, dynamic=True
    )
    diagnostics_period_s: float = option(
        1.0, 'period of /diagnostics; seconds', low=0.1, high=60.0, dynamic=True
    )
    grace_period_s: float = option(
        5.0,
        'so long the policy node or the clock may be silent before it is said; seconds',
        low=0.0,
        high=3600.0,
        dynamic=True,
    )


@dataclass(frozen=True)
class RecordingSettings:
    """Which moments become experiences."""

    change: bool = option(_RULES.change, 'record when the active set changes', dynamic=True)
    novelty: bool = option(
        _RULES.novelty, 'record when the novelty rises above its threshold', dynamic=True
    )
    event: bool = option(_RULES.event, 'record when a tick brings events', dynamic=True)
    sample_s: float = option(
        _RULES.sample_s,
        'and one moment in so many seconds, whatever it is; 0: none',
        low=0.0,
        high=86_400.0,
        dynamic=True,
    )
    most_per_minute: float = option(
        _RULES.most_per_minute,
        'at most so many changes, novelties and events a minute; more are counted as thinned',
        low=1.0,
        high=100_000.0,
        dynamic=True,
    )

    def rules(self) -> RecordingRules:
        """Return them as the recorder reads them."""
        return RecordingRules(**dataclasses.asdict(self))


@dataclass(frozen=True)
class TopicSettings:
    """Where actions, outcomes, feedback and reasoning come from."""

    feedback: tuple[str, ...] = option(
        ('thinking/feedback',),
        'topics of thinking_policy/msg/ThinkingFeedback, which says itself whether it is an '
        'action, an outcome or feedback',
    )
    action_texts: tuple[str, ...] = option(
        (), 'std_msgs/msg/String topics, each text the code of an action'
    )
    outcome_texts: tuple[str, ...] = option(
        (), 'std_msgs/msg/String topics, each text the code of an outcome'
    )
    feedback_texts: tuple[str, ...] = option(
        (), 'std_msgs/msg/String topics, each text the code of a feedback'
    )
    reasoning: str = option(
        'thinking/reasoning', 'topic of thinking_policy/msg/Reasoning; empty: not used'
    )
    qos_reliability: str = option(
        'reliable',
        'how these are subscribed: reliable hears only reliable publishers, best_effort all',
        choices=('reliable', 'best_effort'),
    )

    def __post_init__(self) -> None:
        """Check that no topic has two meanings.

        Raises:
            ExperienceError: One has.
        """
        named = [*self.feedback, *self.action_texts, *self.outcome_texts, *self.feedback_texts]
        counts = Counter([*named, *([self.reasoning] if self.reasoning else [])])
        for topic, count in counts.items():
            if count > 1 or not topic:
                raise ExperienceError(
                    f'topics: expected each topic in one list, found {topic!r} {count} times'
                )


@dataclass(frozen=True)
class BufferSettings:
    """How the file of experiences is kept."""

    sync: str = option(
        _BUFFER.sync,
        'commit: what is stored survives a power cut; interval: one takes the last '
        'sync_interval_s',
        choices=SYNC,
    )
    sync_interval_s: float = option(
        _BUFFER.sync_interval_s, 'see sync; seconds', low=0.1, high=3600.0
    )
    gather_s: float = option(
        _BUFFER.gather_s,
        'records wait so long to be stored together; seconds',
        low=0.0,
        high=60.0,
    )
    most_bytes: int = option(
        _BUFFER.most_bytes, 'size of the file; the oldest records go', low=1 << 20, high=1 << 50
    )
    keep_free_bytes: int = option(
        _BUFFER.keep_free_bytes,
        'where the disk has less room than this, new records take the place of old ones',
        low=0,
        high=1 << 50,
    )
    longest_s: float = option(
        _BUFFER.longest_s, 'older records go; 0: never; seconds', low=0.0, high=1e10
    )
    queue_records: int = option(
        _BUFFER.queue_records,
        'records that wait in memory while the file cannot be written; more are dropped',
        low=1,
        high=10_000_000,
    )
    queue_bytes: int = option(_BUFFER.queue_bytes, 'the same in bytes', low=1 << 16, high=1 << 40)
    busy_s: float = option(
        _BUFFER.busy_s, 'so long another process may hold the file; seconds', low=0.0, high=2.0
    )

    def options(self) -> BufferOptions:
        """Return them as the buffer reads them."""
        return BufferOptions(**dataclasses.asdict(self))


@dataclass(frozen=True)
class ServerSettings:
    """Where experiences are sent and policies come from; off without a URL."""

    url: str = option(
        '', 'server, such as https://fleet.example.org; empty: nothing is sent or fetched'
    )
    token_file: str = option(
        '', f'file with the token of this robot; empty: the environment variable {TOKEN_VARIABLE}'
    )
    ca_file: str = option('', "certificates (PEM) to trust in place of the system's")
    timeout_s: float = option(
        _LINK.timeout_s, 'so long the server may be silent; seconds', low=1.0, high=600.0
    )
    upload: bool = option(True, 'send experiences')
    upload_period_s: float = option(
        _UPLINK.period_s, 'new ones are looked for so often; seconds', low=0.1, high=86_400.0
    )
    upload_records: int = option(_UPLINK.most_records, 'in one request', low=1, high=MOST_RECORDS)
    upload_longest_pause_s: float = option(
        _UPLINK.longest_pause_s, 'between two attempts; seconds', low=1.0, high=86_400.0
    )
    fetch_policies: bool = option(
        False, 'fetch policies and let the policy node of this namespace run them'
    )
    fetch_period_s: float = option(
        _DOWNLINK.period_s, 'a policy is asked for so often; seconds', low=0.1, high=3600.0
    )
    policy_folder: str = option('', 'where fetched policies are kept; empty: in ROS_HOME')
    public_key_path: str = option(
        '',
        'Ed25519 public key (PEM) that fetched policies are checked with; empty: the policy node '
        'alone checks them, with its own',
    )

    def __post_init__(self) -> None:
        """Check the URL.

        Raises:
            ExperienceError: It is none.
        """
        try:
            self.link()
        except ExperienceError as error:
            raise ExperienceError(f'server.{error}') from error

    def link(self) -> LinkOptions:
        """Return how to reach the server."""
        return LinkOptions(
            url=self.url,
            token_file=self.token_file,
            ca_file=self.ca_file,
            timeout_s=self.timeout_s,
        )

    def uplink(self) -> UplinkOptions:
        """Return how to send."""
        return UplinkOptions(
            period_s=self.upload_period_s,
            most_records=self.upload_records,
            longest_pause_s=self.upload_longest_pause_s,
        )

    def downlink(self) -> DownlinkOptions:
        """Return how to fetch."""
        return DownlinkOptions(period_s=self.fetch_period_s)


@dataclass(frozen=True)
class ExperienceSettings:
    """All parameters of the node; `node` has no prefix."""

    node: NodeSettings = dataclasses.field(default_factory=NodeSettings)
    recording: RecordingSettings = dataclasses.field(default_factory=RecordingSettings)
    topics: TopicSettings = dataclasses.field(default_factory=TopicSettings)
    buffer: BufferSettings = dataclasses.field(default_factory=BufferSettings)
    server: ServerSettings = dataclasses.field(default_factory=ServerSettings)

    def __post_init__(self) -> None:
        """Check what a range can't say.

        Raises:
            ExperienceError: A name is too long.
        """
        if len(self.node.robot_id) > LONGEST_NAME:
            raise ExperienceError(
                f'robot_id: expected at most {LONGEST_NAME} characters, found '
                f'{len(self.node.robot_id)}'
            )
