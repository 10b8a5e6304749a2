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

use std::collections::BTreeMap;
use std::time::Duration;

use outbox_schema::desk::MessageFacts;
use outbox_schema::{Database, DeskError, MessageId, OnDeadOrdered};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::config::{ChannelConfig, Config};
use crate::leadership::campaign_interval;
use crate::readiness::LeaseTimes;

pub use again::Again;
pub use life::{Event, life};
pub use not_sent::NotSent;
pub use note::Note;
pub use sent_twice::{Repetition, Verdict};

/// What an explanation must know of the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configured {
    /// The configured channels, by name.
    pub channels: BTreeMap<String, ConfiguredChannel>,
    /// How long the fleet may be without a poller before somebody should look.
    pub lease: LeaseTimes,
}

/// What an explanation must know of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfiguredChannel {
    /// Attempts that its messages have where they do not say so themselves.
    pub max_attempts: u32,
    /// How long they are retried.
    pub max_age: Duration,
    /// Whether a dead letter, but for a cancelled one, keeps the later messages of its ordering key from going out.
    pub halts: bool,
}

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

impl Configured {
    /// What the settings say.
    pub fn of(config: &Config) -> Self {
        let (ttl, term) = (config.lease.ttl, config.lease.term);
        let channel = |its: &ChannelConfig| ConfiguredChannel {
            max_attempts: its.retry.max_attempts,
            max_age: its.retry.max_age,
            halts: its.on_dead_ordered == OnDeadOrdered::Halt,
        };
        Self {
            channels: config.channels.iter().map(|(name, its)| (name.clone(), channel(its))).collect(),
            lease: LeaseTimes { ttl, term, campaign_interval: campaign_interval(ttl) },
        }
    }

    fn halting(&self) -> Vec<String> {
        self.channels.iter().filter(|(_, channel)| channel.halts).map(|(name, _)| name.clone()).collect()
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
