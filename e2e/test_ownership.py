# SPDX-License-Identifier: Apache-2.0
"""A job has one owner: frozen, cut-off and dead nodes lose it, and nothing of theirs shows."""

import contextlib
import os
import signal
import threading
import time

from fake_node import Holding
from harness import alive, processes_with, wait_for
from programs import CHECKPOINT, STUBBORN, counter, result
from proxy import Proxy


def programs_of(fleet, node):
    """Programs that run in a node's directory; the node itself and watchdogs work elsewhere."""
    return sorted(processes_with(f"HOME={node_home(fleet, node)}"))


def node_home(fleet, name):
    homes = list((fleet.directory / f"node-{name}" / "attempts").glob("*/work"))
    return f"{homes[0]}/.loam/home" if homes else "none"


def test_t01_a_frozen_node_loses_its_job_and_its_child(fleet):
    a = fleet.node("a")
    job = fleet.api.submit(counter(fleet, 45))
    fleet.running_on(job, "a")
    fleet.committed(job, 3)
    programs = programs_of(fleet, "a")
    assert programs
    a.signal(signal.SIGSTOP)
    fleet.node("b")
    fleet.running_on(job, "b")
    of_a = [s for s in fleet.api.sets(job, every=True) if s["epoch"] == 1]
    a.signal(signal.SIGCONT)
    wait_for("the child of A to end", lambda: not any(map(alive, programs)), timeout=5)
    wait_for("A to hear of it", lambda: f"the lease of {job} (attempt 1) is lost" in a.text())
    done = fleet.status(job, "completed")
    assert done["epoch"] == 2 and done["num_interruptions"] == 1
    assert result(fleet) == "finished by attempt 2\n"
    after = [s for s in fleet.api.sets(job, every=True) if s["epoch"] == 1]
    assert {s["id"] for s in after} == {s["id"] for s in of_a}
    assert [x["state"] for x in fleet.api.attempts(job)] == ["lost", "succeeded"]


def test_t01_every_call_of_the_old_owner_gets_lease_lost(fleet):
    spec = fleet.job("true", heartbeat_interval=0.2, lease_ttl=0.5, checkpoint=CHECKPOINT,
                     sync={"after": [{"from": "out/", "to": "/users/e2e/t1"}]})
    job = fleet.api.submit(spec)
    old = fleet.fake("a").claim()
    kept = old.commit(1)
    etag = old.put("ckpt/2-s-late-one/state", b"late")
    wait_for("the lease to expire", lambda: fleet.api.job(job)["phase"] == "recovering")
    assert old.grants(put=["out/0/x"]).error == "conflict"
    new = fleet.fake("b").claim()
    assert new.epoch == old.epoch + 1
    calls = {
        "renew": old.renew(step=9), "grants": old.grants(put=["out/0/result"]),
        "upload": old.upload("out/0/result", b"of the old one"),
        "commit": old.commit_call("s-late-one", 2, {"state": b"late"}, [etag]),
        "bad": old.post(f"checkpoints/{kept}/bad", {"message": "lie"}),
        "log": old.log(0, b"late output"), "complete": old.complete(), "fail": old.fail(),
        "release": old.release(),
    }
    assert {k: (v.status, v.error) for k, v in calls.items()} == {
        k: (409, "lease_lost") for k in calls}
    seen = fleet.api.job(job)
    assert seen["status"] == "running" and seen["epoch"] == 2 and seen["num_failures"] == 0
    assert fleet.api.steps(job) == [1]
    assert "late output" not in fleet.api.logs(job, 1)
    assert fleet.api.listing("/users/e2e/t1/") == []


def test_t02_a_node_without_the_server_fences_itself_and_comes_back(fleet):
    proxy = Proxy(fleet.server.port)
    fleet.closers.append(proxy.close)
    fleet.node("a", url=proxy.url)
    job = fleet.api.submit(counter(fleet, 80))
    fleet.committed(job, 3)
    programs = programs_of(fleet, "a")
    proxy.cut()
    cut_at = time.monotonic()
    wait_for("the lease to expire", lambda: fleet.api.job(job)["phase"] == "recovering")
    # The last renewal was sent before the cut, so the node's deadline lies within its TTL of it.
    time.sleep(max(0, cut_at + 3.5 - time.monotonic()))
    fenced_at = time.monotonic()
    time.sleep(2)
    attempted = [r for r in proxy.refused if r.at < fenced_at]
    assert any("/renew" in r.line for r in attempted), "the recorder sees nothing"
    late = [r.line for r in proxy.refused if r.at >= fenced_at]
    quiet = ("/renew", "/v1/node/heartbeat", "/v1/node/commands", "/v1/node/claim")
    assert late and [line for line in late if not any(q in line for q in quiet)] == []
    assert alive(programs[0]), "the program must run on"
    proxy.restore()
    done = fleet.status(job, "completed")
    assert done["epoch"] == 1 and result(fleet) == "finished by attempt 1\n"


