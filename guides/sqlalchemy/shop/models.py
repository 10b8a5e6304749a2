from typing import Any

from sqlalchemy import JSON, BigInteger, FetchedValue, ForeignKey, String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    customer: Mapped[str] = mapped_column(String(100))
    state: Mapped[str] = mapped_column(String(20), server_default="placed")


class Shipment(Base):
    __tablename__ = "shipments"

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    order_id: Mapped[int] = mapped_column(ForeignKey(Order.id))
    carrier: Mapped[str] = mapped_column(String(100))


# docs: begin sqlalchemy-model
class OutboxMessage(Base):
    """A message that the dispatcher sends once the transaction has committed."""

    # A view of the table: the application may read back what SQLAlchemy asks for, and sees no row.
    __tablename__ = "outbox_new"

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    # What the program leaves out is filled by the database.
    idempotency_key: Mapped[str] = mapped_column(String(255), server_default=FetchedValue())
    channel: Mapped[str] = mapped_column(String(64))
    target: Mapped[str] = mapped_column(Text)
    payload: Mapped[dict[str, Any]] = mapped_column(JSON)
    headers: Mapped[dict[str, str] | None] = mapped_column(JSON(none_as_null=True))
    ordering_key: Mapped[str | None] = mapped_column(String(255))
# docs: end sqlalchemy-model
