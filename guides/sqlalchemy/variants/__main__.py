"""Natural ways to write a message with SQLAlchemy, and with the drivers below it."""

import asyncio
import json
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from os import environ

import sqlalchemy
from sqlalchemy import JSON, BigInteger, Column, DateTime, FetchedValue, MetaData, SmallInteger, String, Table, Text, func, insert, text
from sqlalchemy.dialects import mysql, postgresql
from sqlalchemy.orm import registry

from attempt import Stack
from shop.database import Session, engine
from shop.models import OutboxMessage

POSTGRES = environ["GUIDE_SERVER"] == "postgres"
TARGET = environ["TARGET"]
TEN_MINUTES = timedelta(minutes=10)
INSERT = "INSERT INTO outbox (channel, target, payload, idempotency_key) VALUES ('hooks', %s, %s, %s)"
PLACE = {"host": environ["DB_HOST"], "port": int(environ["DB_PORT"]), "user": environ["DB_USER"]}
mapped = registry()


def model(name, *more, payload=None):
    """A class over a table or view, with the columns that every message has, and more."""
    columns = [
        Column("id", BigInteger, primary_key=True), Column("idempotency_key", String(255), server_default=FetchedValue()),
        Column("channel", String(64)), Column("target", Text), Column("payload", payload or JSON)]
    table = Table(name, MetaData(), *columns, *more)
    return mapped.mapped(type("Message", (), {"__table__": table}))


def values(key, body, **more):
    return {"channel": "hooks", "target": TARGET, "payload": body, "idempotency_key": key, **more}


alchemy = Stack(f"SQLAlchemy {'.'.join(sqlalchemy.__version__.split('.')[:2])}", Session.begin)

for where in ("outbox", "outbox_new"):
    Minimal = model(where)
    WithDefaults = model(
        where, Column("priority", SmallInteger, server_default=FetchedValue()),
        Column("available_at", DateTime(timezone=True), server_default=FetchedValue()))
    Nullable = model(where, Column("priority", SmallInteger))

    @alchemy(f"{where}: add of one")
    def _(session, key, body):
        session.add(Minimal(**values(key, body)))

    @alchemy(f"{where}: add_all of three")
    def _(session, key, body):
        session.add_all(Minimal(**values(each, body)) for each in (key, f"{key}-second", f"{key}-third"))
        session.flush()

    @alchemy(f"{where}: server_default=FetchedValue(), read back")
    def _(session, key, body):
        message = WithDefaults(**values(key, body))
        session.add(message)
        session.flush()
        assert message.priority == 0

    @alchemy(f"{where}: a nullable column left unset")
    def _(session, key, body):
        session.add(Nullable(**values(key, body)))

    @alchemy(f"{where}: insert(…), Core")
    def _(session, key, body):
        session.execute(insert(Minimal.__table__).values(**values(key, body)))

    @alchemy(f"{where}: insert(…).returning(id)")
    def _(session, key, body):
        session.execute(insert(Minimal.__table__).values(**values(key, body)).returning(Minimal.__table__.c.id))

    @alchemy(f"{where}: merge()")
    def _(session, key, body):
        session.merge(Minimal(id=None, **values(key, body)))

    @alchemy(f"{where}: a known key, IntegrityError in begin_nested()")
    def _(session, key, body):
        session.execute(insert(Minimal.__table__).values(**values(key, body)))
        try:
            with session.begin_nested():
                session.execute(insert(Minimal.__table__).values(**values(key, {})))
        except sqlalchemy.exc.IntegrityError:
            session.execute(text("SELECT 1"))

    @alchemy(f"{where}: a reflected Table")
    def _(session, key, body):
        reflected = Table(where, MetaData(), autoload_with=session.connection())
        session.execute(insert(reflected).values(**values(key, body)))


@alchemy("the model of this guide")
def _(session, key, body):
    session.add(OutboxMessage(**values(key, body)))


@alchemy("a known key: " + ("on_conflict_do_nothing()" if POSTGRES else "prefix_with('IGNORE')"))
def _(session, key, body):
    table = model("outbox").__table__
    for each in (body, {}):
        statement = (postgresql if POSTGRES else mysql).insert(table).values(**values(key, each))
        session.execute(statement.on_conflict_do_nothing() if POSTGRES else statement.prefix_with("IGNORE"))


@alchemy("json.dumps beside JSON")
def _(session, key, body):
    session.add(OutboxMessage(**values(key, json.dumps(body))))


@alchemy("payload=None beside JSON: JSON's null", body=None)
def _(session, key, body):
    session.execute(insert(OutboxMessage.__table__).values(**values(key, None)))


@alchemy("status='SUCCESS'")
def _(session, key, body):
    session.execute(insert(model("outbox", Column("status", String(16))).__table__).values(**values(key, body, status="SUCCESS")))


@alchemy("max_attempts=0")
def _(session, key, body):
    table = model("outbox_new", Column("max_attempts", SmallInteger)).__table__
    session.execute(insert(table).values(**values(key, body, max_attempts=0)))


for way, due in [
    ("datetime.now() + 10 min, naive", lambda: datetime.now() + TEN_MINUTES),
    ("datetime.now(timezone.utc) + 10 min", lambda: datetime.now(timezone.utc) + TEN_MINUTES),
    ("func.now() + 10 min, in SQL", lambda: func.now() + TEN_MINUTES),
]:
    @alchemy(f"available_at = {way}", delay=600)
    def _(session, key, body):
        table = model("outbox", Column("available_at", DateTime(timezone=True))).__table__
        session.execute(insert(table).values(**values(key, body, available_at=due())))


