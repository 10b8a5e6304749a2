"""Natural ways to write a message with Django."""

import json
import re
from datetime import datetime, timedelta, timezone as zones
from decimal import Decimal
from io import StringIO

import django
from django.conf import settings
from django.core.management import call_command
from django.db import IntegrityError, connection, models, transaction
from django.db.models import Value
from django.db.models.functions import Now
from django.test.utils import override_settings
from django.utils import timezone

from attempt import Stack

django.setup()

from variants.models import (  # noqa: E402
    TableDefaults, TableGenerated, TableKeyed, TableMinimal, TableStatus, ViewCreated, ViewDefaults, ViewEncoded,
    ViewKeyed, ViewMinimal, ViewTimes)

django_ = Stack(f"Django {django.VERSION[0]}.{django.VERSION[1]}", transaction.atomic)
# The same model over each.
MINIMAL = {"outbox": TableMinimal, "outbox_new": ViewMinimal}
DEFAULTS = {"outbox": TableDefaults, "outbox_new": ViewDefaults}
KEYED = {"outbox": TableKeyed, "outbox_new": ViewKeyed}
TEN_MINUTES = timedelta(minutes=10)


def values(key, body, **more):
    return {"target": settings.RECEIVER, "idempotency_key": key, "payload": body, **more}


for where, Message in MINIMAL.items():
    @django_(f"{where}: objects.create")
    def _(key, body):
        Message.objects.create(**values(key, body))

    @django_(f"{where}: save()")
    def _(key, body):
        Message(**values(key, body)).save()

    @django_(f"{where}: bulk_create of two")
    def _(key, body):
        Message.objects.bulk_create([Message(**values(key, body)), Message(**values(f"{key}-second", {}))])

    @django_(f"{where}: bulk_create(ignore_conflicts=True), a known key")
    def _(key, body):
        Message.objects.create(**values(key, body))
        Message.objects.bulk_create([Message(**values(key, {"known": True}))], ignore_conflicts=True)

    @django_(f"{where}: bulk_create(update_conflicts=True)")
    def _(key, body):
        Message.objects.bulk_create(
            [Message(**values(key, body))], update_conflicts=True, update_fields=["payload"],
            unique_fields=["idempotency_key"] if connection.features.supports_update_conflicts_with_target else None)

    @django_(f"{where}: get_or_create, a new key")
    def _(key, body):
        Message.objects.get_or_create(idempotency_key=key, defaults={"target": settings.RECEIVER, "payload": body})

    @django_(f"{where}: update_or_create")
    def _(key, body):
        Message.objects.update_or_create(idempotency_key=key, defaults={"target": settings.RECEIVER, "payload": body})

for where, Message in DEFAULTS.items():
    @django_(f"{where}: objects.create with db_default")
    def _(key, body):
        message = Message.objects.create(**values(key, body))
        if connection.features.can_return_columns_from_insert and abs(message.available_at - timezone.now()) > TEN_MINUTES:
            raise ValueError(f"available_at is read back as {message.available_at}")

for where, Message in KEYED.items():
    @django_(f"{where}: key as primary key, objects.create")
    def _(key, body):
        Message.objects.create(**values(key, body))

    @django_(f"{where}: key as primary key, save()")
    def _(key, body):
        Message(**values(key, body)).save()

    @django_(f"{where}: key as primary key, save(force_insert=True)")
    def _(key, body):
        Message(**values(key, body)).save(force_insert=True)


@django_("outbox: GeneratedField")
def _(key, body):
    TableGenerated.objects.create(**values(key, body))


@django_("outbox: status written")
def _(key, body):
    TableStatus.objects.create(**values(key, body, status="SUCCESS"))


@django_("created_at by auto_now_add")
def _(key, body):
    ViewCreated.objects.create(**values(key, body))


for where in ["outbox", "outbox_new"]:
    @django_(f"{where}: the model that inspectdb writes, its primary key by hand")
    def _(key, body):
        written = StringIO()
        call_command("inspectdb", where, include_views=True, stdout=written)
        code = written.getvalue()
        if refused := re.search("# The error was: (.*)", code):
            raise PermissionError(refused[1])
        code = re.sub(r"\n    id = .*", "\n    id = models.BigAutoField(primary_key=True)", code)
        # Columns with a default that are not to be written.
        code = re.sub(r"\n    (priority|available_at|created_at) = .*", "", code)
        names = {"__name__": "variants.models"}
        exec(code, names)
        names["OutboxNew"].objects.create(channel="hooks", **values(key, body))


@django_("a known key, caught without a savepoint")
def _(key, body):
    ViewMinimal.objects.create(**values(key, body))
    try:
        ViewMinimal.objects.create(**values(key, {"known": True}))
    except IntegrityError:
        pass
    ViewMinimal.objects.create(**values(f"{key}-after", {}))


