# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`calibrate`, as somebody types it, on recordings in bags and files."""

from __future__ import annotations

import math
import os
import sys

import numpy as np
import pytest

from thinking_policy import ThinkingPolicyError
from thinking_policy.cli.main import main
from thinking_policy.cli.robot_files import find_configuration
from thinking_policy.cli.stretch import Recorded, cut_out
from thinking_policy.situation import load_configuration

rosbags = pytest.importorskip('rosbags')

CONFIG = """\
# my robot, 3 signals
/**/thinking_policy:
  ros__parameters:
    tick_period_s: 1.0
    minimum_hold_s: 7.0
    signal_names: [heat, flow, far]
    signals:
      heat:
        topic: heat
        type: std_msgs/msg/Float32
        field: data
        unit: degC
        nominal_low: 0.0     # as the data sheet says
        nominal_high: 500.0
        limit_high: 90.0
      flow: {topic: flow, type: std_msgs/msg/Float32, field: data, nominal_high: 9.0}
      far:
        topic: ''
"""
MAP = """\
time: {column: t, format: s}
columns:
  heat: {topic: /heat, type: std_msgs/msg/Float32, field: data}
  flow: {topic: /flow, type: std_msgs/msg/Float32, field: data}
"""
SECONDS, FAULT_AT = 500, 400


@pytest.fixture(scope='module')
def recording(tmp_path_factory):
    """Return a folder with a robot file and a recording: normal for 400 s, then flow is lost."""
    folder = tmp_path_factory.mktemp('recording')
    random = np.random.default_rng(100)
    heat = 60.0 + 2.0 * random.standard_normal(SECONDS)
    flow = 30.0 + 0.5 * random.standard_normal(SECONDS)
    flow[FAULT_AT:] -= 3.0
    pairs = zip(heat, flow, strict=True)
    rows = [f'{1_700_000_000 + i},{h:.4f},{f:.4f}' for i, (h, f) in enumerate(pairs)]
    (folder / 'table.csv').write_text('\n'.join(['t,heat,flow', *rows]))
    (folder / 'map.yaml').write_text(MAP)
    (folder / 'robot.yaml').write_text(CONFIG)
    bag, robot = folder / 'bag', folder / 'robot.yaml'
    assert main(['bag', 'from-csv', str(folder / 'table.csv'), '--map', f'{folder}/map.yaml',
                 '-o', str(bag)]) == 0  # fmt: skip
    assert main(['bag', 'situations', str(bag), '--config', str(robot), '-o',
                 str(folder / 'walk.npz')]) == 0  # fmt: skip
    return folder


@pytest.fixture
def calibrate(recording, capsys):
    """Return a function that runs the command on the recording → (exit code, stdout, stderr)."""

    def run(*words, of='bag', config='robot.yaml'):
        capsys.readouterr()
        code = main(['calibrate', str(recording / of), '--config', str(recording / config),
                     *map(str, words)])  # fmt: skip
        out, err = capsys.readouterr()
        return code, out, err

    return run


def signal(path, name):
    config = load_configuration(path)
    return config.signals[config.names.index(name)]


def test_ranges_and_baseline_are_those_of_the_stretch(calibrate, tmp_path):
    path = tmp_path / 'robot.yaml'
    code, out, err = calibrate('--until', 400, '-o', path)
    assert (code, err) == (0, '')
    heat, flow, far = (signal(path, name) for name in ('heat', 'flow', 'far'))
    assert (heat.nominal_low, heat.nominal_high) == pytest.approx((54.0, 66.0), abs=0.7)
    assert (flow.nominal_low, flow.nominal_high) == pytest.approx((28.5, 31.5), abs=0.2)
    assert (heat.baseline_mean, flow.baseline_mean) == pytest.approx((60.0, 30.0), abs=0.3)
    # mean of ten, / 0.9 of the variance within windows, at a limit of some 4 instead of 3
    assert heat.baseline_spread == pytest.approx(2.0 / 10**0.5 / 0.9 * 4 / 3, rel=0.3)
    assert math.isnan(far.baseline_mean)
    lines = out.splitlines()
    assert lines[0].split() == ['signal', 'unit', 'range', 'before', 'range', 'mean', 'spread',
                                'values']  # fmt: skip
    assert lines[1].startswith('heat    degC  0 … 500 ')
    assert lines[3].endswith('0  this robot has no such signal')
    assert lines[5] == '400 ticks (400 s), 100% of them counted as normal'
    assert lines[6].endswith('as long as all is as in this stretch: once in 33 min')
    assert lines[7] == f'wrote {path}'


