# SPDX-License-Identifier: Apache-2.0
"""The notice that this machine is about to go away."""

import signal


class Stopped(Exception):
    """Raised at a safe place after SIGTERM arrived."""


class Interruption:
    """Remembers SIGTERM; the program asks between steps. The handler itself does nothing else, so it is always safe."""

    EXIT_STATUS = 128 + signal.SIGTERM

    def __init__(self):
        self.requested = False
        signal.signal(signal.SIGTERM, self._remember)

    def _remember(self, _signal: int, _frame: object) -> None:
        self.requested = True

    def check(self) -> None:
        if self.requested:
            raise Stopped
