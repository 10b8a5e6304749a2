"""What move and faults share: the old job of locks/Job.java in several processes, its tables, a receiver and a writer."""

import shlex
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGET = ROOT / "target/coming-from/locks"
FILES = ROOT / "outbox-schema/coming-from"
sys.path.insert(0, str(ROOT / "guides"))

from runner import Failure, ending, servers  # noqa: E402
from runner.dispatcher import program, without_settings  # noqa: E402
from runner.receiver import Receiver  # noqa: E402
from runner.supervised import Supervised, free_port, shell  # noqa: E402

EVENTS = """CREATE TABLE outbox_events (id bigint {identity} PRIMARY KEY, aggregate_id varchar(255), event_type varchar(255) NOT NULL,
    payload text NOT NULL, status varchar(16) NOT NULL DEFAULT 'PENDING', retry_count integer NOT NULL DEFAULT 0,
    created_at timestamp NULL, sent_at timestamp NULL);"""
LOCKS = """CREATE TABLE shedlock (name varchar(64) PRIMARY KEY, lock_until timestamp(3) NOT NULL, locked_at timestamp(3) NOT NULL,
    locked_by varchar(255) NOT NULL);
    CREATE TABLE schedule (name varchar(64) PRIMARY KEY); INSERT INTO schedule VALUES ('job');
    CREATE TABLE job_status (name varchar(64) PRIMARY KEY, status varchar(20) NOT NULL, started_at datetime(3));
    INSERT INTO job_status VALUES ('job', 'COMPLETED', NULL);
    GRANT SELECT, INSERT, UPDATE, DELETE ON {database}.* TO 'shop'@'%';"""
SETTINGS = """[database]
url = "{database}"
[lease]
url = "{lease}"
[admin]
listen = "127.0.0.1:{port}"
[channels.http]
kind = "http"
base_url = "{receiver}"
allow_networks = ["127.0.0.0/8"]
idempotency_key = "bare"
"""
ROW = "INSERT INTO outbox_events (event_type, payload) VALUES ('order.placed', '{}')"
WAITING = "SELECT COUNT(*) FROM outbox_events WHERE status = 'PENDING'"


def install() -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    if not (shutil.which("javac") and shutil.which("mvn")):
        call([ROOT / "guides/apt", "openjdk-17-jdk-headless", "maven"])
    if not (TARGET / "jars").is_dir():
        call(["mvn", "--quiet", "--batch-mode", "dependency:copy-dependencies", f"-DoutputDirectory={TARGET}/jars"])
    call(["javac", "-cp", f"{TARGET}/jars/*", "-d", TARGET / "classes", "Job.java"])


def call(command: list) -> str:
    done = subprocess.run(command, cwd=HERE / "locks", stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600,
                          env=without_settings())
    if done.returncode != 0:
        raise Failure(" ".join(map(str, command)), "exit status 0", f"{done.returncode}:{ending(done.stdout + done.stderr)}")
    return done.stdout


def redis(lease: servers.Redis, command: str) -> str:
    words = shlex.split(command)
    with socket.create_connection(("127.0.0.1", lease.port), timeout=5) as connection:
        connection.sendall("\r\n".join([f"*{len(words)}", *(f"${len(word)}\r\n{word}" for word in words), ""]).encode())
        return connection.recv(100).decode().strip()


def wait(what: str, ask) -> None:
    end = time.monotonic() + 60
    while not ask():
        if time.monotonic() > end:
            raise Failure(what, "it within a minute", "nothing")
        time.sleep(0.01)


class Stage:
    """A database of its own, a receiver, and a writer of so many rows a second."""

    def __init__(self, name: str, server: servers.MariaDb, lease: servers.Redis, folder: Path, answer_takes, rate: float):
        self.server, self.lease, self.rate = server, lease, rate
        self.database = servers.Database(server, f"{name}_{free_port()}")
        self.folder = folder / self.database.name
        self.folder.mkdir()
        self.receiver = Receiver(answer_takes)
        self.settings = self.folder / "outbox.toml"
        self.settings.write_text(SETTINGS.format(
            database=self.database.url(self.database.owner), lease=lease.url, port=free_port(),
            receiver=self.receiver.url.removesuffix("/hook")))
        self.database.create()
        call([program(), "--config", self.settings, "migrate"])
        self.sql(EVENTS.format(identity="AUTO_INCREMENT"))
        server.execute(LOCKS.format(database=self.database.name), self.database.name)
        self.stopped = threading.Event()

    def sql(self, statements: str) -> str:
        return self.server.execute(statements, self.database.name, self.database.owner).strip()

    def route(self) -> None:
        """Makes each row a message, with the old key."""
        self.sql((FILES / "mysql/home_made.sql").read_text().replace("'outbox_events-', e.id", "'event-', e.id"))

    def old_job(self, number: int, lock: str, lock_ms: int = 30_000, *command: str) -> Supervised:
        jdbc = f"jdbc:mariadb://127.0.0.1:{self.server.port}/{self.database.name}?user=shop"
        return Supervised(self.folder / f"old-{number}", shell(
            "java", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{TARGET}/jars/*:{TARGET}/classes", "Job",
            lock, jdbc, self.lease.port, self.receiver.url, lock_ms, *command))

    def write(self) -> None:
        command = self.server.client("shop", self.database.name)
        with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as client:
            while not self.stopped.wait(1 / self.rate):
                client.stdin.write(f"{ROW};\n")
                client.stdin.flush()

    def wait_for_the_end(self) -> None:
        wait("the end", lambda: self.sql(f"{WAITING} UNION ALL SELECT COUNT(*) FROM outbox WHERE status = 'PENDING'") == "0\n0")

    def arrived(self) -> Counter:
        """How often each row arrived; a lost one 0 times."""
        arrived = Counter(request.headers["Idempotency-Key"] for request in self.receiver.requests())
        written = {f"event-{number}" for number in self.sql("SELECT id FROM outbox_events").split()}
        if strange := set(arrived) - written:
            raise Failure("the keys", "the old ones", f"{sorted(strange)}")
        return Counter({key: arrived[key] for key in written})


def longest_pause(times: list[float]) -> float:
    times = sorted(times)
    return max(after - before for before, after in zip(times, times[1:]))


def all_run(old: list[Supervised]) -> None:
    """Until each process of the old job has tried its lock twice more."""
    before = [job.log().count("a run has ended") for job in old]
    wait("runs of the old job", lambda: all(job.log().count("a run has ended") > n + 1 for job, n in zip(old, before)))
