# SPDX-License-Identifier: Apache-2.0
"""Follows a server's event stream in the background."""

import http.client
import json
import threading
import urllib.parse


class Watcher:
    def __init__(self, client, after=0):
        parts = urllib.parse.urlsplit(client.url)
        self.events = []
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
        self.connection.request("GET", f"/v1/events?after={after}",
                                headers={"Authorization": f"Bearer {client.token}"})
        self.response = self.connection.getresponse()
        assert self.response.status == 200
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        try:
            while line := self.response.readline():
                if line.startswith(b"data: "):
                    self.events.append(json.loads(line[6:]))
        except (OSError, ValueError, http.client.HTTPException, AttributeError):
            pass

    def seqs(self):
        return [event["seq"] for event in list(self.events)]
