//! The command line, as people and scripts use it: what it prints, and how it ends. What only reads or writes a few rows
//! is tried on SQLite, whatever the dialect decides on all three.

use outbox_schema::{Dialect, SCHEMA_VERSION};
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

async fn enqueue(program: &Program, key: &str, target: &str, more: &[&str]) -> Ran {
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
                assert!(printed.contains("FUNCTION outbox_claim_due("), "{printed}");
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
async fn lines_of_json_are_enqueued_all_or_none() {
    let program = small().await;
    let line =
        |key: &str| format!(r#"{{"channel":"http","target":"http://a/","payload":[1],"idempotency_key":"{key}"}}"#);
    let (a, b, c) = (line("a"), line("b"), line("c"));
    let lines = ["enqueue", "--lines", "-"];
    let said = program.feed(&lines, &format!("{a}\n\n{b}\n")).await.done();
    assert_eq!(said, "2 messages enqueued, 0 were there already\n");
    let said = program.feed(&lines, &format!("{b}\n{c}\n{c}\n")).await.done();
    assert_eq!(said, "1 messages enqueued, 2 were there already\n");

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
async fn dead_letters_are_found_tried_redriven_and_taken_back() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let program = Program::new(&outbox.test.url, HTTP);
        for key in ["a", "b", "c"] {
            enqueue(&program, key, &sink.url("/garbage"), &[]).await.done();
        }
        enqueue(&program, "fine", &sink.url("/"), &[]).await.done();
        program.deliver().await;

        let groups = program.run(&["dead-letters", "list", "--json"]).await.json();
        let fingerprint = groups[0]["fingerprint"].as_str().unwrap();
        assert_eq!((&groups[0]["count"], &groups[0]["status_code"]), (&3.into(), &400.into()));
        let text = program.run(&["dead-letters", "list"]).await.done();
        assert!(text.starts_with("COUNT ") && text.contains(&format!("3      {fingerprint}")), "{text}");

        let listed = program.run(&["dead-letters", "list", "--ungrouped", "--json", "--limit", "2"]).await.json();
        let keys: Vec<_> = listed["letters"].as_array().unwrap().iter().map(|one| &one["idempotency_key"]).collect();
        assert_eq!(keys.len(), 2);
        let text = program.run(&["dead-letters", "list", "--ungrouped", "--limit", "2"]).await.done();
        let next = listed["next"].as_str().unwrap();
        assert!(text.starts_with("ID ") && text.ends_with(&format!("more with --after {next}\n")), "{text}");
        let rest = program.run(&["dead-letters", "list", "--ungrouped", "--json", "--after", next]).await.json();
        assert_eq!((rest["letters"].as_array().unwrap().len(), &rest["next"]), (1, &json!(null)));
        let none = program.run(&["dead-letters", "list", "--reason", "expired"]).await.done();
        assert_eq!(none, "no dead letters\n");

        let would = program.run(&["dead-letters", "redrive", "--fingerprint", fingerprint, "--dry-run"]).await.done();
        assert!(would.ends_with("3 would be redriven; nothing was changed\n"), "{would}");
        for (pace, said) in [
            (&["--canary", "2"] as &[&str], "2 of 3 would be redriven; nothing"),
            (&["--canary", "5"], "3 of 3 would be redriven; nothing"),
            (&["--rate", "2/s"], "3 would be redriven, 2 a second for 2s; nothing"),
            (&["--rate", "1/s", "--canary", "2"], "2 of 3 would be redriven, 1 a second for 2s; nothing"),
        ] {
            let redrive = ["dead-letters", "redrive", "--fingerprint", fingerprint, "--dry-run"];
            let would = program.run(&[&redrive, pace].concat()).await.done();
            assert!(would.contains(said), "{pace:?}: {would}");
        }
        let by = ["--by", "me", "--why", "mended"];
        let canary = [&["dead-letters", "redrive", "--fingerprint", fingerprint, "--canary", "1"], &by[..]].concat();
        let text = program.run(&canary).await.done();
        let first = outbox.number("SELECT id FROM outbox WHERE status = 'PENDING'").await;
        for line in ["1 of 3 redriven", &format!("outbox messages show {first}"), "without --canary", "undo 1"] {
            assert!(text.contains(line), "{line}: {text}");
        }
        program.deliver().await;
        let all = ["dead-letters", "redrive", "--channel", "http", "--rate", "1/s", "--json"];
        let done = program.run(&all).await.json();
        assert_eq!((&done["redriven"], &done["meant"], &done["skipped"]), (&3.into(), &3.into(), &json!([])));
        let undo = ["dead-letters", "undo", &done["audit_id"].to_string()];
        let undone = program.run(&undo).await.done();
        assert_eq!(undone, "3 returned to the dead letters\n");
        let shown = program.run(&["messages", "show", &first.to_string()]).await.done();
        assert!(shown.contains(" redrive by me: mended\n") && shown.contains(" undo by "), "{shown}");
        let nothing = program.run(&["dead-letters", "undo", "999"]).await.failed();
        assert!(nothing.contains("no redrive has the audit entry 999"), "{nothing}");

        let vague = program.run(&["dead-letters", "redrive"]).await.misused();
        assert!(vague.contains("--all"), "{vague}");
        let nobody = program.run(&["dead-letters", "redrive", "999"]).await;
        assert_eq!(nobody.code, Some(1));
        assert!(nobody.stdout.contains("999: there is no such message"), "{nobody:?}");
    }
}

#[tokio::test]
async fn a_dead_letter_is_mended_and_delivered_under_a_new_key() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let program = Program::new(&outbox.test.url, HTTP);
        let header = ["--header", "X-Tenant: 7"];
        enqueue(&program, "a", &sink.url("/garbage"), &header).await.done();
        program.deliver().await;

        let file = program.write("payload.json", "{\"qty\": 1}");
        let new_target = sink.url("/");
        let change =
            ["dead-letters", "edit", "a", "--payload", &file, "--target", &new_target, "--header", "x-tenant=8"];
        let unasked = program.run(&change).await;
        assert_eq!(unasked.code, Some(2), "{unasked:?}");
        assert!(unasked.stderr.contains("say --yes"), "{unasked:?}");
        for line in ["-header X-Tenant: 7", "+header x-tenant: 8", "+  \"qty\": 1"] {
            assert!(unasked.stdout.lines().any(|shown| shown == line), "{line}: {}", unasked.stdout);
        }
        let edited = program.run(&[&change[..], &["--yes", "--json"]].concat()).await.json();
        assert_eq!((&edited["outcome"], &edited["old_key"]), (&"done".into(), &"a".into()));
        let new_key = edited["new_key"].as_str().unwrap();
        let dropped =
            program.run(&["dead-letters", "edit", new_key, "--drop-header", "X-Tenant", "--yes"]).await.done();
        assert!(dropped.contains("-header x-tenant: 8\n") && dropped.contains("dead-letters redrive"), "{dropped}");

        let id = outbox.number("SELECT id FROM outbox").await.to_string();
        let kept = ["dead-letters", "edit", &id, "--header", "X-Tenant=9", "--keep-key", "--yes"];
        let kept = program.run(&kept).await.done();
        assert!(kept.contains("keeps its idempotency key"), "{kept}");
        program.run(&["dead-letters", "redrive", &id]).await.done();
        program.deliver().await;
        let shown = program.run(&["messages", "show", &id, "--json"]).await.json();
        let headers: serde_json::Value = serde_json::from_str(shown["headers"].as_str().unwrap()).unwrap();
        assert_eq!((&shown["status"], headers), (&"SUCCESS".into(), json!({ "X-Tenant": "9" })));
        let actions: Vec<_> = shown["audit"].as_array().unwrap().iter().map(|entry| &entry["action"]).collect();
        assert_eq!(actions, ["edit", "edit", "edit", "redrive"]);
        assert_eq!(sink.keys()[shown["idempotency_key"].as_str().unwrap()], 1);
    }
}

