//! The command line, as people and scripts use it: what it prints, and how it ends. What only reads or writes a few rows
//! is tried on SQLite, whatever the dialect decides on all three.

use std::time::Duration;

use outbox_store::{Dialect, SCHEMA_VERSION};
use outbox_tests::receiver::Receiver;
use outbox_tests::servers;
use rustix::process::Signal;
use serde_json::json;

use crate::outboxes;
use crate::program::{HTTP, Program, Ran};
use crate::sink::Sink;

/// One channel, that reaches a sink.
/// An outbox of its own in SQLite, with tables.
pub(crate) async fn small() -> Program {
    let program = Program::new(&servers::sqlite().url, HTTP);
    let said = program.run(&["migrate"]).await.done();
    assert!(said.contains("is of the environment `default`"), "{said}");
    program
}

/// Enqueues a message of the channel `http` with this key.
pub(crate) async fn enqueue(program: &Program, key: &str, target: &str, more: &[&str]) -> Ran {
    let mut arguments = vec!["enqueue", "--channel", "http", "--target", target, "--payload", "{}"];
    arguments.extend(["--idempotency-key", key]);
    arguments.extend(more);
    program.run(&arguments).await
}

#[tokio::test]
async fn what_is_asked_wrongly_ends_with_2_and_says_what_was_meant() {
    let program = Program::new(&servers::sqlite().url, "");
    for (arguments, said) in [
        (&["rum"] as &[&str], "similar subcommand exists: 'run'"),
        (&["enqueue", "--channel", "http"], "--target"),
        (&["enqueue", "--lines", "-", "--channel", "http"], "cannot be used with"),
        (&["--set", "lease.tll=10s", "status"], "lease.tll is not a setting; did you mean lease.ttl?"),
        (&["status", "--set", "lease.ttl=10"], "lease.ttl = \"10\""),
        (&["status", "--set", "lease.ttl"], "is not KEY=VALUE"),
        (&["status", "--database", "oracle://db"], "database.url"),
        (&["--config", "nowhere.toml", "config", "show"], "nowhere.toml: the settings file cannot be read"),
        (&["status", "--url", "x"], "admin.listen of a replica"),
        (&["health", "--url", "http://me:s3cret@host"], "a user or a password"),
        (&["dead-letters", "edit", "1", "--move-target", "=http://a/"], "nothing before the ="),
        (&["dead-letters", "list", "--reason", "bored"], "permanent, exhausted, expired, in_doubt, cancelled"),
    ] {
        let error = program.run(arguments).await.misused();
        assert!(error.contains(said), "{arguments:?}: {error}");
    }
    let mut misspelt = program.command(&["config", "show"]);
    let output = misspelt.env("OUTBOX_DISPATCH__MAX_INFLIGHT", "9").output().await.unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(error.contains("did you mean OUTBOX_DISPATCH__MAX_IN_FLIGHT?"), "{error}");
    let help = program.run(&["--help"]).await.done();
    assert!(help.contains("dead-letters") && help.contains("--config"), "{help}");
    assert!(program.run(&["--version"]).await.done().starts_with("outbox 0."));
}

#[tokio::test]
async fn without_tables_every_command_says_what_to_do() {
    for outbox in outboxes::each_empty().await {
        let program = Program::new(&outbox.test.url, "");
        for arguments in [
            &["status"] as &[&str],
            &["messages", "show", "1"],
            &["dead-letters", "list"],
            &["enqueue", "--channel", "http", "--target", "http://127.0.0.1/", "--payload", "1"],
        ] {
            let error = program.run(arguments).await.failed();
            assert!(error.contains("`outbox migrate`") && error.contains("database.url is "), "{arguments:?}: {error}");
        }
        let checked = program.run(&["check", "--json"]).await;
        assert_eq!(checked.code, Some(1));
        assert!(checked.stdout.contains("run `outbox migrate`"), "{}", checked.stdout);
        // Nobody but the program itself could make tables in a file of its own.
        let ran = program.run(&["run", "--until-empty"]).await;
        if outbox.dialect() == Dialect::Sqlite {
            assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        } else {
            assert!(ran.failed().contains("run `outbox migrate`"));
        }
    }
}

