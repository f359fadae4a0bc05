# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the robot lived through: recorded, kept through power cuts, sent where it is learned from.

A moment becomes an experience where the rules say so (`recorder`), as one line of JSON (`record`).
The buffer keeps lines in SQLite (`buffer`, `store`, `schema`), the uplink sends them until the
server has committed them (`uplink`), and the downlink fetches the policies that come of it
(`downlink`). The server keeps what it receives with the same `store`.
"""
