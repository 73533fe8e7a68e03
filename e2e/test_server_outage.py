# SPDX-License-Identifier: Apache-2.0
"""The server is killed at every write, and stays away for long: nothing is lost or doubled."""

import http.client
import json
import secrets
import socket
import time

from client import Admin, Answer, Client
from fake_node import FakeNode
from harness import Server, processes_with, wait_for
from programs import CHECKPOINT, counter, result

MOST_WRITES = 400


class Stubborn(Client):
    """Repeats a call until it is answered, and starts the server again when it is dead."""

    server = None

    def call(self, *arguments, **options):
        until = time.monotonic() + 20
        while True:
            try:
                answer = super().call(*arguments, **options)
            except (OSError, http.client.HTTPException):
                answer = Answer(503, {}, b"")
            if answer.status < 500 or time.monotonic() > until:
                return answer
            if self.server.process.dead():
                self.server.start()
            time.sleep(0.002)


def work_through(url, admin, pool_token, client, spec):
    """A whole job as a careful client and a careful node live it; all repeats are safe."""
    key = {"Idempotency-Key": secrets.token_hex(8)}
    job = admin.post("/v1/jobs", spec, headers=key).expect(201)["id"]
    node = FakeNode(url, pool_token, client=client)
    lease = node.claim()
    assert lease.job == job
    lease.renew("staging").expect(200)
    set_id = lease.commit(7)
    lease.log(0, b"step 7\n", last=1).expect(200)
    lease.renew(step=7, resumed_step=None, first_step_ago_us=10).expect(200)
    lease.complete([lease.output(0, "result", b"the result")], step=7).expect(200)
    done = wait_for("the end", lambda: (seen := admin.get(f"/v1/jobs/{job}").expect(200))[
        "status"] not in ("pending", "running") and seen, timeout=10, every=0.01)
    return job, set_id, done


def check_once(admin, job, set_id, done):
    assert done["status"] == "completed" and done["epoch"] == 1, done
    assert [x["id"] for x in admin.get("/v1/jobs").expect(200)["jobs"]] == [job]
    attempts = admin.get(f"/v1/jobs/{job}/attempts").expect(200)["attempts"]
    assert [x["state"] for x in attempts] == ["succeeded"]
    sets = admin.get(f"/v1/jobs/{job}/checkpoints").expect(200)["checkpoints"]
    assert [(x["id"], x["state"]) for x in sets] == [(set_id, "committed")]
    assert admin.get("/v1/store/users/e2e/crash/result").body == b"the result"
    kinds = [e["type"] for e in admin.get(f"/v1/jobs/{job}/events").expect(200)["events"]]
    for once in ("job.claimed", "checkpoint.committed", "job.succeeded", "job.completed"):
        assert kinds.count(once) == 1, (once, kinds)
    assert admin.get(f"/v1/jobs/{job}/logs").body == b"step 7\n"


def crash_round(fleet, directory, n):
    """Runs the scenario on a fresh server that dies at its n-th write; says whether it did."""
    server = Server(directory, fleet.mark)
    server.port = fleet.free_port()
    server.url = f"http://127.0.0.1:{server.port}"
    server.launch(LOAM_CRASH_AT_WRITE=n)
    if not wait_for("the server to start or die", lambda: {None: None, True: "up", False: "dead"}[
            server.ready()], every=0.005) == "up":
        server.start()
    client = type("OneServer", (Stubborn,), {"server": server})
    admin = client(server.url, server.token("admin"))
    spec = fleet.job("true", lease_ttl=30, checkpoint=CHECKPOINT,
                     sync={"after": [{"from": "out/", "to": "/users/e2e/crash"}]})
    try:
        outcome = work_through(server.url, admin, server.token("pool"), client, spec)
        check_once(admin, *outcome)
    except AssertionError as problem:
        raise AssertionError(f"after a crash at write {n}: {problem}\n"
                             f"{server.process.text()[-2000:]}") from problem
    finally:
        server.process.kill()
    return server.starts > 1


