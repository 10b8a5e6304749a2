//! Databases that look like PostgreSQL or MySQL, and poolers: `migrate`, `check` and `run` refuse them by name.

use outbox_store::{ConnectOptions, Database};
use outbox_tests::servers::{self, MariaDb, PgBouncer, TestDatabase};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::program::{HTTP, Program};

const COCKROACH: &str = "CockroachDB CCL v24.1.2 (x86_64-pc-linux-gnu, built 2024/06/24 14:32:26, go1.22.3)";
const YUGABYTE: &str =
    "PostgreSQL 11.2-YB-2.20.1.3-b0 on x86_64-pc-linux-gnu, compiled by clang version 16.0.6, 64-bit";

/// Says why no pool was made. None where one was.
async fn refusal(url: &str, schema: Option<&str>) -> Option<String> {
    let connected = Database::connect(&ConnectOptions { url, schema, connections: 1 }).await;
    connected.err().map(|error| {
        assert!(!error.may_pass(), "{error}");
        error.to_string()
    })
}

async fn execute(url: &str, statements: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(statements.to_owned())).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// A database of PostgreSQL that says that it is another product.
async fn database_that_says(version: &str) -> TestDatabase {
    let database = servers::postgres().await.database().await;
    let replaced = format!(
        "ALTER FUNCTION pg_catalog.version() RENAME TO version_within; \
         CREATE FUNCTION pg_catalog.version() RETURNS text LANGUAGE sql STABLE AS $$SELECT '{version}'$$"
    );
    execute(&database.url, &replaced).await;
    database
}

/// A new role of the server, and the URL with it in the place of the superuser.
async fn role(url: &str) -> (String, String) {
    let role = format!("role_{}", uuid::Uuid::new_v4().simple());
    execute(url, &format!("CREATE ROLE {role} LOGIN")).await;
    let of_role = url.replace("postgres@", &format!("{role}@"));
    (role, of_role)
}

async fn tables(url: &str) -> i64 {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let count = "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'outbox%'";
    sqlx::query_scalar(count).fetch_one(&mut connection).await.unwrap()
}

/// `migrate`, `check` and `run` each say this, and end.
async fn is_refused(url: &str, why: &str) {
    let program = Program::new(url, HTTP);
    for arguments in [&["migrate"] as &[&str], &["run"], &["run", "--until-empty"]] {
        let said = program.run(arguments).await.failed();
        assert!(said.contains(why), "{arguments:?}: {said}");
    }
    let checked = program.run(&["check"]).await;
    let line = checked.stdout.lines().find(|line| line.starts_with("database")).unwrap();
    assert!(checked.code == Some(1) && line.contains("FAILED") && checked.stdout.contains(why), "{checked:?}");
}

#[tokio::test]
async fn cockroachdb_is_refused_by_name_and_nothing_is_made_there() {
    let database = database_that_says(COCKROACH).await;
    is_refused(&database.url, "CockroachDB").await;
    assert_eq!(tables(&database.url).await, 0);
}

#[tokio::test]
async fn aurora_dsql_is_known_by_its_own_table_and_needs_no_connection_where_its_host_says_it() {
    let database = servers::postgres().await.database().await;
    execute(&database.url, "CREATE SCHEMA sys; CREATE TABLE sys.iam_pg_role_mappings (arn text)").await;
    let by_host = "postgres://admin@foo0bar1baz2quux3quuux4.dsql.us-east-1.on.aws/postgres";
    for url in [&*database.url, by_host] {
        let refused = refusal(url, None).await.unwrap();
        assert!(refused.contains("it is Aurora DSQL"), "{refused}");
    }
}

#[tokio::test]
async fn yugabytedb_is_refused_until_its_transactions_are_read_committed() {
    let database = database_that_says(YUGABYTE).await;
    for (effective, is_refused) in [("repeatable read", true), ("read committed", false)] {
        let function =
            "CREATE OR REPLACE FUNCTION yb_get_effective_transaction_isolation_level() RETURNS text LANGUAGE sql";
        execute(&database.url, &format!("{function} AS $$SELECT '{effective}'$$")).await;
        let refused = refusal(&database.url, None).await;
        assert_eq!(refused.as_ref().is_some_and(|why| why.contains(effective)), is_refused, "{refused:?}");
        assert_eq!(refused.is_some(), is_refused, "{refused:?}");
    }
}

