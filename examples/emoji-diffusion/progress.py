# SPDX-License-Identifier: Apache-2.0
"""Tells Loam, through the file that $LOAM_PROGRESS names, how far the program is and what it waited for."""

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Progress:
    """Seconds are cumulative since this process began, so a reader that misses a report loses nothing."""

    def __init__(self, path: Path | None):
        self._path = path
        self.data_wait_seconds = 0.0
        self.checkpoint_seconds = 0.0

    @classmethod
    def from_environment(cls) -> "Progress":
        name = os.environ.get("LOAM_PROGRESS")
        return cls(Path(name) if name else None)

    @contextmanager
    def waiting_for_data(self) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.data_wait_seconds += time.monotonic() - began

    @contextmanager
    def saving(self) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.checkpoint_seconds += time.monotonic() - began

    def report(self, step: int) -> None:
        """Replaces the file by rename, unflushed: a report is worth nothing after a crash. Failing must not stop
        training, so the first failure is told and the rest of the run goes unreported."""
        if self._path is None:
            return
        text = json.dumps({"step": step, "data_wait_seconds": round(self.data_wait_seconds, 6),
                           "checkpoint_seconds": round(self.checkpoint_seconds, 6)})
        temporary = self._path.with_name(f".{self._path.name}.tmp")
        try:
            temporary.write_text(text + "\n")
            os.replace(temporary, self._path)
        except OSError as error:
            print(f"cannot report progress to {self._path}: {error}; going on without", file=sys.stderr, flush=True)
            self._path = None
