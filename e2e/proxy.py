# SPDX-License-Identifier: Apache-2.0
"""A TCP relay between a node and its server that can be cut, and tells what was tried meanwhile."""

import collections
import select
import socket
import threading
import time

Refused = collections.namedtuple("Refused", "at line")


class Proxy:
    def __init__(self, port):
        self.target = ("127.0.0.1", port)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.refused = []
        self._cut = False
        self._closed = False
        self._restored_connections = None
        self._lock = threading.Lock()
        self._open = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        with self._lock:
            self._cut = True
            for one in self._open:
                one.shutdown(socket.SHUT_RDWR)

    def restore(self):
        with self._lock:
            self._cut = False
            self._restored_connections = 0

    def forwarded_after_restore(self):
        return bool(self._restored_connections)

    def close(self):
        self._closed = True
        self.cut()
        self.listener.close()

    def _accept(self):
        while not self._closed:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client:
            if self._cut:
                self._record(client)
                return
            try:
                with socket.create_connection(self.target) as server:
                    self._relay(client, server)
            except OSError:
                return

    def _record(self, client):
        client.settimeout(5)
        head = b""
        try:
            while b"\r\n" not in head:
                more = client.recv(65536)
                if not more:
                    return
                head += more
        except OSError:
            return
        self.refused.append(Refused(time.monotonic(), head.split(b"\r\n")[0].decode()))

    def _relay(self, client, server):
        with self._lock:
            if self._cut:
                return
            if self._restored_connections is not None:
                self._restored_connections += 1
            self._open |= {client, server}
        try:
            other = {client: server, server: client}
            while True:
                for one in select.select([client, server], [], [])[0]:
                    data = one.recv(65536)
                    if not data:
                        return
                    other[one].sendall(data)
        finally:
            with self._lock:
                self._open -= {client, server}
