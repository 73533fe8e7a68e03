# SPDX-License-Identifier: Apache-2.0
"""The main job, for real: a training run that loses its machine and goes on elsewhere.

Starts a server and three nodes on this machine, submits the emoji diffusion model, kills the agent
of the node that runs it with SIGKILL after about step 120, and checks that the watchdog ends the
orphaned program, that another node goes on from the last committed checkpoint, and that the report
adds up. Ends with an error if anything is not as claimed. Writes demo-run/report.json.

STORE=s3 keeps the bytes in Ceph's S3 gateway, and no node has its credentials; DB=postgres keeps the
books in PostgreSQL with two servers over it, of which one is killed in the middle too.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from demo_cluster import LOAM, PRICE, DemoError, make_cluster

ROOT = Path(__file__).resolve().parent.parent
RUN = ROOT / "demo-run"
EXAMPLE = ROOT / "examples" / "emoji-diffusion"
STEPS = 300
EVERY = 50
KILL_AFTER = 120
KILL_SERVER_AFTER = 40
# The whole run must take less than this on two cores; a hung demo ends here.
LIMIT_SECONDS = 900


def say(text):
    print(f"\n== {text}", flush=True)


def check(condition, claim):
    if not condition:
        raise DemoError(claim)
    print(f"   ok: {claim}", flush=True)


class Loam:
    """The command line, pointed at the demo's own servers."""

    def __init__(self, cluster):
        self.environment = dict(os.environ, NO_COLOR="1")
        for name in ("LOAM_SERVER", "LOAM_TOKEN"):
            self.environment.pop(name, None)
        self.environment.update(cluster.environment)

    def run(self, *arguments, quiet=True):
        done = subprocess.run([LOAM, *arguments], env=self.environment, text=True, check=False,
                              stdout=subprocess.PIPE if quiet else None)
        if done.returncode != 0:
            raise DemoError(f"'loam {' '.join(arguments)}' ended with {done.returncode}")
        return done.stdout or ""

    def json(self, *arguments):
        return json.loads(self.run(*arguments, "--json"))

    def job(self, job_id):
        answer = self.json("job", job_id)
        return answer.get("job", answer)


def start_cluster(loam, cluster):
    say(f"starting {cluster.what} (${PRICE} an hour each node)")
    cluster.start(loam.environment)
    loam.environment.update(cluster.environment)
    deadline = time.monotonic() + 30
    while len(loam.json("nodes")["nodes"]) < 3:
        if time.monotonic() > deadline:
            raise DemoError("the three nodes did not enrol within 30 s")
        time.sleep(0.2)
    print(loam.run("nodes"), end="")


