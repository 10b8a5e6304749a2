//! The row of a replica in `outbox_replica`. From these rows operators and `outbox migrate` know which replicas run, and by
//! what. A replica writes its row twice a minute, when it begins a term, ten seconds later and at its end, and when it has read its
//! settings anew.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use outbox_desk::{Counted, Heartbeat, Replica, ReplicaEntry, RunsBy};
use outbox_store::{Database, TermId};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::health::answering::Silence;
use crate::health::fleet::{Fleet, differing, refusing};
use crate::health::lease_health::LeaseHealth;
use crate::health::store_health::StoreHealth;
use crate::in_time::in_time;
use outbox_dispatcher::metrics::Metrics;
use outbox_dispatcher::metrics::tally::Counts;
use outbox_dispatcher::reloadable::Reloadable;
use outbox_dispatcher::term::Term;

/// How often a replica writes its row.
pub const EACH: Duration = Duration::from_secs(30);

/// How long after the beginning of a term its replica says what it did so far.
pub const FIRST: Duration = Duration::from_secs(10);

/// How long what is on the wire at the end of a term has, before it is said what the term did.
const ANSWERED: Duration = Duration::from_secs(2);

/// How long a replica that has read its settings anew waits for the others to do so, before it compares theirs.
const GATHERED: Duration = Duration::from_secs(2);

/// How long the database has to take the row.
const LIMIT: Duration = Duration::from_secs(5);

/// How often the log says that the row cannot be written.
const TOLD_EACH: Duration = Duration::from_mins(10);

/// The time in which attempts are counted.
const COUNTED: Duration = Duration::from_mins(1);

/// Shows the replica to the rest of the world.
pub struct Presence {
    /// The outbox database.
    pub database: Database,
    /// The replica.
    pub replica: Replica,
    /// The settings that the replica runs by.
    pub runs_by: Reloadable<RunsBy>,
    /// The terms that it leads, one after the other.
    pub terms: watch::Receiver<Option<Arc<Term>>>,
    /// The source of the counts.
    pub metrics: Arc<Metrics>,
    /// Whether the database takes writes.
    pub store: Arc<StoreHealth>,
    /// Whether the lease store answers.
    pub lease: Arc<LeaseHealth>,
    /// Where the replica keeps what it sees of others.
    pub fleet: Arc<Fleet>,
}

impl Presence {
    /// Writes the row until `ended`, then removes it. Messages go out even where the row cannot be written.
    pub async fn show(mut self, ended: CancellationToken) {
        // Where this fails, so does the next, which is told.
        let _ = in_time(LIMIT, outbox_desk::forget_silent_replicas(&self.database)).await;
        let (mut counts, mut told) = (Recent::new(Instant::now(), self.metrics.tally.counts()), None);
        let (mut logged, mut reloads) = (Vec::new(), self.runs_by.replacements());
        // A term that does not yet say what it runs by.
        let mut began: Option<TermId> = None;
        let mut pause = EACH;
        loop {
            self.metrics.runs_by(&self.runs_by.current());
            let counted = counts.until(Instant::now(), self.metrics.tally.counts());
            match self.write(counted, began.as_ref()).await {
                Ok(replicas) => {
                    (told, began) = (None, None);
                    self.look_at(&replicas, &mut logged);
                }
                Err(why) if told.is_none_or(|at: Instant| at.elapsed() >= TOLD_EACH) => {
                    told = Some(Instant::now());
                    tracing::warn!(
                        why,
                        "replica.unseen: this replica cannot write its row in outbox_replica, so `outbox replicas`, `outbox \
                         status` and `outbox migrate` do not know of it"
                    );
                }
                Err(_) => {}
            }
            let term = self.terms.borrow().clone();
            tokio::select! {
                () = ended.cancelled() => break,
                () = tokio::time::sleep(pause) => pause = EACH,
                () = term_over(term) => {}
                Ok(()) = reloads.changed() => tokio::select! {
                    () = ended.cancelled() => break,
                    () = tokio::time::sleep(GATHERED) => {}
                },
                Ok(()) = self.terms.changed() => {
                    let term = self.terms.borrow_and_update().clone();
                    if let Some(term) = &term {
                        term.first_claim().await;
                    }
                    began = term.map(|term| term.id.clone());
                    pause = FIRST;
                }
            }
        }
        if let Err(why) = in_time(LIMIT, outbox_desk::replica_ended(&self.database, &self.replica.id)).await {
            tracing::debug!(why, "replica.row_left");
        }
    }

