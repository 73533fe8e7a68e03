# SPDX-License-Identifier: Apache-2.0
"""The store is away for ten leases' time in the middle of a run, which goes on or waits."""

import threading
import time

import ceph_s3
import pytest
from harness import Fleet, wait_for
from programs import COUNTER, CHECKPOINT, PROGRESS, result
from s3_fault_proxy import FaultProxy

pytestmark = pytest.mark.skipif(bool(ceph_s3.missing()), reason=ceph_s3.missing() or "-")
TTL = 2
OUTAGE = 10 * TTL
LEASE = {"lease_ttl": TTL, "heartbeat_interval": 0.5}


class Outage:
    """A store that goes away in one of two ways, and comes back."""

    def __init__(self, ceph, kind):
        self.gone = threading.Event()
        self.kind = kind
        self.proxy = FaultProxy(ceph.port, lambda _: "black_hole" if self.gone.is_set() else None)

    def begin(self):
        if self.kind == "refused":
            self.proxy.go_away()
        self.gone.set()

    def end(self):
        self.gone.clear()
        if self.kind == "refused":
            self.proxy.come_back()


@pytest.fixture(params=["refused", "black_hole"])
def outage(ceph, request):
    made = Outage(ceph, request.param)
    with made.proxy:
        yield made


@pytest.fixture
def away_fleet(ceph, outage, monkeypatch):
    for name, value in ceph.environment.items():
        monkeypatch.setenv(name, value)
    # Of the server's own connections; a node's break off by themselves.
    options = f"endpoint={outage.proxy.endpoint}&stall_timeout_ms=3000&connect_timeout_ms=1000"
    made = Fleet(store=f"s3://{ceph.bucket()}/loam?{options}")
    yield made
    made.close()


def counting(fleet, steps, pace, to):
    return fleet.job(COUNTER, checkpoint={**CHECKPOINT, "keep_last": 100}, progress=PROGRESS,
                     sync={"after": [{"from": "out/", "to": to}]},
                     environment={"STEPS": str(steps), "PACE": str(pace)}, **LEASE)


def unharmed(fleet, job):
    """One attempt, and nothing that counts against it."""
    seen = fleet.api.job(job)
    counts = [seen[name] for name in ("num_failures", "num_platform_failures", "num_interruptions")]
    assert seen["epoch"] == 1 and counts == [0, 0, 0], seen
    assert len(fleet.api.attempts(job)) == 1
    return seen


def test_f7_a_run_goes_on_while_the_store_is_away(away_fleet, outage):
    fleet = away_fleet
    fleet.node("a")
    steps, pace = 90, 0.4
    job = fleet.api.submit(counting(fleet, steps, pace, "/users/e2e/long"))
    # A second one ends while the store is away, and waits with its outputs.
    fleet.node("b")
    short = fleet.api.submit(counting(fleet, 10, pace, "/users/e2e/short"))
    fleet.committed(job, 3)
    fleet.committed(short, 3)
    before = fleet.api.steps(job)[0]
    outage.begin()
    until = time.monotonic() + OUTAGE
    seen = []
    while time.monotonic() < until:
        asked = time.monotonic()
        seen.append(unharmed(fleet, job).get("step") or 0)
        unharmed(fleet, short)
        assert time.monotonic() - asked < TTL, "the API waited for the store"
        time.sleep(0.5)
    assert seen[-1] - seen[0] >= OUTAGE / pace / 2, f"the program did not go on: {seen}"
    assert fleet.api.job(short)["status"] == "running"
    outage.end()
    back = time.monotonic()
    fleet.committed(job, before + 1, timeout=60)
    first = min(step for step in fleet.api.steps(job) if step > before)
    caught_up = wait_for("the newest set", lambda: fleet.api.steps(job)[0] >= seen[-1] and
                         time.monotonic() - back, timeout=40)
    print(f"caught up after {caught_up:.1f} s")
    assert first <= before + 3, "what was on its way when the store went away was dropped"
    fleet.status(short, "completed", timeout=60)
    fleet.status(job, "completed", timeout=90)
    for one, last in ((job, steps), (short, 10)):
        unharmed(fleet, one)
        assert fleet.api.steps(one)[0] == last
        lines = fleet.api.logs(one).splitlines()
        assert lines == ["begin attempt 1 at 0", *(f"step {i} loss 1" for i in range(1, last + 1))]
    assert result(fleet, "/users/e2e/long") == "finished by attempt 1\n"
    assert result(fleet, "/users/e2e/short") == "finished by attempt 1\n"


