# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The boundary between tenants: the one place where a tenant's name becomes access to data."""

from __future__ import annotations

from sqlite_utils import Database

from thinking_policy.experience.store import ExperienceStore
from thinking_policy.server.registry import PolicyRegistry
from thinking_policy.server.robots import RobotReports


class TenantData:
    """All that belongs to one tenant, through one connection.

    Endpoints get a tenant's name from a token only and reach the tables through this only. Every
    query below names the tenant, so that another's data can't be asked for, not even by an id.
    """

    def __init__(self, database: Database, tenant: str) -> None:
        """Bind the tenant.

        Args:
            database: Lent by `ServerDatabase`; who holds the transaction commits.
            tenant: From a token, or from who has the file at hand.
        """
        if not tenant:
            raise ValueError("the nameless tenant is a robot of its own, never a server's")
        self.experiences = ExperienceStore(database, tenant)
        self.policies = PolicyRegistry(database, tenant)
        self.robots = RobotReports(database, tenant)
