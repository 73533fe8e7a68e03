# SPDX-License-Identifier: Apache-2.0
"""`loam store` beside s3cmd, rclone and a boto3 script with 8 threads, on one real S3 service (Ceph's gateway
in memory, on this machine). Prints a table and writes build/bench/store.json; only the ratios carry over
to other machines. Ratios above 1 mean that Loam is better than the best of the others.

    python3 bench/store.py [--rounds 2] [--small 5000]
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "e2e"))

import ceph_s3  # noqa: E402  (the path above comes first)

LOAM = os.environ.get("LOAM_BINARY", str(ROOT / "build/release/apps/loam/loam"))
MIB = 1 << 20
BOTO3_THREADS = "8"
PYTHON = "/usr/bin/python3"


class Run:
    """Wall and CPU seconds of one command with all its children."""

    def __init__(self, command, environment):
        began = time.monotonic()
        pid = os.posix_spawnp(command[0], command, environment, file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, str(ROOT / "build/bench/store.log"),
             os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)])
        _, status, usage = os.wait4(pid, 0)
        self.wall = time.monotonic() - began
        self.cpu = usage.ru_utime + usage.ru_stime
        if status != 0:
            raise SystemExit(f"{' '.join(command)} failed; see build/bench/store.log")


class Tools:
    """The command line of each tool for each operation. `place` is "bucket/prefix"."""

    def __init__(self, ceph, directory):
        self.ceph = ceph
        host = ceph.endpoint.removeprefix("http://")
        self.s3cmd = ["s3cmd", "--config=/dev/null", f"--host={host}", f"--host-bucket={host}", "--no-ssl",
                      f"--access_key={ceph_s3.ACCESS_KEY}", f"--secret_key={ceph_s3.SECRET_KEY}",
                      "--no-progress", "--no-check-md5"]
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "LOAM_"))}
        self.environment = {**keep, **ceph.environment, "HOME": str(directory),
                            "RCLONE_CONFIG": str(directory / "rclone.conf"),
                            "RCLONE_CONFIG_CEPH_TYPE": "s3", "RCLONE_CONFIG_CEPH_PROVIDER": "Ceph",
                            "RCLONE_CONFIG_CEPH_ENV_AUTH": "true",
                            "RCLONE_CONFIG_CEPH_REGION": "us-east-1",
                            "RCLONE_CONFIG_CEPH_ENDPOINT": ceph.endpoint,
                            "RCLONE_CONFIG_CEPH_NO_CHECK_BUCKET": "true"}
        (directory / "rclone.conf").touch()

    def loam(self, operation, local, place):
        url = f"s3://{place}"
        return {"put": ["cp", "-r", f"{local}/", url], "get": ["cp", "-r", f"{url}/", str(local)],
                "list": ["ls", "-r", url], "delete": ["rm", "-r", "--yes", url]}[operation]

    def rclone(self, operation, local, place):
        # As its documentation advises for S3: many transfers, larger parts in parallel, one listing.
        common = ["--transfers", "16", "--checkers", "16", "--fast-list", "--s3-chunk-size", "16M",
                  "--s3-upload-concurrency", "8", "--multi-thread-streams", "8"]
        there = f"ceph:{place}"
        return {"put": ["copy", str(local), there, *common], "get": ["copy", there, str(local), *common],
                "list": ["lsf", "-R", "--fast-list", there], "delete": ["delete", there, *common]}[operation]

    def s3cmd_line(self, operation, local, place):
        url = f"s3://{place}/"
        return {"put": ["put", "-r", f"{local}/", url], "get": ["get", "-r", url, f"{local}/"],
                "list": ["ls", "-r", url], "delete": ["del", "-r", "--force", url]}[operation]

    def run(self, tool, operation, local, place):
        if operation == "get":
            pathlib.Path(local).mkdir(parents=True)
        command = {
            "loam": lambda: [LOAM, "store", *self.loam(operation, local, place)],
            "rclone": lambda: ["rclone", *self.rclone(operation, local, place)],
            "s3cmd": lambda: [*self.s3cmd, *self.s3cmd_line(operation, local, place)],
            "boto3": lambda: [PYTHON, __file__, "--boto3", operation, str(local), place],
        }[tool]()
        return Run(command, self.environment)


def boto3_script(operation, local, place):
    """What a careful Python user writes."""
    from concurrent.futures import ThreadPoolExecutor

    import boto3
    from botocore.config import Config

    client = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"],
                          region_name="us-east-1", config=Config(max_pool_connections=32))
    bucket, _, prefix = place.partition("/")
    local = pathlib.Path(local)
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix + "/")
    keys = lambda: [one["Key"] for page in pages for one in page.get("Contents", [])]
    with ThreadPoolExecutor(int(BOTO3_THREADS)) as threads:
        if operation == "put":
            files = [path for path in local.rglob("*") if path.is_file()]
            list(threads.map(lambda path: client.upload_file(
                str(path), bucket, f"{prefix}/{path.relative_to(local)}"), files))
        elif operation == "get":
            list(threads.map(lambda key: client.download_file(
                bucket, key, str(local / key.rpartition("/")[2])), keys()))
        elif operation == "list":
            print(len(keys()))
        else:
            found = keys()
            for begin in range(0, len(found), 1000):
                client.delete_objects(Bucket=bucket, Delete={
                    "Quiet": True, "Objects": [{"Key": key} for key in found[begin:begin + 1000]]})


def make_files(directory, count, size):
    directory.mkdir(parents=True)
    rng = random.Random(count)
    block = rng.randbytes(min(size, 64 * MIB))
    for number in range(count):
        with open(directory / f"f{number:05}", "wb") as out:
            left = size
            while left > 0:
                # Each file begins differently, so that no two are the same.
                data = rng.randbytes(16) + block[16:min(left, len(block))]
                out.write(data)
                left -= len(data)


def same(one, other):
    a, b = sorted(one.iterdir()), sorted(other.iterdir())
    return [p.name for p in a] == [p.name for p in b] and all(
        p.stat().st_size == q.stat().st_size for p, q in zip(a, b))


def best_of(runs):
    return min(runs, key=lambda run: run.wall)


class Bench:
    def __init__(self, tools, directory, rounds):
        self.tools, self.dir, self.rounds = tools, directory, rounds
        self.names = [name for name in ("loam", "rclone", "s3cmd", "boto3")
                      if name in ("loam", "boto3") or shutil.which(name)]
        self.rows = []

    def measure(self, what, source, operations, rounds):
        """The best run of each tool and operation; the tools take turns, each on a prefix of its own."""
        runs = {(tool, operation): [] for tool in self.names for operation in operations}
        bucket = self.tools.ceph.bucket()
        # The gateway's first writes cost it memory that later ones find; nobody pays for that here.
        self.tools.run("boto3", "put", source, f"{bucket}/warm-up")
        self.tools.run("boto3", "delete", source, f"{bucket}/warm-up")
        for number in range(rounds):
            first = number * len(self.names) // rounds
            for tool in self.names[first:] + self.names[:first]:
                target = self.dir / "target"
                for operation in operations:
                    local = target if operation == "get" else source
                    run = self.tools.run(tool, operation, local, f"{bucket}/{tool}")
                    runs[tool, operation].append(run)
                    print(f"{what:<8} {tool:<7} {operation:<7} {run.wall:8.2f} s  {run.cpu:7.2f} s CPU",
                          flush=True)
                if not same(source, target):
                    raise SystemExit(f"{tool} did not bring back what it took")
                shutil.rmtree(target)
        return {key: best_of(found) for key, found in runs.items()}

    def ratio(self, metric, seconds, detail):
        """`seconds` by tool; the row says how many times faster Loam is than the fastest other."""
        best = min((name for name in self.names if name != "loam"), key=seconds.get)
        each = ", ".join(f"{name} {seconds[name]:.2f}" for name in self.names)
        self.rows.append({"metric": metric, "value": round(seconds[best] / seconds["loam"], 3),
                          "unit": "ratio", "detail": f"best: {best}; {detail}: {each}"})

    def run(self, small):
        large, huge, tiny = self.dir / "large", self.dir / "huge", self.dir / "tiny"
        make_files(large, 64, 8 * MIB)
        make_files(huge, 1, 1024 * MIB)
        make_files(tiny, small, 4096)
        operations = ("put", "get", "list", "delete")
        sets = [self.measure("64x8MiB", large, operations, self.rounds),
                self.measure("1GiB", huge, operations, self.rounds)]
        for operation in ("put", "get"):
            wall = {t: sum(one[t, operation].wall for one in sets) for t in self.names}
            self.ratio(f"{operation}_vs_best", wall, "64 x 8 MiB and 1 x 1 GiB, seconds")
            for name, one in zip(("64x8mib", "1gib"), sets):
                self.ratio(f"{operation}_{name}_vs_best", {t: one[t, operation].wall for t in self.names},
                           "seconds")
        gib = 2 * (0.5 + 1)
        cpu = {t: sum(one[t, o].cpu for one in sets for o in ("put", "get")) / gib for t in self.names}
        self.ratio("cpu_per_gb_vs_best", cpu, "CPU seconds per GiB moved")
        runs = self.measure(f"{small}x4K", tiny, operations, 1)
        total = {t: sum(runs[t, o].wall for o in operations) for t in self.names}
        self.ratio("small_ops_vs_best", total, f"{small} x 4 KiB: put, get, list, delete, seconds")
        for operation in operations:
            self.ratio(f"small_{operation}_vs_best", {t: runs[t, operation].wall for t in self.names},
                       "seconds")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--small", type=int, default=5000)
    parser.add_argument("--boto3", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.boto3:
        boto3_script(*arguments.boto3)
        return
    out = ROOT / "build/bench"
    out.mkdir(parents=True, exist_ok=True)
    fast = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="loam-bench-", dir=fast) as made, \
            ceph_s3.CephS3(memory=8 << 30) as ceph:
        directory = pathlib.Path(made)
        bench = Bench(Tools(ceph, directory), directory, arguments.rounds)
        bench.run(arguments.small)
    (out / "store.json").write_text(json.dumps({"bench": "store", "rows": bench.rows}, indent=1) + "\n")
    for row in bench.rows:
        print(f"{row['metric']:<26} {row['value']:>7}  {row['detail']}")


if __name__ == "__main__":
    main()