def processes_below(directory):
    """Pids whose working directory lies below a directory: the programs of a node's attempts."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if os.readlink(entry / "cwd").startswith(str(directory)):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def wait_for_step(loam, job_id, step, deadline):
    shown = -1
    while True:
        job = loam.job(job_id)
        if job["status"] in ("failed", "canceled", "completed"):
            raise DemoError(f"the job is {job['status']} before step {step}: {job.get('message')}")
        now = job.get("step") or 0
        if now // 20 > shown // 20:
            shown = now
            print(f"   step {now}, safe up to step {job.get('recovery_step') or 0}, "
                  f"on {job.get('node_name', '-')}", flush=True)
        if now >= step:
            return job
        if time.monotonic() > deadline:
            raise DemoError(f"step {step} was not reached in {LIMIT_SECONDS} s")
        time.sleep(0.5)


def kill_server(loam, cluster):
    say("kill -9 of one of the two servers")
    pid = cluster.kill_server("server-1")
    print(f"   server-1 (pid {pid}) is gone", flush=True)
    # The command line finds the other one by itself, and says so each time; once is enough here.
    loam.run("nodes")
    loam.environment.update(cluster.prefer("server-2"))


def kill_agent(cluster, job):
    name = job["node_name"]
    pid = cluster.node_pid(name)
    attempts = cluster.node_directory(name) / "attempts"
    programs = processes_below(attempts)
    check(len(programs) > 0, f"the program runs on {name} (pid {programs[:3]})")
    say(f"kill -9 of the agent of {name} (pid {pid}): the machine is 'gone'")
    os.kill(pid, signal.SIGKILL)
    killed = time.monotonic()
    # The watchdog gives the program the job's grace to save for itself, then ends it.
    while processes_below(attempts):
        if time.monotonic() - killed > 32:
            raise DemoError("the program outlived its agent by more than the grace period")
        time.sleep(0.1)
    check(True, f"the watchdog ended the program {time.monotonic() - killed:.1f} s after its agent died")
    return name


def follow_to_the_end(loam, job_id, deadline):
    seen = set()
    while True:
        job = loam.job(job_id)
        key = (job["status"], job["phase"], job.get("node_name"))
        if key not in seen:
            seen.add(key)
            print(f"   {job['status']} {job['phase']} {job.get('node_name', '')}", flush=True)
        if job["status"] in ("completed", "failed", "canceled"):
            return job
        if time.monotonic() > deadline:
            raise DemoError(f"the job was not done in {LIMIT_SECONDS} s")
        time.sleep(0.5)


def check_report(report, job, lost_node, first_node_after):
    check(job["status"] == "completed", "the job completed")
    check(report["steps"] == STEPS, f"all {STEPS} steps are in the final history")
    check(report["interruptions"] == 1, "there was one interruption")
    resumed = report["resumed_step"]
    check(resumed is not None and resumed >= EVERY and resumed % EVERY == 0,
          f"it resumed from the committed checkpoint of step {resumed}, not from zero")
    check(first_node_after != lost_node, f"{first_node_after} took over from {lost_node}")
    total = sum(report["seconds_by_class"].values())
    check(abs(total - report["seconds_total"]) < 1e-3, "the classes of paid time add up to its total")
    check(report["handover_seconds"] is not None and report["handover_seconds"] > 0,
          f"hand-over took {report['handover_seconds']:.1f} s, from the last contact to the next new step")


def fetch_outputs(loam, report):
    target = RUN / "out"
    loam.run("store", "cp", "-r", "store:/users/admin/models/emoji/", str(target))
    for name in ("model.pt", "samples.png", "metrics.json"):
        check((target / name).stat().st_size > 0, f"{name} was published")
    check(len(report["outputs"]) >= 3, "the report names the outputs")
    return target


def write_report(report, job, target, seconds):
    keys = ("steps", "resumed_step", "interruptions", "lost_steps", "handover_seconds", "goodput",
            "usd_per_step", "usd", "seconds_total", "seconds_by_class", "handovers")
    out = {"job_status": job["status"], **{key: report[key] for key in keys},
           "outputs": [str(target / Path(path).name) for path in report["outputs"]],
           "store_paths": report["outputs"], "demo_seconds": round(seconds, 1)}
    (RUN / "report.json").write_text(json.dumps(out, indent=2) + "\n")


def main():
    started = time.monotonic()
    deadline = started + LIMIT_SECONDS
    shutil.rmtree(RUN, ignore_errors=True)
    RUN.mkdir()
    cluster = make_cluster(RUN)
    loam = Loam(cluster)
    say("preparing the images (fetched once, then cached)")
    subprocess.run(["/usr/bin/python3", str(EXAMPLE / "prepare.py"), "--out", str(RUN / "data")],
                   check=True)
    try:
        start_cluster(loam, cluster)
        loam.run("store", "cp", "-r", f"{RUN / 'data'}/", "store:/datasets/emoji", quiet=False)
        say(f"submitting {STEPS} steps with a checkpoint every {EVERY}")
        job_id = re.search(r"j-[0-9a-z]+", loam.run(
            "submit", str(EXAMPLE / "train.yaml"), "-p", f"steps={STEPS}", "-p",
            f"checkpoint_every={EVERY}")).group(0)
        if cluster.servers() > 1:
            wait_for_step(loam, job_id, KILL_SERVER_AFTER, deadline)
            kill_server(loam, cluster)
        job = wait_for_step(loam, job_id, KILL_AFTER, deadline)
        lost = kill_agent(cluster, job)
        say("the job goes on elsewhere")
        job = follow_to_the_end(loam, job_id, deadline)
        report = loam.json("report", job_id)
        say("what it took and what it cost")
        print(loam.run("report", job_id), end="")
        say("is it as claimed?")
        handovers = report["handovers"]
        check_report(report, job, lost, handovers[-1]["to"] if handovers else lost)
        target = fetch_outputs(loam, report)
        write_report(report, job, target, time.monotonic() - started)
    finally:
        cluster.stop()
    say(f"done in {time.monotonic() - started:.0f} s")
    print(f"   model    {target / 'model.pt'}\n   samples  {target / 'samples.png'}\n"
          f"   report   {RUN / 'report.json'}", flush=True)


if __name__ == "__main__":
    # Whatever ends the demo, what it started ends with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        main()
    except (DemoError, subprocess.CalledProcessError, OSError) as problem:
        print(f"\ndemo: NOT as claimed: {problem}\n      logs: {RUN}/*.log and "
              f"{RUN}/state/node-*/log", file=sys.stderr)
        sys.exit(1)
