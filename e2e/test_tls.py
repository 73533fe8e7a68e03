# SPDX-License-Identifier: Apache-2.0
"""TLS of the server's own: a job's whole life over it, what is refused, and new certificates."""

import http.client
import os
import re
import signal
import socket
import ssl
import subprocess
import urllib.parse

import pytest
from authority import Authority
from client import Client
from harness import LOAM, Fleet, Server, wait_for


@pytest.fixture
def authority(tmp_path):
    made = Authority(tmp_path / "authority")
    made.issue("server")
    return made


@pytest.fixture
def fleet(authority):
    made = Fleet(tls=authority)
    yield made
    made.close()


def loam(fleet, *arguments, server=None, ca_file=None, timeout=60, **environment):
    """A client command; `ca_file` False means none."""
    env = {**os.environ, "HOME": str(fleet.directory), "XDG_CONFIG_HOME": "",
           "LOAM_SERVER": server or fleet.server.url, "LOAM_TOKEN": fleet.server.token("admin"),
           **environment}
    if ca_file is not False:
        env["LOAM_CA_FILE"] = str(ca_file or fleet.server.ca_file)
    return subprocess.run([LOAM, *map(str, arguments)], env=env, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=timeout, check=False)


def shown(fleet):
    """The serial number of the certificate that a new connection sees."""
    context = ssl.create_default_context(cafile=fleet.server.ca_file)
    with socket.create_connection(("127.0.0.1", fleet.server.port), 10) as plain:
        with context.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
            return int(secure.getpeercert()["serialNumber"], 16)


def test_tls1_a_job_runs_from_end_to_end(fleet):
    """Node, command line, work directory, log follow, events and large transfers."""
    fleet.node("secure")
    work = fleet.directory / "work"
    work.mkdir()
    data = os.urandom(24 << 20)
    (work / "data").write_bytes(data)
    (work / "job.yaml").write_text(
        "name: tls\nworkdir: .\ncommand: /bin/bash\n"
        "arguments: [-c, 'echo step 1; mkdir out; cp data out/; sha256sum data; echo the end']\n"
        "sync: {after: [{from: out/, to: /users/admin/tls}]}\nheartbeat_interval: 1\n"
        f"environment: {{E2E_MARK: '{fleet.mark}'}}\n")
    done = loam(fleet, "submit", work / "job.yaml", "--wait")
    assert done.returncode == 0, done.stdout + done.stderr
    job = fleet.api.get("/v1/jobs").expect(200)["jobs"][0]
    assert job["status"] == "completed"
    followed = loam(fleet, "logs", "-f", job["id"])
    assert followed.returncode == 0 and "the end" in followed.stdout, followed
    copied = fleet.directory / "copied"
    copy = loam(fleet, "store", "cp", "store:/users/admin/tls/data", copied)
    assert copy.returncode == 0, copy.stderr
    assert copied.read_bytes() == data
    up = loam(fleet, "store", "cp", copied, "store:/users/admin/again")
    assert up.returncode == 0, up.stderr
    assert fleet.api.file("/users/admin/again").body == data
    events = loam(fleet, "events", "--job", job["id"], "--json")
    assert "completed" in events.stdout, events


def test_tls2_the_command_line_refuses_what_it_cannot_trust(fleet, authority, tmp_path):
    assert loam(fleet, "jobs").returncode == 0
    other = Authority(tmp_path / "other")
    for arguments, wanted in (
            ({"ca_file": other.ca_file}, "certificate"),
            ({"ca_file": False}, "certificate"),
            ({"ca_file": tmp_path / "missing.pem"}, "missing.pem")):
        done = loam(fleet, "jobs", **arguments)
        assert done.returncode != 0, arguments
        assert wanted in done.stderr and "--ca-file" in done.stderr, done.stderr
    flagged = loam(fleet, "jobs", "--ca-file", authority.ca_file, ca_file=False)
    assert flagged.returncode == 0, flagged.stderr
    authority.issue("server", names="DNS:elsewhere.example")
    fleet.server.process.signal(signal.SIGHUP)
    refused = wait_for("the other host's certificate to be seen",
                       lambda: (done := loam(fleet, "jobs")).returncode != 0 and done)
    assert "127.0.0.1" in refused.stderr, refused.stderr
    authority.issue("server", expired=True)
    fleet.server.process.signal(signal.SIGHUP)
    expired = wait_for("the expired certificate to be seen",
                       lambda: "expired" in (done := loam(fleet, "jobs")).stderr and done)
    assert expired.returncode != 0
    authority.issue("server")
    fleet.server.process.signal(signal.SIGHUP)
    wait_for("a good certificate", lambda: loam(fleet, "jobs").returncode == 0)


