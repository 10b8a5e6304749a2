"""What a guide's `run` must have done: the six steps of every guide."""

from . import Failure
from .receiver import Request
from .tries import is_of_tries

CUSTOMER = "Jürgen 李 🎉"
PLACED = {"order": 1, "customer": CUSTOMER, "units": 9007199254740991, "total": "12345678901234567890.12"}
REMINDER_DELAY = 5
# A delay that is counted by the application's clock is short by what goes by between that and the insert.
EARLY = 0.5
LATE = 5

# Bodies by key; the message without a key has one that the database made.
BODIES = {"order-1-placed": PLACED, "order-4-reminder": {"order": 4}, None: {"order": 5}, "order-6-placed": {"order": 6}}


def judge_orders(orders: list[dict]) -> None:
    """All transactions have committed but the second."""
    ids = sorted(int(order["id"]) for order in orders)
    if ids != [1, 3, 4, 5, 6]:
        raise Failure("run, the table orders", "orders 1, 3, 4, 5 and 6", f"orders {', '.join(map(str, ids)) or 'none'}")
    customer = next(order["customer"] for order in orders if int(order["id"]) == 1)
    if customer != CUSTOMER:
        raise Failure("run, the table orders", f"customer {CUSTOMER!r} of order 1", repr(customer))


def run_is_delivered(rows: list[dict], requests: list[Request]) -> bool:
    """As many messages have come as there should be, and none of `run` waits still."""
    waiting = any(row["status"] == "PENDING" for row in rows if not is_of_tries(row["key"]))
    return not waiting and len(_of_run(requests)) >= len(BODIES)


def judge_requests(rows: list[dict], requests: list[Request]) -> list[Failure]:
    """Exactly the messages of `run` have come, once each, and not too early."""
    failures = []
    by_key: dict[str | None, list[Request]] = {key: [] for key in BODIES}
    for request in _of_run(requests):
        known = request.key if request.key in BODIES else None
        by_key[known].append(request)
    for key, expected in BODIES.items():
        step = f"run, the message {key or 'without a key'}"
        came = by_key[key]
        if len(came) != 1:
            bodies = ", ".join(f"{request.key} {request.body.decode(errors='replace')}" for request in came)
            failures.append(Failure(step, "one request", f"{len(came)}: {bodies}" if came else "none"))
        elif came[0].parsed() != expected:
            failures.append(Failure(step, f"the body {expected}", came[0].body.decode(errors="replace")))
    return failures or [*_judge_reminder(rows, by_key), *_judge_fifth(rows, by_key)]


def _judge_reminder(rows: list[dict], by_key: dict) -> list[Failure]:
    step = "run, the message order-4-reminder"
    row = next((row for row in rows if row["key"] == "order-4-reminder"), None)
    delay = float(row["available_at"]) - float(row["created_at"])
    waited = by_key["order-4-reminder"][0].at - float(row["created_at"])
    failures = []
    if not REMINDER_DELAY - EARLY <= delay <= REMINDER_DELAY + LATE:
        failures.append(Failure(step, f"available_at {REMINDER_DELAY} s after created_at", f"{delay:.1f} s"))
    if waited < REMINDER_DELAY - EARLY:
        failures.append(Failure(step, f"a request {REMINDER_DELAY} s after created_at", f"{waited:.1f} s"))
    return failures


def _judge_fifth(rows: list[dict], by_key: dict) -> list[Failure]:
    request = by_key[None][0]
    row = next(row for row in rows if row["key"] == request.key)
    failures = []
    if (tenant := request.headers.get("X-Tenant")) != "7":
        failures.append(Failure("run, the message without a key", "the header X-Tenant: 7", repr(tenant)))
    if row["ordering_key"] != "customer-7":
        failures.append(Failure("run, the message without a key", "ordering_key customer-7", repr(row["ordering_key"])))
    return failures


def _of_run(requests: list[Request]) -> list[Request]:
    return [request for request in requests if not is_of_tries(request.key)]