#[tokio::test]
async fn a_table_that_citus_distributes_is_refused_and_a_local_one_is_not() {
    let database = servers::postgres().await.database().await;
    // As Citus has it: <https://docs.citusdata.com/en/stable/develop/api_metadata.html>.
    execute(
        &database.url,
        "SET allow_system_table_mods = on; \
         CREATE TABLE pg_catalog.pg_dist_partition \
         (logicalrelid regclass, partmethod \"char\", partkey text, colocationid integer, repmodel \"char\"); \
         GRANT SELECT ON pg_catalog.pg_dist_partition TO public",
    )
    .await;
    let program = Program::new(&database.url, HTTP);
    program.run(&["migrate"]).await.done();
    execute(&database.url, "CREATE TABLE orders (id bigint)").await;
    for (table, method, group, model, is_refused) in [
        ("outbox", "n", 0, "s", false),
        ("orders", "h", 1, "s", false),
        ("outbox", "h", 1, "s", true),
        ("outbox_term", "n", 1, "t", true),
        ("outbox", "n", 2, "s", true),
    ] {
        let row = format!(
            "DELETE FROM pg_dist_partition; INSERT INTO pg_dist_partition VALUES ('{table}', '{method}', NULL, {group}, '{model}')"
        );
        execute(&database.url, &row).await;
        let refused = refusal(&database.url, None).await;
        let statement = format!("undistribute_table('{table}')");
        assert_eq!(refused.is_some_and(|why| why.contains(&statement)), is_refused, "{row}");
    }
    is_refused(&database.url, "Citus distributes outbox, which is refused").await;
}

#[tokio::test]
async fn tidb_and_vitess_are_refused_by_name() {
    for (version, name) in [("8.0.11-TiDB-v7.5.0", "TiDB"), ("8.0.40-Vitess", "Vitess (PlanetScale, for one)")] {
        let Some(server) = MariaDb::start_as_version(version).await else { return };
        is_refused(&server.database().await.url, &format!("it is {name}, which is refused")).await;
    }
}

#[tokio::test]
async fn a_server_that_lets_nobody_ask_is_taken_for_what_it_looks_like() {
    let database = database_that_says(COCKROACH).await;
    let (_, url) = role(&database.url).await;
    assert!(refusal(&url, None).await.is_some());
    execute(&database.url, "REVOKE EXECUTE ON FUNCTION pg_catalog.version() FROM PUBLIC").await;
    assert_eq!(refusal(&url, None).await, None);
}

#[tokio::test]
async fn a_pooler_that_drops_what_a_connection_asks_for_is_refused_and_names_the_parameter() {
    let database = servers::postgres().await.database().await;
    let (role, url) = role(&database.url).await;
    let pooler = PgBouncer::before(&url, "session", "options,extra_float_digits").await;
    is_refused(&pooler.url, "statement_timeout is 0, and was to be 15s").await;
    let refused = refusal(&pooler.url, Some("shop")).await.unwrap();
    assert!(refused.contains("statement_timeout is 0"), "{refused}");
    for (name, value) in
        [("statement_timeout", "15s"), ("lock_timeout", "5s"), ("idle_in_transaction_session_timeout", "2s")]
    {
        let statement = format!("ALTER ROLE its_role SET {name} = '{value}'");
        assert!(refused.contains(&statement), "{refused}");
        execute(&database.url, &statement.replace("its_role", &role)).await;
    }
    pooler.restart().await;
    assert_eq!(refusal(&pooler.url, None).await, None, "the role has what was asked for");
    let refused = refusal(&pooler.url, Some("shop")).await.unwrap();
    assert!(refused.contains("ALTER ROLE its_role SET search_path = \"shop\""), "{refused}");
    execute(&database.url, &format!("ALTER ROLE {role} SET search_path = shop")).await;
    pooler.restart().await;
    assert_eq!(refusal(&pooler.url, Some("shop")).await, None);
}

#[tokio::test]
async fn a_pooler_that_refuses_what_a_connection_asks_for_is_not_waited_for() {
    let database = servers::postgres().await.database().await;
    for (ignored, refused) in [("", "extra_float_digits"), ("extra_float_digits", "options")] {
        let pooler = PgBouncer::before(&database.url, "session", ignored).await;
        is_refused(&pooler.url, &format!("unsupported startup parameter: {refused}")).await;
    }
}

#[tokio::test]
async fn what_a_connection_asks_for_wins_over_the_settings_of_role_and_database() {
    let database = servers::postgres().await.database().await;
    let (role, url) = role(&database.url).await;
    let settings =
        ["statement_timeout = '1min'", "default_transaction_isolation = 'serializable'", "search_path = other"];
    for setting in settings {
        execute(
            &database.url,
            &format!("ALTER ROLE {role} SET {setting}; ALTER DATABASE {} SET {setting}", database.name),
        )
        .await;
    }
    assert_eq!(refusal(&url, Some("shop")).await, None);
    assert_eq!(refusal(&format!("{url}?options=-c%20statement_timeout%3D0"), None).await, None);
}
