//! The work on destinations beside the loop while a term lasts. The keeper reads what operators paused and resumed. It
//! defers rows that would stand in the way, and brings them back, and also rows whose channel was not configured
//! before. It saves how far rates have risen.

use std::sync::Arc;
use std::time::Duration;

use outbox_schema::{DestinationStore, StoreError, TermEnd};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::Destinations;
use crate::in_flight::InFlight;
use crate::term::Term;

/// How often the keeper reads what operators paused and resumed.
pub const LISTEN: Duration = Duration::from_secs(1);

/// The rows of one transaction.
const BATCH: u32 = 2_000;

/// After a batch of deferrals, the pause is this many times as long as the batch. The database has deliveries to do,
/// and rows in their way cost them only a look now and then.
const PAUSES_ASIDE: u32 = 20;

/// The same after a batch of rows that came back, to be delivered.
const PAUSES_BACK: u32 = 2;

/// The task that keeps the destinations of a poller.
#[derive(Debug)]
pub struct Keeper {
    /// The outbox database.
    pub store: Arc<dyn DestinationStore>,
    /// The destinations that it keeps.
    pub destinations: Arc<Destinations>,
    /// The rows in flight, which must not be moved.
    pub in_flight: Arc<InFlight>,
    /// Notified when rows have become due.
    pub wakeup: Arc<Notify>,
}

impl Keeper {
    /// Takes over what `term` found when it began, and keeps it in a task of its own while the term lasts. A step that is
    /// under way is finished.
    pub fn begin(self: &Arc<Self>, term: &Arc<Term>) {
        self.destinations.take_over(&term.opened.destinations);
        let (keeper, term) = (self.clone(), term.clone());
        tokio::spawn(async move {
            term.first_claim().await;
            keeper.keep(&term).await;
        });
    }

    async fn keep(&self, term: &Term) {
        let mut listened = Instant::now();
        while term.is_on() {
            let began = Instant::now();
            let rest = match self.step(term, began >= listened).await {
                Ok(pauses) => {
                    if began >= listened {
                        listened = began + LISTEN;
                    }
                    pauses.map_or(LISTEN, |pauses| (began.elapsed() * pauses).min(LISTEN))
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

    /// Takes one step. Where more is left to do, returns how many times as long as the step the next pause is.
    async fn step(&self, term: &Term, listen: bool) -> Result<Option<u32>, StoreError> {
        if listen {
            self.destinations.heard(self.store.changes_by_hand().await?);
            for (destination, rising_for) in self.destinations.rising() {
                self.store.remember_ramp(&destination, rising_for).await?;
            }
            self.destinations.prune();
        }
        let back = self.bring_back(term).await?;
        let aside = self.put_aside(term).await?.then_some(PAUSES_ASIDE);
        let back = self.bring_back_configured(term).await? || back;
        Ok(back.then_some(PAUSES_BACK).or(aside))
    }

    async fn put_aside(&self, term: &Term) -> Result<bool, StoreError> {
        let aside = self.destinations.aside();
        if aside.is_empty() {
            return Ok(false);
        }
        let moving = Moving::begin(&self.destinations);
        let moved = self.store.put_aside(&term.id, &aside, &self.in_flight.excluded(), BATCH).await;
        if let Ok(moved) = &moved {
            self.destinations.put_aside(&aside, moved);
        }
        drop(moving);
        let moved = moved?;
        for (one, messages) in aside.iter().zip(&moved).filter(|(_, moved)| **moved > 0) {
            tracing::info!(destination = one.destination, messages, reason = one.reason, "destination.put_aside");
        }
        Ok(moved.iter().sum::<u64>() >= u64::from(BATCH))
    }

    /// Brings rows back whose channel is configured by now. This is done beside the loop and not before the term begins:
    /// there may be very many rows, and none is polled before that.
    async fn bring_back_configured(&self, term: &Term) -> Result<bool, StoreError> {
        let Some((as_of, channels)) = self.destinations.configured() else { return Ok(false) };
        let names: Vec<&str> = channels.iter().map(String::as_str).collect();
        let back = self.store.bring_back_configured(&term.id, &names, BATCH).await?;
        if back > 0 {
            tracing::info!(messages = back, "channels.brought_back");
            self.wakeup.notify_one();
        }
        let more = back >= u64::from(BATCH);
        if !more {
            self.destinations.configured_are_back(as_of);
        }
        Ok(more)
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

/// A guard: rows are being deferred while it lives.
struct Moving<'a>(&'a Destinations);

impl<'a> Moving<'a> {
    fn begin(destinations: &'a Destinations) -> Self {
        destinations.state().moving += 1;
        Self(destinations)
    }
}

impl Drop for Moving<'_> {
    fn drop(&mut self) {
        self.0.state().moving -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::atomic::{AtomicU64, Ordering};

    use async_trait::async_trait;
    use outbox_schema::destination::{Aside, ByHandChange};
    use outbox_schema::{MessageId, TermId};

    use super::*;
    use crate::fixtures::{SteppedClock, term_of};
    use crate::term::clock::Clock;

    /// An outbox in which ever more rows of a paused destination are due. It counts the batches of deferrals.
    #[derive(Debug)]
    struct Endless {
        batches: AtomicU64,
        destinations: Arc<Destinations>,
    }

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
            self.batches.fetch_add(1, Ordering::SeqCst);
            assert!(self.destinations.holds_back(), "nobody may take these rows to be gone");
            Ok(vec![limit.into(); aside.len()])
        }

        async fn bring_back(&self, _: &TermId, _: &str, _: u32) -> Result<u64, StoreError> {
            Ok(0)
        }

        async fn bring_back_configured(&self, _: &TermId, _: &[&str], _: u32) -> Result<u64, StoreError> {
            Ok(0)
        }

        async fn changes_by_hand(&self) -> Result<Vec<ByHandChange>, StoreError> {
            Ok(vec![ByHandChange { destination: "a".to_owned(), stamp: 1, paused: Some(Duration::from_hours(1)) }])
        }

        async fn remember_ramp(&self, _: &str, _: Duration) -> Result<(), StoreError> {
            Ok(())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn rows_are_put_aside_a_twentieth_of_the_time() {
        let destinations = Arc::new(Destinations::new(8, 1_000_000, HashMap::new()));
        let store = Arc::new(Endless { batches: AtomicU64::default(), destinations: destinations.clone() });
        let in_flight = Arc::new(InFlight::new(8, 1024));
        let keeper = Keeper { store: store.clone(), destinations, in_flight, wakeup: Arc::new(Notify::new()) };
        let clock = SteppedClock::new();
        Arc::new(keeper).begin(&term_of(&clock, clock.now().after(Duration::from_hours(1))));
        tokio::time::sleep(Duration::from_secs(10)).await;
        let batches = store.batches.load(Ordering::SeqCst);
        assert!((45..=48).contains(&batches), "{batches} batches of 10 ms in 10 s");
    }
}
