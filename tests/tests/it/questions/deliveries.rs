//! What a channel keeps of its deliveries, and who is told.

use outbox_desk::Desk;
use outbox_schema::MessageId;
use outbox_tests::eventually;

use crate::outboxes;
use crate::program::{HTTP, PATIENCE, Program};
use crate::sink::Sink;

const CHANNEL: &str = "kind = \"http\"\nallow_networks = [\"127.0.0.0/8\"]\n";

#[tokio::test]
async fn a_channel_keeps_as_much_of_its_deliveries_as_it_says_and_explain_names_the_replica() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let settings = format!(
            "{HTTP}[channels.summary]\n{CHANNEL}record_deliveries = \"summary\"\n[channels.full]\n{CHANNEL}record_deliveries = \"full\"\n"
        );
        let program = Program::new(&outbox.test.url, &settings);
        let _replica = program.start();
        for (channel, kept) in [("http", None), ("summary", Some(None)), ("full", Some(Some("thank you")))] {
            let target = sink.url("/thanks");
            program.run(&["enqueue", "--channel", channel, "--target", &target, "--payload", "{}"]).await.done();
            let id = outbox.number("SELECT max(id) FROM outbox").await;
            let delivered = format!("SELECT count(*) FROM outbox WHERE id = {id} AND status = 'SUCCESS'");
            eventually("it is delivered", PATIENCE, async || (outbox.number(&delivered).await == 1).then_some(()))
                .await;

            let message = outbox.database.message(MessageId(id)).await.unwrap().unwrap();
            let excerpts: Vec<_> = message.attempt_log.iter().map(|attempt| attempt.excerpt.as_deref()).collect();
            assert_eq!(excerpts, kept.into_iter().collect::<Vec<_>>(), "{channel}");
            let explained = program.run(&["messages", "explain", &id.to_string()]).await.done();
            let holder = outbox.database.terms(1).await.unwrap().remove(0).holder;
            let named = explained.contains(&format!("({holder}) in epoch "));
            assert_eq!(named, kept.is_some(), "{channel}: {explained}");
            assert!(explained.contains("Nothing says that it was sent more than once."), "{explained}");
            for attempt in &message.attempt_log {
                assert_eq!((attempt.outcome.as_str(), attempt.status_code), ("delivered", Some(200)));
                assert!(attempt.started_at.is_some() && attempt.duration_ms.is_some(), "{attempt:?}");
                let shown = program.run(&["messages", "show", &id.to_string()]).await.done();
                assert!(shown.contains("delivered with status 200") && shown.contains(&holder), "{shown}");
            }
        }
    }
}
