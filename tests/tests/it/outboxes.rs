//! An outbox of a test's own on each of the three databases.

use std::io::Write;
use std::process::{Command, Stdio};

use outbox_desk::{Counted, Heartbeat, Replica, RunsBy};
use outbox_schema::{EnqueueError, Enqueued, NewMessage, OutboxConnection, enqueue_all};
use outbox_store::{ConnectOptions, Database, Dialect};
pub(crate) use outbox_tests::application::execute;
use outbox_tests::servers::{self, TestDatabase};
use sqlx::{
    AssertSqlSafe, Connection, Executor, MySql, MySqlConnection, PgConnection, Postgres, SqliteConnection, Transaction,
};

/// A database, and how it was reached.
#[derive(Debug)]
pub(crate) struct Outbox {
    pub(crate) database: Database,
    pub(crate) test: TestDatabase,
}

/// Three databases without tables: on PostgreSQL, on MariaDB and on SQLite.
pub(crate) async fn empty() -> [Outbox; 3] {
    // Boxed: the futures that start a server or connect are large.
    Box::pin(async {
        let postgres = Outbox::open(servers::postgres().await.database().await).await;
        let mysql = Outbox::open(servers::mariadb().await.database().await).await;
        [postgres, mysql, Outbox::open(servers::sqlite()).await]
    })
    .await
}

/// Three outboxes of the environment `default`.
pub(crate) async fn migrated() -> [Outbox; 3] {
    let outboxes = empty().await;
    for outbox in &outboxes {
        Box::pin(outbox.database.migrate("default")).await.unwrap();
    }
    outboxes
}

/// [`migrated`], one after the other. Each is named when its turn comes, so that a test that fails says on which it did.
pub(crate) async fn each() -> impl Iterator<Item = Outbox> {
    named(migrated().await)
}

/// The same of [`empty`].
pub(crate) async fn each_empty() -> impl Iterator<Item = Outbox> {
    named(empty().await)
}

fn named(outboxes: [Outbox; 3]) -> impl Iterator<Item = Outbox> {
    outboxes.into_iter().inspect(|outbox| eprintln!("on {:?}: {}", outbox.dialect(), outbox.test.url))
}

