"""The servers: PostgreSQL, MariaDB, MySQL and Redis, each started once for all guides."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

from . import ROOT, Failure, ending
from .supervised import Supervised, free_port, shell

# Nine hours from the UTC that the tables keep: a program that mixes the two up is found out.
ZONE = "+09:00"
ZONE_NAME = "Asia/Seoul"

GRANTS = ROOT / "outbox-schema/grants"


class Database:
    """A guide's own database on one server, with three accounts that need no password."""

    owner = "owner"
    application = "shop"
    dispatcher = "outbox"

    def __init__(self, server: "Server", name: str):
        self.server = server
        self.name = name

    def url(self, account: str) -> str:
        return f"{self.server.scheme}://{account}@127.0.0.1:{self.server.port}/{self.name}"

    def create(self) -> None:
        """Makes the empty database, which the owner may fill."""
        self.server.create(self)

    def prepare(self) -> None:
        """Gives the application and the dispatcher their rights on the tables, and the application its own table."""
        self.server.grant(self)

    def rows(self) -> list[dict]:
        """The messages, with times as seconds since 1970."""
        return self.server.json(self, self.server.rows)

    def orders(self) -> list[dict]:
        return self.server.json(self, self.server.orders)


class Server:
    """One server; `kind` is what a guide calls it in GUIDE_SERVER."""

    kind: str
    scheme: str
    rows: str
    orders: str

    def __init__(self, running: Supervised, port: int):
        self.running = running
        self.port = port

    def stop(self) -> None:
        self.running.stop()

    def json(self, database: Database, statement: str) -> list[dict]:
        return json.loads(self.execute(statement, database.name))

    def execute(self, statements: str, database: str, account: str = "") -> str: ...

    def create(self, database: Database) -> None: ...

    def grant(self, database: Database) -> None: ...


class Postgres(Server):
    kind = "postgres"
    scheme = "postgres"
    rows = """SELECT coalesce(json_agg(json_build_object('id', id, 'key', idempotency_key, 'status', status,
        'ordering_key', ordering_key, 'created_at', extract(epoch FROM created_at),
        'available_at', extract(epoch FROM available_at)) ORDER BY id), '[]') FROM outbox"""
    orders = "SELECT coalesce(json_agg(json_build_object('id', id, 'customer', customer) ORDER BY id), '[]') FROM orders"

    @classmethod
    def start(cls, directory: Path) -> "Postgres":
        program, port = _postgres(), free_port()
        initdb = program.resolve().with_name("initdb")
        running = Supervised(
            directory / "postgres",
            shell(program, "-D", "data", "-c", f"port={port}", "-c", "listen_addresses=127.0.0.1",
                  "-c", f"unix_socket_directories={directory / 'postgres'}", "-c", f"timezone={ZONE_NAME}",
                  "-c", "max_connections=200", "-c", "fsync=off"),
            initialise=shell(initdb, "-D", "data", "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-locale",
                             "--no-sync"),
            # "Immediate shutdown": after KILL its shared memory would remain.
            end_signal="QUIT", unprivileged=True)
        server = cls(running, port)
        running.wait_until(lambda: server.execute("SELECT 1", "postgres"))
        server.execute("CREATE ROLE owner LOGIN; CREATE ROLE shop LOGIN; CREATE ROLE outbox LOGIN", "postgres")
        return server

    def execute(self, statements: str, database: str, account: str = "postgres", *options: str) -> str:
        return _output(
            ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", str(self.port),
             "-U", account, "-d", database, *options], statements)

    def create(self, database: Database) -> None:
        self.execute(f"CREATE DATABASE {database.name} OWNER {database.owner}", "postgres")

    def grant(self, database: Database) -> None:
        options = ["-v", "schema=public", "-v", f"application={database.application}",
                   "-v", f"dispatcher={database.dispatcher}"]
        for file in ["postgres.sql", "postgres_enqueue.sql"]:
            self.execute((GRANTS / file).read_text(), database.name, database.owner, *options)
        self.execute(
            f"""CREATE TABLE orders (id bigint PRIMARY KEY, customer varchar(100) NOT NULL,
                                     state varchar(20) NOT NULL DEFAULT 'placed');
            GRANT SELECT, INSERT, UPDATE, DELETE ON orders TO {database.application}""",
            database.name, database.owner)


