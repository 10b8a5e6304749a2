//! The lease of a session, where a session keeps nobody away, and where it does.

use outbox_adapters::{SessionLease, SessionSetupError};
use outbox_store::{ConnectOptions, Database};
use outbox_tests::servers::{self, MariaDb, PgBouncer, Postgres, TestDatabase};
use sqlx::AssertSqlSafe;

use crate::program::{HTTP, Program};

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
    let pooled = format!("CREATE ROLE pooled LOGIN SUPERUSER; {ITS_ROLE}");
    sqlx::raw_sql(AssertSqlSafe(pooled)).execute(&pool).await.unwrap();
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
