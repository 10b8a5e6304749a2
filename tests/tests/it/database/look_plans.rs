//! What MySQL, MariaDB and SQLite plan for looks at due rows: a stretch of the index that is named, in its order. So it is on a table
//! that was never analysed, and on one that was while it was empty, or full.

use outbox_store::Database;
use outbox_tests::conformance::store::{Dialect, Outbox, on};
use outbox_tests::queries::query;
use sqlx::mysql::MySqlRow;
use sqlx::{AssertSqlSafe, Row as _};

/// What an application wrote: 30,000 messages, half of one tenant; a tenth has one of 300 ordering keys.
const MANY: &str = "INSERT INTO outbox (channel, target, payload, tenant, ordering_key)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 173)
    SELECT 'http', '/hook', '{}', CASE WHEN i % 2 = 0 THEN 'busy' ELSE CAST(i % 1000 AS CHAR) END,
           CASE WHEN i % 10 = 9 THEN CAST(i % 3000 AS CHAR) END
    FROM (SELECT a.i * 173 + b.i AS i FROM n a CROSS JOIN n b) numbers";

const EARLIER: &str = "TIMESTAMP'1970-01-01 00:00:00' + INTERVAL 1700000000000000 MICROSECOND";
const BEFORE_ALL: &str = "'0000-00-00 00:00:00'";
const KNOWN: &str = "1, 2, 3";
const SOME_IDS: &str = "SELECT 1 AS id UNION ALL SELECT 2";
const LANES: &str = "'http\\nacme', 'http\\nother'";

/// A statement of MySQL, made of those of these names, with its values; and the indexes of which it reads a stretch.
type Planned = (&'static [&'static str], &'static [&'static str], &'static [&'static str]);

const ON_MYSQL: [Planned; 10] = [
    (
        &["shown", "look"],
        &["0", "0", "TRUE", BEFORE_ALL, "TRUE", BEFORE_ALL, "0", "TRUE", "NULL", "TRUE", "NULL", "2048"],
        &["outbox_due"],
    ),
    (
        &["shown", "look"],
        &["0", "0", "FALSE", EARLIER, "FALSE", EARLIER, "1", "FALSE", KNOWN, "FALSE", LANES, "2048"],
        &["outbox_due"],
    ),
    (&["shown", "newest"], &["0", "0", "512"], &["outbox_due", "PRIMARY"]),
    (
        &["shown", "look_at_lanes"],
        &["0", "5", "0", "FALSE", EARLIER, "FALSE", EARLIER, "1", "FALSE", "'http'", "'busy'", "1024"],
        &["outbox_turns"],
    ),
    (&["next_lanes"], &["0", "> -1", "2048"], &["outbox_turns"]),
    (&["next_keys"], &["0", "''", "''", "''", "512"], &["outbox_ordered"]),
    (&["nth_of_keys"], &["7", KNOWN], &["PRIMARY", "outbox_ordered"]),
    (&["shown", "look_at_keys"], &[SOME_IDS, "FALSE", "'http'"], &["PRIMARY", "outbox_ordered"]),
    (
        &["claim_rows"],
        &["'[[1, 0], [9, 0]]'", "'[{\"name\": \"http\", \"halt\": true}]'", "0"],
        &["PRIMARY", "outbox_ordered"],
    ),
    (&["unknown"], &["'[1, 9]'", "'[{\"name\": \"http\"}]'", "0"], &["PRIMARY"]),
];

const ON_SQLITE: [(&[&str], &[&str]); 8] = [
    (&["shown", "look"], &["d USING INDEX outbox_due (shard=? AND priority=? AND available_at>? AND available_at<?)"]),
    (&["shown", "newest"], &["d USING INDEX outbox_due (shard=? AND priority=? AND available_at<?)"]),
    (
        &["shown", "look_at_lanes"],
        &[
            "d USING INDEX outbox_turns (shard=? AND channel=? AND <expr>=? AND priority=? AND available_at>? AND available_at<?)",
        ],
    ),
    (&["next_lanes"], &["following USING INDEX outbox_turns (shard=? AND channel=? AND <expr>>?)"]),
    (&["next_keys"], &["following USING INDEX outbox_ordered (shard=? AND channel=? AND ordering_key>?)"]),
    (
        &["shown", "look_at_keys"],
        &[
            "d USING INDEX outbox_ordered (shard=? AND channel=? AND ordering_key=?)",
            "dead USING INDEX outbox_halting (shard=? AND channel=? AND ordering_key=? AND id<?)",
        ],
    ),
    (
        &["claim_rows"],
        &[
            "o USING INTEGER PRIMARY KEY (rowid=?)",
            "earlier USING INDEX outbox_ordered (shard=? AND channel=? AND ordering_key=? AND id<?)",
        ],
    ),
    (&["unknown"], &["o USING INTEGER PRIMARY KEY (rowid=?)"]),
];

