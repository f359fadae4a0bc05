# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`experience list|show|stats`: what is in a file, for people and for scripts."""

from __future__ import annotations

import json
import shutil

import pytest

pytest.importorskip('sqlite_utils')
pytest.importorskip('pydantic')


@pytest.fixture
def lived(keep, make_experience, amend):
    """Return a file with three experiences of two robots, the first of which was amended."""
    first = make_experience(0, reason='change', active=('hazard',), novelty=4.0)
    second = make_experience(60, reason='novelty', outcome='arrived', episode='walker-2')
    third = make_experience(3600, robot='roller', episode='roller-1')

    def stand(store):
        lines = [line for one in (first, second) for line in store.lines(one.id)]
        store.uploaded(lines[:2], 1)
        store.quarantine(lines[2], 'invalid: too odd')
        store.pin(first.id, 'knowledge k1')

    return keep(first, second, third, amend(first, 'stuck'), then=stand), (first, second, third)


def ids(out):
    return [json.loads(line)['id'] for line in out.splitlines()]


def test_the_newest_come_first_with_what_they_are_about(experience, lived):
    path, records = lived
    code, out, err = experience('list', '--db', path)
    assert (code, err) == (0, '')
    rows = [' '.join(line.split()) for line in out.splitlines()]
    assert rows[1].startswith(f'2023-11-14 23:13:20.000 {records[2].id[:13]} roller roller-1')
    assert rows[2].endswith('walker walker-2 novelty - 0.500 arrived -1 quarantined')
    assert rows[3].endswith('walker walker-1 change hazard 4.00! stuck uploaded, pinned')
    assert len(rows) == 4


@pytest.mark.parametrize(('words', 'expected'), [
    (('--robot', 'roller'), [2]),
    (('--episode', 'walker-2'), [1]),
    (('--reason', 'change'), [0]),
    (('--activity', 'hazard'), [0]),
    (('--activity', 'trend'), []),
    (('--labelled',), [1, 0]),
    (('--unlabelled',), [2]),
    (('--since', '2023-11-14T22:14:20'), [2, 1]),
    (('--until', '2023-11-14T22:14:20+00:00'), [0]),
    (('--since', '2023-11-14', '--until', '2023-11-15', '--limit', '2'), [2, 1]),
    (('--since', '1h'), []),
    (('--since', '99999999999999d', '--limit', '1'), [2]),
    (('--robot', 'walker', '--unlabelled'), []),
])  # fmt: skip
def test_filters_leave_what_they_say(words, expected, experience, lived):
    path, records = lived
    code, out, err = experience('list', '--db', path, '--json', *words)
    assert (code, err) == (0, '')
    assert ids(out) == [records[i].id for i in expected]


def test_what_is_not_shown_is_said(experience, lived):
    path, _ = lived
    assert experience('list', '--db', path, '--limit', 2)[1].endswith(
        '2 of 3; more with --limit\n'
    )
    assert experience('list', '--db', path, '--robot', 'nobody')[1] == 'no such experience\n'


@pytest.mark.parametrize(('words', 'expected'), [
    (('--reason', 'whim'), '--reason: expected one of change, novelty, event, outcome, feedback'),
    (('--since', 'soon'), '--since: expected a time from 1970 to 2261, such as 2026-05-01, 2026'),
    (('--until', '9999-12-31'), '--until: expected a time from 1970 to 2261'),
    (('--since', '0001-01-01'), '--since: expected a time from 1970 to 2261'),
    (('--robot', '\udcff'), '--robot: expected UTF-8 text'),
    (('--tenant', 'lab'), "is a robot's file, which has no tenants; leave --tenant lab out"),
])  # fmt: skip
def test_a_slip_is_said(words, expected, experience, lived):
    code, out, err = experience('list', '--db', lived[0], *words)
    assert (code, out) == (2, '')
    assert expected in err
    assert err.count('\n') == 1


def test_ids_are_as_long_as_tells_them_apart(experience, keep, make_experience):
    path = keep(make_experience(1, robot='a'), make_experience(1, robot='b'))
    _, out, _ = experience('list', '--db', path)
    shown = [line.split()[2] for line in out.splitlines()[1:]]
    assert len(set(shown)) == 2
    for one in shown:
        assert experience('show', one, '--db', path)[0] == 0
    code, _, err = experience('show', shown[0][:13], '--db', path)
    assert code == 2
    assert 'several ids begin so: ' in err


