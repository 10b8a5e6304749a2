import uuid

from django.core.serializers.json import DjangoJSONEncoder
from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Order",
            fields=[
                ("id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("customer", models.CharField(max_length=100)),
                ("state", models.CharField(default="placed", max_length=20)),
            ],
            options={"db_table": "orders"},
        ),
        # Not managed: this runs no statement.
        migrations.CreateModel(
            name="OutboxMessage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("idempotency_key", models.CharField(default=uuid.uuid4, max_length=255)),
                ("channel", models.CharField(max_length=64)),
                ("target", models.TextField()),
                ("payload", models.JSONField(encoder=DjangoJSONEncoder)),
                ("headers", models.JSONField(null=True)),
                ("ordering_key", models.CharField(max_length=255, null=True)),
                ("available_at", models.DateTimeField(db_default=Now())),
            ],
            options={"db_table": "outbox_new", "managed": False},
        ),
    ]
