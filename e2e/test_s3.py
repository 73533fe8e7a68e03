# SPDX-License-Identifier: Apache-2.0
"""The S3 store against a real service (Ceph's gateway), plain and through a proxy that fails."""

import collections
import hashlib
import json
import os
import pathlib
import random
import signal
import ssl
import subprocess
import tempfile
import time

import ceph_s3
import pytest
from harness import FAST, LOAM, ROOT, Fleet, wait_for
from s3_fault_proxy import LATE_ERROR, FaultProxy

pytestmark = pytest.mark.skipif(bool(ceph_s3.missing()), reason=ceph_s3.missing() or "-")
MIB = 1 << 20
PART = 5 * MIB
OBJECT_TEST = pathlib.Path(os.environ.get("LOAM_OBJECT_TEST", ROOT / "build/release/object_test"))
# The cases at their full size, which takes twenty minutes.
FULL = os.environ.get("LOAM_E2E_FULL") == "1"
# Failing fast: what takes minutes in service takes seconds here.
QUICK = {"part_bytes": str(PART), "stall_timeout_ms": "2000", "tries": "40"}


class Store:
    """`loam store` on one bucket, perhaps by way of a proxy."""

    def __init__(self, ceph, directory, endpoint=None, **environment):
        self.ceph = ceph
        self.bucket = ceph.bucket()
        self.endpoint = endpoint or ceph.endpoint
        self.dir = directory
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "LOAM_"))}
        self.environment = {**inherited, **ceph.environment, "AWS_EC2_METADATA_DISABLED": "true",
                            "HOME": str(directory), **environment}

    def url(self, key="", **options):
        pairs = {"endpoint": self.endpoint, **QUICK, **options}
        return f"s3://{self.bucket}/{key}?" + "&".join(f"{k}={v}" for k, v in pairs.items())

    def command(self, *arguments, prefix=()):
        return [*prefix, LOAM, "store", *arguments]

    def run(self, *arguments, prefix=(), code=0, timeout=120):
        done = subprocess.run(self.command(*arguments, prefix=prefix), env=self.environment,
                              capture_output=True, timeout=timeout, stdin=subprocess.DEVNULL)
        assert done.returncode == code, done.stderr.decode(errors="replace")
        return done

    def start(self, *arguments):
        return subprocess.Popen(self.command(*arguments), env=self.environment,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                stdin=subprocess.DEVNULL)

    def direct(self, key=""):
        """The URL of the service itself, not of the proxy."""
        return self.url(key, endpoint=self.ceph.endpoint)

    def entries(self, key=""):
        found = json.loads(self.run("ls", "-r", "--json", self.direct(key)).stdout)
        return {one["key"]: one for one in found["entries"]}


@pytest.fixture
def workdir():
    with tempfile.TemporaryDirectory(prefix="loam-s3-", dir=FAST) as made:
        yield pathlib.Path(made)


@pytest.fixture
def store(ceph, workdir):
    return Store(ceph, workdir)


def write_files(directory, sizes, seed=1):
    """Files of random bytes; gives their digests by name."""
    rng = random.Random(seed)
    digests = {}
    for number, size in enumerate(sizes):
        path = directory / f"d{number % 3}" / f"f{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        data = rng.randbytes(size)
        path.write_bytes(data)
        digests[str(path.relative_to(directory))] = hashlib.sha256(data).hexdigest()
    return digests


def read_files(directory):
    return {str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(directory.rglob("*")) if path.is_file()}


def round_trip(store, sizes, timeout=240):
    """Up and down again; every byte must be as it was."""
    source, target = store.dir / "source", store.dir / "target"
    digests = write_files(source, sizes)
    store.run("cp", "-r", f"{source}/", store.url("set"), timeout=timeout)
    store.run("cp", "-r", store.url("set/"), str(target), timeout=timeout)
    assert read_files(target) == digests


def run_the_conformance_suite(service, **environment):
    assert OBJECT_TEST.exists(), f"build {OBJECT_TEST.name} first"
    environment = {**os.environ, **service.environment, **environment,
                   "LOAM_TEST_S3_URL": service.url(service.bucket())}
    done = subprocess.run([OBJECT_TEST, "--gtest_filter=S3*"], env=environment, capture_output=True,
                          timeout=300)
    text = done.stdout.decode(errors="replace")
    assert done.returncode == 0, text[-5000:]
    assert "S3/StoreConformance" in text and "S3StoreTest" in text


def test_the_conformance_suite(ceph):
    run_the_conformance_suite(ceph)


