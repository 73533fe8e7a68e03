# SPDX-License-Identifier: Apache-2.0
"""What becomes a set, which sets stay, and what a job resumes from."""

import os
import time

import pytest
from harness import wait_for
from programs import CHECKPOINT, PROGRESS, counter, result

# Writes a big first set and, once that has surely been committed, a second one.
TWO_SAVES = r"""
for i in $(seq $((LOAM_RESUMED_STEP+1)) 2); do
  [ $LOAM_RESUMED_STEP = 0 ] && [ $i = 2 ] && sleep 1.5
  echo "step $i"
  mkdir ckpt/step-$i.tmp
  for f in a b c; do head -c 100000 /dev/zero | tr '\0' $i > ckpt/step-$i.tmp/$f; done
  mv ckpt/step-$i.tmp ckpt/step-$i
done
cat ckpt/step-1/* | md5sum > out/first
echo "resumed at $LOAM_RESUMED_STEP" > out/result
"""
SET_BYTES = 300_000


def checkpoint_job(fleet, script="true", keep_last=2, **more):
    return fleet.job(script, checkpoint={**CHECKPOINT, "keep_last": keep_last}, progress=PROGRESS,
                     **more)


def flip_bit(fleet, prefix, file):
    """Damages a byte as a bad disk would: neither size nor time of the file change."""
    path = fleet.server.store_file(f"{prefix}{file}")
    before = path.stat()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    with open(path, "r+b") as out:
        out.write(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_t15_an_agent_killed_at_any_byte_of_an_upload(fleet):
    places = [1, 150_000, SET_BYTES - 1, SET_BYTES]
    first, jobs = [], []
    for i, place in enumerate(places):
        first.append(fleet.node(f"a{i}", pool=f"p{i}", LOAM_CRASH_AT_BYTE=SET_BYTES + place))
        jobs.append(fleet.api.submit(checkpoint_job(
            fleet, TWO_SAVES, pool=f"p{i}",
            sync={"after": [{"from": "out/", "to": f"/users/e2e/t15-{i}"}]})))
    for i, node in enumerate(first):
        wait_for(f"node a{i} to crash", node.dead)
        assert fleet.api.steps(jobs[i]) == [1]
        fleet.node(f"b{i}", pool=f"p{i}")
    for i, job in enumerate(jobs):
        done = fleet.status(job, "completed")
        assert done["epoch"] == 2 and fleet.api.attempts(job)[1]["resumed_step"] == 1
        assert result(fleet, f"/users/e2e/t15-{i}") == "resumed at 1\n"
        assert fleet.api.steps(job) == [2, 1]


def test_t17_a_damaged_set_is_marked_bad_and_the_one_before_is_used(fleet):
    job = fleet.api.submit(counter(fleet, 22, pace=0))
    lease = fleet.fake().claim()
    older, newest = lease.commit(10), lease.commit(20)
    lease.release().expect(200)
    damaged = next(s for s in fleet.api.sets(job) if s["id"] == newest)
    flip_bit(fleet, damaged["prefix"], "state")
    fleet.node("real")
    fleet.status(job, "completed")
    assert fleet.api.attempts(job)[1]["resumed_step"] == 10
    states = {s["id"]: s["state"] for s in fleet.api.sets(job, every=True)}
    assert states[newest] == "bad" and older in states
    assert [e["data"]["set"] for e in fleet.api.events(job, "checkpoint.bad")] == [newest]
    assert "begin attempt 2 at 10\n" in fleet.api.logs(job, 2)


def test_t17_when_all_sets_are_damaged_the_job_does_not_start_from_zero(fleet):
    job = fleet.api.submit(counter(fleet, 5, pace=0, retry={"max_failures": 1}))
    lease = fleet.fake().claim()
    lease.commit(3)
    lease.release().expect(200)
    flip_bit(fleet, fleet.api.sets(job)[0]["prefix"], "state")
    fleet.node("real")
    wait_for("the set to be marked", lambda: fleet.api.events(job, "checkpoint.bad"))
    wait_for("the attempt to end", lambda: len(fleet.api.attempts(job)) > 1 and
             fleet.api.attempts(job)[1]["state"] != "running")
    assert fleet.api.attempts(job)[1]["state"] == "failed"
    assert "begin attempt 2" not in fleet.api.logs(job, 2)


def test_t17_three_crashes_on_load_make_a_set_suspect(fleet):
    job = fleet.api.submit(checkpoint_job(fleet, lease_ttl=30))
    lease = fleet.fake("f0").claim()
    older, newest = lease.commit(10), lease.commit(20)
    lease.release().expect(200)
    for i in range(3):
        lease = fleet.fake(f"f{i + 1}").claim(wait_ms=15_000)
        assert [c["step"] for c in lease.claimed["candidates"]] == [20, 10]
        lease.renew(resumed_step=20, resumed_set=newest).expect(200)
        lease.fail().expect(200)
    states = {s["id"]: s["state"] for s in fleet.api.sets(job)}
    assert states == {newest: "suspect", older: "committed"}
    assert fleet.api.job(job)["status"] == "pending"
    assert fleet.api.job(job)["recovery_step"] == 10
    lease = fleet.fake("last").claim(wait_ms=15_000)
    assert [c["step"] for c in lease.claimed["candidates"]] == [10, 20]


@pytest.mark.parametrize("keep_last,kept", [(0, [100, 10]), (1, [100, 10]), (3, [100, 10, 9])])
def test_t18_retention_goes_by_number_and_keeps_at_least_two(shared_fleet, keep_last, kept):
    fleet = shared_fleet
    job = fleet.api.submit(checkpoint_job(fleet, keep_last=keep_last))
    lease = fleet.fake().claim()
    for step in (2, 9, 10, 100):
        lease.commit(step)
    wait_for("retention", lambda: fleet.api.steps(job) == kept)
    where = fleet.server.store_file(f"jobs/{job}/")
    wait_for("the bytes to go", lambda: len(list(where.glob("*/ckpt/*/state"))) == len(kept))
    lease.complete().expect(200)


def test_t18_a_program_may_rotate_its_own_files(fleet):
    rotating = r"""
    for i in $(seq $((LOAM_RESUMED_STEP+1)) 12); do
      mkdir ckpt/step-$i.tmp; echo "state $i" > ckpt/step-$i.tmp/state
      rm -rf ckpt/step-$((i-1)); mv ckpt/step-$i.tmp ckpt/step-$i
      echo "step $i"; sleep 0.25
    done; ls ckpt
    """
    fleet.node("a")
    job = fleet.api.submit(checkpoint_job(fleet, rotating))
    fleet.status(job, "completed")
    steps = fleet.api.steps(job)
    assert len(steps) == 2 and steps[0] == 12
    for one in fleet.api.sets(job):
        if one["state"] == "committed":
            stored = fleet.server.store_file(f"{one['prefix']}state").read_text()
            assert stored == f"state {one['step']}\n"


def test_t20_the_recovery_point_is_the_newest_committed_set(shared_fleet):
    fleet = shared_fleet
    job = fleet.api.submit(checkpoint_job(fleet))
    lease = fleet.fake().claim()
    lease.renew(step=5, written_step=5).expect(200)
    assert fleet.api.job(job)["recovery_step"] is None
    lease.commit(20)
    lease.renew(step=53, written_step=50).expect(200)
    seen = fleet.api.job(job)
    assert seen["recovery_step"] == 20 and seen["step"] == 53
    lease.put("ckpt/50-s-half/state", b"uploaded and not committed")
    assert fleet.api.job(job)["recovery_step"] == 20
    lease.complete().expect(200)


def test_t21_what_nobody_committed_is_swept(fleet):
    job = fleet.api.submit(checkpoint_job(fleet))
    node = fleet.fake()
    lease = node.claim()
    kept = lease.commit(1)
    lease.put("ckpt/2-s-orphan/state", b"never committed")
    lease.put("out/0/half", b"never completed")
    lease.log(0, b"a line\n").expect(200)
    where = fleet.server.store_file(f"jobs/{job}/")
    lease.release().expect(200)
    second = node.claim()
    second.put("ckpt/3-s-going-on/state", b"still running")

    def files():
        return sorted(str(f.relative_to(where)) for f in where.rglob("*") if f.is_file())

    assert any("orphan" in f for f in files())
    wait_for("the sweep", lambda: not any("orphan" in f or "half" in f for f in files()), 30)
    left = " ".join(files())
    assert kept in left and "/log/" in left and "going-on" in left


def test_j06_what_the_program_still_writes_is_never_a_set(fleet):
    script = r"""
    mkdir ckpt/step-10.tmp; echo whole > ckpt/step-10.tmp/state; mv ckpt/step-10.tmp ckpt/step-10
    echo "step 10"
    mkdir ckpt/step-50.tmp ckpt/old-step-60 ckpt/step-70x
    for i in 1 2 3 4 5 6 7 8; do echo half >> ckpt/step-50.tmp/state; sleep 0.2; done
    """
    fleet.node("a")
    job = fleet.api.submit(checkpoint_job(fleet, script))
    fleet.status(job, "completed")
    assert [s["step"] for s in fleet.api.sets(job, every=True)] == [10]


def test_a_set_whose_bytes_are_not_there_is_refused(shared_fleet):
    fleet = shared_fleet
    job = fleet.api.submit(checkpoint_job(fleet))
    lease = fleet.fake().claim()
    files = {"state": b"state"}
    etag = lease.put("ckpt/5-s-number-one/state", b"state")
    assert lease.commit_call("s-number-one", 5, files, ['"wrong"']).status >= 400
    assert lease.commit_call("s-number-two", 5, files, [etag]).status >= 400
    assert lease.commit_call("s-number-one", 5, {"state": b"longer state"}, [etag]).status >= 400
    assert lease.commit_call("s-number-one", 5, {**files, "more": b"x"}, [etag, etag]).status >= 400
    assert fleet.api.sets(job) == []
    lease.commit_call("s-number-one", 5, files, [etag]).expect(200)
    lease.commit_call("s-number-one", 5, files, [etag]).expect(200)
    assert fleet.api.steps(job) == [5]
    lease.complete().expect(200)


def test_many_small_files_do_not_delay_the_renewals_of_others(fleet):
    script = r"""
    mkdir ckpt/step-1.tmp
    for i in $(seq 4000); do echo $i > ckpt/step-1.tmp/f$i; done
    mv ckpt/step-1.tmp ckpt/step-1; echo "step 1"
    """
    other = fleet.api.submit(fleet.job("true", heartbeat_interval=0.3, lease_ttl=2))
    lease = fleet.fake().claim()
    job = fleet.api.submit(checkpoint_job(fleet, script))
    fleet.node("a")
    slowest = 0
    while fleet.api.job(job)["status"] != "completed":
        began = time.monotonic()
        lease.renew().expect(200)
        slowest = max(slowest, time.monotonic() - began)
        time.sleep(0.1)
    assert slowest < 1.0, f"a renewal took {slowest:.2f} s"
    assert fleet.api.sets(job)[0]["files"] == 4000 and fleet.api.job(job)["epoch"] == 1
    assert fleet.api.job(other)["epoch"] == 1
    lease.complete().expect(200)