    async fn write(&self, counted: Counted, began: Option<&TermId>) -> Result<Vec<ReplicaEntry>, String> {
        let (runs_by, trouble) = (self.runs_by.current(), self.trouble());
        let beat = Heartbeat { replica: &self.replica, runs_by: &runs_by, counted, trouble: trouble.as_deref(), began };
        in_time(LIMIT, outbox_desk::heartbeat(&self.database, &beat)).await
    }

    /// Notes who runs by other settings. The poller logs it: of a fleet one replica is enough.
    fn look_at(&self, replicas: &[ReplicaEntry], logged: &mut Vec<String>) {
        let differing = differing(&self.replica.id, &self.runs_by.current(), replicas);
        if self.terms.borrow().as_ref().is_some_and(|term| term.is_on()) {
            for new in differing.iter().filter(|sentence| !logged.contains(sentence)) {
                tracing::warn!("fleet.settings_differ: {new}. All replicas of an outbox need the same");
            }
            logged.clone_from(&differing);
        }
        self.fleet.replace([differing, refusing(&self.replica.id, replicas)].concat());
    }

    /// What keeps the replica from its work now, if anything does.
    fn trouble(&self) -> Option<String> {
        let recent = |silence: &Silence| silence.latest < EACH * 2;
        let told = |what: &str, Silence { lasts, why, .. }: Silence| {
            let lasts = humantime::format_duration(Duration::from_secs(lasts.as_secs()));
            format!("{what} for {lasts}: {why}")
        };
        let store = self.store.trouble().filter(recent).map(|silence| told("nothing could be written", silence));
        store.or_else(|| {
            self.lease.trouble().filter(recent).map(|silence| told("no answer of the lease store", silence))
        })
    }
}

/// Completes a little after the end of this term, and never where it has ended already.
pub(crate) async fn term_over(term: Option<Arc<Term>>) {
    match term.filter(|term| term.is_on()) {
        Some(term) => term.ended().await,
        None => std::future::pending().await,
    }
    tokio::time::sleep(ANSWERED).await;
}

/// The counts of the last minute.
struct Recent(VecDeque<(Instant, Counts)>);

impl Recent {
    fn new(now: Instant, counts: Counts) -> Self {
        Self(VecDeque::from([(now, counts)]))
    }

    /// What was counted since the latest moment that is a minute ago, or since the beginning.
    fn until(&mut self, now: Instant, counts: Counts) -> Counted {
        self.0.push_back((now, counts));
        while self.0.get(1).is_some_and(|(at, _)| now - *at >= COUNTED) {
            self.0.pop_front();
        }
        let (since, before) = self.0.front().copied().unwrap_or((now, counts));
        Counted {
            within: now - since,
            delivered: counts.delivered - before.delivered,
            failed: counts.failed - before.failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_that_of_the_last_minute() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let counts = |delivered: u64| Counts { delivered, failed: delivered / 10, ..Counts::default() };
        let mut recent = Recent::new(at(0), counts(0));
        let counted = |within: u64, delivered: u64| Counted {
            within: Duration::from_secs(within),
            delivered,
            failed: delivered / 10,
        };
        assert_eq!(recent.until(at(30), counts(100)), counted(30, 100));
        assert_eq!(recent.until(at(60), counts(300)), counted(60, 300));
        assert_eq!(recent.until(at(90), counts(300)), counted(60, 200));
        assert_eq!(recent.until(at(500), counts(900)), counted(410, 600), "it wrote nothing for long");
        assert_eq!(
            recent.until(at(530), counts(900)),
            counted(440, 600),
            "no moment a minute ago is known but that one"
        );
        assert_eq!(recent.until(at(560), counts(900)), counted(60, 0));
    }
}
