# SPDX-License-Identifier: Apache-2.0
"""Starts real servers and nodes, and ends what it started by process id."""

import os
import pathlib
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from client import Admin
from fake_node import FakeNode

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOAM = os.environ.get("LOAM_BINARY", str(ROOT / "build/release/apps/loam/loam"))
# Every commit syncs; in memory that is fast, and the tests are about processes, not disks.
FAST = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def wait_for(what, probe, timeout=20.0, every=0.03):
    """Waits until `probe` gives something true, and returns it."""
    until = time.monotonic() + timeout
    while True:
        value = probe()
        if value:
            return value
        assert time.monotonic() < until, f"waited {timeout} s in vain for: {what}"
        time.sleep(every)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def processes_with(text):
    """Ids of the living processes whose first environment holds `text`."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            environment = pathlib.Path(f"/proc/{name}/environ").read_bytes()
        except OSError:
            continue
        if text.encode() in environment.split(b"\0") and alive(name):
            found.append(int(name))
    return found


class Process:
    def __init__(self, arguments, mark, log, **environment):
        self.log = log
        env = {**os.environ, "E2E_MARK": mark, **{k: str(v) for k, v in environment.items()}}
        with open(log, "ab") as out:
            self.popen = subprocess.Popen([LOAM, *map(str, arguments)], env=env, stdout=out,
                                          stderr=out, stdin=subprocess.DEVNULL)

    @property
    def pid(self):
        return self.popen.pid

    def dead(self):
        return self.popen.poll() is not None

    def signal(self, number):
        if not self.dead():
            os.kill(self.pid, number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.popen.wait(10)

    def stop(self, timeout=6):
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        try:
            return self.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def text(self):
        return pathlib.Path(self.log).read_text(errors="replace")


class Server:
    """One state directory; the process in it may be killed and started again on its port."""

    def __init__(self, directory, mark, heartbeat=1, node_ttl=4, sweep_grace=2, store=None,
                 name="state", extra=(), tls=None):
        self.state = pathlib.Path(directory) / name
        self.mark = mark
        self.port = 0
        self.options = ["--node-heartbeat", heartbeat, "--node-ttl", node_ttl,
                        "--sweep-grace", sweep_grace,
                        *(["--store", store] if store else []), *extra]
        self.ca_file = None
        if tls:  # an Authority that has issued "server"
            self.ca_file = tls.ca_file
            self.options += ["--tls-cert", tls.certificate("server"), "--tls-key", tls.key("server")]
        self.process = None
        self.url = None
        self.starts = 0

    def launch(self, **environment):
        """Starts the process and does not wait for it to be ready."""
        self.starts += 1
        self.process = Process(
            ["server", "--port", self.port, "--state-dir", self.state, *self.options],
            self.mark, self.state.parent / f"server-{self.state.name}-{self.starts}.log",
            **environment)

    def ready(self):
        """Whether it answers: True, or None while it starts and False once it is dead."""
        found = re.search(r"listens on (https?://\S+)", self.process.text())
        if found:
            self.url = found.group(1)
            self.port = int(self.url.rpartition(":")[2])
            return True
        return False if self.process.dead() else None

    def start(self, **environment):
        self.launch(**environment)
        wait_for("the server to start", lambda: self.ready() is not None, every=0.01)
        assert self.ready(), f"the server did not start: {self.process.text()}"
        return self

    def token(self, name):
        return (self.state / f"{name}.token").read_text().strip()

    def admin(self):
        return Admin(self.url, self.token("admin"), self.ca_file)

    def store_file(self, key):
        return self.state / "store" / key


class Fleet:
    """A server, its nodes, and a mark by which everything that belongs to them is found."""

    def __init__(self, db=None, servers=1, **options):
        self.mark = secrets.token_hex(8)
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="loam-e2e-", dir=FAST))
        if db:
            options["extra"] = ["--db", db, *options.get("extra", ())]
            options.setdefault("store", self.directory / "state" / "store")
        names = ["state", *(f"state{i}" for i in range(2, servers + 1))]
        self.servers = [Server(self.directory, self.mark, name=name, **options).start()
                        for name in names]
        self.server = self.servers[0]
        self.api = self.server.admin()
        self.nodes = []
        self.fakes = []
        self.closers = []

    def node(self, name, slots=1, url=None, pool=None, **environment):
        if self.server.ca_file:
            environment.setdefault("LOAM_CA_FILE", self.server.ca_file)
        token = self.server.state / "pool.token"
        if pool:
            token = self.directory / f"{pool}.token"
            if not token.exists():
                token.write_text(self.api.pool_token(pool))
        everyone = ",".join(server.url for server in self.servers)
        node = Process(
            ["node", "--server", url or everyone, "--pool-token-file", token, "--name", name,
             "--dir", self.directory / f"node-{name}", "--slots", slots, "--price", "1"],
            self.mark, self.directory / f"node-{name}.log", **environment)
        self.nodes.append(node)
        return node

    def fake(self, name="fake", slots=1, pool=None, quiet=False, server=None):
        token = self.api.pool_token(pool) if pool else self.server.token("pool")
        fake = FakeNode((server or self.server).url, token, name, slots)
        self.fakes.append(fake)
        return fake if quiet else fake.keep_alive()

    def job(self, script, **more):
        """A job that runs a shell script and is easy to find among the processes."""
        environment = {"E2E_MARK": self.mark, **more.pop("environment", {})}
        return {"name": "e2e", "command": "/bin/bash", "arguments": ["-c", script],
                "environment": environment, "heartbeat_interval": 1, "lease_ttl": 3,
                "grace_period": 1, **more}

    def status(self, job, status, timeout=30):
        def probe():
            seen = self.api.job(job)
            over = seen["status"] in ("completed", "failed", "canceled")
            assert seen["status"] == status or not over, f"the job ended otherwise: {seen}"
            return seen if seen["status"] == status else None
        return wait_for(f"job {job} to be {status}", probe, timeout)

    def running_on(self, job, name, timeout=20):
        def probe():
            seen = self.api.job(job)
            good = seen.get("node_name") == name and seen["phase"] == "running"
            return seen if good else None
        return wait_for(f"{job} to run on {name}", probe, timeout)

    def committed(self, job, step=0, timeout=20):
        def probe():
            return any(s >= step for s in self.api.steps(job))
        return wait_for(f"a set of {job} from step {step} on", probe, timeout)

    @staticmethod
    def free_port():
        with socket.create_server(("127.0.0.1", 0)) as listener:
            return listener.getsockname()[1]

    def close(self):
        """Ends it all; what is left over then was not ended by those who should have."""
        for fake in self.fakes:
            fake.stop()
        for node in self.nodes:
            node.signal(signal.SIGCONT)
            node.signal(signal.SIGTERM)
        until = time.monotonic() + 2
        for node in self.nodes:
            node.stop(max(0.05, until - time.monotonic()))
        for closer in self.closers:
            closer()
        for server in self.servers:
            server.process.stop()
        try:
            wait_for("everything of this fleet to end",
                     lambda: not processes_with(f"E2E_MARK={self.mark}"), timeout=8)
        finally:
            for pid in processes_with(f"E2E_MARK={self.mark}"):
                os.kill(pid, signal.SIGKILL)
            if not os.environ.get("LOAM_E2E_KEEP"):
                shutil.rmtree(self.directory, ignore_errors=True)
