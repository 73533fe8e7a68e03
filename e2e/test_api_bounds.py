# SPDX-License-Identifier: Apache-2.0
"""What the API refuses, and that a refusal changes nothing."""

import http.client
import json
import secrets
import socket

import pytest
from harness import wait_for
from programs import CHECKPOINT


@pytest.fixture
def api(shared_fleet):
    """The admin's client; at the end of the test there must be no more jobs than before."""
    admin = shared_fleet.api
    before = jobs_of(admin)
    yield admin
    assert jobs_of(admin) == before


def jobs_of(admin):
    page = admin.get("/v1/jobs?limit=1000").expect(200)
    return [(j["id"], j["status"]) for j in page["jobs"]]


GOOD = {"command": "true", "heartbeat_interval": 1, "lease_ttl": 3}

BAD_JOBS = {
    "unknown key": ({**GOOD, "comand": "x"}, "command"),
    "unknown nested key": ({**GOOD, "checkpoint": {**CHECKPOINT, "keep_lats": 2}},
                           "checkpoint.keep_last"),
    "no command": ({"name": "x"}, "command"),
    "negative TTL": ({**GOOD, "lease_ttl": -3}, "lease_ttl"),
    "TTL below two heartbeats": ({**GOOD, "lease_ttl": 1.5}, "lease_ttl"),
    "text for a number": ({**GOOD, "priority": "high"}, "priority"),
    "pattern that does not compile": ({**GOOD, "progress": {"pattern": "step (\\d+"}}, "pattern"),
    "pattern without a group": ({**GOOD, "progress": {"pattern": "step \\d+"}}, "group"),
    "pattern that explodes": ({**GOOD, "progress": {"pattern": "((x{1000}){1000})"}}, "pattern"),
    "checkpoints outside": ({**GOOD, "checkpoint": {**CHECKPOINT, "path": "../ckpt/"}}, "path"),
    "checkpoints outside in the middle": (
        {**GOOD, "checkpoint": {**CHECKPOINT, "path": "a/../../b"}}, "path"),
    "absolute checkpoints": ({**GOOD, "checkpoint": {**CHECKPOINT, "path": "/etc"}}, "path"),
    "output from outside": ({**GOOD, "sync": {"after": [{"from": "/etc/passwd", "to": "/users/x"}]}},
                            "from"),
    "output into a relative path": ({**GOOD, "sync": {"after": [{"from": "x", "to": "users/x"}]}},
                                    "to"),
    "input over the work directory": (
        {**GOOD, "sync": {"before": [{"from": "/datasets/x", "to": "../../x"}]}}, "to"),
    "NUL in an argument": ({**GOOD, "arguments": ["a\0b"]}, "arguments"),
    "bad environment name": ({**GOOD, "environment": {"A=B": "x"}}, "environment"),
    "reserved environment name": ({**GOOD, "environment": {"LOAM_JOB_ID": "x"}}, "LOAM_"),
    "undeclared parameter": ({**GOOD, "arguments": ["{{steps}}"]}, "steps"),
    "secret without value": ({**GOOD, "secrets": ["KEY"]}, "KEY"),
    "workdir that is no id": ({**GOOD, "workdir": "."}, "workdir"),
}


@pytest.mark.parametrize("name", BAD_JOBS)
def test_a_bad_job_is_refused_by_name(api, name):
    spec, named = BAD_JOBS[name]
    answer = api.post("/v1/jobs", spec)
    assert answer.status == 400, answer.body
    assert answer.error == "invalid_argument" and named in answer.message, answer.body


@pytest.mark.parametrize("key", ["budget", "webhook", "image", "gang"])
def test_a_key_of_a_later_version_is_refused_as_such(api, key):
    answer = api.post("/v1/jobs", {**GOOD, key: {}})
    assert answer.error == "unimplemented" and key in answer.message


@pytest.mark.parametrize("where", ["/jobs/x", "/.loam/x", "/workdirs/x"])
def test_paths_of_the_server_are_refused(api, where):
    after = {**GOOD, "sync": {"after": [{"from": "x", "to": where}]}}
    assert api.post("/v1/jobs", after).status == 403
    assert api.get(f"/v1/store{where}").status == 403
    assert api.call("PUT", f"/v1/store{where}", b"x").status == 403
    assert api.call("DELETE", f"/v1/store{where}").status == 403