def test_a_page_shows_situation_thinking_and_what_came_of_it(experience, lived, tmp_path):
    path, records = lived
    code, out, _ = experience('show', records[0].id[:20].upper(), '--db', path)
    assert code == 0
    rows = [' '.join(line.split()) for line in out.splitlines()]
    assert rows[0] == f'{records[0].id} uploaded, pinned'
    assert 'pinned: knowledge k1' in rows
    assert 'heat 100 ▁▂▃▄▅▆▇█ 0.00 1.00' in rows
    assert 'dust – ···▄▄▄▄▄ 0.500 0.500 stale, 4.0s old' in rows
    assert 'heat_high 2.0s limit 91.0 heat' in rows
    assert 'hazard 0.750 0.50 active' in rows
    assert 'novelty 4.00 of 3.00' in rows
    assert rows[-1] == '2023-11-14 22:13:25.000 UTC +5.0 s outcome stuck'
    robot = tmp_path / 'robot.yaml'
    robot.write_text(
        '/**:\n  ros__parameters:\n    signal_names: [heat]\n    signals:\n'
        "      heat: {topic: '', unit: degC, nominal_low: 20.0, nominal_high: 100.0}\n"
    )
    _, out, _ = experience('show', records[0].id, '--db', path, '--config', robot)
    assert 'heat 100 degC ▁▂▃▄▅▆▇█ 20.0 100' in [' '.join(row.split()) for row in out.splitlines()]


def test_a_page_says_why_a_record_is_quarantined(experience, lived):
    path, records = lived
    assert 'quarantined: invalid: too odd' in experience('show', records[1].id, '--db', path)[1]


def test_a_script_gets_the_records_as_they_are(experience, lived):
    path, records = lived
    found = json.loads(experience('show', records[0].id, '--db', path, '--json')[1])
    assert found['experience'] == json.loads(records[0].model_dump_json())
    assert [one['observation']['code'] for one in found['amendments']] == ['stuck']
    assert (found['state'], found['pinned']) == ('uploaded', ['knowledge k1'])


def test_counts_are_by_reason_robot_episode_policy_and_day(experience, lived):
    path, _ = lived
    found = json.loads(experience('stats', '--db', path, '--json')[1])
    totals = found['totals']
    assert (totals['experiences'], totals['amendments'], totals['labelled']) == (3, 1, 2)
    assert (totals['pending'], totals['quarantined'], totals['pinned']) == (1, 1, 1)
    assert found['by_reason'] == {'change': 1, 'novelty': 1, 'sample': 1}
    assert found['by_robot'] == {'roller': 1, 'walker': 2}
    assert found['by_day'] == {'2023-11-14': 3}
    assert found['counters']['stored'] == 4
    assert (found['first_ns'], found['last_ns']) == (1_700_000_000 * 10**9, 1_700_003_600 * 10**9)
    said = experience('stats', '--db', path)[1]
    assert 'from 2023-11-14 22:13:20.000 UTC to 2023-11-14 23:13:20.000 UTC' in said
    assert 'upload: 2 records sent, nothing has failed' in said


def test_the_backoff_of_the_upload_is_said(experience, keep, make_experience):
    kept = json.dumps({'attempts': 3, 'not_before_ns': 1_700_000_000 * 10**9})
    path = keep(make_experience(), then=lambda store: store.keep_setting('uplink', kept))
    said = experience('stats', '--db', path)[1]
    assert 'failed 3 times in a row, tried again at 2023-11-14 22:13:20.000 UTC' in said
    path = keep(then=lambda store: store.keep_setting('uplink', 'no json'))
    assert "what it keeps cannot be read: 'no json'" in experience('stats', '--db', path)[1]


def test_the_file_is_the_experience_nodes_unless_another_is_named(
    experience, lived, tmp_path, monkeypatch
):
    monkeypatch.setenv('ROS_HOME', str(tmp_path / 'home'))
    code, _, err = experience('list')
    assert code == 2
    assert 'home/thinking_policy/thinking_experience.db: no such file; name one with --db' in err
    place = tmp_path / 'home' / 'thinking_policy' / 'thinking_experience.db'
    place.parent.mkdir(parents=True)
    shutil.copy(lived[0], place)
    assert len(ids(experience('list', '--json')[1])) == 3
