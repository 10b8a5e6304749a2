//! Settling: decides, beside the loop, the rows that earlier terms claimed and never marked.

use std::sync::Arc;
use std::time::Duration;

use outbox_schema::store::Settlement;
use outbox_schema::{InDoubtPolicy, Store, StoreError, TermEnd};
use tokio::sync::Notify;

use crate::in_flight::InFlight;
use crate::in_force::InForce;
use crate::metrics::Metrics;
use crate::poller::channels::Channels;
use crate::poller::marking::Marking;
use crate::poller::suspects::Suspects;
use crate::term::Term;

/// How often rows are let go that their own poller has marked meanwhile, without waiting for the settling time.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The least time between two looks, however soon the next claim may be settled.
const SHORTEST_WAIT: Duration = Duration::from_millis(10);

/// The most time between two looks at rows that the database itself refuses to settle, as by a trigger of the application.
const REFUSED_AGAIN: Duration = Duration::from_secs(10);

/// Settles the claims that a term finds.
#[derive(Debug)]
pub(crate) struct Settling {
    /// The outbox database.
    pub store: Arc<dyn Store>,
    /// The set of rows that polls leave out, unsettled rows among them.
    pub in_flight: Arc<InFlight>,
    /// Takes the rows of crashed terms.
    pub suspects: Arc<Suspects>,
    /// The configured channels.
    pub channels: InForce<Channels>,
    /// Notified when rows have become due.
    pub wakeup: Arc<Notify>,
    /// Whether marks can be written.
    pub marking: Arc<Marking>,
    /// Where rows in doubt are counted.
    pub metrics: Arc<Metrics>,
}

impl Settling {
    /// Takes over the claims that `term` found when it began. Settles them in a task of its own while the term lasts.
    pub(crate) fn begin(self: &Arc<Self>, term: &Arc<Term>) {
        self.in_flight.set_unsettled(term.id.epoch, &term.opened.unsettled);
        let (settling, term) = (self.clone(), term.clone());
        tokio::spawn(async move {
            term.first_claim().await;
            tokio::select! {
                () = settling.settle(&term) => {}
                () = term.ended() => {}
            }
        });
    }

    async fn settle(&self, term: &Term) {
        let mut rest = SHORTEST_WAIT;
        loop {
            // This process may have the outcome of a row that it would settle, and not have written it yet.
            if self.marking.fails() {
                tokio::time::sleep(LOOK_AGAIN).await;
                continue;
            }
            let channels = self.channels.current();
            let error = match self.store.settle(&term.id, channels.terms()).await {
                Ok(settlement) => {
                    self.take(term, &settlement);
                    let Some(next) = settlement.next else { return };
                    // What stays though its settling time is over is refused.
                    let stays = next.is_zero() && settlement.decided.is_empty();
                    rest = if stays { (rest * 2).min(REFUSED_AGAIN) } else { SHORTEST_WAIT };
                    tokio::time::sleep(next.min(LOOK_AGAIN).max(rest)).await;
                    continue;
                }
                Err(StoreError::Fenced { .. }) => return term.end(TermEnd::Fenced),
                Err(error @ (StoreError::Unavailable { .. } | StoreError::Refused { .. })) => error,
            };
            tracing::warn!(epoch = %term.id.epoch, %error, "settle.failed");
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    fn take(&self, term: &Term, settlement: &Settlement) {
        self.suspects.add(&settlement.decided);
        self.in_flight.set_unsettled(term.id.epoch, &settlement.unsettled);
        if settlement.decided.is_empty() {
            return;
        }
        for row in &settlement.decided {
            tracing::warn!(message_id = row.id.0, crashed = row.crashed, resend = row.resend, "settle.in_doubt");
            let policy = if row.resend { InDoubtPolicy::Resend } else { InDoubtPolicy::DeadLetter };
            self.metrics.in_doubt(policy, 1);
        }
        self.wakeup.notify_one();
    }
}
