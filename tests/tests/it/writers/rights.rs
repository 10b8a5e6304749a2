//! What applications of any stack write: through the table, the view `outbox_new`, and `outbox_enqueue`; and the mistakes that
//! are refused at the insert or named afterwards.

use std::collections::BTreeSet;

use outbox_schema::NewMessage;
use outbox_store::{Dialect, Verdict};
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection, PgConnection, Row};

use crate::changes::cancel_by_key::documented;
use crate::database::grants::{Granted, SCHEMA, granted, refused};
use crate::listener::readiness::get;
use crate::outboxes::{self, Outbox, Step, transaction};
use crate::poller::Poller;
use crate::program::{HTTP, Program};
use crate::sink::Sink;

/// Grants a file of `outbox-schema/grants` to the application, beside what it has.
fn grant_more(granted: &Granted, on_postgres: &str, on_mysql: &str) {
    let role = &granted.application_role;
    granted.owner.run_client(&match granted.owner.dialect() {
        Dialect::Postgres => format!("\\set schema {SCHEMA}\n\\set application {role}\n{on_postgres}"),
        Dialect::MySql | Dialect::Sqlite => on_mysql.replace("APPLICATION", &format!("'{role}'@'%'")),
    });
}

fn grant_enqueue(granted: &Granted) {
    grant_more(
        granted,
        include_str!("../../../../outbox-schema/grants/postgres_enqueue.sql"),
        include_str!("../../../../outbox-schema/grants/mysql_enqueue.sql"),
    );
}

/// An application's connection that calls `outbox_enqueue` in the words of its database.
enum Caller {
    Postgres(PgConnection),
    MySql(MySqlConnection),
}

impl Caller {
    async fn connect(url: &str) -> Self {
        if url.starts_with("postgres") {
            Self::Postgres(PgConnection::connect(url).await.unwrap())
        } else {
            Self::MySql(MySqlConnection::connect(url).await.unwrap())
        }
    }

    async fn run(&mut self, sql: &str) {
        match self {
            Self::Postgres(connection) => connection.execute(AssertSqlSafe(sql)).await.map(drop),
            Self::MySql(connection) => connection.execute(AssertSqlSafe(sql)).await.map(drop),
        }
        .unwrap();
    }

    /// `options` as MySQL takes them; on PostgreSQL they are named arguments.
    async fn enqueue(&mut self, key: Option<&str>, payload: &str, options: &str) -> sqlx::Result<Option<i64>> {
        let key = key.map_or_else(|| "NULL".to_owned(), |key| format!("'{key}'"));
        match self {
            Self::Postgres(connection) => {
                let options: serde_json::Map<String, serde_json::Value> = serde_json::from_str(options).unwrap();
                let named: String = options
                    .iter()
                    .map(|(name, value)| match value {
                        serde_json::Value::Number(number) => format!(", p_{name} => {number}"),
                        other => format!(", p_{name} => '{}'", other.as_str().map_or(other.to_string(), str::to_owned)),
                    })
                    .collect();
                let call = format!(
                    "SELECT outbox_enqueue(p_channel => 'http', p_target => '/hook', p_payload => '{payload}', \
                     p_idempotency_key => {key}{named})"
                );
                sqlx::query_scalar(AssertSqlSafe(call)).fetch_one(connection).await
            }
            Self::MySql(connection) => {
                let call = format!("CALL outbox_enqueue('http', '/hook', '{payload}', {key}, '{options}', @id)");
                sqlx::raw_sql(AssertSqlSafe(call)).execute(&mut *connection).await?;
                let row = sqlx::raw_sql("SELECT @id").fetch_one(connection).await?;
                Ok(row.get(0))
            }
        }
    }
}

