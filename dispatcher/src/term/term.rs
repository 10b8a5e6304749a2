//! A term in its poller: begun by a minted epoch, trusted as long as its lease is renewed, ended once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use outbox_adapters::Permit;
use outbox_store::store::{OpenedTerm, TermCounts};
use outbox_store::{Holder, Message, Outcome, SameDatabase, Shard, TermEnd, TermId};
use tokio_util::sync::CancellationToken;

use super::clock::{Clock, Moment};
use super::gate::Gate;
use crate::metrics::TermGauge;
use crate::metrics::tally::{Counts, Tally};

/// How long what runs beside the polls waits for the first claim, at most.
const HEAD_START: Duration = Duration::from_secs(1);

/// One unbroken leadership of one shard by this process.
#[derive(Debug)]
pub struct Term {
    /// The id that every claim proves.
    pub id: TermId,
    /// The gate, which is asked immediately before each send.
    pub gate: Gate,
    /// What the database returned when the term began.
    pub opened: OpenedTerm,
    ended: CancellationToken,
    first_claim: CancellationToken,
    why: OnceLock<TermEnd>,
    signs_of_life: AtomicU64,
    claimed: AtomicU64,
    tally: Tally,
}

impl Term {
    /// A term that has just been minted, under a lease trusted until `trusted_until`, as long as the database is the `same`.
    pub fn begin(
        shard: Shard,
        holder: Holder,
        opened: OpenedTerm,
        clock: Arc<dyn Clock>,
        trusted_until: Moment,
        same: SameDatabase,
    ) -> Arc<Self> {
        Arc::new(Self {
            id: TermId { shard, epoch: opened.epoch, holder },
            gate: Gate::new(clock, trusted_until, same),
            opened,
            signs_of_life: AtomicU64::new(0),
            ended: CancellationToken::new(),
            first_claim: CancellationToken::new(),
            why: OnceLock::new(),
            claimed: AtomicU64::new(0),
            tally: Tally::default(),
        })
    }

    /// Ends the term: its gate closes, and every task that waits on [`Term::ended`] wakes. The first reason stays.
    pub fn end(&self, why: TermEnd) {
        self.gate.close();
        if self.why.set(why).is_ok() {
            // This is logged here, so that it is logged even where the loop hangs.
            let (TermId { shard, holder, epoch }, reason) = (&self.id, why.as_str());
            if why.is_planned() {
                tracing::info!(%shard, %holder, %epoch, reason, "term.ended");
            } else {
                tracing::warn!(%shard, %holder, %epoch, reason, "term.ended");
            }
        }
        self.first_claim.cancel();
        self.ended.cancel();
    }

    /// Completes when the term has ended.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Notes that the database has answered a claim.
    pub fn claim_answered(&self) {
        self.first_claim.cancel();
    }

    /// Completes once the first claim has been answered, or the term has ended. What runs beside the polls waits for that: a
    /// hand-over lasts until the next poller sends, and on a small machine all that begins with a term would take its time.
    pub async fn first_claim(&self) {
        let _ = tokio::time::timeout(HEAD_START, self.first_claim.cancelled()).await;
    }

    /// Why the term ended, once it has.
    pub fn end_reason(&self) -> Option<TermEnd> {
        self.why.get().copied()
    }

    /// Whether the term goes on.
    pub fn is_on(&self) -> bool {
        !self.ended.is_cancelled()
    }

    /// Notes that the loop is alive. Without this the watchdog gives the lease up.
    pub fn progress(&self) {
        self.signs_of_life.fetch_add(1, Ordering::Relaxed);
    }

    /// How often [`Term::progress`] was called.
    pub fn signs_of_life(&self) -> u64 {
        self.signs_of_life.load(Ordering::Relaxed)
    }

    /// Counts claimed rows.
    pub fn count_claimed(&self, messages: &[Message]) {
        self.claimed.fetch_add(messages.len() as u64, Ordering::Relaxed);
    }

    /// Counts an attempt by its outcome.
    pub fn count_attempt(&self, outcome: &Outcome) {
        self.tally.count(outcome);
    }

    /// The counts for the term log.
    pub fn counts(&self) -> TermCounts {
        let Counts { delivered, failed, in_doubt } = self.tally.counts();
        TermCounts { claimed: self.claimed.load(Ordering::Relaxed), delivered, failed, in_doubt }
    }
}

/// A send may begin as long as the gate is open.
impl Permit for Term {
    fn holds(&self) -> bool {
        self.gate.is_open()
    }
}

impl TermGauge for Term {
    fn id(&self) -> &TermId {
        &self.id
    }

    fn is_on(&self) -> bool {
        self.is_on()
    }

    fn trusted_for(&self) -> Duration {
        self.gate.trusted_for()
    }
}

#[cfg(test)]
mod tests {
    use outbox_store::{Epoch, Lineages};

    use super::*;
    use crate::fixtures::SteppedClock;

    fn begun() -> Arc<Term> {
        let clock = SteppedClock::new();
        let opened = OpenedTerm { epoch: Epoch(1), lineage: None, unsettled: Vec::new(), destinations: Vec::new() };
        let until = clock.now().after(Duration::from_mins(1));
        Term::begin(Shard(0), Holder::new("a", "1"), opened, clock, until, Lineages::default().watch())
    }

    /// How long what runs beside the polls of `term` waits.
    async fn waits(term: &Term) -> Duration {
        let began = tokio::time::Instant::now();
        term.first_claim().await;
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn what_runs_beside_the_polls_waits_for_the_first_claim_and_no_longer_than_its_head_start() {
        assert_eq!(waits(&begun()).await, HEAD_START, "a claim that is not answered");
        for answer in [Term::claim_answered, |term: &Term| term.end(TermEnd::Shutdown)] {
            let term = begun();
            let after = Duration::from_millis(30);
            let answering = async {
                tokio::time::sleep(after).await;
                answer(&term);
            };
            assert_eq!(tokio::join!(waits(&term), answering).0, after);
        }
    }
}
