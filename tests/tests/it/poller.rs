//! A poller reduced to its statements: what the store is asked while a message goes its way.

use std::sync::Arc;
use std::time::{Duration, Instant};

use outbox_store::store::due::{ClaimTerms, DueRows, LookAndClaim};
use outbox_store::{
    AttemptRecord, ChannelTerms, ClaimId, Database, DeadReason, Epoch, Holder, Mark, Message, Shard, Store, TermId,
    Verdict, WalkStart,
};
use outbox_tests::conformance::store::{Ask, http, terms};

pub(crate) struct Poller {
    store: Arc<dyn Store>,
    due: Arc<dyn DueRows>,
    pub(crate) term: TermId,
    channels: [ChannelTerms; 1],
}

impl Poller {
    /// Begins a term of the channel `http`.
    pub(crate) async fn begin(database: &Database, nonce: &str) -> Self {
        let store = database.store();
        let due = store.clone();
        let holder = Holder::new("replica", nonce);
        let epoch = store.begin_term(Shard(0), &holder, Epoch(0)).await.unwrap().epoch;
        Self { store, due, term: TermId { shard: Shard(0), epoch, holder }, channels: [http()] }
    }

    /// Defers what is due of channels that it does not know, and claims the rest.
    pub(crate) async fn claim(&self) -> (ClaimId, Vec<Message>) {
        let ask = Ask { limit: 1_000, terms: self.terms(), ..Ask::of(&self.channels) };
        ask.defer_unknown(&*self.due, &self.term).await.unwrap();
        (ask.claim, ask.claim(&*self.due, &self.term).await.unwrap())
    }

    /// Claims what is due with the look that finds it.
    pub(crate) async fn look_and_claim(&self) -> (ClaimId, Vec<Message>) {
        let (claim, terms) = (ClaimId::mint(), self.terms());
        let behind = WalkStart::default();
        let ask = LookAndClaim { claim, behind, limit: 100, known: &[], not_of: &[], up_to: 100, terms: &terms };
        (claim, self.due.look_and_claim(&self.term, &ask).await.unwrap().messages)
    }

    fn terms(&self) -> ClaimTerms<'_> {
        let (lease_ttl, margin) = (Duration::from_secs(10), Duration::from_secs(1));
        ClaimTerms { lease_ttl, margin, ..terms(&self.channels) }
    }

    /// Marks all rows of a claim.
    pub(crate) async fn mark(&self, claim: ClaimId, messages: &[Message], verdict: &Verdict) {
        self.mark_some(claim, messages, verdict, &[claim]).await;
    }

    /// Marks rows of a claim; it goes where it is among the finished.
    pub(crate) async fn mark_some(
        &self,
        claim: ClaimId,
        messages: &[Message],
        verdict: &Verdict,
        finished: &[ClaimId],
    ) {
        let marks: Vec<_> = messages.iter().map(|message| self.mark_of(claim, message, verdict)).collect();
        let report = self.store.mark(&marks, finished).await.unwrap();
        assert_eq!(report.fenced, []);
    }

    /// Marks all rows of a claim with an answer of the caller's.
    pub(crate) async fn mark_as(
        &self,
        claim: ClaimId,
        messages: &[Message],
        verdict: &Verdict,
        status_code: Option<u16>,
        error: &str,
    ) {
        let mark =
            |message| Mark { status_code, error: Some(error.to_owned()), ..self.mark_of(claim, message, verdict) };
        let marks: Vec<_> = messages.iter().map(mark).collect();
        let report = self.store.mark(&marks, &[claim]).await.unwrap();
        assert_eq!(report.fenced, []);
    }

    fn mark_of(&self, claim: ClaimId, message: &Message, verdict: &Verdict) -> Mark {
        Mark {
            claim,
            id: message.id(),
            revision: message.revision(),
            verdict: verdict.clone(),
            pause: outbox_tests::conformance::store::pause(verdict, &message.channel),
            status_code: Some(418),
            error: Some("the receiver is a teapot".to_owned()),
            deadline: None,
            told: None,
            attempt: AttemptRecord {
                number: 1,
                epoch: self.term.epoch,
                holder: self.term.holder.clone(),
                started: Instant::now(),
                duration: Duration::from_millis(7),
                kept: false,
                outcome: "dead",
                excerpt: Some("short and stout".to_owned()),
            },
        }
    }

    /// Claims all that is due and finds it dead.
    pub(crate) async fn kill_all(&self) {
        let (claim, messages) = self.claim().await;
        let dead = Verdict::Dead { reason: DeadReason::Permanent, attempted: true, invalid_target: false };
        self.mark(claim, &messages, &dead).await;
    }

    pub(crate) async fn settle(&self) {
        self.store.settle(&self.term, &self.channels, &[]).await.unwrap();
    }
}
