# SPDX-License-Identifier: Apache-2.0
"""Several servers over one PostgreSQL database, any of which may be killed."""

import os
import re
import secrets
import signal
import subprocess
import threading
import time

import pytest

from client import Admin
from events import Watcher
from fake_node import Holding
from harness import LOAM, Fleet, Server, processes_with, wait_for
from programs import counter, result


def admins(pair):
    """One person's token works at both."""
    token = pair.server.token("admin")
    return [Admin(server.url, token) for server in pair.servers]


def published(pair):
    """How many files each server says it has published."""
    counts = []
    for server in pair.servers:
        logs = "".join(log.read_text(errors="replace")
                       for log in pair.directory.glob(f"server-{server.state.name}-*.log"))
        counts.append(sum(map(int, re.findall(r"published (\d+) files", logs))))
    return counts


def test_p1_a_job_survives_the_kill_of_the_server_that_its_node_uses(pair):
    a, b = pair.servers
    pair.node("n")
    on_a, on_b = admins(pair)
    job = on_b.submit(counter(pair, 25, 0.1))
    pair.committed(job, 3)
    a.process.kill()
    pair.api = on_b
    pair.status(job, "completed")
    assert result(pair) == "finished by attempt 1\n"
    assert [one["state"] for one in on_b.attempts(job)] == ["succeeded"]
    a.start()
    assert on_a.events(job) == on_b.events(job)
    seqs = [event["seq"] for event in on_b.events(job)]
    assert seqs == sorted(set(seqs))
    steps = [e["data"]["step"] for e in on_b.events(job, "checkpoint.committed")]
    assert steps == sorted(steps) and steps[-1] == 25


def test_p2_a_submit_at_one_server_wakes_a_claim_that_waits_at_the_other(pair):
    node = pair.fake()
    on_b = admins(pair)[1]
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(node.try_claim(wait_ms=20_000)))
    waiting.start()
    time.sleep(0.6)  # by now the claim is parked
    assert not answers
    begin = time.monotonic()
    job = on_b.submit(pair.job("true"))
    waiting.join(20)
    took = time.monotonic() - begin
    assert answers[0].status == 200 and answers[0].json["job"] == job
    assert took < 5, f"the claim was answered after {took:.1f} s"


