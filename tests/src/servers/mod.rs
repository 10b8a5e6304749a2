//! Servers for tests. `postgres()`, `mariadb()` and `redis()` are shared by the tests of a process, which must
//! neither stop nor freeze them; `Postgres::start()`, `MariaDb::start()` and `Redis::start()` give a test its own.

mod binaries;
mod mariadb;
mod postgres;
mod redis;
mod sentinel;
mod server;
mod supervisor;

use std::sync::OnceLock;

use tokio::sync::OnceCell;
use uuid::Uuid;

pub use mariadb::{MariaDb, MariaDbKind};
pub use postgres::{Postgres, PostgresKind};
pub use redis::{Redis, RedisKind, RedisTls, RedisTlsKind, Transport};
pub use sentinel::{Sentinels, SentinelsTls, Watched};
pub(crate) use server::process_state;
pub use server::{Commands, Kind, Server};

use supervisor::Supervisor;

/// A database of a test's own.
#[derive(Debug, Clone)]
pub struct TestDatabase {
    /// As `database.url` takes it.
    pub url: String,
    /// The database on its server; SQLite: the path of the file.
    pub name: String,
}

/// The command that makes a certificate for this machine which signs itself and is an authority, as `openssl req -x509` makes them.
fn make_own_authority(certificate: &str, key: &str) -> String {
    format!(
        "openssl req -x509 -newkey rsa:2048 -nodes -days 30 -keyout {key} -out {certificate} -subj /CN=localhost \
         -addext subjectAltName=DNS:localhost,IP:127.0.0.1 && chmod 600 {key}"
    )
}

/// The shared PostgreSQL server.
pub async fn postgres() -> &'static Postgres {
    static SHARED: OnceCell<Postgres> = OnceCell::const_new();
    SHARED.get_or_init(Postgres::start).await
}

/// The shared MariaDB (or MySQL) server.
pub async fn mariadb() -> &'static MariaDb {
    static SHARED: OnceCell<MariaDb> = OnceCell::const_new();
    SHARED.get_or_init(MariaDb::start).await
}

/// The shared Redis (or Valkey) server.
pub async fn redis() -> &'static Redis {
    static SHARED: OnceCell<Redis> = OnceCell::const_new();
    SHARED.get_or_init(Redis::start).await
}

/// A new `SQLite` database: its file does not exist yet. It goes with the test process.
pub fn sqlite() -> TestDatabase {
    static DIRECTORY: OnceLock<Supervisor> = OnceLock::new();
    let directory = DIRECTORY.get_or_init(Supervisor::of_directory).directory();
    let path = directory.join(format!("{}.db", fresh_name()));
    let name = path.to_str().expect("a path of UTF-8").to_owned();
    TestDatabase { url: format!("sqlite://{name}?mode=rwc"), name }
}

/// Names no other test uses.
fn fresh_name() -> String {
    format!("test_{}", Uuid::new_v4().simple())
}
