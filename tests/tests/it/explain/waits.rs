//! What a due message waits for, in the words of the poller's schedule.

use std::time::Duration;

use outbox_schema::{Enqueued, NewMessage};
use outbox_tests::eventually;
use outbox_tests::receiver::{Manner, Receiver};
use serde_json::json;

use crate::outboxes;
use crate::program::{HTTP, PATIENCE, Program};

#[tokio::test]
async fn the_replica_that_polls_says_what_a_message_waits_for_that_it_has_read() {
    for outbox in outboxes::each().await {
        let receiver = Receiver::start(Duration::ZERO);
        receiver.behave("/silent", Manner::Hang);
        let program = Program::new(&outbox.test.url, HTTP);
        let messages: Vec<_> =
            (0..5).map(|n| NewMessage::http(format!("{}/silent", receiver.url())).json(&n)).collect();
        let sent = outbox.enqueue(&messages).await;
        let Enqueued::Inserted { id, .. } = &sent[4] else { panic!("{sent:?}") };
        let id = id.to_string();
        let mut replica = program.start();
        let url = replica.listener().await;
        // A destination that has never answered has two messages in flight at most.
        let explained = async || {
            let asked = ["--url", &url, "messages", "explain", &id, "--json"];
            let answer = program.run(&asked).await.json();
            let cause = &answer["not_sent"][0];
            let waits = cause["cause"] == "waits" && cause["in_flight"] == 2;
            waits.then(|| (cause["why"].clone(), cause["window"].clone(), cause["sentence"].clone()))
        };
        let (why, window, sentence) = eventually("its replica says what it waits for", PATIENCE, explained).await;
        assert_eq!((why, window), (json!("full"), json!(2)), "{sentence}");
        assert!(sentence.as_str().unwrap().contains("2 of 2"), "{sentence}");

        let status = program.run(&["--url", &url, "status"]).await.done();
        assert!(status.contains("read by the poller, and waiting: full 3"), "{status}");
        let by_database = program.run(&["messages", "explain", &id]).await.done();
        assert!(!by_database.contains("The poller has read it"), "{by_database}");
    }
}
