# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""From a network to a file that robots load."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnx
import pytest
import torch

from thinking_policy.policy import (
    Manifest,
    ManifestSignal,
    PolicyError,
    PolicyRuntime,
    ThinkingActivity,
)
from thinking_policy.policy.compatibility import session_options
from thinking_policy.policy.packing import input_specs
from thinking_policy.situation import Event, EventKind, Recalled, Situation
from thinking_policy.training.export import assemble, export_graph, write_artifact
from thinking_policy.training.lives import draw_learning_set
from thinking_policy.training.networks import Probabilities, ReferencePolicy, RobotPolicy
from thinking_policy.training.stored_weights import quantise

NAMES = ('temperature', 'current', 'vibration', 'distance', 'visibility', 'motion', 'load')
NOW_NS = 100_000_000_000


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def manifest_for(length, names, activities, vocabulary=(), recent=0):
    return Manifest(
        robot='test',
        window_length=length,
        tick_period_s=0.5,
        signals=tuple(ManifestSignal(name, '', 0.0, 1.0, 0.5) for name in names),
        activities=tuple(ThinkingActivity(f'g{i}', f'G{i}', 'Think.') for i in range(activities)),
        inputs=input_specs(length, len(names), recent, len(vocabulary)),
        event_vocabulary=tuple(vocabulary),
        recent_events=recent,
    )


def loaded(tmp_path, network, manifest, weights='float32'):
    data, _ = assemble(export_graph(network, manifest.inputs, weights), manifest)
    path = tmp_path / 'policy.onnx'
    write_artifact(path, data)
    return PolicyRuntime.load(path)


def situation(window, valid, **changes):
    plain = Situation(
        NOW_NS, 200, 'e', 0.5, NAMES[: window.shape[1]], window, valid, (), (), (), ()
    )
    return dataclasses.replace(plain, **changes)


@pytest.mark.parametrize('kind', [RobotPolicy, ReferencePolicy])
def test_the_runtime_gives_what_torch_gives(tmp_path, kind):
    network = kind(10, 7, 8).eval()
    runtime = loaded(tmp_path, network, manifest_for(10, NAMES, 8))
    rows = draw_learning_set(3, 10, np.random.default_rng(0)).packed()[0]
    with torch.no_grad():
        expected = Probabilities(network)(torch.from_numpy(rows)).numpy()
    for row, wanted in zip(rows, expected, strict=True):
        window, valid = row.reshape(2, 10, 7)
        found = runtime.infer(situation(window, valid > 0)).probability
        assert found == pytest.approx(wanted, abs=2e-5)


def test_static_situations_work_too(tmp_path):
    runtime = loaded(tmp_path, RobotPolicy(1, 7, 3).eval(), manifest_for(1, NAMES, 3))
    answer = runtime.infer(situation(np.ones((1, 7), np.float32), np.ones((1, 7), bool)))
    assert answer.probability.shape == (3,)


def probabilities_and_steps(model, tmp_path):
    """Return what ONNX Runtime answers, and the nodes that are left when it has loaded."""
    import onnxruntime

    options = session_options()
    options.optimized_model_filepath = str(tmp_path / 'optimised.onnx')
    session = onnxruntime.InferenceSession(model, options, providers=['CPUExecutionProvider'])
    row = np.random.default_rng(0).random((64, 140), np.float32)
    found = session.run(None, {'signals': row})[0]
    steps = [node.op_type for node in onnx.load(options.optimized_model_filepath).graph.node]
    return found, steps


@pytest.mark.parametrize(
    ('weights', 'largest_share', 'tolerance'), [('float16', 0.55, 1e-3), ('int8', 0.33, 5e-3)]
)
def test_fewer_bits_make_the_file_smaller_and_change_little(
    tmp_path, weights, largest_share, tolerance
):
    network, specs = RobotPolicy(10, 7, 10).eval(), input_specs(10, 7, 0, 0)
    full, small = export_graph(network, specs, 'float32'), export_graph(network, specs, weights)
    assert len(small) < largest_share * len(full)
    wanted, _ = probabilities_and_steps(full, tmp_path)
    found, _ = probabilities_and_steps(small, tmp_path)
    assert found == pytest.approx(wanted, abs=tolerance)
    assert not np.array_equal(found, wanted)


