//! The audit as a list: who did what by hand.

use outbox_desk::AuditAction;
use outbox_schema::NewMessage;
use outbox_store::Dialect;
use serde_json::{Value, json};

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

/// Entries of these people, what they did, and how many hours ago.
const ENTRIES: [(&str, &str, u32); 5] = [
    ("ada", "redrive", 4),
    ("ada (page)", "cancel", 3),
    ("adam", "redrive", 2),
    ("Ada", "pause", 1),
    ("100%_a", "stop", 0),
];

async fn entries(outbox: &outboxes::Outbox) {
    for (who, action, hours) in ENTRIES {
        let at = match outbox.dialect() {
            Dialect::Postgres => format!("now() - interval '{hours} hours'"),
            Dialect::MySql => format!("UTC_TIMESTAMP(6) - INTERVAL {hours} HOUR"),
            Dialect::Sqlite => format!("CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - {hours} * 3600000"),
        };
        outbox.sql(&format!("INSERT INTO outbox_audit (who, action, at) VALUES ('{who}', '{action}', {at})")).await;
    }
}

fn people(audit: &Value) -> Vec<&str> {
    audit["entries"].as_array().unwrap().iter().map(|entry| entry["who"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_audit_is_filtered_by_the_beginning_of_a_name_by_what_was_done_and_by_when() {
    for outbox in outboxes::each().await {
        entries(&outbox).await;
        let program = Program::new(&outbox.test.url, HTTP);
        let mut replica = program.start();
        let listener = replica.listener().await;
        for (filter, found) in [
            (&["--who", "ada"] as &[&str], &["adam", "ada (page)", "ada"] as &[&str]),
            (&["--who", "ada ("], &["ada (page)"]),
            (&["--who", "Ada"], &["Ada"]),
            (&["--who", "100%_"], &["100%_a"]),
            (&["--who", "%"], &[]),
            (&["--who", "adam and eve"], &[]),
            (&["--action", "redrive"], &["adam", "ada"]),
            (&["--action", "purge"], &[]),
            (&["--until", "150m"], &["ada (page)", "ada"]),
            (&["--since", "210m", "--until", "90m"], &["adam", "ada (page)"]),
            (&["--who", "ada", "--action", "redrive", "--until", "3h"], &["ada"]),
            (&["--who", "ada", "--limit", "2"], &["adam", "ada (page)"]),
        ] {
            let list = [&["audit", "list", "--json"], filter].concat();
            let audit = program.run(&list).await.json();
            assert_eq!(people(&audit), found, "{filter:?}");
            let by_replica = program.run(&[&["--url", &listener][..], &list].concat()).await.json();
            assert_eq!(by_replica, audit, "{filter:?}");
        }
        let nobody = program.run(&["audit", "list", "--who", "eve"]).await.done();
        assert_eq!(nobody, "no entry meets the filter\n");
        let turned = program.run(&["audit", "list", "--since", "1h", "--until", "2h"]).await;
        assert!(turned.stderr.contains("--until is earlier than --since"), "{turned:?}");
        let misused = program.run(&["audit", "list", "--action", "redrove"]).await.misused();
        assert!(AuditAction::ALL.iter().all(|action| misused.contains(action.as_str())), "{misused}");
    }
}

#[tokio::test]
async fn an_audit_of_very_many_entries_says_how_many_were_looked_at() {
    let outbox = &outboxes::migrated().await[2];
    outbox
        .sql(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100002) \
             INSERT INTO outbox_audit (who, action) SELECT CASE i WHEN 1 THEN 'ada' ELSE 'eve' END, 'cancel' FROM n",
        )
        .await;
    let program = Program::new(&outbox.test.url, HTTP);
    let text = program.run(&["audit", "list", "--who", "ada"]).await.done();
    assert_eq!(
        text,
        "no entry meets the filter\n100,000 entries were looked at, and there are more\nmore with --after 3\n"
    );
    let rest = program.run(&["audit", "list", "--who", "ada", "--after", "3", "--json"]).await.json();
    assert_eq!((people(&rest), &rest["next"]), (vec!["ada"], &Value::Null));
}