#[tokio::test]
async fn a_printed_migration_makes_what_the_program_runs_on() {
    for outbox in outboxes::each_empty().await {
        let sink = Sink::start().await;
        let program = Program::new(&outbox.test.url, HTTP);
        let script = program.run(&["migrate", "--print", "--set", "database.environment=shop"]).await.done();
        outbox.run_client(&script);
        let refused = program.run(&["run", "--until-empty"]).await.failed();
        assert!(refused.contains("belongs to the environment `shop`"), "{refused}");
        assert!(refused.contains("these settings lack database.environment = \"shop\""), "{refused}");
        assert!(!refused.contains("--adopt-environment"), "{refused}");

        let asked = program.run(&["migrate", "--adopt-environment"]).await.misused();
        assert!(asked.contains("say --yes"), "{asked}");
        program.run(&["migrate", "--adopt-environment", "--yes"]).await.done();
        enqueue(&program, "one", &sink.url("/"), &[]).await.done();
        program.deliver().await;
        assert_eq!(sink.keys().into_keys().collect::<Vec<_>>(), ["one"]);
    }
}

#[tokio::test]
async fn what_the_present_version_lacks_is_functions_or_nothing() {
    let from = ["migrate", "--print", "--from", &SCHEMA_VERSION.to_string()];
    for url in ["postgres://db/shop", "mysql://db/shop", "sqlite://outbox.db"] {
        for tool in [&[][..], &["--for", "flyway"]] {
            let ran = Program::new(url, "").run(&[&from[..], tool].concat()).await;
            if url.starts_with("postgres") {
                let printed = ran.done();
                assert!(printed.contains("FUNCTION outbox_claim_rows("), "{printed}");
                assert!(!printed.contains("CREATE TABLE"), "{printed}");
            } else {
                let said = ran.misused();
                assert!(said.contains("there is nothing to apply"), "{said}");
            }
        }
    }
}

