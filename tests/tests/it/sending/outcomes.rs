//! Outcomes that applications are told, and those that they ask for.

use std::collections::BTreeMap;

use outbox_schema::NewMessage;
use outbox_store::{DeadReason, Dialect, Verdict};
use outbox_tests::eventually;
use serde_json::Value;
use sqlx::mysql::MySqlRow;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Column, Connection, MySqlConnection, PgConnection, Row, SqliteConnection, ValueRef};

use crate::database::grants::{SCHEMA, granted, refused};
use crate::outboxes::{self, Step, transaction};
use crate::poller::Poller;
use crate::program::{PATIENCE, Program};
use crate::sink::Sink;

/// Every way in which the poller ends a message, told by one channel to one receiver.
#[tokio::test]
async fn an_application_is_told_what_became_of_its_messages() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let channel = "kind = \"http\"\nallow_networks = [\"127.0.0.0/8\"]\n";
        let told = format!("{{ channel = \"ops\", target = \"{}\" }}", sink.url("/outcomes"));
        let settings = format!(
            "[channels.ops]\n{channel}[channels.orders]\n{channel}max_message_bytes = \"1 KiB\"\nmax_attempts = 1\n\
             on_dead = {told}\non_success = {told}\n"
        );
        let program = Program::new(&outbox.test.url, &settings);
        let large = format!("{{\"text\": \"{}\"}}", "x".repeat(2_000));
        let wanted = [
            ("thanked", "/thanks", "{}", "SUCCESS", Value::Null),
            ("refused", "/garbage", "{}", "DEAD", "permanent".into()),
            ("failed", "/busy", "{}", "DEAD", "exhausted".into()),
            ("gone", "/gone", "{}", "DEAD", "permanent".into()),
            ("too-large", "/thanks", large.as_str(), "DEAD", "permanent".into()),
            ("expired", "/thanks", "{}", "DEAD", "expired".into()),
        ];
        for (key, path, payload, ..) in &wanted {
            let target = sink.url(path);
            let late = if *key == "expired" { &["--expires-in", "1ms"][..] } else { &[] };
            let words =
                ["enqueue", "--channel", "orders", "--target", &target, "--payload", payload, "--idempotency-key", key];
            program.run(&[&words, late].concat()).await.done();
        }
        let _replica = program.start();
        let outcomes = || {
            let requests = sink.requests().into_iter().filter(|request| request.path == "/outcomes");
            let bodies = requests.map(|request| serde_json::from_slice::<Value>(&request.body).unwrap());
            bodies.map(|body| (body["idempotency_key"].as_str().unwrap().to_owned(), body)).collect::<BTreeMap<_, _>>()
        };
        eventually("all outcomes are told", PATIENCE, async || (outcomes().len() == wanted.len()).then_some(())).await;
        for (key, _, _, status, reason) in &wanted {
            let body = &outcomes()[*key];
            assert_eq!((body["status"].as_str(), &body["reason"]), (Some(*status), reason), "{key}: {body}");
            assert_eq!(body["destination"], sink.url(""), "{key}: {body}");
        }
        // None of an outcome, and none twice.
        let ended = "SELECT count(*) FROM outbox WHERE status <> 'PENDING'";
        let all = i64::try_from(2 * wanted.len()).unwrap();
        eventually("all are marked", PATIENCE, async || (outbox.number(ended).await == all).then_some(())).await;
        assert_eq!(outbox.number("SELECT count(*) FROM outbox").await, all);
        assert!(sink.keys().iter().filter(|(key, _)| key.starts_with("outcome:")).all(|(_, times)| *times == 1));
    }
}

/// By the rights that the grants give. The key holds an id and a revision, which anybody can foresee.
#[tokio::test]
async fn no_application_takes_the_key_of_an_outcome_beforehand() {
    for granted in granted().await {
        let dialect = granted.owner.dialect();
        let as_text = if dialect == Dialect::Postgres { "::text" } else { "" };
        let outbox_id = granted.owner.text(&format!("SELECT outbox_id{as_text} FROM outbox_meta")).await;
        let taken = NewMessage::http("/x").idempotency_key(format!("outcome:{outbox_id}:1:1"));
        let told = transaction(&granted.application, &[Step::Enqueue(&[taken])], "ROLLBACK").await.remove(0);
        let told = format!("{:?}", told.unwrap_err());
        assert!(told.contains("outbox_key_of_an_outcome"), "{told}");
        let with_revision = format!(
            "INSERT INTO outbox (channel, target, payload, idempotency_key, revision) \
             VALUES ('http', '/x', '1', 'outcome:{outbox_id}:1:1', 1)"
        );
        refused(&granted.application, dialect, &with_revision).await;
    }
}

const COLUMNS: [&str; 8] = ["id", "status", "reason", "status_code", "fingerprint", "attempts", "due_at", "ended_at"];

/// What an application is told of a message: the status, then what tells why and when.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    status: String,
    reason: Option<String>,
    status_code: Option<i64>,
    fingerprint: Option<String>,
    attempts: i64,
    is_due: bool,
    has_ended: bool,
}

