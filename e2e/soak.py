# SPDX-License-Identifier: Apache-2.0
"""Moves SIZE bytes (20G) by every way that Loam has for them, and watches the memory of each process.

    python3 e2e/soak.py [SIZE]        or `make soak SIZE=20G`

A server over a real S3 service, nodes whose jobs write checkpoints, lose their node, restore, take
inputs and make outputs, and `loam store cp` up and down, past the server and through it. The kernel
keeps the highest resident memory of each process; past its cap (docs/STORES.md) the run fails.
"""

import hashlib
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import ceph_s3
from harness import FAST, LOAM, Fleet
from programs import CHECKPOINT, PROGRESS

MIB = 1 << 20
# 512 MiB of parts, a part for each transfer, and the program; a node sees no parts.
CAPS = {"server": 768 * MIB, "node": 128 * MIB, "loam": 768 * MIB}
LARGE = 192 * MIB  # in parts
SMALL, SMALLS = 4 * MIB, 16
SLOW_READERS = 16
UNIT = LARGE + SMALLS * SMALL  # of a checkpoint, an output and a copy
# Random-looking bytes, another sequence for each $1.
FILL = f"""
fill() {{
  mkdir -p $2.tmp
  openssl enc -aes-128-ctr -pass pass:$1 -nosalt -pbkdf2 </dev/zero 2>/dev/null | head -c {UNIT} |
    (head -c {LARGE} >$2.tmp/large; split -b {SMALL} -a 2 - $2.tmp/small-)
  mv $2.tmp $2
}}
"""
# Saves; the first attempt then waits for the loss of its node, if it is to be lost.
PROGRAM = FILL + """
set -e
if [ ! -d ckpt/step-1 ]; then
  fill $ROUND-ckpt ckpt/step-1; echo step 1
  if [ "$LOSE" = 1 ]; then sleep 1000; fi
fi
[ ! -d in ] || cat in/large in/small-* | sha256sum >digest
cat ckpt/step-1/large ckpt/step-1/small-* | sha256sum >>digest
fill $ROUND out/data; cp digest out/digest
echo step 2
"""


def parse_size(text):
    found = re.fullmatch(r"(\d+)([MG]?)", text)
    assert found, f"'{text}' is no size; write for example 20G"
    return int(found.group(1)) << {"": 0, "M": 20, "G": 30}[found.group(2)]


def made_by(seed):
    """The digest of what `fill seed` makes."""
    made = subprocess.run(
        f"openssl enc -aes-128-ctr -pass pass:{seed} -nosalt -pbkdf2 </dev/zero 2>/dev/null |"
        f"head -c {UNIT} | sha256sum", shell=True, check=True, capture_output=True, text=True)
    return made.stdout.split()[0]


def digest_of(directory):
    hash_ = hashlib.sha256()
    for path in sorted(directory.glob("[ls]*")):
        with open(path, "rb") as file:
            while block := file.read(MIB):
                hash_.update(block)
    return hash_.hexdigest()