def test_the_robots_graph_has_no_node_too_many(tmp_path):
    network, specs = RobotPolicy(10, 7, 10).eval(), input_specs(10, 7, 0, 0)
    _, steps = probabilities_and_steps(export_graph(network, specs), tmp_path)
    means, layers = ['Gemm', 'Split', 'Div', 'Tile'], ['FusedGemm'] * 3
    assert sorted(steps) == sorted([*means, 'Split', 'Mul', 'Sub', 'Concat', *layers])


@pytest.mark.parametrize('weights', ['float16', 'int8'])
def test_widening_the_weights_costs_nothing_at_run_time(tmp_path, weights):
    network, specs = RobotPolicy(10, 7, 10).eval(), input_specs(10, 7, 0, 0)
    _, wanted = probabilities_and_steps(export_graph(network, specs, 'float32'), tmp_path)
    _, found = probabilities_and_steps(export_graph(network, specs, weights), tmp_path)
    assert found == wanted


def test_the_robots_file_is_small():
    """Paper-sized window and the ten shipped activities: 30,000 bytes with the manifest."""
    network = RobotPolicy(10, 7, 10)
    assert len(export_graph(network, input_specs(10, 7, 0, 0))) < 22_500


def test_an_event_code_costs_three_bytes_for_each_unit_and_the_scales():
    def size(codes, width):
        network = RobotPolicy(10, 7, 10, width, codes)
        return len(export_graph(network, input_specs(10, 7, 8, codes)))

    for width in (32, 64):
        assert (size(40, width) - size(20, width)) / 20 <= 3 * width + 3 * 4 + 1


def test_whole_numbers_and_scales_give_the_weights_back():
    # Columns of very different size: a scale for each loses least.
    weights = np.random.default_rng(0).uniform(-1, 1, (8, 32)) * np.geomspace(0.01, 10, 32)
    weights = weights.astype(np.float32)
    whole, scale = quantise(weights)
    assert (whole.dtype, scale.dtype, scale.shape) == (np.int8, np.float32, (1, 32))
    assert np.abs(whole).max(0).tolist() == [127] * 32
    assert (np.abs(whole * scale - weights) <= 0.501 * scale).all()
    # Rows of different size: the other axis. A row of zeros stays one.
    whole, scale = quantise(np.concatenate((weights.T, np.zeros((1, 8), np.float32))))
    assert scale.shape == (33, 1)
    assert np.array_equal(whole[:32], quantise(weights)[0].T)
    assert (whole[32] * scale[32] == 0).all()


@pytest.mark.parametrize('value', [float('nan'), float('inf')])
@pytest.mark.parametrize('weights', ['float32', 'float16', 'int8'])
def test_a_weight_that_is_no_number_is_refused_by_name(value, weights):
    network = RobotPolicy(10, 7, 2)
    with torch.no_grad():
        network.second.weight[3, 4] = value
    with pytest.raises(PolicyError, match=r'second\.weight: holds NaN or infinity'):
        export_graph(network, input_specs(10, 7, 0, 0), weights)


def test_a_format_of_weights_that_is_not_known_is_refused():
    with pytest.raises(PolicyError, match=r"expected one of \['float32', 'float16', 'int8'\]"):
        export_graph(RobotPolicy(1, 1, 1), input_specs(1, 1, 0, 0), 'int4')


def test_the_same_network_gives_the_same_bytes():
    manifest = manifest_for(10, NAMES, 8)
    one, two = (
        assemble(export_graph(RobotPolicy(10, 7, 8).eval(), manifest.inputs), manifest)[0]
        for _ in map(torch.manual_seed, (3, 3))
    )
    assert one == two


