"""Models as people write them: over the table and over the view, with few columns and with more."""

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import F
from django.db.models.functions import Now


class Message(models.Model):
    channel = models.CharField(max_length=64, default="hooks")
    target = models.TextField()
    payload = models.JSONField()

    class Meta:
        abstract = True
        managed = False


class Minimal(Message):
    idempotency_key = models.CharField(max_length=255, unique=True)

    class Meta(Message.Meta):
        abstract = True


class TableMinimal(Minimal):
    class Meta(Minimal.Meta):
        db_table = "outbox"


class ViewMinimal(Minimal):
    class Meta(Minimal.Meta):
        db_table = "outbox_new"


class ViewEncoded(Minimal):
    payload = models.JSONField(encoder=DjangoJSONEncoder)

    class Meta(Minimal.Meta):
        db_table = "outbox_new"


class Defaults(Minimal):
    """Columns that the database fills where the program does not."""

    priority = models.SmallIntegerField(db_default=0)
    available_at = models.DateTimeField(db_default=Now())

    class Meta(Minimal.Meta):
        abstract = True


class TableDefaults(Defaults):
    class Meta(Defaults.Meta):
        db_table = "outbox"


class ViewDefaults(Defaults):
    class Meta(Defaults.Meta):
        db_table = "outbox_new"


class Keyed(Message):
    idempotency_key = models.CharField(max_length=255, primary_key=True)

    class Meta(Message.Meta):
        abstract = True


class TableKeyed(Keyed):
    class Meta(Keyed.Meta):
        db_table = "outbox"


class ViewKeyed(Keyed):
    class Meta(Keyed.Meta):
        db_table = "outbox_new"


class TableGenerated(Minimal):
    destination = models.GeneratedField(expression=F("target"), output_field=models.TextField(), db_persist=True)

    class Meta(Minimal.Meta):
        db_table = "outbox"


class TableStatus(Minimal):
    status = models.CharField(max_length=16, default="PENDING")

    class Meta(Minimal.Meta):
        db_table = "outbox"


class ViewCreated(Minimal):
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(Minimal.Meta):
        db_table = "outbox_new"


class ViewTimes(Minimal):
    """Columns that are always written."""

    priority = models.SmallIntegerField(default=0)
    max_attempts = models.SmallIntegerField(null=True)
    expires_at = models.DateTimeField(null=True)

    class Meta(Minimal.Meta):
        db_table = "outbox_new"
