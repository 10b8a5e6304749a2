//! A time limit for each answer of the database: a connection may be dead without a sign.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use outbox_schema::MessageId;
use outbox_store::database::STATEMENT_LIMIT;
use outbox_store::destination::{Aside, BroughtBack, ByHandChange, DestinationState, Look};
use outbox_store::mark::MarkReport;
use outbox_store::store::due::{
    DueRows, Header, LaneLook, LookAndClaim, LookedAndClaimed, RingPlace, RingStep, RowsToClaim,
};
use outbox_store::store::{OpenedTerm, Settlement, TermCounts, Wakeups};
use outbox_store::{
    ChannelTerms, ClaimId, DestinationStore, Epoch, Holder, Mark, Message, Shard, Store, StoreError, TermEnd, TermId,
    WalkStart,
};

/// How much longer than a lease an answer may take. A fleet should be at work again about as soon after the loss of its
/// database as after that of its poller, and a database that is only slow should be heard out.
const BEYOND_THE_LEASE: Duration = Duration::from_secs(3);

/// A call that was given up after less than this says nothing of the database: its term may just have ended.
const SILENCE: Duration = Duration::from_secs(1);

/// How long the database has for each answer: no longer than any statement may take.
pub(crate) fn answer_limit(ttl: Duration) -> Duration {
    (ttl + BEYOND_THE_LEASE).min(STATEMENT_LIMIT)
}

/// A port to the database whose every call ends in time. Where the server turned into one that takes no writes, the other connections
/// to it are closed too.
#[derive(Debug)]
pub(crate) struct Timeout<S: ?Sized> {
    port: Arc<S>,
    limit: Duration,
}

impl<S: ?Sized> Timeout<S> {
    /// The port, for a poller whose lease has this time to live.
    pub(crate) fn new(port: Arc<S>, ttl: Duration) -> Self {
        Self { port, limit: answer_limit(ttl) }
    }

    /// The answer, or an error where it takes too long.
    async fn answer<T>(
        &self,
        doing: &'static str,
        answer: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let too_late = || format!("nothing came within {:?}", self.limit);
        tokio::time::timeout(self.limit, answer)
            .await
            .unwrap_or_else(|_| Err(StoreError::Unavailable { doing, source: too_late().into() }))
    }
}

impl Timeout<dyn Store> {
    async fn asked<T>(
        &self,
        doing: &'static str,
        answer: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let mut asked = Asked { store: &*self.port, since: Instant::now(), answered: false };
        let answer = self.answer(doing, async {
            let answer = answer.await;
            asked.answered = true;
            answer
        });
        let answer = answer.await;
        if answer.as_ref().is_err_and(StoreError::is_of_a_reader) {
            self.port.distrust();
        }
        answer
    }
}

/// A call that is under way. Where it goes out of scope unanswered, also since its caller gave up, the connections that were
/// idle meanwhile are not trusted.
struct Asked<'a> {
    store: &'a dyn Store,
    since: Instant,
    answered: bool,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if !self.answered && self.since.elapsed() >= SILENCE {
            self.store.distrust();
        }
    }
}

#[async_trait]
impl Store for Timeout<dyn Store> {
    async fn begin_term(&self, shard: Shard, holder: &Holder, above: Epoch) -> Result<OpenedTerm, StoreError> {
        self.asked("beginning a term", self.port.begin_term(shard, holder, above)).await
    }

    async fn end_term(&self, term: &TermId, end: TermEnd, counts: TermCounts) -> Result<(), StoreError> {
        self.asked("ending a term", self.port.end_term(term, end, counts)).await
    }

    async fn release(&self, shard: Shard, claim: ClaimId) -> Result<(), StoreError> {
        self.asked("releasing a claim", self.port.release(shard, claim)).await
    }

    async fn destinations(&self, names: &[String]) -> Result<Vec<DestinationState>, StoreError> {
        self.asked("reading what is known of destinations", self.port.destinations(names)).await
    }

    async fn mark(&self, marks: &[Mark], finished: &[ClaimId]) -> Result<MarkReport, StoreError> {
        self.asked("marking messages", self.port.mark(marks, finished)).await
    }

    async fn record_unmarked(&self, marks: &[Mark], why: &str) -> Result<(), StoreError> {
        self.asked("recording unmarked deliveries", self.port.record_unmarked(marks, why)).await
    }

    async fn settle(
        &self,
        term: &TermId,
        channels: &[ChannelTerms],
        unanswered: &[MessageId],
    ) -> Result<Settlement, StoreError> {
        self.asked("settling what earlier terms left", self.port.settle(term, channels, unanswered)).await
    }

