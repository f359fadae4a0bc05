# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The policy on the robot: its file, its runtime, and what becomes active.

Needs numpy, ONNX Runtime and the situation; `cryptography` only where a key is used.
"""

from thinking_policy.policy.activation import DEFAULT_HOLD_S, ActivationFilter
from thinking_policy.policy.activities import (
    ThinkingActivity,
    load_activities,
    with_thresholds,
)
from thinking_policy.policy.artifact import Artifact, read_artifact, read_manifest
from thinking_policy.policy.calibration import (
    FALSE_ALARMS,
    Calibration,
    HealthyStretch,
    fewest_ticks,
    with_baseline,
)
from thinking_policy.policy.errors import PolicyError
from thinking_policy.policy.manifest import Manifest, ManifestSignal
from thinking_policy.policy.novelty import (
    NOVELTY_THRESHOLD,
    Baseline,
    NoveltyHold,
    baseline_of,
    default_baseline,
    novelty,
    novelty_from_sums,
)
from thinking_policy.policy.runtime import Inference, PolicyRuntime
from thinking_policy.policy.signature import sign_file, signature_path, verify_file, write_key_pair
from thinking_policy.policy.thinker import Thinker, ThinkingSettings, thinking_settings

__all__ = [
    'DEFAULT_HOLD_S',
    'FALSE_ALARMS',
    'NOVELTY_THRESHOLD',
    'ActivationFilter',
    'Artifact',
    'Baseline',
    'Calibration',
    'HealthyStretch',
    'Inference',
    'Manifest',
    'ManifestSignal',
    'NoveltyHold',
    'PolicyError',
    'PolicyRuntime',
    'Thinker',
    'ThinkingActivity',
    'ThinkingSettings',
    'baseline_of',
    'default_baseline',
    'fewest_ticks',
    'load_activities',
    'novelty',
    'novelty_from_sums',
    'read_artifact',
    'read_manifest',
    'sign_file',
    'signature_path',
    'thinking_settings',
    'verify_file',
    'with_baseline',
    'with_thresholds',
    'write_key_pair',
]
