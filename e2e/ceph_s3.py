# SPDX-License-Identifier: Apache-2.0
"""A real S3 server for tests: Ceph's gateway over one monitor, one manager and one OSD in memory.

    python3 e2e/ceph_s3.py run DIR        starts it, prints the environment to use, and stays until
                                          SIGTERM, SIGINT or the end of standard input's terminal
    with CephS3() as ceph: ...            in tests; `ceph.environment` and `ceph.url(bucket)`

Everything lives in a directory of its own and listens on free ports of loopback, so several may run.
The daemons are children in the foreground and are ended by process id. It needs no systemd, no root
file and no disk: objects are kept in memory, up to MEMORY_BYTES.
"""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import uuid

from s3_service import S3Service

MEMORY_BYTES = 6 << 30
ACCESS_KEY = "LOAMTESTKEY"
SECRET_KEY = "loamtestsecret"
PROGRAMS = ("ceph", "ceph-authtool", "ceph-mgr", "ceph-mon", "ceph-osd", "monmaptool", "radosgw",
            "radosgw-admin")
ALL_RIGHTS = ("--cap", "mon", "allow *", "--cap", "osd", "allow *", "--cap", "mgr", "allow *")

CONFIGURATION = """\
[global]
fsid = {fsid}
mon host = {mon}
keyring = {dir}/keyring
run dir = {dir}/run
admin socket = {dir}/run/$name.asok
pid file = {dir}/run/$name.pid
log file = {dir}/log/$name.log
ms bind ipv6 = false
public addr = 127.0.0.1
cluster addr = 127.0.0.1
mon allow pool size one = true
auth allow insecure global id reclaim = true
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = {memory}
# The manager would spend these seconds and this memory on modules that nothing here asks for.
mgr initial modules =
[mon.a]
host = localhost
mon data = {dir}/mon
[mgr.x]
mgr data = {dir}/mgr
[osd.0]
osd data = {dir}/osd
[client.rgw.a]
rgw frontends = beast endpoint=127.0.0.1:{port}
rgw dns name = localhost
# What is deleted gives its memory back soon, not in two hours.
rgw gc obj min wait = 2
rgw gc processor period = 2
"""


def missing():
    """What is not installed, or an empty string."""
    gone = [name for name in PROGRAMS if not shutil.which(name)]
    return f"not installed: {', '.join(gone)} (Debian's ceph and radosgw)" if gone else ""


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class CephS3(S3Service):
    def __init__(self, directory=None, memory=MEMORY_BYTES):
        super().__init__(ACCESS_KEY, SECRET_KEY)
        gone = missing()
        if gone:
            raise RuntimeError(gone)
        fast = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.dir = pathlib.Path(directory or tempfile.mkdtemp(prefix="loam-ceph-", dir=fast))
        self.memory = memory
        self.daemons = []

    def start(self):
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def _start(self):
        for name in ("mon", "mgr", "osd", "run", "log"):
            (self.dir / name).mkdir(parents=True)
        mon_port, old_port, self.port = free_ports(3)
        mon = f"[v2:127.0.0.1:{mon_port},v1:127.0.0.1:{old_port}]"
        fsid = str(uuid.uuid4())
        (self.dir / "ceph.conf").write_text(CONFIGURATION.format(
            dir=self.dir, fsid=fsid, mon=mon, port=self.port, memory=self.memory))
        keyring = str(self.dir / "keyring")
        self.call("ceph-authtool", "--create-keyring", keyring, "--gen-key", "-n", "mon.",
                  "--cap", "mon", "allow *")
        for name in ("client.admin", "client.rgw.a", "osd.0", "mgr.x"):
            self.call("ceph-authtool", keyring, "--gen-key", "-n", name, *ALL_RIGHTS)
        monmap = str(self.dir / "monmap")
        self.call("monmaptool", "--create", "--clobber", "--fsid", fsid, "--addv", "a", mon, monmap)
        self.ceph("ceph-mon", "--mkfs", "-i", "a", "--monmap", monmap, "--keyring", keyring)
        self.daemon("ceph-mon", "-i", "a")
        self.ceph("ceph", "auth", "import", "-i", keyring)
        self.daemon("ceph-mgr", "-i", "x")
        osd = str(uuid.uuid4())
        self.ceph("ceph", "osd", "new", osd)
        self.ceph("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", osd)
        self.ceph("ceph", "auth", "import", "-i", keyring)
        self.daemon("ceph-osd", "-i", "0")
        self.wait("the OSD to be up",
                  lambda: b"1 up" in self.ceph("ceph", "osd", "stat").stdout, 60)
        self.daemon("radosgw", "-n", "client.rgw.a")
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self.wait("the gateway to answer", self.answers, 90)
        self.ceph("radosgw-admin", "user", "create", "--uid=test", "--display-name=test",
                  f"--access-key={ACCESS_KEY}", f"--secret={SECRET_KEY}")

    def answers(self):
        try:
            urllib.request.urlopen(self.endpoint, timeout=5).close()
            return True
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False

    def wait(self, what, probe, seconds):
        until = time.monotonic() + seconds
        while not probe():
            dead = [name for name, one in self.daemons if one.poll() is not None]
            if dead or time.monotonic() > until:
                raise RuntimeError(f"waited in vain for {what}; dead: {dead}; logs: {self.log_tail()}")
            time.sleep(0.1)

    def log_tail(self):
        return {path.name: path.read_text(errors="replace")[-500:]
                for path in (self.dir / "log").glob("*")}

    def call(self, *command):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                              stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise RuntimeError(f"{command} failed: {done.stderr.decode(errors='replace')[-2000:]}")
        return done

    def ceph(self, program, *arguments):
        return self.call(program, "-c", str(self.dir / "ceph.conf"), *arguments)

    def daemon(self, program, *arguments):
        with open(self.dir / "log" / f"{program}.out", "ab") as out:
            # Orphans would outlive a test run that is killed; the kernel ends them with this process.
            one = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", program, "-c", str(self.dir / "ceph.conf"), "-f",
                 *arguments],
                stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True)
        self.daemons.append((program, one))

    def stop(self):
        for _, one in reversed(self.daemons):
            if one.poll() is None:
                one.kill()
        for _, one in self.daemons:
            one.wait(20)
        self.daemons.clear()
        shutil.rmtree(self.dir, ignore_errors=True)

    __enter__ = start

    def __exit__(self, *_):
        self.stop()


def main():
    if len(sys.argv) != 3 or sys.argv[1] != "run":
        sys.exit(__doc__)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with CephS3(sys.argv[2]) as ceph:
        exports = " ".join(f"{k}={v}" for k, v in ceph.environment.items())
        print(f"export {exports} LOAM_TEST_S3_URL='{ceph.url(ceph.bucket())}'", flush=True)
        ended.wait()


if __name__ == "__main__":
    main()
