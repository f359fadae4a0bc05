# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`~/calibrate`: a running node learns what is normal, keeps it, and refuses with a reason."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from lifecycle_msgs.msg import Transition
from robot import signal, temperature
from sensor_msgs.msg import Temperature
from std_srvs.srv import SetBool

from thinking_policy.policy import FALSE_ALARMS, NOVELTY_THRESHOLD, Calibration, PolicyError
from thinking_policy.ros.calibration_file import file_content, read_calibration
from thinking_policy.ros.live_calibration import CalibrationState, LiveCalibration
from thinking_policy.ros.node_options import NodeOptions
from thinking_policy.situation import SignalConfig, Situation, SituationConfig

QUICK = {'tick_period_s': 0.02, 'window_length': 1, 'calibration_s': 1.0}


def calibrate(robot, begin=True):
    request = SetBool.Request(data=begin)
    return robot.observer.call(SetBool, f'{robot.node}/calibrate', request)


def state(robot):
    return robot.diagnosis('calibration')[2].get('state')


def pumping(robot, values):
    """Return a function that publishes the next value, for conditions that are waited for."""
    publisher, turns = robot.sensor(Temperature, 'temperature'), itertools.cycle(values)
    return lambda: publisher.publish(temperature(next(turns)))


def mean_and_spread(robot):
    return tuple(
        robot.parameter(f'signals.temperature.baseline_{name}') for name in ('mean', 'spread')
    )


def test_a_node_learns_what_is_normal_and_knows_it_after_a_restart(start_robot, tmp_path):
    robot = start_robot(**QUICK)
    pump = pumping(robot, (39.0, 40.0, 41.0))
    robot.wait_for(lambda: pump() or robot.signal_states().get('temperature') == 0, 'a value')
    assert robot.diagnosis('calibration')[1] == 'none: the nominal ranges say what is normal'
    answer = calibrate(robot)
    assert answer.success
    assert answer.message.startswith('collecting 50 ticks (1 s): let the robot work as it should')
    robot.wait_for(lambda: pump() or state(robot) == 'running', 'its progress')
    robot.wait_for(lambda: pump() or state(robot) == 'done', 'its end')

    assert robot.diagnosis('calibration')[1].startswith('done: 1 of 1 signals from 50 ticks, ')
    assert robot.diagnosis('calibration')[2]['calibrated_signals'] == '1'
    mean, spread = mean_and_spread(robot)
    assert 39.0 <= mean <= 41.0
    assert 0.0 < spread < 5.0
    far = pumping(robot, (mean + 10 * spread,))
    robot.wait_for(
        lambda: far() or robot.activations[-1].novelty > 9.0, 'novelty of another level'
    )

    robot.change_state(Transition.TRANSITION_DEACTIVATE)
    robot.change_state(Transition.TRANSITION_CLEANUP)
    robot.set_parameter('signals.temperature.baseline_mean', 55.0)
    robot.change_state(Transition.TRANSITION_CONFIGURE)
    assert mean_and_spread(robot) == (55.0, spread)  # somebody's own setting stays

    robot.process.end()
    again = start_robot(**QUICK)
    assert mean_and_spread(again) == (mean, spread)
    assert 'what is normal: calibrated 20' in again.output
    assert again.diagnosis('calibration')[1] in ('', 'none: the baseline of 1 signals was given')


def test_a_robot_file_with_another_baseline_is_newer_than_what_was_kept(start_robot, tmp_path):
    robot = start_robot(**QUICK)
    pump = pumping(robot, (40.0, 41.0))
    robot.wait_for(lambda: pump() or robot.signal_states().get('temperature') == 0, 'a value')
    assert calibrate(robot).success
    robot.wait_for(lambda: pump() or state(robot) == 'done', 'its end')
    robot.process.end()
    given = {'temperature': signal(baseline_mean=20.0, baseline_spread=4.0)}
    again = start_robot(given, **QUICK)
    assert mean_and_spread(again) == (20.0, 4.0)
    assert 'before another baseline was given; the given baseline is used' in again.output


def test_it_can_be_cancelled_and_refuses_with_a_reason(start_robot):
    robot = start_robot(active=False, autostart=False, **QUICK)
    robot.change_state(Transition.TRANSITION_CONFIGURE)
    inactive = calibrate(robot)
    assert (inactive.success, inactive.message[:10]) == (False, 'not active')
    robot.change_state(Transition.TRANSITION_ACTIVATE)
    robot.wait_until_active()
    assert calibrate(robot, begin=False).message == 'none is running'

    robot.set_parameter('calibration_s', 600.0)
    assert calibrate(robot).success
    twice = calibrate(robot)
    assert not twice.success
    assert 'already running: 0 of 30000 ticks' in twice.message  # nothing came yet
    cancelled = calibrate(robot, begin=False)
    assert cancelled.success
    assert cancelled.message == 'cancelled after 0 of 30000 ticks; all is as before'
    robot.wait_for(lambda: state(robot) == 'cancelled', 'its end')
    assert math.isnan(robot.parameter('signals.temperature.baseline_mean'))


def test_half_a_baseline_is_refused_while_active(start_robot):
    robot = start_robot(**QUICK)
    answer = robot.set_parameter('signals.temperature.baseline_mean', 3.0)
    assert not answer.successful
    assert 'expected baseline_mean and baseline_spread' in answer.reason


