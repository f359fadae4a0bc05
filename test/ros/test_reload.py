# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Another policy while the node runs: taken over when it is good, refused with the reason."""

from __future__ import annotations

import itertools

import pytest
from policy_files import write_policy
from robot import signal

from thinking_policy.policy import sign_file, write_key_pair

TWO_SIGNALS = {'temperature': signal(), 'motor': signal('motor')}


def policy(path, **changes):
    return write_policy(path, **{'signals': tuple(TWO_SIGNALS), 'length': 3, **changes})


def ticks_without_gap(messages):
    return all(
        after.tick == before.tick + 1 and after.episode == before.episode
        for before, after in itertools.pairwise(messages)
    )


@pytest.fixture
def robot(start_robot):
    return start_robot(TWO_SIGNALS)


def test_a_good_policy_takes_over_without_a_gap(robot, tmp_path):
    (before,) = robot.next_activations()[:1]
    other = policy(tmp_path / 'other.onnx', bias=0.5, activities=('hazard', 'trend', 'recovery'))
    assert robot.set_parameter('policy_path', str(other)).successful
    answer = robot.reload()
    assert answer.success
    assert before.policy_version in answer.message
    assert str(other) in answer.message

    robot.wait_for(
        lambda: robot.taxonomies[-1].policy_version != before.policy_version, 'another taxonomy'
    )
    old, new = robot.taxonomies[0], robot.taxonomies[-1]
    assert old.policy_version == before.policy_version != new.policy_version
    assert list(new.id) == ['hazard', 'trend', 'recovery']
    assert list(old.id) == ['hazard', 'trend', 'cause']
    robot.wait_for(
        lambda: robot.activations[-1].policy_version == new.policy_version, 'its activations'
    )
    assert [a.id for a in robot.activations[-1].activations] == list(new.id)
    robot.wait_for(
        lambda: robot.diagnosis('policy')[2]['version'] == new.policy_version, 'its diagnostics'
    )
    assert ticks_without_gap(robot.activations)


def corrupt(path):
    good = policy(path)
    good.write_bytes(good.read_bytes()[:200])
    return good


BAD = {
    'no file': (lambda path: path, 'no-file'),
    'corrupt': (corrupt, 'corrupt'),
    'text': (lambda path: path.write_text('<html>') and path, 'text'),
    'signals in another order': (
        lambda path: policy(path, signals=tuple(reversed(TWO_SIGNALS))),
        "['motor', 'temperature']",
    ),
    'another window': (lambda path: policy(path, length=5), '5'),
    'an opset too new': (lambda path: policy(path, opset=99), '99'),
    'a file format too new': (lambda path: policy(path, ir_version=99), '99'),
}


def test_a_bad_policy_is_refused_with_the_reason_and_the_old_one_stays(robot, tmp_path):
    version = robot.next_activations()[0].policy_version
    for name, (write, reason) in BAD.items():
        path = write(tmp_path / f'{name.replace(" ", "-")}.onnx')
        assert robot.set_parameter('policy_path', str(path)).successful
        answer = robot.reload()
        assert not answer.success, name
        assert f'policy {version} stays' in answer.message
        assert str(path) in answer.message
        assert reason in answer.message, name
        assert len(answer.message.splitlines()) == 1
        robot.next_activations()
    assert {a.policy_version for a in robot.activations} == {version}
    assert ticks_without_gap(robot.activations)
    assert {t.policy_version for t in robot.taxonomies} == {version}
    robot.wait_for(lambda: robot.output.count('stays: ') == len(BAD), 'a line for each in the log')
    assert 'Traceback' not in robot.output


def test_a_policy_must_be_signed_where_a_key_is_configured(start_robot, tmp_path):
    write_key_pair(tmp_path / 'robot.pem', tmp_path / 'robot.pub.pem')
    write_key_pair(tmp_path / 'other.pem', tmp_path / 'other.pub.pem')
    first = policy(tmp_path / 'first.onnx')
    sign_file(first, tmp_path / 'robot.pem')
    robot = start_robot(
        TWO_SIGNALS, policy_path=str(first), public_key_path=str(tmp_path / 'robot.pub.pem')
    )
    version = robot.next_activations()[0].policy_version

    second = policy(tmp_path / 'second.onnx', bias=0.5)
    assert robot.set_parameter('policy_path', str(second)).successful
    unsigned = robot.reload()
    assert (unsigned.success, 'second.onnx.sig is missing' in unsigned.message) == (False, True)
    sign_file(second, tmp_path / 'other.pem')
    wrongly = robot.reload()
    assert (wrongly.success, 'signature' in wrongly.message) == (False, True)
    assert robot.next_activations()[0].policy_version == version
    sign_file(second, tmp_path / 'robot.pem')
    assert robot.reload().success
    robot.wait_for(lambda: robot.activations[-1].policy_version != version, 'the signed one')
