# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Which signals a topic could feed, by its message type and by names in it.

First what is known of types that many robots publish, then what the shipped robot files say of
types of their makers, then numbers in any other message whose name tells what they are.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from thinking_policy.bags.reader import BagTopic
from thinking_policy.bags.type_rules import RULES, Rule
from thinking_policy.situation import SignalConfig, SituationConfig, SituationError
from thinking_policy.situation.cdr import compile_reader
from thinking_policy.situation.field_paths import numeric_paths, resolve_path
from thinking_policy.situation.message_types import Array, MessageType, Primitive
from thinking_policy.situation.message_types import Sequence as NumberSequence

SEVEN = ('temperature', 'current', 'vibration', 'distance', 'visibility', 'motion', 'load')
"""The signals of the bundled policy, in its order."""
UNITS = dict(zip(SEVEN, ('degC', 'A', 'm/s2', 'm', 'share', 'm/s', ''), strict=True))

_GENERIC_RANK = 5  # known types come before names
_MOST_OF_A_TOPIC = 20  # signals by names; a type with hundreds of numbers floods a proposal
_TOPIC_NAME = re.compile(r'/?[A-Za-z_]\w*(/[A-Za-z_]\w*)*', re.ASCII)
_NEVER = re.compile(
    r'(^|/)(clock|rosout|parameter_events|tf|tf_static|_action|_service_event)(/|$)'
)
_EMPTY = 'structure_needs_at_least_one_member'  # the one member of an empty message
_PASSED_OVER = re.compile(r'header|stamp|variance|(^|[._])(seq|time)')


@dataclass(frozen=True)
class Candidate:
    """A signal that a topic could feed.

    Attributes:
        slot: Which of the seven it is, or empty.
        rank: Smaller is a better source of it.
        signal: Its settings, without a nominal range.
        note: What to know about it.
        zero_is_unset: Whether a value that is always 0 means that a driver does not set it.
    """

    slot: str
    rank: int
    signal: SignalConfig
    note: str = ''
    zero_is_unset: bool = False


# Slot, own name, unit, and what a name looks like. `current_distance` is no electric current.
_NAMES = (
    ('temperature', '', 'degC', r'(^|_)(temp|temps|temperatures?)(_|$)'),
    ('', 'voltage', 'V', r'(^|_)(volts?|voltages?)(_|$)|^vbat'),
    ('current', '', 'A', r'(^|_)(currents?|amps?|amperes?)(_m?a)?(_(left|right|[0-9]+))?$'),
    ('vibration', '', '', r'vibration'),
    ('visibility', '', '', r'visibility|illuminance|(^|_)(lux|light)(_|$)'),
    ('distance', '', 'm', r'(^|_)(distance|range)$'),
    ('motion', '', 'm/s', r'(^|_)(speed|velocity)$'),
    ('motion', '', '', r'(^|_)(flow|flow_rate)$'),
    ('load', '', '', r'(^|_)(load|cpuload|effort|torque)(_|$)'),
    ('', 'pressure', '', r'pressure'),
    ('', 'humidity', '', r'humidity'),
    ('', 'charge', '', r'(^|_)(battery|soc|charge|percentage|remaining)(_|$)'),
)


def candidates(
    topics: Iterable[BagTopic],
    known: Sequence[SituationConfig] = (),
    namespace: str = '',
    *,
    any_number: bool = False,
) -> Iterator[Candidate]:
    """Yield the signals that topics could feed.

    Args:
        topics: Of one bag or several; those without messages or of unknown type feed nothing.
        known: Configurations of known robots, for types of their makers.
        namespace: The robot's namespace: only topics in it, named relative to it.
        any_number: Whether numbers count whose names say nothing.
    """
    inside = f'/{namespace.strip("/")}/' if namespace.strip('/') else ''
    for topic in topics:
        if not topic.count or topic.message_type is None or not topic.name.startswith(inside):
            continue
        if _NEVER.search(topic.name) or not is_topic_name(topic.name):
            continue
        name = topic.name[len(inside) :]
        yield from _candidates_of(topic, topic.message_type, name, known, any_number)


def is_topic_name(name: str) -> bool:
    """Whether ROS 2 allows a topic of that name; bags may hold others."""
    return _TOPIC_NAME.fullmatch(name) is not None and '__' not in name


