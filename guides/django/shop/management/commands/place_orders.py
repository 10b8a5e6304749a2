from datetime import timedelta

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from shop.models import Order, OutboxMessage
from shop.orders import again, place_order, place_order_and_remind


class PaymentRefused(Exception):
    pass


class Command(BaseCommand):
    help = "Places six orders, of which one is refused."

    def handle(self, **options):
        place_order(1, "Jürgen 李 🎉", {
            "order": 1, "customer": "Jürgen 李 🎉", "units": 9007199254740991, "total": "12345678901234567890.12"})

        try:
            with transaction.atomic():
                place_order(2, "Ann", {"order": 2})
                raise PaymentRefused
        except PaymentRefused:
            pass

        with transaction.atomic():
            Order.objects.create(id=3, customer="Ann")
            message = OutboxMessage(
                channel="hooks", target=settings.RECEIVER, payload={"order": 3}, idempotency_key="order-1-placed")
            if message.enqueue():
                raise CommandError("the key should be known")

        place_order_and_remind(4, "Ann", timedelta(seconds=5))

        with transaction.atomic():
            Order.objects.create(id=5, customer="Ann")
            OutboxMessage.objects.create(
                channel="hooks", target=settings.RECEIVER, payload={"order": 5}, ordering_key="customer-7",
                headers={"X-Tenant": "7"})

        again(place_order, 6, "Ann", {"order": 6})
