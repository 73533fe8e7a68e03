# SPDX-License-Identifier: Apache-2.0
"""The one exception that reaches the user as a plain line instead of a traceback."""


class Problem(Exception):
    """Something the user can act on; the message says what, of which file, and what to do."""
