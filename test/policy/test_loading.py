# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A policy file that a robot can't use is refused, with the reason, in one line."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import onnx
import pytest

from thinking_policy.policy import (
    PolicyError,
    PolicyRuntime,
    artifact,
    read_artifact,
    sign_file,
    write_key_pair,
)
from thinking_policy.policy.compatibility import check_configuration
from thinking_policy.policy.model_file import parse_model_file
from thinking_policy.policy.novelty import default_baseline
from thinking_policy.policy.packing import InputSpec
from thinking_policy.situation import EventConfig, SignalConfig, SituationConfig

WINDOW = [[0.1, 0.2], [0.3, 0.4], [2.0, 0.6]]


def configured(*names, length=3, period_ticks=1, **signal):
    return SituationConfig(
        window_length=length,
        signals=tuple(SignalConfig(name=n, period_ticks=period_ticks, **signal) for n in names),
    )


def refusal(path, **options):
    with pytest.raises(PolicyError) as caught:
        PolicyRuntime.load(path, **options)
    message = str(caught.value)
    assert '\n' not in message
    assert str(path) in message
    return message


@pytest.fixture
def keys(tmp_path):
    private, public = tmp_path / 'private.pem', tmp_path / 'public.pem'
    write_key_pair(private, public)
    return private, public


def test_a_good_file_loads_and_answers(write_policy, make_situation):
    runtime = PolicyRuntime.load(write_policy(), config=configured('temperature', 'current'))
    answer = runtime.infer(make_situation(WINDOW))
    assert answer.probability == pytest.approx([1 / (1 + np.exp(-2.0)), 0.5], abs=1e-6)
    assert runtime.warnings == ()


def test_missing_file(tmp_path):
    assert 'no such file' in refusal(tmp_path / 'none.onnx')


def test_folder_instead_of_a_file(tmp_path):
    assert 'found a directory' in refusal(tmp_path)


def test_empty_file(tmp_path):
    path = tmp_path / 'empty.onnx'
    path.touch()
    assert 'the file is empty' in refusal(path)


@pytest.mark.parametrize('share', [0.02, 0.3, 0.6, 0.9, 0.999])
def test_truncated_file(write_policy, share):
    path = write_policy()
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    assert 'truncated' in refusal(path)


def test_random_bytes(tmp_path):
    path = tmp_path / 'random.onnx'
    path.write_bytes(b'\xff' + np.random.default_rng(0).bytes(5000))
    assert 'not an ONNX model' in refusal(path)


def test_text_instead_of_a_model(tmp_path):
    path = tmp_path / 'pointer.onnx'
    path.write_text('version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 34618\n')
    assert 'not an ONNX model' in refusal(path)


def test_model_of_somebody_else(write_policy):
    assert 'not a thinking policy' in refusal(write_policy(with_manifest=False))


def test_one_changed_weight(write_policy):
    path = write_policy()
    data = path.read_bytes()
    one = np.float32(1).tobytes()
    assert data.count(one) == 1
    path.write_bytes(data.replace(one, np.float32(1.5).tobytes()))
    assert 'damaged' in refusal(path)


def with_manifest_values(path, **values):
    model = onnx.load(path)
    manifest = json.loads(model.metadata_props[0].value) | values
    model.metadata_props[0].value = json.dumps(manifest)
    onnx.save(model, path)
    return path


def test_newer_schema(write_policy):
    path = with_manifest_values(write_policy(), schema_version=7, something_new=1)
    assert 'schema 7, this version of thinking_policy reads up to 1' in refusal(path)


@pytest.mark.parametrize(
    ('field', 'value', 'expected'),
    [
        ('window_length', 'ten', 'manifest.window_length: expected int'),
        ('window_length', 0, 'window_length >= 1'),
        ('robot', 3, 'manifest.robot: expected str'),
        ('signals', [], 'at least one signal'),
        ('colour', 'red', "unknown field 'colour'"),
        ('schema_version', None, 'no schema_version'),
        ('metrics', {'f1': 'good'}, 'manifest.metrics.f1: expected float'),
        ('recent_events', 4, 'recent_events 4'),
    ],
)
def test_manifest_with_a_wrong_field(write_policy, field, value, expected):
    assert expected in refusal(with_manifest_values(write_policy(), **{field: value}))


def test_manifest_that_is_no_json(write_policy):
    path = write_policy()
    model = onnx.load(path)
    model.metadata_props[0].value = '{"robot": '
    onnx.save(model, path)
    assert 'the manifest is not JSON' in refusal(path)


def test_other_order_of_signals_shows_both(write_policy):
    message = refusal(write_policy(), config=configured('current', 'temperature'))
    assert 'other order of signals' in message
    assert "['temperature', 'current']" in message
    assert "['current', 'temperature']" in message


def test_other_signals_show_both(write_policy):
    message = refusal(write_policy(), config=configured('temperature', 'voltage'))
    assert 'other signals' in message
    assert "['temperature', 'current']" in message
    assert "['temperature', 'voltage']" in message