def test_p3_watchers_at_both_servers_see_all_events_of_both_in_one_order(pair):
    watchers = [Watcher(admin) for admin in admins(pair)]
    jobs = []

    def submit(admin):
        for _ in range(40):
            jobs.append(admin.submit(pair.job("true")))
    threads = [threading.Thread(target=submit, args=(admin,)) for admin in admins(pair) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(jobs) == 160
    for watcher in watchers:
        wait_for("all events", lambda w=watcher: len(w.events) >= 160)
        seen = [e["job"] for e in watcher.events if e["type"] == "job.submitted"]
        assert sorted(seen) == sorted(jobs)
        # The counter is taken in the transaction, so nothing is skipped and nothing comes late.
        assert watcher.seqs() == list(range(1, len(watcher.events) + 1))
    assert watchers[0].events == watchers[1].events


def test_p4_outputs_are_published_by_one_server_only(pair):
    on_a, on_b = admins(pair)
    files = 30
    script = f"for i in $(seq {files}); do echo $i > out/$i; done"
    node = pair.node("n", slots=2)
    jobs = [admin.submit(pair.job(script, sync={"after": [
        {"from": "out/", "to": f"/users/e2e/{i}"}]})) for i, admin in enumerate([on_a, on_b] * 3)]
    for job in jobs:
        pair.status(job, "completed")
    wait_for("the last line of the log", lambda: sum(published(pair)) >= files * len(jobs))
    counts = published(pair)
    assert sum(counts) == files * len(jobs), counts
    for i in range(len(jobs)):
        assert len(on_b.listing(f"/users/e2e/{i}/")) == files
    assert all(len(on_a.events(job, "job.completed")) == 1 for job in jobs)
    # The one that did most of it dies, and the other takes over.
    publisher = counts.index(max(counts))
    other = [on_a, on_b][1 - publisher]
    pair.servers[publisher].process.kill()
    pair.api = other
    job = other.submit(pair.job(script, sync={"after": [
        {"from": "out/", "to": "/users/e2e/last"}]}))
    pair.status(job, "completed")
    assert len(other.listing("/users/e2e/last/")) == files
    assert not node.dead()


def test_p5_a_job_goes_on_when_the_database_is_restarted(pair, postgres):
    pair.node("n")
    on_a, on_b = admins(pair)
    watcher = Watcher(on_b)
    job = on_a.submit(counter(pair, 40, 0.1))
    pair.committed(job, 3)
    postgres.kill()
    begin = time.monotonic()
    answer = on_a.get("/v1/jobs", timeout=40)
    took = time.monotonic() - begin
    assert answer.status == 503 and answer.error == "unavailable", answer.body
    assert took < 20, f"the answer took {took:.1f} s"
    assert postgres.password not in answer.body.decode()
    postgres.start()
    for admin in (on_a, on_b):
        wait_for("the server to find it again", lambda a=admin: a.get("/v1/jobs").status == 200)
    pair.status(job, "completed", timeout=60)
    assert result(pair) == "finished by attempt 1\n"
    assert len(on_a.attempts(job)) == 1
    # A stream stays open over the outage and misses nothing.
    wait_for("the last event", lambda: watcher.events[-1]["type"] == "job.completed")
    assert watcher.seqs() == list(range(1, len(watcher.events) + 1))


def test_p6_the_lease_clock_keeps_time_with_two_servers_and_with_one(pair, postgres):
    options = pair.servers[0].options
    database = options[options.index("--db") + 1].rpartition("/")[2]

    def clock():
        before = time.monotonic()
        ms = int(postgres.sql(database, "SELECT ms FROM lease_clock").stdout)
        return before, ms, time.monotonic()

    def check():
        before, first, begun = clock()
        time.sleep(3)
        ended, second, after = clock()
        # On a busy machine a ticker may come late, and at most a second of each wait counts.
        assert (ended - begun) * 400 <= second - first <= (after - before) * 1000 + 1000
    check()
    pair.servers[0].process.kill()
    check()


def test_p7_a_cancel_at_one_server_reaches_the_node_by_the_other(pair):
    a, b = pair.servers
    pair.node("n", url=a.url)
    on_b = admins(pair)[1]
    spec = {**pair.job("echo step 1; sleep 1000"), "heartbeat_interval": 60, "lease_ttl": 300}
    job = on_b.submit({**spec, "environment": {**spec["environment"], "SLEEPER": pair.mark}})
    wait_for("the program to run", lambda: processes_with(f"SLEEPER={pair.mark}"))
    time.sleep(0.5)
    on_b.cancel(job)
    wait_for("the program to end", lambda: not processes_with(f"SLEEPER={pair.mark}"),
             timeout=15)


def test_p8_a_lease_holds_at_every_server(pair):
    node = pair.fake()
    on_a, on_b = admins(pair)
    job = on_a.submit(pair.job("true", secrets=["KEY"], secret_values={"KEY": "s3cret"},
                               sync={"after": [{"from": "out/", "to": "/users/e2e/"}]}))
    claim = secrets.token_hex(16)
    at_a = node.try_claim(claim=claim).expect(200)
    url = node.client.url
    node.client.url = on_b.url
    at_b = node.try_claim(claim=claim).expect(200)
    assert at_a == at_b and at_b["job"] == job and at_b["secrets"] == {"KEY": "s3cret"}
    lease = Holding(node, at_b)
    lease.renew().expect(200)
    grant = lease.grants(put=["out/0/f"]).expect(200)["put"][0]
    assert lease.log(0, b"from b\n").status == 200
    node.client.url = url
    etag = lease.call("PUT", grant["url"], b"data", grant["headers"]).expect(200)["etag"]
    lease.commit(5)
    node.client.url = on_b.url
    assert on_a.logs(job).startswith("from b\n")
    lease.complete([{"index": 0, "path": "f", "size": 4, "etag": etag}]).expect(200)
    pair.status(job, "completed")
    assert on_a.file("/users/e2e/f").body == b"data"
    assert on_b.steps(job) == [5]


def test_p9_the_password_is_seen_nowhere(pair, postgres):
    for server in pair.servers:
        pid = server.process.pid
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read()
        assert b"postgresql://loam:*" in words and postgres.password.encode() not in words
        assert postgres.password not in server.process.text()
        assert not any(postgres.password.encode() in file.read_bytes()
                       for file in server.state.glob("*") if file.is_file())


@pytest.mark.parametrize("way", ["PGPASSWORD", "PGPASSFILE"])
def test_p9_a_password_may_come_from_elsewhere(postgres, tmp_path, way):
    passfile = tmp_path / "pass"
    passfile.write_text(f"*:*:*:loam:{postgres.password}\n")
    passfile.chmod(0o600)
    fleet = None
    value = str(passfile) if way == "PGPASSFILE" else postgres.password
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(way, value)
        fleet = Fleet(db=postgres.url(postgres.database(), password=False))
    try:
        assert fleet.api.get("/v1/jobs").status == 200
    finally:
        fleet.close()


def test_p10_a_wrong_database_is_refused_with_a_reason(postgres, tmp_path):
    server = Server(tmp_path, "p10", extra=["--db", "postgresql://loam:hush@127.0.0.1:1/x",
                                            "--store", tmp_path / "store"])
    server.launch()
    wait_for("the server to give up", server.process.dead, timeout=30)
    assert "cannot connect to the database postgresql://loam:***@" in server.process.text()
    assert "hush" not in server.process.text()


def test_p13_the_command_line_finds_a_server_that_answers(pair):
    a, b = pair.servers
    on_b = admins(pair)[1]
    job = on_b.submit(pair.job("true"))
    on_b.cancel(job)
    a.process.kill()
    environment = {**os.environ, "LOAM_SERVER": f"{a.url},{b.url}",
                   "LOAM_TOKEN": pair.server.token("admin")}
    # The second must not be sent twice, so it may not simply be tried at both.
    for words in (["jobs"], ["retry", job]):
        ran = subprocess.run([LOAM, *words], env=environment, capture_output=True, text=True,
                             timeout=60)
        assert ran.returncode == 0, ran.stderr
    assert on_b.job(job)["status"] == "pending"
    assert len(on_b.events(job, "job.retried")) == 1


def test_p14_a_server_that_freezes_and_wakes_harms_nothing(pair):
    frozen, other = pair.servers
    pair.node("n")
    on_frozen, on_other = admins(pair)
    pair.api = on_other
    job = on_other.submit(counter(pair, 60, 0.1))
    pair.committed(job, 3)
    others = []
    # Calls under way make it likely that it holds the database's lock while it is frozen.
    done = threading.Event()

    def submit():
        while not done.is_set():
            others.append(on_frozen.submit(pair.job("true", pool="nobody")))
    busy = threading.Thread(target=submit)
    busy.start()
    try:
        for seconds in (0.5, 2, 9):
            wait_for("calls at the server", lambda n=len(others): len(others) > n)
            frozen.process.signal(signal.SIGSTOP)
            time.sleep(seconds)
            frozen.process.signal(signal.SIGCONT)
    finally:
        frozen.process.signal(signal.SIGCONT)
        done.set()
        busy.join(60)
    pair.status(job, "completed", timeout=60)
    # Three TTLs pass, and the lease clock with them, but no claim is given twice.
    steps = [e["data"]["step"] for e in on_other.events(job, "checkpoint.committed")]
    assert steps == sorted(set(steps)) and steps[-1] == 60
    assert len(on_other.events(job, "job.completed")) == 1
    epochs = [e["data"]["epoch"] for e in on_other.events(job, "job.claimed")]
    assert epochs == sorted(set(epochs))
    wait_for("the frozen server to answer", lambda: on_frozen.get("/readyz").status == 200)
    assert on_frozen.events(job) == on_other.events(job)
    assert len(set(others)) == len(others)
    assert all(on_other.job(one)["status"] == "pending" for one in others[-20:])


def test_p15_with_a_key_file_the_database_holds_no_key(postgres, tmp_path):
    database = postgres.database()
    key, wrong = tmp_path / "key", tmp_path / "wrong"
    for file in (key, wrong):
        file.write_text(secrets.token_hex(32) + "\n")
    fleet = Fleet(db=postgres.url(database), servers=2, extra=["--key-file", key])
    try:
        on_a, on_b = admins(fleet)
        job = on_a.submit(fleet.job("true", secrets=["KEY"], secret_values={"KEY": "s3cret"}))
        assert fleet.fake(server=fleet.servers[1]).claim().claimed["secrets"] == {"KEY": "s3cret"}
        assert on_b.job(job)["status"] == "running"
        held = postgres.sql(database, "SELECT encode(value, 'escape') FROM setting").stdout
        assert "fingerprint:" in held and key.read_text().strip() not in held
        # Neither another key nor none is let in, and each is told what to do.
        store = ["--db", postgres.url(database), "--store", fleet.directory / "state" / "store"]
        for more, reason in ((["--key-file", wrong], "another key than the other servers"),
                             ([], "name it with --key-file"),
                             (["--key-file", tmp_path / "none"], "none")):
            server = Server(tmp_path, fleet.mark, name=f"w{len(reason)}", extra=[*store, *more])
            server.launch()
            wait_for("the server to give up", server.process.dead)
            assert reason in server.process.text()
    finally:
        fleet.close()