def test_t02_a_cut_off_node_whose_job_was_given_away_ends_the_child(fleet):
    proxy = Proxy(fleet.server.port)
    fleet.closers.append(proxy.close)
    fleet.node("a", url=proxy.url)
    job = fleet.api.submit(fleet.job(STUBBORN, progress={"pattern": r"step (\d+)"}))
    fleet.running_on(job, "a")
    programs = wait_for("the programs", lambda: len(programs_of(fleet, "a")) >= 3 and
                        programs_of(fleet, "a"))
    proxy.cut()
    fleet.node("b")
    fleet.running_on(job, "b")
    assert any(map(alive, programs))
    proxy.restore()
    renewed = wait_for("A to ask again", lambda: proxy.forwarded_after_restore() and
                       time.monotonic())
    wait_for("the tree of A to end", lambda: not any(map(alive, programs)), timeout=5)
    # A retries within 250 ms of the restored network, then the grace period of 1 s runs.
    assert time.monotonic() - renewed < 1 + 1 + 0.5
    fleet.api.cancel(job)


def test_t07_a_killed_node_is_replaced_within_ttl_and_a_second(fleet):
    a = fleet.node("a")
    job = fleet.api.submit(counter(fleet, 30))
    fleet.committed(job, 2)
    fleet.node("b")
    programs = programs_of(fleet, "a")
    killed_at = time.monotonic()
    a.kill()
    wait_for("another owner", lambda: fleet.api.job(job)["epoch"] == 2, timeout=10)
    assert time.monotonic() - killed_at < 4.0
    wait_for("the child to end", lambda: not any(map(alive, programs)), timeout=2)
    fleet.status(job, "completed")
    assert fleet.api.attempts(job)[1]["resumed_step"] >= 2
    assert result(fleet) == "finished by attempt 2\n"


def stubborn_tree(fleet):
    job = fleet.api.submit(fleet.job(STUBBORN, progress={"pattern": r"step (\d+)"}))
    node = fleet.node("a")
    fleet.running_on(job, "a")
    programs = wait_for("the whole tree", lambda: len(programs_of(fleet, "a")) >= 3 and
                        programs_of(fleet, "a"))
    return job, node, programs


def test_t07_a_stubborn_tree_does_not_outlive_a_killed_agent(fleet):
    _, node, programs = stubborn_tree(fleet)
    killed_at = time.monotonic()
    node.kill()
    wait_for("the tree to end", lambda: not any(map(alive, programs)))
    assert time.monotonic() - killed_at < 1 + 1


def test_t01_a_stubborn_tree_does_not_outlive_a_frozen_agent(fleet):
    _, node, programs = stubborn_tree(fleet)
    node.signal(signal.SIGSTOP)
    frozen_at = time.monotonic()
    wait_for("the tree to end", lambda: not any(map(alive, programs)))
    # The lease runs out at most 3 s later; the grace period and a second follow.
    assert time.monotonic() - frozen_at < 3 + 1 + 1


def test_t03_a_thousand_jobs_have_one_owner_each(fleet):
    spec = fleet.job("true", lease_ttl=60)
    ids = fleet.api.post("/v1/jobs", {"jobs": [spec] * 1000}).expect(201)["jobs"]
    owners = {one["id"]: [] for one in ids}
    problems = []

    def work(node):
        try:
            while True:
                answer = node.try_claim()
                if answer.status == 204:
                    return
                held = answer.expect(200)
                owners[held["job"]].append(node.id)
                Holding(node, held).complete().expect(200)
        except BaseException as problem:  # the main thread reports it
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(fleet.fake(f"f{i}"),)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert problems == []
    assert {len(o) for o in owners.values()} == {1}
    assert len({o[0] for o in owners.values()}) == 8
    wait_for("all to be completed", lambda: len(
        fleet.api.get("/v1/jobs?status=completed&limit=1000").json["jobs"]) == 1000)


def test_t04_four_slots_do_not_mix_up(fleet):
    fleet.node("a", slots=4)
    jobs = [fleet.api.submit(counter(fleet, 30, to=f"/users/e2e/slot{i}")) for i in range(4)]
    for job in jobs:
        fleet.running_on(job, "a")
        fleet.committed(job, 2)
    fleet.node("b")
    home = next((fleet.directory / "node-a/attempts").glob(f"{jobs[1]}-1/work"))
    for pid in processes_with(f"HOME={home}/.loam/home"):
        with contextlib.suppress(ProcessLookupError):  # a sleep of it may just have ended
            os.kill(pid, signal.SIGKILL)
    for i, job in enumerate(jobs):
        done = fleet.status(job, "completed", timeout=40)
        assert done["epoch"] == (2 if i == 1 else 1)
        assert result(fleet, f"/users/e2e/slot{i}") == f"finished by attempt {done['epoch']}\n"
    first = [fleet.api.attempts(job)[0] for job in jobs]
    assert {x["slot"] for x in first} == {0, 1, 2, 3}
    assert [x["state"] for x in first] == ["succeeded", "failed", "succeeded", "succeeded"]
    assert first[1]["signal"] == 9
