# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`experience export|import`: the same bytes elsewhere, rows for learning, bad lines said."""

from __future__ import annotations

import base64
import json
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip('sqlite_utils')
pytest.importorskip('pydantic')

from thinking_policy.experience.record import MAX_LINE, to_line

TENANT_TABLE = 'CREATE TABLE token (tenant TEXT)'


@pytest.fixture
def records(make_experience, amend):
    """Return experiences and amendments in the order in which they are exported."""
    first = make_experience(0, reason='change', active=('hazard',))
    second = make_experience(1, outcome='arrived', robot='roller')
    return [first, amend(first, 'ugly “text”\n'), amend(first, 'late', after_s=9), second]


def lines_of(records):
    return b''.join(to_line(record) + b'\n' for record in records)


def test_an_export_is_the_records_and_an_import_gives_the_same_bytes(
    experience, keep, records, tmp_path
):
    path, file, other = keep(*records), tmp_path / 'all.jsonl', tmp_path / 'other.db'
    code, out, err = experience('export', file, '--db', path)
    assert (code, err) == (0, '')
    assert out == f'{file}: 2 experiences, 4 records\n'
    assert file.read_bytes() == lines_of(records)
    code, out, _ = experience('import', file, '--db', other)
    assert (code, out) == (0, f'{other}: 4 new records, 0 known, 0 left out\n')
    assert experience('export', tmp_path / 'again.jsonl', '--db', other)[0] == 0
    assert (tmp_path / 'again.jsonl').read_bytes() == file.read_bytes()


def test_the_same_file_twice_adds_nothing(experience, records, tmp_path):
    file, path = tmp_path / 'all.jsonl', tmp_path / 'new.db'
    file.write_bytes(lines_of(records) + lines_of(records[:1]))
    assert experience('import', file, '--db', path)[1].endswith(
        '4 new records, 1 known, 0 left out\n'
    )
    code, out, _ = experience('import', file, '--db', path)
    assert (code, out) == (0, f'{path}: 0 new records, 5 known, 0 left out\n')


def test_amendments_before_what_they_amend_are_taken_and_count_as_labels(
    experience, records, tmp_path
):
    file, path = tmp_path / 'turned.jsonl', tmp_path / 'new.db'
    file.write_bytes(lines_of(reversed(records)))
    assert experience('import', file, '--db', path)[0] == 0
    assert len(experience('list', '--db', path, '--labelled', '--json')[1].splitlines()) == 2


def test_bad_lines_are_said_with_number_and_reason_and_stop_nothing(experience, records, tmp_path):
    path, file = tmp_path / 'new.db', tmp_path / 'mixed.jsonl'
    changed = records[3].model_copy(update={'robot': 'other'})
    newer = json.dumps({**json.loads(to_line(records[0])), 'schema_version': 2}).encode()
    file.write_bytes(
        to_line(records[3]) + b'\r\n\n'  # 1, 2: as an editor may leave it
        + b'not json\n'  # 3
        + to_line(changed) + b'\n'  # 4
        + newer + b'\n'  # 5
        + b'x' * (MAX_LINE + 10) + b'\n'  # 6
        + b'\xff\xfe\n'  # 7
        + to_line(records[0])[:-20] + b'\n'  # 8
        + to_line(records[0])  # 9: without its end
    )  # fmt: skip
    code, out, err = experience('import', file, '--db', path)
    assert (code, err) == (1, '')
    rows = out.splitlines()
    assert rows[0] == f'{path}: 2 new records, 0 known, 6 left out'
    assert [row.split(':')[0].strip() for row in rows[1:]] == [
        f'mixed.jsonl, line {number}' for number in (3, 4, 5, 6, 7, 8)
    ]
    assert 'is there with other content, which stays' in rows[2]
    assert 'schema_version' in rows[3]
    assert f'expected at most {MAX_LINE:,} bytes, found {MAX_LINE + 11:,}' in rows[4]
    found = json.loads(experience('import', file, '--db', path, '--json')[1])
    assert (found['new'], found['known'], found['conflicting'], found['bad']) == (0, 2, 1, 5)
    assert [one['line'] for one in found['problems']] == [3, 4, 5, 6, 7, 8]
    shown = json.loads(experience('show', records[3].id, '--db', path, '--json')[1])
    assert shown['experience']['robot'] == 'roller'


def test_a_row_has_what_learning_needs(experience, keep, records, tmp_path):
    parquet = pytest.importorskip('pyarrow.parquet')
    path, file = keep(*records), tmp_path / 'all.parquet'
    code, out, _ = experience('export', file, '--db', path)
    assert (code, out) == (0, f'{file}: 2 experiences\n')
    first, second = parquet.read_table(file).to_pylist()
    situation = records[0].situation
    assert first['signals'] == ['heat', 'dust']
    shape = first['length'], len(first['signals'])
    assert np.array_equal(np.array(first['window'], np.float32).reshape(shape), situation.array())
    assert np.array_equal(np.array(first['valid']).reshape(shape), situation.mask())
    assert first['active'] == ['hazard']
    assert first['activations'][0] == {
        'id': 'hazard', 'probability': 0.75, 'threshold': 0.5, 'active': True
    }  # fmt: skip
    assert [(one['revision'] > 0, one['code']) for one in first['observations']] == [
        (True, 'ugly “text”\n'),
        (True, 'late'),
    ]
    assert first['readings'][1] == {'state': 'STALE', 'value': None, 'age_s': 4.0}
    assert first['events'][0]['code'] == 'heat_high'
    assert (first['labelled'], second['labelled']) == (True, True)
    assert second['observations'][0]['reward'] == -1.0
    assert parquet.read_schema(file).field('window').type.value_type == 'float'


