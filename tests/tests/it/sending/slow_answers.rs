//! Answers that take longer than their channel's timeout: an attempt that times out gives the next one twice the time.

use std::time::Duration;

use outbox_desk::Desk;
use outbox_schema::{Enqueued, NewMessage};
use outbox_tests::eventually;
use outbox_tests::receiver::{Manner, Receiver};

use crate::outboxes;
use crate::program::{HTTP, PATIENCE, Program};

#[tokio::test]
async fn an_answer_that_takes_three_times_the_timeout_is_delivered_by_the_third_attempt() {
    for outbox in outboxes::each().await {
        let receiver = Receiver::start(Duration::ZERO);
        receiver.behave("/slow", Manner::Slow(Duration::from_millis(3_300)));
        // Terms end while its answer is awaited.
        let settings =
            format!("[lease]\nttl = \"1s\"\nterm = \"1s\"\n[retry]\nbase = \"10ms\"\n{HTTP}timeout = \"1s\"\n");
        let program = Program::new(&outbox.test.url, &settings);
        let sent = outbox.enqueue(&[NewMessage::http(format!("{}/slow", receiver.url())).json(&1)]).await;
        let [Enqueued::Inserted { id, .. }] = &sent[..] else { panic!("{sent:?}") };
        let _replica = program.start();
        let over = "SELECT count(*) FROM outbox WHERE status <> 'PENDING'";
        let found = async || (outbox.number(over).await == 1).then_some(());
        eventually("it has an outcome", PATIENCE, found).await;

        let message = outbox.database.message(*id).await.unwrap().unwrap();
        assert_eq!((message.status.as_str(), message.attempts), ("SUCCESS", 3), "{message:?}");
        let log: Vec<_> = message.attempt_log.iter().map(|attempt| attempt.outcome.as_str()).collect();
        assert_eq!(log, ["in_doubt", "in_doubt"], "{message:?}");
        for (attempt, least) in message.attempt_log.iter().zip([1_000, 2_000]) {
            assert!(attempt.duration_ms.is_some_and(|ms| ms >= least), "{attempt:?}");
        }
        assert_eq!(receiver.count(), 3, "a request for each attempt");
    }
}
