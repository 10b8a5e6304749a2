"""What a guide's `tries` has done: variants of natural code, each of which must be right, refused, or named."""

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from . import Failure
from .receiver import Request, parsed

KEY = re.compile(r"try-[\w-]+")
# MySQL turns every error of an INSERT IGNORE into a warning, that of a check too: the row is gone, and nothing of ours is asked. The
# table says so, and docs/enqueue.md warns of it.
LOST_BY_IGNORE = re.compile(r"(ignore|skipDuplicates).* with a wrong priority", re.IGNORECASE)
# How far a time may be off: what goes by while a program starts, not hours.
TOLERANCE = 5
# What is due later than this is not waited for.
FAR = 60


def is_of_tries(key: str) -> bool:
    return key.startswith("try-")


@dataclass
class Try:
    """One variant, as the guide tells of it."""

    name: str
    stack: str
    key: str
    body: object
    delay: float
    refused: str
    # Between these two it was written.
    began: float
    ended: float

    def expectation(self) -> str:
        if self.refused:
            return "no row, since it was refused"
        if self.delay:
            return f"due {self.delay:g} s later, or a mistake that `messages explain` names"
        return f"the body {self.body}, or a mistake that `messages explain` names"


@dataclass
class Verdict:
    """`words` are those of the table; where it has not passed, they say what came."""

    passed: bool
    words: str


def read_tries(output: str, began: float) -> list[Try]:
    """The lines of JSON; a program may print other lines beside them."""
    tries, names, keys = [], set(), set()
    for line in output.splitlines():
        if not line.startswith("{"):
            continue
        one = _read(line, began)
        if (one.stack, one.name) in names or one.key in keys:
            raise Failure("tries", "a name and a key of its own for each variant", line)
        names.add((one.stack, one.name))
        keys.add(one.key)
        tries.append(one)
    if not tries:
        raise Failure("tries", "a line of JSON for each variant", "none")
    return tries


def _read(line: str, began: float) -> Try:
    try:
        told = parsed(line)
        name, key = told["try"], told["key"]
    except (json.JSONDecodeError, KeyError) as why:
        raise Failure("tries", 'a line of JSON with "try" and "key"', line) from why
    refused = " ".join(told.get("refused", "").split())[:200]
    if not KEY.fullmatch(key) or ("body" in told) == bool(refused):
        raise Failure("tries", 'a key such as try-1, and either "body" or "refused" with words', line)
    return Try(name, told.get("stack", ""), key, told.get("body"), float(told.get("delay", 0)), refused, began, time.time())


def try_is_settled(one: Try, rows: list[dict], requests: list[Request]) -> bool:
    """Nothing more will happen to it soon."""
    row = _row(one, rows)
    if one.refused or one.delay or row is None:
        return True
    if row["status"] == "PENDING":
        return float(row["available_at"]) > time.time() + FAR
    # It may be marked a moment before the receiver's record is read.
    return row["status"] != "SUCCESS" or bool(_requests(one, requests))


def judge(one: Try, rows: list[dict], requests: list[Request], notes: Callable[[str], list[str]]) -> Verdict:
    """Right, refused, or wrong: and then the dispatcher must name it."""
    row = _row(one, rows)
    if one.refused:
        if row is None:
            return Verdict(True, f"refused: {one.refused}")
        return Verdict(False, f"a row, beside the refusal `{one.refused}`")
    if row is None:
        if LOST_BY_IGNORE.search(one.name):
            return Verdict(True, "LOST without an error, as INSERT IGNORE asks of MySQL")
        return Verdict(False, "SILENT AND WRONG: no row, and no error")
    wrong = _wrong_time(one, row) if one.delay else _wrong_delivery(one, row, _requests(one, requests))
    if not wrong:
        return Verdict(True, "ok")
    if named := notes(one.key):
        return Verdict(True, f"named: {named[0]}")
    return Verdict(False, f"SILENT AND WRONG: {wrong}")


def _wrong_time(one: Try, row: dict) -> str:
    """Measured by this clock: one that is wrong in the same way for both of a row's times is found out too."""
    due = float(row["available_at"])
    if due < one.began + one.delay - TOLERANCE:
        return f"due {(one.began + one.delay - due) / 3600:.1f} h too early"
    if due > one.ended + one.delay + TOLERANCE:
        return f"due {(due - one.ended - one.delay) / 3600:.1f} h too late"
    return ""


def _wrong_delivery(one: Try, row: dict, came: list[Request]) -> str:
    if not came:
        due = (float(row["available_at"]) - one.ended) / 3600
        return f"it never came; the row is {row['status']}" + (f", due in {due:.1f} h" if due > 0.1 else "")
    if len(came) > 1:
        return f"it came {len(came)} times"
    if came[0].parsed() != one.body:
        return f"it came as {came[0].body.decode(errors='replace')}, not as {json.dumps(one.body, default=str)}"
    return ""


def _row(one: Try, rows: list[dict]) -> dict | None:
    return next((row for row in rows if row["key"] == one.key), None)


def _requests(one: Try, requests: list[Request]) -> list[Request]:
    return [request for request in requests if request.key == one.key]
