# SPDX-License-Identifier: Apache-2.0
"""The namespace as a person and as a program uses it."""

import json
import os
import subprocess
import urllib.parse

from harness import LOAM


def loam_fs(server, *arguments, code=0, token=None, timeout=120):
    """`loam fs ...` against a server; what it printed."""
    env = {**os.environ, "LOAM_SERVER": server.url, "LOAM_TOKEN": token or server.token("admin")}
    done = subprocess.run([LOAM, "fs", *map(os.fsencode, map(str, arguments))], env=env,
                          capture_output=True, timeout=timeout, stdin=subprocess.DEVNULL)
    assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def fs_json(server, *arguments, **options):
    return json.loads(loam_fs(server, *arguments, "--json", **options).stdout)


class Tree:
    """The routes under /v1/fs."""

    def __init__(self, api):
        self.api = api

    @staticmethod
    def url(call, path, **query):
        query = {"path": path, **query}
        return f"/v1/fs/{call}?" + urllib.parse.urlencode(query, quote_via=urllib.parse.quote)

    def get(self, call, path, headers=None, **query):
        return self.api.get(self.url(call, path, **query), headers=headers)

    def post(self, call, **body):
        return self.api.post(f"/v1/fs/{call}", body, timeout=120)

    def put(self, path, data, headers=None, **query):
        return self.api.call("PUT", self.url("content", path, **query), body=data, headers=headers)

    def write(self, path, data, **query):
        answer = self.put(path, data, parents=1, **query)
        assert answer.status in (200, 201), answer.body
        return answer.json

    def read(self, path):
        answer = self.get("content", path)
        assert answer.status == 200, answer.body
        return answer.body

    def stat(self, path, **query):
        return self.get("stat", path, **query).expect(200)

    def names(self, path):
        entries, cookie = [], 0
        while cookie is not None:
            page = self.get("list", path, cookie=cookie, limit=1000).expect(200)
            entries += [one["name"] for one in page["entries"]]
            cookie = page["next_cookie"]
        return entries

    def problems(self):
        return self.api.get("/v1/fs/check", timeout=120).expect(200)["problems"]
