"""Three transactions that insert one key: where the first rolls back, MariaDB and MySQL roll one of the two others back."""

import subprocess
import threading
import time

from . import Failure
from .servers import Database

KEY = "order-6-placed"
INSERT = f"INSERT INTO outbox (channel, target, payload, idempotency_key) VALUES ('hooks', '/never', '{{}}', '{KEY}');\n"
# The server ends the transaction that has changed fewer rows.
HEAVY = "CREATE DATABASE IF NOT EXISTS heavy; CREATE TABLE IF NOT EXISTS heavy.heavy (id bigint AUTO_INCREMENT PRIMARY KEY);\n"
MANY = f"INSERT INTO heavy.heavy (id) VALUES {', '.join(['(NULL)'] * 1000)};\n"
WAITING = """SELECT COUNT(*) FROM information_schema.innodb_trx t JOIN information_schema.processlist p
    ON p.id = t.trx_mysql_thread_id WHERE p.db = '{name}' AND p.user <> '{dispatcher}' AND t.{condition};"""
TIMEOUT = 150


class Deadlock:
    """While it is entered, the first insert of the key by anybody else is rolled back, and the next one is not."""

    def __init__(self, database: Database):
        self.database = database
        self.ended = threading.Event()
        self.came = "the program did not wait for the key"
        self.first = self.second = None
        self.thread = threading.Thread(target=self._end_the_first)

    def __enter__(self) -> "Deadlock":
        self.database.server.execute(HEAVY, self.database.name)
        self.first = self._session("BEGIN;\n" + INSERT)
        self._wait("trx_rows_modified > 0", 1)
        self.thread.start()
        return self

    def __exit__(self, kind, *_) -> None:
        self.ended.set()
        self.thread.join()
        for session in filter(None, (self.first, self.second)):
            words = session.communicate()[1]
            if session.returncode:
                self.came = words.strip()
        if self.came and kind is None:
            raise Failure("run, order 6", "that the server rolls back the program's first try", self.came)

    def _end_the_first(self) -> None:
        # The second comes behind the program, whose other inserts would wait for its gap.
        if self._wait("trx_state = 'LOCK WAIT'", 1):
            self.second = self._session("BEGIN;\n" + MANY + INSERT + "ROLLBACK;\n")
            self.came = "" if self._wait("trx_state = 'LOCK WAIT'", 2) else "no second transaction waited"
        self.first.stdin.write("ROLLBACK;\n")
        self.first.stdin.flush()

    def _session(self, statements: str) -> subprocess.Popen:
        session = subprocess.Popen(self.database.server.client("root", self.database.name), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        session.stdin.write(statements)
        session.stdin.flush()
        return session

    def _wait(self, condition: str, count: int) -> bool:
        question = WAITING.format(name=self.database.name, dispatcher=self.database.dispatcher, condition=condition)
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline and not self.ended.is_set():
            if int(self.database.server.execute(question, self.database.name)) >= count:
                return True
            time.sleep(0.1)
        return False
