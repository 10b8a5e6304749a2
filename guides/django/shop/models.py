import uuid

from django.core.serializers.json import DjangoJSONEncoder
from django.db import IntegrityError, models, transaction


class Order(models.Model):
    id = models.BigIntegerField(primary_key=True)
    customer = models.CharField(max_length=100)
    state = models.CharField(max_length=20, default="placed")

    class Meta:
        db_table = "orders"


# docs: begin django-model
class OutboxMessage(models.Model):
    """A message that the dispatcher sends once the transaction has committed."""

    idempotency_key = models.CharField(max_length=255, default=uuid.uuid4)
    channel = models.CharField(max_length=64)
    target = models.TextField()
    payload = models.JSONField(encoder=DjangoJSONEncoder)
    headers = models.JSONField(null=True)
    ordering_key = models.CharField(max_length=255, null=True)

    class Meta:
        # A view of the table: the application may read back what Django asks for, and sees no row.
        db_table = "outbox_new"
        # The tables are made by `outbox migrate`.
        managed = False

    def enqueue(self):
        """Says whether the message is new. A known key undoes the insert alone, and the transaction goes on."""
        try:
            with transaction.atomic():
                self.save()
        except IntegrityError as error:
            if "outbox_idempotency_key" not in str(error):
                raise
            return False
        return True
# docs: end django-model
