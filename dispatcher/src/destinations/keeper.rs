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
                    if more { (began.elapsed() * PAUSES).min(LISTEN) } else { LISTEN }
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
