//! The audit as a list: who did what by hand.

use outbox_schema::NewMessage;
use serde_json::json;

use crate::outboxes;
use crate::program::{HTTP, Program};

#[tokio::test]
async fn the_audit_lists_operations_and_of_a_message_all_that_was_done_to_it() {
    for outbox in outboxes::each().await {
        let program = Program::new(&outbox.test.url, HTTP);
        assert!(program.run(&["audit", "list"]).await.done().contains("nothing was done by hand"));
        outbox.enqueue(&[NewMessage::http("https://shop.example/hook").json(&1).idempotency_key("k-1")]).await;
        let id = outbox.number("SELECT max(id) FROM outbox").await.to_string();
        program.run(&["messages", "cancel", &id, "--by", "ada", "--why", "by mistake"]).await.done();
        program.run(&["dead-letters", "redrive", &id, "--by", "bob", "--why", "it was right"]).await.done();
        program.run(&["destinations", "pause", "http", "--by", "eve", "--why", "a deploy"]).await.done();

        let text = program.run(&["audit", "list"]).await.done();
        let [pause, redrive, cancel] = &text.lines().skip(1).collect::<Vec<_>>()[..] else { panic!("{text}") };
        for (line, who, what, why) in [
            (pause, "eve", "pause", "a deploy"),
            (redrive, "bob", "redrive", "it was right"),
            (cancel, "ada", "cancel", "by mistake"),
        ] {
            assert!([who, what, why].iter().all(|word| line.contains(&format!("  {word}"))), "{text}");
        }
        let operation = redrive.split(' ').next().unwrap();
        program.run(&["dead-letters", "undo", operation, "--by", "bob"]).await.done();

        for message in [id.as_str(), "k-1"] {
            let audit = program.run(&["audit", "list", "--message", message, "--json"]).await.json();
            let actions: Vec<_> = audit["entries"].as_array().unwrap().iter().map(|entry| &entry["action"]).collect();
            assert_eq!(actions, [&json!("undo"), &json!("redrive"), &json!("cancel")], "{audit}");
        }
        let page = program.run(&["audit", "list", "--limit", "1", "--json"]).await.json();
        assert_eq!((&page["entries"][0]["action"], page["next"] == page["entries"][0]["id"]), (&json!("undo"), true));
        let next = page["next"].to_string();
        let page = program.run(&["audit", "list", "--limit", "1", "--after", &next, "--json"]).await.json();
        assert_eq!(page["entries"][0]["action"], "pause");
        outbox.sql("DELETE FROM outbox_audit WHERE part_of IS NOT NULL OR action <> 'cancel'").await;
        assert!(program.run(&["audit", "list", "--since", "1h"]).await.done().contains("ada"));

        let mut replica = program.start();
        let listener = replica.listener().await;
        let by_replica = program.run(&["--url", &listener, "audit", "list", "--json"]).await.json();
        assert_eq!(by_replica, program.run(&["audit", "list", "--json"]).await.json());
    }
}

#[tokio::test]
async fn a_change_by_nobody_in_particular_warns_that_the_audit_cannot_say_who() {
    let outbox = &outboxes::migrated().await[2];
    let program = Program::new(&outbox.test.url, HTTP);
    let unnamed = program.run(&["destinations", "pause", "http", "--why", "x"]).await;
    assert!(unnamed.stderr.contains("say --by NAME"), "{unnamed:?}");
    let named = program.run(&["destinations", "pause", "http", "--why", "x", "--by", "ada"]).await;
    assert_eq!(named.stderr, "", "{named:?}");
}