def _candidates_of(
    topic: BagTopic,
    kind: MessageType,
    name: str,
    known: Sequence[SituationConfig],
    any_number: bool,
) -> Iterator[Candidate]:
    found = [_from_rule(rule, topic.type, name) for rule in RULES.get(topic.type, ())]
    if not found:
        found = list(_from_robots(topic.type, name, known))
        found = found or _shortened(list(_by_name(kind, name, any_number)))
    for candidate in found:
        try:  # a type may have changed since, or be another one of the same name
            signal = candidate.signal
            compile_reader(kind, signal.field, signal.within_message)
        except SituationError:
            continue
        yield candidate


def _from_rule(rule: Rule, kind: str, topic: str) -> Candidate:
    signal = SignalConfig(
        name=rule.slot or rule.name,
        topic=topic,
        type=kind,
        field=rule.field,
        within_message=rule.within,
        over_time=rule.over,
        unit=rule.unit,
        scale=rule.scale,
        offset=rule.offset,
        absolute=rule.absolute,
        sentinels=rule.sentinels,
        valid_low=rule.valid[0],
        valid_high=rule.valid[1],
    )
    return Candidate(rule.slot, rule.rank, signal, rule.note, rule.zero_is_unset)


def _from_robots(kind: str, topic: str, known: Sequence[SituationConfig]) -> Iterator[Candidate]:
    """Take over what a shipped robot file says of a type: field, scale, sentinels."""
    if kind.startswith('std_msgs/'):
        return  # a bare number means what its topic's name says, on each robot something else
    fresh = SignalConfig()
    limits = 'limit_low', 'limit_high', 'limit_hysteresis'
    ranges = 'nominal_low', 'nominal_high', 'baseline_mean', 'baseline_spread', *limits
    seen = set()
    for signal in (signal for config in known for signal in config.signals):
        if signal.type == kind and signal.name in SEVEN and signal.name not in seen:
            seen.add(signal.name)
            plain = {name: getattr(fresh, name) for name in (*ranges, 'stale_s', 'period_ticks')}
            taken = dataclasses.replace(signal, topic=topic, **plain)
            yield Candidate(signal.name, 1, taken, 'As a shipped robot file reads this type.')


def _by_name(kind: MessageType, topic: str, any_number: bool) -> Iterator[Candidate]:
    """Take numbers whose field, or the topic where it holds one number, says what they are."""
    paths = [path for path in numeric_paths(kind) if not _PASSED_OVER.search(path)]
    for path in paths:
        leaf = path.rsplit('.', 1)[-1].split('[')[0]
        at = resolve_path(kind, path)
        item = at.item if isinstance(at, (Array, NumberSequence)) else at
        if not isinstance(item, Primitive) or item.name == 'bool' or leaf == _EMPTY:
            continue
        words = topic.rsplit('/', 1)[-1] if leaf in ('data', 'value') else leaf
        slot, name, unit = _meaning(words, topic)
        if not name and not slot:
            if not any_number and (leaf != 'data' or len(paths) > 1):
                continue
            name = _plain(topic if leaf == 'data' else f'{topic}_{path}')
        several = isinstance(at, (Array, NumberSequence))
        milli = slot == 'current' and re.search(r'(^|_)ma(_|$)', _plain(words)) is not None
        yield Candidate(
            slot,
            _GENERIC_RANK,
            SignalConfig(
                name=slot or name,
                topic=topic,
                type=kind.name,
                field=path,
                within_message='max' if several else '',
                over_time='mean',
                unit=unit,
                scale=0.001 if milli else 1.0,
                absolute=slot in ('current', 'motion', 'load'),
            ),
            f'By its name, {words}: check unit and meaning.',
        )


def _shortened(found: list[Candidate]) -> list[Candidate]:
    kept, rest = found[:_MOST_OF_A_TOPIC], len(found) - _MOST_OF_A_TOPIC
    if rest > 0:
        note = f'{kept[-1].note} {rest} more numbers of this topic are not tried.'
        kept[-1] = dataclasses.replace(kept[-1], note=note)
    return kept


def _meaning(words: str, topic: str) -> tuple[str, str, str]:
    """Return slot, own name and unit by a name, or else by the topic's; or nothing."""
    for text in (_plain(words), _plain(topic)):
        for slot, name, unit, pattern in _NAMES:
            if re.search(pattern, text):
                return slot, name, unit
        if words not in topic:
            break  # the field speaks for itself, its topic is about something else
    return '', '', ''


def _plain(name: str) -> str:
    """Return a name in lower case with underscores: `motorTemp` and `/motor/temp` are alike."""
    spaced = re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', name)
    return re.sub(r'[^a-z0-9]+', '_', spaced.lower()).strip('_')