@alchemy("outbox_enqueue, 600 seconds", delay=600)
def _(session, key, body):
    call = ("SELECT outbox_enqueue('hooks', :target, :payload, :key, p_delay_seconds => 600)" if POSTGRES
            else "CALL outbox_enqueue('hooks', :target, :payload, :key, '{\"delay_seconds\": 600}', @id)")
    session.execute(text(call), {"target": TARGET, "payload": json.dumps(body), "key": key})


@contextmanager
def transaction(connection):
    try:
        yield connection.cursor()
    except Exception:
        connection.rollback()
        raise
    connection.commit()


def in_common(stack, connect, payload="%s"):
    """What every driver of PEP 249 does alike."""
    sql = INSERT.replace("%s, %s)", f"{payload}, %s)")

    @stack("json.dumps")
    def _(cursor, key, body):
        cursor.execute(sql, (TARGET, json.dumps(body), key))

    @stack("a dict as it is")
    def _(cursor, key, body):
        cursor.execute(sql, (TARGET, body, key))

    @stack("json.dumps twice")
    def _(cursor, key, body):
        cursor.execute(sql, (TARGET, json.dumps(json.dumps(body)), key))

    @stack("executemany of two")
    def _(cursor, key, body):
        cursor.executemany(sql, [(TARGET, json.dumps(body), each) for each in (key, f"{key}-second")])

    @stack("datetime.now() + 10 min, naive", delay=600)
    def _(cursor, key, body):
        timed = sql.replace("idempotency_key)", "idempotency_key, available_at)").replace(f"{payload}, %s)", f"{payload}, %s, %s)")
        cursor.execute(timed, (TARGET, json.dumps(body), key, datetime.now() + TEN_MINUTES))

    @stack("outbox_enqueue, 600 seconds", delay=600)
    def _(cursor, key, body):
        call = ("SELECT outbox_enqueue('hooks', %s, %s, %s, p_delay_seconds => 600)" if POSTGRES
                else "CALL outbox_enqueue('hooks', %s, %s, %s, '{\"delay_seconds\": 600}', @id)")
        cursor.execute(call, (TARGET, json.dumps(body), key))


if POSTGRES:
    import asyncpg
    import psycopg
    import psycopg2
    from psycopg.types.json import Jsonb

    connection = psycopg.connect(dbname=environ["DB_NAME"], **PLACE)
    stack = Stack("psycopg 3", lambda: transaction(connection))
    in_common(stack, connection)

    @stack("Jsonb(dict)")
    def _(cursor, key, body):
        cursor.execute(INSERT, (TARGET, Jsonb(body), key))

    @stack("Jsonb(json.dumps(…))")
    def _(cursor, key, body):
        cursor.execute(INSERT, (TARGET, Jsonb(json.dumps(body)), key))

    @stack("RETURNING id")
    def _(cursor, key, body):
        cursor.execute(INSERT + " RETURNING id", (TARGET, Jsonb(body), key))

    @stack("RETURNING *")
    def _(cursor, key, body):
        cursor.execute(INSERT + " RETURNING *", (TARGET, Jsonb(body), key))

    @stack("RETURNING * through outbox_new")
    def _(cursor, key, body):
        cursor.execute(INSERT.replace("outbox", "outbox_new") + " RETURNING *", (TARGET, Jsonb(body), key))

    @stack("COPY")
    def _(cursor, key, body):
        with cursor.copy("COPY outbox (channel, target, payload, idempotency_key) FROM STDIN") as copy:
            copy.write_row(("hooks", TARGET, json.dumps(body), key))

    old = psycopg2.connect(dbname=environ["DB_NAME"], **PLACE)
    in_common(Stack("psycopg2", lambda: transaction(old)), old)

    class Running:
        """Runs what asyncpg awaits."""

        def __init__(self):
            self.loop = asyncio.new_event_loop()
            self.connection = self.loop.run_until_complete(asyncpg.connect(database=environ["DB_NAME"], **PLACE))

        def __call__(self, sql, *arguments):
            self.loop.run_until_complete(self.connection.execute(sql, *arguments))

    run = Running()
    stack = Stack("asyncpg")
    NUMBERED = "INSERT INTO outbox (channel, target, payload, idempotency_key) VALUES ('hooks', $1, $2, $3)"

    @stack("json.dumps")
    def _(key, body):
        run(NUMBERED, TARGET, json.dumps(body), key)

    @stack("a dict as it is")
    def _(key, body):
        run(NUMBERED, TARGET, body, key)

    @stack("a codec and json.dumps")
    def _(key, body):
        run.loop.run_until_complete(run.connection.set_type_codec(
            "jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog"))
        run(NUMBERED, TARGET, json.dumps(body), key)

    @stack("datetime.utcnow() + 10 min, naive", delay=600)
    def _(key, body):
        naive = datetime.now(timezone.utc).replace(tzinfo=None) + TEN_MINUTES
        timed = NUMBERED.replace("idempotency_key)", "idempotency_key, available_at)").replace("$3)", "$3, $4)")
        run(timed, TARGET, body, key, naive)
else:
    import MySQLdb
    import pymysql

    for name, connect, database in [("PyMySQL", pymysql.connect, "database"), ("mysqlclient", MySQLdb.connect, "db")]:
        connection = connect(charset="utf8mb4", **{database: environ["DB_NAME"]}, **PLACE)
        stack = Stack(name, lambda: transaction(connection))
        in_common(stack, connection)

        @stack("a known key: IntegrityError 1062 caught")
        def _(cursor, key, body):
            cursor.execute(INSERT, (TARGET, json.dumps(body), key))
            try:
                cursor.execute(INSERT, (TARGET, "{}", key))
            except (pymysql.IntegrityError, MySQLdb.IntegrityError) as error:
                if error.args[0] != 1062:
                    raise
