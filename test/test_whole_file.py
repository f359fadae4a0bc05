# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A file appears whole or not at all."""

from __future__ import annotations

import os

import pytest

from thinking_policy import ThinkingPolicyError
from thinking_policy.whole_file import whole_file


class OwnError(ThinkingPolicyError):
    """A room's own error."""


@pytest.mark.parametrize('durable', [False, True])
def test_the_new_content_replaces_the_old_and_no_draft_stays(tmp_path, durable):
    path = tmp_path / 'new' / 'folder' / 'a.txt'
    for text in ('old', 'new'):
        with whole_file(path, durable=durable) as draft:
            draft.write_text(text)
    assert path.read_text() == 'new'
    assert list(path.parent.iterdir()) == [path]


def write_half(path):
    with whole_file(path) as draft:
        draft.write_text('ne')
        raise ValueError('half way')


def test_a_failure_while_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / 'a.txt'
    path.write_text('old')
    with pytest.raises(ValueError, match='half way'):
        write_half(path)
    assert path.read_text() == 'old'
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_an_error_of_the_room_that_names_the_file(tmp_path):
    path = tmp_path / 'a.txt'
    no_space = pytest.raises(OwnError, match=r'a\.txt: cannot be written: No space left')
    with no_space, whole_file(path, OwnError):
        raise OSError(28, os.strerror(28))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / 'file').write_text('')
    path = tmp_path / 'file' / 'deeper' / 'a.txt'
    no_folder = pytest.raises(OwnError, match=r'a\.txt: cannot be written: Not a directory')
    with no_folder, whole_file(path, OwnError):
        pytest.fail('nothing may be written')


def test_a_folder_or_device_is_not_replaced(tmp_path):
    pipe = tmp_path / 'pipe'
    os.mkfifo(pipe)
    for place in (tmp_path, pipe):
        with pytest.raises(OwnError, match='is there and not a file'), whole_file(place, OwnError):
            pytest.fail('nothing may be written')
