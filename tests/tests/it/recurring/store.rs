//! What the database keeps of recurring messages: of each time one message, whoever asks, and however often.

use outbox_schema::NewMessage;
use outbox_store::recurring::{RecurringState, RecurringStep};
use outbox_store::{Epoch, Holder, RecurringStore, Shard, StoreError, TermId};

use crate::outboxes::{self, Outbox};

/// A second, in milliseconds.
const SECOND: i64 = 1_000;

pub(crate) async fn term(outbox: &Outbox, nonce: &str) -> TermId {
    let holder = Holder::new("test", nonce);
    let opened = outbox.database.store().begin_term(Shard(0), &holder, Epoch(0)).await.unwrap();
    TermId { shard: Shard(0), epoch: opened.epoch, holder }
}

fn know(cron: &str) -> RecurringStep {
    RecurringStep::Know { name: "todo".to_owned(), cron: cron.to_owned(), timezone: "UTC".to_owned(), next_ms: None }
}

/// Writes a message for each of these times.
pub(crate) fn fire(times_ms: &[i64]) -> RecurringStep {
    let message = |time: &i64| NewMessage::new("http", "/", "{}").idempotency_key(format!("recurring:todo:{time}"));
    RecurringStep::Fire {
        name: "todo".to_owned(),
        times_ms: (times_ms[0], times_ms[times_ms.len() - 1]),
        next_ms: None,
        messages: times_ms.iter().map(message).collect(),
    }
}

async fn state(outbox: &Outbox) -> RecurringState {
    outbox.database.recurring_now().await.unwrap().states.remove(0)
}

async fn written(outbox: &Outbox) -> i64 {
    outbox.number("SELECT count(*) FROM outbox").await
}

/// A name that is known, and the first whole second after that.
pub(crate) async fn known(outbox: &Outbox, term: &TermId) -> i64 {
    outbox.database.take_step(term, &know("@daily")).await.unwrap();
    (state(outbox).await.since_ms / SECOND + 1) * SECOND
}

#[tokio::test]
async fn a_time_has_one_message_however_often_it_is_written_and_also_once_the_message_is_gone() {
    for outbox in outboxes::each().await {
        let term = term(&outbox, "a").await;
        let first = known(&outbox, &term).await;
        let both = fire(&[first, first + SECOND]);
        assert!(outbox.database.take_step(&term, &both).await.unwrap());
        assert!(!outbox.database.take_step(&term, &both).await.unwrap());
        assert_eq!((written(&outbox).await, state(&outbox).await.fired_ms), (2, Some(first + SECOND)));
        outbox.sql("DELETE FROM outbox").await;
        assert!(!outbox.database.take_step(&term, &fire(&[first + SECOND])).await.unwrap());
        assert!(outbox.database.take_step(&term, &fire(&[first + 2 * SECOND])).await.unwrap());
        assert_eq!(written(&outbox).await, 1);
    }
}

#[tokio::test]
async fn who_polls_no_more_writes_nothing() {
    for outbox in outboxes::each().await {
        let earlier = term(&outbox, "a").await;
        let first = known(&outbox, &earlier).await;
        term(&outbox, "b").await;
        for step in [know("@hourly"), fire(&[first])] {
            let refused = outbox.database.take_step(&earlier, &step).await;
            assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
        }
        assert_eq!((written(&outbox).await, state(&outbox).await.cron.as_str()), (0, "@daily"));
    }
}

#[tokio::test]
async fn two_calls_at_once_write_one_message() {
    for outbox in outboxes::each().await {
        let term = term(&outbox, "a").await;
        let first = known(&outbox, &term).await;
        let step = fire(&[first]);
        let (one, other) =
            tokio::join!(outbox.database.take_step(&term, &step), outbox.database.take_step(&term, &step));
        assert!(one.unwrap() != other.unwrap());
        assert_eq!(written(&outbox).await, 1);
    }
}

#[tokio::test]
async fn another_pattern_begins_when_it_is_first_known_and_the_same_one_goes_on() {
    for outbox in outboxes::each().await {
        let term = term(&outbox, "a").await;
        let first = known(&outbox, &term).await;
        let since = state(&outbox).await.since_ms;
        outbox.database.take_step(&term, &know("@daily")).await.unwrap();
        assert_eq!(state(&outbox).await.since_ms, since);
        outbox.sql("UPDATE outbox_recurring SET since = fired_for WHERE fired_for IS NOT NULL").await;
        assert!(outbox.database.take_step(&term, &fire(&[first])).await.unwrap());
        outbox.database.take_step(&term, &know("@hourly")).await.unwrap();
        let changed = state(&outbox).await;
        assert!(changed.since_ms > since && changed.fired_ms == Some(first), "{changed:?}");
    }
}

#[tokio::test]
async fn a_paused_name_has_no_times_and_what_is_asked_for_by_hand_is_written_once() {
    for outbox in outboxes::each().await {
        let term = term(&outbox, "a").await;
        let first = known(&outbox, &term).await;
        outbox.sql("UPDATE outbox_recurring SET paused_at = since, asked_at = since").await;
        assert!(!outbox.database.take_step(&term, &fire(&[first])).await.unwrap());
        let asked_ms = state(&outbox).await.asked_ms.unwrap();
        let message = Box::new(NewMessage::new("http", "/", "{}").idempotency_key("by hand"));
        let step = RecurringStep::FireAsked { name: "todo".to_owned(), asked_ms, message };
        assert!(outbox.database.take_step(&term, &step).await.unwrap());
        assert!(!outbox.database.take_step(&term, &step).await.unwrap());
        assert_eq!((written(&outbox).await, state(&outbox).await.asked_ms), (1, None));
    }
}