def test_comments_and_other_settings_stay(calibrate, tmp_path):
    path = tmp_path / 'robot.yaml'
    calibrate('--until', 400, '-o', path)
    text = path.read_text()
    assert text.startswith(
        '# Calibrated by `thinking-policy calibrate` from bag, 0 … 399 s\n# my '
    )
    assert '  # as the data sheet says' in text
    assert 'minimum_hold_s: 7.0' in text
    assert signal(path, 'heat').limit_high == 90.0


def test_a_bag_and_its_situations_give_the_same(calibrate, tmp_path):
    assert calibrate('--until', 400, '-o', tmp_path / 'a.yaml')[0] == 0
    assert calibrate('--until', 400, '-o', tmp_path / 'b.yaml', of='walk.npz')[0] == 0
    one, other = (load_configuration(tmp_path / name) for name in ('a.yaml', 'b.yaml'))
    assert repr(one) == repr(other)


def test_what_it_wrote_can_be_calibrated_again_on_its_own_axis(calibrate, recording, tmp_path):
    calibrate('--until', 400, '-o', recording / 'once.yaml', '--force')
    # The .npz was made with the old ranges.
    code, _, err = calibrate(
        '--until', 400, '-o', tmp_path / 'b.yaml', of='walk.npz', config='once.yaml'
    )
    assert (code, err) == (0, '')
    once, twice = (
        load_configuration(recording / 'once.yaml'),
        load_configuration(tmp_path / 'b.yaml'),
    )
    for before, after in zip(once.signals, twice.signals, strict=True):
        for name in ('nominal_low', 'nominal_high', 'baseline_mean', 'baseline_spread'):
            assert getattr(after, name) == pytest.approx(
                getattr(before, name), rel=1e-3, nan_ok=True
            )
    assert (tmp_path / 'b.yaml').read_text().count('# Calibrated by') == 1


def test_ranges_can_be_kept(calibrate, tmp_path):
    path = tmp_path / 'robot.yaml'
    calibrate('--until', 400, '--keep-ranges', '-o', path)
    assert (signal(path, 'heat').nominal_low, signal(path, 'heat').nominal_high) == (0.0, 500.0)
    assert signal(path, 'flow').baseline_mean == pytest.approx(30.0, abs=0.1)


def test_fewer_false_alarms_make_it_less_sensitive(calibrate, tmp_path):
    spreads = []
    for rate in (0.05, 0.005, 0.0005):
        path = tmp_path / f'{rate}.yaml'
        calibrate('--until', 400, '--false-alarms', rate, '-o', path)
        spreads.append(signal(path, 'heat').baseline_spread)
    assert spreads == sorted(spreads)


def test_a_picture_is_drawn(calibrate, tmp_path):
    pytest.importorskip('matplotlib')
    picture = tmp_path / 'look.png'
    code, out, _ = calibrate('--until', 400, '-o', tmp_path / 'robot.yaml', '--plot', picture)
    assert code == 0
    assert f' and {picture}' in out
    assert picture.read_bytes().startswith(b'\x89PNG')


def test_a_stretch_that_holds_a_fault_is_said(calibrate, tmp_path):
    code, out, _ = calibrate('--from', 100, '--until', 440, '-o', tmp_path / 'robot.yaml')
    assert code == 0
    assert 'was all of it normal?' in out


@pytest.mark.parametrize(('words', 'of', 'expected'), [
    (('--until', 100), 'bag', 'the stretch is too short: 100 ticks; at least 200 are needed'),
    (('--from', 900), 'bag', 'no tick is left; the recording has 500, from 0 to 499 s'),
    (('--episode', 'x'), 'bag', '--episode x: no such episode; there are '),
    ((), 'nowhere', 'nowhere'),
    ((), 'nowhere.npz', 'expected a file that `bag situations` wrote: No such file'),
    ((), 'robot.yaml', 'robot.yaml'),
])  # fmt: skip
def test_what_cannot_be_done_is_said_in_one_line(words, of, expected, calibrate, tmp_path):
    code, out, err = calibrate(*words, '-o', tmp_path / 'robot.yaml', of=of)
    assert (code, out) == (2, '')
    assert err.startswith('thinking-policy: error: ')
    assert err.count('\n') == 1
    assert expected in err
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_not_replaced_unless_told(calibrate, tmp_path):
    path = tmp_path / 'robot.yaml'
    path.write_text('mine')
    code, _, err = calibrate('--until', 400, '-o', path)
    assert code == 2
    assert f'{path}: exists already' in err
    assert path.read_text() == 'mine'
    assert calibrate('--until', 400, '-o', path, '--force')[0] == 0
    assert signal(path, 'heat').nominal_low > 50.0


