# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a policy says about itself survives writing and reading, and hashes alike."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinking_policy.policy import ManifestSignal, PolicyError, ThinkingActivity, read_manifest
from thinking_policy.policy.manifest import Manifest, manifest_from_json
from thinking_policy.policy.packing import input_specs


def test_written_and_read_it_is_the_same(manifest):
    full = dataclasses.replace(
        manifest,
        event_vocabulary=('a', 'b'),
        recent_events=4,
        metrics={'f1': 0.5},
        training={'seed': 3.0},
        parent='0123',
        created='2026-12-01T00:00:00Z',
    )
    assert manifest_from_json(full.to_json(), 'x') == full


def test_the_version_is_the_hash_of_what_is_in_the_file(write_policy, manifest):
    import hashlib

    import onnx

    path = write_policy()
    stored = onnx.load(path).metadata_props[0].value
    assert read_manifest(path).version == hashlib.sha256(stored.encode()).hexdigest()[:16]


def test_equal_numbers_give_equal_versions(manifest):
    whole = dataclasses.replace(manifest, training={'seed': 1}, tick_period_s=1)
    fractional = dataclasses.replace(manifest, training={'seed': 1.0}, tick_period_s=1.0)
    assert whole.version == fractional.version


def test_any_difference_gives_another_version(manifest):
    versions = {
        dataclasses.replace(manifest, **change).version
        for change in (
            {},
            {'robot': 'b'},
            {'graph_sha256': 'x'},
            {'created': 'now'},
            {'parent': 'p'},
            {'metrics': {'f1': 0.1}},
            {'activities': manifest.activities[:1]},
        )
    }
    assert len(versions) == 7


def test_the_json_is_canonical(manifest):
    text = manifest.to_json()
    again = json.dumps(json.loads(text), sort_keys=True, separators=(',', ':'), ensure_ascii=False)
    assert again == text


def test_what_could_not_be_read_is_not_written(manifest):
    for change in (
        {'metrics': {'f1': float('nan')}},
        {'signals': ()},
        {'window_length': 0},
        {'activities': manifest.activities * 2},
        {'event_vocabulary': ('a',)},
        {'robot': 'red \x1b[31m'},
        {'signals': (ManifestSignal('a', 'm', 1.0, 1.0, 0.5),)},
        {'signals': (ManifestSignal('a', 'm', -1e308, 1e308, 0.5),)},
        {'signals': (ManifestSignal('a', 'm', 0.0, 1.0, 0.0),)},
    ):
        with pytest.raises(PolicyError, match='manifest'):
            dataclasses.replace(manifest, **change).to_json()


names = st.text(st.characters(exclude_categories=['Cs']), min_size=1, max_size=8).filter(
    str.isprintable
)
numbers = st.floats(-1e6, 1e6)


@given(st.lists(names, min_size=1, max_size=4, unique=True), numbers, st.floats(1e-3, 1e6), names)
def test_any_names_and_numbers_survive(signals, low, width, robot):
    full = Manifest(
        robot=robot,
        signals=tuple(ManifestSignal(name, robot, low, low + width, 0.1) for name in signals),
        window_length=4,
        tick_period_s=0.1,
        activities=(ThinkingActivity('a', 'Title', 'Do.'),),
        inputs=input_specs(4, len(signals), 0, 0),
    )
    assert manifest_from_json(full.to_json(), 'x') == full


@pytest.mark.parametrize('place', ['tick_period_s', 'metrics', 'threshold'])
def test_a_whole_number_beyond_any_float_is_refused(manifest, place):
    values = json.loads(manifest.to_json())
    target = {'metrics': values['metrics'], 'threshold': values['activities'][0]}.get(
        place, values
    )
    target['f1' if place == 'metrics' else place] = 10**400
    with pytest.raises(PolicyError, match='x: manifest') as caught:
        manifest_from_json(json.dumps(values), 'x')
    assert len(str(caught.value)) < 300
