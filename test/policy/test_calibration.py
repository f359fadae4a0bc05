# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What is learned from a stretch in which the robot was normal."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from thinking_policy.policy import (
    HealthyStretch,
    PolicyError,
    baseline_of,
    fewest_ticks,
    novelty,
    with_baseline,
)
from thinking_policy.situation import SignalConfig, SituationConfig

LENGTH = 10


def configured(names=('a',), low=0.0, high=10.0):
    return SituationConfig(
        window_length=LENGTH,
        signals=tuple(
            SignalConfig(
                name=name,
                topic=f'/{name}',
                type='std_msgs/msg/Float32',
                field='data',
                nominal_low=low,
                nominal_high=high,
            )
            for name in names
        ),
    )


def windows_of(samples, config):
    """Return a window a tick of samples [N + T - 1, F] in the signals' unit, scaled."""
    low = np.array([s.nominal_low for s in config.signals])
    high = np.array([s.nominal_high for s in config.signals])
    scaled = ((samples - low) / (high - low)).astype(np.float32)
    return np.lib.stride_tricks.sliding_window_view(scaled, LENGTH, axis=0).swapaxes(1, 2)


def noise(count, signals=1, seed=100):
    return np.random.default_rng(seed).standard_normal((count, signals))


def calibrated(samples, config=None, **options):
    config = config or configured([f's{i}' for i in range(samples.shape[1])])
    stretch = HealthyStretch(config)
    windows = windows_of(samples, config)
    stretch.add(windows, np.ones(windows.shape, bool))
    return stretch.calibrate(**options)


def novelties(samples, calibration):
    config = configured(calibration.signals)
    baseline = baseline_of(with_baseline(config, calibration))
    valid = np.ones((LENGTH, samples.shape[1]), bool)
    return np.array([novelty(w, valid, baseline) for w in windows_of(samples, config)])


def test_mean_and_spread_of_noise_are_those_of_its_window_means():
    found = calibrated(5.0 + noise(20_000), false_alarms=0.05)
    assert found.mean == pytest.approx((5.0,), abs=0.05)
    # A spread of sqrt(1/10), divided by the 0.9 of the variance that is within windows; windows
    # that do not overlap pass 3.2 of them (the largest of ten that do) once in twenty.
    assert found.spread == pytest.approx((0.1**0.5 / 0.9,), rel=0.15)
    assert found.kept > 0.99
    assert found.windows == (round(found.kept * 19_991),)
    assert found.problems == {}


