//! The loop. The way of a message is in four files: it is polled here, claimed in `claim`, sent in `send` and marked in
//! `mark`. The four overlap: while one batch is in flight, the next is being claimed and the last is being marked.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::destinations::DeferralWorker;
use crate::fault_point::{self, Point};
use crate::in_flight::InFlight;
use crate::poller::claim::Batch;
use crate::poller::handle::Handle;
use crate::poller::intake::{Intake, Polled};
use crate::poller::send::Sender;
use crate::poller::settling::Settling;
use crate::poller::wake_ups::WakeUpSource;
use crate::retention::Pruner;
use crate::term::Term;
use crate::term::leadership::Leadership;

/// The least time for a hand-over, however short the time to drain: a claim, the end of the term and the release of its
/// lease.
const HAND_OVER_LIMIT: Duration = Duration::from_secs(2);

/// One replica's dispatcher of one shard. Its loop alone has it; others have its [`Handle`].
#[derive(Debug)]
pub struct Dispatcher {
    pub(crate) leadership: Leadership,
    pub(crate) settling: Arc<Settling>,
    pub(crate) deferral_worker: Arc<DeferralWorker>,
    pub(crate) intake: Box<Intake>,
    /// The wake-ups that are listened to beside the polls. None: there are no wake-ups.
    pub(crate) wake_ups: Option<WakeUpSource>,
    pub(crate) sender: Arc<Sender>,
    pub(crate) in_flight: Arc<InFlight>,
    /// Where attempts are made, apart from the loop.
    pub(crate) wire: runtime::Handle,
    pub(crate) settings: LoopSettings,
    pub(crate) handle: Handle,
    /// None: nothing is removed.
    pub(crate) pruner: Option<Arc<Pruner>>,
}

/// How the loop runs.
#[derive(Debug, Clone, Copy)]
pub struct LoopSettings {
    /// The longest time, once asked to stop, for the hand-over and for the messages in flight.
    pub drain_timeout: Duration,
    /// Whether the poller counts on wake-ups. It then polls sooner after a poll that found rows.
    pub expects_wake_ups: bool,
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
    /// Polls whenever it leads, until `shutdown`; then hands over, and finishes and marks what is in flight. The dispatcher is
    /// borrowed only: its marker goes on until its owner drops it, for what is still on the wire.
    pub async fn run(&mut self, shutdown: CancellationToken) -> Drained {
        self.listen_while(&shutdown);
        let (drain_timeout, mut asked) = (self.settings.drain_timeout, None);
        let out_of_time = async {
            shutdown.cancelled().await;
            asked = Some(Instant::now());
            tokio::time::sleep(drain_timeout.max(HAND_OVER_LIMIT)).await;
        };
        tokio::select! {
            () = self.poll_in_terms(&shutdown) => {}
            () = out_of_time => tracing::warn!("run.not_handed_over: the database or the lease store did not answer in time"),
        }
        let until = asked.unwrap_or_else(Instant::now) + drain_timeout;
        let drained = tokio::time::timeout_at(until, self.in_flight.drained()).await;
        Drained { left_in_doubt: if drained.is_ok() { 0 } else { self.in_flight.count() } }
    }

    /// Polls whenever it leads, and hands each term over.
    async fn poll_in_terms(&mut self, shutdown: &CancellationToken) {
        while let Some(term) = self.leadership.next_term(shutdown).await {
            let in_term = self.handle.liveness.enter(&term, self.leadership.ttl);
            self.handle.led.send_replace(Some(term.clone()));
            self.settling.begin(&term);
            self.deferral_worker.begin(&term);
            self.prune_during(&term);
            self.intake.begin();
            self.listen_during(&term);
            while let Some(batch) = self.next_batch(&term, shutdown).await {
                self.send(&term, batch);
            }
            drop(in_term);
            self.intake.leave();
            self.leadership.hand_over(&term).await;
            if let Some(why) = self.handle.marker_health.death() {
                // Another replica may poll. This one would send what it cannot mark.
                self.handle.liveness.stop(why);
                return shutdown.cancelled().await;
            }
        }
    }

    /// What others need of the dispatcher while it runs.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    fn prune_during(&self, term: &Arc<Term>) {
        if let Some(pruner) = &self.pruner {
            pruner.begin(term);
        }
    }

    /// The next claimed batch. None when the term ends.
    async fn next_batch(&mut self, term: &Arc<Term>, shutdown: &CancellationToken) -> Option<Batch> {
        loop {
            fault_point::reach(Point::Poll).await;
            match self.intake.poll(term).await {
                Polled::Batch(batch) => return Some(batch),
                Polled::TermOver => return None,
                Polled::Empty => shutdown.cancel(),
            }
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

    /// Passes the wake-ups of the database on. The database gives wake-ups while a poller wants them, so every replica
    /// may listen.
    fn listen_while(&self, shutdown: &CancellationToken) {
        if let Some(source @ WakeUpSource::Database(_)) = &self.wake_ups {
            let listening = self.handle.listener().listen(source.clone());
            tokio::spawn(shutdown.clone().run_until_cancelled_owned(listening));
        }
    }

    /// Passes the wake-ups of applications on. Only the poller listens for them.
    fn listen_during(&self, term: &Arc<Term>) {
        if let Some(source @ WakeUpSource::Applications(_)) = &self.wake_ups {
            let (term, listening) = (term.clone(), self.handle.listener().listen(source.clone()));
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
#[path = "tests.rs"]
mod tests;
