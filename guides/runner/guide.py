"""A guide's folder and its scripts."""

import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from . import GUIDES, TARGET, Failure, ending
from .servers import SERVERS, ZONE_NAME

INSTALL_TIMEOUT = 1200
RUN_TIMEOUT = 180
TRIES_TIMEOUT = 300

LOGS = TARGET / "logs"


class ScriptFailure(Failure):
    """A script ended as it should not."""

    def __init__(self, step: str, expected: str, came: str, output: str):
        super().__init__(step, expected, came)
        self.output = output


@dataclass
class Guide:
    """What guides/NAME holds."""

    name: str
    # Its scripts share a folder, so they run one after the other.
    _turn: threading.Lock = field(default_factory=threading.Lock)

    @property
    def folder(self) -> Path:
        return GUIDES / self.name

    @property
    def target(self) -> Path:
        return TARGET / self.name

    def servers(self) -> list[str]:
        """The servers that it is for."""
        chosen = self.folder / "servers"
        return chosen.read_text().split() if chosen.exists() else list(SERVERS)

    def has(self, script: str) -> bool:
        return (self.folder / script).exists()

    def install(self) -> float:
        """Installs what it needs, and says how long that took. What a network spoils is tried once more."""
        began = time.monotonic()
        self.target.mkdir(parents=True, exist_ok=True)
        for last in (False, True):
            try:
                self._script("install", "", {}, INSTALL_TIMEOUT)
                break
            except Failure:
                if last:
                    raise
        return time.monotonic() - began

    def run(self, server: str, environment: dict[str, str]) -> None:
        self._script("run", server, environment, RUN_TIMEOUT)

    def tries(self, server: str, environment: dict[str, str]) -> str:
        return self._script("tries", server, environment, TRIES_TIMEOUT)

    def keep_log(self, server: str, step: str, text: str) -> None:
        """For whoever looks into a failure: target/guides/logs/GUIDE-SERVER-STEP.log."""
        LOGS.mkdir(parents=True, exist_ok=True)
        (LOGS / "-".join(part for part in (self.name, server, f"{step}.log") if part)).write_text(text)

    def _script(self, script: str, server: str, environment: dict[str, str], timeout: int) -> str:
        with self._turn:
            process = subprocess.Popen(
                [self.folder / script], cwd=self.folder, env=self._environment(environment), stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
            try:
                output, words = process.communicate(timeout=timeout)
            except BaseException as why:
                os.killpg(process.pid, signal.SIGKILL)
                output, words = process.communicate()
                self.keep_log(server, script, f"{output}{words}")
                if isinstance(why, subprocess.TimeoutExpired):
                    raise ScriptFailure(script, f"an end within {timeout} s", f"on stderr:{ending(words)}", output) from why
                raise
        self.keep_log(server, script, f"{output}{words}")
        if process.returncode != 0:
            raise ScriptFailure(
                script, "exit status 0", f"{process.returncode}, on stderr:{ending(words or output)}", output)
        return output

    def _environment(self, environment: dict[str, str]) -> dict[str, str]:
        """Nothing of the caller's may lead the program to another server, or the dispatcher's settings to it."""
        inherited = {name: value for name, value in os.environ.items()
                     if not name.startswith(("OUTBOX_", "PG", "MYSQL_", "DB_", "DATABASE_"))}
        return {**inherited, "TZ": ZONE_NAME, "PYTHONDONTWRITEBYTECODE": "1", "GUIDE_TARGET": str(self.target),
                **environment}


def guides() -> dict[str, Guide]:
    """All of them, by name."""
    return {path.parent.name: Guide(path.parent.name) for path in sorted(GUIDES.glob("*/run"))}
