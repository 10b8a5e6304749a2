//! What people do to dead letters by the command line: they find, mend, redrive, take back, cancel and purge them.

use serde_json::json;

use crate::commands::command_line::{enqueue, small};
use crate::outboxes;
use crate::program::{HTTP, Program};
use crate::sink::Sink;

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
        assert!(nothing.contains("no redrive or replay has the audit entry 999"), "{nothing}");

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
        let former = program.run(&["messages", "explain", "a"]).await;
        assert!(former.stderr.contains(&format!("message {id} had the key `a` before it was edited")), "{former:?}");
        assert!(former.stdout.contains(&format!("message {id} (")), "{former:?}");
        assert!(program.run(&["messages", "explain", "never"]).await.failed().contains("no message has"));
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
    for arguments in [&["--dry-run"] as &[&str], &["--yes"]] {
        let cleared = program.run(&[&["invalid-targets", "clear", "--channel", "htp"], arguments].concat()).await;
        assert!(cleared.code == Some(3) && cleared.stderr.contains("did you mean http?"), "{cleared:?}");
    }
    for list in ["messages", "dead-letters"] {
        let turned_round = program.run(&[list, "list", "--since", "1h", "--until", "2h"]).await;
        assert!(turned_round.stderr.contains("--until is earlier than --since"), "{turned_round:?}");
    }
    for (arguments, code) in [(&["--channel", "htp"] as &[&str], 3), (&["4711"], 1), (&["1"], 0)] {
        let would = program.run(&[&["dead-letters", "redrive", "--dry-run"], arguments].concat()).await;
        assert_eq!(would.code, Some(code), "as without --dry-run: {would:?}");
    }
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
    assert!(pruned.contains("outbox audit list --message 3"), "{pruned}");
}

#[tokio::test]
async fn a_number_that_is_the_id_of_one_message_and_the_key_of_another_is_changed_only_where_it_is_said_which() {
    let program = small().await;
    for key in ["a", "1"] {
        enqueue(&program, key, "http://127.0.0.1:9/", &[]).await.done();
    }
    let refused = program.run(&["messages", "cancel", "1"]).await;
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("the idempotency key of message 2: write id:1 or id:2"), "{refused:?}");
    let shown = program.run(&["messages", "show", "1"]).await;
    assert!(shown.stderr.contains("message 2 has the idempotency key `1`"), "{shown:?}");
    assert!(program.run(&["messages", "cancel", "id:1"]).await.done().contains("message 1 is cancelled"));
    assert!(program.run(&["messages", "cancel", "2"]).await.done().contains("message 2 is cancelled"));
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
async fn an_edit_is_refused_that_would_be_a_dead_letter_again_and_written_by_force() {
    let outbox = &outboxes::migrated().await[2];
    let sink = Sink::start().await;
    let program = Program::new(&outbox.test.url, HTTP);
    enqueue(&program, "a", &sink.url("/garbage"), &[]).await.done();
    program.deliver().await;
    let mut replica = program.start();
    let url = replica.listener().await;
    for change in [["--target", "ftp://x/"], ["--target", "http://10.0.0.1/"], ["--header", "Host: x"]] {
        for way in [&[] as &[&str], &["--url", &url]] {
            for meant in [["a"].as_slice(), &["--reason", "permanent"]] {
                let edit = [way, &["dead-letters", "edit"], meant, &change, &["--yes"]].concat();
                let refused = program.run(&edit).await;
                assert_eq!(refused.code, Some(1), "{edit:?}: {refused:?}");
            }
        }
    }
    assert_eq!(outbox.number("SELECT count(*) FROM outbox_audit WHERE action = 'edit'").await, 0);
    let refused = program.run(&["dead-letters", "edit", "a", "--target", "ftp://x/", "--yes"]).await.failed();
    assert!(refused.contains("With --force it is written"), "{refused}");
    program.run(&["dead-letters", "edit", "a", "--target", "ftp://x/", "--yes", "--force"]).await.done();
    assert_eq!(outbox.text("SELECT target FROM outbox").await, "ftp://x/");
}
