import json

from sqlalchemy import text
from sqlalchemy.exc import IntegrityError


# docs: begin sqlalchemy-duplicate
def enqueue(session, message):
    """Says whether the message is new. A known key undoes the insert alone, and the transaction goes on."""
    try:
        with session.begin_nested():
            session.add(message)
    except IntegrityError as error:
        if "outbox_idempotency_key" not in str(error.orig):
            raise
        return False
    return True
# docs: end sqlalchemy-duplicate


def enqueue_later(session, channel, target, payload, key, delay):
    """The database counts the seconds of the delay, so no time zone matters."""
    message = {"channel": channel, "target": target, "payload": json.dumps(payload), "key": key}
    if session.get_bind().dialect.name == "postgresql":
        session.execute(
            text("SELECT outbox_enqueue(:channel, :target, :payload, :key, p_delay_seconds => :delay)"),
            message | {"delay": delay.total_seconds()})
    else:
        session.execute(
            text("CALL outbox_enqueue(:channel, :target, :payload, :key, :options, @id)"),
            message | {"options": json.dumps({"delay_seconds": delay.total_seconds()})})
