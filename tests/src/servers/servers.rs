//! The servers of a test run.

use std::sync::OnceLock;

use tokio::sync::OnceCell;

use super::database::{TestDatabase, fresh_name};
use super::mariadb::MariaDb;
use super::postgres::Postgres;
use super::redis::Redis;
use super::supervisor::Supervisor;

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