#[tokio::test]
async fn a_message_is_enqueued_once_and_a_wrong_one_not_at_all() {
    let program = small().await;
    let said = enqueue(&program, "order-1", "http://127.0.0.1:9/", &["--header", "X-Tenant: 7"]).await.done();
    assert_eq!(said, "message 1 enqueued, idempotency key order-1\n");
    let said = enqueue(&program, "order-1", "http://127.0.0.1:9/", &[]).await.done();
    assert_eq!(said, "not enqueued: a message of the idempotency key order-1 is there already (message 1)\n");
    let twice = enqueue(&program, "order-1", "http://127.0.0.1:9/", &["--json"]).await.json();
    assert_eq!(twice, json!([{ "outcome": "duplicate", "id": 1, "key": "order-1" }]));
    let broken = program.run(&["enqueue", "--channel", "http", "--target", "x", "--payload", "{"]).await.failed();
    assert!(broken.contains("payload"), "{broken}");

    let shown = program.run(&["messages", "show", "order-1", "--json"]).await.json();
    assert_eq!((&shown["id"], &shown["headers"]), (&1.into(), &r#"{"X-Tenant":"7"}"#.into()));
    let by_id = program.run(&["messages", "show", "1", "--json"]).await.json();
    assert_eq!(by_id, shown);
    let text = program.run(&["messages", "show", "1"]).await.done();
    for line in ["message          1", "status           PENDING", "channel          http", "idempotency key  order-1"]
    {
        assert!(text.lines().any(|shown| shown == line), "{line}: {text}");
    }
    let nobody = program.run(&["messages", "show", "order-2"]).await.failed();
    assert!(nobody.contains("no message has the id or the idempotency key `order-2`"), "{nobody}");
}

#[tokio::test]
async fn many_lines_are_one_transaction_in_which_a_wrong_one_is_named() {
    for outbox in outboxes::each().await {
        let program = Program::new(&outbox.test.url, HTTP);
        let line = |n: u32| {
            format!(
                "{{\"channel\":\"http\",\"target\":\"/{n}\",\"payload\":{n},\"idempotency_key\":\"k{}\"}}\n",
                n % 2_400
            )
        };
        let good: String = (0..2_500).map(line).collect();
        let wrong = good.replacen("\"/1600\"", "\"\"", 1);
        let refused = program.feed(&["enqueue", "--lines", "-", "--force"], &wrong).await.failed();
        assert!(refused.contains("message 1601") && refused.contains("nothing was inserted"), "{refused}");
        assert_eq!(outbox.number("SELECT count(*) FROM outbox").await, 0);
        let enqueued = program.feed(&["enqueue", "--lines", "-", "--force"], &good).await.done();
        assert_eq!(enqueued, "2400 messages enqueued, 100 were there already\n");
    }
}

#[tokio::test]
async fn lines_of_json_are_enqueued_all_or_none() {
    let program = small().await;
    let line =
        |key: &str| format!(r#"{{"channel":"http","target":"http://a/","payload":[1],"idempotency_key":"{key}"}}"#);
    let (a, b, c) = (line("a"), line("b"), line("c"));
    let lines = ["enqueue", "--lines", "-"];
    let said = program.feed(&lines, &format!("{a}\n\n{b}\n")).await.done();
    assert_eq!(said, "2 messages enqueued, 0 were there already\n");
    let said = program.feed(&lines, &format!("{b}\n{c}\n{c}\n")).await.done();
    assert_eq!(said, "1 message enqueued, 2 were there already\n");

    let d = line("d");
    for (bad, said) in [
        ("{\"channel\":\"http\"", "line 3"),
        (r#"{"channel":"http","target":"http://a/","payload":1,"chanel":"x"}"#, "line 3"),
        (r#"{"channel":"","target":"http://a/","payload":1}"#, "message 2"),
    ] {
        let error = program.feed(&lines, &format!("{d}\n\n{bad}\n")).await.failed();
        assert!(error.contains(said) && error.contains("nothing was inserted"), "{bad}: {error}");
    }
    let placed = d.replacen('{', r#"{"ordering_key":"o-1","priority":3,"#, 1);
    let file = program.write("lines.json", &placed);
    let answers = program.run(&["enqueue", "--lines", &file, "--json"]).await.json();
    assert_eq!((&answers[0]["outcome"], &answers[0]["key"]), (&"inserted".into(), &"d".into()));
    let by_flags = ["--ordering-key", "o-1", "--priority", "2"];
    enqueue(&program, "e", "http://a/", &by_flags).await.done();
    for (key, priority) in [("d", 3), ("e", 2)] {
        let shown = program.run(&["messages", "show", key, "--json"]).await.json();
        assert_eq!((&shown["ordering_key"], &shown["priority"]), (&"o-1".into(), &priority.into()));
    }
    let wrong = enqueue(&program, "f", "http://a/", &["--priority", "4"]).await.failed();
    assert!(wrong.contains("priority"), "{wrong}");
    let missing = program.run(&["enqueue", "--lines", "nowhere.json"]).await.failed();
    assert!(missing.contains("nowhere.json cannot be read"), "{missing}");
}

#[tokio::test]
async fn the_settings_in_force_are_shown_without_their_secrets() {
    let settings = "[channels.hooks]\nkind = \"http\"\nauth_to = \"any\"\nauth = { bearer = \"s3cret-bearer\" }\n\
                    [channels.others]\nkind = \"http\"\nauth_to = \"any\"\nauth = { basic = { user = \"me\", password = \"s3cret-basic\" } }\n\
                    [lease]\nurl = \"redis://user:s3cret-redis@cache/1\"\n[telemetry]\nlog_level = \"debug\"\n";
    let program = Program::new("postgres://me:s3cret-database@db/shop", settings);
    let arguments = ["config", "show", "--set", "admin.token=s3cret-token"];
    let text = program.run(&arguments).await.done();
    let json = program.run(&[&arguments[..], &["--json"]].concat()).await.json();
    assert!(!text.contains("s3cret") && !json.to_string().contains("s3cret"), "{text}\n{json}");
    for line in [
        "url = \"postgres://me:***@db/shop\"  # from OUTBOX_DATABASE__URL",
        "url = \"redis://user:***@cache/1\"  # from outbox.toml:12",
        "ttl = \"10s\"",
        "wakeup = \"notify\"  # follows from database.url",
    ] {
        assert!(text.lines().any(|shown| shown == line), "{line}: {text}");
    }
    assert_eq!(json["settings"]["lease"]["provider"], "redis");
    assert_eq!(json["origins"]["telemetry.log_level"], "from outbox.toml:14");
}

#[tokio::test]
async fn a_strict_check_fails_where_a_setting_lets_rows_do_more_than_they_must() {
    let outbox = &outboxes::migrated().await[0];
    let program = Program::new(&outbox.test.url, HTTP);
    assert_eq!(program.run(&["check"]).await.code, Some(0));
    let strict = program.run(&["check", "--strict"]).await;
    assert_eq!(strict.code, Some(1), "{strict:?}");
    for setting in
        ["admin.token", "channels.http.https_only", "channels.http.row_headers", "channels.http.signing_keys"]
    {
        let line = strict.stdout.lines().find(|line| line.starts_with(setting));
        assert!(line.is_some_and(|line| line.contains("warning")), "{setting}: {}", strict.stdout);
    }
}

#[tokio::test]
async fn a_check_finds_a_lease_store_that_is_down_and_says_what_a_crash_costs() {
    let outbox = &outboxes::migrated().await[0];
    let sound = Program::new(&outbox.test.url, HTTP);
    let text = sound.run(&["check"]).await.done();
    assert!(text.contains("the lease store answers: a table of the database; nobody polls"), "{text}");
    assert!(
        text.contains("costs at most 11.4 s without deliveries, and leaves at most 512 messages in doubt"),
        "{text}"
    );
    let report = sound.run(&["check", "--json"]).await.json();
    assert_eq!((&report["ok"], &report["crash"]["in_doubt_messages"]), (&true.into(), &512.into()));

    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = nobody.local_addr().unwrap().port();
    drop(nobody);
    let settings = format!("{HTTP}[lease]\nurl = \"redis://user:s3cret@127.0.0.1:{port}\"\n");
    let checked = Program::new(&outbox.test.url, &settings).run(&["check"]).await;
    assert_eq!(checked.code, Some(1), "{checked:?}");
    let line = checked.stdout.lines().find(|line| line.starts_with("lease")).unwrap();
    assert!(line.contains("FAILED") && line.contains(&port.to_string()), "{line}");
    assert!(!checked.stdout.contains("s3cret"), "{}", checked.stdout);
    let unreachable = Program::new(&format!("postgres://127.0.0.1:{port}/x"), HTTP).run(&["check", "--json"]).await;
    assert_eq!(unreachable.code, Some(1));
    let cause = unreachable.stdout.split_once("cannot connect to the outbox database");
    assert!(cause.is_some_and(|(_, cause)| cause.contains("refused")), "{}", unreachable.stdout);
}

/// Whoever may insert a row may write into it what a terminal would obey.
#[tokio::test]
async fn control_characters_of_a_row_are_shown_and_not_obeyed() {
    let outbox = &outboxes::migrated().await[2];
    let program = Program::new(&outbox.test.url, HTTP);
    let wild = "char(27) || ']0;title' || char(7) || char(10)";
    outbox
        .sql(&format!(
            "INSERT INTO outbox (channel, target, idempotency_key, ordering_key, payload, status, dead_reason, revision) \
             VALUES ('c' || {wild}, 'http://x/' || {wild}, 'k' || {wild}, 'o' || {wild}, '{{' || char(10, 9) || '}}', \
                     'DEAD', 'permanent', 1), \
                    ('c' || {wild}, '/' || {wild}, 'l' || {wild}, 'o' || {wild}, '{{}}', 'PENDING', NULL, 0)"
        ))
        .await;
    for arguments in [
        &["messages", "show", "1"] as &[&str],
        &["messages", "explain", "1"],
        &["messages", "explain", "2"],
        &["messages", "list"],
        &["dead-letters", "show", "1"],
        &["dead-letters", "list"],
        &["dead-letters", "list", "--ungrouped"],
        &["status"],
    ] {
        let text = program.run(arguments).await.done();
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{arguments:?}: {text:?}");
        assert!(text.contains("\\u{1b}]0;title\\u{7}") || text.contains(" ]0;title"), "{arguments:?}: {text}");
    }
    let shown = program.run(&["messages", "show", "1"]).await.done();
    assert!(shown.contains("http://x/\\u{1b}]0;title\\u{7}\\n\n") && shown.contains("{\n\\t}\n"), "{shown}");
    let json = program.run(&["messages", "show", "1", "--json"]).await.json();
    assert_eq!(json["target"], "http://x/\u{1b}]0;title\u{7}\n");
}

#[tokio::test]
async fn the_listener_tells_of_health_readiness_and_numbers_also_on_a_follower() {
    let outbox = &outboxes::migrated().await[0];
    let sink = Sink::start().await;
    let program = Program::new(&outbox.test.url, &format!("{HTTP}[telemetry]\nlog_format = \"text\"\n"));
    let mut poller = program.start();
    let address = poller.listener().await;
    poller.says("term.began").await;
    let mut follower = program.start();
    let other = follower.listener().await;
    enqueue(&program, "one", &sink.url("/"), &[]).await.done();
    let delivered =
        async || (outbox.number("SELECT count(*) FROM outbox WHERE status = 'SUCCESS'").await == 1).then_some(());
    outbox_tests::eventually("it is delivered", crate::program::PATIENCE, delivered).await;

    let counted = "outbox_attempts_total{channel=\"http\",outcome=\"delivered\"} 1";
    let metrics = get(&address, "/metrics").await;
    assert!(metrics.1.lines().any(|line| line == counted), "{}", metrics.1);
    let metrics = get(&other, "/metrics").await;
    assert!(metrics.1.contains("outbox_lease_held{shard=\"0\"} 0"), "{}", metrics.1);
    for address in [&address, &other] {
        assert_eq!(get(address, "/healthz").await, (200, "ok".to_owned()));
        let (status, body) = get(address, "/readyz").await;
        assert_eq!((status, body.as_str()), (200, r#"{"ready":true,"causes":[]}"#));
        assert_eq!(get(address, "/elsewhere").await.0, 404);
    }
    let health = program.run(&["health", "--url", &other]).await.done();
    assert_eq!(health, "ok\n");
    let health = program.run(&["health", "--ready", "--json", "--url", &other]).await.json();
    let ready = json!({ "ready": true, "causes": [] });
    assert_eq!(health, json!({ "url": format!("{other}/readyz"), "well": true, "status": 200, "answer": ready }));
    assert_eq!(follower.stop(Signal::INT).await.0, Some(0));
    let (code, log) = poller.stop(Signal::TERM).await;
    assert_eq!(code, Some(0));
    assert!(log.contains("run.stopping") && log.contains("run.stopped"), "{log}");
    assert!(program.run(&["health", "--url", &other]).await.failed().contains("does not answer"));
    let health = program.run(&["health", "--json", "--url", &other]).await;
    assert_eq!(health.code, Some(1), "{}", health.stderr);
    let health: serde_json::Value = serde_json::from_str(&health.stdout).unwrap();
    assert_eq!((&health["well"], &health["status"]), (&json!(false), &json!(null)), "{health}");
}

async fn get(address: &str, path: &str) -> (u16, String) {
    outbox_adapters::ensure_crypto_provider();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let answer = client.get(format!("{address}{path}")).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test]
async fn until_empty_leaves_what_waits_for_a_retry_or_for_its_time() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let program = Program::new(&outbox.test.url, &format!("{HTTP}[retry]\nbase = \"1h\"\n"));
        enqueue(&program, "busy", &sink.url("/busy"), &[]).await.done();
        enqueue(&program, "later", &sink.url("/"), &["--delay", "1h"]).await.done();
        enqueue(&program, "now", &sink.url("/"), &["--expires-in", "1h"]).await.done();
        program.deliver().await;
        program.deliver().await;
        assert_eq!(sink.keys().into_iter().collect::<Vec<_>>(), [("busy".to_owned(), 1), ("now".to_owned(), 1)]);
        let state = |key| outbox.text(key);
        assert_eq!(state("SELECT status FROM outbox WHERE idempotency_key = 'busy'").await, "PENDING");
        assert_eq!(state("SELECT status FROM outbox WHERE idempotency_key = 'later'").await, "PENDING");
    }
}

/// After the first message tenants take turns, and the next claim looks back, since that took long. It looks at the oldest and the
/// newest of so many messages, and at some tenants.
#[tokio::test]
async fn until_empty_sends_what_lies_between_very_many_messages_of_a_paused_destination() {
    let [outbox, _, _] = outboxes::migrated().await;
    let receiver = Receiver::start(Duration::from_secs(2));
    let program = Program::new(&outbox.test.url, &format!("{HTTP}[dispatch]\nmax_in_flight = 1\n"));
    let paused = "http://127.0.0.1:9";
    program.run(&["destinations", "pause", paused, "--for", "1h", "--why", "a test"]).await.done();
    let due = "now() - interval '1 hour' + n * interval '1 ms' FROM generate_series";
    let columns = "INSERT INTO outbox (idempotency_key, channel, tenant, payload, target, available_at)";
    let others = format!("{columns} SELECT n, 'http', n, '{{}}', '{paused}/', {due} (1, 30000) n");
    let ours = format!("{columns} SELECT 'due ' || n, 'http', 'due ' || n, '{{}}', '{}', {due}", receiver.url());
    outbox.sql(&format!("{others}; {ours} (0, 15000, 15000) n; ANALYZE outbox")).await;
    program.deliver().await;
    assert_eq!([0, 15_000].map(|n| receiver.count_of(&format!("due {n}"))), [1, 1]);
    assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE status = 'PENDING'").await, 30_000);
}

#[tokio::test]
async fn options_of_every_command_come_last_and_a_command_shows_those_that_it_takes() {
    let program = Program::new(&servers::sqlite().url, "");
    let prune = program.run(&["prune", "--help"]).await.done();
    let place = |option: &str| prune.find(option).unwrap();
    let global = place("Global options:");
    assert!(["--success", "--dead", "--dry-run", "--why"].iter().all(|option| place(option) < global), "{prune}");
    assert!(["--config", "--database", "--url", "--set"].iter().all(|option| place(option) > global), "{prune}");
    for command in [&["migrate"] as &[&str], &["config", "show"], &["completions"], &["demo"], &["run"]] {
        let help = program.run(&[command, &["--help"]].concat()).await.done();
        assert!(!help.contains("--url"), "{command:?}: {help}");
    }
    for arguments in [["--url", "http://127.0.0.1:1", "migrate"], ["migrate", "--url", "http://127.0.0.1:1"]] {
        let refused = program.run(&arguments).await.misused();
        assert!(refused.contains("takes no --url: it is for status, replicas"), "{refused}");
    }
    let mut named = program.command(&["completions"]);
    let output = named.env("OUTBOX_CONFIG", "outbox.toml").output().await.unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("Usage: outbox completions <SHELL>"), "{error}");
    let zero = program.run(&["prune", "--success", "0"]).await.misused();
    assert!(zero.contains("a time with its unit"), "{zero}");
}

#[tokio::test]
async fn until_empty_ends_with_what_became_of_what() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let program = Program::new(&outbox.test.url, &format!("{HTTP}[retry]\nbase = \"1h\"\n"));
        enqueue(&program, "busy", &sink.url("/busy"), &[]).await.done();
        enqueue(&program, "bad", &sink.url("/garbage"), &[]).await.done();
        enqueue(&program, "fine", &sink.url("/"), &[]).await.done();
        let ran = program.run(&["run", "--until-empty", "--fail-on-dead"]).await;
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        assert!(ran.stderr.contains("3 claimed: 1 delivered, 1 dead, 1 waits until 20"), "{}", ran.stderr);
        let again = program.run(&["run", "--until-empty", "--fail-on-dead"]).await;
        assert_eq!(again.code, Some(0), "{}", again.stderr);
        assert!(again.stderr.contains("0 claimed: 0 delivered, 0 dead, 1 waits until 20"), "{}", again.stderr);
    }
}

#[tokio::test]
async fn a_check_warns_where_the_replicas_have_their_lease_elsewhere() {
    let outbox = &outboxes::migrated().await[2];
    let fleet = Program::new(&outbox.test.url, HTTP);
    let mut replica = fleet.start();
    replica.says("term.began").await;
    let text = fleet.run(&["check"]).await.done();
    assert!(!text.contains("has its lease in"), "{text}");
    let nobody = "redis://127.0.0.1:1";
    let elsewhere = Program::new(&outbox.test.url, &format!("{HTTP}[lease]\nurl = \"{nobody}\"\n"));
    let checked = elsewhere.run(&["check"]).await;
    let line = checked.stdout.lines().find(|line| line.contains("has its lease in"));
    assert!(line.is_some_and(|line| line.starts_with("lease") && line.contains("warning")), "{}", checked.stdout);
}

#[tokio::test]
async fn a_check_tries_the_lease_also_where_the_database_is_down() {
    let settings = format!("{HTTP}[lease]\nurl = \"redis://127.0.0.1:1\"\n");
    let of_redis = Program::new("postgres://127.0.0.1:1/x", &settings).run(&["check"]).await;
    let line = of_redis.stdout.lines().find(|line| line.starts_with("lease"));
    assert!(line.is_some_and(|line| line.contains("FAILED") && line.contains("127.0.0.1:1")), "{}", of_redis.stdout);
    let of_table = Program::new("postgres://127.0.0.1:1/x", HTTP).run(&["check"]).await;
    assert!(of_table.stdout.contains("not tried: it is in the database"), "{}", of_table.stdout);
}

#[tokio::test]
async fn what_is_wrong_is_said_with_what_to_do() {
    let program = small().await;
    let twice = r#""{\"a\":1}""#;
    let enqueue = ["enqueue", "--channel", "http", "--target", "https://shop.example/", "--payload", twice];
    let ran = program.run(&enqueue).await;
    assert!(ran.stderr.contains("it was encoded twice: give the JSON itself"), "{ran:?}");
    for (arguments, said) in [
        (&["replay"] as &[&str], "did you mean `outbox messages replay`?"),
        (&["redrive", "17"], "did you mean `outbox dead-letters redrive`?"),
        (&["operations", "show", "abc"], "it must be a number"),
        (&["audit", "list", "--after", "x"], "it must be a number"),
        (&["destinations", "pause", "http"], "--why"),
    ] {
        let misused = program.run(arguments).await.misused();
        assert!(misused.contains(said), "{arguments:?}: {misused}");
    }
    let mut replica = program.start();
    let url = replica.listener().await.replace("http://", "https://");
    let plain = program.run(&["--url", &url, "status"]).await.failed();
    assert!(plain.contains("it speaks plain HTTP, so write http://"), "{plain}");
}
