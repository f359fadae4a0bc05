# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0

import sqlite3

import pytest
from made_records import START_NS, TICK_NS, amendment, experience

from thinking_policy.experience.record import to_line
from thinking_policy.experience.schema import open_database
from thinking_policy.experience.store import EVICTION, ExperienceStore, Line, entry_of

NOW_NS = START_NS


@pytest.fixture
def database(path):
    database = open_database(path).database
    yield database
    database.conn.close()


@pytest.fixture
def store(database):
    return ExperienceStore(database)


def entries(*records):
    return [entry_of(record, to_line(record)) for record in records]


def line(record):
    return entries(record)[0].line


def add(store, *records, now_ns=NOW_NS):
    return store.add(entries(*records), now_ns)


def keys(lines):
    return [(one.id, one.revision) for one in lines]


def ids(store):
    return {one.id for one in store.all_lines()}


def test_what_is_added_comes_back_byte_for_byte(store):
    records = [experience(n) for n in range(300)]
    added = add(store, *records)
    assert list(added.new) == [line(record) for record in records]
    assert list(store.all_lines()) == [line(record) for record in records]
    assert store.lines(records[7].id) == [line(records[7])]


def test_the_same_record_again_is_known(store):
    records = [experience(n) for n in range(5)]
    add(store, *records[:3])
    added = add(store, *records, records[4])
    assert keys(added.new) == keys(line(r) for r in records[3:])
    assert keys(added.known) == keys(line(r) for r in [*records[:3], records[4]])
    assert not added.conflicting
    assert store.counters() == {'stored': 5}


def test_another_record_of_the_same_id_is_a_conflict_and_changes_nothing(store):
    first, other = experience(1), experience(1, text='differs')
    assert first.id == other.id
    add(store, first)
    added = add(store, experience(0), other, experience(2))
    assert keys(added.conflicting) == keys([line(other)])
    assert len(added.new) == 2
    assert store.lines(first.id) == [line(first)]


def test_two_that_differ_in_one_delivery_are_told_apart(store):
    first, other = experience(1), experience(1, text='differs')
    added = add(store, first, other, first)
    assert (added.new, added.conflicting, added.known) == (
        (line(first),), (line(other),), (line(first),)
    )  # fmt: skip


def test_amendments_stand_beside_their_experience(store):
    record = experience(1)
    add(store, amendment(record, 7), record, amendment(record, 5, 'action'))
    assert [one.revision for one in store.lines(record.id)] == [0, 5, 7]
    assert store.last_revision(record.id) == 7
    assert store.last_revision() == 7
    assert store.last_revision(experience(2).id) is None
    totals = store.totals()
    assert (totals['experiences'], totals['amendments'], totals['labelled']) == (1, 2, 1)


def test_tenants_see_nothing_of_one_another(database):
    mine, yours = ExperienceStore(database, 'mine'), ExperienceStore(database, 'yours')
    same, other = experience(1), experience(1, text='of yours')
    assert len(add(mine, same).new) == len(add(yours, other, experience(2)).new) + -1
    yours.pin(same.id, 'evidence')
    yours.quarantine(line(other), 'no')
    assert list(mine.all_lines()) == [line(same)]
    assert mine.lines(experience(2).id) == []
    assert mine.at('robot', 'one', START_NS + 10**12) == same.id
    assert mine.last_revision(experience(2).id) is None
    assert mine.pending(10, 10**6) == [line(same)]
    assert mine.counters() == {'stored': 1}
    assert mine.totals()['experiences'] == 1
    mine.uploaded([line(same), line(experience(2))], NOW_NS)
    assert mine.counters()['uploaded'] == 1
    assert mine.evict('uploaded') == 1
    assert [mine.evict(kind) for kind in EVICTION] == [0, 0, 0, 0]
    assert yours.release() == 1
    assert len(list(yours.all_lines())) == 2
    with pytest.raises(sqlite3.IntegrityError):
        add(ExperienceStore(database, None), same)


def test_reading_goes_on_behind_a_place_and_for_one_robot(store):
    records = [experience(n, robot='ab'[n % 2]) for n in range(6)]
    add(store, *records, amendment(records[1], 3))
    whole = keys(store.all_lines())
    assert whole == sorted(whole)
    assert keys(store.all_lines(after=whole[2], most=2)) == whole[3:5]
    assert {k[0] for k in keys(store.all_lines(robot='a'))} == {r.id for r in records[::2]}


def test_an_experience_is_found_by_episode_and_time(store):
    records = [experience(n, episode='one' if n < 5 else 'two') for n in range(10)]
    add(store, *reversed(records), amendment(records[3], 9))

    def at(tick, late_ns=0, episode='one', robot='robot'):
        found = store.at(robot, episode, START_NS + tick * TICK_NS + late_ns)
        return None if found is None else [r.id for r in records].index(found)

    assert at(3) == 3
    assert at(3, -1) == 2
    assert at(8) == 4
    assert at(8, episode='') == 8
    assert at(4, episode='two') is None
    assert at(3, robot='other') is None
    assert at(0, -1) is None
    assert store.at('robot', 'one', 0) is None


