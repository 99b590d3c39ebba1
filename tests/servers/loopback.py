"""A server on this machine for one test: it speaks a platform's interface, and fails as it is told to."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    """`torn`: send this many bytes of the body, then reset the connection."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    torn: int | None = None


Faulty = Callable[[Request, Answer], Answer]
"""What the server says instead of the right answer."""


def says(status: int, body: Any = None, torn: int | None = None, **headers: str) -> Faulty:
    """The fault of answering this, whatever was asked; underscores in header names are hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda request, right: Answer(status, body, named, torn)


def tears(share: float = 0.5) -> Faulty:
    """The fault of a connection reset in the middle of the right answer."""
    return lambda request, right: Answer(
        right.status, right.body, right.headers, int(len(encoded(right.body)) * share)
    )


def encoded(body: Any) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


class Loopback:
    """Answers requests with `answer`, after the faults that stand in the queue; remembers what was asked."""

    kept: tuple[str, ...] = ()
    """Its fields that commands change: a test may compare them and set them back."""

    def __init__(self) -> None:
        self.faults: deque[Faulty | None] = deque()
        self.requests: list[Request] = []
        self.before: Callable[[int], None] = lambda number: None
        self.after: Callable[[int], None] = lambda number: None

    def answer(self, request: Request) -> Answer:
        raise NotImplementedError

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self):
        handler = type("Handler", (_Handler,), {"loopback": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    # or every answer of two parts waits 40 ms for its first to be told received
    disable_nagle_algorithm = True
    protocol_version = "HTTP/1.1"
    loopback: Loopback

    def do_GET(self):
        self._serve()

    def do_POST(self):
        self._serve()

    def do_PATCH(self):
        self._serve()

    def do_DELETE(self):
        self._serve()

    def _serve(self):
        served = self.loopback
        parts = urlsplit(self.path)
        query = {name: ",".join(values) for name, values in parse_qs(parts.query).items()}
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, parts.path, query, headers, body)
        served.requests.append(request)
        number = len(served.requests)
        served.before(number)
        right = served.answer(request)
        fault = served.faults.popleft() if served.faults else None
        try:
            self._send(fault(request, right) if fault else right)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        served.after(number)

    def _send(self, answer: Answer):
        data = encoded(answer.body) if answer.body is not None else b""
        self.send_response(answer.status)
        headers = {"content-type": "application/json", **answer.headers}
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if answer.torn is None:
            self.wfile.write(data)
            return
        self.wfile.write(data[: answer.torn])
        self.wfile.flush()
        # SO_LINGER with zero seconds: closing sends a reset, as a failing line does
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def finish(self):
        with contextlib.suppress(OSError):
            super().finish()

    def log_message(self, *_):
        pass
