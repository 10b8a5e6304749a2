from os import environ

from sqlalchemy import create_engine, make_url
from sqlalchemy.orm import sessionmaker


def url():
    given = make_url(environ["DATABASE_URL"])
    # SQLAlchemy names the driver in the URL.
    return given.set(drivername={"postgres": "postgresql+psycopg", "mysql": "mysql+pymysql"}[given.drivername])


engine = create_engine(url())
Session = sessionmaker(engine)
