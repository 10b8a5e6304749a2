from django.conf import settings
from django.db import transaction
from django.utils import timezone

from shop.models import Order, OutboxMessage


# docs: begin django
@transaction.atomic
def place_order(order_id, customer, body):
    order = Order.objects.create(id=order_id, customer=customer)
    OutboxMessage.objects.create(
        channel="hooks", target=settings.RECEIVER, payload=body, idempotency_key=f"order-{order.id}-placed")
# docs: end django


# docs: begin django-delay
@transaction.atomic
def place_order_and_remind(order_id, customer, delay):
    order = Order.objects.create(id=order_id, customer=customer)
    OutboxMessage.objects.create(
        channel="hooks", target=settings.RECEIVER, payload={"order": order.id},
        idempotency_key=f"order-{order.id}-reminder", available_at=timezone.now() + delay)
# docs: end django-delay
