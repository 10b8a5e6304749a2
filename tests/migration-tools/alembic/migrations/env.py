import os

import sqlalchemy
from alembic import context

scheme = "postgresql+psycopg" if os.environ["DB_SERVER"] == "postgres" else "mysql+pymysql"
engine = sqlalchemy.create_engine(
    "{scheme}://{DB_USER}@{DB_HOST}:{DB_PORT}/{DB_NAME}".format(scheme=scheme, **os.environ))
metadata = sqlalchemy.MetaData()
with engine.connect() as connection:
    # The printed lines, with what the application says already in the place of their dots.
    setting = open(os.environ["SETTING"]).read() or "context.configure(...)"
    exec(setting.replace("...", "connection=connection, target_metadata=metadata"))
    with context.begin_transaction():
        context.run_migrations()
