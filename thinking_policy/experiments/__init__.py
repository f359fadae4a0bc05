# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The paper's experiments: each is one file, run by `thinking-policy experiment NAME`."""
