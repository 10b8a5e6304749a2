//! Settling: decides, beside the loop, the rows that earlier terms claimed and never marked.

use std::sync::Arc;
use std::time::Duration;

use outbox_schema::MessageId;
use outbox_store::store::Settlement;
use outbox_store::{InDoubtPolicy, Store, StoreError, TermEnd};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::in_flight::InFlight;
use crate::metrics::Metrics;
use crate::poller::channels::Channels;
use crate::poller::marker_health::MarkerHealth;
use crate::poller::quarantine::Quarantine;
use crate::reloadable::Reloadable;
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
    pub quarantine: Arc<Quarantine>,
    /// The configured channels.
    pub channels: Reloadable<Channels>,
    /// Notified when rows have become due.
    pub wakeup: Arc<Notify>,
    /// Whether marks can be written.
    pub marker_health: Arc<MarkerHealth>,
    /// Where rows in doubt are counted.
    pub metrics: Arc<Metrics>,
    /// Rows that a call may have decided whose answer was lost, also one of an earlier term. They stay out of the polls until
    /// an answer says what became of them: they may belong into quarantine.
    pub unanswered: Mutex<Vec<MessageId>>,
}

impl Settling {
    /// Takes over the claims that `term` found when it began. Settles them in a task of its own while the term lasts.
    pub(crate) fn begin(self: &Arc<Self>, term: &Arc<Term>) {
        let unsettled: Vec<MessageId> = [&term.opened.unsettled[..], &self.unanswered()[..]].concat();
        self.in_flight.set_unsettled(term.id.epoch, &unsettled);
        let (settling, term) = (self.clone(), term.clone());
        tokio::spawn(async move {
            term.first_claim().await;
            tokio::select! {
                // A term that has ended asks no more: what it would hear is for the next one.
                biased;
                () = term.ended() => {}
                () = settling.settle(&term) => {}
            }
        });
    }

    async fn settle(&self, term: &Term) {
        let mut rest = SHORTEST_WAIT;
        loop {
            // This process may have the outcome of a row that it would settle, and not have written it yet.
            if self.marker_health.fails() {
                tokio::time::sleep(LOOK_AGAIN).await;
                continue;
            }
            let channels = self.channels.current();
            let unanswered = std::mem::replace(&mut *self.unanswered(), self.in_flight.unsettled());
            let error = match self.store.settle(&term.id, channels.terms(), &unanswered).await {
                Ok(settlement) => {
                    self.take(term, &settlement);
                    self.unanswered().clear();
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
        self.quarantine.add(&settlement.decided);
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

    fn unanswered(&self) -> MutexGuard<'_, Vec<MessageId>> {
        self.unanswered.lock()
    }
}

#[cfg(test)]
mod tests {
    use outbox_store::store::{Decided, OpenedTerm};
    use outbox_store::{Epoch, Holder, Shard};

    use super::*;
    use crate::fixtures::{SteppedClock, TermStore, metrics};
    use crate::term::clock::Clock;

    const CRASHED: [MessageId; 2] = [MessageId(1), MessageId(2)];

    fn settling(store: &Arc<TermStore>) -> Arc<Settling> {
        let (in_flight, wakeup) = (Arc::new(InFlight::new(8)), Arc::<Notify>::default());
        Arc::new(Settling {
            store: store.clone(),
            quarantine: Arc::new(Quarantine::new(in_flight.clone(), wakeup.clone())),
            in_flight,
            channels: Reloadable::new(Channels::default()),
            wakeup,
            marker_health: Arc::new(MarkerHealth::new(Duration::from_secs(10))),
            metrics: metrics(),
            unanswered: Mutex::default(),
        })
    }

    fn term(clock: &Arc<SteppedClock>, epoch: i64, unsettled: &[MessageId]) -> Arc<Term> {
        let opened =
            OpenedTerm { epoch: Epoch(epoch), lineage: None, unsettled: unsettled.to_vec(), destinations: Vec::new() };
        let term = Term::begin(
            Shard::default(),
            Holder::new("a", &epoch.to_string()),
            opened,
            clock.clone(),
            clock.now().after(Duration::from_hours(1)),
            outbox_store::Lineages::default().watch(),
        );
        term.claim_answered();
        term
    }

    /// A store that decides these two, and tells it only where it is asked a second time.
    fn losing_an_answer(clock: &Arc<SteppedClock>) -> Arc<TermStore> {
        let row = |id| Decided { id, destination: "a".to_owned(), crashed: true, resend: true };
        TermStore::losing_an_answer(clock, Settlement { decided: CRASHED.map(row).into(), ..Settlement::default() })
    }

    /// Waits until so many rows are kept out of polls.
    async fn kept_out(settling: &Settling, rows: usize) {
        let kept_out = async {
            while settling.in_flight.excluded().len() != rows {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        };
        assert!(tokio::time::timeout(Duration::from_mins(5), kept_out).await.is_ok(), "they go one by one");
    }

    async fn asked(store: &TermStore, times: usize) {
        while store.unanswered().len() < times {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn suspects_whose_decision_was_never_heard_of_are_held_back_all_the_same() {
        let clock = SteppedClock::new();
        let store = losing_an_answer(&clock);
        let settling = settling(&store);
        let term = term(&clock, 7, &CRASHED);
        settling.begin(&term);
        asked(&store, 1).await;
        let mut excluded = settling.in_flight.excluded();
        excluded.sort_unstable();
        assert_eq!(excluded, CRASHED, "nobody knows what became of them");
        asked(&store, 2).await;
        assert_eq!(store.unanswered(), [vec![], CRASHED.to_vec()]);
        kept_out(&settling, 1).await;
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_term_of_a_process_asks_what_its_last_one_never_heard() {
        let clock = SteppedClock::new();
        let store = losing_an_answer(&clock);
        let settling = settling(&store);
        let first = term(&clock, 7, &CRASHED);
        settling.begin(&first);
        asked(&store, 1).await;
        first.end(TermEnd::Lost);
        // They are settled, as far as the database knows.
        let second = term(&clock, 8, &[]);
        settling.begin(&second);
        assert_eq!(settling.in_flight.excluded().len(), 2);
        asked(&store, 2).await;
        kept_out(&settling, 1).await;
    }
}
