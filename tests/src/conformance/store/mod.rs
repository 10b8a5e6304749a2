//! What every store must do, each behaviour a function over a fresh outbox.

mod ask;
mod claiming;
pub mod claims;
pub mod defaults;
pub mod destinations;
pub mod due;
pub mod failovers;
pub mod halting;
pub mod locks;
pub mod marks;
pub mod odd_rows;
pub mod ordering;
mod outbox;
pub mod outcomes;
pub mod settling;
pub mod terms;
pub mod unknown;
mod watched;

use std::time::{Duration, Instant};

use outbox_store::{
    AttemptRecord, ChannelTerms, ClaimId, DeadReason, InDoubtPolicy, Mark, Message, OnDeadOrdered, Pause, PauseKind,
    TermId, Verdict,
};

pub use ask::seen;
pub use ask::{Ask, terms};
pub use outbox::{Dialect, Outbox};

/// Runs a behaviour on each database, one after the other.
pub async fn on_every_database(behaviour: impl AsyncFn(&Outbox)) {
    for dialect in [Dialect::Postgres, Dialect::MySql, Dialect::Sqlite] {
        on(dialect, &behaviour).await;
    }
}

/// Runs a behaviour on one database.
pub async fn on(dialect: Dialect, behaviour: impl AsyncFn(&Outbox)) {
    let outbox = Outbox::fresh(dialect).await;
    eprintln!("on {dialect:?}: {}", outbox.url());
    behaviour(&outbox).await;
    let closed = tokio::time::timeout(Duration::from_secs(15), outbox.close()).await;
    assert!(closed.is_ok(), "a connection never came back to its pool");
}

/// The channel `http`: rows in doubt are resent, 10 attempts, requests take up to a second.
pub fn http() -> ChannelTerms {
    ChannelTerms {
        name: "http".to_owned(),
        timeout: Duration::from_secs(1),
        max_attempts: 10,
        in_doubt: InDoubtPolicy::Resend,
        on_dead_ordered: OnDeadOrdered::Continue,
        max_message_bytes: 1 << 20,
        on_dead: None,
    }
}

/// The channel `once`: rows in doubt are dead letters.
fn once() -> ChannelTerms {
    ChannelTerms { name: "once".to_owned(), in_doubt: InDoubtPolicy::DeadLetter, ..http() }
}

/// The pause of `destination` that comes with a deferral.
pub fn pause(verdict: &Verdict, destination: &str) -> Option<Pause> {
    let Verdict::Deferred { after } = verdict else { return None };
    Some(Pause { destination: destination.to_owned(), remaining: *after, kind: PauseKind::RetryAfter })
}

/// The mark of a first attempt that ended a moment ago.
pub fn mark(term: &TermId, claim: ClaimId, message: &Message, verdict: Verdict, outcome: &'static str) -> Mark {
    Mark {
        claim,
        id: message.id(),
        revision: message.revision(),
        pause: pause(&verdict, &message.channel),
        verdict,
        status_code: None,
        error: None,
        deadline: None,
        told: None,
        attempt: AttemptRecord {
            number: u32::try_from(message.attempts).unwrap() + 1,
            epoch: term.epoch,
            holder: term.holder.clone(),
            started: Instant::now(),
            duration: Duration::from_millis(7),
            kept: false,
            outcome,
            excerpt: None,
        },
    }
}

/// The mark of a delivery.
fn delivered(term: &TermId, claim: ClaimId, message: &Message) -> Mark {
    mark(term, claim, message, Verdict::Success { receipt: None }, "delivered")
}

/// Claims all that is due, and finds it dead for good.
async fn dead(outbox: &Outbox, term: &TermId, channels: &[ChannelTerms]) {
    let (claim, claimed) = outbox.claim_all(term, channels).await;
    let verdict = Verdict::Dead { reason: DeadReason::Permanent, attempted: true, invalid_target: false };
    let marks: Vec<_> = claimed.iter().map(|row| mark(term, claim, row, verdict.clone(), "dead")).collect();
    outbox.store.mark(&marks, &[claim]).await.unwrap();
}

fn ids(messages: &[Message]) -> Vec<i64> {
    messages.iter().map(|message| message.id).collect()
}
