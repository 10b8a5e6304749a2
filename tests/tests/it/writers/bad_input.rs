//! Rows that applications can really write, put in by plain SQL: each has its own outcome, and its neighbours are
//! delivered.

use std::collections::BTreeMap;
use std::time::Duration;

use outbox_desk::{Desk, MessageRecord};
use outbox_store::Dialect;
use outbox_tests::eventually;

use crate::outboxes::{self, Outbox, literal};
use crate::program::Program;
use crate::sink::Sink;

/// The channels: one that reaches the sink, one that reaches public addresses only, and FCM.
fn program(outbox: &Outbox, sink: &Sink, settings: &str) -> Program {
    let program = Program::new(&outbox.test.url, "");
    let key = serde_json::json!({
        "type": "service_account",
        "project_id": "test",
        "private_key": include_str!("../../../../adapters/tests/it/service_account.pem"),
        "client_email": "outbox@test.iam.gserviceaccount.com",
        "token_uri": sink.url("/token"),
    });
    let key = program.write("key.json", &key.to_string());
    let base = sink.url("");
    let toml = format!(
        "[admin]\nlisten = \"127.0.0.1:0\"\n[dispatch]\npoll_interval = \"50ms\"\n{settings}\n\
         [channels.hooks]\nkind = \"http\"\nallow_networks = [\"127.0.0.0/8\"]\n\
         [channels.public]\nkind = \"http\"\n\
         [channels.push]\nkind = \"fcm\"\ncredentials = \"{key}\"\nbase_url = \"{base}\"\n\
         allow_networks = [\"127.0.0.0/8\"]\n"
    );
    program.write("outbox.toml", &toml);
    program
}