@pytest.mark.parametrize('rate', [0.05, 0.01])
def test_healthy_windows_pass_the_threshold_as_often_as_was_asked_for(rate):
    calibration = calibrated(noise(4_000, 3), false_alarms=rate)
    later = novelties(noise(60_000, 3, seed=101), calibration) > 3.0
    blocks = later[: len(later) // LENGTH * LENGTH].reshape(-1, LENGTH).any(axis=1)
    assert rate / 3 < blocks.mean() < 2 * rate


def test_a_level_that_was_never_there_is_novel():
    calibration = calibrated(noise(600, 3))
    shifted = noise(100, 3, seed=102)
    assert np.mean(novelties(shifted, calibration) > 3.0) < 0.05
    shifted[:, 1] += 3.0
    assert np.mean(novelties(shifted, calibration) > 3.0) > 0.95


def test_a_signal_that_wanders_is_hardly_judged_by_its_level():
    drift = np.cumsum(noise(2_000), axis=0)
    steady = calibrated(noise(600)).spread[0] / math.sqrt(0.1)
    wandering = calibrated(drift[:600]).spread[0] / drift[:600].std()
    assert wandering > 4 * steady
    assert np.mean(novelties(drift[600:], calibrated(drift[:600])) > 3.0) == 0.0


def test_a_disturbance_within_the_stretch_is_left_out():
    clean, disturbed = noise(600, 2), noise(600, 2)
    disturbed[300:340, 0] += 8.0
    expected, found = calibrated(clean), calibrated(disturbed)
    assert found.kept < 0.95
    assert found.spread == pytest.approx(expected.spread, rel=0.3)
    assert found.mean == pytest.approx(expected.mean, abs=0.1)


def test_at_least_half_of_a_stretch_counts_whatever_it_is():
    samples = noise(600)
    samples[100::50] += 100.0
    assert 0.5 <= calibrated(samples).kept <= 1.0


def test_a_signal_that_never_moved_does_not_make_everything_novel():
    samples = np.column_stack([noise(600)[:, 0], np.full(600, 4.0)])
    found = calibrated(samples)
    assert found.mean[1] == pytest.approx(4.0)
    assert found.spread[1] >= 0.02 * 10.0


def test_signals_that_cannot_be_judged_say_why_and_keep_their_nominal_range():
    config = configured(('seen', 'hidden'))
    config = with_signal(config, 'gone', topic='')
    stretch = HealthyStretch(config)
    windows = windows_of(noise(609, 3), config)
    valid = np.ones(windows.shape, bool)
    valid[50:, :6, 1] = False
    stretch.add(windows, valid)
    found = stretch.calibrate()
    assert found.problems == {
        'hidden': 'usable in 50 of 600 windows, at least 100 are needed',
        'gone': 'this robot has no such signal',
    }
    assert np.isnan(found.spread).tolist() == [False, True, True]
    assert baseline_of(with_baseline(config, found)).spread[1:] == (0.25, 0.25)


def test_a_signal_that_is_sampled_seldom_needs_a_longer_stretch():
    every = 4
    slow = np.repeat(noise(500), every, axis=0)[: 100 * every * LENGTH // 4 + LENGTH]
    config = configured()
    config = SituationConfig(
        window_length=LENGTH,
        signals=(SignalConfig(**{**vars(config.signals[0]), 'period_ticks': every}),),
    )
    needed = 10 * LENGTH * every  # ten windows of its own samples
    assert not calibrated(slow[: needed + LENGTH - 1], config).problems
    with pytest.raises(PolicyError, match='usable in 399 of 399 windows, at least 400 are needed'):
        calibrated(slow[: needed + LENGTH - 2], config)


def test_a_signal_beyond_what_a_window_shows_is_not_learned():
    config = configured(('near', 'far'))
    windows = windows_of(np.column_stack([noise(400)[:, 0], np.full(400, 120.0)]), config)
    stretch = HealthyStretch(config)
    stretch.add(np.minimum(windows, 10.0), np.ones(windows.shape, bool))
    found = stretch.calibrate()
    assert np.isnan(found.mean).tolist() == [False, True]
    assert found.problems == {
        'far': 'in 391 of 391 windows all is more than 10 times the nominal range 0 … 10 away; '
        'give it another'
    }


def with_signal(config, name, **settings):
    signal = SignalConfig(name=name, nominal_low=0.0, nominal_high=10.0, **settings)
    return SituationConfig(window_length=LENGTH, signals=(*config.signals, signal))


def test_a_signal_is_judged_in_its_unit_whatever_its_range_was():
    samples = 5.0 + noise(600)
    for high in (6.0, 10.0, 100.0):
        config = configured(high=high)
        found = calibrated(samples, config)
        assert found.mean == pytest.approx((samples.mean(),), abs=0.02)


def test_pieces_are_as_good_as_the_whole():
    config = configured()
    windows = windows_of(noise(609), config)
    valid = np.ones(windows.shape, bool)
    whole, pieces = HealthyStretch(config), HealthyStretch(config)
    whole.add(windows, valid)
    for start in range(0, 600, 7):
        pieces.add(windows[start : start + 7], valid[start : start + 7])
    assert pieces.windows == 600
    assert pieces.calibrate() == whole.calibrate()


def test_too_short_a_stretch_is_refused_with_the_length_that_is_needed():
    assert fewest_ticks(configured()) == 200
    with pytest.raises(PolicyError, match=r'too short: 100 ticks; at least 200 .*\(100 s, 20 '):
        calibrated(noise(109))


def test_no_usable_signal_is_refused_with_the_reason_for_each():
    config = configured()
    stretch = HealthyStretch(config)
    windows = windows_of(noise(309), config)
    stretch.add(windows, np.zeros(windows.shape, bool))
    with pytest.raises(PolicyError, match='no signal can be judged: a: usable in 0 of 300'):
        stretch.calibrate()


def test_windows_of_another_robot_are_refused():
    with pytest.raises(PolicyError, match=r'\[N, 10, 1\], found \(5, 4, 3\)'):
        HealthyStretch(configured()).add(np.zeros((5, 4, 3), np.float32), np.ones((5, 4, 3), bool))


def test_a_window_of_one_sample_can_be_judged():
    config = SituationConfig(
        window_length=1, signals=(SignalConfig(name='a', topic='/a', nominal_high=10.0),)
    )
    stretch = HealthyStretch(config)
    stretch.add((noise(400)[:, None, :] / 10).astype(np.float32), np.ones((400, 1, 1), bool))
    assert 0.9 < stretch.calibrate().spread[0] < 3.0


@settings(deadline=None, max_examples=60)
@given(
    hnp.arrays(
        np.float32,
        (45, 2, 2),
        elements=st.sampled_from([0.0, 0.5, 0.5000001, 1.0, -9.9, 9.9]),
    ),
    hnp.arrays(np.bool_, (45, 2, 2), elements=st.sampled_from([True, True, True, False])),
    st.sampled_from([0.2, 0.005, 1e-6]),
)
def test_a_baseline_can_be_used_whatever_the_stretch_was(windows, valid, rate):
    config = SituationConfig(
        window_length=2,
        signals=tuple(SignalConfig(name=name, topic=f'/{name}') for name in 'ab'),
    )
    stretch = HealthyStretch(config)
    valid[:30, :, 0] = True
    stretch.add(np.where(valid, windows, 0.0).astype(np.float32), valid)
    found = stretch.calibrate(false_alarms=rate)
    baseline = baseline_of(with_baseline(config, found))
    assert np.isfinite(baseline.mean).all()
    assert np.isfinite(baseline.spread).all()
    assert min(baseline.spread) >= 0.0199
    assert np.isnan(found.spread).tolist() == [name in found.problems for name in 'ab']
    assert 0.5 <= found.kept <= 1.0
