# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The policies of one tenant: versions that never change, and which of them is current."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from sqlite_utils import Database

from thinking_policy.server.errors import ServerError

SIGNATURE_BYTES = 64  # Ed25519


@dataclass(frozen=True)
class PolicyFile:
    """A policy to publish.

    Attributes:
        version: The manifest's hash, as robots report it.
        manifest: JSON.
        body: The file.
        signature: Ed25519 over `body`; None: unsigned.
    """

    version: str
    manifest: str
    body: bytes
    signature: bytes | None


@dataclass(frozen=True)
class Release:
    """A policy at the time it became current.

    Attributes:
        seq: Number of the release; larger is later.
        version: See `PolicyFile`.
        signature: See `PolicyFile`.
        released_ns: Nanoseconds since 1970.
        before: The release that a rollback leads to; None: there was none.
    """

    seq: int
    version: str
    signature: bytes | None
    released_ns: int
    before: int | None


class PolicyRegistry:
    """The policies of one tenant. Every query names the tenant; the caller holds the transaction.

    A release is added for every publishing and never changes. The pointer `current` alone says
    which one counts; moving it back undoes a publishing.
    """

    def __init__(self, database: Database, tenant: str) -> None:
        self._execute = database.conn.execute
        self._tenant = tenant

    def publish(self, policy: PolicyFile, now_ns: int) -> Release:
        """Make a policy current; a version that is there already is released again.

        Raises:
            ServerError: The version is there with another file.
        """
        digest = hashlib.sha256(policy.body).digest()
        found = self._execute(
            'SELECT sha256 FROM policy WHERE tenant = ? AND version = ?',
            (self._tenant, policy.version),
        ).fetchone()
        if found is not None and bytes(found[0]) != digest:
            raise ServerError(
                f'version {policy.version}: is published already, with another file; a version '
                'never changes: build the policy anew'
            )
        if found is None:
            self._execute(
                'INSERT INTO policy VALUES (?, ?, ?, ?, ?, ?)',
                (
                    self._tenant,
                    policy.version,
                    digest,
                    policy.manifest,
                    now_ns,
                    policy.body,
                ),
            )
        return self._release(policy.version, policy.signature, now_ns)

    def rollback(self, version: str | None, now_ns: int) -> Release:
        """Make an earlier policy current.

        Args:
            version: Which; None: the one that was current before the current one.
            now_ns: Nanoseconds since 1970.

        Raises:
            ServerError: There is no such version, or nothing before.
        """
        if version is not None:
            row = self._execute(
                'SELECT signature FROM release WHERE tenant = ? AND version = ? '
                'ORDER BY seq DESC LIMIT 1',
                (self._tenant, version),
            ).fetchone()
            if row is None:
                raise ServerError(
                    f'{version}: no such version; `thinking-policy registry list` shows them'
                )
            return self._release(version, row[0], now_ns)
        now = self.current()
        if now is None:
            raise ServerError('nothing is published, so nothing can be rolled back')
        if now.before is None:
            raise ServerError(
                f'{now.version}: nothing was published before it; name a version to go to'
            )
        self._point_to(now.before, now_ns)
        return self._release_of(now.before)

    def current(self) -> Release | None:
        """Return what robots get; None: nothing yet."""
        row = self._execute('SELECT release FROM current WHERE tenant = ?', (self._tenant,))
        found = row.fetchone()
        return None if found is None else self._release_of(found[0])

    def body(self, version: str) -> bytes:
        """Return the file of a published version."""
        row = self._execute(
            'SELECT body FROM policy WHERE tenant = ? AND version = ?', (self._tenant, version)
        ).fetchone()
        return bytes(row[0])

    def releases(self) -> list[Release]:
        """Return all releases, latest first."""
        rows = self._execute(
            'SELECT seq, version, signature, released_ns, before FROM release '
            'WHERE tenant = ? ORDER BY seq DESC',
            (self._tenant,),
        )
        return [Release(*row) for row in rows]

    def _release(self, version: str, signature: bytes | None, now_ns: int) -> Release:
        before = self.current()
        if before is not None and (before.version, before.signature) == (version, signature):
            return before  # as published twice by a script
        seq = self._execute(
            'INSERT INTO release (tenant, version, signature, released_ns, before) '
            'VALUES (?, ?, ?, ?, ?)',
            (self._tenant, version, signature, now_ns, None if before is None else before.seq),
        ).lastrowid
        assert seq is not None
        self._point_to(seq, now_ns)
        return self._release_of(seq)

    def _point_to(self, seq: int, now_ns: int) -> None:
        self._execute(
            'INSERT INTO current VALUES (?, ?, ?) ON CONFLICT (tenant) DO UPDATE SET '
            'release = excluded.release, moved_ns = excluded.moved_ns',
            (self._tenant, seq, now_ns),
        )

    def _release_of(self, seq: int) -> Release:
        row = self._execute(
            'SELECT seq, version, signature, released_ns, before FROM release '
            'WHERE tenant = ? AND seq = ?',
            (self._tenant, seq),
        ).fetchone()
        return Release(*row)


def read_policy(path: Path, public_key: Path | None = None) -> PolicyFile:
    """Read a policy file as a robot would, trying it, and the signature beside it.

    Args:
        path: The file (.onnx).
        public_key: PEM file that the signature has to belong to; None: it is not checked.

    Raises:
        ThinkingPolicyError: A robot would refuse it; the message says why.
    """
    # What only publishing needs; a server runs without ONNX Runtime in its memory.
    from thinking_policy.policy import PolicyRuntime, read_artifact, signature_path

    artifact = read_artifact(path, public_key)
    runtime = PolicyRuntime.load(path, public_key=public_key)
    if runtime.version != artifact.manifest.version:
        raise ServerError(f'{path}: was replaced while it was read; try again')
    beside = signature_path(path)
    signature = beside.read_bytes() if beside.is_file() else None
    if signature is not None and len(signature) != SIGNATURE_BYTES:
        raise ServerError(
            f'{beside}: expected an Ed25519 signature of {SIGNATURE_BYTES} bytes, found '
            f'{len(signature)}'
        )
    return PolicyFile(
        artifact.manifest.version, artifact.manifest.to_json(), artifact.data, signature
    )