/// A row as an application writes it.
#[derive(Debug, Clone)]
struct Row {
    key: String,
    channel: &'static str,
    target: String,
    payload: String,
    headers: Option<&'static str>,
    /// A further column, or columns, and what is written into them, as SQL. A row of revision 1 was decided about, so the checks
    /// of what is born do not bind it.
    column: Option<(&'static str, String)>,
}

impl Row {
    fn new(key: &str, channel: &'static str, target: impl Into<String>) -> Self {
        let (key, target, payload) = (key.to_owned(), target.into(), r#"{"a": 1}"#.to_owned());
        Self { key, channel, target, payload, headers: None, column: None }
    }

    fn payload(self, payload: impl Into<String>) -> Self {
        Self { payload: payload.into(), ..self }
    }

    fn headers(self, headers: &'static str) -> Self {
        Self { headers: Some(headers), ..self }
    }

    fn column(self, name: &'static str, sql: impl Into<String>) -> Self {
        Self { column: Some((name, sql.into())), ..self }
    }

    fn insert(&self, dialect: Dialect) -> String {
        let literal = |text: &str| literal(dialect, text);
        let (mut columns, mut values) = (String::from("idempotency_key, channel, target, payload"), Vec::new());
        values.extend([&*self.key, self.channel, &self.target, &self.payload].map(literal));
        if let Some(headers) = self.headers {
            columns += ", headers";
            values.push(literal(headers));
        }
        if let Some((name, sql)) = &self.column {
            columns = format!("{columns}, {name}");
            values.push(sql.clone());
        }
        format!("INSERT INTO outbox ({columns}) VALUES ({})", values.join(", "))
    }
}

async fn insert(outbox: &Outbox, rows: &[Row]) {
    for row in rows {
        outbox.sql(&row.insert(outbox.dialect())).await;
    }
}

async fn record(outbox: &Outbox, key: &str) -> MessageRecord {
    outbox.database.message_by_key(key).await.unwrap().unwrap_or_else(|| panic!("no row {key}"))
}

/// Rows that can never be delivered, each with words that its error must hold.
fn hopeless(dialect: Dialect, sink: &Sink) -> Vec<(Row, &'static str)> {
    let hook = |key: &str| Row::new(key, "hooks", sink.url("/"));
    let to = |target: &str| Row::new(target, "hooks", target);
    let out = |target: &str| Row::new(target, "public", target);
    let push = |key: &str, payload: &str| Row::new(key, "push", "token:device").payload(payload);
    let header = |headers: &'static str| hook(headers).headers(headers);
    let mut rows = vec![
        (to("not a url"), "percent-encode"),
        (to("nonsense"), "not a URL: write one like https://host/path, or give channels.hooks.base_url"),
        (Row::new("no target", "hooks", "").column("revision", "1"), "not a URL"),
        (to("http://"), "not a URL"),
        (to("file:///etc/passwd"), "scheme \"file\": only http and https"),
        (to("javascript:alert(1)"), "scheme \"javascript\""),
        (Row::new("user info", "hooks", "http://user:secret@127.0.0.1/"), "leave them out and set channels.hooks.auth"),
        (to("http://127.0.0.1/\r\nX-Injected: 1"), "control character"),
        (out(&sink.url("/")), "add its network to channels.public.allow_networks"),
        (out(&format!("http://localhost:{}/", sink.port())), "channels.public.allow_networks"),
        (out("http://[::ffff:10.0.0.1]/"), "write the host plainly"),
        (to(&format!("http://127.0.0.1:{}\\@127.0.0.1:1/", sink.port())), "write the host plainly"),
        (to(&format!("http:/127.0.0.1:{}/", sink.port())), "write the host plainly"),
        (out("http://169.254.169.254/latest/meta-data"), "channels.public.allow_networks"),
        (out("http://0x7f.1/"), "write the host plainly"),
        (header(r#"{"X-A\r\nX-B": "1"}"#), "header name \"X-A\\r\\nX-B\" is not allowed"),
        (header(r#"{"X-A": "1\r\nX-B: 2"}"#), "header x-a holds a control character"),
        (header(r#"{"Content-Length": "3"}"#), "content-length belongs to the connection"),
        (header(r#"{"Idempotency-Key": "mine"}"#), "leave it out of the row"),
        (header(r#"{"X-A": 1}"#), "not a string"),
        (header(r#"["X-A: 1"]"#), "write an object of strings"),
        (
            hook("no attempt").column("max_attempts, revision", "0, 1"),
            "max_attempts of the row is 0; it must be 1 or more",
        ),
        (hook("minus one attempt").column("max_attempts, revision", "-1, 1"), "max_attempts of the row is -1"),
        (hook("clé"), "channels.hooks.idempotency_key = \"bare\""),
        (hook("a key\nof two lines"), "the idempotency key cannot be sent as a header"),
        (push("push list", "[]"), "write FCM's Message without its target"),
        (push("push target", r#"{"token": "x"}"#), "the row's target says whom it is for"),
        (push("push number", r#"{"data": {"n": 1}}"#), "write it in quotes"),
        (push("push ttl", r#"{"android": {"ttl": "9999999s"}}"#), "android.ttl"),
        (push("push deep", &nested(dialect)).payload(nested(dialect)), "the payload is not"),
        (push("push long", &format!(r#"{{"data": {{"n": "{:x<5000}"}}}}"#, "")), "4096 are allowed"),
        (Row::new("push nobody", "push", "").column("revision", "1"), "the target is not a token"),
        (Row::new("push topic", "push", "topic:a b"), "use letters, digits"),
    ];
    if dialect != Dialect::Postgres {
        rows.push((to("http://127.0.0.1/\0"), "control character"));
        rows.push((hook("key\0"), "the idempotency key cannot be sent as a header"));
        rows.push((header(r#"{"X-A": "\u0000"}"#), "header x-a holds a control character"));
    }
    rows
}

/// Lists in lists, as deep as the database takes them: PostgreSQL as its stack allows, MariaDB 32 levels (MySQL 100),
/// SQLite 1000.
fn nested(dialect: Dialect) -> String {
    let depth = match dialect {
        Dialect::Postgres => 5_000,
        Dialect::MySql => 31,
        Dialect::Sqlite => 1_000,
    };
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

#[tokio::test]
async fn what_can_never_be_delivered_is_dead_with_what_to_mend_and_its_neighbours_are_delivered() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let rows = hopeless(outbox.dialect(), &sink);
        for (index, (row, _)) in rows.iter().enumerate() {
            insert(&outbox, &[row.clone(), Row::new(&format!("good-{index}"), "hooks", sink.url("/"))]).await;
        }
        insert(&outbox, &[Row::new("pushed", "push", "token:device").payload("{}")]).await;
        let program = program(&outbox, &sink, "");
        let log = program.deliver().await;

        for (row, said) in &rows {
            let record = record(&outbox, &row.key).await;
            let state = (record.status.as_str(), record.dead_reason.as_deref());
            assert_eq!(state, ("DEAD", Some("permanent")), "{record:?}");
            assert!(
                record.last_error.as_ref().is_some_and(|error| error.contains(said)),
                "{said}: {:?}",
                record.last_error
            );
            assert!(record.attempts <= 1 && record.attempt_log.len() == 1, "{record:?}");
        }
        let got: Vec<_> = sink.requests().iter().map(|request| request.path.clone()).collect();
        assert_eq!(got.len(), rows.len() + 1, "{got:?}");
        assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE status = 'SUCCESS'").await, sink_count(&rows));
        let pushed = record(&outbox, "pushed").await;
        assert_eq!(pushed.receipt.as_deref(), Some("projects/test/messages/1"), "{pushed:?}");
        assert!(!log.contains("secret"), "{log}");

        let listed = program.run(&["dead-letters", "list", "--ungrouped", "--limit", "1000", "--json"]).await.json();
        assert_eq!(listed["letters"].as_array().unwrap().len(), rows.len());
        assert_eq!(program.run(&["dead-letters", "list", "--ungrouped"]).await.done().lines().count(), rows.len() + 1);
    }
}

/// A good neighbour for each, and the push.
fn sink_count(rows: &[(Row, &str)]) -> i64 {
    i64::try_from(rows.len()).unwrap() + 1
}

#[tokio::test]
async fn odd_bodies_are_delivered_as_the_database_gives_them_back() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let mut bodies = vec!["null", "true", "3", "\"text\"", "[]", "1e300", r#""\ud83e\udd80\u2028""#];
        if outbox.dialect() != Dialect::Postgres {
            bodies.push(r#""\u0000""#);
        }
        if outbox.dialect() == Dialect::Sqlite {
            bodies.push(r#""\ud800""#);
        }
        let nested = nested(outbox.dialect());
        bodies.push(&nested);
        let hook = |body: &&str| Row::new(body, "hooks", sink.url("/")).payload(*body);
        let mut rows: Vec<_> = bodies.iter().map(hook).collect();
        for (index, row) in rows.iter_mut().enumerate() {
            row.key = format!("body-{index}");
        }
        rows.push(Row::new("patient", "hooks", sink.url("/")).column("max_attempts", "32767"));
        rows.push(Row::new("traced", "hooks", sink.url("/")).column("traceparent", "'not one'"));
        insert(&outbox, &rows).await;
        program(&outbox, &sink, "").deliver().await;

        let mut sent = BTreeMap::new();
        for request in sink.requests() {
            let key = request.headers["idempotency-key"].to_str().unwrap().trim_matches('"').to_owned();
            assert_eq!(sent.insert(key, String::from_utf8(request.body.to_vec()).unwrap()), None);
        }
        assert_eq!(sent.len(), rows.len());
        for (key, body) in sent {
            let record = record(&outbox, &key).await;
            assert_eq!((record.status.as_str(), record.last_error), ("SUCCESS", None), "{key}");
            assert_eq!(Some(body), record.payload, "{key}");
        }
    }
}

#[tokio::test]
async fn a_body_of_ten_megabytes_is_dead_unread_unless_its_channel_allows_as_much() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let big = outboxes::body(outbox.dialect(), 10_000_000);
        for (most, status) in [("1 MiB", "DEAD"), ("10 MiB", "SUCCESS")] {
            for number in 0..2 {
                let key = literal(outbox.dialect(), &format!("big {status} {number}"));
                let target = literal(outbox.dialect(), &sink.url("/"));
                let columns = "idempotency_key, channel, target, payload";
                outbox.sql(&format!("INSERT INTO outbox ({columns}) VALUES ({key}, 'hooks', {target}, {big})")).await;
                insert(&outbox, &[Row::new(&format!("small {status} {number}"), "hooks", sink.url("/"))]).await;
            }
            let program = program(&outbox, &sink, "max_bytes = \"16 MiB\"");
            let settings = std::fs::read_to_string(program.path("outbox.toml")).unwrap();
            let hooks = format!("[channels.hooks]\nmax_message_bytes = \"{most}\"");
            program.write("outbox.toml", &settings.replace("[channels.hooks]", &hooks));
            program.deliver().await;
            for number in 0..2 {
                let record = record(&outbox, &format!("big {status} {number}")).await;
                assert_eq!(record.status, status, "{:?}", record.last_error);
                let error = record.last_error.unwrap_or_default();
                assert_eq!(error.contains("it is too large: 10000"), status == "DEAD", "{error}");
            }
        }
        let program = program(&outbox, &sink, "");
        let shown = program.run(&["messages", "show", "big DEAD 0"]).await.done();
        assert!(shown.contains("10,000,000 bytes, not read back"), "{shown}");
        let lengths: Vec<_> = sink.requests().iter().map(|request| request.headers["content-length"].clone()).collect();
        assert_eq!(lengths.iter().filter(|length| *length == "10000000").count(), 2, "{lengths:?}");
        assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE status = 'SUCCESS'").await, 6);
        assert!(sink.keys().values().all(|times| *times == 1), "{:?}", sink.keys());
    }
}

#[tokio::test]
async fn a_message_past_its_time_is_never_sent() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let (past, never, long_past) = match outbox.dialect() {
            Dialect::Postgres => ("now() - interval '1 s'", "'infinity'", "'-infinity'"),
            Dialect::MySql => ("UTC_TIMESTAMP(6) - INTERVAL 1 SECOND", "'9999-12-31 23:59:59'", "'1000-01-01'"),
            Dialect::Sqlite => ("(julianday('now') - 2440587.5) * 86400000 - 1000", "9e999", "-9e999"),
        };
        let hook = |key: &str| Row::new(key, "hooks", sink.url("/"));
        insert(
            &outbox,
            &[
                hook("past").column("expires_at", past),
                hook("good"),
                hook("never").column("expires_at", never),
                hook("long past").column("expires_at, revision", format!("{long_past}, 1")),
            ],
        )
        .await;
        program(&outbox, &sink, "").deliver().await;
        assert_eq!(sink.keys().into_keys().collect::<Vec<_>>(), ["good", "never"]);
        for key in ["past", "long past"] {
            let record = record(&outbox, key).await;
            let state = (record.status.as_str(), record.dead_reason.as_deref(), record.attempts);
            assert_eq!(state, ("DEAD", Some("expired"), 0), "{record:?}");
            assert_eq!(record.last_error.as_deref(), Some("expires_at passed before it was sent"));
        }
    }
}

#[tokio::test]
async fn a_message_for_the_end_of_time_waits_and_can_be_looked_at() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let (end_of_time, shown) = match outbox.dialect() {
            Dialect::Postgres => ("'infinity'", "infinity"),
            Dialect::MySql => ("'9999-12-31 23:59:59.999999'", "9999-12-31T23:59:59.999999Z"),
            Dialect::Sqlite => ("9e999", "Inf"),
        };
        let hook = |key: &str| Row::new(key, "hooks", sink.url("/"));
        insert(&outbox, &[hook("waits").column("available_at", end_of_time), hook("good")]).await;
        let program = program(&outbox, &sink, "");
        program.deliver().await;
        assert_eq!(sink.keys().into_keys().collect::<Vec<_>>(), ["good"]);

        let record = program.run(&["messages", "show", "waits", "--json"]).await.json();
        assert_eq!((record["status"].as_str(), record["available_at"].as_str()), (Some("PENDING"), Some(shown)));
        let text = program.run(&["messages", "show", "waits"]).await.done();
        assert!(text.lines().any(|line| line == format!("{:<16} {shown}", "due")), "{text}");
        let status = program.run(&["status", "--json"]).await.json();
        assert_eq!((&status["channels"][0]["pending"], &status["channels"][0]["due"]), (&1.into(), &0.into()));
        assert!(program.run(&["status"]).await.done().contains("hooks"));
    }
}

#[tokio::test]
async fn a_row_of_an_unknown_channel_waits_is_reported_and_goes_out_once_the_channel_is_there() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let hook = |key: &str, channel| Row::new(key, channel, sink.url("/"));
        insert(&outbox, &[hook("lost", "hoks"), hook("good", "hooks"), hook("odd", "a 'quoted' \u{1f980}")]).await;
        let first = program(&outbox, &sink, "");
        let log = first.deliver().await;
        assert_eq!(sink.keys().into_keys().collect::<Vec<_>>(), ["good"]);
        let reported = log.lines().find(|line| line.contains("hoks")).unwrap_or_else(|| panic!("{log}"));
        assert!(
            reported.contains("nobody has configured this channel") && reported.contains("messages=1"),
            "{reported}"
        );

        let lost = record(&outbox, "lost").await;
        assert_eq!((lost.status.as_str(), lost.attempts, lost.deferred_from.is_some()), ("PENDING", 0, true));
        let status = first.run(&["status", "--json"]).await.json();
        let of_channel = |name: &str| {
            status["channels"].as_array().unwrap().iter().find(|channel| channel["channel"] == name).unwrap().clone()
        };
        for name in ["hoks", "a 'quoted' \u{1f980}"] {
            let channel = of_channel(name);
            assert_eq!((&channel["pending"], &channel["deferred"]), (&1.into(), &1.into()), "{channel}");
            assert!(channel["lag_ms"].is_u64(), "{channel}");
        }
        assert_eq!(status["not_configured"], serde_json::json!(["a 'quoted' \u{1f980}", "hoks"]));
        let text = first.run(&["status"]).await.done();
        assert!(text.contains("not configured: channel \"hoks\""), "{text}");

        let settings = "[channels.hoks]\nkind = \"http\"\nallow_networks = [\"127.0.0.0/8\"]\n";
        program(&outbox, &sink, settings).deliver().await;
        assert_eq!(sink.keys().into_keys().collect::<Vec<_>>(), ["good", "lost"]);
        assert_eq!(record(&outbox, "odd").await.status, "PENDING");
    }
}

#[tokio::test]
async fn what_no_row_can_be_is_refused_by_the_database() {
    for outbox in outboxes::each().await {
        let row = |name, sql: &str| Row::new(sql, "hooks", "http://127.0.0.1/").column(name, sql);
        let mut rows = vec![
            row("status", "'SENT'"),
            row("status", "'pending'"),
            row("priority", "9"),
            row("max_attempts", "2147483648"),
            row("max_attempts", "'many'"),
            row("max_attempts", "0"),
            row("revision", "2147483647"),
            row("revision", "-1"),
            Row::new("no json", "hooks", "http://127.0.0.1/").payload("{"),
            Row::new("endless target", "hooks", format!("{:x<8193}", "http://127.0.0.1/")),
            row("headers", &literal(outbox.dialect(), &format!(r#"{{"x": "{}"}}"#, "x".repeat(65_536)))),
            row("tenant", &literal(outbox.dialect(), &"x".repeat(256))),
        ];
        if outbox.dialect() != Dialect::MySql {
            rows.extend([row("id", "-5"), row("id", "9223372036854775806")]);
        }
        if outbox.dialect() == Dialect::Sqlite {
            rows.extend([
                row("available_at", "'2026-01-01'"),
                row("expires_at", "'tomorrow'"),
                row("attempts", "9223372036854775807"),
                row("revision", "'one'"),
                row("traceparent", "x'00'"),
                row("traceparent", &format!("'{}'", "x".repeat(257))),
                row("tracestate", &format!("'{}'", "x".repeat(2_049))),
                row("ordering_key", &format!("'a' || char(0) || '{}'", "x".repeat(1_020))),
                row("tenant", &format!("'a' || char(0) || '{}'", "x".repeat(1_020))),
                row("tags", &format!("json_object('a', 'a' || char(0) || '{}')", "x".repeat(65_536))),
                row("last_status_code", "'abc'"),
                row("receipt", "x'00'"),
                row("last_error", "x'00'"),
                row("replay_of", "'one'"),
                row("finished_at", "'yesterday'"),
            ]);
            let mut bytes = Row::new("bytes", "hooks", "http://127.0.0.1/").insert(Dialect::Sqlite);
            bytes = bytes.replace("('http://127.0.0.1/')", "x'00'");
            assert!(outbox.try_sql(&bytes).await.is_err(), "{bytes}");
        }
        for row in rows {
            let refused = outbox.try_sql(&row.insert(outbox.dialect())).await;
            assert!(refused.is_err(), "{row:?}");
        }
        let decided = row("status, revision", "'SENT', 1").insert(outbox.dialect());
        let refused = outbox.try_sql(&decided).await.unwrap_err();
        assert!(refused.to_string().contains("outbox_status"), "{refused}");
        assert_eq!(outbox.number("SELECT count(*) FROM outbox").await, 0);
    }
}

#[tokio::test]
async fn an_answer_that_no_database_takes_does_not_break_the_marks() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let paths = ["/garbage", "/flood", "/odd", "/busy", "/gone", "/flooded", "/fine"];
        let rows: Vec<_> = paths.iter().map(|path| Row::new(path, "hooks", sink.url(path))).collect();
        insert(&outbox, &rows).await;
        program(&outbox, &sink, "[retry]\nbase = \"1h\"").deliver().await;
        assert_eq!(sink.keys().len(), paths.len());
        assert!(sink.keys().values().all(|times| *times == 1), "{:?}", sink.keys());

        for path in ["/garbage", "/flood", "/odd", "/busy", "/gone"] {
            let record = record(&outbox, path).await;
            let state = if path == "/busy" { "PENDING" } else { "DEAD" };
            assert_eq!((record.status.as_str(), record.attempts), (state, 1), "{record:?}");
            let excerpt = record.attempt_log[0].excerpt.as_ref().unwrap();
            assert!(excerpt.contains("refused") && excerpt.contains("because"), "{excerpt:?}");
            assert!(excerpt.len() <= 4096 && !excerpt.contains(char::is_control), "{excerpt:?}");
        }
        for path in ["/flooded", "/fine"] {
            assert_eq!(record(&outbox, path).await.status, "SUCCESS");
        }
        assert_eq!(outbox.number("SELECT count(*) FROM outbox_invalid_target").await, 1);
        assert_eq!(outbox.number("SELECT count(*) FROM outbox_claim").await, 0);
    }
}

/// As by a trigger of somebody's. It was delivered, so it must not be sent again.
#[tokio::test]
async fn a_mark_that_the_database_always_refuses_keeps_no_other_waiting() {
    let by_check = "ALTER TABLE outbox ADD CONSTRAINT refused CHECK (idempotency_key <> 'bad' OR revision = 0)";
    let refusals = outboxes::migrated().await.into_iter().map(|outbox| match outbox.dialect() {
        Dialect::Postgres => {
            let raises = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
                          AS $$ BEGIN RAISE EXCEPTION 'not this one'; END $$";
            let trigger = "CREATE TRIGGER refused BEFORE UPDATE ON outbox FOR EACH ROW
                           WHEN (old.idempotency_key = 'bad') EXECUTE FUNCTION refuse()";
            (outbox, vec![raises, trigger])
        }
        Dialect::MySql => {
            let trigger = "CREATE TRIGGER refused BEFORE UPDATE ON outbox FOR EACH ROW
                           IF old.idempotency_key = 'bad' THEN SIGNAL SQLSTATE '45000'; END IF";
            (outbox, vec![trigger])
        }
        Dialect::Sqlite => {
            let trigger = "CREATE TRIGGER refused BEFORE UPDATE ON outbox WHEN old.idempotency_key = 'bad'
                           BEGIN SELECT RAISE(ABORT, 'not this one'); END";
            (outbox, vec![trigger])
        }
    });
    // The dispatcher's sessions do without the checks of MariaDB.
    let checked = outboxes::migrated().await.into_iter().filter(|outbox| outbox.dialect() == Dialect::Postgres);
    for (outbox, refuse) in refusals.chain(checked.map(|outbox| (outbox, vec![by_check]))) {
        let sink = Sink::start().await;
        for statement in refuse {
            outbox.sql(statement).await;
        }
        let row = |key: &str| Row::new(key, "hooks", sink.url("/fine"));
        insert(&outbox, &[row("good"), row("bad"), row("better")]).await;
        let program = program(&outbox, &sink, "");
        let _replica = program.start();
        for (delivered, next) in [(2, "best"), (3, "last"), (4, "")] {
            let count = "SELECT count(*) FROM outbox WHERE status = 'SUCCESS'";
            let all = async || (outbox.number(count).await == delivered).then_some(());
            eventually("the others are marked", Duration::from_secs(30), all).await;
            if !next.is_empty() {
                insert(&outbox, &[row(next)]).await;
            }
        }
        assert_eq!(record(&outbox, "bad").await.status, "PENDING");
        assert_eq!(sink.keys().get("bad"), Some(&1));
    }
}
