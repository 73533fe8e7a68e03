# SPDX-License-Identifier: Apache-2.0
"""A node in Python that speaks the node protocol one call at a time, for races and odd orders."""

import secrets
import threading
import time

from client import Client


def _crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return f"{crc ^ 0xFFFFFFFF:08x}" if data else ""


def manifest(step, files):
    """The manifest of a directory unit; `files` maps paths to bytes of less than one block."""
    listed = [{"path": path, "size": len(data), "mode": "0644", "crc": crc32c(data)}
              for path, data in sorted(files.items())]
    return {"format_version": 1, "step": step, "unit": "directory", "name": f"step-{step}",
            "files": listed}


class FakeNode:
    def __init__(self, url, pool_token, name="fake", slots=1, client=Client):
        self.started = time.monotonic()
        answer = client(url, pool_token).post("/v1/nodes", {
            "name": name, "machine_id": name, "slots": slots, "gpus": [], "version": "test"})
        enrolled = answer.expect(201)
        self.id = enrolled["node"]
        self.client = client(url, enrolled["token"])
        self._stop = threading.Event()
        self._thread = None

    def now(self):
        return {"now_us": int((time.monotonic() - self.started) * 1e6), "segments": []}

    def heartbeat(self):
        return self.client.post("/v1/node/heartbeat", self.now())

    def keep_alive(self, every=0.5):
        """Heartbeats in the background, for tests that are not about a node's silence."""
        def run():
            while not self._stop.wait(every):
                try:
                    self.heartbeat()
                except OSError:
                    pass
        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        return self

    def stop(self):
        self._stop.set()
        if self._thread:
            self._thread.join(10)

    def try_claim(self, slot=0, wait_ms=0, claim=None):
        return self.client.post("/v1/node/claim", {
            "claim": claim or secrets.token_hex(16), "slot": slot, "wait_ms": wait_ms})

    def claim(self, slot=0, wait_ms=5000, claim=None):
        answer = self.try_claim(slot, wait_ms, claim)
        assert answer.status == 200, f"no job within {wait_ms} ms: {answer.status} {answer.body!r}"
        return Holding(self, answer.json)


class Holding:
    """What a node does with one lease."""

    def __init__(self, node, claimed):
        self.node = node
        self.claimed = claimed
        self.job = claimed["job"]
        self.epoch = claimed["epoch"]
        self.lease = f"{claimed['epoch']}.{claimed['token']}"

    def call(self, method, path, body=None, headers=None):
        sent = {"Loam-Lease": self.lease, **(headers or {})}
        return self.node.client.call(method, path, body, headers=sent)

    def post(self, path, body):
        return self.call("POST", f"/v1/node/jobs/{self.job}/{path}", body)

    def renew(self, phase="running", **more):
        return self.post("renew", {"phase": phase, "data_wait_us": 0, **self.node.now(), **more})

    def grants(self, put=(), get=()):
        return self.post("grants", {"put": list(put), "get": list(get)})

    def upload(self, path, data, **headers):
        """The bare PUT, without asking for a grant first."""
        return self.call("PUT", f"/v1/node/jobs/{self.job}/upload/{path}", data, headers)

    def put(self, path, data):
        grant = self.grants(put=[path]).expect(200)["put"][0]
        answer = self.call("PUT", grant["url"], data, grant["headers"])
        assert answer.status == 200, answer.body
        return answer.json["etag"]

    def commit_call(self, set_id, step, files, etags):
        return self.post("checkpoints", {
            "set": set_id, "step": step, "manifest": manifest(step, files), "etags": etags,
            "covered_us": self.node.now()["now_us"]})

    def commit(self, step, files=None):
        files = files or {"state": f"state {step}\n".encode()}
        set_id = "s-" + secrets.token_hex(10)
        etags = [self.put(f"ckpt/{step}-{set_id}/{path}", data)
                 for path, data in sorted(files.items())]
        self.commit_call(set_id, step, files, etags).expect(200)
        return set_id

    def log(self, seq, data, offset=0, gap=0, last=0):
        path = f"/v1/node/jobs/{self.job}/logs/{seq}?offset={offset}&gap={gap}&at_ms=0&last={last}"
        return self.call("PUT", path, data)

    def output(self, index, path, data):
        etag = self.put(f"out/{index}/{path}", data)
        return {"index": index, "path": path, "size": len(data), "etag": etag}

    def complete(self, outputs=(), **more):
        return self.post("complete", {"outputs": list(outputs), "exit_code": 0,
                                      **self.node.now(), **more})

    def fail(self, cause="program", **more):
        return self.post("fail", {"cause": cause, "exit_code": 1, "message": "test",
                                  **self.node.now(), **more})

    def release(self, **more):
        return self.post("release", {"reason": "drained", **self.node.now(), **more})
