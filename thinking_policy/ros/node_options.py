# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the policy node itself can be told, beside what the situation is made of."""

from __future__ import annotations

from dataclasses import dataclass

from thinking_policy.situation.configuration import option


@dataclass(frozen=True)
class NodeOptions:
    """The node's own parameters; those of the situation are in `situation/configuration.py`."""

    policy_path: str = option(
        '', 'policy file (.onnx); empty: the bundled one; ~/reload_policy loads it', dynamic=True
    )
    public_key_path: str = option(
        '', 'Ed25519 public key (PEM); set: a policy without a valid signature is refused'
    )
    robot_id: str = option('', 'name of this robot in episodes and diagnostics')
    autostart: bool = option(True, 'configure and activate at start, without a lifecycle manager')
    publish: str = option(
        'every_tick',
        'when thinking/activations is published: every_tick, or on_change of what '
        'is active and with a heartbeat',
        choices=('every_tick', 'on_change'),
        dynamic=True,
    )
    heartbeat_s: float = option(
        5.0, 'on_change: at least so often; seconds', low=0.0, high=3600.0, dynamic=True
    )
    calibration_s: float = option(
        1200.0,
        '~/calibrate learns from a stretch of this length what is normal; seconds',
        low=1.0,
        high=14_400.0,
        dynamic=True,
    )
    calibration_false_alarms: float = option(
        0.005,  # policy.FALSE_ALARMS
        'share of healthy windows, of those that do not overlap, that ~/calibrate lets pass the '
        'novelty threshold',
        low=1e-6,
        high=0.2,
        dynamic=True,
    )
    calibration_path: str = option(
        '',
        'file that keeps what ~/calibrate learned; empty: in ROS_HOME, and not kept under sim '
        'time; none: never kept',
    )
    minimum_hold_s: float = option(
        2.0,
        'an activity stays active at least so long; seconds',
        low=0.0,
        high=3600.0,
        dynamic=True,
    )
    novelty_threshold: float = option(
        3.0,  # policy.NOVELTY_THRESHOLD; importing it would load ONNX Runtime everywhere
        'novelty above this is unusual; 3: at the false-alarm rate of the calibration',
        low=0.0,
        high=1000.0,
        dynamic=True,
    )
    qos_reliability: str = option(
        'best_effort',
        'how sensor topics are subscribed: best_effort hears every publisher, '
        'reliable only reliable ones',
        choices=('best_effort', 'reliable'),
    )
    qos_rate_hz: float = option(
        1000.0,
        'fastest rate expected on a topic; the first queue holds two ticks of it',
        low=1.0,
        high=100_000.0,
    )
    qos_depth: int = option(
        0,
        'queue of every subscription in messages; 0: follows what comes in',
        low=0,
        high=1_000_000,
    )
    diagnostics_period_s: float = option(
        1.0, 'period of /diagnostics; seconds', low=0.1, high=60.0, dynamic=True
    )
    grace_period_s: float = option(
        5.0,
        'so long a signal or the clock may be silent before it is said; seconds',
        low=0.0,
        high=3600.0,
        dynamic=True,
    )
    state_path: str = option(
        '',
        'file that keeps when each event last happened; empty: in ROS_HOME, and not kept '
        'under sim time; none: never kept',
    )
