//! Both questions about a message, each cause brought about on a real outbox, on every database.

mod attempts;
mod held;
mod killed;
mod life;
mod not_sent;
mod outcome_notice;
mod sent_twice;
mod waits;

use std::collections::BTreeMap;
use std::time::Duration;

use outbox_config::LeaseTimes;
use outbox_console::configured::Configured;
use outbox_console::configured::ConfiguredChannel;
use outbox_console::explain::{Explanation, NotSent, explain};
use outbox_desk::{Desk, MessageRecord};
use outbox_dispatcher::poller::schedule_now::ScheduleNow;
use outbox_schema::MessageId;
use outbox_store::store::TermCounts;
use outbox_store::{ChannelTerms, ClaimId, Mark, Message, TermEnd, TermId, Verdict};
use outbox_tests::conformance::store::{Outbox, http, mark};
use serde_json::Value;

const SECRET: &str = "the card number";

/// The channel `http` and the defaults of the lease.
fn configured() -> Configured {
    let channel = ConfiguredChannel { max_attempts: 10, max_age: Duration::from_hours(72), halts: false, fair: true };
    Configured {
        channels: BTreeMap::from([("http".to_owned(), channel)]),
        lease: LeaseTimes { ttl: Duration::from_secs(10), term: Duration::from_secs(20) },
    }
}

/// Inserts a message with a body that no explanation may tell.
async fn insert(outbox: &Outbox, columns: &[(&str, &str)]) -> MessageId {
    let payload = format!("'\"{SECRET}\"'");
    let mut all = vec![("payload", payload.as_str())];
    all.extend(columns);
    outbox.insert(&all).await
}

async fn explained(outbox: &Outbox, id: MessageId) -> Explanation {
    explained_with(outbox, id, &configured()).await
}

/// Whatever is explained must survive a way over JSON, and tell no body.
async fn explained_with(outbox: &Outbox, id: MessageId, configured: &Configured) -> Explanation {
    let explanation = explain(outbox.database(), configured, &ScheduleNow::default(), id).await.unwrap().unwrap();
    let json = serde_json::to_string(&explanation).unwrap();
    assert!(!json.contains(SECRET), "{json}");
    assert_eq!(serde_json::from_str::<Explanation>(&json).unwrap(), explanation);
    for sentence in sentences(&explanation) {
        assert!(
            sentence.ends_with('.') && !sentence.contains("..") && !sentence.contains("unknown time"),
            "{sentence}"
        );
        eprintln!("{sentence}");
    }
    explanation
}

/// All that is said.
fn sentences(explanation: &Explanation) -> Vec<&str> {
    let not_sent = explanation.not_sent.iter().map(|said| said.sentence.as_str());
    let again = explanation.sent_twice.causes.iter().map(|said| said.sentence.as_str());
    let outcomes = explanation.outcomes.iter().map(|said| said.sentence.as_str());
    not_sent.chain([explanation.sent_twice.sentence.as_str()]).chain(again).chain(outcomes).collect()
}

/// The names of causes, as JSON has them.
fn names<T: serde::Serialize>(said: &[T]) -> Vec<String> {
    let Value::Array(causes) = serde_json::to_value(said).unwrap() else { panic!("no list") };
    causes.iter().map(|cause| cause["cause"].as_str().unwrap().to_owned()).collect()
}

/// Why it has not been sent: the names of the causes.
async fn why(outbox: &Outbox, id: MessageId) -> Vec<String> {
    names(&explained(outbox, id).await.not_sent)
}

/// The first cause.
async fn decisive(outbox: &Outbox, id: MessageId) -> (NotSent, String) {
    let first = explained(outbox, id).await.not_sent.remove(0);
    (first.cause, first.sentence)
}

async fn record(outbox: &Outbox, id: MessageId) -> MessageRecord {
    outbox.database().message(id).await.unwrap().unwrap()
}

/// A poller, by its statements.
struct Leader<'a> {
    outbox: &'a Outbox,
    term: TermId,
    channels: [ChannelTerms; 1],
}

impl<'a> Leader<'a> {
    async fn begin(outbox: &'a Outbox) -> Self {
        let channels = [http()];
        Self { outbox, term: outbox.term(&channels).await, channels }
    }

    /// Defers what is due of channels that it does not know, and claims the rest.
    async fn claim(&self) -> (ClaimId, Vec<Message>) {
        self.outbox.defer_unknown(&self.term, &self.channels).await;
        self.outbox.claim_all(&self.term, &self.channels).await
    }

    /// Claims the one message that is due.
    async fn claim_one(&self) -> (ClaimId, Message) {
        let (claim, mut messages) = self.claim().await;
        assert_eq!(messages.len(), 1);
        (claim, messages.remove(0))
    }

    async fn write(&self, mark: Mark) -> Vec<MessageId> {
        let finished = [mark.claim];
        self.outbox.store.mark(&[mark], &finished).await.unwrap().fenced
    }

    /// An attempt at the one message that is due, from its claim to its mark.
    async fn attempt(&self, verdict: Verdict, outcome: &'static str, code: Option<u16>, error: &str) {
        let (claim, message) = self.claim_one().await;
        let error = Some(error.to_owned()).filter(|error| !error.is_empty());
        let mark = Mark { status_code: code, error, ..mark(&self.term, claim, &message, verdict, outcome) };
        assert_eq!(self.write(mark).await, []);
    }

    /// Delivers the one message that is due.
    async fn deliver(&self) {
        self.attempt(Verdict::Success { receipt: Some("r-1".to_owned()) }, "delivered", Some(200), "").await;
    }

    async fn hand_over(&self) {
        self.outbox.store.end_term(&self.term, TermEnd::Shutdown, TermCounts::default()).await.unwrap();
    }

    /// Settles what earlier terms left, as if their settling time were over.
    async fn settle(&self) {
        self.outbox.age_claims(Duration::from_hours(1)).await;
        self.outbox.store.settle(&self.term, &self.channels, &[]).await.unwrap();
    }
}
