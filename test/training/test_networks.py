# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The networks."""

from __future__ import annotations

import pytest
import torch

from thinking_policy.training.networks import (
    Dropout,
    Probabilities,
    ReferencePolicy,
    RobotPolicy,
    count_parameters,
)


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def test_the_reference_has_the_papers_number_of_weights():
    network = ReferencePolicy(10, 7, 8)
    assert count_parameters(network) == 1_839_560
    weights = sum(p.numel() * p.element_size() for p in network.parameters())
    assert f'{weights / 1e6:.3f} MB' == '7.358 MB'


def test_the_reference_sees_the_order_of_samples():
    network = ReferencePolicy(10, 7, 8).eval()
    window = torch.rand(1, 10, 7)
    there, back = (
        torch.cat((w.flatten(1), torch.ones(1, 70)), 1) for w in (window, window.flip(1))
    )
    assert not torch.allclose(network(there), network(back), atol=1e-4)


def test_the_reference_does_not_look_at_samples_without_any_valid_signal():
    network = ReferencePolicy(10, 7, 8).eval()
    valid = torch.ones(1, 10, 7)
    valid[:, :4] = 0
    window = torch.rand(1, 10, 7)
    junk = window.clone()
    junk[:, :4] = 99.0
    seen = network(torch.cat((window.flatten(1), valid.flatten(1)), 1))
    assert torch.allclose(
        seen, network(torch.cat((junk.flatten(1), valid.flatten(1)), 1)), atol=1e-5
    )


def test_the_reference_survives_a_window_in_which_nothing_is_valid():
    assert torch.isfinite(ReferencePolicy(10, 7, 8).eval()(torch.zeros(2, 140))).all()


def test_each_row_is_judged_by_itself():
    network = ReferencePolicy(10, 7, 8).eval()
    rows = torch.rand(6, 140)
    alone = torch.cat([network(row[None]) for row in rows])
    assert torch.allclose(network(rows), alone, atol=1e-5)


def test_dropout_drops_its_share_and_keeps_the_mean():
    dropout = Dropout(0.1)
    dropout.random = torch.Generator().manual_seed(0)
    ones = torch.ones(400, 1001)
    dropped = dropout(ones)
    assert (dropped == 0).float().mean().item() == pytest.approx(0.1, abs=0.002)
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.002)
    assert dropped.unique().tolist() == [0.0, pytest.approx(1 / 0.9, rel=1e-4)]
    assert torch.equal(dropout.eval()(ones), ones)


def test_dropout_draws_from_its_own_generator():
    one, two = Dropout(0.5), Dropout(0.5)
    one.random, two.random = (torch.Generator().manual_seed(3) for _ in range(2))
    before = torch.get_rng_state()
    assert torch.equal(one(torch.ones(100)), two(torch.ones(100)))
    assert torch.equal(torch.get_rng_state(), before)


def test_what_dropout_drops_learns_nothing():
    values = torch.ones(1000, requires_grad=True)
    dropped = Dropout(0.3)(values)
    dropped.sum().backward()
    assert torch.equal(values.grad, dropped.detach())


def test_the_reference_takes_up_to_a_hundred_samples():
    assert ReferencePolicy(100, 7, 8).eval()(torch.rand(1, 1400)).shape == (1, 8)


def test_the_robot_policy_costs_as_many_weights_as_it_says():
    assert count_parameters(RobotPolicy(10, 7, 10, width=64)) == 147 * 64 + 64 + 65 * 64 + 65 * 10


def packed(window, valid):
    return torch.cat(((window * valid).flatten(1), valid.flatten(1)), 1)


def test_the_robot_policy_reads_an_offset_in_the_means_only():
    network = RobotPolicy(10, 7, 8, width=16).eval()
    window, valid = torch.rand(5, 10, 7), (torch.rand(5, 10, 7) < 0.6).float()
    valid[0, :, 2] = 0.0
    there, shifted = (network._centred(packed(w, valid)) for w in (window, window + 3.0))
    assert torch.allclose(there[:, :140], shifted[:, :140], atol=2e-5)
    seen = valid.sum(1) > 0
    assert torch.allclose((shifted - there)[:, 140:], 3.0 * seen, atol=2e-5)
    # By hand: the second signal of the last row.
    values = window[4, :, 1][valid[4, :, 1] > 0]
    assert there[4, 140 + 1].item() == pytest.approx(values.mean().item(), abs=1e-5)
    distances = there[4, :70].view(10, 7)[:, 1]
    assert torch.allclose(distances[valid[4, :, 1] > 0], values - values.mean(), atol=1e-5)


def test_the_robot_policy_survives_a_window_in_which_nothing_is_valid():
    network = RobotPolicy(10, 7, 8).eval()
    nothing = torch.zeros(1, 140)
    assert torch.equal(network._centred(nothing), torch.zeros(1, 147))
    assert torch.isfinite(network(nothing)).all()


def test_a_lost_sample_reads_like_one_on_the_mean():
    network = RobotPolicy(10, 7, 8).eval()
    window, valid = torch.rand(1, 10, 7), torch.ones(1, 10, 7)
    valid[0, 4, 3] = 0.0
    lost = network._centred(packed(window, valid))
    window[0, 4, 3] = window[0, [t for t in range(10) if t != 4], 3].mean()
    there = network._centred(packed(window, torch.ones(1, 10, 7)))
    assert torch.allclose(lost[:, :70], there[:, :70], atol=1e-5)
    assert torch.allclose(lost[:, 140:], there[:, 140:], atol=1e-5)


def test_each_event_code_costs_three_rows_of_weights():
    plain, more = (count_parameters(RobotPolicy(10, 7, 10, 64, v)) for v in (3, 4))
    assert more - plain == 3 * 64


def events(code, age, code_age=(-1.0, -1.0), count=(0.0, 0.0)):
    return (
        torch.zeros(1, 12),
        torch.tensor([code]),
        torch.tensor([age]),
        torch.tensor([code_age]),
        torch.tensor([count]),
    )


def test_an_empty_slot_adds_nothing_whatever_its_embedding():
    network = RobotPolicy(3, 2, 4, 8, vocabulary=2).eval()
    before = network(*events([0, 0], [-1.0, -1.0]))
    with torch.no_grad():
        network.recent.weight[0] = 100.0
    assert torch.equal(before, network(*events([0, 0], [-1.0, -1.0])))


def test_an_event_counts_less_the_older_it_is():
    network = RobotPolicy(3, 2, 4, 8, vocabulary=2).eval()
    nothing = network(*events([0, 0], [-1.0, -1.0]))
    fresh, old, ancient = (
        (network(*events([0, 1], [-1.0, age])) - nothing).abs().sum() for age in (0, 60, 1e6)
    )
    assert fresh > old > ancient
    assert ancient < 1e-3


def test_probabilities_are_the_sigmoid_of_the_logits():
    network = RobotPolicy(3, 2, 4, 8).eval()
    row = torch.rand(5, 12)
    assert torch.equal(Probabilities(network)(row), torch.sigmoid(network(row)))
