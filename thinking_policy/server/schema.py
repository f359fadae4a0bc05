# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The server's own tables, beside those of `experience` in the same file."""

from __future__ import annotations

from sqlite_utils import Database, Migrations

migrations = Migrations('server')
KNOWN = ('_001_tokens_policies_robots',)
"""The migrations of this version; a file that has others is of a newer one."""


@migrations()
def _001_tokens_policies_robots(db: Database) -> None:
    # Of a token only the hash is kept: who reads the file can't act as a robot.
    db.execute("""
        CREATE TABLE token (
            id TEXT PRIMARY KEY,
            sha256 BLOB NOT NULL UNIQUE,
            tenant TEXT NOT NULL CHECK (tenant <> ''),
            robot TEXT,
            role TEXT NOT NULL,
            created_ns INTEGER NOT NULL,
            revoked_ns INTEGER
        ) WITHOUT ROWID""")
    db.execute("""
        CREATE TABLE policy (
            tenant TEXT NOT NULL,
            version TEXT NOT NULL,
            sha256 BLOB NOT NULL,
            manifest TEXT NOT NULL,
            published_ns INTEGER NOT NULL,
            body BLOB NOT NULL,
            PRIMARY KEY (tenant, version)
        )""")
    db.execute(
        'CREATE TRIGGER policy_never_changes BEFORE UPDATE ON policy BEGIN '
        "SELECT RAISE(ABORT, 'a published policy never changes'); END"
    )
    # The signature belongs to the release: the same file may be signed with another key later.
    # `before` is the release that was current then, to which a rollback leads.
    db.execute("""
        CREATE TABLE release (
            seq INTEGER PRIMARY KEY,
            tenant TEXT NOT NULL,
            version TEXT NOT NULL,
            signature BLOB,
            released_ns INTEGER NOT NULL,
            before INTEGER,
            FOREIGN KEY (tenant, version) REFERENCES policy (tenant, version)
        )""")
    db.execute('CREATE INDEX release_of_tenant ON release (tenant, seq)')
    db.execute(
        'CREATE TABLE current (tenant TEXT PRIMARY KEY, release INTEGER NOT NULL, '
        'moved_ns INTEGER NOT NULL) WITHOUT ROWID'
    )
    db.execute("""
        CREATE TABLE robot (
            tenant TEXT NOT NULL,
            name TEXT NOT NULL,
            policy_version TEXT NOT NULL,
            state TEXT NOT NULL,
            reason TEXT NOT NULL,
            reported_ns INTEGER NOT NULL,
            PRIMARY KEY (tenant, name)
        ) WITHOUT ROWID""")
    # What a health check writes, to know whether the disk takes it.
    db.execute('CREATE TABLE heartbeat (one INTEGER PRIMARY KEY CHECK (one = 1), at_ns INTEGER)')
