# SPDX-License-Identifier: Apache-2.0
"""Jobs over a bucket: nodes have no credentials and move bytes by requests that the server signs."""

import hashlib
import json
import pathlib
import subprocess
import urllib.error
import urllib.request

import pytest
from harness import LOAM, Fleet, wait_for
from programs import CHECKPOINT, PROGRESS

MIB = 1 << 20
LARGE = 150 * MIB  # in parts
SMALL = 20 * MIB   # in one request
NO_CREDENTIALS = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_ENDPOINT_URL": "",
                  "AWS_EC2_METADATA_DISABLED": "true"}
# Writes a checkpoint of two files, waits to be interrupted, and then makes its outputs from it.
PROGRAM = f"""
set -e
if [ -d ckpt/step-1 ]; then
  echo step 2
  sleep 1; mkdir -p out; cp ckpt/step-1/large ckpt/step-1/small out/
else
  mkdir -p ckpt/tmp
  openssl enc -aes-128-ctr -pass pass:1 -nosalt -pbkdf2 </dev/zero 2>/dev/null | head -c {LARGE} >ckpt/tmp/large
  head -c {SMALL} ckpt/tmp/large | tac | head -c {SMALL} >ckpt/tmp/small
  mv ckpt/tmp ckpt/step-1; echo step 1
  sleep 1000
fi
"""


@pytest.fixture
def bucket_fleet(ceph, monkeypatch):
    for name, value in ceph.environment.items():
        monkeypatch.setenv(name, value)
    made = Fleet(store=f"s3://{ceph.bucket()}/loam")
    yield made
    made.close()


def received(process):
    """Bytes that a process has read, from sockets too."""
    for line in pathlib.Path(f"/proc/{process.pid}/io").read_text().splitlines():
        if line.startswith("rchar:"):
            return int(line.split()[1])
    raise AssertionError("no rchar")


def send(grant, method, data=None, **headers):
    """A granted request as anybody could send it; its status."""
    headers = {**{name.lower(): value for name, value in grant["headers"].items()}, **headers}
    request = urllib.request.Request(grant["url"], data=data, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.headers, refused.read()


def test_bytes_go_past_the_server_and_nodes_have_no_credentials(bucket_fleet):
    fleet = bucket_fleet
    first = fleet.node("a", **NO_CREDENTIALS)
    before = received(fleet.server.process)
    job = fleet.api.submit(fleet.job(
        PROGRAM, checkpoint=CHECKPOINT, progress=PROGRESS,
        sync={"after": [{"from": "out/", "to": "/users/e2e/out"}]}))
    fleet.committed(job, 1, timeout=60)
    first.kill()
    fleet.node("b", **NO_CREDENTIALS)
    done = fleet.status(job, "completed", timeout=90)
    assert fleet.api.attempts(job)[1]["resumed_step"] == 1 and done["num_interruptions"] == 1
    # Up and down twice 170 MiB; the server saw requests only.
    assert received(fleet.server.process) - before < 20 * MIB
    assert fleet.api.listing("/users/e2e/out/") == ["/users/e2e/out/large", "/users/e2e/out/small"]
    made = subprocess.run(
        f"openssl enc -aes-128-ctr -pass pass:1 -nosalt -pbkdf2 </dev/zero 2>/dev/null | head -c {LARGE}",
        shell=True, capture_output=True, check=True).stdout
    body = fleet.api.file("/users/e2e/out/large").body
    assert hashlib.sha256(body).hexdigest() == hashlib.sha256(made).hexdigest()


def test_a_grant_is_for_one_key_one_length_and_one_method(bucket_fleet):
    node = bucket_fleet.fake()
    bucket_fleet.api.submit(bucket_fleet.job("true", lease_ttl=60))
    lease = node.claim()
    grant = lease.grants(put=[{"path": "out/0/x", "size": 5}]).expect(200)["put"][0]
    assert grant["url"].startswith("http") and "secret" not in json.dumps(grant).lower()
    assert send(grant, "PUT", b"123456", **{"content-length": "6"})[0] == 403
    assert send(grant, "GET")[0] == 403
    elsewhere = {**grant, "url": grant["url"].replace("/out/0/x", "/out/0/y")}
    assert send(elsewhere, "PUT", b"12345")[0] == 403
    later = {**grant, "url": grant["url"].replace("X-Amz-Expires=", "X-Amz-Expires=9")}
    assert send(later, "PUT", b"12345")[0] == 403
    assert send(grant, "PUT", b"12345")[0] == 200
    assert lease.grants(put=[{"path": "../x", "size": 5}]).status >= 400
    assert lease.grants(put=[{"path": "out/0/x", "size": -1}]).status == 400
    assert lease.grants(put=[{"path": "out/0/x", "size": 1 << 60}]).status == 400


def test_an_upload_in_parts_is_completed_once_and_repeats_are_told_the_same(bucket_fleet):
    node = bucket_fleet.fake()
    bucket_fleet.api.submit(bucket_fleet.job("true", lease_ttl=60))
    lease = node.claim()
    size = 70 * MIB
    upload = lease.grants(put=[{"path": "out/0/big", "size": size}]).expect(200)["put"][0]
    parts = []
    for number in range(-(-size // upload["part_bytes"])):
        length = min(upload["part_bytes"], size - number * upload["part_bytes"])
        wanted = {"path": "out/0/big", "upload": upload["upload"], "part": number + 1,
                  "length": length}
        grant = lease.post("grants", {"part": [wanted]}).expect(200)["part"][0]
        status, headers, _ = send(grant, "PUT", bytes([number]) * length)
        assert status == 200
        parts.append({"etag": headers["ETag"].strip('"'), "size": length})
    body = {"path": "out/0/big", "upload": upload["upload"], "parts": parts}
    first = lease.post("uploads", body).expect(200)
    assert first["size"] == size
    assert lease.post("uploads", body).expect(200) == first
    gone = lease.post("uploads", {**body, "path": "out/0/other", "upload": "2~none"})
    assert gone.status == 404, gone.body
    assert lease.post("uploads", {**body, "parts": []}).status == 400


def test_uploads_that_died_with_their_attempt_are_aborted(bucket_fleet, ceph):
    node = bucket_fleet.fake()
    job = bucket_fleet.api.submit(bucket_fleet.job("true", lease_ttl=60))
    lease = node.claim()
    lease.grants(put=[{"path": "out/0/big", "size": 200 * MIB}]).expect(200)
    store = bucket_fleet.server.options[bucket_fleet.server.options.index("--store") + 1]

    def pending():
        shown = subprocess.run([LOAM, "store", "uploads", "--json", "--older-than", "0", f"{store}/jobs/{job}/"],
                               capture_output=True, text=True, check=True)
        return json.loads(shown.stdout)["uploads"]
    assert len(pending()) == 1
    lease.fail(cause="platform").expect(200)
    wait_for("the upload to be aborted", lambda: not pending(), timeout=40)
