//! Channels that tell of outcomes, end to end.

use std::collections::BTreeMap;

use outbox_tests::eventually;
use serde_json::Value;

use crate::outboxes;
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