def test_other_window_length(write_policy):
    message = refusal(write_policy(), config=configured('temperature', 'current', length=10))
    assert 'T=3, configured is T=10' in message


def test_other_nominal_ranges_are_fine(write_policy):
    runtime = PolicyRuntime.load(
        write_policy(), config=configured('temperature', 'current', nominal_high=80.0, unit='K')
    )
    assert runtime.warnings == ()


def test_other_sampling_period_is_a_warning(write_policy):
    runtime = PolicyRuntime.load(
        write_policy(), config=configured('temperature', 'current', period_ticks=4)
    )
    assert runtime.warnings == (
        'temperature: sampled every 2 s, the policy was trained with 0.5 s',
        'current: sampled every 2 s, the policy was trained with 0.5 s',
    )


def test_fewer_recent_events_than_trained_with_are_a_warning(write_policy):
    read = read_artifact(write_policy())
    reads_more = dataclasses.replace(
        read, manifest=dataclasses.replace(read.manifest, event_vocabulary=('a',), recent_events=9)
    )
    config = dataclasses.replace(
        configured('temperature', 'current'), events=EventConfig(recent=4)
    )
    assert check_configuration(reads_more, config) == [
        'events: the policy reads the last 9, a situation holds 4'
    ]


def test_inputs_of_another_shape(write_policy):
    assert 'wrong inputs' in refusal(write_policy(width=10))


def test_outputs_of_another_shape(write_policy):
    message = refusal(write_policy(outputs=3))
    assert 'wrong output' in message
    assert '2 activities' in message


def test_another_packing(write_policy):
    strange = (InputSpec('signals', 'float32', (12,), 'valid_then_window'),)
    assert 'packed in another way' in refusal(write_policy(changes={'inputs': strange}))


def test_too_new_opset_names_found_and_supported(write_policy):
    message = refusal(write_policy(opset=99))
    assert 'opset 99 is too new' in message
    assert 'supports up to 2' in message


def test_too_new_ir_version_names_found_and_supported(write_policy):
    message = refusal(write_policy(ir_version=99))
    assert 'IR version 99 is too new' in message
    assert 'supports up to 1' in message


def test_unknown_operator(write_policy):
    path = write_policy(with_manifest=True)
    model = onnx.load(path)
    model.graph.node[0].op_type = 'Think'
    digest = parse_model_file(model.SerializeToString(), 'x').graph_sha256
    onnx.save(model, path)
    with_manifest_values(path, graph_sha256=digest)
    assert 'refuses it (opset 17, IR version 8)' in refusal(path)


def test_no_number_in_the_dry_run(write_policy):
    assert 'the dry run gave [nan, nan]' in refusal(write_policy(nan=True))


def test_signed_file_loads(write_policy, keys):
    private, public = keys
    path = write_policy()
    sign_file(path, private)
    assert PolicyRuntime.load(path, public_key=public).manifest.robot == 'test'


def test_unsigned_file_with_a_key_configured(write_policy, keys):
    assert 'not signed' in refusal(write_policy(), public_key=keys[1])


def test_signature_by_another_key(write_policy, keys, tmp_path):
    path = write_policy()
    write_key_pair(tmp_path / 'other.pem', tmp_path / 'other_public.pem')
    sign_file(path, tmp_path / 'other.pem')
    assert 'does not belong to this file' in refusal(path, public_key=keys[1])


def test_signature_of_another_file(write_policy, keys):
    private, public = keys
    first = write_policy()
    second = write_policy('second.onnx', changes={'robot': 'another'})
    sign_file(first, private).rename(second.with_name('second.onnx.sig'))
    assert 'does not belong to this file' in refusal(second, public_key=public)


def test_signature_cut_short(write_policy, keys):
    private, public = keys
    path = write_policy()
    beside = sign_file(path, private)
    beside.write_bytes(beside.read_bytes()[:10])
    with pytest.raises(PolicyError, match='64 bytes, found 10'):
        PolicyRuntime.load(path, public_key=public)


def test_signature_is_checked_before_anything_looks_into_the_file(tmp_path, keys):
    path = tmp_path / 'random.onnx'
    path.write_bytes(b'\xff' * 100)
    assert 'not signed' in refusal(path, public_key=keys[1])


def test_what_was_checked_is_loaded_even_if_the_file_is_replaced_meanwhile(
    write_policy, make_situation, monkeypatch
):
    path = write_policy()
    other = write_policy('other.onnx', changes={'robot': 'another'}, outputs=2)
    parse = artifact.parse_model_file

    def parse_and_replace(data, source):
        path.write_bytes(other.read_bytes()[:50])
        return parse(data, source)

    monkeypatch.setattr(artifact, 'parse_model_file', parse_and_replace)
    runtime = PolicyRuntime.load(path)
    assert runtime.manifest.robot == 'test'
    assert runtime.infer(make_situation(WINDOW)).probability[1] == 0.5


def test_baseline_for_other_signals(write_policy):
    message = refusal(write_policy(), baseline=default_baseline(('a', 'b')))
    assert "the baseline is for signals ['a', 'b']" in message