@pytest.mark.parametrize("body", [
    b"", b"{", b"null", b"[]", b'"x"', b"\xff\xfe", b'{"command": "\xff"}', b'{"command": NaN}',
    b"[" * 100_000, b'{"a":' * 50_000 + b"1" + b"}" * 50_000, b'{"command": 1e999}',
    b'{"jobs": []}', b'{"jobs": {}}', b'{"jobs": [[]]}', b'{"command": "\\ud800"}',
])
def test_bodies_that_are_no_job(api, body):
    answer = api.call("POST", "/v1/jobs", body)
    assert answer.status == 400, (body[:50], answer.status, answer.body)


def test_a_huge_body_is_refused_before_it_is_read(api):
    with socket.create_connection(("127.0.0.1", int(api.url.rpartition(":")[2]))) as connection:
        connection.settimeout(20)
        connection.sendall((f"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
                            f"{api.token}\r\nContent-Length: {100 << 20}\r\n\r\n").encode())
        response = http.client.HTTPResponse(connection)
        response.begin()
        assert response.status == 413


def test_a_huge_chunked_body_is_refused(api):
    host = ("127.0.0.1", int(api.url.rpartition(":")[2]))
    with socket.create_connection(host) as connection:
        connection.settimeout(20)
        connection.sendall((f"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
                            f"{api.token}\r\nTransfer-Encoding: chunked\r\n\r\n").encode())
        try:
            for _ in range(100):
                connection.sendall(b"100000\r\n" + b" " * 0x100000 + b"\r\n")
        except (BrokenPipeError, ConnectionResetError):
            pass  # It may hang up in the middle, once it has had enough.
        try:
            response = http.client.HTTPResponse(connection)
            response.begin()
            assert response.status == 413
        except ConnectionResetError:
            pass
    assert api.get("/healthz").status == 200


@pytest.mark.parametrize("token", [None, "", "x", "loam_" + "0" * 40, "a" * 5000])
def test_a_bad_token_changes_nothing(api, token):
    headers = {"Authorization": f"Bearer {token}" if token is not None else "Basic eDp5"}
    for method, path in (("POST", "/v1/jobs"), ("GET", "/v1/jobs"), ("POST", "/v1/nodes"),
                         ("POST", "/v1/node/claim"), ("PUT", "/v1/store/users/e2e/x"),
                         ("POST", "/v1/tokens"), ("GET", "/v1/events")):
        answer = api.call(method, path, json.dumps(GOOD), headers)
        assert answer.status == 401, (method, path, answer.body)


def test_each_kind_of_token_opens_its_own_doors(shared_fleet, api):
    pool = api.__class__(api.url, shared_fleet.server.token("pool"))
    assert pool.post("/v1/jobs", GOOD).status == 403
    assert pool.get("/v1/jobs").status == 403
    assert pool.post("/v1/node/claim", {"claim": "x" * 16, "slot": 0}).status == 403
    assert api.post("/v1/nodes", {"name": "x"}).status == 403
    user = api.user("carl")
    assert user.post("/v1/tokens", {"kind": "admin", "owner": "carl"}).status == 403
    assert user.get("/v1/report").status == 403
    node = shared_fleet.fake("doors")
    assert node.client.post("/v1/jobs", GOOD).status == 403
    assert node.client.get("/v1/store/users/e2e/x").status == 403


def test_owners_do_not_see_or_reach_each_other(shared_fleet):
    fleet = shared_fleet
    ann, bob = fleet.api.user("ann"), fleet.api.user("bob")
    job = ann.submit(GOOD)
    assert [j["id"] for j in bob.get("/v1/jobs").expect(200)["jobs"]] == []
    for path in ("", "/events", "/attempts", "/logs", "/checkpoints", "/cost"):
        assert bob.get(f"/v1/jobs/{job}{path}").status == 404, path
    assert bob.post(f"/v1/jobs/{job}/cancel", {}).status == 404
    assert ann.call("PUT", "/v1/store/users/ann/x", b"mine").status == 201
    for path in ("/users/ann/x", "/users/bob/../ann/x", "/users/bob/%2e%2e/ann/x", "/users//ann/x"):
        assert bob.get(f"/v1/store{path}").status in (400, 403, 404), path
        assert bob.call("PUT", f"/v1/store{path}", b"not mine").status in (400, 403), path
        assert bob.call("DELETE", f"/v1/store{path}").status in (400, 403), path
    assert ann.file("/users/ann/x").body == b"mine"
    take = {**GOOD, "sync": {"before": [{"from": "/users/ann/x", "to": "x"}]}}
    give = {**GOOD, "sync": {"after": [{"from": "x", "to": "/users/ann/y"}]}}
    near = {**GOOD, "sync": {"after": [{"from": "x", "to": "/users/bobby/y"}]}}
    assert [bob.post("/v1/jobs", spec).status for spec in (take, give, near)] == [403] * 3
    assert bob.get("/v1/store?prefix=/users/ann/").status == 403
    ann.cancel(job)


