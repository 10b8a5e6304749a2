//! Many messages that wait are cancelled at once: by name, or all that a filter means.

use outbox_desk::{
    Action, Author, ByHand, Cancelled, DeadLetterFilter, Desk, MessageFilter, MessageRecord, MessageSelection, Pace,
    Refusal, Selection, Skipped,
};
use outbox_schema::{MessageId, NewMessage};
use outbox_store::{DeadReason, Dialect, Status, Verdict};
use outbox_tests::changes::{self, Unfollowed, sent};

use crate::commands::command_line::enqueue;
use crate::outboxes::{self, Outbox};
use crate::poller::Poller;
use crate::program::{HTTP, Program};
use crate::sink::Sink;

fn ada() -> Author {
    Author { who: "ada".to_owned(), why: "the campaign is off".to_owned() }
}

fn message(key: &str) -> NewMessage {
    NewMessage::http("https://shop.example/hook").idempotency_key(key).json(key)
}

fn of_campaign(key: &str) -> NewMessage {
    message(key).tag("campaign", "autumn")
}

fn campaign() -> MessageSelection {
    let tags = "campaign=autumn".parse().unwrap();
    MessageSelection::Filter(MessageFilter { tags, ..MessageFilter::default() })
}

/// Enqueues messages, and gives their ids.
async fn enqueued(outbox: &Outbox, messages: &[NewMessage]) -> Vec<MessageId> {
    outbox.enqueue(messages).await;
    let page = outbox.database.messages(&MessageFilter::default(), None, u32::try_from(messages.len()).unwrap()).await;
    page.unwrap().messages.iter().rev().map(|message| MessageId(message.id)).collect()
}

async fn record(outbox: &Outbox, id: MessageId) -> MessageRecord {
    outbox.database.message(id).await.unwrap().unwrap()
}

#[tokio::test]
async fn all_that_wait_and_meet_a_filter_are_cancelled_and_a_redrive_has_them_sent_after_all() {
    for outbox in outboxes::each().await {
        let waiting: Vec<_> = (0..3).map(|n| of_campaign(&format!("key-{n}"))).collect();
        enqueued(&outbox, &[message("other")]).await;
        let ids = enqueued(&outbox, &waiting).await;
        let groups = outbox.database.message_groups(Action::Cancel, &campaign(), None).await.unwrap();
        assert_eq!((groups.len(), groups[0].count, groups[0].channel.as_str()), (1, 3, "http"));

        let done = outbox.database.cancel_all(&campaign(), &ada()).await.unwrap();
        assert_eq!((done.meant, done.changed, done.left.len()), (3, 3, 0), "{done:?}");
        for id in &ids {
            let found = record(&outbox, *id).await;
            assert_eq!((found.status.as_str(), found.dead_reason.as_deref()), ("DEAD", Some("cancelled")));
            assert_eq!((found.audit[0].action.as_str(), found.audit[0].who.as_str()), ("cancel", "ada"));
        }
        let poller = Poller::begin(&outbox.database, "one").await;
        let (claim, claimed) = poller.claim().await;
        assert_eq!(claimed.iter().map(|message| message.idempotency_key.as_str()).collect::<Vec<_>>(), ["other"]);
        poller.mark(claim, &claimed, &Verdict::Success { receipt: None }).await;

        let cancelled = DeadLetterFilter { reason: Some(DeadReason::Cancelled), ..DeadLetterFilter::default() };
        let back = outbox.database.redrive(&Selection::Filter(cancelled), Pace::default(), &ada()).await.unwrap();
        assert_eq!(sent(&back), ids);
        assert_eq!(poller.claim().await.1.len(), 3);
        assert_eq!(outbox.database.cancel_all(&campaign(), &ada()).await.unwrap().changed, 0, "they are in flight");
    }
}

