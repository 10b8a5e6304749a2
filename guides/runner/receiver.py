"""The receiver of one guide's messages."""

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Request:
    """One request, and when it came."""

    path: str
    headers: Message
    body: bytes
    at: float

    @property
    def key(self) -> str:
        """The header is a string in quotes (RFC 8941); no key of a guide has a quote in it."""
        return self.headers.get("Idempotency-Key", "").strip('"')

    def parsed(self):
        return parsed(self.body)


def parsed(text: bytes | str):
    """JSON with every digit of its numbers."""
    return json.loads(text, parse_float=Decimal)


class Receiver:
    """Records what comes, and answers 200 after so many seconds, or as many as it is told each time."""

    def __init__(self, answer_takes: float | Callable[[], float] = 0):
        requests, lock = [], threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle(self):
                # A client that is killed resets its connection.
                with suppress(ConnectionResetError):
                    super().handle()

            def do_POST(self):
                at = time.time()
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                with lock:
                    requests.append(Request(self.path, self.headers, body, at))
                time.sleep(answer_takes() if callable(answer_takes) else answer_takes)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self._requests, self._lock = requests, lock
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def requests(self) -> list[Request]:
        with self._lock:
            return list(self._requests)

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
