# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`experience quarantine|purge`: what the server refused, and what may go."""

from __future__ import annotations

import json
import sqlite3

import pytest

pytest.importorskip('sqlite_utils')
pytest.importorskip('pydantic')

from thinking_policy.experience.record import to_line


@pytest.fixture
def lived(keep, make_experience, amend):
    """Return a file and its experiences: uploaded, then amended, pinned, labelled."""
    found = [make_experience(n * 3600) for n in range(3)]
    found.append(make_experience(3 * 3600, outcome='arrived', robot='roller'))

    def stand(store):
        store.uploaded([line for one in found[:3] for line in store.lines(one.id)], 1)
        store.pin(found[2].id, 'knowledge k1')

    keep(*found, then=stand)
    return keep(amend(found[1])), found


def left(experience, path):
    out = experience('list', '--db', path, '--json')[1]
    return sorted(json.loads(line)['id'] for line in out.splitlines())


@pytest.mark.parametrize(('words', 'gone'), [
    (('--uploaded',), [0]),
    (('--unlabelled',), [0]),
    (('--robot', 'roller'), [3]),
    (('--before', '2023-11-15T00:13:20'), [0, 1]),
    (('--before', '1h'), [0, 1, 3]),
    (('--before', '1h', '--robot', 'walker', '--unlabelled'), [0]),
    (('--robot', 'nobody'), []),
])  # fmt: skip
def test_what_matches_goes_once_it_is_said_to_and_pinned_ones_stay(words, gone, experience, lived):
    path, found = lived
    code, out, _ = experience('purge', '--db', path, *words)
    assert code == (1 if gone else 0)
    assert f'{path}: {len(gone)} experiences, ' in out
    assert 'would go, with --yes' in out
    assert len(left(experience, path)) == 4
    said = json.loads(experience('purge', '--db', path, '--json', '--yes', *words)[1])
    assert said['experiences'] == len(gone)
    assert said['purged_records'] == len(gone) + (1 in gone)
    assert left(experience, path) == sorted(
        one.id for index, one in enumerate(found) if index not in gone
    )
    counters = json.loads(experience('stats', '--db', path, '--json')[1])['counters']
    assert counters.get('purged', 0) == said['purged_records']


def test_what_stays_and_what_was_not_uploaded_is_said(experience, lived):
    path, _ = lived
    out = experience('purge', '--db', path, '--before', '1h')[1]
    assert '(2 with outcome or feedback, 2 not uploaded): would go' in out
    assert '1 more are pinned and stay' in out


def test_the_room_is_given_back(experience, keep, make_experience):
    path = keep(*(make_experience(n) for n in range(1500)))
    before = path.stat().st_size
    assert experience('purge', '--db', path, '--before', '1h', '--yes')[0] == 0
    assert path.stat().st_size < before / 10
    assert left(experience, path) == []


def test_amendments_whose_experience_is_gone_go_too(experience, keep, make_experience, amend):
    one = make_experience(0)
    path = keep(amend(one), amend(one, after_s=9))
    said = json.loads(experience('purge', '--db', path, '--before', '1h', '--yes', '--json')[1])
    assert (said['experiences'], said['purged_records']) == (1, 2)


def test_nothing_is_purged_without_saying_what(experience, lived):
    code, _, err = experience('purge', '--db', lived[0], '--yes')
    assert code == 2
    assert 'expected --before, --uploaded, --robot or --unlabelled: what shall go?' in err
    assert len(left(experience, lived[0])) == 4


def test_a_file_that_another_process_holds_is_said(experience, lived, monkeypatch):
    from thinking_policy.experience import opening

    monkeypatch.setattr(opening, 'BUSY_S', 0.1)
    path, _ = lived
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute('BEGIN IMMEDIATE')
    try:
        code, _, err = experience('purge', '--db', path, '--uploaded', '--yes')
        assert code == 2
        assert f'{path}: another process held it for more than 0.1 s; try again' in err
    finally:
        holder.close()
    assert len(left(experience, path)) == 4


@pytest.fixture
def refused(keep, make_experience, amend):
    """Return a file in which the server refused an experience and an amendment, and those."""
    first, second = make_experience(0), make_experience(1)
    late = amend(second, code='odd')

    def quarantine(store):
        store.quarantine(store.lines(first.id)[0], 'robot: expected walker_1, found walker')
        store.quarantine(store.lines(second.id)[1], 'too_large: over 1 MB')

    return keep(first, second, late, then=quarantine), (first, late)


def test_refused_records_are_listed_with_the_reason(experience, refused):
    path, (first, late) = refused
    for words in (('quarantine',), ('quarantine', 'list')):
        rows = experience(*words, '--db', path)[1].splitlines()
        assert rows[1].endswith('walker  robot: expected walker_1, found walker')
        assert rows[2].split()[:2] == [late.id, str(late.revision)]
    found = [
        json.loads(line)
        for line in experience('quarantine', 'list', '--db', path, '--json')[1].splitlines()
    ]
    assert [one['id'] for one in found] == [first.id, late.id]
    assert found[1]['reason'] == 'too_large: over 1 MB'


def test_refused_records_are_exported_as_they_are(experience, refused, tmp_path):
    path, records = refused
    file = tmp_path / 'refused.jsonl'
    code, out, _ = experience('quarantine', 'export', file, '--db', path)
    assert (code, out) == (0, f'{file}: 2 records\n')
    assert file.read_bytes() == b''.join(to_line(record) + b'\n' for record in records)
    assert experience('quarantine', 'export', file, '--db', path)[0] == 2


def test_refused_records_are_tried_again_all_or_one(experience, refused):
    path, (first, _) = refused
    assert experience('quarantine', 'release', first.id[:13] + 'zz', '--db', path)[0] == 2
    out = experience('quarantine', 'release', first.id, '--db', path)[1]
    assert out == f'{path}: 1 record released\n'
    assert json.loads(experience('stats', '--db', path, '--json')[1])['totals']['pending'] == 2
    assert experience('quarantine', 'release', '--db', path)[1].endswith('1 record released\n')
    assert experience('quarantine', '--db', path)[1] == 'nothing is quarantined\n'