class MariaDb(Server):
    kind = "mariadb"
    scheme = "mysql"
    # The tables keep UTC, whatever the zone of the session; only UNIX_TIMESTAMP asks for it.
    rows = """SET time_zone = '+00:00', group_concat_max_len = 16777216;
        SELECT COALESCE(JSON_ARRAYAGG(JSON_OBJECT('id', id, 'key', idempotency_key, 'status', status,
        'ordering_key', ordering_key, 'created_at', UNIX_TIMESTAMP(created_at),
        'available_at', UNIX_TIMESTAMP(available_at))), '[]') FROM outbox"""
    orders = """SET group_concat_max_len = 16777216;
        SELECT COALESCE(JSON_ARRAYAGG(JSON_OBJECT('id', id, 'customer', customer)), '[]') FROM orders"""

    @classmethod
    def start(cls, directory: Path) -> "MariaDb":
        directory = directory / cls.kind
        port = free_port()
        program, initialise, options = cls._commands(directory / "data")
        accounts = "".join(
            f"CREATE USER IF NOT EXISTS '{name}'@'%' IDENTIFIED BY '';\n" for name in ("root", "owner", "shop", "outbox"))
        accounts += "GRANT ALL ON *.* TO 'root'@'%' WITH GRANT OPTION;\n"
        running = Supervised(
            directory,
            shell(program, "--no-defaults", f"--datadir={directory}/data", f"--tmpdir={directory}/temporary",
                  f"--socket={directory}/socket", f"--pid-file={directory}/pid", f"--init-file={directory}/accounts.sql",
                  "--bind-address=127.0.0.1", f"--port={port}", "--skip-name-resolve", "--character-set-server=utf8mb4",
                  f"--default-time-zone={ZONE}", "--innodb-flush-method=nosync", "--max-connections=300", *options),
            # A server that initialises clears away what others left in the folder for temporary tables.
            initialise=f"{shell('printf', '%s', accounts)} >accounts.sql && mkdir temporary &&"
                       f" TMPDIR={directory}/temporary {initialise}",
            unprivileged=True)
        server = cls(running, port)
        running.wait_until(lambda: server.execute("SELECT 1", ""))
        return server

    @staticmethod
    def _commands(data: Path) -> tuple[Path, str, list[str]]:
        program = _mariadb()
        install = [program.resolve().parent.parent / folder / name
                   for folder in ("bin", "scripts", "sbin") for name in ("mariadb-install-db", "mysql_install_db")]
        install = next((path for path in install if path.is_file()), "mariadb-install-db")
        return program, shell(install, "--no-defaults", f"--datadir={data}", "--skip-test-db"), []

    def execute(self, statements: str, database: str, account: str = "root") -> str:
        return _output(self.client(account, database), statements)

    def client(self, account: str, database: str) -> list[str]:
        return ["mariadb", "--no-defaults", "--batch", "--raw", "--skip-column-names", "--skip-ssl",
                "--default-character-set=utf8mb4", "-h", "127.0.0.1", "-P", str(self.port), "-u", account, database]

    def create(self, database: Database) -> None:
        self.execute(f"CREATE DATABASE {database.name} CHARACTER SET utf8mb4;"
                     f"GRANT ALL ON {database.name}.* TO '{database.owner}'@'%' WITH GRANT OPTION", "")

    def grant(self, database: Database) -> None:
        for file in ["mysql.sql", "mysql_enqueue.sql"]:
            statements = (GRANTS / file).read_text()
            for role, account in [("APPLICATION", database.application), ("DISPATCHER", database.dispatcher)]:
                statements = statements.replace(role, f"'{account}'@'%'")
            self.execute(statements, database.name, database.owner)
        self.execute(
            f"""CREATE TABLE orders (id bigint PRIMARY KEY, customer varchar(100) NOT NULL,
                                     state varchar(20) NOT NULL DEFAULT 'placed');
            GRANT SELECT, INSERT, UPDATE, DELETE ON orders TO '{database.application}'@'%'""",
            database.name, database.owner)


