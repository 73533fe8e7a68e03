# SPDX-License-Identifier: Apache-2.0
"""Failures, stalls, cancels, drains and ends, as a job and its owner see them."""

import signal
import threading
import time

from fake_node import Holding
from harness import processes_with, wait_for
from programs import CHECKPOINT, PROGRESS, counter, result


def test_t08_a_program_that_hangs_is_restarted_as_stalled(fleet):
    script = r"""
    echo "step $LOAM_ATTEMPT"; echo "step 1$LOAM_ATTEMPT"
    [ $LOAM_ATTEMPT = 1 ] && sleep 1000
    true
    """
    fleet.node("a")
    job = fleet.api.submit(fleet.job(script, progress={**PROGRESS, "timeout": 1}))
    done = fleet.status(job, "completed")
    first, second = fleet.api.attempts(job)
    assert (first["state"], first["cause"]) == ("failed", "stalled") and first["step"] == 11
    assert second["state"] == "succeeded" and second["step"] == 12
    assert done["num_interruptions"] == 0
    assert fleet.api.events(job, "attempt.failed")[0]["data"]["cause"] == "stalled"


def test_t11_cancel_while_the_job_waits_for_a_new_owner(fleet):
    job = fleet.api.submit(fleet.job("true", heartbeat_interval=0.2, lease_ttl=0.5))
    node = fleet.fake()
    lease = node.claim()
    wait_for("the lease to expire", lambda: fleet.api.job(job)["phase"] == "recovering")
    assert fleet.api.cancel(job)["status"] == "canceled"
    assert lease.renew().error == "lease_lost"
    assert lease.complete().error == "lease_lost"
    assert node.try_claim().status == 204
    other = fleet.api.submit(fleet.job("true"))
    assert node.claim().job == other
    assert fleet.api.job(job)["status"] == "canceled"


def test_t11_cancel_races_with_claims(fleet):
    node = fleet.fake()
    for _ in range(40):
        job = fleet.api.submit(fleet.job("true"))
        canceler = threading.Thread(target=fleet.api.cancel, args=(job,))
        canceler.start()
        answer = node.try_claim()
        canceler.join(10)
        assert answer.status in (200, 204), answer.body
        assert fleet.api.job(job)["status"] == "canceled"
        if answer.status == 200:
            assert Holding(node, answer.json).renew().error == "lease_lost"
    assert node.try_claim().status == 204
    nodes = fleet.api.get("/v1/nodes").expect(200)["nodes"]
    assert [n["slots_busy"] for n in nodes] == [0]


def test_t11_cancel_ends_a_running_program_and_frees_the_node(fleet):
    fleet.node("a")
    job = fleet.api.submit(counter(fleet, 1000))
    fleet.committed(job)
    fleet.api.cancel(job)
    other = fleet.api.submit(fleet.job("true"))
    fleet.status(other, "completed", timeout=8)
    assert fleet.api.job(job)["status"] == "canceled"
    assert result(fleet) is None
    left = [f for f in (fleet.directory / "node-a/attempts").iterdir() if job in f.name]
    assert left == []


def test_t12_a_failed_attempt_is_pending_at_once_with_back_off(fleet):
    job = fleet.api.submit(fleet.job("true", lease_ttl=60))
    lease = fleet.fake("a").claim()
    failed_at = time.monotonic()
    lease.fail().expect(200)
    seen = fleet.api.job(job)
    assert (seen["status"], seen["phase"], seen["reason"]) == ("pending", "backoff", "program")
    other = fleet.fake("b")
    assert other.try_claim().status == 204
    again = other.claim(wait_ms=10_000)
    assert again.job == job and 1.5 < time.monotonic() - failed_at < 6
    again.complete().expect(200)
    assert fleet.status(job, "completed")["num_failures"] == 1


def test_t12_failures_of_the_program_run_out(fleet):
    job = fleet.api.submit(fleet.job("echo oops; exit 7", retry={"max_failures": 1}))
    fleet.node("a")
    done = fleet.status(job, "failed")
    assert done["reason"] == "max_failures" and "7" in done["message"]
    assert fleet.api.attempts(job)[0]["exit_code"] == 7
    assert "oops\n" in fleet.api.logs(job)