def test_what_is_not_kept_is_said_and_so_is_one_that_ends_with_the_activation(
    start_robot, tmp_path
):
    (tmp_path / 'file').write_text('')
    robot = start_robot(**QUICK, calibration_path=f'{tmp_path}/file/kept.json')
    pump = pumping(robot, (40.0, 41.0))
    robot.wait_for(lambda: pump() or robot.signal_states().get('temperature') == 0, 'a value')
    assert calibrate(robot).success
    robot.wait_for(
        lambda: pump() or 'cannot be written' in robot.diagnosis('calibration')[1], 'the failure'
    )
    level, line, _ = robot.diagnosis('calibration')
    assert level == 1
    assert line.startswith(f'a restart will forget what was learned: {tmp_path}/file/kept.json: ')

    assert calibrate(robot).success
    robot.change_state(Transition.TRANSITION_DEACTIVATE)
    assert 'calibration: the node was deactivated after ' in robot.output


CONFIG = SituationConfig(
    tick_period_s=0.5,
    window_length=2,
    signals=(SignalConfig(name='a', topic='/a', nominal_high=10.0),),
)


def situation(value, usable=True):
    return Situation(
        stamp_ns=0,
        tick=0,
        episode='e',
        period_s=0.5,
        signals=('a',),
        window=np.full((2, 1), value / 10.0 if usable else 0.0, np.float32),
        valid=np.full((2, 1), usable),
        readings=(),
        new_events=(),
        events=(),
        recalled=(),
    )


def test_ticks_without_a_usable_sample_do_not_count():
    calibration = LiveCalibration(CONFIG)
    calibration.begin(20.0, FALSE_ALARMS)
    for value in range(30):
        assert calibration.see(situation(value % 5)) is None
        assert calibration.see(situation(0.0, usable=False)) is None
    assert (
        calibration.progress.message == '30 of 40 ticks; 30 without a usable sample did not count'
    )
    learned = [calibration.see(situation(value % 5)) for value in range(10)]
    assert learned[:-1] == [None] * 9
    assert learned[-1].mean == pytest.approx((2.0,), abs=0.1)
    assert calibration.progress.state is CalibrationState.DONE
    assert calibration.see(situation(1.0)) is None


def test_too_short_a_stretch_is_refused_with_the_length_that_is_needed():
    with pytest.raises(PolicyError, match=r'19.5 s are 39 ticks; at least 40 are needed \(20 s\)'):
        LiveCalibration(CONFIG).begin(19.5, FALSE_ALARMS)


def test_what_cannot_be_learned_from_leaves_all_as_it_was():
    config = SituationConfig(window_length=2, signals=(SignalConfig(name='a'),))
    calibration = LiveCalibration(config)
    calibration.begin(20.0, FALSE_ALARMS)
    assert [calibration.see(situation(1.0)) for _ in range(40)] == [None] * 40
    assert calibration.progress.state is CalibrationState.FAILED
    assert 'a: this robot has no such signal; all is as before' in calibration.progress.message


LEARNED = Calibration(('a', 'b'), (3.0, math.nan), (0.5, math.nan), (40, 0), {}, 1.0, 0.005)
GIVEN = SituationConfig(
    signals=(SignalConfig(name='a'), SignalConfig(name='b', baseline_mean=1.0))
)


def test_a_file_gives_back_what_was_learned(tmp_path):
    path = tmp_path / 'calibration.json'
    path.write_text(json.dumps(file_content(LEARNED, GIVEN, '2026-11-30T12:00:00+00:00')))
    numbers, line = read_calibration(path, GIVEN)
    assert numbers['signals.a.baseline_mean'] == 3.0
    assert numbers['signals.a.baseline_spread'] == 0.5
    assert math.isnan(numbers['signals.b.baseline_mean'])
    assert line == f'what is normal: calibrated 2026-11-30T12:00:00+00:00, from {path}'
    assert read_calibration(tmp_path / 'none.json', GIVEN) == ({}, '')


@pytest.mark.parametrize(
    'signals',
    [
        (SignalConfig(name='a', field='x'), GIVEN.signals[1]),
        (SignalConfig(name='a', baseline_mean=2.0), GIVEN.signals[1]),
        GIVEN.signals[:1],
    ],
)
def test_a_file_for_other_signals_or_another_baseline_is_not_used(signals, tmp_path):
    path = tmp_path / 'calibration.json'
    path.write_text(json.dumps(file_content(LEARNED, GIVEN, 'then')))
    numbers, line = read_calibration(path, SituationConfig(signals=signals))
    assert numbers == {}
    assert 'calibrated then for other signals' in line


def test_other_nominal_ranges_and_limits_leave_it_in_use(tmp_path):
    path = tmp_path / 'calibration.json'
    path.write_text(json.dumps(file_content(LEARNED, GIVEN, 'then')))
    other = SignalConfig(name='a', nominal_high=5.0, limit_high=9.0)
    numbers, _ = read_calibration(path, SituationConfig(signals=(other, GIVEN.signals[1])))
    assert numbers['signals.a.baseline_mean'] == 3.0


@pytest.mark.parametrize(
    'text',
    [
        '',
        '[]',
        '{"made_for": 1}',
        json.dumps({**file_content(LEARNED, GIVEN, 'x'), 'signals': {'a': {}}}),
        json.dumps(file_content(LEARNED, GIVEN, 'x')).replace('0.5', '-0.5'),
        json.dumps(file_content(LEARNED, GIVEN, 'x')).replace('3.0', '9' * 400),
        json.dumps({**file_content(LEARNED, GIVEN, 'x'), 'signals': {}}),
    ],
)
def test_a_damaged_file_is_said_and_not_used(text, tmp_path):
    path = tmp_path / 'calibration.json'
    path.write_text(text)
    numbers, line = read_calibration(path, GIVEN)
    assert numbers == {}
    assert line.startswith(f'{path}: no usable calibration: ')


def test_the_options_have_the_rates_of_the_calibration():
    options = NodeOptions()
    assert options.novelty_threshold == NOVELTY_THRESHOLD
    assert options.calibration_false_alarms == FALSE_ALARMS
