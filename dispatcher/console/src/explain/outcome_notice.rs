//! Notices of outcomes, as an explanation names them: the message that tells, and the message of which it tells.

use std::fmt;

use outbox_desk::{MessageFacts, OutcomeMessage, ToldMessage};
use outbox_schema::MessageId;
use outbox_store::Status;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Mention, Mentions, Subject};
use crate::text::to_the_second;

/// A notice of an outcome, by `on_dead` or `on_success` of a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "cause", rename_all = "snake_case")]
// The name in the API.
#[schema(as = Telling)]
pub enum OutcomeNotice {
    /// Another message tells of an outcome of the message.
    ToldBy {
        /// The message that tells.
        message: MessageId,
        /// The channel of that message.
        channel: String,
        /// The status of that message.
        status: String,
        /// When the outcome was written, and that message with it.
        at: String,
    },
    /// The message tells of an outcome of another one.
    TellsOf {
        /// The message with that outcome.
        message: MessageId,
        /// Its status. None where it is no longer there.
        status: Option<String>,
    },
}

impl OutcomeNotice {
    /// What the message tells, then what tells of it, the oldest first.
    pub(super) fn of(facts: &MessageFacts) -> Vec<Self> {
        let tells = facts.tells_of.clone().map(|ToldMessage { id, status }| Self::TellsOf { message: id, status });
        let told = facts.told_by.iter().cloned().map(|OutcomeMessage { id, channel, status, at }| Self::ToldBy {
            message: MessageId(id),
            channel,
            status,
            at,
        });
        tells.into_iter().chain(told).collect()
    }
}

impl Mentions for OutcomeNotice {
    fn mentions(&self) -> Vec<Mention> {
        match self {
            Self::ToldBy { message, channel, .. } => {
                let channel = Mention::new(format!("channel {channel}"), Subject::Channel(channel.clone()));
                vec![Mention::message(*message), channel]
            }
            Self::TellsOf { message, status: Some(_) } => vec![Mention::message(*message)],
            // Nothing leads to what is no longer there.
            Self::TellsOf { status: None, .. } => Vec::new(),
        }
    }
}

impl fmt::Display for OutcomeNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ToldBy { message, channel, status, at } => {
                let at = to_the_second(at);
                write!(
                    f,
                    "Its outcome of {at} is told by message {message} of channel {channel}, which {}.",
                    now(status)
                )
            }
            Self::TellsOf { message, status: Some(status) } => {
                write!(f, "It tells of an outcome of message {message}, which {}.", now(status))
            }
            Self::TellsOf { message, status: None } => {
                write!(f, "It tells of an outcome of message {message}, which is no longer there.")
            }
        }
    }
}

/// The status of a message, in words.
fn now(status: &str) -> String {
    match [Status::Pending, Status::Success, Status::Dead].into_iter().find(|known| known.as_str() == status) {
        Some(Status::Pending) => "waits".to_owned(),
        Some(Status::Success) => "was delivered".to_owned(),
        Some(Status::Dead) => "is a dead letter".to_owned(),
        None => format!("has the status {status}"),
    }
}
