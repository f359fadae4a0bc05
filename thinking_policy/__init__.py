# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a robot should think about, learned from what it has lived through.

Importing this package imports nothing heavy: each room is imported by who needs it.
"""

from pkgutil import extend_path

# The messages (thinking_policy.msg) are generated at build time into the installed package;
# with a checkout first on sys.path they would be shadowed.
__path__ = extend_path(__path__, __name__)

__version__ = '0.1.0'


class ThinkingPolicyError(Exception):
    """Base of all errors that this package raises on purpose.

    The message names the file or topic, what was expected and what was found.
    """
