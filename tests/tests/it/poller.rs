//! A poller reduced to its statements: what the store is asked while a message goes its way.

use std::time::{Duration, Instant};

use outbox_schema::{
    AttemptRecord, ChannelTerms, ClaimId, ClaimRequest, DeadReason, Found, Holder, InDoubtPolicy, KeyStretch, Mark,
    Message, OnDeadOrdered, Shard, Store, Strangers, TermId, Verdict, WalkStart,
};

pub(crate) struct Poller<'a> {
    store: &'a dyn Store,
    pub(crate) term: TermId,
    channels: Vec<ChannelTerms>,
}

impl<'a> Poller<'a> {
    /// Begins a term of the channel `http`.
    pub(crate) async fn begin(store: &'a dyn Store, nonce: &str) -> Self {
        let channels = vec![ChannelTerms {
            name: "http".to_owned(),
            timeout: Duration::from_secs(1),
            max_attempts: 10,
            in_doubt: InDoubtPolicy::Resend,
            on_dead_ordered: OnDeadOrdered::Continue,
            room: 1_000,
            most: 1_000_000,
            max_message_bytes: 1 << 20,
            fair: true,
            on_dead: None,
        }];
        let holder = Holder::new("replica", nonce);
        let epoch = store.begin_term(Shard(0), &holder).await.unwrap().epoch;
        Self { store, term: TermId { shard: Shard(0), epoch, holder }, channels }
    }

    pub(crate) async fn claim(&self) -> (ClaimId, Vec<Message>) {
        self.claim_of(None).await
    }

    /// What a claim finds that asks about each destination.
    pub(crate) async fn find(&self) -> Found {
        let strangers = Strangers { rows: 0, bytes: 0, ask: true };
        let request = ClaimRequest { strangers, ..self.request(ClaimId::mint(), None) };
        self.store.claim(&self.term, &request).await.unwrap().found
    }

    /// Claims what was found before, or else what is due.
    pub(crate) async fn claim_of(&self, found: Option<&Found>) -> (ClaimId, Vec<Message>) {
        let claim = ClaimId::mint();
        (claim, self.store.claim(&self.term, &self.request(claim, found)).await.unwrap().messages)
    }

    fn request<'r>(&'r self, claim: ClaimId, found: Option<&'r Found>) -> ClaimRequest<'r> {
        ClaimRequest {
            claim,
            limit: 100,
            max_bytes: 1_000_000,
            excluded: &[],
            from: WalkStart::default(),
            keys: KeyStretch::default(),
            channels: &self.channels,
            closed: &[],
            closed_channels: &[],
            rooms: &[],
            strangers: Strangers { rows: 1_000, bytes: 1 << 30, ask: false },
            found,
            turns: None,
            unknown_channel_delay: Duration::from_mins(1),
            lease_ttl: Duration::from_secs(10),
            margin: Duration::from_secs(1),
        }
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