#[tokio::test]
async fn what_is_in_flight_delivered_dead_or_not_there_is_left_as_it_is_and_named() {
    for outbox in outboxes::each().await {
        let poller = Poller::begin(&outbox.database, "one").await;
        let delivered = enqueued(&outbox, &[of_campaign("a")]).await[0];
        let (claim, messages) = poller.claim().await;
        poller.mark(claim, &messages, &Verdict::Success { receipt: None }).await;
        let in_flight = enqueued(&outbox, &[of_campaign("b")]).await[0];
        poller.claim().await;
        let waits = enqueued(&outbox, &[of_campaign("c")]).await[0];
        let named = MessageSelection::Ids(vec![waits, MessageId(4_711), in_flight, delivered]);
        let done = outbox.database.cancel_all(&named, &ada()).await.unwrap();
        let skipped = [
            Skipped { id: delivered, because: Refusal::NotPending },
            Skipped { id: in_flight, because: Refusal::InFlight },
            Skipped { id: MessageId(4_711), because: Refusal::NotThere },
        ];
        assert_eq!((done.meant, done.changed, changes::skipped(&done)), (4, 1, skipped.to_vec()));
        assert_eq!(record(&outbox, in_flight).await.status, "PENDING");
    }
    let filter = |status| MessageSelection::Filter(MessageFilter { status, ..MessageFilter::default() });
    assert!(filter(None).check(Action::Cancel).unwrap_err().contains("every message that waits"));
    assert!(filter(Some(Status::Dead)).check(Action::Cancel).unwrap_err().contains("only messages that wait"));
}

#[tokio::test]
async fn a_row_that_an_application_holds_is_left_and_named_and_meanwhile_claims_go_on() {
    for outbox in outboxes::each().await.filter(|outbox| outbox.dialect() != Dialect::Sqlite) {
        let poller = Poller::begin(&outbox.database, "one").await;
        let ids = enqueued(&outbox, &[of_campaign("held"), of_campaign("free")]).await;
        let skipped = Skipped { id: ids[0], because: Refusal::Held };
        let held = outbox.hold("idempotency_key = 'held'").await;
        assert_eq!(outbox.database.cancel(ids[0], &ada()).await.unwrap(), Cancelled::Refused(skipped));
        let done = outbox.database.cancel_all(&campaign(), &ada()).await.unwrap();
        assert_eq!((done.meant, done.changed, changes::skipped(&done)), (2, 1, vec![skipped]), "{done:?}");
        outbox.enqueue(&[message("another")]).await;
        let claimed = poller.claim().await.1;
        assert!(claimed.iter().any(|message| message.idempotency_key == "another"), "{claimed:?}");
        held.release().await;
        let in_flight = outbox.database.cancel(ids[0], &ada()).await.unwrap();
        assert_eq!(in_flight, Cancelled::Refused(Skipped { id: ids[0], because: Refusal::InFlight }));
    }
}

#[tokio::test]
async fn a_campaign_is_taken_back_by_its_tag_from_the_command_line_and_from_a_replica() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let program = Program::new(&outbox.test.url, HTTP);
        for key in ["a", "b", "c"] {
            enqueue(&program, key, &sink.url("/"), &["--tag", "campaign=autumn"]).await.done();
        }
        enqueue(&program, "d", &sink.url("/"), &[]).await.done();
        let would = program.run(&["messages", "cancel", "--tag", "campaign=autumn", "--dry-run"]).await.done();
        assert!(would.contains("3 would be cancelled; nothing was changed"), "{would}");
        let two = program.run(&["messages", "cancel", "a", "b", "--why", "the campaign is off"]).await.done();
        assert!(two.contains("2 cancelled\n") && two.contains("redrive --reason cancelled"), "{two}");
        let rest = program.run(&["messages", "cancel", "--tag", "campaign=autumn"]).await.done();
        assert!(rest.contains("1 cancelled\n"), "{rest}");
        let again = program.run(&["messages", "cancel", "--tag", "campaign=autumn"]).await;
        assert_eq!(again.code, Some(3), "nothing meets it any more: {again:?}");
        let vague = program.run(&["messages", "cancel"]).await.misused();
        assert!(vague.contains("--channel"), "{vague}");
        let both = program.run(&["messages", "cancel", "--key", "d", "--channel", "http"]).await.misused();
        assert!(both.contains("either a key or a filter"), "{both}");
        program.deliver().await;
        assert_eq!(sink.requests().len(), 1);
    }
}