def test_the_manifest_tells_versions_and_hash_of_what_it_is_in(tmp_path):
    runtime = loaded(tmp_path, RobotPolicy(10, 7, 2).eval(), manifest_for(10, NAMES, 2))
    model = onnx.load(runtime.path)
    assert runtime.manifest.opset == model.opset_import[0].version == 17
    assert runtime.manifest.ir_version == model.ir_version == 8
    assert len(runtime.manifest.graph_sha256) == 64


def test_a_file_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / 'policy.onnx'
    write_artifact(path, b'old')
    write_artifact(path, b'new')
    assert path.read_bytes() == b'new'
    assert [p.name for p in tmp_path.iterdir()] == ['policy.onnx']
    with pytest.raises(PolicyError, match='cannot be written'):
        write_artifact(path / 'policy.onnx', b'x')  # a file isn't a folder


def event(code, age_s):
    return Event(NOW_NS - round(age_s * 1e9), EventKind.TOPIC, code, 'topic', float('nan'))


def test_a_policy_with_an_event_vocabulary_sees_what_happened(tmp_path):
    network = RobotPolicy(3, 2, 4, 8, vocabulary=2).eval()
    runtime = loaded(tmp_path, network, manifest_for(3, NAMES[:2], 4, ('bump', 'slip'), recent=3))
    window, valid = np.full((3, 2), 0.5, np.float32), np.ones((3, 2), bool)

    def asked(**changes):
        return runtime.infer(situation(window, valid, **changes)).probability

    found = asked(
        events=(event('slip', 4), event('unknown', 2), event('slip', 1)),
        recalled=(Recalled(event('bump', 3600), 7),),
    )
    packed = torch.from_numpy(np.concatenate((window, valid)).reshape(1, -1).astype(np.float32))
    with torch.no_grad():
        wanted = Probabilities(network)(
            packed,
            torch.tensor([[0, 2, 2]]),
            torch.tensor([[-1.0, 4.0, 1.0]]),
            torch.tensor([[3600.0, 1.0]]),
            torch.tensor([[7.0, 2.0]]),
        )[0]
    assert found == pytest.approx(wanted.numpy(), abs=1e-5)
    nothing = asked()
    assert np.abs(found - nothing).max() > 1e-3
    assert np.array_equal(nothing, asked(events=(event('unknown', 1),)))


def test_an_event_policy_can_be_trained_to_expect_what_follows(tmp_path, make_learning_set):
    """A then B calls for thinking; B alone does not."""
    from thinking_policy.training.fit import fit, make_deterministic
    from thinking_policy.training.learning_set import EventRows
    from thinking_policy.training.recipe import Recipe

    make_deterministic(0)
    random = np.random.default_rng(0)
    count = 2000
    first, second = random.random(count) < 0.5, random.random(count) < 0.5
    code = np.stack((np.where(first, 1, 0), np.where(second, 2, 0)), 1)
    age = np.where(code > 0, random.uniform(0, 20, (count, 2)), -1).astype(np.float32)
    happened = (code > 0).astype(np.float32)
    learning = make_learning_set(
        np.zeros((count, 3, 2)),
        (first & second)[:, None],
        valid=np.zeros((count, 3, 2), np.bool_),
        events=EventRows(('a', 'b'), code, age, age, happened),
    )
    network = RobotPolicy(3, 2, 1, 16, vocabulary=2)
    fit(network, learning, Recipe(steps=400, batch=128, learning_rate=1e-2))
    runtime = loaded(tmp_path, network, manifest_for(3, NAMES[:2], 1, ('a', 'b'), recent=2))
    nothing = np.zeros((3, 2), np.float32)

    def asked(*events):
        return runtime.infer(situation(nothing, nothing > 0, events=events)).probability[0]

    assert asked(event('a', 9), event('b', 2)) > 0.9
    assert asked(event('b', 2)) < 0.1
    assert asked(event('a', 9)) < 0.1
    assert asked() < 0.1
