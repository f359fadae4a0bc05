# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`thinking-policy policy` as somebody types it."""

from __future__ import annotations

import json

import pytest

from thinking_policy.cli.main import main


@pytest.fixture
def say(capsys):
    def run(*words):
        code = main(['policy', *map(str, words)])
        done = capsys.readouterr()
        return code, done.out, done.err

    return run


def test_show_tells_signals_activities_and_version(say, write_policy, monkeypatch):
    monkeypatch.setenv('COLUMNS', '200')
    code, out, _ = say('show', write_policy())
    assert code == 0
    for text in ('temperature', 'current', 'hazard', '0.60', 'opset 17', '3 samples'):
        assert text in out


def test_show_json_is_the_manifest(say, write_policy):
    code, out, _ = say('show', write_policy(), '--json')
    values = json.loads(out)
    assert code == 0
    assert len(values['version']) == 16
    assert [s['name'] for s in values['signals']] == ['temperature', 'current']


def test_verify_says_what_was_checked(say, write_policy):
    code, out, _ = say('verify', write_policy())
    assert code == 0
    assert 'good' in out
    assert 'signature not checked' in out


def test_verify_against_a_robot_whose_signals_differ(say, write_policy, tmp_path):
    robot = tmp_path / 'robot.yaml'
    robot.write_text(
        'thinking_policy:\n  ros__parameters:\n    signal_names: [current]\n'
        '    signals:\n      current: {unit: A}\n'
    )
    code, _, err = say('verify', write_policy(), '--config', robot)
    assert code == 2
    assert "the policy has ['temperature', 'current'], configured are ['current']" in err
    assert err.count('\n') == 1


def test_keys_sign_and_verify(say, write_policy, tmp_path):
    policy, keys = write_policy(), tmp_path / 'keys'
    assert say('keygen', '-o', keys)[0] == 0
    assert (keys / 'policy_private.pem').stat().st_mode & 0o077 == 0
    assert say('verify', policy, '--key', keys / 'policy_public.pem')[0] == 2
    assert say('sign', policy, '--key', keys / 'policy_private.pem')[0] == 0
    code, out, _ = say('verify', policy, '--key', keys / 'policy_public.pem')
    assert code == 0
    assert 'signed' in out


def test_a_key_is_never_overwritten(say, tmp_path):
    say('keygen', '-o', tmp_path)
    before = (tmp_path / 'policy_private.pem').read_bytes()
    code, _, err = say('keygen', '-o', tmp_path)
    assert code == 2
    assert 'exists already' in err
    assert (tmp_path / 'policy_private.pem').read_bytes() == before


def test_only_a_policy_is_signed(say, tmp_path):
    say('keygen', '-o', tmp_path)
    other = tmp_path / 'other.onnx'
    other.write_bytes(b'something')
    assert say('sign', other, '--key', tmp_path / 'policy_private.pem')[0] == 2
    assert not (tmp_path / 'other.onnx.sig').exists()


@pytest.mark.parametrize('wrong', ['policy_public.pem', 'none.pem', 'text.pem'])
def test_what_is_no_private_key_is_refused(say, write_policy, tmp_path, wrong):
    say('keygen', '-o', tmp_path)
    (tmp_path / 'text.pem').write_text('hello')
    code, _, err = say('sign', write_policy(), '--key', tmp_path / wrong)
    assert code == 2
    assert wrong in err


def test_a_private_key_is_no_public_key(say, write_policy, tmp_path):
    say('keygen', '-o', tmp_path)
    code, _, err = say('verify', write_policy(), '--key', tmp_path / 'policy_private.pem')
    assert code == 2
    assert 'expected an Ed25519 public key' in err


@pytest.mark.parametrize('command', ['show', 'verify', 'sign', 'keygen'])
def test_every_help_has_an_example(say, command):
    code, out, _ = say(command, '--help')
    assert code == 0
    assert f'thinking-policy policy {command}' in out


def test_a_folder_that_cannot_be_made_is_said_in_one_line(say, tmp_path):
    (tmp_path / 'file').write_text('')
    code, _, err = say('keygen', '-o', tmp_path / 'file' / 'keys')
    assert code == 2
    assert err.count('\n') == 1
    assert 'cannot be written: Not a directory' in err


def test_a_signature_that_cannot_be_put_in_place_leaves_nothing(say, write_policy, tmp_path):
    say('keygen', '-o', tmp_path)
    policy = write_policy()
    (policy.parent / f'{policy.name}.sig').mkdir()
    before = sorted(policy.parent.iterdir())
    code, _, err = say('sign', policy, '--key', tmp_path / 'policy_private.pem')
    assert code == 2
    assert 'is there and not a file' in err
    assert sorted(policy.parent.iterdir()) == before
