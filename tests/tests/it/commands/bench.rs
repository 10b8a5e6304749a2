//! `outbox bench`, as somebody runs it who plans capacity: small, and without a word about how fast this machine is.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use outbox_store::{ConnectOptions, Database, Dialect};
use outbox_tests::servers::{self, TestDatabase};
use outbox_tests::{eventually, outbox_binary};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::program::Program;

/// Far more than it takes: the machine may be busy with other tests.
const PATIENCE: Duration = Duration::from_mins(4);

/// Longest that the connections of processes that were killed may be seen.
const CLEARED: Duration = Duration::from_mins(1);

/// All that need neither a fleet of fifty nor many seconds.
const SMALL: [&str; 13] = [
    "drain",
    "latency",
    "snapshot",
    "history",
    "future",
    "backlog",
    "ordered",
    "enqueue",
    "retention",
    "deliveries",
    "destinations",
    "fair",
    "hosts",
];

async fn bench(database: &TestDatabase, arguments: &[&str]) -> Command {
    let mut command = Command::new(outbox_binary());
    let redis = format!("lease.url={}", servers::redis().await.url());
    command.args(["--database", &database.url, "--set", &redis, "bench"]).args(arguments);
    // Where it finds no settings of anybody.
    command.current_dir(std::env::temp_dir()).stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// Runs it to its end and gives what it found.
async fn report(database: &TestDatabase, scenarios: &[&str]) -> Value {
    let arguments = [scenarios, &["--rounds", "1", "--scale", "0.002", "--in-flight", "64", "--json"]].concat();
    let output = bench(database, &arguments).await.output();
    let output = tokio::time::timeout(PATIENCE, output).await.unwrap().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The value of a figure.
fn figure(report: &Value, scenario: &str, name: &str) -> f64 {
    let of_scenario = |found: &&Value| found["scenario"] == scenario;
    let findings = report["scenarios"].as_array().unwrap().iter().find(of_scenario);
    let figures = findings.unwrap_or_else(|| panic!("no {scenario} in {report:#}"))["figures"].as_array().unwrap();
    let figure = figures.iter().find(|figure| figure["name"] == name);
    figure.and_then(|figure| figure["value"].as_f64()).unwrap_or_else(|| panic!("no {name} in {figures:#?}"))
}

/// What each of them says on every database.
fn assert_sane(report: &Value) {
    for (scenario, name) in [
        ("drain", "H, raw HTTP"),
        ("drain", "D, raw database"),
        ("drain", "R, the product"),
        ("drain", "request, p99"),
        ("latency", "commit to receiver, p50"),
        ("snapshot", "R with a snapshot held"),
        ("history", "R beside rows that are kept"),
        ("future", "R beside rows that are not due"),
        ("backlog", "R of the last tenth"),
        ("ordered", "R in 100 to each ordering key"),
        ("ordered", "R in an ordering key for each"),
        ("ordered", "R beside a halted ordering key"),
        ("ordered", "R beside ordering keys that wait"),
        ("enqueue", "1,000 at once"),
        ("retention", "R while old rows are removed"),
        ("deliveries", "R with a summary of each delivery"),
        ("deliveries", "R with the answer of each delivery"),
        ("destinations", "R beside a dead and a slow destination"),
        ("destinations", "the same from the start of the term"),
        ("fair", "commit to receiver of quiet tenants, p99"),
        ("fair", "R of the noisy tenant meanwhile"),
        ("hosts", "R to many healthy hosts"),
        ("hosts", "R behind closed hosts, from the start of the term"),
    ] {
        let value = figure(report, scenario, name);
        assert!(value.is_finite() && value > 0.0, "{scenario}, {name}: {value}");
    }
    assert!((figure(report, "enqueue", "statements to enqueue one") - 1.0).abs() < f64::EPSILON);
    assert_eq!(report["one_machine"], true);
}

/// What a bench makes and has not removed, and the processes that use it.
async fn left(database: &TestDatabase) -> Vec<String> {
    let options = ConnectOptions { url: &database.url, schema: None, connections: 1 };
    match Database::connect(&options).await.unwrap() {
        Database::Postgres(pool) => {
            let sql = "SELECT nspname::text FROM pg_namespace WHERE nspname LIKE 'outbox\\_bench\\_%' \
                       UNION ALL SELECT 'a connection of ' || pid FROM pg_stat_activity \
                       WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'outbox'";
            sqlx::query_scalar(sql).fetch_all(&pool).await.unwrap()
        }
        Database::MySql(pool) => {
            let sql = "SELECT CAST(schema_name AS char(64)) FROM information_schema.schemata \
                       WHERE schema_name LIKE 'outbox\\_bench\\_%'";
            sqlx::query_scalar(sql).fetch_all(&pool).await.unwrap()
        }
        Database::Sqlite(_) => {
            let directory = Path::new(&database.name).parent().unwrap();
            let names = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
            names.filter_map(|name| name.into_string().ok()).filter(|name| name.starts_with("outbox_bench_")).collect()
        }
    }
}

async fn assert_nothing_is_left(database: &TestDatabase) {
    eventually("a bench leaves nothing behind", CLEARED, async || left(database).await.is_empty().then_some(())).await;
}

/// Interrupts a bench of many rounds once it has made something in its second one.
async fn interrupt(database: &TestDatabase, signal: Signal) {
    let arguments = ["drain", "--rounds", "1000", "--rows", "500", "--in-flight", "64"];
    let mut child = bench(database, &arguments).await.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = tokio::time::timeout(PATIENCE, said.next_line()).await.unwrap().unwrap().unwrap();
    assert!(first.contains("round 1 of ") && first.contains(": H "), "{first}");
    eventually("it has made something", PATIENCE, async || (!left(database).await.is_empty()).then_some(())).await;
    kill_process(Pid::from_raw(child.id().unwrap().cast_signed()).unwrap(), signal).unwrap();
    let status = tokio::time::timeout(PATIENCE, child.wait()).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(1));
    let mut last = String::new();
    while let Some(line) = said.next_line().await.unwrap() {
        last = line;
    }
    assert_eq!(last, "outbox: the bench broke off; it removed what it had made: interrupted");
    assert_nothing_is_left(database).await;
}

#[tokio::test]
async fn a_bench_on_postgres_says_what_it_found_and_leaves_nothing_but_the_users_own_outbox() {
    let database = servers::postgres().await.database().await;
    let options = ConnectOptions { url: &database.url, schema: None, connections: 1 };
    let own = Database::connect(&options).await.unwrap();
    own.migrate("default").await.unwrap();
    let Database::Postgres(pool) = &own else { panic!("this is PostgreSQL") };
    let due = "INSERT INTO outbox (channel, target, payload) VALUES ('http', 'http://127.0.0.1:1/', '{}')";
    sqlx::raw_sql(due).execute(pool).await.unwrap();

    let report = report(&database, &SMALL).await;
    assert_sane(&report);
    assert!(figure(&report, "drain", "log written per message") > 0.0);
    assert!(figure(&report, "drain", "commits per message") > 0.0);

    let untouched = "SELECT revision FROM outbox WHERE status = 'PENDING' AND attempts = 0";
    let revisions: Vec<i32> = sqlx::query_scalar(untouched).fetch_all(pool).await.unwrap();
    assert_eq!(revisions, [0]);
    own.close().await;
    assert_nothing_is_left(&database).await;
}

/// One after the other: both look at all databases of the server.
#[tokio::test]
async fn a_bench_on_mariadb_says_what_it_found_and_leaves_nothing_also_when_it_is_interrupted() {
    let database = servers::mariadb().await.database().await;
    assert_sane(&report(&database, &SMALL).await);
    assert_nothing_is_left(&database).await;
    interrupt(&database, Signal::TERM).await;
}

#[tokio::test]
async fn a_bench_on_sqlite_says_what_it_found_and_leaves_nothing_also_when_it_is_interrupted() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("100% here");
    std::fs::create_dir(&directory).unwrap();
    let name = directory.join("outbox.db").to_str().unwrap().to_owned();
    let database = TestDatabase { url: format!("sqlite://{}", name.replace('%', "%25")), name };
    assert_sane(&report(&database, &SMALL).await);
    assert_nothing_is_left(&database).await;
    interrupt(&database, Signal::INT).await;
}