def test_c6_etags_of_multipart_objects_are_opaque(store):
    round_trip(store, [3 * PART + 1, PART, PART + 1])
    etags = {name: one["etag"] for name, one in store.entries().items()}
    assert etags["set/d0/f0"].endswith("-4")
    assert etags["set/d1/f1"] and "-" not in etags["set/d1/f1"]


def test_k1_odd_keys(store):
    names = ["a/\n", "a//b", "a/./b", "a/../b", "a/", "/lead", "\u00e9", "e\u0301", "+ %20 & ? # ' \"",
             "c" * 255, "k" * 1000, "\x01", "\U0001f600", "trailing "]
    plain = store.dir / "plain"
    plain.write_text("x")
    for name in names:
        # A trailing slash cannot be typed as a file's name; the gateway gets that one directly.
        if name.endswith("/"):
            store.ceph.request("PUT", f"/{store.bucket}/{name}")
        else:
            store.run("cp", str(plain), store.url(name))
    assert set(store.entries()) == set(names)
    target = store.dir / "down"
    done = store.run("cp", "-r", "--json", store.url(), str(target), code=1)
    left_out = {one["key"] for one in json.loads(done.stdout)["unmapped"]}
    # Neither "" nor "." nor ".." is a file, nor is a name of 1,000 bytes.
    assert {"a//b", "a/./b", "a/../b", "a/", "/lead"} <= left_out
    assert set(read_files(target)) == set(names) - left_out


def test_w4_every_try_is_signed_when_it_is_sent(ceph, workdir):
    # Over fifteen minutes on a slow line (219 parts of 16 MiB), or scaled down: it lasts several times as
    # long as a signature may be old here, with refusals in between.
    parts, speed, lasts = (700, 0.7 * MIB, 900) if FULL else (14, 3 * MIB, 4)
    allowed_age_s = 2.0
    rng = random.Random(4)
    plan = lambda request: "slow_down" if request.method == "PUT" and rng.random() < 0.3 else None
    with FaultProxy(ceph.port, plan, bytes_per_second=speed) as proxy:
        store = Store(ceph, workdir, proxy.endpoint)
        data = random.Random(1).randbytes(PART) * parts
        (workdir / "large").write_bytes(data)
        began = time.monotonic()
        store.run("cp", str(workdir / "large"), store.url("large", stall_timeout_ms="20000"), timeout=1800)
        assert time.monotonic() - began > lasts
        ages = [request.at - time.mktime(time.strptime(request.headers["x-amz-date"], "%Y%m%dT%H%M%SZ"))
                + time.timezone for request in proxy.requests]
        assert proxy.faults["slow_down"] >= 3
        assert max(ages) < allowed_age_s + 1, "a signature was older than its request"
    assert store.run("cat", store.direct("large")).stdout == data


@pytest.mark.parametrize("offset", ["+20m", "-20m"])
def test_w5_a_wrong_clock(store, offset):
    plain = store.dir / "plain"
    plain.write_bytes(b"x" * 100)
    wrong = ("faketime", "-f", offset)
    done = store.run("cp", str(plain), store.url("a"), prefix=wrong)
    assert done.stderr.count(b"clock is") == 1, done.stderr.decode()
    done = store.run("cp", "-r", store.url(), str(store.dir / "down"), prefix=wrong)
    assert done.stderr.count(b"clock is") == 1, done.stderr.decode()
    assert (store.dir / "down" / "a").read_bytes() == plain.read_bytes()


def test_w6_credentials_expire_in_the_middle(ceph, workdir):
    rotated = workdir / "credentials"
    keys = "[default]\naws_access_key_id = {}\naws_secret_access_key = {}\naws_session_token = {}\n"
    real = ceph.environment
    # The first keys are the real ones until they "expire"; those in the file afterwards have the other
    # name of the same user.
    ceph.ceph("radosgw-admin", "key", "create", "--uid=test", "--access-key=SECOND", "--secret=second")
    rotated.write_text(keys.format(real["AWS_ACCESS_KEY_ID"], real["AWS_SECRET_ACCESS_KEY"], ""))
    seen = {"old": 0}

    def plan(request):
        if real["AWS_ACCESS_KEY_ID"] not in request.headers.get("authorization", ""):
            return None
        seen["old"] += 1
        if seen["old"] == 4:
            temporary = workdir / "credentials.new"
            temporary.write_text(keys.format("SECOND", "second", ""))
            temporary.rename(rotated)
        return "expired" if seen["old"] >= 4 else None

    with FaultProxy(ceph.port, plan) as proxy:
        store = Store(ceph, workdir, proxy.endpoint, AWS_SHARED_CREDENTIALS_FILE=str(rotated))
        data = random.Random(6).randbytes(8 * PART)
        (workdir / "large").write_bytes(data)
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            del store.environment[name]
        store.run("cp", str(workdir / "large"), store.url("large"))
        assert proxy.faults["expired"] >= 1
        assert any("SECOND" in request.headers["authorization"] for request in proxy.requests)
    store.environment.update(real)
    assert store.run("cat", store.direct("large")).stdout == data


