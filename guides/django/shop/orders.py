import json

from django.conf import settings
from django.db import OperationalError, connection, transaction

from shop.models import Order, OutboxMessage


def again(work, *arguments, tries=3):
    """Tries a transaction again that MySQL or MariaDB rolled back to end a deadlock over a key that others insert too."""
    try:
        return work(*arguments)
    except OperationalError as error:
        if error.args[0] != 1213 or tries == 1:
            raise
        return again(work, *arguments, tries=tries - 1)


# docs: begin django
@transaction.atomic
def place_order(order_id, customer, body):
    order = Order.objects.create(id=order_id, customer=customer)
    OutboxMessage.objects.create(
        channel="hooks", target=settings.RECEIVER, payload=body, idempotency_key=f"order-{order.id}-placed")
# docs: end django


@transaction.atomic
def place_order_and_remind(order_id, customer, delay):
    order = Order.objects.create(id=order_id, customer=customer)
    enqueue_later({"order": order.id}, f"order-{order.id}-reminder", delay)


def enqueue_later(payload, key, delay):
    """The database counts the seconds of the delay, so no time zone matters."""
    message = ["hooks", settings.RECEIVER, json.dumps(payload), key]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT outbox_enqueue(%s, %s, %s, %s, p_delay_seconds => %s)", [*message, delay.total_seconds()])
        else:
            options = json.dumps({"delay_seconds": delay.total_seconds()})
            cursor.execute("CALL outbox_enqueue(%s, %s, %s, %s, %s, @id)", [*message, options])
