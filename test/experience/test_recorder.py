# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0

import pytest
from made_records import START_NS, TICK_NS, event, moment, observation

from thinking_policy.experience.errors import ExperienceError
from thinking_policy.experience.record import Amendment, Experience, Reason
from thinking_policy.experience.recorder import (
    MOST_OBSERVED,
    MOST_REMEMBERED,
    Recorder,
    RecordingRules,
)

QUIET = RecordingRules(sample_s=0.0)
NOW_NS = START_NS + 10**9


def recorder(rules=QUIET, **options):
    return Recorder('robot', rules, **options)


def reasons(records):
    return [tuple(reason.value for reason in record.reasons) for record in records]


def at(tick, late_ns=0):
    return START_NS + tick * TICK_NS + late_ns


def test_a_change_of_the_active_set_is_recorded_once():
    one = recorder()
    assert one.see(moment(0)) == []
    assert reasons(one.see(moment(1, active=['cause']))) == [('change',)]
    assert one.see(moment(2, active=['cause'])) == []
    assert reasons(one.see(moment(3))) == [('change',)]
    assert one.counts == {'change': 2}


def test_what_was_active_in_another_episode_does_not_count():
    one = recorder()
    one.see(moment(0, active=['cause']))
    assert reasons(one.see(moment(1, active=['cause'], episode='two'))) == [('change',)]
    assert one.see(moment(2, episode='three')) == []


def test_novelty_is_recorded_when_it_rises_above_its_threshold():
    one = recorder()
    assert one.see(moment(0, novelty=0.8)) == []
    assert reasons(one.see(moment(1, novelty=0.81))) == [('novelty',)]
    assert one.see(moment(2, novelty=0.9)) == []
    one.see(moment(3, novelty=None))
    assert reasons(one.see(moment(4, novelty=0.9))) == [('novelty',)]


def test_a_tick_with_new_events_is_recorded():
    one = recorder()
    assert reasons(one.see(moment(0, events=[event('a')], new=1))) == [('event',)]
    record = one.see(moment(1, events=[event('a'), event('b', at(1))], new=1))[0]
    assert [e.code for e in record.situation.situation().new_events] == ['b']


def test_new_events_that_a_message_does_not_carry_are_found_by_comparison():
    one = recorder()
    known = [event('long_ago', at(0) - 10**12)]
    assert one.see(moment(0, events=known)) == []
    # A NaN of another message is another NaN; it is the same event all the same.
    assert one.see(moment(1, events=[event('long_ago', at(0) - 10**12)])) == []
    late = [event('long_ago', at(0) - 10**12), event('b', at(0) - 1)]
    record = one.see(moment(2, events=late))[0]
    assert record.situation.new == 1
    assert reasons(one.see(moment(3, events=[event('b', at(3) - 1)], episode='two'))) == [
        ('event',)
    ]


def test_the_ordinary_is_sampled_thinly():
    one = recorder(RecordingRules(sample_s=10.0))
    seen = [tick for tick in range(100) if one.see(moment(tick))]
    assert seen == [0, 20, 40, 60, 80]
    assert one.counts == {'sample': 5}


def test_anything_recorded_serves_as_the_sample():
    one = recorder(RecordingRules(sample_s=10.0))
    one.see(moment(0))
    assert reasons(one.see(moment(15, active=['cause']))) == [('change',)]
    assert [tick for tick in range(16, 40) if one.see(moment(tick, active=['cause']))] == [35]


def test_sampling_goes_on_after_the_clock_jumped_back():
    one = recorder(RecordingRules(sample_s=10.0))
    one.see(moment(1000))
    assert reasons(one.see(moment(0))) == [('sample',)]
    assert [tick for tick in range(1, 25) if one.see(moment(tick))] == [20]


def test_too_many_are_thinned_and_counted_but_never_outcomes():
    one = recorder(RecordingRules(sample_s=0.0, most_per_minute=6.0))
    taken = sum(len(one.see(moment(t, active=['cause'] if t % 2 else []))) for t in range(1, 121))
    assert taken == 6 + 5  # what a minute holds, and what comes anew within one
    assert one.counts['thinned'] == 120 - taken
    thinned = next(m for m in reversed(one._moments) if not m.id)
    told = observation(stamp_ns=thinned.situation.stamp_ns)
    assert reasons(one.observe(told, NOW_NS)) == [('outcome',)]


def test_a_thinned_moment_that_is_due_as_a_sample_keeps_its_reasons():
    one = recorder(RecordingRules(sample_s=10.0, most_per_minute=1.0))
    one.see(moment(0))
    one.see(moment(1, active=['cause']))
    assert reasons(one.see(moment(21))) == [('change', 'sample')]
    assert not one.counts['thinned']


def test_each_rule_can_be_switched_off():
    one = recorder(RecordingRules(change=False, novelty=False, event=False, sample_s=0.0))
    assert one.see(moment(0, active=['cause'], novelty=0.9, events=[event('a')], new=1)) == []