def test_t16_and_j09_nothing_is_published_before_it_is_all_there(fleet):
    after = {"after": [{"from": "out/", "to": "/users/e2e/j9"}]}
    job = fleet.api.submit(fleet.job("true", sync=after))
    lease = fleet.fake().claim()
    output = lease.output(0, "a", b"content")
    for wrong in ({**output, "etag": '"other"'}, {**output, "size": 3}, {**output, "path": "b"},
                  {**output, "index": 1}, {**output, "path": "../../a"}):
        answer = lease.complete([output, wrong])
        assert 400 <= answer.status < 500, (wrong, answer.body)
        assert fleet.api.job(job)["status"] == "running"
        assert fleet.api.listing("/users/e2e/j9/") == []
    lease.complete([output]).expect(200)
    lease.complete([output]).expect(200)
    fleet.status(job, "completed")
    assert fleet.api.listing("/users/e2e/j9/") == ["/users/e2e/j9/a"]


def test_j09_a_job_without_its_output_is_not_completed(fleet):
    fleet.node("a")
    job = fleet.api.submit(fleet.job("echo ran", retry={"max_failures": 1}, sync={
        "after": [{"from": "missing.bin", "to": "/users/e2e/missing"}]}))
    done = fleet.status(job, "failed")
    assert "missing.bin" in done["message"]
    assert fleet.api.events(job, "job.completed") == []


def test_j13_a_job_this_node_may_not_take_does_not_block_others(fleet):
    first = fleet.api.submit(fleet.job("true", lease_ttl=60))
    node = fleet.fake("a")
    node.claim().fail(cause="program").expect(200)
    other_pool = fleet.api.submit(fleet.job("true", pool="elsewhere", priority=9))
    pending = fleet.api.submit(fleet.job("true"))
    time.sleep(2.5)  # The back-off of the first one is over then, and it stands before the others.
    assert node.claim().job == pending
    assert fleet.fake("b").claim().job == first
    assert fleet.api.job(other_pool)["status"] == "pending"
    assert fleet.fake("c", pool="elsewhere").claim().job == other_pool


SAVES_ON_TERM = r"""
save() { mkdir ckpt/step-$i.tmp; echo $i > ckpt/step-$i.tmp/state; mv ckpt/step-$i.tmp ckpt/step-$i; }
trap 'echo "told to stop at $(date +%s.%N)"; save; exit 0' TERM
for i in $(seq $((LOAM_RESUMED_STEP+1)) 1000); do
  echo "step $i"; sleep 0.05
  [ $LOAM_RESUMED_STEP -gt 0 ] && exit 0
done
"""


def test_t32_a_drained_node_hands_over_within_two_seconds(fleet):
    a = fleet.node("a")
    job = fleet.api.submit(fleet.job(SAVES_ON_TERM, checkpoint=CHECKPOINT, progress=PROGRESS,
                                     grace_period=10))
    fleet.running_on(job, "a")
    wait_for("a step", lambda: (fleet.api.job(job)["step"] or 0) >= 1)
    fleet.node("b")
    wait_for("B to enrol", lambda: len(fleet.api.get("/v1/nodes").json["nodes"]) == 2)
    termed, wall = time.monotonic(), time.time()
    a.signal(signal.SIGTERM)
    wait_for("B to take over", lambda: fleet.api.job(job)["epoch"] == 2)
    assert time.monotonic() - termed < 2
    fleet.status(job, "completed")
    first, second = fleet.api.attempts(job)
    saved = fleet.api.steps(job)[0]
    assert first["state"] == "released" and second["resumed_step"] == saved > 0
    told = float(fleet.api.logs(job, 1).split("told to stop at ")[1].split()[0])
    assert told - wall < 1
    assert fleet.api.job(job)["num_failures"] == 0
    kinds = [e["type"] for e in fleet.api.events(job)]
    assert kinds.index("checkpoint.committed") < kinds.index("job.released")
    wait_for("the drained node to leave", a.dead, timeout=5)
    assert a.popen.returncode == 0


def test_t32_an_idle_node_leaves_soon_when_drained(fleet):
    node = fleet.node("a")
    wait_for("the node to enrol", lambda: fleet.api.get("/v1/nodes").json["nodes"])
    time.sleep(0.3)  # It asks for a job first, and that call waits at the server.
    node.signal(signal.SIGTERM)
    wait_for("the node to leave", node.dead, timeout=5)
    assert node.popen.returncode == 0


def test_t34_logs_of_a_dead_attempt_are_readable_by_attempt(fleet):
    a = fleet.node("a")
    job = fleet.api.submit(counter(fleet, 40))
    wait_for("output", lambda: "step 12 " in fleet.api.logs(job), timeout=20)
    a.kill()
    fleet.node("b")
    fleet.status(job, "completed")
    one, two = fleet.api.logs(job, 1), fleet.api.logs(job, 2)
    steps = [int(line.split()[1]) for line in one.splitlines() if line.startswith("step ")]
    assert steps == list(range(1, len(steps) + 1)) and len(steps) >= 12
    assert one.startswith("begin attempt 1 at 0\n") and "the attempt was lost" in one
    resumed = fleet.api.attempts(job)[1]["resumed_step"]
    assert two.startswith(f"begin attempt 2 at {resumed}\n") and "lost" not in two
    steps = [int(line.split()[1]) for line in two.splitlines() if line.startswith("step ")]
    assert steps == list(range(resumed + 1, 41))