def test_amendments_without_their_experience_are_kept_in_lines_and_said_for_rows(
    experience, keep, records, tmp_path
):
    pytest.importorskip('pyarrow')
    path = keep(*records[1:])
    assert experience('export', tmp_path / 'all.jsonl', '--db', path)[1].endswith(
        '1 experiences, 3 records\n'
    )
    assert (tmp_path / 'all.jsonl').read_bytes() == lines_of(records[1:])
    out = experience('export', tmp_path / 'all.parquet', '--db', path)[1]
    assert 'left out: 2 amendments of experiences that are not there' in out


def test_only_what_is_asked_for_is_exported(experience, keep, records, tmp_path):
    path, file = keep(*records), tmp_path / 'some.jsonl'
    assert experience('export', file, '--db', path, '--robot', 'walker')[0] == 0
    assert file.read_bytes() == lines_of(records[:3])
    assert experience('export', file, '--db', path, '--reason', 'sample', '--force')[0] == 0
    assert file.read_bytes() == lines_of(records[3:])


def test_tenants_of_a_servers_file_are_apart(experience, keep, make_experience, tmp_path):
    def tenants(store):
        execute = store.database.conn.execute
        execute(TENANT_TABLE)
        execute("INSERT INTO token VALUES ('ours'), ('theirs')")

    ours, canary = make_experience(0), make_experience(1, robot='canary', outcome='canary')
    keep(ours, tenant='ours', then=tenants)
    path = keep(canary, tenant='theirs')
    code, _, err = experience('list', '--db', path)
    assert code == 2
    assert "is a server's file; name one of its tenants with --tenant: ours, theirs" in err
    mine = ('--db', path, '--tenant', 'ours')
    for suffix in ('jsonl', 'parquet'):
        file = tmp_path / f'all.{suffix}'
        assert experience('export', file, *mine)[0] == 0
        assert b'canary' not in file.read_bytes()
    for words in (('list',), ('list', '--json'), ('stats',), ('stats', '--json'),
                  ('purge', '--before', '0s')):  # fmt: skip
        said = experience(*words, *mine)
        assert 'canary' not in said[1] + said[2]
    assert experience('show', canary.id, *mine)[0] == 2
    assert experience('purge', '--before', '0s', '--yes', *mine)[0] == 0
    assert 'canary' in experience('list', '--db', path, '--tenant', 'theirs')[1]
    assert 'stored' in experience('list', '--db', path, '--tenant', 'theirs')[1]


@pytest.mark.parametrize(('name', 'expected'), [
    ('all.csv', 'all.csv: expected a name that ends in .jsonl or .parquet'),
    ('lived.jsonl', 'lived.jsonl: is what is read; choose another name'),
    ('there.jsonl', 'there.jsonl: exists already; choose another name or replace it with --force'),
])  # fmt: skip
def test_nothing_of_others_is_replaced(name, expected, experience, keep, records, tmp_path):
    path = keep(*records, name='lived.jsonl')
    (tmp_path / 'there.jsonl').write_text('mine')
    before = path.read_bytes()
    code, _, err = experience('export', tmp_path / name, '--db', path)
    assert code == 2
    assert expected in err
    assert ((tmp_path / 'there.jsonl').read_text(), path.read_bytes()) == ('mine', before)


def test_a_missing_file_is_said_and_no_database_made(experience, tmp_path):
    code, _, err = experience('import', tmp_path / 'no.jsonl', '--db', tmp_path / 'new.db')
    assert code == 2
    assert 'no.jsonl: no such file' in err
    assert not (tmp_path / 'new.db').exists()


MEASURED = """
import resource, sys
import typer
from thinking_policy.cli.experience import app

command = typer.main.get_command(app)
for words in (line.split() for line in sys.argv[1:]):
    command(words, standalone_mode=False)
    print('KiB', resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_memory_stays_flat(make_experience, tmp_path):
    pytest.importorskip('pyarrow')
    window = np.linspace(0.0, 1.0, 1000 * 50, dtype='<f4')
    with (tmp_path / 'all.jsonl').open('wb') as file:
        for n in range(400):
            one = make_experience(n)
            situation = with_window(one.situation, window)
            file.write(to_line(one.model_copy(update={'situation': situation})) + b'\n')
    assert (tmp_path / 'all.jsonl').stat().st_size > 100e6
    (tmp_path / 'few.jsonl').write_bytes((tmp_path / 'all.jsonl').open('rb').readline())
    done = subprocess.run(
        [sys.executable, '-c', MEASURED,
         'import few.jsonl --db few.db', 'export few.parquet --db few.db',
         'import all.jsonl --db all.db', 'export again.jsonl --db all.db',
         'export all.parquet --db all.db'],
        cwd=tmp_path, capture_output=True, text=True, check=True, timeout=200,
    )  # fmt: skip
    peaks = [int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith('KiB')]
    assert peaks[-1] - peaks[1] < 100 * 1024
    assert (tmp_path / 'again.jsonl').read_bytes() == (tmp_path / 'all.jsonl').read_bytes()


def with_window(situation, window):
    """Return a situation with a large window."""
    return situation.model_copy(
        update={
            'length': 1000,
            'signals': tuple(f's{i}' for i in range(50)),
            'window': base64.b64encode(window.tobytes()).decode(),
            'valid': base64.b64encode(b'\xff' * (len(window) // 8)).decode(),
            'readings': (),
        }
    )
