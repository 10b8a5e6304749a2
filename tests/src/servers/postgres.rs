//! PostgreSQL.

use std::path::{Path, PathBuf};

use rustix::process::Signal;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection, postgres::PgConnectOptions};

use super::binaries::{Program, companion, quoted};
use super::server::{Commands, Kind, Server};
use super::{TestDatabase, fresh_name, make_own_authority};
use crate::eventually::{PATIENCE, eventually};

/// A PostgreSQL server.
pub type Postgres = Server<PostgresKind>;

/// See [`Postgres`].
#[derive(Debug)]
pub enum PostgresKind {}

const PROGRAM: Program = Program { names: &["postgres"], variable: "OUTBOX_TEST_POSTGRES", package: "postgresql" };

impl Kind for PostgresKind {
    const NAME: &'static str = "postgres";
    /// "Fast shutdown": waits for no client.
    const STOP: Signal = Signal::INT;

    fn commands(directory: &Path, port: u16) -> Commands {
        let postgres = program();
        let initdb = companion(&postgres, &["initdb"]);
        Commands {
            initialise: format!(
                // A killed process loses nothing without fsync, only a killed machine does.
                "{} -D data -U postgres --auth=trust --encoding=UTF8 --no-locale --no-sync \
                 && echo 'fsync = off' >> data/postgresql.conf",
                quoted(&initdb)
            ),
            ..serving(&postgres, directory, port)
        }
    }

    async fn ask(port: u16) -> anyhow::Result<()> {
        connect(port).await?.close().await?;
        Ok(())
    }
}

/// The commands of a server whose data are there.
fn serving(postgres: &Path, directory: &Path, port: u16) -> Commands {
    Commands {
        initialise: String::new(),
        server: format!(
            "{} -D data -c port={port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={} \
             -c max_connections=200 -c shared_buffers=256MB",
            quoted(postgres),
            quoted(directory)
        ),
        // "Immediate shutdown": after KILL its shared memory would remain.
        end_signal: "QUIT",
    }
}

impl Postgres {
    /// A standby of the primary that is reached at this port of 127.0.0.1. It follows by streaming replication.
    pub async fn standby_of(port_of_primary: u16) -> Self {
        Self::start_as(move |directory, port| {
            let postgres = program();
            let copy = companion(&postgres, &["pg_basebackup"]);
            Commands {
                initialise: format!(
                    "{} -h 127.0.0.1 -p {port_of_primary} -U postgres -D data -R -X stream -c fast --no-sync",
                    quoted(&copy)
                ),
                ..serving(&postgres, directory, port)
            }
        })
        .await
    }

    /// Has each commit wait until a standby has it, as soon as one follows.
    pub async fn commit_with_a_standby(&self) {
        self.run("ALTER SYSTEM SET synchronous_standby_names = '*'").await;
        self.run("SELECT pg_reload_conf()").await;
        let follows =
            async || self.holds("SELECT bool_or(sync_state = 'sync') FROM pg_stat_replication").await.then_some(());
        eventually("a standby follows", PATIENCE, follows).await;
    }

    /// Has no commit wait for a standby any more.
    pub async fn commit_alone(&self) {
        self.run("ALTER SYSTEM RESET synchronous_standby_names").await;
        self.run("SELECT pg_reload_conf()").await;
        let alone = async || self.holds("SELECT current_setting('synchronous_standby_names') = ''").await.then_some(());
        eventually("commits wait for no standby", PATIENCE, alone).await;
    }

    /// Waits until a standby has written all that was committed until now.
    pub async fn followed(&self) {
        let lags = "SELECT bool_or(replay_lsn >= pg_current_wal_lsn()) FROM pg_stat_replication";
        eventually("a standby has all", PATIENCE, async || self.holds(lags).await.then_some(())).await;
    }

    /// Writes something.
    ///
    /// # Errors
    /// Where it takes no writes now.
    pub async fn write(&self) -> sqlx::Result<()> {
        let mut connection = connect(self.port()).await?;
        sqlx::raw_sql("CREATE TABLE IF NOT EXISTS written ()").execute(&mut connection).await?;
        connection.close().await
    }

    /// Makes a standby the primary. Its commits wait for no other.
    pub async fn promote(&self) {
        self.run("SELECT pg_promote()").await;
        self.run("ALTER SYSTEM RESET synchronous_standby_names").await;
        self.run("SELECT pg_reload_conf()").await;
    }

    /// Has it refuse writes from now on, and keeps its connections, as a server that was made a reader.
    pub async fn take_no_writes(&self) {
        self.run("ALTER SYSTEM SET default_transaction_read_only = on").await;
        self.run("SELECT pg_reload_conf()").await;
    }

    /// How many connections of replicas lead to it.
    pub async fn replicas(&self) -> i64 {
        let mut connection = connect(self.port()).await.unwrap();
        let question = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'outbox'";
        sqlx::query_scalar(question).fetch_one(&mut connection).await.unwrap()
    }

    async fn run(&self, statement: &'static str) {
        let mut connection = connect(self.port()).await.unwrap();
        sqlx::raw_sql(statement).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    async fn holds(&self, question: &'static str) -> bool {
        let mut connection = connect(self.port()).await.unwrap();
        let answer: Option<bool> = sqlx::query_scalar(question).fetch_one(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        answer.unwrap_or(false)
    }

    /// A server with TLS, and a certificate that is its own authority. Gives the path of the certificate too.
    pub async fn start_as_own_authority() -> (Self, String) {
        let server = Self::start_as(|directory, port| {
            let Commands { initialise, server, end_signal } = PostgresKind::commands(directory, port);
            let certificate = make_own_authority("data/server.crt", "data/server.key");
            Commands {
                initialise: format!("{initialise} && {certificate}"),
                server: format!("{server} -c ssl=on"),
                end_signal,
            }
        });
        let server = server.await;
        let certificate = server.directory().join("data/server.crt").to_str().expect("a path of UTF-8").to_owned();
        (server, certificate)
    }

    /// Has it flush each commit to disk, as in production: for figures.
    pub async fn durable(&self) -> &Self {
        let mut connection = connect(self.port()).await.unwrap();
        sqlx::query("ALTER SYSTEM SET fsync = on").execute(&mut connection).await.unwrap();
        sqlx::query("SELECT pg_reload_conf()").execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        self
    }

    /// A new, empty database. Its owner is the superuser `postgres`, who needs no password.
    pub async fn database(&self) -> TestDatabase {
        let name = fresh_name();
        let mut connection = connect(self.port()).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(format!("CREATE DATABASE {name}"))).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        TestDatabase { url: format!("postgres://postgres@127.0.0.1:{}/{name}", self.port()), name }
    }
}

async fn connect(port: u16) -> sqlx::Result<PgConnection> {
    PgConnectOptions::new_without_pgpass().host("127.0.0.1").port(port).username("postgres").connect().await
}

pub(super) fn program() -> PathBuf {
    PROGRAM.find(&debian_directories())
}

/// Debian keeps the server out of `PATH`, one directory per release; the newest first.
fn debian_directories() -> Vec<PathBuf> {
    let releases = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut releases: Vec<u32> = releases.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    releases.sort_unstable_by(|a, b| b.cmp(a));
    releases.iter().map(|release| format!("/usr/lib/postgresql/{release}/bin").into()).collect()
}
