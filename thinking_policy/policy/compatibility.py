# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a policy fits what the robot perceives and what its ONNX Runtime can load."""

from __future__ import annotations

import re
from collections.abc import Sequence

import onnxruntime

from thinking_policy.policy.artifact import Artifact
from thinking_policy.policy.errors import PolicyError
from thinking_policy.policy.packing import PROBABILITY, input_specs
from thinking_policy.situation.configuration import SituationConfig

# Periods are written by people in decimal seconds; beyond this they mean different ones.
_PERIOD_TOLERANCE = 1e-3
_TOO_NEW_OPSET = re.compile(r'support for domain \S+ is till opset (\d+)')
_TOO_NEW_IR = re.compile(r'max supported IR version: (\d+)')
_ORT_TYPES = {'float32': 'tensor(float)', 'int64': 'tensor(int64)'}


def check_configuration(artifact: Artifact, config: SituationConfig) -> list[str]:
    """Compare the manifest with the configured signals.

    Nominal ranges may differ: they are what makes a policy mean something on another robot.

    Returns:
        Differences that can be lived with, one line each.

    Raises:
        PolicyError: Other signals, another order of them, or another window length.
    """
    manifest, path = artifact.manifest, artifact.path
    trained = [signal.name for signal in manifest.signals]
    configured = list(config.names)
    if trained != configured:
        what = 'order of signals' if sorted(trained) == sorted(configured) else 'signals'
        raise PolicyError(
            f'{path}: other {what}: the policy has {trained}, configured are {configured}'
        )
    if manifest.window_length != config.window_length:
        raise PolicyError(
            f'{path}: other window length: the policy has T={manifest.window_length}, '
            f'configured is T={config.window_length}'
        )
    warnings = []
    for learned, signal in zip(manifest.signals, config.signals, strict=True):
        period_s = signal.period_ticks * config.tick_period_s
        if abs(period_s - learned.period_s) > _PERIOD_TOLERANCE * learned.period_s:
            warnings.append(
                f'{signal.name}: sampled every {period_s:g} s, the policy was trained with '
                f'{learned.period_s:g} s'
            )
    if manifest.recent_events > config.events.recent:
        warnings.append(
            f'events: the policy reads the last {manifest.recent_events}, a situation holds '
            f'{config.events.recent}'
        )
    return warnings


def check_layout(artifact: Artifact) -> None:
    """Check that the manifest states the packing that this version knows.

    Raises:
        PolicyError: Another packing.
    """
    manifest = artifact.manifest
    expected = input_specs(
        manifest.window_length,
        len(manifest.signals),
        manifest.recent_events,
        len(manifest.event_vocabulary),
    )
    if manifest.inputs != expected:
        raise PolicyError(
            f'{artifact.path}: packed in another way than this version of thinking_policy knows: '
            f'expected {_describe(expected)}, found {_describe(manifest.inputs)}'
        )


def open_session(artifact: Artifact) -> onnxruntime.InferenceSession:
    """Let ONNX Runtime load the very bytes that were checked.

    Raises:
        PolicyError: ONNX Runtime refuses; too new versions are named, found and supported.
    """
    try:
        return onnxruntime.InferenceSession(
            artifact.data, session_options(), providers=['CPUExecutionProvider']
        )
    except Exception as error:  # its exceptions have no common base but this one
        raise PolicyError(_refusal(artifact, str(error))) from error


def session_options() -> onnxruntime.SessionOptions:
    """Return how a policy is run: on one thread that sleeps between two runs."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.add_session_config_entry('session.intra_op.allow_spinning', '0')
    options.add_session_config_entry('session.inter_op.allow_spinning', '0')
    # Its complaints come as exceptions, too; on stderr they would only stand in the way.
    options.log_severity_level = 4
    return options


def check_session(artifact: Artifact, session: onnxruntime.InferenceSession) -> None:
    """Compare the graph's inputs and outputs with the manifest.

    Raises:
        PolicyError: A name, type or shape differs.
    """
    manifest, path = artifact.manifest, artifact.path
    expected = {s.name: (_ORT_TYPES[s.dtype], s.shape) for s in manifest.inputs}
    found = {i.name: (i.type, tuple(i.shape[1:])) for i in session.get_inputs()}
    if found != expected:
        raise PolicyError(f'{path}: wrong inputs: expected {expected}, found {found}')
    outputs = {o.name: (o.type, tuple(o.shape[1:])) for o in session.get_outputs()}
    wanted = (_ORT_TYPES['float32'], (len(manifest.activities),))
    if outputs.get(PROBABILITY) != wanted:
        raise PolicyError(
            f'{path}: wrong output: expected {PROBABILITY} {wanted} for '
            f'{len(manifest.activities)} activities, found {outputs}'
        )
    for entry in (*session.get_inputs(), *session.get_outputs()):
        batch = entry.shape[0] if entry.shape else 0
        if isinstance(batch, int) and batch != 1:
            raise PolicyError(
                f'{path}: {entry.name}: expected a free batch size or 1, found {batch}'
            )


def _describe(specs: Sequence[object]) -> str:
    return '; '.join(str(spec) for spec in specs)


def _refusal(artifact: Artifact, reason: str) -> str:
    path, runtime = artifact.path, f'ONNX Runtime {onnxruntime.__version__}'
    remedy = 'update onnxruntime or export for an older version'
    found = _TOO_NEW_OPSET.search(reason)
    if found:
        return (
            f'{path}: opset {artifact.opset} is too new: {runtime} supports up to '
            f'{found.group(1)}; {remedy}'
        )
    found = _TOO_NEW_IR.search(reason)
    if found:
        return (
            f'{path}: IR version {artifact.model.ir_version} is too new: {runtime} supports '
            f'up to {found.group(1)}; {remedy}'
        )
    return (
        f'{path}: {runtime} refuses it (opset {artifact.opset}, IR version '
        f'{artifact.model.ir_version}): {" ".join(reason.split())}'
    )
