"""The real dispatcher of one guide's database."""

import os
import subprocess
import urllib.request
from pathlib import Path

from . import ROOT, Failure, ending
from .servers import Database
from .supervised import Supervised, free_port, shell

SETTINGS = """[database]
url = "{database}"

[lease]
url = "{lease}"

[dispatch]
poll_interval = "50ms"

[admin]
listen = "127.0.0.1:{port}"

[channels.hooks]
kind = "http"
allow_networks = ["127.0.0.0/8"]
"""


def without_settings() -> dict[str, str]:
    """The environment, without what would be settings of the dispatcher."""
    return {name: value for name, value in os.environ.items() if not name.startswith("OUTBOX_")}


def program() -> Path:
    """OUTBOX_BIN, else what cargo has built."""
    if named := os.environ.get("OUTBOX_BIN"):
        found, advice = Path(named), "OUTBOX_BIN names no program"
    else:
        target = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
        found, advice = target / "debug/outbox", "build it first: cargo build --bin outbox"
    if not os.access(found, os.X_OK):
        raise SystemExit(f"guides/run: no program at {found}: {advice}")
    return found.resolve()


class Dispatcher:
    """`outbox run` in a folder of its own, on tables that it made."""

    def __init__(self, database: Database, lease: str, folder: Path):
        self._settings = folder / f"{database.name}-{database.server.kind}.toml"
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._settings.write_text(
            SETTINGS.format(database=database.url(database.dispatcher), lease=lease, port=port))
        self._outbox("--set", f"database.url={database.url(database.owner)}", "migrate")
        database.prepare()
        self._running = Supervised(
            folder / f"{database.name}-{database.server.kind}", shell(program(), "--config", self._settings, "run"))
        self._running.wait_until(lambda: urllib.request.urlopen(f"{self.url}/readyz", timeout=5).close())

    def notes(self, key: str) -> list[str]:
        """What `messages explain` says about the message beyond its state: its lines that begin with "Note:"."""
        lines = self._outbox("messages", "explain", key).splitlines()
        return [line.removeprefix("Note:").strip() for line in lines if line.startswith("Note:")]

    def log(self) -> str:
        return self._running.log()

    def stop(self) -> None:
        self._running.stop()

    def _outbox(self, *arguments: str) -> str:
        done = subprocess.run([program(), "--config", self._settings, *arguments], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120, env=without_settings())
        if done.returncode != 0:
            raise Failure(f"outbox {' '.join(arguments)}", "exit status 0",
                          f"{done.returncode}, on stderr:{ending(done.stderr)}")
        return done.stdout
