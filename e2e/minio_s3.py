# SPDX-License-Identifier: Apache-2.0
"""MinIO as a second S3 service for tests, where somebody has built it: LOAM_MINIO names the program,
else `minio` is looked for in PATH. Nothing here downloads or builds it."""

import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request

from s3_service import S3Service

ACCESS_KEY = "loamminio"
SECRET_KEY = "loamminiosecret"


def program():
    return os.environ.get("LOAM_MINIO") or shutil.which("minio")


def missing():
    """Why it cannot be started, or an empty string."""
    return "" if program() else "no MinIO: name its program with LOAM_MINIO, or put it into PATH"


class MinioS3(S3Service):
    def __init__(self):
        super().__init__(ACCESS_KEY, SECRET_KEY)
        fast = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="loam-minio-", dir=fast))
        self.daemon = None

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self):
        environment = {**os.environ, "MINIO_ROOT_USER": ACCESS_KEY, "MINIO_ROOT_PASSWORD": SECRET_KEY,
                       "MINIO_BROWSER": "off", "MINIO_UPDATE": "off", "HOME": str(self.dir)}
        log = self.dir / "log"
        with socket.create_server(("127.0.0.1", 0)) as listener:
            address = f"127.0.0.1:{listener.getsockname()[1]}"
        with open(log, "wb") as out:
            self.daemon = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", program(), "server", "--quiet", "--address",
                 address, str(self.dir / "data")],
                env=environment, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        self.endpoint = f"http://{address}"
        until = time.monotonic() + 60
        while not self.answers():
            if self.daemon.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"MinIO did not start: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.1)

    def answers(self):
        try:
            with urllib.request.urlopen(f"{self.endpoint}/minio/health/ready", timeout=5):
                return True
        except OSError:
            return False

    def __exit__(self, *_):
        if self.daemon:
            self.daemon.kill()
            self.daemon.wait(20)
        shutil.rmtree(self.dir, ignore_errors=True)
