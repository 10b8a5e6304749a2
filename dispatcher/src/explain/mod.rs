//! Why a message has not been sent, and why it was sent twice: causes, each with its fields and in words.
//!
//! All that is said follows from what the database keeps and from what is configured here. What is kept nowhere (which
//! replica delivered a plain success, whether a suspect is held back at this moment, why the lease store elects nobody)
//! is said to be unknown.

mod again;
mod life;
mod not_sent;
mod note;
mod reasons;
mod sent_twice;
mod sentences;
mod words;

use outbox_schema::desk::MessageFacts;
use outbox_schema::{Database, DeskError, MessageId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::configured::Configured;

pub use again::Again;
pub use life::{Event, life};
pub use not_sent::NotSent;
pub use note::Note;
pub use sent_twice::{Repetition, Verdict};

/// Both answers about one message. Holds neither its body nor its headers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Explanation {
    /// Which message.
    pub id: MessageId,
    /// Sent with each attempt.
    pub idempotency_key: String,
    /// As the row says it.
    pub channel: String,
    /// What is paused and counted as one.
    pub destination: String,
    /// As the row says it.
    pub status: String,
    /// Attempts counted, since the last redrive.
    pub attempts: i32,
    /// When this was true, by the database's clock.
    pub as_of: String,
    /// Why it has not been sent: what decides first. Never empty.
    pub not_sent: Vec<Said<NotSent>>,
    /// Why it was sent twice.
    pub sent_twice: Repetition,
    /// Likely mistakes of the application that wrote it.
    #[serde(default)]
    pub notes: Vec<Said<Note>>,
}

/// A cause, and how it is said. In JSON the cause's name is `cause`, its fields are beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Said<C> {
    /// Which.
    #[serde(flatten)]
    pub cause: C,
    /// One or more sentences about the message (`It …`).
    pub sentence: String,
}

impl<C: std::fmt::Display> From<C> for Said<C> {
    fn from(cause: C) -> Self {
        Self { sentence: cause.to_string(), cause }
    }
}

/// Explains a message; none where there is no such message. Asks for its facts, and for those of the message
/// that it waits behind.
pub async fn explain(
    database: &Database,
    configured: &Configured,
    id: MessageId,
) -> Result<Option<Explanation>, DeskError> {
    let halting = configured.halting();
    let Some(facts) = database.facts(id, &halting).await? else { return Ok(None) };
    let first = match &facts.before {
        Some(before) => database.facts(before.first, &halting).await?,
        None => None,
    };
    Ok(Some(Explanation::of(&facts, first.as_ref(), configured)))
}

impl Explanation {
    /// `first` is the message of the same ordering key whose turn it is, where that is another one.
    fn of(facts: &MessageFacts, first: Option<&MessageFacts>, configured: &Configured) -> Self {
        let message = &facts.message;
        Self {
            id: MessageId(message.id),
            idempotency_key: message.idempotency_key.clone(),
            channel: message.channel.clone(),
            destination: message.destination.clone(),
            status: message.status.clone(),
            attempts: message.attempts,
            as_of: facts.clock.now.clone(),
            not_sent: reasons::of(facts, first, configured).into_iter().map(Said::from).collect(),
            sent_twice: Repetition::of(facts),
            notes: Note::of(facts).into_iter().map(Said::from).collect(),
        }
    }

    /// What decides, in words.
    pub fn in_short(&self) -> &str {
        self.not_sent.first().map_or("", |said| &said.sentence)
    }
}