def test_what_is_pending_goes_oldest_first_within_its_bounds(store):
    records = [experience(n) for n in range(5)]
    add(store, *reversed(records))
    stored = [line(record) for record in reversed(records)]
    assert store.pending(3, 10**6) == stored[:3]
    assert store.pending(9, len(stored[0].body) * 2) == stored[:2]
    assert store.pending(9, 1) == stored[:1]
    store.uploaded(stored[:1], NOW_NS)
    store.quarantine(stored[1], 'line 1: no')
    assert store.pending(9, 10**6) == stored[2:]
    totals = store.totals()
    assert (totals['pending'], totals['quarantined']) == (3, 1)


def test_only_what_changed_is_counted(store):
    record = experience(1)
    add(store, record)
    for _ in range(2):
        store.quarantine(line(record), 'no')
    assert store.release(experience(9).id) == 0
    assert store.release(record.id) == 1
    for _ in range(2):
        store.uploaded([line(record), line(experience(2))], NOW_NS)
    store.quarantine(line(record), 'it is there already')
    assert store.counters() == {'stored': 1, 'quarantined': 1, 'uploaded': 1}
    assert store.totals()['quarantined'] == 0


def test_uploaded_ones_go_first_then_quarantined_then_unlabelled_then_labelled(store):
    sent, poison, plain, told, late = (experience(n, labelled=n == 3) for n in range(5))
    add(store, told, late, amendment(late, 1), plain, poison, sent)
    store.uploaded([line(sent)], NOW_NS)
    store.quarantine(line(poison), 'no')
    went = []
    for kind in EVICTION:
        before = ids(store)
        while store.evict(kind, most=1):
            pass
        went.append(before - ids(store))
    assert went == [{sent.id}, {poison.id}, {plain.id}, {told.id, late.id}]
    assert store.totals()['amendments'] == 0
    assert store.counters() == {
        'stored': 6, 'uploaded': 1, 'quarantined': 1, 'evicted_uploaded': 1,
        'evicted_quarantined': 1, 'evicted_unlabelled': 1, 'evicted_labelled': 3,
    }  # fmt: skip


def test_the_oldest_of_a_kind_go_first_and_no_more_than_asked(store):
    records = [experience(n) for n in range(5)]
    add(store, *records)
    assert store.evict('unlabelled', most=2) == 2
    assert ids(store) == {record.id for record in records[2:]}


def test_an_experience_whose_amendment_is_still_to_be_sent_has_not_been_uploaded(store):
    record = experience(1)
    add(store, record, amendment(record, 1))
    store.uploaded([line(record)], NOW_NS)
    assert store.evict('uploaded') == 0
    store.uploaded([line(amendment(record, 1))], NOW_NS)
    assert store.evict('uploaded') == 2


def test_amendments_whose_experience_is_gone_go_in_the_same_order(store):
    sent, kept = amendment(experience(1), 1), amendment(experience(2), 1)
    add(store, sent, kept, amendment(experience(3), 1, 'action'))
    store.uploaded([line(sent)], NOW_NS)
    assert store.evict('uploaded') == 1
    assert store.evict('unlabelled') == 1
    assert ids(store) == {kept.id}


def test_a_label_counts_in_whichever_order_it_came(store):
    record = experience(1)
    add(store, amendment(record, 1))
    add(store, record)
    assert store.evict('unlabelled') == 0
    assert store.totals()['labelled'] == 1


def test_pinned_ones_never_go(store):
    records = [experience(n) for n in range(3)]
    add(store, *records, amendment(records[0], 1))
    store.pin(records[0].id, 'k1')
    store.pin(records[0].id, 'k2')
    store.pin(records[0].id, 'k2')
    store.uploaded([line(r) for r in records], NOW_NS)
    for kind in EVICTION:
        store.evict(kind)
    assert [one.revision for one in store.all_lines()] == [0, 1]
    store.unpin(records[0].id, 'k2')
    assert store.evict('labelled') == 0
    store.unpin(records[0].id, 'k1')
    assert store.evict('labelled') == 2


def test_age_is_that_of_the_storing_by_a_clock_that_was_set(store):
    for number, stored_ns in enumerate((5, NOW_NS - 100, NOW_NS)):
        add(store, experience(number), now_ns=stored_ns)
    assert store.evict('unlabelled', before_ns=NOW_NS) == 1
    assert ids(store) == {experience(0).id, experience(2).id}


def test_settings_and_counters_outlive_the_connection(store, path):
    store.keep_setting('uplink', 'a')
    store.keep_setting('uplink', 'b')
    add(store, experience(1))
    again = ExperienceStore(open_database(path).database)
    assert (again.setting('uplink'), again.setting('other')) == ('b', None)
    assert again.counters() == {'stored': 1}


def test_room_is_that_of_the_pages_in_use(store):
    before = store.used_bytes()
    add(store, *(experience(n) for n in range(200)))
    full = store.used_bytes()
    assert full - before >= store.totals()['bytes']
    while store.evict('unlabelled'):
        pass
    size, free = store.file_bytes()
    assert store.used_bytes() == size - free < before + 20_000


def test_a_line_is_its_key_and_body(store):
    assert line(experience(1)) == Line(experience(1).id, 0, to_line(experience(1)))
