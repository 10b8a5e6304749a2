//! The harness itself.

use std::process::Stdio;
use std::time::Duration;

use outbox_tests::eventually;
use outbox_tests::servers::{self, MariaDb, Postgres, Redis};
use sqlx::Connection;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

#[tokio::test]
async fn each_postgres_database_is_empty_and_its_own() {
    let (one, other) = tokio::join!(servers::postgres(), servers::postgres());
    let (one, other) = tokio::join!(one.database(), other.database());
    assert_ne!(one.name, other.name);
    for database in [one, other] {
        let mut connection = sqlx::PgConnection::connect(&database.url).await.unwrap();
        sqlx::raw_sql("CREATE TABLE mine (id int)").execute(&mut connection).await.unwrap();
    }
}

#[tokio::test]
async fn each_mariadb_database_is_empty_and_its_own() {
    let (one, other) = tokio::join!(servers::mariadb(), servers::mariadb());
    let (one, other) = tokio::join!(one.database(), other.database());
    assert_ne!(one.name, other.name);
    for database in [one, other] {
        let mut connection = sqlx::MySqlConnection::connect(&database.url).await.unwrap();
        sqlx::raw_sql("CREATE TABLE mine (id int)").execute(&mut connection).await.unwrap();
    }
}

#[tokio::test]
async fn each_sqlite_database_is_a_new_file() {
    let database = servers::sqlite();
    let mut connection = sqlx::SqliteConnection::connect(&database.url).await.unwrap();
    sqlx::raw_sql("CREATE TABLE mine (id int)").execute(&mut connection).await.unwrap();
    assert!(std::fs::exists(&database.name).unwrap());
}

#[tokio::test]
async fn a_killed_postgres_returns_on_its_port_with_what_was_committed() {
    let server = Postgres::start().await;
    let database = server.database().await;
    let mut before = sqlx::PgConnection::connect(&database.url).await.unwrap();
    sqlx::raw_sql("CREATE TABLE kept (id int)").execute(&mut before).await.unwrap();
    server.kill().await;
    server.restart().await;
    let mut after = sqlx::PgConnection::connect(&database.url).await.unwrap();
    sqlx::raw_sql("SELECT id FROM kept").execute(&mut after).await.unwrap();
}

#[tokio::test]
async fn a_stopped_mariadb_returns_on_its_port_with_what_was_committed() {
    let server = MariaDb::start().await;
    let database = server.database().await;
    let mut before = sqlx::MySqlConnection::connect(&database.url).await.unwrap();
    sqlx::raw_sql("CREATE TABLE kept (id int)").execute(&mut before).await.unwrap();
    server.restart().await;
    let mut after = sqlx::MySqlConnection::connect(&database.url).await.unwrap();
    sqlx::raw_sql("SELECT id FROM kept").execute(&mut after).await.unwrap();
}

#[tokio::test]
async fn a_frozen_server_answers_nobody_until_it_is_thawed() {
    let server = Postgres::start().await;
    let database = server.database().await;
    let mut connection = sqlx::PgConnection::connect(&database.url).await.unwrap();
    server.freeze();
    let answer = tokio::time::timeout(Duration::from_millis(300), connection.ping()).await;
    assert!(answer.is_err(), "a frozen server answered {answer:?}");
    server.thaw();
    connection.ping().await.unwrap();
}

#[tokio::test]
async fn a_dropped_server_ends() {
    let server = Redis::start().await;
    let process = format!("/proc/{}", server.pid().as_raw_nonzero());
    drop(server);
    let gone = async || (!std::fs::exists(&process).unwrap()).then_some(());
    eventually("the server's process is gone", Duration::from_secs(10), gone).await;
}

/// Set for the process that the next test kills.
const HOLD: &str = "OUTBOX_TEST_HOLD_SERVER";

#[tokio::test]
async fn a_server_ends_with_a_killed_test_process() {
    if std::env::var_os(HOLD).is_some() {
        let server = Redis::start().await;
        server.freeze();
        eprintln!("\nheld {}", server.pid().as_raw_nonzero());
        std::future::pending::<()>().await;
    }
    let mut tests = Command::new(std::env::current_exe().unwrap());
    tests
        .args(["--exact", "database::servers::a_server_ends_with_a_killed_test_process", "--nocapture"])
        .env(HOLD, "1");
    let mut tests = tests.stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let mut lines = BufReader::new(tests.stderr.take().unwrap()).lines();
    let server = loop {
        let line = lines.next_line().await.unwrap().expect("the server's process id is said");
        if let Some(pid) = line.strip_prefix("held ") {
            break format!("/proc/{pid}");
        }
    };
    tests.kill().await.unwrap();
    let gone = async || (!std::fs::exists(&server).unwrap()).then_some(());
    eventually("the frozen server is gone", Duration::from_secs(10), gone).await;
}
