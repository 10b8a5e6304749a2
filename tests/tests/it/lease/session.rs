//! The lease of a session, where a session keeps nobody away, and where it does.

use outbox_adapters::{SessionLease, SessionSetupError};
use outbox_store::{ConnectOptions, Database};
use outbox_tests::servers::{self, MariaDb, TestDatabase};

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

/// A pooler that lends one session to two connections gives both the same lock.
#[tokio::test]
async fn a_pooler_that_shares_its_sessions_is_named_by_check_and_run() {
    let database = servers::postgres().await.database().await;
    let program = program(&database);
    program.run(&["migrate"]).await.done();
    let shared = "ALTER FUNCTION pg_catalog.pg_try_advisory_lock(bigint) RENAME TO pg_try_advisory_lock_within; \
                  CREATE FUNCTION pg_catalog.pg_try_advisory_lock(bigint) RETURNS boolean LANGUAGE sql VOLATILE AS 'SELECT true'";
    let owner = Database::connect(&ConnectOptions { url: &database.url, schema: None, connections: 1 }).await.unwrap();
    let Database::Postgres(pool) = owner else { panic!("{}", database.url) };
    sqlx::raw_sql(shared).execute(&pool).await.unwrap();
    for arguments in [&["check"] as &[&str], &["run"]] {
        let ran = program.run(arguments).await;
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.code, Some(1), "{said}");
        assert!(said.contains("a pooler stands before the database and shares its sessions"), "{arguments:?}: {said}");
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
