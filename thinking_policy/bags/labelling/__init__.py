# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Labels for situations: which kinds of thinking each calls for, and who says so."""

from thinking_policy.bags.labelling.errors import LabelError
from thinking_policy.bags.labelling.table import (
    Joined,
    LabelTable,
    joined,
    joined_tables,
    read_labels,
    write_labels,
)

__all__ = [
    'Joined',
    'LabelError',
    'LabelTable',
    'joined',
    'joined_tables',
    'read_labels',
    'write_labels',
]
