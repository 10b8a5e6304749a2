from datetime import timedelta
from os import environ

from sqlalchemy import insert
from sqlalchemy.exc import OperationalError

from shop.database import Session, engine
from shop.models import Order, OutboxMessage
from shop.outbox import enqueue, enqueue_later

TARGET = environ["TARGET"]


class PaymentRefused(Exception):
    pass


def again(work, tries=3):
    """Tries a transaction again that MySQL or MariaDB rolled back to end a deadlock over a key that others insert too."""
    try:
        with Session.begin() as session:
            return work(session)
    except OperationalError as error:
        if error.orig.args[0] != 1213 or tries == 1:
            raise
        return again(work, tries - 1)


# docs: begin sqlalchemy
def place_order(session, order, body):
    session.add(order)
    session.add(OutboxMessage(
        channel="hooks", target=TARGET, payload=body, idempotency_key=f"order-{order.id}-placed"))


with Session.begin() as session:
    place_order(session, Order(id=1, customer="Jürgen 李 🎉"), {
        "order": 1, "customer": "Jürgen 李 🎉", "units": 9007199254740991, "total": "12345678901234567890.12"})
# docs: end sqlalchemy

try:
    with Session.begin() as session:
        place_order(session, Order(id=2, customer="Ann"), {"order": 2})
        session.flush()
        raise PaymentRefused
except PaymentRefused:
    pass

with Session.begin() as session:
    session.add(Order(id=3, customer="Ann"))
    message = OutboxMessage(channel="hooks", target=TARGET, payload={"order": 3}, idempotency_key="order-1-placed")
    if enqueue(session, message):
        raise SystemExit("the key should be known")

with Session.begin() as session:
    session.add(Order(id=4, customer="Ann"))
    enqueue_later(session, "hooks", TARGET, {"order": 4}, "order-4-reminder", timedelta(seconds=5))

with engine.begin() as connection:
    connection.execute(insert(Order.__table__).values(id=5, customer="Ann"))
    connection.execute(insert(OutboxMessage.__table__).values(
        channel="hooks", target=TARGET, payload={"order": 5}, ordering_key="customer-7", headers={"X-Tenant": "7"}))

again(lambda session: place_order(session, Order(id=6, customer="Ann"), {"order": 6}))
