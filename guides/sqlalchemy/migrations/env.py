from alembic import context
from sqlalchemy import create_engine, pool

from shop.database import url
from shop.models import Base


# docs: begin alembic
def include_name(name, type_, parent_names):
    """Autogenerate looks at no table of the outbox: it would drop them. `outbox migrate` makes and changes them."""
    return type_ != "table" or not is_of_outbox(name)


def include_object(object, name, type_, reflected, compare_to):
    """Nor does it make a table for the model over the view."""
    return type_ != "table" or not is_of_outbox(name)


def is_of_outbox(name):
    return name == "outbox" or name.startswith("outbox_")
# docs: end alembic


with create_engine(url(), poolclass=pool.NullPool).connect() as connection:
    context.configure(
        connection=connection, target_metadata=Base.metadata, include_name=include_name, include_object=include_object)
    with context.begin_transaction():
        context.run_migrations()