def test_t13_a_server_killed_at_any_write_loses_and_doubles_nothing(fleet):
    for n in range(1, MOST_WRITES):
        directory = fleet.directory / f"crash-{n}"
        directory.mkdir()
        if not crash_round(fleet, directory, n):
            break
    assert 10 < n < MOST_WRITES - 1, f"{n} writes in all"


def test_t14_a_long_outage_freezes_leases_and_work_counts_after(fleet):
    ttl = 1
    times = {"heartbeat_interval": 0.3, "lease_ttl": ttl}
    fleet.node("a", slots=2)
    fleet.node("b", slots=2)
    short = fleet.api.submit(counter(fleet, 25, to="/users/e2e/short", **times))
    long = fleet.api.submit(counter(fleet, 120, to="/users/e2e/long", **times))
    for job in (short, long):
        fleet.committed(job, 2)
    fleet.server.process.kill()
    time.sleep(10 * ttl)
    fleet.server.start()
    for job, name in ((short, "short"), (long, "long")):
        done = fleet.status(job, "completed", timeout=40)
        assert done["epoch"] == 1 and done["num_interruptions"] == 0
        assert result(fleet, f"/users/e2e/{name}") == "finished by attempt 1\n"
        assert fleet.api.events(job, "lease.expired") == []
    wait_for("the programs to end", lambda: not [
        p for p in processes_with(f"E2E_MARK={fleet.mark}")
        if p not in {n.pid for n in fleet.nodes} | {fleet.server.process.pid}], timeout=5)


def test_t10_a_submit_that_was_cut_off_is_absent_or_runnable(fleet):
    body = json.dumps(fleet.job("true")).encode()
    key = secrets.token_hex(8)
    head = (f"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {fleet.api.token}\r\n"
            f"Idempotency-Key: {key}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n").encode()
    address = ("127.0.0.1", fleet.server.port)
    for sent in (head, head + body[:-1], head[:-10]):
        with socket.create_connection(address) as connection:
            connection.sendall(sent)
    assert fleet.api.get("/v1/jobs").expect(200)["jobs"] == []
    with socket.create_connection(address) as connection:
        connection.sendall(head + body)
    answers = [fleet.api.call("POST", "/v1/jobs", body, {"Idempotency-Key": key}).expect(201)
               for _ in range(3)]
    jobs = fleet.api.get("/v1/jobs").expect(200)["jobs"]
    assert len(jobs) == 1 and {a["id"] for a in answers} == {jobs[0]["id"]}
    other = fleet.api.post("/v1/jobs", fleet.job("false"), headers={"Idempotency-Key": key})
    assert other.status == 422 and "Idempotency-Key" in other.message, other.body
    assert len(fleet.api.get("/v1/jobs").expect(200)["jobs"]) == 1
    lease = fleet.fake().claim()
    assert lease.job == jobs[0]["id"]
    lease.complete().expect(200)
    fleet.status(lease.job, "completed")


def test_t10_the_same_key_of_another_owner_is_another_key(fleet):
    key = {"Idempotency-Key": "the-same"}
    spec = fleet.job("true")
    ids = {api.post("/v1/jobs", spec, headers=key).expect(201)["id"]
           for api in (fleet.api, fleet.api.user("ann"), fleet.api.user("bob"))}
    assert len(ids) == 3


def test_a_restarted_server_keeps_its_tokens_and_terminal_states(fleet):
    job = fleet.api.submit(fleet.job("true"))
    node = fleet.fake()
    node.claim().complete().expect(200)
    before = fleet.status(job, "completed")
    canceled = fleet.api.submit(fleet.job("true"))
    fleet.api.cancel(canceled)
    fleet.server.process.kill()
    fleet.server.start()
    assert fleet.api.job(job) == before
    assert fleet.api.job(canceled)["status"] == "canceled"
    assert isinstance(fleet.api, Admin) and node.try_claim().status == 204
