//! The work on destinations beside the loop while a term lasts. The deferral worker reads what operators paused and resumed. It
//! defers rows that would stand in the way, and brings them back, and also rows whose channel was not configured
//! before. It saves how far rates have risen.

use std::sync::Arc;
use std::time::Duration;

use outbox_store::destination::Look;
use outbox_store::{DestinationStore, StoreError, TermEnd};
use rand::seq::SliceRandom;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::Destinations;
use crate::in_flight::InFlight;
use crate::term::Term;

/// How often the deferral worker reads what operators paused and resumed.
pub const LISTEN: Duration = Duration::from_secs(1);

/// The longest rest after a step.
const LONGEST_REST: Duration = Duration::from_mins(1);

/// The rows of one transaction.
const BATCH: u32 = 2_000;

/// The most destinations of which a step brings rows back, so that operators are heard meanwhile. Chance says which go first.
const AT_ONCE: usize = 64;

/// The most destinations that the log names after a step of deferrals. It counts the others together: rows may name any number.
const NAMED: usize = 10;

/// After a step of deferrals, the pause is this many times as long as the step, a minute at most. The database has deliveries
/// to do, and rows in their way cost them only a look now and then.
const PAUSES_ASIDE: u32 = 20;

/// The same after a batch of rows that came back, to be delivered.
const PAUSES_BACK: u32 = 2;

/// The task that defers rows of destinations and brings them back.
#[derive(Debug)]
pub struct DeferralWorker {
    store: Arc<dyn DestinationStore>,
    destinations: Arc<Destinations>,
    /// The rows in flight, which must not be moved.
    in_flight: Arc<InFlight>,
    /// Notified when rows have become due.
    wakeup: Arc<Notify>,
}

impl DeferralWorker {
    /// The task of these destinations, whose rows are in the outbox database.
    pub fn new(
        store: Arc<dyn DestinationStore>,
        destinations: Arc<Destinations>,
        in_flight: Arc<InFlight>,
        wakeup: Arc<Notify>,
    ) -> Self {
        Self { store, destinations, in_flight, wakeup }
    }

    /// Takes over what `term` found when it began, and keeps it in a task of its own while the term lasts. A step that is
    /// under way is finished.
    pub fn begin(self: &Arc<Self>, term: &Arc<Term>) {
        self.destinations.take_over(&term.opened.destinations);
        let (deferral_worker, term) = (self.clone(), term.clone());
        tokio::spawn(async move {
            term.first_claim().await;
            deferral_worker.run(&term).await;
        });
    }

    async fn run(&self, term: &Term) {
        let mut next = Next::now();
        let mut look = Look::of(BATCH);
        while term.is_on() {
            let began = Instant::now();
            if let Err(error) = self.step(term, &mut next, &mut look).await {
                if matches!(error, StoreError::Fenced { .. }) {
                    return term.end(TermEnd::Fenced);
                }
                tracing::warn!(%error, "destinations.failed");
                next.not_before(began + LISTEN);
            }
            tokio::select! {
                () = tokio::time::sleep_until(next.soonest()) => {}
                () = self.destinations.recovery() => next.brings_back = Instant::now(),
                () = term.ended() => return,
            }
        }
    }

    /// Does what is to be done by now, and says when to do it again.
    async fn step(&self, term: &Term, next: &mut Next, look: &mut Look) -> Result<(), StoreError> {
        let began = Instant::now();
        if began >= next.listens {
            self.destinations.heard(self.store.changes_by_hand().await?);
            for (destination, rising_for) in self.destinations.rising() {
                self.store.remember_ramp(&destination, rising_for).await?;
            }
            self.destinations.prune();
            next.listens = began + LISTEN;
        }
        let began = Instant::now();
        let mut brought_back = Ok(());
        if began >= next.brings_back {
            let more = self.bring_all_back(term).await;
            next.brings_back = if matches!(more, Ok(false)) { began + LISTEN } else { after(began, PAUSES_BACK) };
            brought_back = more.map(|_| ());
        }
        let began = Instant::now();
        if began >= next.puts_aside {
            // Also where nothing can be brought back: other rows must not stand in the way.
            let done = self.put_aside(term, look).await;
            let rested = after(began, PAUSES_ASIDE);
            next.puts_aside = if look.from.is_some() { rested } else { rested.max(began + LISTEN) };
            done?;
        }
        brought_back
    }

    /// Brings rows back that have no reason to wait any longer. Returns whether there are more.
    async fn bring_all_back(&self, term: &Term) -> Result<bool, StoreError> {
        let recovered = self.bring_back(term).await;
        let configured = self.bring_back_configured(term).await;
        Ok(recovered? | configured?)
    }