def test_situations_of_another_robot_are_refused(calibrate, recording, tmp_path):
    other = (recording / 'robot.yaml').read_text()
    (recording / 'other.yaml').write_text(other.replace('topic: heat', 'topic: warmth'))
    code, _, err = calibrate('-o', tmp_path / 'x.yaml', of='walk.npz', config='other.yaml')
    assert code == 2
    assert "was made with heat.topic 'heat'" in err
    assert "other.yaml has 'warmth'" in err


def test_no_usable_signal_is_said_with_the_reasons(calibrate, recording, tmp_path):
    text = (recording / 'robot.yaml').read_text()
    text = text.replace('type: std_msgs/msg/Float32, field: data,', 'valid_low: 1000.0, type: '
                        'std_msgs/msg/Float32, field: data,')  # fmt: skip
    text = text.replace('topic: heat', "topic: ''")
    (recording / 'deaf.yaml').write_text(text)
    code, _, err = calibrate('-o', tmp_path / 'x.yaml', config='deaf.yaml')
    assert code == 2
    assert (
        'no signal can be judged: heat: this robot has no such signal; flow: usable in 0 ' in err
    )


def damaged(recording, path, **changes):
    """Write the situations with other arrays; None leaves one out."""
    with np.load(recording / 'walk.npz') as file:
        arrays = {**file, **changes}
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})


@pytest.mark.parametrize(('changes', 'expected'), [
    ({'valid': np.ones((5, 10, 3), bool)}, r'valid: expected booleans [500, 10, 3], found bool '),
    ({'values': np.ones(500)}, 'values: expected floats [500, 3], found float64 [500]'),
    ({'window': np.full((500, 10, 3), 'x')}, 'window: expected floats [500, 10, 3], found <U1'),
    ({'stamp_ns': np.full(500, np.nan)}, 'stamp_ns: expected integers [500], found float64'),
    ({'episode': None}, "has no array 'episode'"),
    ({'meta': '{"stride": 1, "configuration": {"signals": ["x"]}}'}, 'expected a file that `bag'),
    ({'meta': '{"stride": 1, "configuration": {}}'}, 'expected a file that `bag situations`'),
    ({'meta': '[1]'}, 'expected a file that `bag situations` wrote: list indices'),
])  # fmt: skip
def test_a_damaged_file_of_situations_is_said_in_one_line(
    changes, expected, calibrate, recording, tmp_path
):
    damaged(recording, tmp_path / 'odd.npz', **changes)
    code, out, err = calibrate('-o', tmp_path / 'robot.yaml', of=tmp_path / 'odd.npz')
    assert (code, out, err.count('\n')) == (2, '', 1)
    assert f'{tmp_path}/odd.npz: {expected}' in err


@pytest.mark.parametrize('share', [0.0, 0.5, 0.999])
def test_a_file_of_situations_that_is_cut_off_is_said(share, calibrate, recording, tmp_path):
    whole = (recording / 'walk.npz').read_bytes()
    (tmp_path / 'cut.npz').write_bytes(whole[: int(share * len(whole))])
    code, out, err = calibrate('-o', tmp_path / 'robot.yaml', of=tmp_path / 'cut.npz')
    assert (code, out, err.count('\n')) == (2, '', 1)
    assert f'{tmp_path}/cut.npz: expected a file that `bag situations` wrote' in err


@pytest.fixture
def far_off(recording):
    """Return a robot file with a range that says nothing of the flow, which is near 30."""
    text = (recording / 'robot.yaml').read_text()
    (recording / 'far_off.yaml').write_text(text.replace(', nominal_high: 9.0', ''))
    return 'far_off.yaml'


def test_the_baseline_is_right_whatever_the_range_was_before(calibrate, far_off, tmp_path):
    assert calibrate('--until', 400, '-o', tmp_path / 'near.yaml')[0] == 0
    assert calibrate('--until', 400, '-o', tmp_path / 'far.yaml', config=far_off)[0] == 0
    near, far = (signal(tmp_path / name, 'flow') for name in ('near.yaml', 'far.yaml'))
    assert far == near
    assert far.baseline_mean == pytest.approx(30.0, abs=0.1)