class MySql(MariaDb):
    kind = "mysql"

    @staticmethod
    def _commands(data: Path) -> tuple[Path, str, list[str]]:
        program = _mysql()
        initialise = shell(program, "--no-defaults", "--initialize-insecure", f"--datadir={data}")
        return program, initialise, ["--mysqlx=OFF", "--skip-log-bin", "--secure-file-priv="]


class Redis:
    """Keeps the lease."""

    def __init__(self, directory: Path):
        program, self.port = _program("OUTBOX_TEST_REDIS", ["redis-server", "valkey-server"]), free_port()
        self.running = Supervised(
            directory / "redis",
            shell(program, "--bind", "127.0.0.1", "--port", self.port, "--save", "", "--appendonly", "no"), unprivileged=True)
        self.running.wait_until(self._ping)
        self.url = f"redis://127.0.0.1:{self.port}"

    def stop(self) -> None:
        self.running.stop()

    def _ping(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            connection.sendall(b"PING\r\n")
            if (answer := connection.recv(7)) != b"+PONG\r\n":
                raise RuntimeError(f"PING was answered {answer!r}")


SERVERS: dict[str, type[Server]] = {server.kind: server for server in (Postgres, MariaDb, MySql)}


def folder() -> Path:
    """A temporary folder in which the servers' user can make theirs."""
    made = Path(tempfile.mkdtemp(prefix="outbox-guides-"))
    if os.geteuid() == 0:
        shutil.chown(made, "nobody")
    made.chmod(0o755)
    return made


def _output(command: list[str], statements: str) -> str:
    done = subprocess.run(command, input=statements, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise Failure(f"the statements of the runner, by {command[0]}", "no error", ending(done.stderr))
    return done.stdout


def _program(variable: str, names: list[str], elsewhere: list[Path] = []) -> Path:
    """The program that the variable names, else the first of the system's."""
    if named := os.environ.get(variable):
        return _named(variable, names)
    directories = [*os.get_exec_path(), "/usr/sbin", "/usr/local/sbin", *map(str, elsewhere)]
    if found := shutil.which(names[0], path=os.pathsep.join(directories)):
        return Path(found)
    if names[1:]:
        return _program(variable, names[1:], elsewhere)
    raise SystemExit(f"guides/run: no program `{names[0]}` here. `tests/install` installs it, or name one in {variable}")


def _named(variable: str, names: list[str]) -> Path:
    """The variable names a program, or the folder that it is in."""
    named = Path(os.environ[variable])
    found = next((path for path in [named, *(named / name for name in names)] if path.is_file()), None)
    if found is None:
        raise SystemExit(f"guides/run: {variable}: no server at {named}")
    return found


def _postgres() -> Path:
    # Debian keeps it out of PATH, one folder for each release.
    releases = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    return _program("OUTBOX_TEST_POSTGRES", ["postgres"], releases)


def _mariadb() -> Path:
    """OUTBOX_TEST_MYSQLD may name either of two kinds of server."""
    if "OUTBOX_TEST_MYSQLD" in os.environ:
        named = _named("OUTBOX_TEST_MYSQLD", ["mariadbd", "mysqld"])
        if _is_mariadb(named):
            return named
    return _program("", ["mariadbd"])


def _mysql() -> Path:
    if "OUTBOX_TEST_MYSQLD" in os.environ:
        named = _named("OUTBOX_TEST_MYSQLD", ["mysqld", "mariadbd"])
        if not _is_mariadb(named):
            return named
    # Debian's release has none.
    done = subprocess.run([ROOT / "tests/servers", "mysql-9.7"], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit("guides/run: tests/servers could not bring mysql-9.7; see above")
    return Path(done.stdout.strip().partition("=")[2])


def _is_mariadb(program: Path) -> bool:
    return "MariaDB" in subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