def test_a_lease_opens_nothing_but_its_own_job(shared_fleet):
    fleet = shared_fleet
    job = fleet.api.submit(fleet.job("true", pool="bounds", checkpoint=CHECKPOINT))
    other = fleet.api.submit(fleet.job("true", pool="bounds", checkpoint=CHECKPOINT))
    node, thief = fleet.fake("n", slots=2, pool="bounds"), fleet.fake("thief", pool="thieves")
    assert thief.try_claim().status == 204
    one, two = node.claim(0), node.claim(1)
    assert {one.job, two.job} == {job, other}
    set_id = two.commit(4)
    token = one.claimed["token"]
    for lease in (f"{one.epoch}.{secrets.token_hex(16)}", f"{one.epoch + 1}.{token}",
                  f"{one.epoch - 1}.{token}", f"{one.epoch}.{two.claimed['token']}"):
        answer = one.call("POST", f"/v1/node/jobs/{one.job}/renew", {"phase": "running",
                          **node.now()}, {"Loam-Lease": lease})
        assert (answer.status, answer.error) == (409, "lease_lost"), lease
    stolen = thief.client.call("POST", f"/v1/node/jobs/{one.job}/complete",
                               {"outputs": [], "exit_code": 0, **thief.now()},
                               {"Loam-Lease": one.lease})
    assert (stolen.status, stolen.error) == (409, "lease_lost")
    for path in ("../x", "ckpt/../../x", "/ckpt/x", "log/0", "out//x", "ckpt/%2e%2e/x", "", "ckpt/\0"):
        answer = one.grants(put=[path])
        granted = answer.status == 200 and answer.json["put"][0]["url"]
        assert not granted or path == "ckpt/%2e%2e/x", (path, answer.body)
    assert one.upload("../../../escape", b"x").status in (400, 403, 404)
    assert one.upload("ckpt/%2e%2e/%2e%2e/escape", b"x").status in (400, 403, 404)
    for ref in ({"set": set_id, "path": "state"}, {"input": 0, "path": ""},
                {"workdir": "0" * 64}, {"set": "../" + set_id, "path": "state"}):
        assert one.grants(get=[ref]).status >= 400, ref
    assert one.post(f"checkpoints/{set_id}/bad", {"message": "not mine"}).status < 500
    assert [s["state"] for s in fleet.api.sets(two.job)] == ["committed"]
    assert list(fleet.server.state.rglob("*escape*")) == []
    for lease in (one, two):
        lease.complete().expect(200)


def test_an_upload_whose_checksum_is_wrong_is_not_stored(shared_fleet):
    fleet = shared_fleet
    job = fleet.api.submit(fleet.job("true", pool="crc"))
    lease = fleet.fake("crc", pool="crc").claim()
    wrong = lease.upload("out/0/x", b"123456789", **{"Loam-Crc32c": "00000000"})
    assert wrong.status == 422
    assert list(fleet.server.store_file(f"jobs/{job}").rglob("x")) == []
    assert lease.upload("out/0/x", b"123456789", **{"Loam-Crc32c": "e3069283"}).status == 200
    lease.complete().expect(200)


def test_j22_a_thousand_jobs_in_one_call_are_all_or_none(fleet):
    specs = [{**GOOD, "name": f"job-{i}"} for i in range(1000)]
    bad = specs[:500] + [{**GOOD, "lease_ttl": -1}] + specs[501:]
    answer = fleet.api.post("/v1/jobs", {"jobs": bad})
    assert answer.status == 400 and "jobs[500]" in answer.message
    assert fleet.api.get("/v1/jobs").expect(200)["jobs"] == []
    assert fleet.fake().try_claim().status == 204
    assert fleet.api.post("/v1/jobs", {"jobs": [*specs, GOOD]}).status == 400
    ids = fleet.api.post("/v1/jobs", {"jobs": specs}).expect(201)["jobs"]
    assert len({one["id"] for one in ids}) == 1000
    page = fleet.api.get("/v1/jobs?limit=1000").expect(200)["jobs"]
    assert [j["name"] for j in reversed(page)] == [s["name"] for s in specs]


def test_a_silent_client_does_not_hold_the_server(api):
    host = ("127.0.0.1", int(api.url.rpartition(":")[2]))
    silent = [socket.create_connection(host) for _ in range(60)]
    try:
        for one in silent:
            one.sendall(b"POST /v1/jobs HTTP/1.1\r\nContent-Length: 100\r\n\r\n{")
        wait_for("an answer", lambda: api.get("/healthz", timeout=3).status == 200, timeout=6)
    finally:
        for one in silent:
            one.close()
