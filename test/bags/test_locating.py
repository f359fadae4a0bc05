# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Which bags lie behind a path, and what they are called."""

from __future__ import annotations

import pytest

from thinking_policy.bags import BagError, open_bag
from thinking_policy.bags.locating import bag_name, bags_in, is_part, locate, named_bags


def lay(root, *names):
    """Make empty files; what is in them is looked at later."""
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def names(root):
    return list(named_bags([root]))


@pytest.mark.parametrize('files', [
    ('metadata.yaml', 'a_0.db3', 'a_1.db3'),
    ('a_0.mcap', 'a_1.mcap', 'notes.txt'),
    ('metadata.yaml',),
    ('metadata.yaml', 'a_0.mcap', 'old/b.mcap', 'c.bag'),
])  # fmt: skip
def test_a_folder_that_is_a_bag_is_itself(files, tmp_path):
    lay(tmp_path / 'walk', *files)
    assert bags_in(tmp_path / 'walk') == (tmp_path / 'walk',)
    assert names(tmp_path / 'walk') == ['walk']


def test_a_file_is_itself_and_called_by_its_own_name(tmp_path):
    lay(tmp_path, 'a.mcap')
    assert named_bags([tmp_path / 'a.mcap']) == {'a.mcap': tmp_path / 'a.mcap'}


def test_bags_of_all_kinds_and_depths_come_in_natural_order(tmp_path):
    lay(tmp_path, 'run10/metadata.yaml', 'run10/x_0.db3', 'run2/x_0.mcap', 'run2/x_1.mcap',
        'lone/a.db3', 'lone/b.mcap', 'lone/b.mcap.zstd', 'old/deep/er/r.bag',
        'old/deep/er/k.bag.active', '.git/x.mcap', 'notes/readme.txt', 'r.bag')  # fmt: skip
    assert names(tmp_path) == [
        'lone/a.db3', 'lone/b.mcap', 'lone/b.mcap.zstd', 'old/deep/er/k.bag.active',
        'old/deep/er/r.bag', 'r.bag', 'run2', 'run10',
    ]  # fmt: skip


def test_lone_files_beside_folders_of_bags_are_bags(tmp_path):
    lay(tmp_path, 'a.mcap', 'b/metadata.yaml', 'b/b_0.mcap')
    assert names(tmp_path) == ['a.mcap', 'b']


def test_metadata_of_something_else_does_not_join_recordings(tmp_path):
    lay(tmp_path, 'a.mcap', 'b.mcap')
    (tmp_path / 'metadata.yaml').write_text('title: a data set\n')
    assert names(tmp_path) == ['a.mcap', 'b.mcap']


def test_links_in_a_circle_end_and_links_to_nowhere_are_said(tmp_path):
    lay(tmp_path, 'a/x.mcap')
    (tmp_path / 'a' / 'up').symlink_to(tmp_path)
    (tmp_path / 'b.mcap').symlink_to('.git/annex/objects/b.mcap')
    assert names(tmp_path) == ['a', 'b.mcap']
    with pytest.raises(BagError, match=r'b.mcap: a link to .*, which is not there; run: git anne'):
        open_bag(tmp_path / 'b.mcap')


@pytest.mark.parametrize(('files', 'found'), [
    ((), 'it is empty'),
    (('a.txt', 'b/c.csv'), 'found a.txt, b'),
])  # fmt: skip
def test_a_folder_without_bags_says_what_is_there(files, found, tmp_path):
    lay(tmp_path, *files)
    with pytest.raises(BagError, match=f'expected .* in the folder or below it, {found}'):
        bags_in(tmp_path)


def test_two_bags_of_one_name_are_refused_with_both_paths(tmp_path):
    lay(tmp_path, 'one/x.mcap', 'two/x.mcap')
    one, two = tmp_path / 'one' / 'x.mcap', tmp_path / 'two' / 'x.mcap'
    with pytest.raises(BagError, match=f'{one} and {two}: both are called x.mcap'):
        named_bags([one, two])
    assert list(named_bags([tmp_path])) == ['one', 'two']


def test_a_name_holds_nothing_of_the_machine(tmp_path, monkeypatch):
    lay(tmp_path, 'site/run/a_0.mcap', 'site/b.bag')
    monkeypatch.chdir(tmp_path / 'site' / 'run')
    assert bag_name(*bags_in(type(tmp_path)()), type(tmp_path)()) == 'run'
    assert bag_name(tmp_path / 'site' / 'b.bag', tmp_path) == 'site/b.bag'


def test_a_folder_that_holds_one_bag_is_opened_and_its_files_are_parts(
    tmp_path, write_bag, temperatures
):
    path = write_bag(temperatures([1.0, 2.0]), name='data/results/walk')
    with open_bag(tmp_path / 'data') as bag:
        assert bag.message_count == 2
    assert is_part(path / 'metadata.yaml', tmp_path / 'data')
    assert not is_part(path / 'x.npz', tmp_path / 'data')
    write_bag(temperatures([1.0]), name='data/results/other')
    with pytest.raises(BagError, match='holds 2 bags: results/other, results/walk; name one'):
        open_bag(tmp_path / 'data')


def test_a_bag_folder_of_links_to_nowhere_says_how_to_get_the_files(tmp_path):
    lay(tmp_path, 'metadata.yaml')
    (tmp_path / 'metadata.yaml').write_text(
        'rosbag2_bagfile_information: {relative_file_paths: [a_0.db3]}\n'
    )
    (tmp_path / 'a_0.db3').symlink_to('.git/annex/objects/a_0.db3')
    with pytest.raises(BagError, match=r'a_0.db3: a link to .* not there; run: git annex get'):
        locate(tmp_path)
    lay(tmp_path, 'a_1.db3')
    found = locate(tmp_path)
    assert found.files == (tmp_path / 'a_1.db3',)
    assert (
        'a_0.db3: a link to .git/annex/objects/a_0.db3, which is not there; run: git annex get'
        in (found.notes)
    )


def test_files_named_like_one_recording_that_stay_bags_of_their_own_say_so(tmp_path):
    lay(tmp_path, 'a_0.mcap', 'a_1.db3', 'a_1.mcap', 'b.mcap', 'b.db3', 'ab_0.mcap', 'a_2.txt')
    said = (
        'a_0.mcap, a_1.db3, a_1.mcap are named like parts or copies of one recording, and read '
        'as a bag each; a folder with nothing but its parts is read as one'
    )
    notes = {path.name: dict(locate(path).notes) for path in bags_in(tmp_path)}
    assert notes == {
        **{name: {said: 1} for name in ('a_0.mcap', 'a_1.db3', 'a_1.mcap')},
        'b.mcap': {},
        'b.db3': {},
        'ab_0.mcap': {},
    }