def highest_memory(pid):
    """What a living process has had resident at most, by the kernel's own count."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", text).group(1)) << 10


class Soak:
    def __init__(self, ceph, directory):
        self.ceph = ceph
        self.bucket = ceph.bucket()
        self.dir = pathlib.Path(directory)
        self.moved = 0
        self.peaks = {"server": 0, "node": 0, "loam": 0}
        # What was replaced goes soon, for the service has only this machine's memory.
        self.fleet = Fleet(store=f"s3://{self.bucket}/loam", sweep_grace=1)
        self.nodes = 0
        self.node = self.new_node()

    def new_node(self):
        self.nodes += 1
        return self.fleet.node(f"n{self.nodes}", AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="",
                               AWS_EC2_METADATA_DISABLED="true")

    def note_peak(self, kind, highest):
        self.peaks[kind] = max(self.peaks[kind], highest)
        assert self.peaks[kind] <= CAPS[kind], (
            f"{kind}: {highest // MIB} MiB resident, over the cap of {CAPS[kind] // MIB} MiB "
            f"after {self.moved // MIB} MiB")

    def look(self):
        self.note_peak("server", highest_memory(self.fleet.server.process.pid))
        self.note_peak("node", highest_memory(self.node.pid))

    def loam(self, *words):
        """Runs a command to its end, and notes its memory."""
        environment = {**os.environ, "LOAM_SERVER": self.fleet.server.url,
                       "LOAM_TOKEN": self.fleet.server.token("admin"), "HOME": str(self.dir)}
        log = self.dir / "loam.log"
        with open(log, "wb") as out:
            running = subprocess.Popen([LOAM, *map(str, words)], env=environment, stdout=out,
                                       stderr=out, stdin=subprocess.DEVNULL)
            _, status, usage = os.wait4(running.pid, 0)
            running.returncode = os.waitstatus_to_exitcode(status)
        assert running.returncode == 0, f"{words}: {log.read_text(errors='replace')[-2000:]}"
        self.note_peak("loam", usage.ru_maxrss << 10)

    def job(self, number, lose):
        """A checkpoint up, perhaps down again, an input down, an output up."""
        before = [{"from": f"/soak/{number - 1}/data/", "to": "in/"}] if number > 1 else []
        job = self.fleet.api.submit(self.fleet.job(
            PROGRAM, checkpoint=CHECKPOINT, progress=PROGRESS,
            environment={"ROUND": str(number), "LOSE": str(int(lose))},
            sync={"before": before, "after": [{"from": "out/", "to": f"/soak/{number}/"}]}))
        if lose:
            self.fleet.committed(job, 1, timeout=120)
            self.look()
            self.node.kill()
            self.node = self.new_node()
        done = self.fleet.status(job, "completed", timeout=240)
        assert done["epoch"] == 1 + lose, done
        digests = self.fleet.api.file(f"/soak/{number}/digest").body.decode().split()[::2]
        expected = [made_by(number - 1)] if number > 1 else []
        assert digests == [*expected, made_by(f"{number}-ckpt")]
        self.moved += UNIT * (2 + len(expected) + lose)

    def copies(self, number):
        """Through the server down and up, and past it up and down."""
        down, back = self.dir / "down", self.dir / "back"
        there = f"s3://{self.bucket}/cli/{number}/"
        self.loam("store", "cp", "-r", f"store:/soak/{number}/data/", down)
        assert digest_of(down) == made_by(number)
        self.loam("store", "cp", "-r", f"{down}/", f"store:/soak/copy-{number}")
        self.loam("store", "cp", "-r", f"{down}/", there)
        self.loam("store", "cp", "-r", there, back)
        assert digest_of(back) == made_by(number)
        self.moved += 4 * UNIT
        self.loam("store", "rm", "-r", "--yes", there)
        self.loam("store", "rm", "-r", "--yes", f"store:/soak/copy-{number}")
        if number > 1:
            self.loam("store", "rm", "-r", "--yes", f"store:/soak/{number - 1}/")
        shutil.rmtree(down)
        shutil.rmtree(back)

    def slow_readers(self, number):
        """As many as the server has threads for read on in a large file, and then read no more."""
        sockets = []
        for _ in range(SLOW_READERS):
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
            sock.connect(("127.0.0.1", self.fleet.server.port))
            sock.sendall(f"GET /v1/store/soak/{number}/data/large HTTP/1.1\r\nHost: loam\r\n"
                         f"Authorization: Bearer {self.fleet.server.token('admin')}\r\n\r\n".encode())
            sockets.append(sock)
        assert sockets[0].recv(15) == b"HTTP/1.1 200 OK"
        for sock in sockets:
            left = LARGE // 4
            while left > 0:
                left -= len(sock.recv(MIB)) or left
        seen, since = 0, time.monotonic()
        while time.monotonic() - since < 2:  # until nothing more is read ahead
            self.look()
            if (peak := highest_memory(self.fleet.server.process.pid)) != seen:
                seen, since = peak, time.monotonic()
            time.sleep(0.1)
        for sock in sockets:
            sock.close()

    def run(self, size, say=lambda text: None):
        began = time.monotonic()
        number = 0
        while self.moved < size:
            number += 1
            self.job(number, lose=number % 3 == 2)
            self.look()
            self.copies(number)
            if number == 2:
                self.slow_readers(number)
            self.look()
            say(f"{self.moved / (1 << 30):6.1f} GiB after {time.monotonic() - began:5.0f} s; at most "
                + ", ".join(f"{kind} {peak // MIB} MiB" for kind, peak in self.peaks.items()))
        assert all(self.peaks.values()), self.peaks

    def close(self):
        self.fleet.close()


def soak(ceph, size, say=print):
    """Needs the service's credentials in this process's environment."""
    with tempfile.TemporaryDirectory(prefix="loam-soak-", dir=FAST) as directory:
        running = Soak(ceph, directory)
        try:
            running.run(size, say)
        finally:
            running.close()
        return running.peaks


def main():
    size = parse_size(sys.argv[1] if len(sys.argv) > 1 else "20G")
    if gone := ceph_s3.missing():
        sys.exit(gone)
    with ceph_s3.CephS3() as ceph:
        os.environ.update(ceph.environment)
        peaks = soak(ceph, size, say=lambda text: print(text, flush=True))
    caps = ", ".join(f"{kind} {peaks[kind] // MIB} of {cap // MIB} MiB" for kind, cap in CAPS.items())
    print(f"soak: passed; {caps}")


if __name__ == "__main__":
    main()