#[tokio::test]
async fn an_interrupted_bench_on_postgres_leaves_neither_schema_nor_connection() {
    let database = servers::postgres().await.database().await;
    interrupt(&database, Signal::INT).await;
    interrupt(&database, Signal::TERM).await;
}

#[tokio::test]
async fn a_bench_of_fcm_delivers_over_several_connections() {
    let database = servers::postgres().await.database().await;
    let report = report(&database, &["fcm"]).await;
    assert!(figure(&report, "fcm", "a bare client") > 0.0);
    assert!(figure(&report, "fcm", "R, the product") > 0.0);
}

#[tokio::test]
async fn an_idle_fleet_is_measured_by_what_redis_and_the_database_count() {
    let database = servers::postgres().await.database().await;
    // Five hundredths of fifty replicas, for two seconds.
    let arguments = ["idle", "--rounds", "1", "--scale", "0.05", "--json"];
    let output = bench(&database, &arguments).await.output();
    let output = tokio::time::timeout(PATIENCE, output).await.unwrap().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report = serde_json::from_slice(&output.stdout).unwrap();
    assert!(figure(&report, "idle", "Redis commands") > 0.0);
    assert!((figure(&report, "idle", "replicas") - 3.0).abs() < f64::EPSILON);
}

#[tokio::test]
async fn a_bench_says_how_to_remove_what_a_killed_one_left() {
    let database = servers::postgres().await.database().await;
    let options = ConnectOptions { url: &database.url, schema: None, connections: 1 };
    let own = Database::connect(&options).await.unwrap();
    let Database::Postgres(pool) = &own else { panic!("this is PostgreSQL") };
    sqlx::raw_sql("CREATE SCHEMA outbox_bench_0123456789ab").execute(pool).await.unwrap();
    let output = bench(&database, &["--rounds", "1", "--rows", "50"]).await.output().await.unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("DROP SCHEMA outbox_bench_0123456789ab CASCADE"), "{said}");
    assert_eq!(left(&database).await.iter().filter(|left| left.starts_with("outbox_")).count(), 1);
}

#[tokio::test]
async fn a_bench_that_may_make_nothing_says_which_right_it_lacks_and_that_nothing_is_left() {
    for granted in crate::database::grants::granted().await {
        let (what, refused) = match granted.owner.dialect() {
            Dialect::Postgres => ("CREATE SCHEMA outbox_bench_", "permission denied for database"),
            Dialect::MySql | Dialect::Sqlite => ("CREATE DATABASE outbox_bench_", "Access denied for user"),
        };
        let program = Program::new(&granted.dispatcher, "");
        let said = program.run(&["bench", "drain", "--rounds", "1", "--scale", "0.002"]).await.failed();
        assert!(said.contains(what) && said.contains(refused), "{said}");
        assert!(!said.contains("left behind") && !said.contains("DROP"), "nothing was made: {said}");
    }
}
