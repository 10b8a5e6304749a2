//! Tags: what a customer knows of a message, and people find it by.

use std::collections::BTreeMap;

use outbox_desk::Desk;
use outbox_schema::{MessageId, NewMessage, Tags};
use serde_json::json;

use crate::database::grants::{granted, refused};
use crate::outboxes::{self, Outbox, Step, literal, transaction};
use crate::program::{HTTP, Program};

/// The SQL of an application for a message with these tags.
fn insert(outbox: &Outbox, tags: &str) -> String {
    let tags = literal(outbox.dialect(), tags);
    format!("INSERT INTO outbox (channel, target, payload, tags) VALUES ('http', '/hook', '{{}}', {tags})")
}

/// The tags of a message, as the desk shows them.
async fn shown(outbox: &Outbox, id: i64) -> Option<BTreeMap<String, String>> {
    let message = outbox.database.message(MessageId(id)).await.unwrap().unwrap();
    message.tags.map(|tags| serde_json::from_str(&tags).unwrap())
}

fn map(tags: &[(&str, &str)]) -> BTreeMap<String, String> {
    tags.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[tokio::test]
async fn plain_sql_and_the_library_write_tags_and_the_desk_shows_them() {
    for outbox in outboxes::each().await {
        let odd = map(&[("name", "M\u{fc}ller, \"Ada\" \\ \u{1f980}"), ("order", "4711"), ("empty", "")]);
        outbox.sql(&insert(&outbox, &serde_json::to_string(&odd).unwrap())).await;
        // As encoders of JSON write it that keep to ASCII.
        let escaped = r#" { "name" : "M\u00fcller, \"Ada\" \\ \ud83e\udd80", "order":"4711" ,"empty":"" } "#;
        outbox.sql(&insert(&outbox, escaped)).await;
        let mut message = NewMessage::http("/hook");
        for (name, value) in &odd {
            message = message.tag(name, value);
        }
        outbox.enqueue(&[NewMessage::http("/hook"), message]).await;
        for (id, expected) in [(1, Some(&odd)), (2, Some(&odd)), (3, None), (4, Some(&odd))] {
            assert_eq!(shown(&outbox, id).await.as_ref(), expected, "{id}");
        }
    }
}

#[tokio::test]
async fn tags_that_are_no_short_texts_are_refused_by_name_as_a_row_is_born() {
    let long = |characters: usize| "\u{fc}".repeat(characters);
    let many = |tags: usize| json!((0..tags).map(|n| (n.to_string(), "x")).collect::<BTreeMap<_, _>>()).to_string();
    for outbox in outboxes::each().await {
        for tags in [
            "[]".to_owned(),
            "null".to_owned(),
            "\"order=1\"".to_owned(),
            "4711".to_owned(),
            r#"{"order": 4711}"#.to_owned(),
            r#"{"order": null}"#.to_owned(),
            r#"{"order": ["4711"]}"#.to_owned(),
            r#"{"order": {"number": "4711"}}"#.to_owned(),
            r#"{"good": "1", "order": 4711}"#.to_owned(),
            r#"{"": "4711"}"#.to_owned(),
            r#"{"order=4711": ""}"#.to_owned(),
            format!(r#"{{"{}": "x"}}"#, long(65)),
            format!(r#"{{"x": "{}"}}"#, long(256)),
            many(17),
        ] {
            let told = outbox.try_sql(&insert(&outbox, &tags)).await.unwrap_err().to_string();
            assert!(told.contains("outbox_tags_of_16_short_texts"), "{tags}: {told}");
        }
        assert!(outbox.try_sql(&insert(&outbox, "{")).await.is_err());
        for tags in [
            "{}".to_owned(),
            format!(r#"{{"{}": "{}"}}"#, long(64), long(255)),
            format!(r#"{{"x": "{}"}}"#, r"\u00fc\\".repeat(127)),
            format!(r#"{{"{}": "x"}}"#, r"\u00fc".repeat(64)),
            r#"{"lines": "a\nb"}"#.to_owned(),
            many(16),
        ] {
            outbox.try_sql(&insert(&outbox, &tags)).await.unwrap_or_else(|error| panic!("{tags}: {error}"));
        }
    }
}

#[tokio::test]
async fn an_application_writes_tags_with_its_rights_and_reads_none() {
    let tagged = [NewMessage::http("/hook").tag("order", "4711")];
    for granted in granted().await {
        let dialect = granted.owner.dialect();
        for table in ["outbox", "outbox_new"] {
            let insert = format!(
                "INSERT INTO {table} (channel, target, payload, tags) VALUES ('http', '/x', '1', '{{\"order\": \"1\"}}')"
            );
            let answers =
                transaction(&granted.application, &[Step::Sql(&insert), Step::Enqueue(&tagged)], "COMMIT").await;
            assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        }
        refused(&granted.application, dialect, "SELECT tags FROM outbox").await;
        refused(&granted.application, dialect, "UPDATE outbox SET tags = NULL").await;
        assert_eq!(granted.owner.number("SELECT count(*) FROM outbox WHERE tags IS NOT NULL").await, 4);
    }
}

#[tokio::test]
async fn the_command_enqueues_with_tags_and_shows_them_and_names_what_is_none() {
    for outbox in outboxes::each().await {
        let program = Program::new(&outbox.test.url, HTTP);
        let one = ["enqueue", "--channel", "http", "--target", "http://127.0.0.1/", "--payload", "1"];
        let tagged = [&one[..], &["--tag", "order=4711", "--tag", "name=a=b, c"]].concat();
        program.run(&tagged).await.done();
        let shown = program.run(&["messages", "show", "1"]).await.done();
        let line = shown.lines().find(|line| line.starts_with("tags")).unwrap();
        assert!(line.contains("\"order\"") && line.contains("\"a=b, c\""), "{shown}");
        for (tag, said) in [("order", "NAME=VALUE"), ("=1", "its name is empty")] {
            let told = program.run(&[&one[..], &["--tag", tag]].concat()).await.misused();
            assert!(told.contains(said), "{told}");
        }
        let twice = program.run(&[&one[..], &["--tag", "a=1", "--tag", "a=2"]].concat()).await.misused();
        assert!(twice.contains("the tag \"a\" is there twice"), "{twice}");

        let line = r#"{"channel": "http", "target": "http://127.0.0.1/", "payload": 1, "tags": {"order": "18"}}"#;
        std::fs::write(program.path("lines"), line).unwrap();
        program.run(&["enqueue", "--lines", "lines"]).await.done();
        assert_eq!(self::shown(&outbox, 2).await, Some(map(&[("order", "18")])));
        std::fs::write(program.path("lines"), line.replace("\"18\"", "18")).unwrap();
        let told = program.run(&["enqueue", "--lines", "lines"]).await.failed();
        assert!(told.contains("line 1") && told.contains("expected a string"), "{told}");
    }
}

/// What a stranger's row holds is shown, and is no obstacle.
#[tokio::test]
async fn tags_that_no_check_saw_are_shown_as_they_are() {
    for outbox in outboxes::each().await {
        // As of the owner, or of an outbox whose check somebody dropped.
        let tags = literal(outbox.dialect(), r#"[1, "<script>\u001b[31m"]"#);
        let columns = "INSERT INTO outbox (channel, target, payload, tags, revision)";
        outbox.sql(&format!("{columns} VALUES ('http', '/hook', '{{}}', {tags}, 1)")).await;
        let message = outbox.database.message(MessageId(1)).await.unwrap().unwrap();
        assert!(serde_json::from_str::<Tags>(message.tags.as_deref().unwrap()).is_err());
        let shown = Program::new(&outbox.test.url, HTTP).run(&["messages", "show", "1"]).await.done();
        assert!(shown.contains("<script>") && !shown.contains('\u{1b}'), "{shown:?}");
    }
}