def test_t34_gaps_are_marked_and_repeats_are_not_doubled(fleet):
    job = fleet.api.submit(fleet.job("true"))
    lease = fleet.fake().claim()
    for _ in range(2):
        lease.log(0, b"first\n").expect(200)
    lease.log(1, b"second\n", offset=1006, gap=1000, last=1).expect(200)
    text = fleet.api.logs(job)
    assert text.index("first\n") < text.index("1000") < text.index("second\n")
    assert text.count("first") == 1
    lease.complete().expect(200)


def test_nothing_of_an_ended_job_is_left_on_its_node(fleet):
    fleet.node("a")
    script = "setsid sleep 1000 & sleep 1000 & echo 'step 1'; exit 0"
    job = fleet.api.submit(fleet.job(script))
    fleet.status(job, "completed")
    homes = f"{fleet.directory}/node-a/attempts/{job}-1/work"
    assert processes_with(f"HOME={homes}/.loam/home") == []
    wait_for("the work directory to go", lambda: list(
        (fleet.directory / "node-a/attempts").iterdir()) == [])


def test_a_job_that_no_node_can_run_says_so_until_one_comes(fleet):
    fleet.node("small", LOAM_FAKE_GPUS="t4:16")
    wait_for("the node to be there", lambda: fleet.api.get("/v1/nodes").json["nodes"])
    job = fleet.api.submit(fleet.job("true", resources={"gpus": 1, "gpu_class": ["h100"]}))
    seen = wait_for("the job to be unschedulable", lambda: (
        lambda j: j if j["phase"] == "unschedulable" else None)(fleet.api.job(job)))
    assert seen["status"] == "pending" and "gpu_class h100" in seen["message"]
    fleet.node("big", LOAM_FAKE_GPUS="h100:80")
    done = fleet.status(job, "completed")
    assert done.get("message", "") == ""


def test_the_use_of_gpus_reaches_the_report(fleet):
    fleet.node("gpu", LOAM_FAKE_GPUS="t4:16:70")
    job = fleet.api.submit(fleet.job("echo step 1; sleep 4; echo step 2", resources={"gpus": 1},
                                     progress=PROGRESS))
    fleet.status(job, "completed")
    report = fleet.api.get(f"/v1/jobs/{job}/cost").expect(200)
    assert 0.5 < report["gpu_utilisation"] <= 0.7001
    pool = fleet.api.get("/v1/report").expect(200)["pools"][0]
    assert pool["steps"] == 2 and pool["usd_per_step"] > report["usd_per_step"]


def test_a_node_whose_slots_renew_sends_no_heartbeats(fleet):
    """A renewal is a sign of life too; while the only slot renews twice a second, none is due."""
    fleet.node("a")
    job = fleet.api.submit(fleet.job("sleep 1000", heartbeat_interval=0.5))
    fleet.running_on(job, "a")

    def count(name):
        text = fleet.api.get("/metrics").body.decode()
        return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))
    time.sleep(1)
    renewals, heartbeats = count("loam_renewals_total"), count("loam_heartbeats_total")
    time.sleep(3)
    assert count("loam_renewals_total") - renewals >= 4
    assert count("loam_heartbeats_total") - heartbeats == 0


def test_a_log_stream_that_was_cut_off_goes_on_where_it_was(fleet):
    fleet.node("a")
    job = fleet.api.submit(fleet.job("for i in 1 2 3 4 5 6; do echo line $i; sleep 0.7; done"))
    fleet.status(job, "completed")

    def events(**headers):
        answer = fleet.api.get(f"/v1/jobs/{job}/logs?follow=1", headers=headers)
        return [dict(line.split(": ", 1) for line in block.splitlines())
                for block in answer.body.decode().strip().split("\n\n")]
    whole = events()
    assert len(whole) > 3 and whole[-1]["event"] == "end"
    again = events(**{"Last-Event-ID": whole[1]["id"]})
    assert again == whole[2:]
    for bad in ("1", "9.0", "x.y", "0.0", "1.-1"):
        answer = fleet.api.get(f"/v1/jobs/{job}/logs?follow=1", headers={"Last-Event-ID": bad})
        assert answer.status == 400, bad
