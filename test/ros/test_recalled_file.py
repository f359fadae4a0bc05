# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The table of last occurrences survives restarts, full disks and damaged files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from thinking_policy.ros.recalled_file import RecalledFile, default_path, read_table

TABLE = {'version': 1, 'events': [{'code': 'hot', 'count': 3}]}


def test_what_was_offered_last_is_read_back(tmp_path):
    path = tmp_path / 'new' / 'table.json'
    file = RecalledFile(path)
    file.offer({'version': 1, 'events': []})
    file.offer(TABLE)
    assert file.close()
    assert read_table(path) == (TABLE, '')
    assert [p.name for p in path.parent.iterdir()] == ['table.json']


def test_without_a_file_there_is_no_table_and_nothing_to_say(tmp_path):
    assert read_table(tmp_path / 'none.json') == (None, '')


@pytest.mark.parametrize('text', ['', '{"version": 1, "eve', '[1, 2]', '\x00\x01', '"text"'])
def test_a_damaged_file_is_set_aside_and_said(tmp_path, text):
    path = tmp_path / 'table.json'
    path.write_text(text)
    table, problem = read_table(path)
    assert table is None
    assert str(path) in problem
    assert not path.exists()
    (aside,) = tmp_path.iterdir()
    assert aside.name in problem
    assert aside.read_text() == text


def test_a_file_of_other_bytes_is_set_aside(tmp_path):
    path = tmp_path / 'table.json'
    path.write_bytes(b'\xff\xfe\x80')
    assert read_table(path)[0] is None
    assert not path.exists()


def test_a_disk_that_fails_is_counted_and_tried_again(tmp_path, monkeypatch):
    def fail(self, target):
        raise OSError(28, 'No space left on device')

    path = tmp_path / 'table.json'
    path.write_text('old')
    with monkeypatch.context() as disk:
        disk.setattr(Path, 'replace', fail)
        file = RecalledFile(path)
        file.offer(TABLE)
        assert file.close()
    assert file.failures == 1
    assert file.last_failure == f'{path}: cannot be written: No space left on device'
    assert path.read_text() == 'old'
    assert [p.name for p in tmp_path.iterdir()] == ['table.json']
    again = RecalledFile(path)
    again.offer(TABLE)
    assert again.close()
    assert json.loads(path.read_text()) == TABLE


def test_each_node_has_a_file_of_its_own_below_ros_home():
    home = {'ROS_HOME': '/var/ros'}
    paths = {default_path(name, home) for name in ('/thinking_policy', '/r1/thinking_policy')}
    assert len(paths) == 2
    assert all(path.parent == Path('/var/ros/thinking_policy') for path in paths)
    assert default_path('/thinking_policy', {}).parent == Path.home() / '.ros' / 'thinking_policy'
