//! What is done about destinations beside the loop while a term lasts: hear what people paused and resumed, put rows aside that
//! would stand in the way, bring them back, and save how far rates have risen.

use std::sync::Arc;
use std::time::Duration;

use outbox_schema::{DestinationStore, StoreError, TermEnd};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::Destinations;
use crate::in_flight::InFlight;
use crate::term::Term;

/// How often people are heard.
const LISTEN: Duration = Duration::from_secs(1);

/// Rows that are moved in one transaction.
const BATCH: u32 = 2_000;

/// A pause is so many times as long as the batch before it: the database has deliveries to do.
const PAUSES: u32 = 2;

/// The same while more than half of the slots are taken: deliveries go first, and what waits costs them a look now and then.
const PAUSES_WHEN_BUSY: u32 = 20;

/// Keeps the destinations of a poller.
#[derive(Debug)]
pub struct Keeper {
    /// The outbox database.
    pub store: Arc<dyn DestinationStore>,
    /// What it keeps.
    pub destinations: Arc<Destinations>,
    /// Whose rows are not to be moved.
    pub in_flight: Arc<InFlight>,
    /// Given when rows have become due.
    pub wakeup: Arc<Notify>,
}

impl Keeper {
    /// Takes over what `term` found when it began, and keeps it in a task of its own while the term lasts. A step that is
    /// under way is finished: a transaction that is given up while it begins stays open on its connection, which goes back to
    /// the pool, and what others write there is never committed.
    pub fn begin(self: &Arc<Self>, term: &Arc<Term>) {
        self.destinations.take_over(&term.opened.destinations);
        let (keeper, term) = (self.clone(), term.clone());
        tokio::spawn(async move { keeper.keep(&term).await });
    }

    async fn keep(&self, term: &Term) {
        let mut listened = Instant::now();
        while term.is_on() {
            let began = Instant::now();
            let rest = match self.step(term, began >= listened).await {
                Ok(more) => {
                    if began >= listened {
                        listened = began + LISTEN;
                    }
                    if more { (began.elapsed() * self.pauses()).min(LISTEN) } else { LISTEN }
                }
                Err(StoreError::Fenced { .. }) => return term.end(TermEnd::Fenced),
                Err(error) => {
                    tracing::warn!(%error, "destinations.failed");
                    LISTEN
                }
            };
            tokio::select! {
                () = tokio::time::sleep(rest) => {}
                () = self.destinations.recovery() => {}
                () = term.ended() => return,
            }
        }
    }

    fn pauses(&self) -> u32 {
        if self.in_flight.is_busy() { PAUSES_WHEN_BUSY } else { PAUSES }
    }

    /// Does what is to be done; says whether there is more of it.
    async fn step(&self, term: &Term, listen: bool) -> Result<bool, StoreError> {
        if listen {
            self.destinations.heard(self.store.changes_by_hand().await?);
            for (destination, rising_for) in self.destinations.rising() {
                self.store.remember_ramp(&destination, rising_for).await?;
            }
            self.destinations.prune();
        }
        let back = self.bring_back(term).await?;
        Ok(self.put_aside(term).await? || back)
    }

    async fn put_aside(&self, term: &Term) -> Result<bool, StoreError> {
        let aside = self.destinations.aside();
        if aside.is_empty() {
            return Ok(false);
        }
        let moved = self.store.put_aside(&term.id, &aside, &self.in_flight.excluded(), BATCH).await?;
        self.destinations.put_aside(&aside, &moved);
        for (one, messages) in aside.iter().zip(&moved).filter(|(_, moved)| **moved > 0) {
            tracing::info!(destination = one.destination, messages, reason = one.reason, "destination.put_aside");
        }
        Ok(moved.iter().sum::<u64>() >= u64::from(BATCH))
    }

    async fn bring_back(&self, term: &Term) -> Result<bool, StoreError> {
        let mut more = false;
        for destination in self.destinations.recovered() {
            let back = self.store.bring_back(&term.id, &destination, BATCH).await?;
            if back > 0 {
                tracing::info!(destination, messages = back, "destination.brought_back");
                self.wakeup.notify_one();
            }
            if back < u64::from(BATCH) {
                self.destinations.brought_back(&destination);
            } else {
                more = true;
            }
        }
        Ok(more)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::atomic::{AtomicU64, Ordering};

    use async_trait::async_trait;
    use outbox_schema::destination::{Aside, ByHandChange};
    use outbox_schema::{ClaimId, MessageId, TermId};

    use super::*;
    use crate::clock::Clock;
    use crate::fixtures::{SteppedClock, message, term_of};

    /// An outbox in which ever more rows of a paused destination are due; it counts the batches that are put aside.
    #[derive(Debug, Default)]
    struct Endless(AtomicU64);

    #[async_trait]
    impl DestinationStore for Endless {
        async fn put_aside(
            &self,
            _: &TermId,
            aside: &[Aside],
            _: &[MessageId],
            limit: u32,
        ) -> Result<Vec<u64>, StoreError> {
            tokio::time::sleep(Duration::from_millis(10)).await;
            self.0.fetch_add(1, Ordering::SeqCst);
            Ok(vec![limit.into(); aside.len()])
        }

        async fn bring_back(&self, _: &TermId, _: &str, _: u32) -> Result<u64, StoreError> {
            Ok(0)
        }

        async fn changes_by_hand(&self) -> Result<Vec<ByHandChange>, StoreError> {
            Ok(vec![ByHandChange { destination: "a".to_owned(), stamp: 1, paused: Some(Duration::from_hours(1)) }])
        }

        async fn remember_ramp(&self, _: &str, _: Duration) -> Result<(), StoreError> {
            Ok(())
        }
    }

    /// Batches that are put aside within ten seconds while so many of eight slots are taken.
    async fn batches(taken: i64) -> u64 {
        let store = Arc::new(Endless::default());
        let in_flight = Arc::new(InFlight::new(8, 1024));
        in_flight.admit(ClaimId::mint(), &(0..taken).map(message).collect::<Vec<_>>());
        let destinations = Arc::new(Destinations::new(8, HashMap::new()));
        let keeper = Keeper { store: store.clone(), destinations, in_flight, wakeup: Arc::new(Notify::new()) };
        let clock = SteppedClock::new();
        Arc::new(keeper).begin(&term_of(&clock, clock.now().after(Duration::from_hours(1))));
        tokio::time::sleep(Duration::from_secs(10)).await;
        store.0.load(Ordering::SeqCst)
    }

    #[tokio::test(start_paused = true)]
    async fn rows_are_put_aside_a_third_of_the_time_and_a_twentieth_while_deliveries_need_the_slots() {
        let (idle, busy) = (batches(4).await, batches(5).await);
        assert!((300..=334).contains(&idle) && (45..=48).contains(&busy), "{idle} and {busy}");
    }
}
