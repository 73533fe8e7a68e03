# SPDX-License-Identifier: Apache-2.0
"""An HTTP proxy in front of an S3 service that fails on purpose, in the ways that S3 services fail.

A `plan` is asked about each request and gives the name of a fault, or None. It runs under a lock, so it
may count. Requests are recorded, each with the time at which its head arrived.
"""

import collections
import contextlib
import email.utils
import random
import re
import socket
import struct
import threading
import time

Request = collections.namedtuple("Request", "at method target headers")

ERRORS = {
    "slow_down": (503, "SlowDown", "Please reduce your request rate."),
    "internal": (500, "InternalError", "We encountered an internal error. Please try again."),
    "expired": (403, "ExpiredToken", "The provided token has expired."),
    "skewed": (403, "RequestTimeTooSkewed", "The difference between the request time and the current "
                                            "time is too large."),
}
# A success by its status, a failure by its body: what CompleteMultipartUpload and CopyObject do.
LATE_ERROR = "error_in_200"
# Not the service but a proxy before it, which quotes the whole request in its page.
ECHO = "echo"
# "lost": carried out, and the answer does not come. "reset": the connection breaks in the body. "truncated":
# it ends early. "short": the answer says that it is shorter than it should be. "stall": it stops in the
# body. "black_hole": nothing comes at all.
HOLD_S = 60
BLOCK = 64 << 10


class Broken(Exception):
    pass


class Stream:
    """Reads a socket by lines and by lengths."""

    def __init__(self, sock):
        self.sock = sock
        self.buffer = b""

    def more(self):
        data = self.sock.recv(BLOCK)
        if not data:
            raise Broken()
        self.buffer += data

    def head(self):
        while b"\r\n\r\n" not in self.buffer:
            self.more()
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        return head

    def line(self):
        while b"\r\n" not in self.buffer:
            self.more()
        line, _, self.buffer = self.buffer.partition(b"\r\n")
        return line

    def exactly(self, count):
        while len(self.buffer) < count:
            self.more()
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def chunks(self):
        """The whole of a chunked body."""
        body = b""
        while True:
            size = int(self.line().split(b";")[0], 16)
            body += self.exactly(size)
            self.line()
            if size == 0:
                return body

    def push(self, data):
        self.buffer = data + self.buffer

    def some(self, most):
        if not self.buffer:
            self.more()
        data, self.buffer = self.buffer[:most], self.buffer[most:]
        return data


def fields(head):
    lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines[1:])
    return lines[0], {name.lower(): value.strip() for name, _, value in pairs}


class FaultProxy:
    def __init__(self, port, plan=lambda request: None, bytes_per_second=0, seed=1,
                 tls=None, details=""):
        self.target = ("127.0.0.1", port)
        self.plan = plan
        self.random = random.Random(seed)
        self.rate = bytes_per_second
        self.tls = tls  # an ssl.SSLContext
        self.details = details  # XML in the bodies of errors, behind the message
        self.requests = []
        self.faults = collections.Counter()
        self.closed = threading.Event()
        self._lock = threading.Lock()
        self._clients = set()
        self._listener = None
        self.port = 0
        self.come_back()
        self.endpoint = f"http{'s' if tls else ''}://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closed.set()
        self._stop_listening()

    def go_away(self):
        """Breaks what is open and refuses connections until it comes back."""
        self._stop_listening()
        with self._lock:
            for client in self._clients:
                with contextlib.suppress(OSError):  # it has gone by itself
                    client.shutdown(socket.SHUT_RDWR)

    def come_back(self):
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=256)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def _stop_listening(self):
        listener, self._listener = self._listener, None
        if listener:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def _accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with self._lock:
            self._clients.add(client)
        try:
            self._talk(client)
        finally:
            with self._lock:
                self._clients.discard(client)

    def _talk(self, client):
        with client:
            try:
                if self.tls:
                    client = self.tls.wrap_socket(client, server_side=True)
                stream = Stream(client)
                with socket.create_connection(self.target) as server:
                    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    answers = Stream(server)
                    while self._one(client, stream, server, answers):
                        pass
            except (Broken, OSError):
                return

    def _one(self, client, stream, server, answers):
        """One request and its answer. True if the connection may be used again."""
        head = stream.head()
        line, headers = fields(head)
        method, target, _ = line.split(" ")
        request = Request(time.time(), method, target, headers)
        with self._lock:
            self.requests.append(request)
            fault = self.plan(request)
            if fault:
                self.faults[fault] += 1
            cut = self.random.random()
        left = int(headers.get("content-length", 0))
        if headers.get("expect"):
            client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            head = b"\r\n".join(l for l in head.split(b"\r\n") if not l.lower().startswith(b"expect:"))
        forward = fault not in ERRORS and fault not in ("black_hole", LATE_ERROR, ECHO)
        if forward:
            server.sendall(head + b"\r\n\r\n")
        while left:
            data = stream.some(left)
            left -= len(data)
            if self.rate:
                time.sleep(len(data) / self.rate)
            if forward:
                server.sendall(data)
        if fault == "black_hole":
            self.closed.wait(HOLD_S)
            return False
        if not forward:
            self._refuse(client, fault, request)
            return True
        return self._answer(client, answers, fault, method, cut)

    def _refuse(self, client, fault, request):
        status, code, message = ERRORS.get(fault, (200, "InternalError", "It failed after all."))
        body = (f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>{message}</Message>'
                f"{self.details}</Error>")
        if fault == ECHO:
            status, body = 502, f"<html>{self.endpoint}{request.target} could not be retrieved</html>"
        if request.method == "HEAD":
            body = ""
        date = email.utils.formatdate(usegmt=True)
        client.sendall((f"HTTP/1.1 {status} x\r\nDate: {date}\r\nContent-Type: application/xml\r\n"
                        f"Content-Length: {len(body)}\r\n\r\n{body}").encode())

    def _answer(self, client, answers, fault, method, cut):
        head = answers.head()
        line, headers = fields(head)
        status = int(line.split(" ")[1])
        chunked = "chunked" in headers.get("transfer-encoding", "")
        bodiless = method == "HEAD" or status in (204, 304)
        length = 0 if bodiless else int(headers.get("content-length", 0))
        if chunked:
            # The gateway's lists come so. They go on with a length, so that the faults apply to them too.
            answers.push(answers.chunks())
            length = len(answers.buffer)
            head = re.sub(rb"(?i)transfer-encoding: *chunked", b"Content-Length: %d" % length, head)
        if fault == "lost":
            return False
        breaks = fault in ("reset", "truncated", "short", "stall") and length > 0
        keep = int(length * cut) if breaks else length
        if fault == "short" and breaks:
            head = head.replace(f"ontent-Length: {length}".encode(), f"ontent-Length: {keep}".encode())
        client.sendall(head + b"\r\n\r\n")
        while length:
            data = answers.some(length)
            length -= len(data)
            client.sendall(data[:keep])
            keep -= min(keep, len(data))
            if not keep and breaks and fault != "short":
                break
        if not breaks or fault == "short":
            return True
        if fault == "stall":
            self.closed.wait(HOLD_S)
        if fault == "reset":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False
