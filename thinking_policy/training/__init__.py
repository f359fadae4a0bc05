# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