#[tokio::test]
async fn headers_that_no_request_can_carry_are_mended() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let program = Program::new(&outbox.test.url, HTTP);
        for (key, headers, change, shown) in [
            ("number", r#"{"X-A": 1, "X-B": "2"}"#, ["--header", "X-A=1"], "-header X-A: 1 (not a text)"),
            ("unwanted", r#"{"X-A": 1}"#, ["--drop-header", "x-a"], "-header X-A: 1 (not a text)"),
            ("array", r#"["X-A: 1"]"#, ["--header", "X-A=1"], "-header (no name): [\"X-A: 1\"] (not a text)"),
        ] {
            let target = sink.url("/");
            outbox
                .sql(&format!(
                    "INSERT INTO outbox (idempotency_key, channel, target, payload, headers)
                     VALUES ('{key}', 'http', '{target}', '1', '{headers}')"
                ))
                .await;
            program.deliver().await;
            let edited = program.run(&[&["dead-letters", "edit", key, "--yes"], &change[..]].concat()).await.done();
            assert!(edited.contains(shown), "{edited}");
        }
        program.run(&["dead-letters", "redrive", "--all"]).await.done();
        program.deliver().await;
        assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE status = 'SUCCESS'").await, 3);
    }
}

#[tokio::test]
async fn an_edit_that_cannot_be_is_refused_and_says_why() {
    let program = small().await;
    enqueue(&program, "waits", "http://127.0.0.1:9/", &[]).await.done();
    let alive = program.run(&["dead-letters", "edit", "waits", "--target", "/", "--yes"]).await.failed();
    assert!(alive.contains("only dead letters are edited"), "{alive}");
    program.run(&["messages", "cancel", "--key", "waits"]).await.done();
    let file = program.write("broken.json", "{");
    for (change, said) in [
        (["--target", "http://me:secret@shop/"], "credentials belong to the channel's settings"),
        (["--payload", &file], "payload: it is not JSON"),
        (["--drop-header", "X-None"], "has no header X-None"),
        (["--header", "a b=1"], "is not a header's name"),
        (["--target", "http://127.0.0.1:9/"], "nothing would be different"),
    ] {
        let error = program.run(&[&["dead-letters", "edit", "1", "--yes"], &change[..]].concat()).await.failed();
        assert!(error.contains(said), "{change:?}: {error}");
    }
    let nothing = program.run(&["dead-letters", "edit", "1"]).await.misused();
    assert!(nothing.contains("--payload"), "{nothing}");
    let unanswered = program.run(&["dead-letters", "edit", "1", "--payload", "-"]).await.misused();
    assert!(unanswered.contains("say --yes"), "{unanswered}");
    let fed = ["dead-letters", "edit", "1", "--payload", "-", "--yes"];
    let edited = program.feed(&fed, "{\"qty\": 2}\n").await.done();
    assert!(edited.contains("+  \"qty\": 2\n"), "{edited}");
}

#[tokio::test]
async fn a_message_is_cancelled_by_id_or_key_and_dead_letters_are_purged() {
    let program = small().await;
    for key in ["a", "b"] {
        enqueue(&program, key, "http://127.0.0.1:9/", &[]).await.done();
    }
    let said = program.run(&["messages", "cancel", "1", "--why", "a mistake"]).await.done();
    assert_eq!(said, "message 1 is cancelled\n");
    let answer = program.run(&["messages", "cancel", "--key", "b", "--json"]).await.json();
    assert_eq!(answer, json!({ "outcome": "done", "id": 2 }));
    let again = program.run(&["messages", "cancel", "1"]).await.failed();
    assert!(again.contains("message 1 was not cancelled: it does not wait"), "{again}");
    let nobody = program.run(&["messages", "cancel", "--key", "c"]).await.failed();
    assert!(nobody.contains("no message has the idempotency key `c`"), "{nobody}");
    let both = program.run(&["messages", "cancel", "1", "--key", "b"]).await.misused();
    assert!(both.contains("cannot be used with"), "{both}");

    let purge = ["dead-letters", "purge", "--reason", "cancelled"];
    let would = program.run(&[&purge[..], &["--dry-run"]].concat()).await.done();
    assert!(
        would.contains("http/cancelled/-/-") && would.ends_with("2 would be deleted; nothing was changed\n"),
        "{would}"
    );
    let unasked = program.run(&purge).await.misused();
    assert!(unasked.contains("say --yes"), "{unasked}");
    let done = program.run(&[&purge[..], &["--yes"]].concat()).await.done();
    assert_eq!(done, "2 deleted\n");
    program.run(&["messages", "show", "1"]).await.failed();
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

#[tokio::test]
async fn a_filter_that_finds_nothing_names_what_it_may_have_meant_and_a_change_ends_with_3() {
    let program = small().await;
    enqueue(&program, "a", "http://127.0.0.1:9/", &[]).await.done();
    program.run(&["messages", "cancel", "a"]).await.done();
    let groups = program.run(&["dead-letters", "list", "--json"]).await.json();
    let fingerprint = groups[0]["fingerprint"].as_str().unwrap();
    let misspelt = format!("{fingerprint}x");
    for (arguments, meant) in [
        (&["--channel", "htp"], "http"),
        (&["--destination", "http://127.0.0.1:90/x"], "http://127.0.0.1:9"),
        (&["--fingerprint", &misspelt], fingerprint),
    ] {
        let change = program.run(&[&["dead-letters", "redrive"], &arguments[..]].concat()).await;
        assert_eq!((change.code, change.stdout.as_str()), (Some(3), "0 redriven\n"), "{change:?}");
        assert!(change.stderr.contains(&format!("did you mean {meant}?")), "{}", change.stderr);
        let list = program.run(&[&["dead-letters", "list"], &arguments[..]].concat()).await;
        assert!(list.stderr.contains(&format!("did you mean {meant}?")), "{}", list.stderr);
        assert_eq!((list.code, list.stdout.as_str()), (Some(0), "no dead letters\n"));
    }
    let list = program.run(&["messages", "list", "--channel", "htp"]).await;
    assert!(list.stderr.contains("did you mean http?"), "{}", list.stderr);
    // A URL of a destination stands for its origin, as where it is paused.
    let found = program.run(&["messages", "list", "--destination", "http://127.0.0.1:9/x"]).await.done();
    assert!(found.contains("cancelled"), "{found}");
    let edit = ["dead-letters", "edit", "--status-code", "499", "--header", "X-A=1", "--yes"];
    assert_eq!(program.run(&edit).await.code, Some(3));
    assert_eq!(program.run(&["dead-letters", "redrive", "--all"]).await.code, Some(0));
    assert_eq!(program.run(&["dead-letters", "redrive", "--all"]).await.code, Some(0));
}

#[tokio::test]
async fn a_message_is_named_by_its_id_or_its_key_everywhere() {
    let program = small().await;
    for key in ["a", "b", "4711"] {
        enqueue(&program, key, "http://127.0.0.1:9/", &[]).await.done();
        program.run(&["messages", "cancel", key]).await.done();
    }
    assert!(program.run(&["dead-letters", "redrive", "a", "2"]).await.done().starts_with("2 redriven"));
    assert!(program.run(&["dead-letters", "purge", "4711", "--yes"]).await.done().starts_with("1 deleted"));
    let nobody = program.run(&["dead-letters", "redrive", "nobody"]).await.failed();
    assert!(nobody.contains("no message has the id or the idempotency key `nobody`"), "{nobody}");
    // The highest id that is left is 2.
    enqueue(&program, "c", "http://127.0.0.1:9/", &[]).await.done();
    let pruned = program.run(&["messages", "explain", "3"]).await.failed();
    assert!(pruned.contains("ids up to 4 were given, so it was removed"), "{pruned}");
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
async fn a_dead_letter_is_shown_with_its_error_once() {
    let (program, sink) = (small().await, Sink::start().await);
    enqueue(&program, "a", &sink.url("/garbage"), &[]).await.done();
    program.deliver().await;
    let record = program.run(&["dead-letters", "show", "a", "--json"]).await.json();
    let shown = program.run(&["dead-letters", "show", "a"]).await.done();
    assert_eq!(shown.matches(record["last_error"].as_str().unwrap()).count(), 1, "{shown}");
    let delivered = sink.url("/");
    enqueue(&program, "b", &delivered, &[]).await.done();
    program.deliver().await;
    let explained = program.run(&["messages", "explain", "b"]).await.done();
    assert!(explained.contains("\nWas it sent?\n"), "{explained}");
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
