"""A server that answers the command line, in place of MODAK's."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any


@contextmanager
def answering(*answers: tuple[Any, ...], reads: bool = True) -> Iterator[str]:
    """The address of one that answers each request with the next of these: a status, a document or bytes, and headers.

    ``reads``: the body of a request, before it answers.
    """
    waiting = list(answers)

    class Server(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"] or 0) if reads else 0)
            status, said, *headers = waiting.pop(0)
            body = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(status)
            for name, value in (headers[0] if headers else {"Content-Length": str(len(body))}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
