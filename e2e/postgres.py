# SPDX-License-Identifier: Apache-2.0
"""A private PostgreSQL in a directory of its own; as root it runs under the user `postgres`."""

import glob
import os
import pathlib
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time

FAST = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def programs():
    """The newest installed version's directory of programs, or None."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"),
                   key=lambda path: int(path.split("/")[4]))
    return pathlib.Path(found[-1]) if found else None


def as_user(command):
    # PostgreSQL refuses to run as root.
    if os.geteuid() != 0:
        return command
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command]


class Postgres:
    """fsync stays on: what a test says survives a kill has to be written as it would be."""

    def __init__(self):
        self.bin = programs()
        assert self.bin, "PostgreSQL is not installed"
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="loam-pg-", dir=FAST))
        self.data = self.directory / "data"
        self.password = secrets.token_hex(12)
        pwfile = self.directory / "pw"
        pwfile.write_text(self.password)
        if os.geteuid() == 0:
            shutil.chown(self.directory, "postgres", "postgres")
            shutil.chown(pwfile, "postgres", "postgres")
        subprocess.run(as_user([self.bin / "initdb", "-D", self.data, "-U", "loam", "-E", "UTF8",
                                "--no-locale", "-A", "scram-sha-256", "--pwfile", pwfile]),
                       check=True, stdout=subprocess.DEVNULL, cwd=self.directory)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
        self.process = None
        self.start()

    def start(self):
        with open(self.directory / "log", "ab") as log:
            self.process = subprocess.Popen(
                as_user([self.bin / "postgres", "-D", self.data, "-k", self.directory,
                         "-p", str(self.port), "-c", "listen_addresses=127.0.0.1",
                         "-c", "max_connections=300", "-c", "shared_buffers=64MB"]),
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.directory)
        until = time.monotonic() + 20
        while self.sql("postgres", "SELECT 1", check=False).returncode != 0:
            assert time.monotonic() < until, (self.directory / "log").read_text()
            time.sleep(0.05)

    def kill(self):
        """As a crash: what was committed has to be recovered from the log."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(20)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def url(self, database, password=True):
        secret = f":{self.password}" if password else ""
        return f"postgresql://loam{secret}@127.0.0.1:{self.port}/{database}"

    def sql(self, database, text, check=True):
        return subprocess.run([self.bin / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1",
                               self.url(database), "-c", text],
                              check=check, capture_output=True, text=True)

    def database(self):
        name = "d" + secrets.token_hex(6)
        self.sql("postgres", f"CREATE DATABASE {name}")
        return name
