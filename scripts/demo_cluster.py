# SPDX-License-Identifier: Apache-2.0
"""The demo's cluster: `loam up` on the embedded defaults, or servers and nodes over real services.

    STORE=directory|s3    where bytes are kept; s3 starts Ceph's gateway on loopback
    DB=sqlite|postgres    where the books are kept; postgres starts a private PostgreSQL and two servers
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOAM = os.environ.get("LOAM_BINARY", str(ROOT / "build" / "release" / "apps" / "loam" / "loam"))
PRICE = "0.324"
NODES = ("node-1", "node-2", "node-3")
# A machine that is gone is noticed within seconds here; the defaults are meant for real networks.
QUICK = ("--node-heartbeat", "2", "--node-ttl", "6")

sys.path.insert(0, str(ROOT / "e2e"))


class DemoError(Exception):
    """Something was not as claimed."""


def stop(process, patience=40):
    if process is None or process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class UpCluster:
    """`loam up`: one server with SQLite and a directory, and three nodes."""

    def __init__(self, run):
        self.run = run
        self.state = run / "state"
        self.environment = {"XDG_CONFIG_HOME": str(run / "config")}
        self.process = None
        self.what = "a server and three nodes on this machine"

    def start(self, environment):
        with open(self.run / "loam-up.log", "wb") as log:
            self.process = subprocess.Popen(
                [LOAM, "up", "--nodes", "3", "--port", "0", "--price", PRICE, "--state-dir",
                 str(self.state)], env=environment, stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, start_new_session=True)
        deadline = time.monotonic() + 30
        while not (self.state / "up.json").exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise DemoError(f"'loam up' did not start; see {self.run / 'loam-up.log'}")
            time.sleep(0.1)

    def node_pid(self, name):
        nodes = json.loads((self.state / "up.json").read_text())["nodes"]
        return next(node["pid"] for node in nodes if node["name"] == name)

    def node_directory(self, name):
        return self.state / name

    def servers(self):
        return 1

    def stop(self):
        stop(self.process)


class ServiceCluster:
    """Servers over S3 or PostgreSQL or both, and three nodes that know all of them."""

    def __init__(self, run, store, database):
        self.run = run
        self.state = run / "state"
        self.kinds = (store, database)
        self.services = []
        self.processes = {}
        self.environment = {"XDG_CONFIG_HOME": str(run / "config")}
        self.urls = []
        count = "two servers" if database == "postgres" else "a server"
        self.what = (f"{count} and three nodes over {'Ceph S3' if store == 's3' else 'a directory'}"
                     f" and {'PostgreSQL' if database == 'postgres' else 'SQLite'}")

    def start(self, environment):
        store, database = self.kinds
        arguments = ["--store", str(self.state / "store")]
        environment = dict(environment)
        self.state.mkdir(parents=True)
        if store == "s3":
            from ceph_s3 import CephS3, missing
            if missing():
                raise DemoError(missing())
            ceph = CephS3().start()
            self.services.append(ceph)
            environment.update(ceph.environment)
            arguments = ["--store", ceph.url(ceph.bucket())]
        if database == "postgres":
            from postgres import Postgres, programs
            if not programs():
                raise DemoError("PostgreSQL is not installed (Debian's postgresql)")
            postgres = Postgres()
            self.services.append(postgres)
            arguments += ["--db", postgres.url(postgres.database())]
        for number in range(1, self.servers() + 1):
            self.urls.append(self.start_server(f"server-{number}", arguments, environment))
        self.environment["LOAM_SERVER"] = ",".join(self.urls)
        self.environment["LOAM_TOKEN"] = (self.state / "server-1/admin.token").read_text().strip()
        # No node gets the store's credentials: it is handed signed requests, one by one.
        bare = {k: v for k, v in environment.items() if not k.startswith("AWS_")}
        for name in NODES:
            self.launch(name, ["node", "--server", ",".join(self.urls), "--pool-token-file",
                               str(self.state / "server-1/pool.token"), "--name", name, "--dir",
                               str(self.state / name), "--price", PRICE], bare)

    def servers(self):
        return 2 if self.kinds[1] == "postgres" else 1

    def launch(self, name, arguments, environment):
        with open(self.run / f"{name}.log", "wb") as log:
            self.processes[name] = subprocess.Popen(
                [LOAM, *arguments], env=environment, stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, start_new_session=True)
        return self.processes[name]

    def start_server(self, name, arguments, environment):
        process = self.launch(name, ["server", "--port", "0", "--state-dir",
                                     str(self.state / name), *QUICK, *arguments], environment)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and process.poll() is None:
            found = re.search(r"listens on (http\S+)", (self.run / f"{name}.log").read_text())
            if found:
                return found.group(1)
            time.sleep(0.1)
        raise DemoError(f"{name} did not start; see {self.run / name}.log")

    def kill_server(self, name):
        process = self.processes[name]
        process.kill()
        process.wait()
        return process.pid

    def prefer(self, name):
        """The environment of a command line that tries this server first."""
        first = self.urls[int(name.rpartition("-")[2]) - 1]
        return {"LOAM_SERVER": ",".join([first, *(url for url in self.urls if url != first)])}

    def node_pid(self, name):
        return self.processes[name].pid

    def node_directory(self, name):
        return self.state / name

    def stop(self):
        for name in sorted(self.processes):
            if name in NODES:
                self.processes[name].send_signal(signal.SIGTERM)
        for name in sorted(self.processes):
            stop(self.processes[name])
        for service in reversed(self.services):
            service.stop()


def make_cluster(run):
    store = os.environ.get("STORE") or "directory"
    database = os.environ.get("DB") or "sqlite"
    if store not in ("directory", "s3") or database not in ("sqlite", "postgres"):
        raise DemoError(f"STORE={store} DB={database}: STORE is directory or s3, DB is sqlite or "
                        "postgres")
    if (store, database) == ("directory", "sqlite"):
        return UpCluster(run)
    return ServiceCluster(run, store, database)
