# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the robot perceives: topic → signal → window → situation.

A message of a topic (`intake`) gives each of its signals one number (`cdr`), the numbers of a
sampling period become one sample (`signals`, `reductions`), the last T samples of all signals
are the window (`window`), and the window with the recent events (`events`, `memory`) is the
situation of a tick (`situation`). `tracker` puts all of it on one clock; `episodes` says where
one experience ends. The same code serves a live robot, a bag and training.
"""

from thinking_policy.situation.configuration import (
    EpisodeConfig,
    EventConfig,
    SignalConfig,
    SituationConfig,
)
from thinking_policy.situation.counters import Counters, SignalCounts, TopicCounts
from thinking_policy.situation.errors import SituationError
from thinking_policy.situation.message_types import MessageType, message_type_from_fields
from thinking_policy.situation.requests import TopicRequest
from thinking_policy.situation.robot_file import (
    NODE_NAME,
    configuration_from_mapping,
    load_configuration,
    load_parameters,
    situation_keys,
)
from thinking_policy.situation.situation import (
    Event,
    EventKind,
    Reading,
    Recalled,
    SignalState,
    Situation,
)
from thinking_policy.situation.tracker import SituationTracker

__all__ = [
    'NODE_NAME',
    'Counters',
    'EpisodeConfig',
    'Event',
    'EventConfig',
    'EventKind',
    'MessageType',
    'Reading',
    'Recalled',
    'SignalConfig',
    'SignalCounts',
    'SignalState',
    'Situation',
    'SituationConfig',
    'SituationError',
    'SituationTracker',
    'TopicCounts',
    'TopicRequest',
    'configuration_from_mapping',
    'load_configuration',
    'load_parameters',
    'message_type_from_fields',
    'situation_keys',
]
