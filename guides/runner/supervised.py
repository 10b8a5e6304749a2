"""A program that runs beside the guides, and ends with this process however this process ends."""

import os
import pwd
import random
import shlex
import socket
import subprocess
import threading
import time
from pathlib import Path

from . import ROOT, ending

# The tests of the workspace keep their servers by the same script. It stops the program when its standard input closes,
# which happens also where this process is killed.
SUPERVISE = (ROOT / "tests/src/servers/supervise.sh").read_text()
START_TIMEOUT = 120

_ports = threading.Lock()
_given: set[int] = set()


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on, below the range from which Linux gives ports to clients."""
    with _ports:
        while True:
            port = random.randrange(10_240, 32_768)
            if port in _given:
                continue
            with socket.socket() as probe:
                try:
                    probe.bind(("127.0.0.1", port))
                except OSError:
                    continue
            _given.add(port)
            return port


def shell(*words: object) -> str:
    """The words as one command for `sh`."""
    return shlex.join(str(word) for word in words)


class Supervised:
    """A program with a directory of its own, which goes with it."""

    def __init__(self, directory: Path, command: str, *, initialise: str = "true", end_signal: str = "KILL",
                 unprivileged: bool = False):
        self.directory = directory
        user = _nobody() if unprivileged and os.geteuid() == 0 else None
        self._shell = subprocess.Popen(
            ["sh", "-c", SUPERVISE, "supervise.sh", directory, end_signal, initialise, command],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd="/",
            env={"PATH": os.environ["PATH"], "LC_ALL": "C", "TZ": "UTC"}, process_group=0,
            user=user and user.pw_uid, group=user and user.pw_gid, extra_groups=[] if user else None)
        self._answer()
        if (status := self._order("initialise")) != "0":
            raise RuntimeError(f"{directory.name} could not be initialised (status {status}); its log:{ending(self.log())}")
        self.pid = int(self._order("start"))

    def wait_until(self, answers) -> None:
        """Until `answers()` raises nothing."""
        began = time.monotonic()
        while True:
            try:
                return answers()
            except Exception as why:
                if not _is_alive(self.pid) or time.monotonic() - began > START_TIMEOUT:
                    raise RuntimeError(f"{self.directory.name} does not answer: {why}; its log:{ending(self.log())}") from why
            time.sleep(0.05)

    def log(self) -> str:
        """What the program has printed so far."""
        try:
            return (self.directory / "log").read_text(errors="replace")
        except OSError:
            return ""

    def stop(self) -> None:
        """Ends the program and removes its directory."""
        self._shell.stdin.close()
        self._shell.wait()
        self._shell.stdout.close()

    def _order(self, order: str) -> str:
        self._shell.stdin.write(f"{order}\n")
        self._shell.stdin.flush()
        return self._answer()

    def _answer(self) -> str:
        line = self._shell.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.directory} cannot be made")
        return line.strip()


def _nobody() -> pwd.struct_passwd:
    """PostgreSQL refuses to run as root."""
    return pwd.getpwnam("nobody")


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
