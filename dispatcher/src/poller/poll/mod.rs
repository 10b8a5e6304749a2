//! The loop. The way of a message is in four files: it is polled here, claimed in `claim`, sent in `send` and marked in
//! `mark`. The four overlap: while one batch is in flight, the next is being claimed and the last is being marked.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::destinations::Keeper;
use crate::fault_point::{self, Point};
use crate::in_flight::InFlight;
use crate::poller::attention::{Attention, HintSource};
use crate::poller::channels::{Channel, Channels};
use crate::poller::claim::{Batch, Intake, Polled};
use crate::poller::send::Sender;
use crate::poller::settling::Settling;
use crate::retention::Pruner;
use crate::term::Term;
use crate::term::leadership::Leadership;
use crate::term::pulse::Pulse;

/// The least time for a hand-over, however short the time to drain: a claim, the end of the term and the release of its
/// lease.
const HAND_OVER_LIMIT: Duration = Duration::from_secs(2);

/// One replica's dispatcher of one shard.
#[derive(Debug)]
pub struct Dispatcher {
    pub(crate) leadership: Leadership,
    pub(crate) settling: Arc<Settling>,
    pub(crate) keeper: Arc<Keeper>,
    pub(crate) intake: Intake,
    /// The hints that are listened to beside the polls. None: there are no hints.
    pub(crate) hints: Option<HintSource>,
    pub(crate) sender: Arc<Sender>,
    pub(crate) in_flight: Arc<InFlight>,
    /// The runtime on which attempts are made, apart from the loop.
    pub(crate) wire: Handle,
    pub(crate) settings: LoopSettings,
    /// `dispatch.max_in_flight`.
    pub(crate) slots: usize,
    pub(crate) pulse: Arc<Pulse>,
    /// Removes old rows. None: nothing is removed.
    pub(crate) pruner: Option<Arc<Pruner>>,
}

/// How the loop runs.
#[derive(Debug, Clone, Copy)]
pub struct LoopSettings {
    /// The longest time, once asked to stop, for the hand-over and for the messages in flight.
    pub drain_timeout: Duration,
    /// Whether the poller counts on hints. It then polls sooner after a poll that found rows.
    pub hinted: bool,
    /// Whether to stop once no row is due, in flight or in doubt.
    pub until_empty: bool,
}

/// How the loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// Messages still in flight when the time to drain was over. They are in doubt.
    pub left_in_doubt: usize,
}

impl Dispatcher {
    /// Polls whenever this replica leads, until `shutdown`. Then hands over, and finishes and marks what is in flight.
    pub async fn run(&self, shutdown: CancellationToken) -> Drained {
        self.listen_while(&shutdown);
        let asked = OnceLock::new();
        let out_of_time = async {
            shutdown.cancelled().await;
            let _ = asked.set(Instant::now());
            tokio::time::sleep(self.settings.drain_timeout.max(HAND_OVER_LIMIT)).await;
        };
        tokio::select! {
            () = self.poll_in_terms(&shutdown) => {}
            () = out_of_time => tracing::warn!("run.not_handed_over: the database or the lease store did not answer in time"),
        }
        let until = asked.get().copied().unwrap_or_else(Instant::now) + self.settings.drain_timeout;
        let drained = tokio::time::timeout_at(until, self.in_flight.drained()).await;
        Drained { left_in_doubt: if drained.is_ok() { 0 } else { self.in_flight.count() } }
    }

    /// Polls whenever this replica leads, and hands each term over.
    async fn poll_in_terms(&self, shutdown: &CancellationToken) {
        while let Some(term) = self.leadership.next_term(shutdown).await {
            let in_term = self.pulse.enter(&term, self.leadership.ttl);
            self.settling.begin(&term);
            self.keeper.begin(&term);
            self.intake.keys.begin(&term);
            self.prune_during(&term);
            self.intake.attention.begin();
            self.listen_during(&term);
            while let Some(batch) = self.next_batch(&term, shutdown).await {
                self.send(&term, batch);
            }
            drop(in_term);
            self.intake.attention.leave();
            self.leadership.hand_over(&term).await;
        }
    }

    /// Puts these channels in force from the next claim on. Claimed messages keep the channels of their claim.
    pub fn reconfigure(&self, channels: impl IntoIterator<Item = Channel>) {
        let Intake { channels: in_force, destinations, metrics, wakeup, .. } = &self.intake;
        let channels = Channels::new(channels, self.slots);
        metrics.reconfigure(channels.names());
        destinations.reconfigure(channels.limits());
        in_force.replace(channels);
        wakeup.notify_one();
    }

    /// Whether the loop is alive.
    pub fn pulse(&self) -> Arc<Pulse> {
        self.pulse.clone()
    }

    /// The attention of this poller, by which the process itself can wake it.
    pub fn attention(&self) -> Arc<Attention> {
        self.intake.attention.clone()
    }

    fn prune_during(&self, term: &Arc<Term>) {
        if let Some(pruner) = &self.pruner {
            pruner.begin(term);
        }
    }

    /// The next claimed batch: waits for a slot, a hint or a tick. None when the term ends.
    async fn next_batch(&self, term: &Term, shutdown: &CancellationToken) -> Option<Batch> {
        loop {
            fault_point::reach(Point::Poll).await;
            let at_most = match self.intake.poll(term).await {
                Polled::Batch(batch) => return Some(batch),
                Polled::TermOver => return None,
                Polled::Empty => {
                    if self.settings.until_empty {
                        shutdown.cancel();
                    }
                    None
                }
                Polled::Nothing { look_again } => look_again,
            };
            self.intake.wait(term, at_most).await;
        }
    }

    /// Sends a batch. Messages in flight outlive their term.
    fn send(&self, term: &Arc<Term>, batch: Batch) {
        let (sender, term) = (self.sender.clone(), term.clone());
        self.wire.spawn(async move {
            for message in batch.messages {
                tokio::spawn(sender.clone().attempt(term.clone(), batch.channels.clone(), batch.claim, message));
            }
        });
    }

    /// Turns the database's hints into wake-ups. The database gives hints while a poller wants them, so every replica
    /// may listen.
    fn listen_while(&self, shutdown: &CancellationToken) {
        if let Some(source @ HintSource::Database(_)) = &self.hints {
            let listening = self.intake.attention.clone().listen(source.clone());
            tokio::spawn(shutdown.clone().run_until_cancelled_owned(listening));
        }
    }

    /// Turns the hints of applications into wake-ups. Only the poller listens for them.
    fn listen_during(&self, term: &Arc<Term>) {
        if let Some(source @ HintSource::Applications(_)) = &self.hints {
            let (term, listening) = (term.clone(), self.intake.attention.clone().listen(source.clone()));
            tokio::spawn(async move {
                tokio::select! {
                    () = listening => {}
                    () = term.ended() => {}
                }
            });
        }
    }
}

#[cfg(test)]
mod tests;