/// The text of these statements, without their comments.
fn text(dialect: &str, names: &[&str]) -> String {
    let text: String = names.iter().map(|name| query(&format!("{dialect}/due/{name}"))).collect();
    text.lines().filter(|line| !line.starts_with("--")).collect::<Vec<_>>().join("\n")
}

/// Columns of a plan as text.
async fn explain(outbox: &Outbox, statement: String, columns: &[&str]) -> Vec<Vec<String>> {
    let query = sqlx::raw_sql(AssertSqlSafe(statement));
    match outbox.database() {
        Database::Postgres(_) => unreachable!("its plans are in plans.rs"),
        Database::MySql(pool) => {
            let cell = |row: &MySqlRow, column: &str| {
                row.try_get_unchecked::<Option<String>, _>(column).unwrap().unwrap_or_default()
            };
            let rows = query.fetch_all(pool).await.unwrap();
            rows.iter().map(|row| columns.iter().map(|column| cell(row, column)).collect()).collect()
        }
        Database::Sqlite(pool) => {
            let rows = query.fetch_all(pool).await.unwrap();
            rows.iter().map(|row| columns.iter().map(|column| row.get(*column)).collect()).collect()
        }
    }
}

async fn is_planned_on_mysql(outbox: &Outbox, (names, values, indexes): Planned) -> String {
    let text = text("mysql", names);
    assert_eq!(text.matches('?').count(), values.len(), "{names:?}");
    let mut values = values.iter().copied();
    let spelled: String = text.split('?').map(|part| [part, values.next().unwrap_or_default()].concat()).collect();
    let plan =
        explain(outbox, format!("EXPLAIN FORMAT = TRADITIONAL {spelled}"), &["table", "type", "key", "Extra"]).await;
    let plan_text = format!("{names:?}: {plan:?}");
    for index in indexes {
        let reads = plan.iter().any(|row| row[2] == *index && ["range", "ref", "eq_ref"].contains(&row[1].as_str()));
        assert!(reads, "{index} of {plan_text}");
    }
    assert!(!plan_text.contains("filesort") && !plan_text.contains("Using temporary"), "{plan_text}");
    assert!(plan.iter().all(|row| row[2].is_empty() || indexes.contains(&row[2].as_str())), "{plan_text}");
    plan_text
}

async fn are_planned_on_sqlite(outbox: &Outbox) {
    for (names, stretches) in ON_SQLITE {
        let statement = format!("EXPLAIN QUERY PLAN {}", text("sqlite", names));
        let plan = explain(outbox, statement, &["detail"]).await.concat().join("\n").replace("COVERING INDEX", "INDEX");
        for stretch in stretches {
            assert!(plan.contains(&format!("SEARCH {stretch}")), "{names:?}: {plan}");
        }
        assert!(!plan.contains("TEMP B-TREE") && !plan.contains("SCAN outbox"), "{names:?}: {plan}");
    }
}

#[tokio::test]
async fn looks_on_mysql_read_a_stretch_of_their_index() {
    on(Dialect::MySql, async |outbox: &Outbox| {
        for before in ["DO 0", "ANALYZE TABLE outbox", MANY, "ANALYZE TABLE outbox"] {
            outbox.execute(before).await;
            for planned in ON_MYSQL {
                is_planned_on_mysql(outbox, planned).await;
            }
        }
        for planned in [ON_MYSQL[4], ON_MYSQL[5]] {
            let plan = is_planned_on_mysql(outbox, planned).await;
            assert!(plan.contains("Using index for group-by"), "from one to the next: {plan}");
        }
    })
    .await;
}

#[tokio::test]
async fn looks_on_sqlite_read_a_stretch_of_their_index() {
    on(Dialect::Sqlite, async |outbox: &Outbox| {
        for before in ["SELECT 1", "ANALYZE", MANY, "ANALYZE"] {
            outbox.execute(before).await;
            are_planned_on_sqlite(outbox).await;
        }
    })
    .await;
}