@django_("a known key, caught around a nested atomic()")
def _(key, body):
    ViewMinimal.objects.create(**values(key, body))
    try:
        with transaction.atomic():
            ViewMinimal.objects.create(**values(key, {"known": True}))
    except IntegrityError:
        pass
    ViewMinimal.objects.create(**values(f"{key}-after", {}))


@django_("get_or_create, a known key, IntegrityError caught")
def _(key, body):
    ViewMinimal.objects.create(**values(key, body))
    try:
        ViewMinimal.objects.get_or_create(idempotency_key=key, defaults={"target": settings.RECEIVER, "payload": {}})
    except IntegrityError:
        pass
    ViewMinimal.objects.create(**values(f"{key}-after", {}))


@django_("refresh_from_db()")
def _(key, body):
    ViewMinimal.objects.create(**values(key, body)).refresh_from_db()


@django_("payload=json.dumps(…)")
def _(key, body):
    ViewMinimal.objects.create(**values(key, json.dumps(body)))


@django_("payload=None")
def _(key, body):
    ViewMinimal.objects.create(**values(key, None))


@django_("payload with a Decimal")
def _(key, body):
    ViewMinimal.objects.create(**values(key, {"n": Decimal("12345678901234567890.12")}))


@django_("payload with a Decimal, DjangoJSONEncoder", body={"n": "12345678901234567890.12"})
def _(key, body):
    ViewEncoded.objects.create(**values(key, {"n": Decimal("12345678901234567890.12")}))


@django_("payload with an int of 23 digits", body={"n": 12345678901234567890123})
def _(key, body):
    ViewMinimal.objects.create(**values(key, body))


@django_("available_at=timezone.now()")
def _(key, body):
    ViewDefaults.objects.create(**values(key, body, available_at=timezone.now()))


@django_("available_at=timezone.now() + 10 min", delay=600)
def _(key, body):
    ViewDefaults.objects.create(**values(key, body, available_at=timezone.now() + TEN_MINUTES))


@django_("available_at=datetime.now() + 10 min, naive", delay=600)
def _(key, body):
    ViewDefaults.objects.create(**values(key, body, available_at=datetime.now() + TEN_MINUTES))


@django_("available_at=datetime.utcnow() + 10 min, naive", delay=600)
def _(key, body):
    utc = datetime.now(zones.utc).replace(tzinfo=None)
    ViewDefaults.objects.create(**values(key, body, available_at=utc + TEN_MINUTES))


@django_("available_at=Now() + 10 min", delay=600)
def _(key, body):
    ViewDefaults.objects.create(**values(key, body, available_at=Now() + Value(TEN_MINUTES, models.DurationField())))


@django_("available_at=timezone.now(), USE_TZ = False")
def _(key, body):
    with override_settings(USE_TZ=False):
        ViewDefaults.objects.create(**values(key, body, available_at=timezone.now()))


@django_("available_at=timezone.now() + 10 min, USE_TZ = False", delay=600)
def _(key, body):
    with override_settings(USE_TZ=False):
        ViewDefaults.objects.create(**values(key, body, available_at=timezone.now() + TEN_MINUTES))


@django_("max_attempts=0")
def _(key, body):
    ViewTimes.objects.create(**values(key, body, max_attempts=0))


@django_("expires_at of 1970")
def _(key, body):
    ViewTimes.objects.create(**values(key, body, expires_at=datetime.fromtimestamp(0, zones.utc)))


@django_("priority=9")
def _(key, body):
    ViewTimes.objects.create(**values(key, body, priority=9))


@django_("callproc outbox_enqueue, a known key")
def _(key, body):
    def enqueue():
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.callproc("outbox_enqueue", ["hooks", settings.RECEIVER, json.dumps(body), key])
            else:
                cursor.callproc("outbox_enqueue", ["hooks", settings.RECEIVER, json.dumps(body), key, None, None])
                cursor.execute("SELECT @_outbox_enqueue_5")
            return cursor.fetchone()[0]

    ids = enqueue(), enqueue()
    if ids[0] is None or ids[1] is not None:
        raise ValueError(f"the ids are {ids}")


@django_("outbox_enqueue with a delay", delay=600)
def _(key, body):
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT outbox_enqueue('hooks', %s, %s, %s, p_delay_seconds => %s)",
                [settings.RECEIVER, json.dumps(body), key, 600])
        else:
            cursor.execute(
                "CALL outbox_enqueue('hooks', %s, %s, %s, %s, @id)",
                [settings.RECEIVER, json.dumps(body), key, json.dumps({"delay_seconds": 600})])


@django_("outbox_enqueue with an int of 23 digits", body={"n": 12345678901234567890123})
def _(key, body):
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT outbox_enqueue('hooks', %s, %s, %s)" if connection.vendor == "postgresql"
            else "CALL outbox_enqueue('hooks', %s, %s, %s, NULL, @id)", [settings.RECEIVER, json.dumps(body), key])