def test_w7_a_service_that_fails_all_the_time(ceph, workdir):
    rng = random.Random(7)
    orphans = collections.Counter()
    completed = set()
    odds = [("slow_down", 0.30), ("internal", 0.05), ("reset", 0.05), ("truncated", 0.05), ("short", 0.05),
            ("lost", 0.05)]

    def plan(request):
        completes = request.method == "POST" and "uploadId=" in request.target
        dice = rng.random()
        if completes and request.target not in completed:
            completed.add(request.target)
            return LATE_ERROR
        for name, odd in odds:
            if dice < odd:
                # The gateway has begun an upload whose id nobody learns: only a sweep finds it.
                begins = request.method == "POST" and request.target.endswith("?uploads=")
                orphans.update([name] if begins and name not in ("slow_down", "internal") else [])
                return name
            dice -= odd
        return None

    with FaultProxy(ceph.port, plan) as proxy:
        store = Store(ceph, workdir, proxy.endpoint)
        round_trip(store, [0, 1, 5000, PART, 3 * PART + 7, 2 * PART] + [rng.randrange(20_000)
                                                                        for _ in range(30)])
        listed = json.loads(store.run("ls", "-r", "--json", store.url("set/")).stdout)
        assert len(listed["entries"]) == 36
        assert set(proxy.faults) == {name for name, _ in odds} | {LATE_ERROR}, proxy.faults
    left = json.loads(store.run("uploads", "--json", "--older-than", "0", store.direct()).stdout)
    assert len(left["uploads"]) <= orphans.total(), "an upload was neither completed nor aborted"


def test_w9_uploads_of_killed_processes_are_aborted(store):
    kills = 100 if FULL else 12
    (store.dir / "large").write_bytes(random.Random(9).randbytes(6 * PART))
    pending = lambda age: json.loads(store.run("uploads", "--json", "--older-than", age,
                                               store.direct("k")).stdout)
    rng = random.Random(9)
    for number in range(kills):
        writer = store.start("cp", str(store.dir / "large"), store.url(f"k/{number}"))
        time.sleep(rng.uniform(0.02, 0.4))
        writer.send_signal(signal.SIGKILL)
        writer.wait(10)
        writer.stderr.close()
    left = pending("0")
    assert left["uploads"], "no kill met an upload in flight"
    assert pending("24")["younger"] == len(left["uploads"]), "young uploads are left alone"
    store.run("uploads", "--abort", "--older-than", "0", store.direct("k"))
    assert pending("0")["uploads"] == []
    # A whole object or none.
    assert all(one["size"] == 6 * PART for one in store.entries().values()) if store.entries() else True


def test_f10_a_connection_that_goes_nowhere(ceph, workdir):
    count = {"get": 0}

    def plan(request):
        if request.method != "GET" or "list-type" in request.target:
            return None
        count["get"] += 1
        return {2: "black_hole", 4: "stall"}.get(count["get"])

    with FaultProxy(ceph.port, plan) as proxy:
        store = Store(ceph, workdir, proxy.endpoint)
        began = time.monotonic()
        round_trip(store, [4 * PART, 100, 200])
        # Each fault costs one no-progress deadline of two seconds, not a minute.
        assert time.monotonic() - began < 30
        assert proxy.faults["black_hole"] == 1 and proxy.faults["stall"] == 1


def test_https_with_an_authority_of_ones_own(ceph, workdir):
    certificate, key = workdir / "ca.pem", workdir / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                    "/CN=loam-test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out",
                    certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with FaultProxy(ceph.port, tls=context) as proxy:
        store = Store(ceph, workdir, proxy.endpoint)
        assert b"certificate" in store.run("ls", store.url(), code=2).stderr
        data = random.Random(3).randbytes(2 * PART)
        (workdir / "large").write_bytes(data)
        store.run("cp", str(workdir / "large"), store.url("large", ca_file=certificate))
        assert store.run("cat", store.url("large", ca_file=certificate)).stdout == data
        hashes = {r.headers["x-amz-content-sha256"] for r in proxy.requests if "partNumber" in r.target}
        assert hashes == {"UNSIGNED-PAYLOAD"}, "TLS protects the bytes already"