    async fn wakeups(&self) -> Result<Option<Box<dyn Wakeups>>, StoreError> {
        self.asked("listening for new messages", self.port.wakeups()).await
    }

    fn distrust(&self) {
        self.port.distrust();
    }
}

#[async_trait]
impl DueRows for Timeout<dyn Store> {
    async fn look(&self, shard: Shard, behind: WalkStart, limit: u32) -> Result<Vec<Header>, StoreError> {
        self.asked("looking for due messages", self.port.look(shard, behind, limit)).await
    }

    async fn newest(&self, shard: Shard, limit: u32) -> Result<Vec<Header>, StoreError> {
        self.asked("looking for new messages", self.port.newest(shard, limit)).await
    }

    async fn look_at_lanes(&self, shard: Shard, lanes: &[LaneLook], limit: u32) -> Result<Vec<Header>, StoreError> {
        self.asked("looking for messages of tenants", self.port.look_at_lanes(shard, lanes, limit)).await
    }

    async fn next_lanes(
        &self,
        shard: Shard,
        from: Option<&RingPlace>,
        lanes: u32,
        each: u32,
    ) -> Result<RingStep, StoreError> {
        self.asked("looking for tenants", self.port.next_lanes(shard, from, lanes, each)).await
    }

    async fn next_keys(
        &self,
        shard: Shard,
        from: Option<&RingPlace>,
        keys: u32,
        each: u32,
        halting: &[String],
    ) -> Result<RingStep, StoreError> {
        self.asked("looking for ordering keys", self.port.next_keys(shard, from, keys, each, halting)).await
    }

    async fn claim_rows(&self, term: &TermId, request: &RowsToClaim<'_>) -> Result<Vec<Message>, StoreError> {
        self.asked("claiming messages", self.port.claim_rows(term, request)).await
    }

    async fn look_and_claim(&self, term: &TermId, request: &LookAndClaim<'_>) -> Result<LookedAndClaimed, StoreError> {
        self.asked("claiming what is due", self.port.look_and_claim(term, request)).await
    }

    async fn defer_unknown(
        &self,
        term: &TermId,
        rows: &[MessageId],
        channels: &[ChannelTerms],
        delay: Duration,
    ) -> Result<BTreeMap<String, u64>, StoreError> {
        let answer = self.port.defer_unknown(term, rows, channels, delay);
        self.asked("deferring messages of unknown channels", answer).await
    }
}

#[async_trait]
impl DestinationStore for Timeout<dyn DestinationStore> {
    async fn put_aside(
        &self,
        term: &TermId,
        aside: &[Aside],
        excluded: &[MessageId],
        look: &mut Look,
    ) -> Result<Vec<u64>, StoreError> {
        self.answer("putting messages aside", self.port.put_aside(term, aside, excluded, look)).await
    }

    async fn bring_back(&self, term: &TermId, destination: &str, limit: u32) -> Result<BroughtBack, StoreError> {
        self.answer("bringing messages back", self.port.bring_back(term, destination, limit)).await
    }

    async fn bring_back_configured(
        &self,
        term: &TermId,
        channels: &[&str],
        limit: u32,
    ) -> Result<BroughtBack, StoreError> {
        self.answer("bringing messages back", self.port.bring_back_configured(term, channels, limit)).await
    }

    async fn changes_by_hand(&self) -> Result<Vec<ByHandChange>, StoreError> {
        self.answer("reading what was paused", self.port.changes_by_hand()).await
    }

    async fn remember_ramp(&self, destination: &str, rising_for: Duration) -> Result<(), StoreError> {
        self.answer("recording a rate", self.port.remember_ramp(destination, rising_for)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{SteppedClock, TermStore};

    #[test]
    fn an_answer_may_take_some_seconds_longer_than_a_lease_and_no_longer_than_a_statement() {
        for (ttl, limit) in [(1, 4), (10, 13), (12, 15), (60, 15)] {
            assert_eq!(answer_limit(Duration::from_secs(ttl)), Duration::from_secs(limit));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_says_nothing_is_unavailable_after_a_while() {
        let never = Duration::from_hours(1);
        let store: Arc<dyn Store> = TermStore::new(&SteppedClock::new(), vec![never]);
        let store = Timeout::new(store, Duration::from_secs(10));
        let begun = store.begin_term(Shard::default(), &Holder::new("a", "1"), Epoch(0)).await;
        let said = "the outbox database did not answer (beginning a term): nothing came within 13s";
        assert_eq!(begun.map_err(|error| error.to_string()).err().as_deref(), Some(said));
    }
}