#[tokio::test]
async fn outbox_enqueue_gives_the_id_or_null_for_a_known_key_and_the_transaction_goes_on() {
    for granted in granted().await {
        grant_enqueue(&granted);
        let mut caller = Caller::connect(&granted.application).await;
        caller.run("BEGIN").await;
        let first = caller.enqueue(Some("order-1"), r#"{"order": 1}"#, "{}").await.unwrap();
        let again = caller.enqueue(Some("order-1"), r#"{"order": 2}"#, "{}").await.unwrap();
        let unnamed = caller.enqueue(None, "[]", "{}").await.unwrap();
        assert!(first.is_some() && again.is_none() && unnamed > first, "{first:?} {again:?} {unnamed:?}");
        caller.run("COMMIT").await;
        assert_eq!(granted.owner.number("SELECT count(*) FROM outbox").await, 2);

        caller.run("BEGIN").await;
        caller.enqueue(Some("order-2"), "1", "{}").await.unwrap().unwrap();
        caller.run("ROLLBACK").await;
        assert_eq!(granted.owner.number("SELECT count(*) FROM outbox").await, 2);
    }
}

#[tokio::test]
async fn the_documented_call_writes_a_message_that_is_due_in_ten_minutes() {
    let [postgres, mysql] = granted().await;
    for granted in [&postgres, &mysql] {
        grant_enqueue(granted);
        let mut caller = Caller::connect(&granted.application).await;
        caller.run(documented("The function outbox_enqueue", granted.owner.dialect())).await;
    }
    let [_, _, sqlite] = outboxes::migrated().await;
    sqlite.sql(documented("The function outbox_enqueue", Dialect::Sqlite)).await;
    for (outbox, seconds) in [
        (&postgres.owner, "extract(epoch FROM available_at - created_at)::bigint"),
        (&mysql.owner, "TIMESTAMPDIFF(SECOND, created_at, available_at)"),
        (&sqlite, "(available_at - created_at) / 1000"),
    ] {
        let due =
            outbox.number(&format!("SELECT {seconds} FROM outbox WHERE idempotency_key = 'order-4711-reminder'")).await;
        assert!((599..=601).contains(&due), "{due}");
    }
}

#[tokio::test]
async fn a_delay_is_counted_in_seconds_whatever_the_sessions_time_zone() {
    for granted in granted().await {
        grant_enqueue(&granted);
        let mut caller = Caller::connect(&granted.application).await;
        let (zone, seconds) = match granted.owner.dialect() {
            Dialect::Postgres => ("SET timezone = 'Asia/Seoul'", "extract(epoch FROM COLUMN - created_at)::bigint"),
            Dialect::MySql | Dialect::Sqlite => {
                ("SET time_zone = '+09:00'", "TIMESTAMPDIFF(SECOND, created_at, COLUMN)")
            }
        };
        caller.run(zone).await;
        let options = r#"{"delay_seconds": 90, "expires_seconds": 600.5, "ordering_key": "o", "priority": 3,
                          "max_attempts": 4, "headers": {"X-Tenant": "7"}, "tenant": "seven", "tags": {"order": "4711"}}"#;
        caller.enqueue(Some("later"), "1", options).await.unwrap().unwrap();
        for (column, range) in [("available_at", 89..=91), ("expires_at", 599..=601)] {
            let seconds = seconds.replace("COLUMN", column);
            let found = granted.owner.number(&format!("SELECT {seconds} FROM outbox")).await;
            assert!(range.contains(&found), "{column}: {found}");
        }
        let kept = "SELECT count(*) FROM outbox WHERE ordering_key = 'o' AND priority = 3 AND max_attempts = 4 \
                    AND headers IS NOT NULL AND tenant = 'seven' AND tags IS NOT NULL";
        assert_eq!(granted.owner.number(kept).await, 1);
    }
}

#[tokio::test]
async fn outbox_enqueue_is_a_right_of_its_own_and_names_what_it_does_not_know() {
    for granted in granted().await {
        let dialect = granted.owner.dialect();
        let call = match dialect {
            Dialect::Postgres => "SELECT outbox_enqueue('http', '/hook', '1')",
            Dialect::MySql | Dialect::Sqlite => "CALL outbox_enqueue('http', '/hook', '1', NULL, NULL, @id)",
        };
        refused(&granted.application, dialect, call).await;
        grant_enqueue(&granted);
        let mut caller = Caller::connect(&granted.application).await;
        if dialect == Dialect::MySql {
            let told = caller.enqueue(None, "1", r#"{"delay": 5}"#).await.unwrap_err().to_string();
            assert!(told.contains("no option delay"), "{told}");
            let told = caller.enqueue(None, "1", "[]").await.unwrap_err().to_string();
            assert!(told.contains("not an object"), "{told}");
        }
        if granted.owner.is_mysql().await {
            let told = caller.enqueue(None, r#"{"n": 12345678901234567890123}"#, "{}").await.unwrap_err().to_string();
            assert!(told.contains("round"), "{told}");
            caller.enqueue(None, r#"{"n": "12345678901234567890123"}"#, "{}").await.unwrap().unwrap();
        }
    }
}

/// An operator or a function of the caller's own must not run with the rights of the tables' owner.
#[tokio::test]
async fn outbox_enqueue_runs_nothing_that_its_caller_made() {
    let [granted, _] = granted().await;
    grant_enqueue(&granted);
    let role = &granted.application_role;
    granted.owner.run_client(&format!("GRANT CREATE ON SCHEMA public, {SCHEMA} TO {role};"));
    let mut caller = PgConnection::connect(&granted.application).await.unwrap();
    for schema in ["public", SCHEMA] {
        let spy = format!(
            "SET search_path = {schema};
             CREATE FUNCTION spy_{schema}(a double precision, b interval) RETURNS interval LANGUAGE plpgsql AS
                 $$BEGIN RAISE EXCEPTION 'ran as %', current_user; END$$;
             CREATE OPERATOR {schema}.* (LEFTARG = double precision, RIGHTARG = interval, FUNCTION = spy_{schema});
             CREATE FUNCTION {schema}.now() RETURNS timestamptz LANGUAGE plpgsql AS
                 $$BEGIN RAISE EXCEPTION 'ran as %', current_user; END$$;"
        );
        caller.execute(AssertSqlSafe(spy)).await.unwrap();
    }
    caller.execute("CREATE TEMPORARY TABLE outbox (LIKE dispatcher.outbox_new)").await.unwrap();
    caller.execute(AssertSqlSafe(format!("SET search_path = pg_temp, public, {SCHEMA}, pg_catalog"))).await.unwrap();
    let call = "SELECT dispatcher.outbox_enqueue('http', '/hook', '1', p_delay_seconds => 5, p_expires_seconds => 50)";
    caller.execute(call).await.unwrap();
    assert_eq!(granted.owner.number("SELECT count(*) FROM dispatcher.outbox").await, 1);
}

/// Where the application may read a column of the table, it may lock its rows too. The view has no rows to lock, and MySQL
/// refuses to look for them where they are to be changed.
#[tokio::test]
async fn an_application_of_mariadb_or_mysql_that_has_the_view_alone_locks_no_row() {
    let [_, granted] = granted().await;
    let role = &granted.application_role;
    granted.owner.sql(&format!("REVOKE ALL PRIVILEGES, GRANT OPTION FROM '{role}'@'%'")).await;
    grant_more(&granted, "", include_str!("../../../../outbox-schema/grants/mysql_strict.sql"));
    for lock in ["FOR UPDATE", "LOCK IN SHARE MODE"] {
        refused(&granted.application, Dialect::MySql, &format!("SELECT id FROM outbox {lock}")).await;
        granted.owner.enqueue(&[NewMessage::http("/hook")]).await;
        let mut caller = Caller::connect(&granted.application).await;
        caller.run("SET autocommit = 0").await;
        let through_the_view = format!("SELECT id FROM outbox_new {lock}");
        if granted.owner.is_mysql().await && lock == "FOR UPDATE" {
            refused(&granted.application, Dialect::MySql, &through_the_view).await;
        } else {
            caller.run(&through_the_view).await;
        }
        let poller = Poller::begin(&granted.owner.database, lock).await;
        let (claim, messages) = poller.claim().await;
        assert_eq!(messages.len(), 1, "{lock}");
        poller.mark(claim, &messages, &Verdict::Success { receipt: None }).await;
    }
}

#[tokio::test]
async fn the_view_takes_a_message_and_shows_none_to_whom_has_no_right_on_the_table() {
    for granted in granted().await {
        let dialect = granted.owner.dialect();
        let strict = match dialect {
            Dialect::Postgres => format!("REVOKE ALL ON {SCHEMA}.outbox FROM {}", granted.application_role),
            Dialect::MySql | Dialect::Sqlite => {
                format!("REVOKE ALL PRIVILEGES, GRANT OPTION FROM '{}'@'%'", granted.application_role)
            }
        };
        granted.owner.sql(&strict).await;
        grant_more(
            &granted,
            include_str!("../../../../outbox-schema/grants/postgres_strict.sql"),
            include_str!("../../../../outbox-schema/grants/mysql_strict.sql"),
        );
        let mut insert =
            "INSERT INTO outbox_new (channel, target, payload, idempotency_key) VALUES ('http', '/x', '{}', 'k')"
                .to_owned();
        // What ORMs do with what they wrote. MySQL knows no such thing.
        if !granted.owner.is_mysql().await {
            insert.push_str(" RETURNING *");
        }
        let mut caller = Caller::connect(&granted.application).await;
        caller.run(&insert).await;
        assert_eq!(granted.owner.number("SELECT count(*) FROM outbox").await, 1);
        assert_eq!(granted.owner.number("SELECT count(*) FROM outbox_new").await, 0);
        for sql in ["SELECT id FROM outbox", "INSERT INTO outbox (channel, target, payload) VALUES ('http', '/x', '1')"]
        {
            refused(&granted.application, dialect, sql).await;
        }
    }
}

#[tokio::test]
async fn an_application_writes_no_column_that_belongs_to_the_dispatcher() {
    for granted in granted().await {
        for column in ["id", "status", "revision", "shard", "attempts", "finished_at", "deferred_from"] {
            let value = if column == "status" { "'SUCCESS'" } else { "NULL" };
            let insert =
                format!("INSERT INTO outbox (channel, target, payload, {column}) VALUES ('http', '/x', '1', {value})");
            refused(&granted.application, granted.owner.dialect(), &insert).await;
        }
        if granted.owner.is_mysql().await {
            // A view has no AUTO_INCREMENT: it would be taken.
            let zero = "INSERT INTO outbox_new (id, channel, target, payload) VALUES (0, 'http', '/x', '1')";
            refused(&granted.application, Dialect::MySql, zero).await;
        }
    }
}

/// A DATETIME keeps no zone, and most libraries write the time of theirs.
#[tokio::test]
async fn times_are_a_right_of_their_own_on_mysql_and_the_library_needs_it_only_where_it_writes_some() {
    let [_, granted] = granted().await;
    let later = [NewMessage::http("/x").json(&1).delay(std::time::Duration::from_mins(10))];
    let timed = [
        "INSERT INTO outbox (channel, target, payload, available_at) VALUES ('http', '/x', '1', UTC_TIMESTAMP(6))",
        "INSERT INTO outbox (channel, target, payload, expires_at) VALUES ('http', '/x', '1', '2999-01-01')",
    ];
    for insert in timed {
        refused(&granted.application, Dialect::MySql, insert).await;
    }
    let steps = [Step::Enqueue(&[NewMessage::http("/x").json(&1)]), Step::Enqueue(&later)];
    let answers = transaction(&granted.application, &steps, "COMMIT").await;
    assert!(answers[0].is_ok());
    let told = answers[1].as_ref().unwrap_err().to_string();
    assert!(told.contains("INSERT command denied") && told.contains("gives it with mysql_times.sql"), "{told}");

    grant_more(&granted, "", include_str!("../../../../outbox-schema/grants/mysql_times.sql"));
    let [first, second] = timed.map(Step::Sql);
    let answers = transaction(&granted.application, &[first, second, Step::Enqueue(&later)], "COMMIT").await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!(granted.owner.number("SELECT count(*) FROM outbox").await, 4);
}

#[tokio::test]
async fn zero_values_outcomes_their_keys_and_payloads_encoded_twice_are_refused_by_name() {
    for outbox in outboxes::each().await {
        let then = match outbox.dialect() {
            Dialect::Postgres => "'0001-01-01 00:00:00+00'",
            Dialect::MySql => "'1000-01-01'",
            Dialect::Sqlite => "0",
        };
        for (column, value, named) in [
            ("status", "'SUCCESS'", "outbox_born_pending"),
            ("status", "'DEAD'", "outbox_born_pending"),
            ("max_attempts", "0", "outbox_max_attempts_of_1_or_more"),
            ("idempotency_key", "'outcome:0f9e2ab1-3c4d-4e5f-8a6b-7c8d9e0f1a2b:1:1'", "outbox_key_of_an_outcome"),
            ("expires_at", then, "outbox_expires_at_after_2000"),
        ] {
            let insert =
                format!("INSERT INTO outbox (channel, target, payload, {column}) VALUES ('http', '/x', '1', {value})");
            let told = outbox.try_sql(&insert).await.unwrap_err().to_string();
            assert!(told.contains(named), "{told}");
        }
        // A backslash is one of SQL's on MySQL.
        let quote = if outbox.dialect() == Dialect::MySql { r"\\" } else { r"\" };
        for text in [format!(r#""{{{quote}"a{quote}": 1}}""#), r#"" [1]""#.to_owned()] {
            let insert = format!("INSERT INTO outbox (channel, target, payload) VALUES ('http', '/x', '{text}')");
            let told = outbox.try_sql(&insert).await.unwrap_err().to_string();
            assert!(told.contains("outbox_payload_encoded_twice"), "{told}");
        }
        let target = "https://shop.example/";
        let forced = ["enqueue", "--channel", "http", "--target", target, "--payload", r#""{\"a\": 1}""#, "--force"];
        let told = Program::new(&outbox.test.url, HTTP).run(&forced).await.failed();
        assert!(told.contains("outbox_payload_encoded_twice"), "{told}");
        for text in [r#""hello""#, "null", r#""""#, "5"] {
            outbox.sql(&format!("INSERT INTO outbox (channel, target, payload) VALUES ('http', '/x', '{text}')")).await;
        }
    }
}

/// The first message with an empty key would be sent, and all others dropped as its duplicates.
#[tokio::test]
async fn an_empty_text_and_a_key_that_ends_in_a_space_are_refused_by_name_and_other_keys_differ_as_their_bytes_do() {
    for outbox in outboxes::each().await {
        let insert = |column: &str, value: &str| {
            let mut row = vec![("channel", "http"), ("target", "/x"), ("payload", "1")];
            row.retain(|(name, _)| *name != column);
            row.push((column, value));
            let (columns, values): (Vec<_>, Vec<_>) =
                row.into_iter().map(|(name, text)| (name, format!("'{text}'"))).unzip();
            format!("INSERT INTO outbox ({}) VALUES ({})", columns.join(", "), values.join(", "))
        };
        for column in ["idempotency_key", "ordering_key", "tenant", "channel", "target"] {
            let told = outbox.try_sql(&insert(column, "")).await.unwrap_err().to_string();
            assert!(told.contains(&format!("outbox_{column}_not_empty")), "{told}");
        }
        for column in ["idempotency_key", "ordering_key", "tenant", "channel"] {
            let told = outbox.try_sql(&insert(column, "a ")).await.unwrap_err().to_string();
            assert!(told.contains("_in_no_space"), "{told}");
        }
        // Case, accents and their normal form, a space in front, width: what collations ignore.
        for key in ["a", "A", " a", "\u{e9}", "e\u{301}", "e", "\u{ff41}", "a\u{200d}"] {
            outbox.sql(&insert("idempotency_key", key)).await;
        }
        assert_eq!(outbox.number("SELECT count(*) FROM outbox").await, 8);
    }
}

#[tokio::test]
async fn outbox_enqueue_refuses_an_empty_key_by_name() {
    for granted in granted().await {
        grant_enqueue(&granted);
        let mut caller = Caller::connect(&granted.application).await;
        for (key, options) in [(Some(""), "{}"), (None, r#"{"ordering_key": ""}"#), (None, r#"{"tenant": ""}"#)] {
            let told = caller.enqueue(key, "1", options).await.unwrap_err().to_string();
            assert!(told.contains("_not_empty"), "{told}");
        }
    }
}

/// Takes the checks away, as they are in an outbox of before, and where somebody sends JSON as text.
async fn without_checks(outbox: &Outbox) {
    let checks = ["outbox_born_pending", "outbox_payload_encoded_twice", "outbox_max_attempts_of_1_or_more"];
    match outbox.dialect() {
        Dialect::Sqlite => outbox.sql("DROP TRIGGER outbox_born").await,
        Dialect::Postgres | Dialect::MySql => {
            for check in checks {
                outbox.sql(&format!("ALTER TABLE outbox DROP CONSTRAINT {check}")).await;
            }
        }
    }
}

#[tokio::test]
async fn mistakes_that_no_check_refused_are_named_by_explain_check_and_a_counter() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        without_checks(&outbox).await;
        let nine_hours = match outbox.dialect() {
            Dialect::Postgres => "now() + interval '9 hours 2 seconds'",
            Dialect::MySql => "UTC_TIMESTAMP(6) + INTERVAL 32402 SECOND",
            Dialect::Sqlite => "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) + 32402000",
        };
        let quote = if outbox.dialect() == Dialect::MySql { r"\\" } else { r"\" };
        let columns =
            "INSERT INTO outbox (channel, target, idempotency_key, payload, status, available_at, created_at) VALUES";
        let now = nine_hours.replace(" + interval '9 hours 2 seconds'", "").replace(" + INTERVAL 32402 SECOND", "");
        let now = now.replace(" + 32402000", "");
        let url = sink.url("/hook");
        for (key, payload, status, due, written) in [
            ("twice", format!(r#""{{{quote}"a{quote}": 1}}""#), "PENDING", now.as_str(), now.as_str()),
            ("born", "1".to_owned(), "SUCCESS", &now, &now),
            ("zone", "1".to_owned(), "PENDING", nine_hours, &now),
            ("future", "1".to_owned(), "PENDING", nine_hours, nine_hours),
        ] {
            outbox
                .sql(&format!("{columns} ('http', '{url}', '{key}', '{payload}', '{status}', {due}, {written})"))
                .await;
        }
        let program = Program::new(&outbox.test.url, HTTP);
        for (key, note) in [
            ("twice", "Note: Its payload is a JSON string that holds JSON"),
            ("born", "Note: It was written with the status SUCCESS"),
            ("zone", "Note: It was due 9 hours after it was written, to the minute."),
            ("future", "Note: It says that it was written 5"),
        ] {
            let told = program.run(&["messages", "explain", key]).await.done();
            assert!(told.lines().any(|line| line.starts_with(note)), "{told}");
        }
        let born = program.run(&["messages", "explain", "born"]).await.done();
        assert!(born.contains("so no replica ever sent it") && !born.contains("It was sent: accepted"), "{born}");
        let checked = program.run(&["check"]).await.done();
        for found in [
            "1 of the newest 4 have a payload that is a JSON string",
            "1 of the newest 4 are due before they were written, or a whole number of hours",
            "1 of the newest 4 say that they were written in the future",
        ] {
            assert!(checked.contains(found), "{checked}");
        }

        let mut replica = program.start();
        let listener = replica.listener().await;
        let counted =
            outbox_tests::eventually("it was sent and counted", std::time::Duration::from_secs(20), async || {
                let (_, metrics) = get(&listener, "/metrics").await;
                let counted = metrics.contains("outbox_encoded_twice_total{channel=\"http\"} 1");
                (counted && !sink.requests().is_empty()).then_some(())
            });
        counted.await;
        assert_eq!(sink.requests()[0].body, br#""{\"a\": 1}""#.as_slice());
    }
}

#[tokio::test]
async fn a_number_that_mysql_rounded_is_named_and_one_that_was_kept_is_not() {
    let [postgres, mysql, _] = outboxes::migrated().await;
    let rounds = mysql.is_mysql().await;
    for (outbox, named) in [(postgres, false), (mysql, rounds)] {
        outbox
            .sql(
                "INSERT INTO outbox (channel, target, idempotency_key, payload) \
                 VALUES ('http', '/x', 'long', '{\"n\": 12345678901234567890.12}')",
            )
            .await;
        let told = Program::new(&outbox.test.url, HTTP).run(&["messages", "explain", "long"]).await.done();
        assert_eq!(told.contains("Note: A number of its payload"), named, "{told}");
    }
}

#[tokio::test]
async fn a_channel_of_texts_sends_the_text_as_it_is_signed_or_not_and_refuses_what_is_none() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let xml = "<order id=\"4711\">Zoë</order>\n";
        outbox
            .enqueue(&[
                NewMessage::http(sink.url("/xml")).json(xml).idempotency_key("xml"),
                NewMessage::http(sink.url("/xml")).json(&json!({ "order": 1 })).idempotency_key("object"),
                NewMessage::http(sink.url("/form")).json("a=1&b=2").idempotency_key("form").channel("forms"),
            ])
            .await;
        let settings = "[channels.http]\nkind = \"http\"\nallow_networks = [\"127.0.0.0/8\"]\nbody = \"text\"\n\
                        signing_keys = [\"whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD\"]\n\
                        [channels.forms]\nkind = \"http\"\nallow_networks = [\"127.0.0.0/8\"]\nbody = \"text\"\n\
                        headers = { Content-Type = \"application/x-www-form-urlencoded\" }\n";
        let program = Program::new(&outbox.test.url, settings);
        program.deliver().await;
        let requests = sink.requests();
        let sent: BTreeSet<_> = requests
            .iter()
            .map(|request| {
                let media = request.headers["content-type"].to_str().unwrap().to_owned();
                (String::from_utf8(request.body.to_vec()).unwrap(), media)
            })
            .collect();
        let expected = [
            (xml.to_owned(), "text/plain; charset=utf-8"),
            ("a=1&b=2".to_owned(), "application/x-www-form-urlencoded"),
        ];
        assert_eq!(sent, expected.map(|(body, media)| (body, media.to_owned())).into());
        let told = program.run(&["messages", "explain", "object"]).await.done();
        assert!(told.contains("write the body as a JSON string"), "{told}");
    }
}
