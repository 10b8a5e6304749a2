"""One guide on one server: a fresh database, a dispatcher and a receiver, the guide's scripts, and the judgement."""

import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from . import Failure
from .deadlock import Deadlock
from .dispatcher import Dispatcher
from .guide import Guide, ScriptFailure
from .orders import judge_orders, judge_requests, run_is_delivered
from .receiver import Receiver
from .servers import Database, Server
from .tries import Try, Verdict, judge, read_tries, try_is_settled

# From the last script's end until all has arrived that will: the reminder is due after 5 s.
DELIVERY_TIMEOUT = 20


@dataclass
class Trial:
    """What became of one guide on one server."""

    guide: Guide
    server: str
    failures: list[str] = field(default_factory=list)
    verdicts: list[tuple[Try, Verdict]] = field(default_factory=list)
    seconds: float = 0.0

    def fail(self, why: Exception) -> None:
        self.failures.append(str(why) if isinstance(why, (Failure, RuntimeError)) else f"{type(why).__name__}: {why}")


def attempt(guide: Guide, server: Server, lease: str, folder: Path) -> Trial:
    """Failures are told, not raised: they stop no other guide."""
    trial = Trial(guide, server.kind)
    began = time.monotonic()
    receiver, dispatcher = Receiver(), None
    try:
        database = Database(server, f"guide_{guide.name.replace('-', '_')}")
        database.create()
        dispatcher = Dispatcher(database, lease, folder)
        _run(trial, database, dispatcher, receiver)
    except Exception as why:  # noqa: BLE001
        trial.fail(why)
    finally:
        receiver.stop()
        if dispatcher:
            guide.keep_log(server.kind, "dispatcher", dispatcher.log())
            dispatcher.stop()
    trial.seconds = time.monotonic() - began
    return trial


def _run(trial: Trial, database: Database, dispatcher: Dispatcher, receiver: Receiver) -> None:
    guide, server = trial.guide, trial.server
    environment = {
        "GUIDE_SERVER": server, "DB_HOST": "127.0.0.1", "DB_PORT": str(database.server.port), "DB_NAME": database.name,
        "DB_USER": database.application, "DB_PASSWORD": "", "DATABASE_URL": database.url(database.application),
        "TARGET": receiver.url, "OUTBOX_URL": dispatcher.url}

    ran = False
    try:
        with nullcontext() if server == "postgres" else Deadlock(database):
            guide.run(server, environment)
        judge_orders(database.orders())
        ran = True
    except Failure as why:
        trial.fail(why)

    tries: list[Try] = []
    if guide.has("tries"):
        began = time.time()
        try:
            output = guide.tries(server, environment)
        except ScriptFailure as why:
            # What it told before it failed is judged all the same.
            trial.fail(why)
            output = why.output
        try:
            tries = read_tries(output, began)
        except Failure as why:
            trial.fail(why)

    deadline = time.monotonic() + DELIVERY_TIMEOUT
    while time.monotonic() < deadline:
        rows, requests = database.rows(), receiver.requests()
        if (not ran or run_is_delivered(rows, requests)) and all(try_is_settled(one, rows, requests) for one in tries):
            # What comes twice comes soon.
            time.sleep(0.3)
            break
        time.sleep(0.1)

    rows, requests = database.rows(), receiver.requests()
    if ran:
        for failure in judge_requests(rows, requests):
            trial.fail(failure)
    for one in tries:
        verdict = judge(one, rows, requests, dispatcher.notes)
        trial.verdicts.append((one, verdict))
        if not verdict.passed:
            trial.fail(Failure(f"tries, `{one.name}` ({one.key})", one.expectation(), verdict.words))