@pytest.mark.parametrize(
    ('name', 'value'), [('sample_s', -1.0), ('most_per_minute', 0.5), ('sample_s', float('nan'))]
)
def test_a_rule_out_of_range_is_refused(name, value):
    with pytest.raises(ExperienceError, match=f'{name}: expected at least'):
        RecordingRules(**{name: value})


def test_an_outcome_amends_the_newest_moment_of_its_episode_that_is_not_later():
    one = recorder()
    ids = [one.see(moment(t, active=['cause'] if t % 2 == 0 else []))[0].id for t in range(3)]
    ids += [one.see(moment(3, active=['cause'], episode='two'))[0].id]

    def place(tick, late_ns, episode):
        return one.observe(observation(stamp_ns=at(tick, late_ns)), NOW_NS, episode=episode)[0].id

    assert place(1, 0, 'one') == ids[1]
    assert place(1, -1, 'one') == ids[0]
    assert place(9, 0, 'one') == ids[2]
    assert place(9, 0, 'two') == ids[3]
    assert place(2, 5, '') == ids[2]
    assert one.observe(observation(stamp_ns=at(0, -1)), NOW_NS) is None
    assert one.observe(observation(stamp_ns=at(9)), NOW_NS, episode='other') is None
    assert one.counts['unplaced'] == 2


def test_an_outcome_makes_an_experience_of_a_moment_that_was_not_recorded():
    one = recorder()
    one.see(moment(0))
    action = observation('action', at(0), code='grasp')
    assert one.observe(action, NOW_NS) == []
    (record,) = one.observe(observation('feedback', at(0), text='well done'), NOW_NS)
    assert isinstance(record, Experience)
    assert record.reasons == (Reason.FEEDBACK,)
    assert [o.kind.value for o in record.observations] == ['action', 'feedback']
    (late,) = one.observe(observation(stamp_ns=at(0)), NOW_NS)
    assert (late.id, late.kind) == (record.id, 'amendment')


def test_an_action_after_recording_is_an_amendment():
    one = recorder()
    record = one.see(moment(0, active=['cause']))[0]
    (told,) = one.observe(observation('action', at(0)), NOW_NS)
    assert isinstance(told, Amendment)
    assert told.id == record.id


def test_a_fast_topic_of_actions_does_not_fill_the_buffer():
    one = recorder()
    one.see(moment(0, active=['cause']))
    one.see(moment(1, active=['cause']))
    for tick in (0, 1):
        for _ in range(MOST_OBSERVED + 10):
            one.observe(observation('action', at(tick)), NOW_NS)
    assert one.counts['crowded'] == 20
    (record,) = one.observe(observation(stamp_ns=at(1)), NOW_NS)
    assert len(record.observations) == MOST_OBSERVED + 1


def test_a_named_experience_is_amended_whether_it_is_remembered_or_not():
    one = recorder()
    known = recorder().see(moment(0, active=['cause']))[0].id
    (told,) = one.observe(observation(), NOW_NS, experience=known)
    assert (told.id, told.revision) == (known, NOW_NS // 10**6)
    with pytest.raises(ExperienceError, match=r"amendment: id: .* found 'run 7'"):
        one.observe(observation(), NOW_NS, experience='run 7')


def test_revisions_grow_though_the_clock_stands_still_or_goes_back():
    one = recorder(first_revision=NOW_NS)
    known = recorder().see(moment(0, active=['cause']))[0].id
    found = [one.amendment(known, observation(), now).revision for now in (NOW_NS, NOW_NS, 0)]
    assert found == [NOW_NS, NOW_NS + 1, NOW_NS + 2]


def test_what_is_remembered_is_bounded_in_number_and_bytes():
    one = recorder()
    for tick in range(MOST_REMEMBERED + 10):
        one.see(moment(tick))
    assert len(one._moments) == MOST_REMEMBERED
    assert one.observe(observation(stamp_ns=at(5)), NOW_NS) is None
    for tick in range(40):
        one.see(moment(tick, length=2000, signals=[f's{n}' for n in range(200)]))
    assert 1 < len(one._moments) <= (16 << 20) // (4 * 2000 * 200)


def test_the_same_random_bytes_give_the_same_ids():
    def ids():
        one = recorder(random=lambda n: bytes(n))
        return [one.see(moment(t, active=['cause'] if t % 2 else [])) for t in range(1, 4)]

    assert ids() == ids()


def test_what_does_not_fit_into_a_record_is_refused_and_the_next_moment_is_not():
    one = recorder()
    with pytest.raises(ExperienceError, match='situation: signals'):
        one.see(moment(0, active=['cause'], length=1, signals=[f's{n}' for n in range(1025)]))
    assert reasons(one.see(moment(1))) == [('change',)]