macro_rules! told {
    ($row:ty, $rows:expr, $number:ty, $attempts:ty, $columns:expr) => {{
        let told = |row: &$row| {
            assert_eq!(Row::columns(row).iter().map(Column::name).collect::<Vec<_>>(), $columns);
            let is_there = |column: &str| !row.try_get_raw(column).unwrap().is_null();
            Told {
                status: row.get("status"),
                reason: row.get("reason"),
                status_code: row.get::<Option<$number>, _>("status_code").map(i64::from),
                fingerprint: row.get("fingerprint"),
                attempts: row.get::<$attempts, _>("attempts").into(),
                is_due: is_there("due_at"),
                has_ended: is_there("ended_at"),
            }
        };
        $rows.iter().map(told).collect()
    }};
}

/// Asks as an application, by the SQL of docs/outcomes.md.
async fn asked(url: &str, key: &str) -> Vec<Told> {
    match url.split(':').next() {
        Some("postgres") => {
            let mut connection = PgConnection::connect(url).await.unwrap();
            let sql = AssertSqlSafe(format!("SELECT * FROM outbox_outcome('{key}')"));
            let rows = sqlx::query(sql).fetch_all(&mut connection).await.unwrap();
            told!(PgRow, rows, i32, i32, COLUMNS)
        }
        Some("mysql") => {
            let mut connection = MySqlConnection::connect(url).await.unwrap();
            let sql = AssertSqlSafe(format!("CALL outbox_outcome('{key}')"));
            let rows = sqlx::raw_sql(sql).fetch_all(&mut connection).await.unwrap();
            told!(MySqlRow, rows, i32, i16, COLUMNS)
        }
        _ => {
            let mut connection = SqliteConnection::connect(url).await.unwrap();
            let sql = AssertSqlSafe(format!("SELECT * FROM outbox_outcome WHERE idempotency_key = '{key}'"));
            let rows = sqlx::query(sql).fetch_all(&mut connection).await.unwrap();
            told!(SqliteRow, rows, i64, i64, [&["idempotency_key"][..], &COLUMNS].concat())
        }
    }
}

/// The rights to ask, given to `role`.
fn grants(dialect: Dialect, role: &str) -> String {
    match dialect {
        Dialect::Postgres => {
            let file = include_str!("../../../../outbox-schema/grants/postgres_outcome.sql");
            format!("\\set schema {SCHEMA}\n\\set application {role}\n{file}")
        }
        Dialect::MySql => include_str!("../../../../outbox-schema/grants/mysql_outcome.sql")
            .replace("APPLICATION", &format!("'{role}'@'%'")),
        Dialect::Sqlite => include_str!("../../../../outbox-schema/grants/sqlite_outcome.sql").to_owned(),
    }
}

#[tokio::test]
async fn an_application_asks_what_became_of_a_message_by_its_key_and_sees_nothing_else_of_it() {
    let [postgres, mysql] = granted().await.map(|granted| {
        let dialect = granted.owner.dialect();
        granted.owner.run_client(&grants(dialect, &granted.application_role));
        (granted.owner, granted.application, Some(granted.operator))
    });
    let [_, _, sqlite] = outboxes::migrated().await;
    sqlite.sql(&grants(Dialect::Sqlite, "")).await;
    let url = sqlite.test.url.clone();
    for (outbox, application, other) in [postgres, mysql, (sqlite, url, None)] {
        let keys = ["delivered", "dead", "waits"];
        let messages = keys.map(|key| NewMessage::http("https://shop.example/s3cret").idempotency_key(key));
        outboxes::transaction(&application, &[Step::Enqueue(&messages)], "COMMIT").await.remove(0).unwrap();
        let poller = Poller::begin(&outbox.database, "one").await;
        let (claim, claimed) = poller.claim().await;
        let verdicts = [
            Verdict::Success { receipt: None },
            Verdict::Dead { reason: DeadReason::Permanent, attempted: true, invalid_target: false },
            Verdict::Retry { after: PATIENCE },
        ];
        for (message, verdict) in claimed.iter().zip(&verdicts) {
            poller.mark_some(claim, std::slice::from_ref(message), verdict, &[]).await;
        }
        let fingerprint = outbox.text("SELECT fingerprint FROM outbox WHERE status = 'DEAD'").await;
        let told = |status: &str, is_due| Told {
            status: status.to_owned(),
            reason: (status == "DEAD").then(|| "permanent".to_owned()),
            status_code: Some(418),
            fingerprint: (status == "DEAD").then(|| fingerprint.clone()),
            attempts: 1,
            is_due,
            has_ended: !is_due,
        };
        assert_eq!(asked(&application, "delivered").await, [told("SUCCESS", false)]);
        assert_eq!(asked(&application, "dead").await, [told("DEAD", false)]);
        assert_eq!(asked(&application, "waits").await, [told("PENDING", true)]);
        assert_eq!(asked(&application, "nobody").await.len(), 0, "{application}");
        let Some(other) = other else { continue };
        let asks = match outbox.dialect() {
            Dialect::Postgres => "SELECT * FROM outbox_outcome('dead')",
            Dialect::MySql | Dialect::Sqlite => "CALL outbox_outcome('dead')",
        };
        refused(&other, outbox.dialect(), asks).await;
    }
}
