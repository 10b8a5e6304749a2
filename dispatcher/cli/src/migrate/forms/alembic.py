"""The outbox, from schema version {{from}} to {{to}}, for Alembic: migrations/versions/outbox_{{to}}.py

In env.py, so that `alembic revision --autogenerate` leaves these tables alone; for both calls of context.configure():

    def include_object(object, name, type_, reflected, compare_to):
        return type_ != "table" or not (name == "outbox" or name.startswith("outbox_"))

    context.configure(..., include_object=include_object)
"""

import sqlalchemy
from alembic import op

revision = "outbox_{{to}}"
# Without an earlier revision this is a branch of its own: `alembic upgrade heads`.
down_revision = {{after}}


def upgrade():
    for statement in STATEMENTS:
        # DDL() takes a statement as it is, but for %: text() would look for parameters in it.
        op.execute(sqlalchemy.DDL(statement.replace("%", "%%")))


def downgrade():
    raise NotImplementedError("The outbox may hold messages that have not been sent: drop its tables by hand.")


STATEMENTS = [
{{statements}}
]
