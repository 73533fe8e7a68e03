# SPDX-License-Identifier: Apache-2.0
"""The server against its own description: no fault, no undocumented status, type or shape."""

import fcntl
import hashlib
import os
import re
import subprocess
import sys

import pytest
from harness import ROOT
from programs import CHECKPOINT

CONTRACT = ROOT / "e2e" / "contract"
VENV = ROOT / "build" / "contract-venv"
SEED = 20_240_607
CHECKS = ("not_a_server_error,status_code_conformance,content_type_conformance,"
          "response_schema_conformance")
# What ends a lease would leave nothing for the others, so it has a run of its own.
ENDINGS = r"^/v1/node/(leave|jobs/\{job\}/(complete|fail|release))$"
RUNS = {
    "users": ["--exclude-path-regex", "^/v1/node", "--exclude-operation-id", "watchEvents"],
    "nodes": ["--include-path-regex", "^/v1/node", "--exclude-path-regex", ENDINGS],
    "endings": ["--include-path-regex", ENDINGS],
}


@pytest.fixture(scope="module")
def schemathesis():
    """The program, in a virtual environment that is made when its list of packages is new."""
    program = VENV / "bin" / "schemathesis"
    wanted = hashlib.sha256((CONTRACT / "requirements.txt").read_bytes()).hexdigest()
    mark = VENV / "made-from"
    VENV.parent.mkdir(exist_ok=True)
    with open(VENV.with_suffix(".lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not mark.exists() or mark.read_text() != wanted:
            made = subprocess.run(["/usr/bin/python3", "-m", "venv", "--clear", VENV],
                                  capture_output=True, text=True, check=False)
            assert made.returncode == 0, made.stdout + made.stderr
            install = subprocess.run(
                [VENV / "bin" / "pip", "install", "-q", "--disable-pip-version-check",
                 "-r", CONTRACT / "requirements.txt"], capture_output=True, text=True, check=False)
            if install.returncode != 0:
                offline = re.search(r"NewConnectionError|Max retries|Temporary failure|timed out",
                                    install.stderr)
                assert offline, install.stderr
                pytest.skip("schemathesis is not installed and the network is out of reach")
            mark.write_text(wanted)
    return program


def run(program, fleet, token, what, headers=(), **known):
    command = [program, "run", f"{fleet.server.url}/openapi.json",
               "-H", f"Authorization: Bearer {token}", *RUNS[what], "--checks", CHECKS,
               "--phases", "coverage,fuzzing", "--max-examples", "6", "--seed", str(SEED),
               "--continue-on-failure", "--request-timeout", "30", "--no-color",
               "--warnings", "off"]
    for header in headers:
        command += ["-H", header]
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(CONTRACT),
                   **{f"CONTRACT_{name.upper()}": value for name, value in known.items()}}
    print(f"schemathesis ({what}) with seed {SEED}", file=sys.stderr)
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=280,
                          check=False, cwd=fleet.directory)
    tested = re.search(r"Tested: +(\d+)", done.stdout)
    cases = re.search(r"(\d+) generated", done.stdout)
    assert done.returncode == 0, f"seed {SEED}\n{done.stdout[-15_000:]}\n{done.stderr[-2_000:]}"
    assert tested and cases, done.stdout
    return int(tested.group(1)), int(cases.group(1))


def test_the_users_part_of_the_api_keeps_its_contract(schemathesis, fleet):
    # It has ended, so that a stream of its log does; no node runs what schemathesis submits.
    job = fleet.api.submit({**fleet.job("true"), "checkpoint": CHECKPOINT})
    holding = fleet.fake("users").claim()
    known = holding.commit(5)
    holding.log(0, b"step 5\n", last=1).expect(200)
    holding.complete().expect(200)
    fleet.status(job, "completed")
    tested, cases = run(schemathesis, fleet, fleet.server.token("admin"), "users", job=job,
                        set=known)
    assert tested >= 25 and cases > 500
    assert not fleet.server.process.dead()


@pytest.mark.parametrize("what, least", [("nodes", 10), ("endings", 4)])
def test_the_nodes_part_of_the_api_keeps_its_contract(schemathesis, fleet, what, least):
    pool = f"contract-{what}"
    job = fleet.api.submit({**fleet.job("true"), "pool": pool, "heartbeat_interval": 300,
                            "lease_ttl": 900})
    node = fleet.fake(what, pool=pool)
    claimed = node.claim().claimed
    assert claimed["job"] == job
    tested, cases = run(schemathesis, fleet, node.client.token, what,
                        [f"Loam-Lease: {claimed['epoch']}.{claimed['token']}"], job=job)
    assert tested >= least and cases > 100
    assert not fleet.server.process.dead()
