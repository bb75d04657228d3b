"""A server whose replies a test chooses."""

from __future__ import annotations

import json
import socket
import unittest
from collections.abc import Callable
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from carrel import Client, Token


@dataclass
class Received:
    """A request that the server has received."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: Message
    body: str


@dataclass
class Reply:
    """A reply. A broken one closes the connection."""

    value: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    broken: bool = False

    def text(self) -> str:
        """Return the body."""
        return self.value if isinstance(self.value, str) else json.dumps(self.value)


def problem(status: int, code: str, **headers: str) -> Reply:
    """Return a problem detail."""
    fields = [{"pointer": "/name", "detail": "Must not be empty."}]
    value = {"status": status, "code": code, "detail": f"Detail of {code}.", "requestId": "req_1", "errors": fields}
    return Reply(value, status, {name.replace("_", "-"): text for name, text in headers.items()})


class Fake:
    """A server and its client, whose retries have no pauses. The handler gets the number of the request, from 1."""

    def __init__(
        self, test: unittest.TestCase, handle: Callable[[int, Received], Reply], token: Token | None = None
    ) -> None:
        received: list[Received] = []

        class Handler(BaseHTTPRequestHandler):
            def respond(self) -> None:
                url = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                request = Received(self.command, url.path, parse_qs(url.query), self.headers, body)
                received.append(request)
                reply = handle(len(received), request)
                self.close_connection = True
                if reply.broken:
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                if reply.status != 304:
                    self.wfile.write(reply.text().encode())

            do_GET = do_POST = do_PATCH = respond  # noqa: N815 # the names of the handlers of http.server

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 # the name in http.server
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        self.received = received
        self.client = Client(f"http://127.0.0.1:{server.server_address[1]}/", token, backoff=0)
        test.addCleanup(thread.join)
        test.addCleanup(server.server_close)
        test.addCleanup(server.shutdown)
        test.addCleanup(self.client.close)