def test_situations_that_were_cut_off_are_refused_and_kept_ranges_judge_nothing_by_them(
    calibrate, far_off, recording, tmp_path
):
    assert main(['bag', 'situations', f'{recording}/bag', '--config', f'{recording}/{far_off}',
                 '-o', f'{tmp_path}/far.npz']) == 0  # fmt: skip
    words = ('-o', tmp_path / 'x.yaml', '--until', 400)
    code, _, err = calibrate(*words, of=tmp_path / 'far.npz', config=far_off)
    assert code == 2
    assert 'flow: 400 values, such as ' in err
    assert 'more than 10 times the nominal range 0 … 1 away and are cut off' in err
    code, out, _ = calibrate(*words, '--keep-ranges', of=tmp_path / 'far.npz', config=far_off)
    assert code == 0
    assert 'in 396 of 400 windows all is more than 10 times the nominal range 0 … 1 away' in out
    assert math.isnan(signal(tmp_path / 'x.yaml', 'flow').baseline_mean)


@pytest.mark.parametrize(('words', 'expected'), [
    (('-o', 'walk.npz', '--force'), 'walk.npz: is the recording or a part of it'),
    (('-o', 'x.yaml', '--plot', 'walk.npz', '--force'), 'ends with .png, .svg, .pdf'),
    (('-o', 'x.png', '--plot', 'x.png'), 'x.png: is the robot file to write'),
    (('-o', 'folder', '--force'), 'folder: is there and not a file'),
    (('-o', 'pipe', '--force'), 'pipe: is there and not a file'),
    (('-o', 'x.yaml', '--plot', 'x.xyz'), 'x.xyz: expected a name that ends with .png'),
])  # fmt: skip
def test_nothing_is_overwritten_that_is_no_robot_file(
    words, expected, calibrate, recording, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'folder').mkdir()
    os.mkfifo(tmp_path / 'pipe')
    whole = (recording / 'walk.npz').read_bytes()
    (tmp_path / 'walk.npz').write_bytes(whole)
    code, out, err = calibrate(*words, of=tmp_path / 'walk.npz')
    assert (code, out) == (2, '')
    assert expected in err
    assert (tmp_path / 'walk.npz').read_bytes() == whole
    assert sorted(path.name for path in tmp_path.iterdir()) == ['folder', 'pipe', 'walk.npz']


def test_without_matplotlib_a_picture_is_refused_before_all_else(calibrate, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, 'matplotlib', None)
    code, out, err = calibrate('-o', tmp_path / 'x.yaml', '--plot', tmp_path / 'x.png')
    assert (code, out) == (2, '')
    assert 'matplotlib is not installed; ' in err
    assert list(tmp_path.iterdir()) == []


def test_a_robot_of_several_in_one_file_is_calibrated_by_its_namespace(
    calibrate, recording, tmp_path
):
    section = (recording / 'robot.yaml').read_text()
    both = ''.join(section.replace('/**/', f'/robot{i}/') for i in (1, 2))
    (recording / 'both.yaml').write_text(both)
    path = tmp_path / 'both.yaml'
    code, out, _ = calibrate('-o', path, '--namespace', 'robot1', of='walk.npz',
                             config='both.yaml')  # fmt: skip
    assert code == 0
    assert f'try: thinking-policy run --config {path} --namespace robot1' in out
    one, two = (load_configuration(path, f'robot{i}') for i in (1, 2))
    assert one.signals[0].baseline_mean == pytest.approx(60.0, abs=0.5)
    assert two == load_configuration(recording / 'both.yaml', 'robot2')
    code, _, err = calibrate('-o', tmp_path / 'x.yaml', of='walk.npz', config='both.yaml')
    assert code == 2
    assert 'sections for several robots: /robot1, /robot2; say which one with --namespace' in err
    assert not (tmp_path / 'x.yaml').exists()


def test_ticks_before_the_first_ones_time_count_unless_a_begin_is_given():
    seconds = np.array([0.0, 1.0, -50.0, -49.0])  # the clock went back
    whole = Recorded(
        load_configuration(find_configuration('')),
        np.zeros((4, 1, 1), np.float32),
        np.zeros((4, 1, 1), bool),
        np.zeros((4, 1)),
        seconds,
        np.array(['a', 'a', 'b', 'b']),
    )
    assert cut_out(whole, None, None, []).seconds.tolist() == seconds.tolist()
    assert cut_out(whole, None, 1.0, []).seconds.tolist() == [0.0, -50.0, -49.0]
    assert cut_out(whole, 0.0, None, []).seconds.tolist() == [0.0, 1.0]
    with pytest.raises(ThinkingPolicyError, match=r'--from 2.0 --episode b: .* from -50 to 1 s'):
        cut_out(whole, 2.0, None, ['b'])