/// What an application does in its transaction.
pub(crate) enum Step<'a> {
    Enqueue(&'a [NewMessage]),
    Sql(&'a str),
}

impl Outbox {
    pub(crate) async fn open(test: TestDatabase) -> Self {
        let database = connect(&test.url, None).await;
        Self { database, test }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.database.dialect()
    }

    /// Runs SQL that all three understand.
    pub(crate) async fn sql(&self, sql: &str) {
        self.try_sql(sql).await.unwrap();
    }

    /// Keeps so many hosts as those that asked to be left alone for a long time.
    pub(crate) async fn hosts_that_asked_for_a_pause(&self, count: usize) {
        let until = if self.dialect() == Dialect::Sqlite { "9e14" } else { "'2999-01-01 00:00:00'" };
        let row = |host: usize| format!("('https://host{host}.example:443', 'asked', {until})");
        let insert = "INSERT INTO outbox_destination (destination, pause_kind, paused_until) VALUES";
        self.sql(&format!("{insert} {}", (0..count).map(row).collect::<Vec<_>>().join(", "))).await;
    }

    /// Whether the server behind the dialect of both is MySQL, and not MariaDB.
    pub(crate) async fn is_mysql(&self) -> bool {
        self.dialect() == Dialect::MySql && !self.text("SELECT VERSION()").await.contains("MariaDB")
    }

    /// Writes the row of a replica that runs.
    pub(crate) async fn beat(&self, id: &str, name: &str) {
        self.beat_in(id, name, None).await;
    }

    /// The same of one that something keeps from its work.
    pub(crate) async fn beat_troubled(&self, id: &str, name: &str, trouble: &str) {
        self.beat_in(id, name, Some(trouble)).await;
    }

    async fn beat_in(&self, id: &str, name: &str, trouble: Option<&str>) {
        let version = "0.0.1".to_owned();
        let replica = Replica { id: id.to_owned(), name: name.to_owned(), version, address: String::new() };
        let (runs_by, counted) = (&RunsBy::default(), Counted::default());
        let beat = Heartbeat { replica: &replica, runs_by, counted, trouble, began: None };
        outbox_desk::heartbeat(&self.database, &beat).await.unwrap();
    }

    /// Runs SQL that the database may refuse, as an application does.
    pub(crate) async fn try_sql(&self, sql: &str) -> sqlx::Result<()> {
        execute(&self.database, sql).await
    }

    /// What a query of one number gives.
    pub(crate) async fn number(&self, sql: &str) -> i64 {
        match &self.database {
            Database::Postgres(pool) => sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(pool).await,
            Database::MySql(pool) => sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(pool).await,
            Database::Sqlite(pool) => sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(pool).await,
        }
        .unwrap()
    }

    /// What a query of one text gives.
    pub(crate) async fn text(&self, sql: &str) -> String {
        match &self.database {
            Database::Postgres(pool) => sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(pool).await,
            Database::MySql(pool) => sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(pool).await,
            Database::Sqlite(pool) => sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(pool).await,
        }
        .unwrap()
    }

    /// Locks the rows of the outbox that meet a condition, as an application may.
    pub(crate) async fn hold(&self, condition: &str) -> HeldRows<'_> {
        let lock = sqlx::raw_sql(AssertSqlSafe(format!("SELECT id FROM outbox WHERE {condition} FOR UPDATE")));
        match &self.database {
            Database::Postgres(pool) => {
                let mut held = pool.begin().await.unwrap();
                lock.fetch_all(&mut *held).await.unwrap();
                HeldRows::Postgres(held)
            }
            Database::MySql(pool) => {
                let mut held = pool.begin().await.unwrap();
                lock.fetch_all(&mut *held).await.unwrap();
                HeldRows::MySql(held)
            }
            Database::Sqlite(_) => HeldRows::Sqlite,
        }
    }

    /// Takes the steps in one transaction of a connection of the application's own, with the database's own settings,
    /// and gives the answers to what was enqueued.
    pub(crate) async fn transaction(
        &self,
        steps: &[Step<'_>],
        commit: bool,
    ) -> Vec<Result<Vec<Enqueued>, EnqueueError>> {
        let end = if commit { "COMMIT" } else { "ROLLBACK" };
        transaction(&self.test.url, steps, end).await
    }

    /// Enqueues in a transaction that is committed.
    pub(crate) async fn enqueue(&self, messages: &[NewMessage]) -> Vec<Enqueued> {
        self.transaction(&[Step::Enqueue(messages)], true).await.remove(0).unwrap()
    }

    /// Feeds a script to the database's own program.
    pub(crate) fn run_client(&self, script: &str) {
        let url = url::Url::parse(&self.test.url).unwrap();
        let port = url.port().unwrap_or_default().to_string();
        let mut client = match self.dialect() {
            Dialect::Postgres => {
                let mut psql = Command::new("psql");
                psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", &self.test.url]);
                psql
            }
            Dialect::MySql => {
                let installed = |client: &&str| Command::new(client).arg("--version").output().is_ok();
                let client = ["mariadb", "mysql"].into_iter().find(installed).unwrap();
                let mut mariadb = Command::new(client);
                mariadb.args(["--no-defaults", "-h127.0.0.1", "-uoutbox", "-P", &port, &self.test.name]);
                mariadb
            }
            Dialect::Sqlite => {
                let mut sqlite3 = Command::new("sqlite3");
                sqlite3.args(["-bail", &self.test.name]);
                sqlite3
            }
        };
        let mut client = client.stdin(Stdio::piped()).spawn().unwrap();
        client.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        assert!(client.wait().unwrap().success());
    }
}

/// Rows that an application's open transaction has locked.
pub(crate) enum HeldRows<'a> {
    Postgres(Transaction<'a, Postgres>),
    MySql(Transaction<'a, MySql>),
    /// SQLite locks no rows, and its lock is the whole file.
    Sqlite,
}

impl HeldRows<'_> {
    /// Ends the transaction.
    pub(crate) async fn release(self) {
        match self {
            Self::Postgres(held) => held.rollback().await.unwrap(),
            Self::MySql(held) => held.rollback().await.unwrap(),
            Self::Sqlite => {}
        }
    }
}

/// The text as SQL. A backslash is one, also to MySQL.
pub(crate) fn literal(dialect: Dialect, text: &str) -> String {
    let text = text.replace('\'', "''");
    match dialect {
        Dialect::Postgres => format!("'{text}'"),
        Dialect::MySql => format!("'{}'", text.replace('\\', "\\\\").replace('\0', "\\0")),
        Dialect::Sqlite => format!("('{}')", text.replace('\0', "' || char(0) || '")),
    }
}

/// A payload of so many bytes, as an SQL expression.
pub(crate) fn body(dialect: Dialect, bytes: usize) -> String {
    let characters = bytes - 2;
    match dialect {
        Dialect::Postgres => format!("to_jsonb(repeat('x', {characters}))"),
        Dialect::MySql => format!("CONCAT('\"', REPEAT('x', {characters}), '\"')"),
        Dialect::Sqlite => format!("'\"' || printf('%.*c', {characters}, 'x') || '\"'"),
    }
}

/// As `outbox run` connects.
pub(crate) async fn connect(url: &str, schema: Option<&str>) -> Database {
    Database::connect(&ConnectOptions { url, schema, connections: 4 }).await.unwrap()
}

/// As an application connects that knows nothing of ours.
pub(crate) async fn transaction(
    url: &str,
    steps: &[Step<'_>],
    end: &'static str,
) -> Vec<Result<Vec<Enqueued>, EnqueueError>> {
    match url.split(':').next() {
        Some("postgres") => take(&mut PgConnection::connect(url).await.unwrap(), steps, end).await,
        Some("mysql") => take(&mut MySqlConnection::connect(url).await.unwrap(), steps, end).await,
        _ => take(&mut SqliteConnection::connect(url).await.unwrap(), steps, end).await,
    }
}

async fn take<C>(connection: &mut C, steps: &[Step<'_>], end: &'static str) -> Vec<Result<Vec<Enqueued>, EnqueueError>>
where
    C: OutboxConnection,
    for<'c> &'c mut C: Executor<'c>,
{
    (&mut *connection).execute("BEGIN").await.unwrap();
    let mut answers = Vec::new();
    for step in steps {
        match step {
            Step::Enqueue(messages) => answers.push(enqueue_all(connection, messages).await),
            Step::Sql(sql) => drop((&mut *connection).execute(AssertSqlSafe(*sql)).await.unwrap()),
        }
    }
    (&mut *connection).execute(end).await.unwrap();
    answers
}
