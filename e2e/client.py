# SPDX-License-Identifier: Apache-2.0
"""A small HTTP client, so that the tests see each answer as it came over the wire."""

import http.client
import json
import ssl
import urllib.parse


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body) if self.body else None

    @property
    def error(self):
        return (self.json or {}).get("error", "")

    @property
    def message(self):
        return (self.json or {}).get("message", "")

    def expect(self, status):
        assert self.status == status, f"wanted {status}, got {self.status}: {self.body[:500]!r}"
        return self.json


class Client:
    """One connection per call: a kept one would hide or make trouble when servers are killed."""

    def __init__(self, url, token=None, ca_file=None):
        self.url = url
        self.token = token
        self.ca_file = ca_file

    def call(self, method, path, body=None, headers=None, timeout=30):
        parts = urllib.parse.urlsplit(self.url)
        sent = dict(headers or {})
        if self.token:
            sent.setdefault("Authorization", f"Bearer {self.token}")
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
            sent.setdefault("Content-Type", "application/json")
        if parts.scheme == "https":
            connection = http.client.HTTPSConnection(
                parts.hostname, parts.port, timeout=timeout,
                context=ssl.create_default_context(cafile=self.ca_file))
        else:
            connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)
        try:
            connection.request(method, path, body=body, headers=sent)
            response = connection.getresponse()
            return Answer(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()

    def get(self, path, **options):
        return self.call("GET", path, **options)

    def post(self, path, body, **options):
        return self.call("POST", path, body=body, **options)


class Admin(Client):
    """What a person does with the API."""

    def submit(self, spec, **headers):
        return self.post("/v1/jobs", spec, headers=headers).expect(201)["id"]

    def job(self, job):
        return self.get(f"/v1/jobs/{job}").expect(200)

    def attempts(self, job):
        return self.get(f"/v1/jobs/{job}/attempts").expect(200)["attempts"]

    def sets(self, job, every=False):
        path = f"/v1/jobs/{job}/checkpoints" + ("?all=1" if every else "")
        return self.get(path).expect(200)["checkpoints"]

    def steps(self, job):
        return [one["step"] for one in self.sets(job) if one["state"] == "committed"]

    def events(self, job, kind=None):
        events = self.get(f"/v1/jobs/{job}/events?limit=1000").expect(200)["events"]
        return [e for e in events if kind is None or e["type"] == kind]

    def logs(self, job, attempt=None):
        path = f"/v1/jobs/{job}/logs" + (f"?attempt={attempt}" if attempt else "")
        answer = self.get(path)
        assert answer.status == 200, answer.body
        return answer.body.decode()

    def cancel(self, job):
        return self.post(f"/v1/jobs/{job}/cancel", {}).expect(200)

    def file(self, path):
        return self.get(f"/v1/store{path}")

    def listing(self, prefix):
        query = urllib.parse.urlencode({"prefix": prefix})
        page = self.get(f"/v1/store?{query}").expect(200)
        return [one["path"] for one in page["objects"]]

    def pool_token(self, pool):
        return self.post("/v1/tokens", {"kind": "pool", "pool": pool}).expect(201)["token"]

    def user(self, owner):
        issued = self.post("/v1/tokens", {"kind": "user", "owner": owner}).expect(201)
        return Admin(self.url, issued["token"], self.ca_file)