def test_tls3_a_node_refuses_an_unknown_authority(fleet, tmp_path):
    other = Authority(tmp_path / "other")
    node = fleet.node("stranger", LOAM_CA_FILE=other.ca_file)
    wait_for("the node to give up", node.dead)
    assert node.popen.returncode != 0
    assert "certificate" in node.text(), node.text()


def test_tls4_plain_http_is_told_what_to_do(fleet):
    answer = Client(fleet.server.url.replace("https", "http")).get("/healthz")
    assert answer.status == 400 and "https://" in answer.message
    done = loam(fleet, "jobs", server=fleet.server.url.replace("https", "http"))
    assert done.returncode != 0 and "https://" in done.stderr


@pytest.mark.parametrize("signaled", [True, False])
def test_tls5_a_new_certificate_is_seen_while_an_old_stream_goes_on(fleet, authority, signaled):
    url = urllib.parse.urlsplit(fleet.server.url)
    stream = http.client.HTTPSConnection(
        url.hostname, url.port, timeout=30,
        context=ssl.create_default_context(cafile=authority.ca_file))
    stream.request("GET", "/v1/events?after=0",
                   headers={"Authorization": f"Bearer {fleet.server.token('admin')}"})
    response = stream.getresponse()
    assert response.status == 200
    before = shown(fleet)
    serial = authority.issue("server")
    if signaled:
        fleet.server.process.signal(signal.SIGHUP)
    wait_for("the new certificate", lambda: shown(fleet) != before, timeout=10)
    assert shown(fleet) == serial
    job = fleet.api.submit(fleet.job("true"))
    seen = b""
    while job.encode() not in seen:
        line = response.readline()
        assert line, f"the stream ended: {seen!r}"
        seen += line
    stream.close()


def test_tls6_a_running_job_outlives_a_new_certificate(fleet, authority):
    """The node's kept connections and new ones go on; nothing of the attempt is lost."""
    fleet.node("steady")
    job = fleet.api.submit(fleet.job("for i in $(seq 30); do echo step $i; sleep 0.1; done",
                                     progress={"pattern": "step (\\d+)"}))
    fleet.running_on(job, "steady")
    authority.issue("server")
    fleet.server.process.signal(signal.SIGHUP)
    ended = fleet.status(job, "completed")
    assert ended["epoch"] == 1
    assert fleet.api.logs(job).count("step") == 30


def refused_start(tmp_path, certificate, key):
    server = Server(tmp_path / "refused", "refused")
    (tmp_path / "refused").mkdir()
    server.options += ["--tls-cert", certificate, "--tls-key", key]
    server.launch()
    try:
        wait_for("the server to give up", server.process.dead)
    finally:
        server.process.stop()
    assert server.process.popen.returncode != 0
    return server.process.text()


def test_tls7_a_key_that_others_can_read_is_refused(authority, tmp_path):
    os.chmod(authority.key("server"), 0o644)
    said = refused_start(tmp_path, authority.certificate("server"), authority.key("server"))
    assert re.search(r"server\.key can be used by others \(mode 0644\); do: chmod 600", said), said


def test_tls8_a_key_of_another_certificate_is_refused(authority, tmp_path):
    authority.issue("other")
    said = refused_start(tmp_path, authority.certificate("server"), authority.key("other"))
    assert "other.key does not belong to the certificate" in said, said
