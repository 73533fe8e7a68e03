# SPDX-License-Identifier: Apache-2.0
"""What gives access is shown nowhere: not in logs, answers, metrics, events or messages."""

import hashlib
import json
import os
import re
import secrets
import subprocess

import pytest
from client import Client
from harness import LOAM, Fleet, Server, wait_for
from programs import CHECKPOINT, PROGRESS
from s3_fault_proxy import ECHO, FaultProxy

HUSH = "hush" + secrets.token_hex(8)
SESSION = "FwoGZXIvYXdzE" + secrets.token_hex(24)
USER_TOKEN = "loam_user_" + secrets.token_hex(32)
NO_CREDENTIALS = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_ENDPOINT_URL": "",
                  "AWS_EC2_METADATA_DISABLED": "true"}
# Succeeds only where the secret has arrived, and leaves a set and an output.
SAVES = f"""
[ "$(printf %s "$HUSH" | sha256sum)" = "{hashlib.sha256(HUSH.encode()).hexdigest()}  -" ] || exit 3
mkdir -p ckpt/t out; echo state > ckpt/t/state; mv ckpt/t ckpt/step-1; echo step 1
echo result > out/result
"""


class Evidence:
    """Everything that was shown to anybody, by where."""

    def __init__(self):
        self.texts = {}

    def add(self, where, text):
        self.texts[f"{len(self.texts)} {where}"] = (
            text if isinstance(text, str) else text.decode(errors="replace"))

    def answer(self, where, answer):
        """Of an answer: its headers too."""
        self.add(where, json.dumps(answer.headers) + answer.body.decode(errors="replace"))
        return answer

    def ran(self, words, code=None, **environment):
        done = subprocess.run([LOAM, *map(str, words)], env={**os.environ, **environment},
                              capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
        assert code is None or done.returncode == code, done.stderr.decode()
        self.add(f"loam {words[0]}", done.stdout + b"\n" + done.stderr)
        return done

    def process(self, where, process):
        self.add(where, process.text())
        if not process.dead():
            with open(f"/proc/{process.pid}/cmdline", "rb") as file:
                self.add(f"{where}'s words", file.read())

    def check(self, secret):
        """`secret` maps what it is to the text that gives access."""
        assert len(self.texts) > 0 and all(len(text) >= 8 for text in secret.values()), secret
        found = [f"{what} in {where}: ...{text[max(0, at - 120):at]}"
                 for what, value in secret.items() for where, text in self.texts.items()
                 if (at := text.find(value)) >= 0]
        found += [f"a token in {where}: {seen.group()[:20]}..." for where, text in self.texts.items()
                  if (seen := re.search(r"loam_(admin|user|pool|node)_[0-9a-f]{16}", text))]
        assert not found, "\n".join(found)


def signatures(requests):
    """Of all presigned and signed requests that went by."""
    out = {}
    for request in requests:
        where = request.target + " " + request.headers.get("authorization", "")
        for value in re.findall(r"Signature=([0-9a-f]{64})", where):
            out[f"a signature of {request.method}"] = value
            out[f"signature {len(out)}"] = value
    return out


@pytest.fixture
def world(ceph, postgres, monkeypatch):
    """A server on PostgreSQL and S3, by way of a proxy that refuses in the ways that quote."""
    for name, value in ceph.environment.items():
        monkeypatch.setenv(name, value)
    planned = []
    plan = lambda r: planned.pop() if planned and "X-Amz-Signature" in r.target else None
    details = f"<Token-0>{SESSION}</Token-0>"
    with FaultProxy(ceph.port, plan, details=details) as proxy:
        store = f"s3://{ceph.bucket()}/loam?endpoint={proxy.endpoint}"
        database = postgres.database()
        fleet = Fleet(db=postgres.url(database), store=store)
        fleet.store_url, fleet.database = store, database
        fleet.proxy, fleet.planned = proxy, planned
        yield fleet
        fleet.close()


def requests_that_fail(fleet, evidence):
    """Wrong tokens, tokens in wrong places, and secrets in bodies that are refused."""
    admin, pool = fleet.server.token("admin"), fleet.server.token("pool")
    job = {"command": "true", "secrets": ["HUSH"]}
    calls = [
        ("POST", "/v1/jobs", {**job, "secret_values": HUSH}),
        ("POST", "/v1/jobs", {**job, "secret_values": {"HUSH": [HUSH]}}),
        ("POST", "/v1/jobs", {**job, "arguments": 5, "secret_values": {"HUSH": HUSH}}),
        ("POST", "/v1/jobs", {**job, "unknown": 1, "secret_values": {"HUSH": HUSH}}),
        ("POST", "/v1/jobs", '{"secret_values": {"HUSH": "' + HUSH + '", }'),
        ("GET", f"/v1/jobs/{admin}", None), ("GET", f"/v1/jobs?limit={admin}", None),
        ("GET", f"/v1/{admin}", None), ("DELETE", f"/v1/tokens/{pool}", None),
        ("GET", f"/v1/store/x/{admin}", None), ("POST", "/v1/tokens", {"kind": admin}),
    ]
    for method, path, body in calls:
        answer = evidence.answer(path[:20], fleet.api.call(method, path, body))
        assert 400 <= answer.status < 500, (method, path, answer.status)
    for token in (USER_TOKEN, admin + "0", pool, ""):
        for path in ("/v1/jobs", "/v1/nodes", "/v1/tokens", "/metrics"):
            evidence.answer(path, Client(fleet.server.url, token).get(path))


def test_a_run_in_which_much_is_refused_shows_no_secret(world, ceph, postgres, tmp_path):
    fleet, evidence = world, Evidence()
    node = fleet.node("a", **NO_CREDENTIALS)
    spec = {"secrets": ["HUSH"], "secret_values": {"HUSH": HUSH}}
    # The node's requests to the store are refused by a store and by a proxy that quote them.
    fleet.planned += ["expired", ECHO, "expired", ECHO]
    job = fleet.api.submit(fleet.job(
        SAVES, checkpoint=CHECKPOINT, progress=PROGRESS, **spec,
        sync={"after": [{"from": "out/", "to": "/users/e2e/out"}]}))
    fleet.status(job, "completed", timeout=60)
    assert fleet.planned == [] and fleet.api.file("/users/e2e/out/result").body == b"result\n"
    # Neither starts; the second's environment was complete by then.
    ended = [fleet.api.submit({**fleet.job("true"), **broken, **spec, "retry": {"max_failures": 1}})
             for broken in ({"command": "/no/such/program"},
                            {"sync": {"before": [{"from": "/users/e2e/none/", "to": "in/"}]}})]
    for one in ended:
        wait_for("an attempt's end", lambda o=one: any(
            attempt["state"] != "running" for attempt in fleet.api.attempts(o)))
    # What a job prints is its own affair: the output is kept as it is.
    printer = fleet.api.submit(fleet.job('echo "mine: $HUSH"', **spec))
    fleet.status(printer, "completed")
    wait_for("its output", lambda: f"mine: {HUSH}" in fleet.api.logs(printer))
    held = fleet.api.submit(fleet.job("true", lease_ttl=60, pool="fakes", **spec))
    fake = fleet.fake(pool="fakes")
    lease = fake.claim()
    assert lease.claimed["secrets"] == {"HUSH": HUSH}

    for one in (job, held, printer, *ended):
        for path in ("", "/events?limit=1000", "/attempts", "/checkpoints?all=1"):
            evidence.answer(path, fleet.api.get(f"/v1/jobs/{one}{path}")).expect(200)
    for path in ("/v1/jobs", "/v1/nodes", "/v1/tokens", "/metrics", "/v1/report"):
        assert evidence.answer(path, fleet.api.get(path)).status == 200
    requests_that_fail(fleet, evidence)
    connection = {"LOAM_SERVER": fleet.server.url, "LOAM_TOKEN": fleet.server.token("admin")}
    for words in (["job", job], ["job", "--json", held], ["events", job], ["nodes"], ["jobs"],
                  ["report", job], ["token", "list"], ["checkpoints", job]):
        evidence.ran(words, **connection)
    dump = tmp_path / "dump"
    evidence.ran(["db", "dump", dump, "--db", postgres.url(fleet.database)], code=0)
    evidence.add("the dump", dump.read_bytes())
    evidence.ran(["store", "check", "--size", "1M", fleet.store_url], code=0)
    evidence.ran(["store", "check", "--json", "--size", "1M", fleet.store_url], code=0)
    evidence.process("the server", fleet.server.process)
    evidence.process("the node", node)
    assert "refused a request" in node.text(), "no refusal was logged"
    evidence.check({
        "the job's secret": HUSH, "the session token": SESSION,
        "the store's secret key": ceph.environment["AWS_SECRET_ACCESS_KEY"],
        "the database's password": postgres.password, "the admin token": fleet.server.token("admin"),
        "the pool token": fleet.server.token("pool"), "a node's token": fake.client.token,
        "a lease's token": lease.claimed["token"], "a wrong token": USER_TOKEN,
        **signatures(fleet.proxy.requests)})
    assert sum("X-Amz-Signature" in r.target for r in fleet.proxy.requests) >= 6


def test_credentials_that_a_store_refuses_are_not_shown(ceph, tmp_path):
    with FaultProxy(ceph.port, lambda r: "expired", details=f"<Token-0>{SESSION}</Token-0>") as proxy:
        evidence = Evidence()
        environment = {**ceph.environment, "AWS_ENDPOINT_URL": proxy.endpoint,
                       "AWS_SESSION_TOKEN": SESSION, "AWS_SECRET_ACCESS_KEY": HUSH}
        (tmp_path / "file").write_text("x")
        for words in (["ls", "s3://bucket/a"], ["cat", "s3://bucket/a"], ["check", "s3://bucket/a"],
                      ["cp", tmp_path / "file", "s3://bucket/a"], ["rm", "s3://bucket/a"]):
            assert evidence.ran(["store", *words], **environment).returncode != 0
        assert any(SESSION in json.dumps(r.headers) for r in proxy.requests)
        assert any("ExpiredToken" in text for text in evidence.texts.values())
        evidence.check({"the session token": SESSION, "the secret key": HUSH,
                        **signatures(proxy.requests)})


@pytest.mark.parametrize("words", [
    ["--db", f"postgresql://loam:{HUSH}@127.0.0.1:1/x"],
    ["--db", f"postgresql://loam@127.0.0.1:1/x?password={HUSH}"],
    ["--db", f"postgresql:/loam:{HUSH}@127.0.0.1/x"],
    ["--db", f"loam:{HUSH}@127.0.0.1/x"],
    ["--db", f"host=127.0.0.1 user=loam password={HUSH}"],
    ["--db", f"mysql://loam:{HUSH}@127.0.0.1/x"],
    ["--store", f"s3://KEY:{HUSH}@bucket/prefix"],
    ["--store", f"s3://KEY:a/{HUSH}@bucket/prefix"],
    ["--store", f"s3://bucket?endpoint=http://loam:{HUSH}@127.0.0.1:1"],
    ["--store", f"s3://bucket?secret_access_key={HUSH}"],
    ["--store", f"s3://bucket?region=x&{HUSH}"],
    ["--store", f"gs://loam:{HUSH}@bucket"],
    ["--pasword", HUSH], [f"--db-password={HUSH}"],
], ids=lambda words: " ".join(words).replace(HUSH, "HUSH"))
def test_what_a_server_is_not_started_with_is_not_shown(words, tmp_path):
    postgres_url = words[0] == "--db" and "://" in words[1]
    server = Server(tmp_path, "redaction", extra=[
        *words, *(["--store", tmp_path / "store"] if postgres_url else [])])
    server.launch()
    wait_for("the server to give up", server.process.dead, timeout=30)
    assert server.process.popen.returncode not in (0, None)
    assert "loam: " in server.process.text(), "it said nothing"
    assert HUSH not in server.process.text(), server.process.text()


@pytest.mark.parametrize("words", [
    ["jobs", "--token", USER_TOKEN], ["jobs", "--token", HUSH], ["jobs", f"--token={HUSH}"],
    ["jobs", USER_TOKEN], [USER_TOKEN], ["job", USER_TOKEN], ["jobs", "--token-file", USER_TOKEN],
    ["jobs", "--server", f"http://loam:{HUSH}@127.0.0.1:1"],
    ["jobs", "--server", f"https://loam:{HUSH}@127.0.0.1:1"],
    ["jobs", "--server", f"http://127.0.0.1:1,http://loam:{HUSH}@127.0.0.1:1"],
    ["jobs", "--server", f"ftp://loam:{HUSH}@127.0.0.1:1"],
    ["store", "ls", f"s3://KEY:{HUSH}@bucket/a"],
    ["store", "check", f"s3://bucket/a?endpoint=http://loam:{HUSH}@127.0.0.1:1"],
    ["store", "cp", f"s3://KEY:{HUSH}@bucket/a", "b"],
    ["db", "dump", "file", "--db", f"postgresql://loam:{HUSH}@127.0.0.1:1/x"],
], ids=lambda words: " ".join(words).replace(HUSH, "HUSH").replace(USER_TOKEN, "TOKEN"))
def test_what_a_command_refuses_is_not_shown(words, shared_fleet, tmp_path):
    evidence = Evidence()
    environment = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "LOAM_TOKEN": USER_TOKEN,
                   "LOAM_SERVER": shared_fleet.server.url, "AWS_ACCESS_KEY_ID": "KEY",
                   "AWS_SECRET_ACCESS_KEY": HUSH}
    done = evidence.ran(words, **environment)
    assert done.returncode != 0 and done.stderr, "it did not refuse"
    evidence.check({"the secret": HUSH, "the token": USER_TOKEN})


def test_a_node_with_a_password_in_its_servers_url_does_not_log_it(shared_fleet):
    url = ",".join(f"http://loam:{HUSH}@127.0.0.1:{shared_fleet.free_port()}" for _ in range(2))
    node = shared_fleet.node("hushed", url=url)
    wait_for("two tries", lambda: node.text().count("cannot enrol yet") >= 2)
    wait_for("another server", lambda: "going on with" in node.text())
    node.kill()
    assert HUSH not in node.text(), node.text()
