# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What is left where samples, beginnings or signals are missing, and what could be left at all."""

from __future__ import annotations

import json

import numpy as np
import pytest

from thinking_policy.cli import main
from thinking_policy.experiments import ordering
from thinking_policy.experiments.order_bound import most_probable_order, name_activities
from thinking_policy.experiments.robustness import (
    BOUND,
    BUNDLED,
    EVOLUTION,
    LOSSES,
    ORDERING,
    RARE_ALONE,
    STREAM,
    Loss,
    f1_by_loss,
    masked,
)
from thinking_policy.experiments.signals import SIGNAL_NAMES


@pytest.fixture(scope='module')
def orders():
    return ordering.draw_sets(100, 40, 200).test


def test_a_share_of_samples_gets_lost_and_a_higher_one_takes_more_of_the_same():
    valid = np.ones((200, 10, 7), np.bool_)
    valid[0] = False
    some, more = (Loss(share=share).left(valid, 1) for share in (0.1, 0.5))
    assert some.mean() == pytest.approx(0.9, abs=0.02)
    assert more.mean() == pytest.approx(0.5, abs=0.02)
    assert not (more & ~some).any()
    assert not some[0].any()
    assert Loss().left(valid, 1).sum() == valid.sum()


def test_a_window_that_has_begun_has_only_its_newest_samples():
    left = Loss(newest=3).left(np.ones((5, 10, 7), np.bool_), 1)
    assert not left[:, :7].any()
    assert left[:, 7:].all()


def test_a_missing_signal_is_missing_in_every_sample():
    left = Loss(signal='load').left(np.ones((5, 10, 7), np.bool_), 1)
    assert left.any(axis=(0, 1)).tolist() == [name != 'load' for name in SIGNAL_NAMES]


def test_what_is_lost_is_zero_as_on_a_robot(orders):
    rows = masked(orders, Loss(share=0.5).left(orders.valid, 1))
    assert (rows.window[~rows.valid] == 0).all()
    np.testing.assert_array_equal(rows.window[rows.valid], orders.window[rows.valid])


def test_every_loss_has_a_name_of_its_own():
    names = [loss.metric for loss in LOSSES]
    assert len(set(names)) == len(names) == 6 + 9 + 7


def test_the_bound_knows_every_order_that_can_be_known(orders):
    assert (most_probable_order(orders.window, orders.valid) == np.arange(200) % 4).all()
    found = f1_by_loss(lambda rows: name_activities(rows.window, rows.valid), orders, 1)
    assert found['invalid 0'] == found['invalid 0.5'] == found['without load'] == 1.0
    # All orders end alike: one of four by chance, with labels that two orders share.
    assert found['newest 1'] < 0.55


def test_the_bound_sees_nothing_that_is_lost(orders):
    left = Loss(share=0.5).left(orders.valid, 1)
    rows = masked(orders, left)
    spoilt = np.where(left, orders.window, np.float32(7))
    np.testing.assert_array_equal(
        most_probable_order(rows.window, left), most_probable_order(spoilt, left)
    )


@pytest.mark.slow
def test_policies_hold_where_samples_are_missing(tmp_path):
    out = str(tmp_path)
    assert main(['experiment', 'robustness', '--quick', '--seeds', '0', '--out', out]) == 0
    found = json.loads((tmp_path / 'results.json').read_text())['aggregates']

    def mean(task: str, method: str, loss: Loss) -> float:
        return found[task][method][loss.metric]['mean']

    half, whole = Loss(share=0.5), Loss()
    assert mean('ordering', ORDERING, whole) >= 0.99
    assert mean('ordering', ORDERING, half) >= 0.98
    assert mean('ordering', BOUND, half) >= mean('ordering', ORDERING, half)
    assert mean('evolution', EVOLUTION, half) >= 0.95
    assert mean('rare', STREAM, whole) >= 0.95
    assert 0.5 <= mean('rare', STREAM, half) <= mean('rare', STREAM, whole)
    assert mean('rare', RARE_ALONE, Loss(signal='load')) >= 0.9
    assert mean('bundled', BUNDLED, whole) >= 0.95
    assert mean('bundled', BUNDLED, half) >= 0.8
    for name in SIGNAL_NAMES:
        assert mean('bundled', BUNDLED, Loss(signal=name)) >= 0.9
        assert mean('ordering', ORDERING, Loss(signal=name)) >= 0.99
    # A window of which less than half is there calls for nothing yet.
    assert Loss(newest=4).metric not in found['bundled'][BUNDLED]
    assert (tmp_path / 'robustness.png').read_bytes().startswith(b'\x89PNG')
