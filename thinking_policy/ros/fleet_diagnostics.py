# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the experience node says of its server on /diagnostics, where one is named.

- `uplink`: state (waiting, sending, backing_off, refused), reason, sent, known, quarantined,
  pending, batches, attempts, next_attempt, last_success
- `downlink`: state (waiting, fetching, backing_off, refused), reason, version, previous,
  refused_version, refused_reason, fetched, attempts, last_success

Times are in seconds since 1970, empty where there is none. ERROR is what stays so until somebody
changes something, such as a token; WARN is a server that can't be reached, a record that it will
never take, a policy that the robot refused.
"""

from __future__ import annotations

from typing import Any

from thinking_policy.experience.downlink_options import DownlinkStatus
from thinking_policy.experience.uplink_options import UplinkStatus
from thinking_policy.ros.status_board import ERROR, OK, WARN, Finding


def uplink_finding(status: UplinkStatus, newly_quarantined: int) -> Finding:
    """Return how sending stands; so many records were set aside since the last time."""
    if status.state == 'refused':
        return Finding(ERROR, status.reason)
    if status.state == 'backing_off':
        return Finding(WARN, f'tried again later: {status.reason}')
    if newly_quarantined:
        return Finding(
            WARN,
            f'{newly_quarantined} records will never be taken: see '
            '`thinking-policy experience quarantine`',
        )
    waiting = f', {status.pending} wait' if status.pending > 0 else ''
    return Finding(OK, f'{status.sent} sent{waiting}')


def uplink_values(status: UplinkStatus) -> dict[str, Any]:
    """Return the keys of the uplink's status, as the contract names them."""
    names = ('state', 'reason', 'sent', 'known', 'quarantined', 'pending', 'batches', 'attempts')
    return {
        **{name: getattr(status, name) for name in names},
        'next_attempt': _seconds(status.next_attempt_ns),
        'last_success': _seconds(status.last_success_ns),
    }


def downlink_finding(status: DownlinkStatus) -> Finding:
    """Return how fetching stands."""
    if status.state == 'refused':
        return Finding(ERROR, status.reason)
    if status.state == 'backing_off':
        return Finding(WARN, f'tried again later: {status.reason}')
    if status.refused_version:
        return Finding(
            WARN, f'policy {status.refused_version} is refused: {status.refused_reason}'
        )
    runs = f'policy {status.version} runs' if status.version else 'none fetched'
    return Finding(OK, f'{runs}; {status.reason}' if status.reason else runs)


def downlink_values(status: DownlinkStatus) -> dict[str, Any]:
    """Return the keys of the downlink's status, as the contract names them."""
    names = (
        'state',
        'reason',
        'version',
        'previous',
        'refused_version',
        'refused_reason',
        'fetched',
        'attempts',
    )
    return {
        **{name: getattr(status, name) for name in names},
        'last_success': _seconds(status.last_success_ns),
    }


def _seconds(stamp_ns: int) -> str:
    return f'{stamp_ns * 1e-9:.3f}' if stamp_ns else ''