def test_a_large_upload_goes_on_after_a_kill(ceph, workdir):
    data = random.Random(11).randbytes(90 * MIB)
    (workdir / "large").write_bytes(data)
    held = {"partNumber=3&"}
    plan = lambda r: "black_hole" if any(part in r.target for part in held) else None
    with FaultProxy(ceph.port, plan) as proxy:
        store = Store(ceph, workdir, proxy.endpoint)
        arguments = ("cp", str(workdir / "large"), store.url("large", stall_timeout_ms="60000"))
        uploads = lambda: json.loads(store.run("uploads", "--json", "--older-than", "0",
                                               store.direct()).stdout)["uploads"]
        stored = lambda: ceph.request("GET", f"/{store.bucket}/large",
                                      f"uploadId={uploads()[0]['upload_id']}").count(b"<PartNumber>")
        writer = store.start(*arguments)
        wait_for("an upload", uploads)
        wait_for("all parts but the one that is held", lambda: stored() == 5)
        writer.kill()
        writer.wait(10)
        writer.stderr.close()
        held.clear()
        before = len(proxy.requests)
        store.run(*arguments)
        again = [r.target for r in proxy.requests[before:] if r.method == "PUT"]
        assert len(again) == 1 and "partNumber=3&" in again[0], again
    assert uploads() == []
    assert store.run("cat", store.direct("large")).stdout == data


def test_sync_copies_only_what_is_new(store):
    source, target = store.dir / "source", store.dir / "target"
    digests = write_files(source, [10, 2000, PART + 5])
    copied = lambda *arguments: json.loads(store.run("sync", "--json", *arguments).stdout)["files"]
    assert copied(str(source), store.url("set")) == 3
    assert copied(str(source), store.url("set")) == 0
    assert copied(store.url("set"), str(target)) == 3
    assert copied(store.url("set"), str(target)) == 0
    assert read_files(target) == digests
    (source / "d0" / "f0").write_bytes(b"another size")
    (source / "d1" / "f1").unlink()
    assert copied("--delete", "--dry-run", str(source), store.url("set")) == 1
    assert len(store.entries()) == 3
    assert copied("--delete", str(source), store.url("set")) == 1
    assert set(store.entries()) == {"set/d0/f0", "set/d2/f2"}
    store.run("rm", "-r", store.url("set"))
    assert store.run("ls", store.url("set"), code=1).stdout == b""


def test_check_says_what_the_service_can_do(store):
    found = json.loads(store.run("check", "--json", "--size", "8M", store.url()).stdout)
    by_name = {one["name"]: one for one in found["findings"]}
    assert "PUT: If-None-Match is honoured, If-Match honoured" in by_name["preconditions"]["found"]
    assert by_name["clock"]["good"] and by_name["keys and lists"]["good"]
    assert found["put_bytes_per_second"] > 0 and found["get_us"] > 0
    assert store.run("ls", store.url()).stdout == b"", "the check left something behind"
    text = store.run("check", "--size", "1M", store.url()).stdout.decode()
    assert "preconditions" in text and "speed" in text


def test_a_wrong_secret_and_a_missing_bucket_are_named(store):
    store.environment["AWS_SECRET_ACCESS_KEY"] = "wrong"
    assert b"SignatureDoesNotMatch" in store.run("ls", store.url(), code=1).stderr
    store.environment.update(store.ceph.environment)
    store.bucket = "no-such-bucket"
    assert b"NoSuchBucket" in store.run("ls", store.url(), code=2).stderr


def test_a_server_over_s3(ceph, monkeypatch):
    """A job's whole life with a bucket behind the server."""
    for name, value in ceph.environment.items():
        monkeypatch.setenv(name, value)
    fleet = Fleet(store=f"s3://{ceph.bucket()}/loam")
    try:
        fleet.node("a")
        job = fleet.api.submit({**fleet.job("mkdir -p out; echo hello > out/a"),
                                "sync": {"after": [{"from": "out/", "to": "/users/e2e/out"}]}})
        fleet.status(job, "completed")
        assert fleet.api.file("/users/e2e/out/a").body == b"hello\n"
    finally:
        fleet.close()
