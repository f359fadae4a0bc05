# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Off the robot: takes experiences in, keeps them by tenant, hands out policies.

One process and one SQLite file (`database`, `schema`). A request is let in by its token (`access`,
`tokens`), which names the tenant; all it can reach from there is a `TenantData` of that tenant
(`tenancy`). Experiences come in through `ingest`, policies go out of the `registry`, robots say
which one they run (`robots`). `serving` listens, `app` puts the pieces together.
"""