    /// Takes a step of the look for rows to defer.
    async fn put_aside(&self, term: &Term, look: &mut Look) -> Result<(), StoreError> {
        let aside = self.destinations.aside();
        if aside.is_empty() {
            look.from = None;
            return Ok(());
        }
        let moving = Moving::begin(&self.destinations);
        let moved = self.store.put_aside(&term.id, &aside, &self.in_flight.excluded(), look).await;
        if let Ok(moved) = &moved {
            self.destinations.put_aside(&aside, moved);
        }
        drop(moving);
        let moved = moved?;
        let mut of_each = aside.iter().zip(&moved).filter(|(_, moved)| **moved > 0);
        for (one, messages) in of_each.by_ref().take(NAMED) {
            tracing::info!(destination = one.destination, messages, reason = one.reason, "destination.put_aside");
        }
        let (others, messages) = of_each.fold((0, 0), |(others, sum), (_, moved)| (others + 1, sum + moved));
        if others > 0 {
            tracing::info!(others, messages, "destination.put_aside");
        }
        Ok(())
    }

    /// Brings rows back whose channel is configured by now. This is done beside the loop and not before the term begins:
    /// there may be very many rows, and none is polled before that. Returns whether there are more.
    async fn bring_back_configured(&self, term: &Term) -> Result<bool, StoreError> {
        let Some((as_of, channels)) = self.destinations.configured() else { return Ok(false) };
        let names: Vec<&str> = channels.iter().map(String::as_str).collect();
        let back = self.store.bring_back_configured(&term.id, &names, BATCH).await?;
        if back.rows > 0 {
            tracing::info!(messages = back.rows, "channels.brought_back");
            self.wakeup.notify_one();
        }
        if !back.more {
            self.destinations.configured_are_back(as_of);
        }
        Ok(back.more && back.rows > 0)
    }

    /// Brings rows back of destinations that take messages again. Returns whether there are more.
    async fn bring_back(&self, term: &Term) -> Result<bool, StoreError> {
        let mut recovered = self.destinations.recovered();
        recovered.shuffle(&mut rand::rng());
        let mut more = recovered.len() > AT_ONCE;
        for destination in recovered.into_iter().take(AT_ONCE) {
            let _no_pause_is_written = self.destinations.pauses().await;
            if !self.destinations.has_recovered(&destination) {
                continue;
            }
            let back = self.store.bring_back(&term.id, &destination, BATCH).await?;
            if back.rows > 0 {
                tracing::info!(destination, messages = back.rows, "destination.brought_back");
                self.wakeup.notify_one();
            }
            if !back.more {
                self.destinations.brought_back(&destination);
            }
            more |= back.more && back.rows > 0;
        }
        Ok(more)
    }
}

/// When the deferral worker does what it does next.
#[derive(Debug)]
struct Next {
    listens: Instant,
    brings_back: Instant,
    puts_aside: Instant,
}

impl Next {
    /// Each of the three is to be done at once.
    fn now() -> Self {
        let now = Instant::now();
        Self { listens: now, brings_back: now, puts_aside: now }
    }

    fn soonest(&self) -> Instant {
        self.listens.min(self.brings_back).min(self.puts_aside)
    }

    /// Puts all off until that time at least.
    fn not_before(&mut self, time: Instant) {
        for next in [&mut self.listens, &mut self.brings_back, &mut self.puts_aside] {
            *next = time.max(*next);
        }
    }
}

