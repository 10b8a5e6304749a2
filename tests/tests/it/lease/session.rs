//! The lease of a session, where a session keeps nobody away, and where it does.

use std::time::Duration;

use outbox_adapters::{Lease as _, SessionLease, SessionSetupError};
use outbox_store::{ConnectOptions, Database, Holder, Shard};
use outbox_tests::servers::{self, MariaDb, PgBouncer, Postgres, TestDatabase};
use sqlx::AssertSqlSafe;

use crate::program::{HTTP, PATIENCE, Program};

const SESSION: &str = "[lease]\nprovider = \"session\"\n";

fn program(database: &TestDatabase) -> Program {
    Program::new(&database.url, &format!("{HTTP}{SESSION}"))
}

#[tokio::test]
async fn check_says_who_polls_by_a_session() {
    for database in [servers::postgres().await.database().await, servers::mariadb().await.database().await] {
        let program = program(&database);
        program.run(&["migrate"]).await.done();
        let text = program.run(&["check"]).await.done();
        assert!(text.contains("the lease store answers: a session of the database; nobody polls"), "{text}");
        let mut replica = program.start();
        replica.says("term.began").await;
        let text = program.run(&["check"]).await.done();
        assert!(
            text.contains("the lease store answers: a session of the database;") && !text.contains("nobody"),
            "{text}"
        );
    }
}

/// A role that has what a connection asks for, so that a pooler need not pass it on.
const ITS_ROLE: &str = "ALTER ROLE pooled SET statement_timeout = '15s'; ALTER ROLE pooled SET lock_timeout = '5s'; \
                        ALTER ROLE pooled SET idle_in_transaction_session_timeout = '2s'";

/// A pooler that lends a session for a transaction has others hold the locks of this one.
#[tokio::test]
async fn a_pooler_that_shares_its_sessions_is_named_by_check_and_run_and_one_that_keeps_them_is_not() {
    let postgres = Postgres::start().await;
    let database = postgres.database().await;
    program(&database).run(&["migrate"]).await.done();
    let owner = Database::connect(&ConnectOptions { url: &database.url, schema: None, connections: 1 }).await.unwrap();
    let Database::Postgres(pool) = owner else { panic!("{}", database.url) };
    let role = format!("CREATE ROLE pooled LOGIN SUPERUSER; {ITS_ROLE}");
    sqlx::raw_sql(AssertSqlSafe(role)).execute(&pool).await.unwrap();
    let url = database.url.replace("postgres@", "pooled@");
    for settings in [HTTP.to_owned(), format!("{HTTP}{SESSION}")] {
        let pooler = PgBouncer::before(&url, "transaction", "options,extra_float_digits").await;
        let program = Program::new(&pooler.url, &settings);
        for arguments in [&["check"] as &[&str], &["check"], &["run"], &["status"], &["migrate"]] {
            let ran = program.run(arguments).await;
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(ran.code == Some(1) && said.contains("shares its sessions"), "{arguments:?}: {said}");
        }
        let pooler = PgBouncer::before(&url, "session", "options,extra_float_digits").await;
        let program = Program::new(&pooler.url, &settings);
        for _ in 0..2 {
            program.run(&["check"]).await.done();
        }
        let mut replica = program.start();
        replica.says("term.began").await;
    }
}

#[tokio::test]
async fn a_node_of_galera_holds_no_lease_by_a_session() {
    let Some(node) = MariaDb::node("one").await else { return };
    let database = node.database().await;
    let options = ConnectOptions { url: &database.url, schema: None, connections: 2 };
    let refused = SessionLease::new(Database::connect(&options).await.unwrap(), "an outbox").await.unwrap_err();
    assert!(matches!(refused, SessionSetupError::Nodes), "{refused}");
    assert!(refused.to_string().contains("lease.provider = \"table\""), "{refused}");
}

/// A holder hears of it within a moment, and not by its next renewal, which is a third of the time to live away.
#[tokio::test]
async fn a_holder_whose_session_is_ended_is_told_at_once() {
    for database in [servers::postgres().await.database().await, servers::mariadb().await.database().await] {
        program(&database).run(&["migrate"]).await.done();
        let options = ConnectOptions { url: &database.url, schema: None, connections: 3 };
        let (database, other) =
            (Database::connect(&options).await.unwrap(), Database::connect(&options).await.unwrap());
        let lease = SessionLease::new(database, "an outbox").await.unwrap();
        let (seat, holder, ttl) = (Shard::default().into(), Holder::new("a", "b"), Duration::from_hours(1));
        assert!(lease.acquire(&seat, &holder, ttl).await.unwrap());
        let told = tokio::spawn({
            let (lease, seat, holder) = (lease.clone(), seat.clone(), holder.clone());
            async move { lease.lost(&seat, &holder, ttl).await }
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!told.is_finished(), "nothing was lost yet");
        match &other {
            Database::Postgres(pool) => {
                let ended = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted \
                             AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
                sqlx::raw_sql(ended).execute(pool).await.unwrap();
            }
            Database::MySql(pool) => {
                let holder = "SELECT CAST(IS_USED_LOCK(SHA2(CONCAT(LOWER(DATABASE()), ' outbox an outbox 0'), 256)) AS unsigned)";
                let session: u64 = sqlx::query_scalar(holder).fetch_one(pool).await.unwrap();
                sqlx::raw_sql(AssertSqlSafe(format!("KILL {session}"))).execute(pool).await.unwrap();
            }
            Database::Sqlite(_) => unreachable!("it has no sessions"),
        }
        tokio::time::timeout(PATIENCE, told).await.unwrap().unwrap();
        assert!(!lease.renew(&seat, &holder, ttl).await.unwrap());
    }
}
