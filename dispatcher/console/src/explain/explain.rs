//! Why a message has not been sent, and why it was sent twice: causes, each with its fields and a sentence.
//!
//! Each cause follows from the database and from the settings of this replica. Some facts are kept nowhere: which
//! replica delivered a plain success, whether the poller has a row in quarantine now, why the lease store elects no replica.
//! The sentences say that these are unknown.

use outbox_desk::{DeskError, MessageFacts};
use outbox_schema::MessageId;
use outbox_store::Database;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::made_by::made_by;
use super::not_sent::NotSent;
use super::note::Note;
use super::outcome_notice::OutcomeNotice;
use super::said::Said;
use super::sent_twice::Repetition;
use crate::configured::Configured;
use crate::health::replicas::Replicas;
use outbox_dispatcher::poller::schedule_now::ScheduleNow;

/// Why one message has not been sent, and why it was sent twice. Contains neither its body nor its headers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Explanation {
    /// The message.
    pub id: MessageId,
    /// The idempotency key, sent with each attempt.
    pub idempotency_key: String,
    /// The channel in the row.
    pub channel: String,
    /// The destination of the message.
    pub destination: String,
    /// The status in the row.
    pub status: String,
    /// Attempts counted since the last redrive.
    pub attempts: i32,
    /// Requests since the last redrive that got an answer, and counted as no attempt.
    #[serde(default)]
    pub uncounted: usize,
    /// The time of this explanation, by the database's clock.
    pub as_of: String,
    /// Why the message has not been sent, the deciding cause first. Never empty.
    pub not_sent: Vec<Said<NotSent>>,
    /// Whether the message was sent twice, and why.
    pub sent_twice: Repetition,
    /// The messages that tell of the outcomes of the message, or the message of which it tells.
    #[serde(default)]
    pub outcomes: Vec<Said<OutcomeNotice>>,
    /// The recurring message that made the message, and for which time: `made by recurring.todo for 2026-11-30 21:00 Europe/Berlin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<String>,
    /// Likely mistakes of the application that wrote the message.
    #[serde(default)]
    pub notes: Vec<Said<Note>>,
}

/// Explains a message. None where there is no such message. Reads the facts of the message, and of the message that it
/// waits behind. Where this process polls, its schedule says what a due message waits for.
pub async fn explain(
    database: &Database,
    configured: &Configured,
    schedule: &ScheduleNow,
    id: MessageId,
) -> Result<Option<Explanation>, DeskError> {
    let halting = configured.halting();
    let Some(facts) = outbox_desk::facts(database, id, &halting).await? else { return Ok(None) };
    let first = match &facts.before {
        Some(before) => outbox_desk::facts(database, before.first, &halting).await?,
        None => None,
    };
    // A role may lack the right to read the rows of the replicas.
    let fleet = Replicas::of(database).await.unwrap_or_default();
    let waits = super::waits::of(&facts.message, schedule).await;
    Ok(Some(Explanation::of(&facts, first.as_ref(), configured, &fleet, waits)))
}

impl Explanation {
    /// `first` is the message whose turn it is in the same ordering key, where that is another one.
    fn of(
        facts: &MessageFacts,
        first: Option<&MessageFacts>,
        configured: &Configured,
        fleet: &Replicas,
        waits: Option<NotSent>,
    ) -> Self {
        let message = &facts.message;
        Self {
            id: MessageId(message.id),
            idempotency_key: message.key_sent().to_owned(),
            channel: message.channel.clone(),
            destination: message.destination.clone(),
            status: message.status.clone(),
            attempts: message.attempts,
            uncounted: super::sent_twice::uncounted(message),
            as_of: facts.clock.now.clone(),
            not_sent: super::reasons::of(facts, first, configured, fleet, waits).into_iter().map(Said::from).collect(),
            sent_twice: Repetition::of(facts),
            outcomes: OutcomeNotice::of(facts).into_iter().map(Said::from).collect(),
            made_by: facts.recurring.as_ref().and_then(|recurring| made_by(recurring, message.key_sent())),
            notes: Note::of(facts).into_iter().map(Said::from).collect(),
        }
    }

    /// The sentence of the deciding cause.
    pub fn in_short(&self) -> &str {
        self.not_sent.first().map_or("", |said| &said.sentence)
    }
}