@pytest.mark.parametrize("outage", ["refused"], indirect=True)
def test_f7_a_claim_waits_for_its_inputs(away_fleet, outage):
    """Staging and restoring need the store; they wait for it too."""
    fleet = away_fleet
    assert fleet.api.call("PUT", "/v1/store/users/e2e/in/a", b"input").status == 201
    outage.begin()
    fleet.node("a")
    job = fleet.api.submit({**fleet.job("cat in/a > out/a", **LEASE), "sync": {
        "before": [{"from": "/users/e2e/in/", "to": "in/"}],
        "after": [{"from": "out/", "to": "/users/e2e/copy"}]}})
    wait_for("the claim", lambda: fleet.api.job(job)["status"] == "running")
    time.sleep(3 * TTL)
    outage.end()
    fleet.status(job, "completed", timeout=60)
    unharmed(fleet, job)
    assert fleet.api.file("/users/e2e/copy/a").body == b"input"


# Saves much and waits to be interrupted; then tells what it resumed from.
SAVES = """
if [ -f ckpt/step-1/large ]; then sha256sum <ckpt/step-1/large >out/digest; echo step 2; exit 0; fi
mkdir ckpt/t; openssl enc -aes-128-ctr -pass pass:1 -nosalt -pbkdf2 </dev/zero 2>/dev/null |
  head -c 40000000 >ckpt/t/large
sha256sum <ckpt/t/large; mv ckpt/t ckpt/step-1; echo step 1; sleep 1000
"""


def lost_after_a_save(fleet):
    """A job with a set in the store whose node is gone, and which nobody runs."""
    first = fleet.node("first")
    job = fleet.api.submit(fleet.job(
        SAVES, checkpoint=CHECKPOINT, progress=PROGRESS, **LEASE,
        sync={"after": [{"from": "out/", "to": "/users/e2e/restored"}]}))
    fleet.committed(job, 1, timeout=40)
    wait_for("its output", lambda: "step 1" in fleet.api.logs(job))
    first.kill()
    wait_for("its loss", lambda: fleet.api.job(job)["phase"] == "recovering")
    return job


def resumed(fleet, job):
    done = fleet.status(job, "completed", timeout=90)
    assert done["epoch"] == 2 and done["num_interruptions"] == 1, done
    assert done["num_failures"] + done["num_platform_failures"] == 0, done
    assert fleet.api.attempts(job)[1]["resumed_step"] == 1
    assert [one["state"] for one in fleet.api.sets(job)] == ["committed"]
    assert fleet.api.file("/users/e2e/restored/digest").body.decode() in fleet.api.logs(job, 1)


@pytest.mark.parametrize("outage", ["refused"], indirect=True)
def test_f7_a_restore_waits(away_fleet, outage):
    job = lost_after_a_save(away_fleet)
    outage.begin()
    away_fleet.node("second")
    wait_for("the claim", lambda: away_fleet.api.job(job)["epoch"] == 2)
    until = time.monotonic() + 3 * TTL
    while time.monotonic() < until:
        assert away_fleet.api.job(job)["status"] == "running"
        time.sleep(0.5)
    outage.end()
    resumed(away_fleet, job)


def test_f7_a_restore_that_breaks_off_goes_on(ceph, monkeypatch):
    for name, value in ceph.environment.items():
        monkeypatch.setenv(name, value)
    faults = ["short", "truncated", "reset", "lost", "reset"]
    plan = lambda r: faults.pop() if (faults and r.method == "GET" and "X-Amz-Signature" in r.target
                                      and "/ckpt/" in r.target) else None
    with FaultProxy(ceph.port, plan) as proxy:
        fleet = Fleet(store=f"s3://{ceph.bucket()}/loam?endpoint={proxy.endpoint}")
        try:
            job = lost_after_a_save(fleet)
            fleet.node("second")
            resumed(fleet, job)
            assert faults == []
            ranges = [r.headers["range"] for r in proxy.requests if "/ckpt/" in r.target and "range" in r.headers]
            begins = [int(one.removeprefix("bytes=").removesuffix("-")) for one in ranges]
            assert begins and begins == sorted(begins), f"what had come was asked for again: {ranges}"
        finally:
            fleet.close()
