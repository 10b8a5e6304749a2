//! What a poller's connection learns of its server.

use std::sync::Arc;

use outbox_store::{ConnectOptions, Database, Durability, Lineages};
use outbox_tests::servers::{self, MariaDb, Postgres};
use sqlx::{AssertSqlSafe, Executor};

use crate::program::{HTTP, Program};

/// A connection as a poller makes it, and what it told. The error says why there is none.
async fn to_poll(url: &str) -> Result<(Database, Arc<Lineages>), String> {
    let lineages = Arc::<Lineages>::default();
    let options = ConnectOptions { url, schema: None, connections: 2 };
    let connected = Box::pin(Database::connect_to_poll(&options, &lineages, Durability::default())).await;
    connected.map(|database| (database, lineages)).map_err(|error| error.to_string())
}

async fn execute(database: &Database, statement: &str) {
    let statement = sqlx::raw_sql(AssertSqlSafe(statement.to_owned()));
    match database {
        Database::Postgres(pool) => drop(pool.execute(statement).await.unwrap()),
        Database::MySql(pool) => drop(pool.execute(statement).await.unwrap()),
        Database::Sqlite(_) => panic!("SQLite has no server"),
    }
}

#[tokio::test]
async fn a_server_of_postgresql_is_known_by_its_system_and_its_timeline() {
    let url = servers::postgres().await.database().await.url;
    let (database, lineages) = to_poll(&url).await.unwrap();
    let lineage = lineages.current().unwrap();
    assert!(lineage.starts_with("timeline 1 of system ") && !lineage.ends_with("unknown"), "{lineage}");
    let role = format!("unseeing_{}", uuid::Uuid::new_v4().simple());
    execute(
        &database,
        &format!("CREATE ROLE {role} LOGIN; REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC"),
    )
    .await;
    let (_, lineages) = to_poll(&url.replace("postgres@", &format!("{role}@"))).await.unwrap();
    assert_eq!(lineages.current().as_deref(), Some("timeline 1 of system unknown"));
}

#[tokio::test]
async fn a_check_says_where_failovers_have_no_witness_and_what_the_role_may_not_read() {
    let test = servers::postgres().await.database().await;
    let (operator, _) = to_poll(&test.url).await.unwrap();
    let role = format!("unseeing_{}", uuid::Uuid::new_v4().simple());
    execute(&operator, &format!("CREATE ROLE {role} LOGIN; ALTER DATABASE {} OWNER TO {role}", test.name)).await;
    let with_table = Program::new(&test.url.replace("postgres@", &format!("{role}@")), HTTP);
    with_table.run(&["migrate"]).await.done();
    let url = servers::redis().await.url();
    let with_redis = Program::new(with_table.database(), &format!("{HTTP}[lease]\nurl = \"{url}\"\n"));
    let (no_witness, hidden) = ("failovers have no witness", "the timeline alone");
    for (statement, program, texts) in [
        ("SELECT 1", &with_redis, &[] as &[&str]),
        ("SELECT 1", &with_table, &[no_witness]),
        ("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC", &with_table, &[no_witness, hidden]),
        ("SELECT 1", &with_redis, &[hidden]),
    ] {
        execute(&operator, statement).await;
        let report = program.run(&["check"]).await.done();
        let noted: Vec<_> = report.lines().filter(|line| line.starts_with("failover")).collect();
        let all = texts.iter().zip(&noted).all(|(text, line)| line.contains(text) && line.contains("  ok  "));
        assert!(all && noted.len() == texts.len(), "{report}");
    }
}

#[tokio::test]
async fn a_server_of_mysql_or_mariadb_has_one_lineage_over_all_connections() {
    let url = servers::mariadb().await.database().await.url;
    let (database, lineages) = to_poll(&url).await.unwrap();
    let lineage = lineages.current().unwrap();
    assert!(lineage.starts_with("server ") || lineage.contains(" (server_id "), "{lineage}");
    for _ in 0..3 {
        database.distrust();
        database.ask_again(&lineages, Durability::Local).await.unwrap();
    }
    assert_eq!((lineages.current(), lineages.last_change()), (Some(lineage), None));
}

#[tokio::test]
async fn a_standby_is_no_server_for_a_poller_until_it_is_promoted() {
    let primary = Postgres::start().await;
    let database = primary.database().await;
    let standby = Postgres::standby_of(primary.port()).await;
    primary.followed().await;
    let url = database.url.replace(&primary.port().to_string(), &standby.port().to_string());
    let refused = to_poll(&url).await.unwrap_err();
    assert!(refused.contains("takes no writes (it is a standby, in recovery)"), "{refused}");
    standby.promote().await;
    let (_, lineages) = to_poll(&url).await.unwrap();
    assert!(lineages.current().unwrap().starts_with("timeline 2 of system "), "{:?}", lineages.current());
}

#[tokio::test]
async fn a_server_of_mysql_or_mariadb_that_turns_read_only_is_left_and_comes_back() {
    let server = MariaDb::start().await;
    let url = server.database().await.url;
    let (database, lineages) = to_poll(&url).await.unwrap();
    let options = ConnectOptions { url: &url, schema: None, connections: 1 };
    let operator = Database::connect(&options).await.unwrap();
    execute(&operator, "SET GLOBAL read_only = 1").await;
    let left = database.ask_again(&lineages, Durability::Local).await.unwrap_err().to_string();
    assert!(left.contains("takes no writes (read_only is "), "{left}");
    let refused = to_poll(&url).await.unwrap_err();
    assert!(refused.contains("takes no writes (read_only is "), "{refused}");
    execute(&operator, "SET GLOBAL read_only = 0").await;
    database.ask_again(&lineages, Durability::Local).await.unwrap();
    assert_eq!((lineages.refusal(), lineages.last_change()), (None, None));
}