/// When the pause is over after work that began then and ends now. It is so many times as long as the work, within a bound.
fn after(began: Instant, pauses: u32) -> Instant {
    Instant::now() + (began.elapsed() * pauses).min(LONGEST_REST)
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
    use outbox_schema::MessageId;
    use outbox_store::destination::{Aside, BroughtBack, ByHandChange};
    use outbox_store::look::Place;
    use outbox_store::{PauseKind, TermId};
    use parking_lot::Mutex;

    use super::*;
    use crate::fixtures::{SteppedClock, term_of};
    use crate::term::clock::Clock;

    /// An outbox in which ever more rows of a paused destination are due. It counts the batches of deferrals.
    #[derive(Debug)]
    struct Endless {
        batch: Duration,
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
            look: &mut Look,
        ) -> Result<Vec<u64>, StoreError> {
            tokio::time::sleep(self.batch).await;
            look.from = Some(Place::FIRST);
            self.batches.fetch_add(1, Ordering::SeqCst);
            assert!(self.destinations.holds_back(), "nobody may take these rows to be gone");
            Ok(vec![look.limit.into(); aside.len()])
        }

        async fn bring_back(&self, _: &TermId, _: &str, _: u32) -> Result<BroughtBack, StoreError> {
            Ok(BroughtBack { rows: 0, more: false })
        }

        async fn bring_back_configured(&self, _: &TermId, _: &[&str], _: u32) -> Result<BroughtBack, StoreError> {
            Ok(BroughtBack { rows: 0, more: false })
        }

        async fn changes_by_hand(&self) -> Result<Vec<ByHandChange>, StoreError> {
            let pause = Some((PauseKind::Manual, Duration::from_hours(1)));
            Ok(vec![ByHandChange { destination: "a".to_owned(), stamp: 1, pause, failures: 0 }])
        }

        async fn remember_ramp(&self, _: &str, _: Duration) -> Result<(), StoreError> {
            Ok(())
        }
    }

    /// An outbox in which the other of two destinations is paused while the rows of one are being brought back.
    #[derive(Debug)]
    struct PausedMeanwhile {
        destinations: Arc<Destinations>,
        brought_back: Mutex<Vec<String>>,
    }

    #[async_trait]
    impl DestinationStore for PausedMeanwhile {
        async fn put_aside(
            &self,
            _: &TermId,
            aside: &[Aside],
            _: &[MessageId],
            _: &mut Look,
        ) -> Result<Vec<u64>, StoreError> {
            Ok(vec![0; aside.len()])
        }

        async fn bring_back(&self, _: &TermId, destination: &str, _: u32) -> Result<BroughtBack, StoreError> {
            self.brought_back.lock().push(destination.to_owned());
            let other = if destination == "a" { "b" } else { "a" };
            let pause = Some((PauseKind::RetryAfter, Duration::from_hours(1)));
            self.destinations.heard(vec![ByHandChange { destination: other.to_owned(), stamp: 2, pause, failures: 0 }]);
            Ok(BroughtBack { rows: 1, more: false })
        }

        async fn bring_back_configured(&self, _: &TermId, _: &[&str], _: u32) -> Result<BroughtBack, StoreError> {
            Ok(BroughtBack { rows: 0, more: false })
        }

        async fn changes_by_hand(&self) -> Result<Vec<ByHandChange>, StoreError> {
            let resumed = ["a", "b"].map(str::to_owned);
            let resumed = resumed.map(|destination| ByHandChange { destination, stamp: 1, pause: None, failures: 0 });
            Ok(resumed.to_vec())
        }

        async fn remember_ramp(&self, _: &str, _: Duration) -> Result<(), StoreError> {
            Ok(())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn no_pause_is_ended_that_began_after_its_destination_had_recovered() {
        let destinations = Arc::new(Destinations::new(8, 1_000_000, HashMap::new()));
        let store = PausedMeanwhile { destinations: destinations.clone(), brought_back: Mutex::default() };
        let store = Arc::new(store);
        let in_flight = Arc::new(InFlight::new(8));
        let deferral_worker =
            DeferralWorker { store: store.clone(), destinations, in_flight, wakeup: Arc::new(Notify::new()) };
        let clock = SteppedClock::new();
        let term = term_of(&clock, clock.now().after(Duration::from_hours(1)));
        let (mut next, mut look) = (Next::now(), Look::of(BATCH));
        assert!(deferral_worker.step(&term, &mut next, &mut look).await.is_ok());
        assert_eq!(store.brought_back.lock().len(), 1);
    }

    /// The batches of deferrals within that time, where each takes so long.
    async fn batches(batch: Duration, within: Duration) -> u64 {
        let destinations = Arc::new(Destinations::new(8, 1_000_000, HashMap::new()));
        let store = Arc::new(Endless { batch, batches: AtomicU64::default(), destinations: destinations.clone() });
        let in_flight = Arc::new(InFlight::new(8));
        let deferral_worker =
            DeferralWorker { store: store.clone(), destinations, in_flight, wakeup: Arc::new(Notify::new()) };
        let clock = SteppedClock::new();
        Arc::new(deferral_worker).begin(&term_of(&clock, clock.now().after(Duration::from_hours(1))));
        tokio::time::sleep(within).await;
        store.batches.load(Ordering::SeqCst)
    }

    #[tokio::test(start_paused = true)]
    async fn rows_are_put_aside_a_twentieth_of_the_time_however_long_a_batch_takes() {
        for batch in [10, 500, 3_000].map(Duration::from_millis) {
            let batches = batches(batch, batch * 1_000).await;
            assert!((45..=48).contains(&batches), "{batches} batches of {batch:?} in a thousand times as long");
        }
    }
}
