//! The causes for which a message goes out again, and their words.

use std::fmt;

use outbox_schema::MessageId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::words::{known, said};
use super::{Holder, Mention, Mentions, named};
use crate::text::{span, to_the_second};

/// Why a message went out, or may go out, again. Times are texts of the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "cause", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields are named as the columns that they come from")]
pub enum Again {
    /// The poller died, or was cut off, between claim and mark.
    Killed {
        attempt: i32,
        epoch: i64,
        #[serde(flatten)]
        holder: Holder,
        claimed_at: Option<String>,
        ended_because: Option<String>,
        /// From which server to which the database failed over before the next term.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failover: Option<String>,
    },
    /// The poller handed over in order, and stopped before it had an answer, or could record it.
    HandedOver {
        attempt: i32,
        epoch: i64,
        #[serde(flatten)]
        holder: Holder,
        claimed_at: Option<String>,
        ended_because: Option<String>,
        /// From which server to which the database failed over before the next term.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failover: Option<String>,
    },
    /// A request was written, or may have been, and no answer came.
    NoAnswer {
        attempt: i32,
        epoch: i64,
        #[serde(flatten)]
        holder: Holder,
        at: Option<String>,
        duration_ms: Option<i64>,
        error: Option<String>,
    },
    /// The message was delivered, and the mark was refused: a later term had decided about the message by then.
    DeliveredFenced {
        attempt: i32,
        epoch: i64,
        #[serde(flatten)]
        holder: Holder,
        at: Option<String>,
    },
    /// The message was delivered, and the database refused for a while to record that.
    DeliveredUnmarked {
        attempt: i32,
        epoch: i64,
        #[serde(flatten)]
        holder: Holder,
        at: Option<String>,
        error: Option<String>,
    },
    /// The receiver answered, and did not accept.
    Refused {
        attempt: i32,
        epoch: i64,
        #[serde(flatten)]
        holder: Holder,
        at: Option<String>,
        status_code: i32,
        error: Option<String>,
        /// Whether the request counted as no attempt: the destination was to be left alone, and the message waited with it.
        #[serde(default)]
        uncounted: bool,
    },
    /// An operator made the message due again.
    Redriven {
        at: String,
        by: String,
        why: Option<String>,
        /// Whether an attempt before the redrive had delivered the message, or may have.
        after_doubt: bool,
    },
    /// An operator gave the message another content. The keys are the same where it kept its own.
    Edited { at: String, by: String, old_key: String, new_key: String },
    /// The message is a replay: an operator had another message sent again.
    Repeats {
        first: i64,
        /// The key of the first message, where the receiver gets that. None: the replay has a key of its own.
        sent_key: Option<String>,
    },
    /// An operator had the message sent again, by a row of its own.
    Replayed { at: String, by: String, why: Option<String>, replay: i64, new_key: bool },
    /// The delivery that finished the message.
    Accepted {
        attempt: i32,
        at: Option<String>,
        idempotency_key: String,
        /// The term in which it was sent, and its holder, where the channel keeps a record of deliveries.
        epoch: Option<i64>,
        holder: Option<String>,
        /// The name of its replica, where that is known.
        #[serde(default)]
        instance: Option<String>,
        /// Whether the receiver said that it knew the idempotency key already.
        #[serde(default)]
        known: bool,
        /// The term that led at that time. An earlier poller may have sent the message all the same.
        epoch_then: Option<i64>,
        holder_then: Option<String>,
        /// The name of its replica, where that is known.
        #[serde(default)]
        instance_then: Option<String>,
    },
}

impl Mentions for Again {
    fn mentions(&self) -> Vec<Mention> {
        match self {
            Self::Killed { epoch, .. }
            | Self::HandedOver { epoch, .. }
            | Self::NoAnswer { epoch, .. }
            | Self::DeliveredFenced { epoch, .. }
            | Self::DeliveredUnmarked { epoch, .. }
            | Self::Refused { epoch, .. } => vec![Mention::term(*epoch)],
            Self::Repeats { first: message, .. } | Self::Replayed { replay: message, .. } => {
                vec![Mention::message(MessageId(*message))]
            }
            Self::Accepted { epoch, epoch_then, .. } => epoch.or(*epoch_then).into_iter().map(Mention::term).collect(),
            Self::Redriven { .. } | Self::Edited { .. } => Vec::new(),
        }
    }
}

impl fmt::Display for Again {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Killed { attempt, epoch, holder, claimed_at, ended_because, failover } => {
                write!(f, "Attempt {attempt}, epoch {epoch} on {holder}, claimed at {}: ", known(claimed_at.as_ref()))?;
                write!(
                    f,
                    "killed, frozen or cut off before its mark{}, or unable to write it, ",
                    term_end(ended_because.as_ref(), failover.as_ref())
                )?;
                write!(f, "so that nobody knows whether it was delivered.")
            }
            Self::HandedOver { attempt, epoch, holder, claimed_at, ended_because, failover } => {
                write!(f, "Attempt {attempt}, epoch {epoch} on {holder}, claimed at {}: ", known(claimed_at.as_ref()))?;
                write!(f, "its poller handed over{} and ended ", term_end(ended_because.as_ref(), failover.as_ref()))?;
                write!(f, "without a mark of it: the answer had not come, or could not be recorded. So nobody knows ")?;
                write!(f, "whether it was delivered.")
            }
            Self::NoAnswer { attempt, epoch, holder, at, duration_ms, error } => {
                write!(f, "Attempt {attempt}, epoch {epoch} on {holder}, at {}: ", known(at.as_ref()))?;
                write!(f, "no answer{}", said(" after ", duration_ms.map(span).as_ref()))?;
                write!(f, "{}. It may have been delivered.", said(": ", error.as_ref()))
            }
            Self::DeliveredFenced { attempt, epoch, holder, at } => {
                write!(f, "Attempt {attempt}, epoch {epoch} on {holder}, at {}: ", known(at.as_ref()))?;
                write!(f, "delivered, but its mark came too late and was refused (fenced): a later term, or ")?;
                write!(f, "somebody by hand, had decided about the message by then.")
            }
            Self::DeliveredUnmarked { attempt, epoch, holder, at, error } => {
                write!(f, "Attempt {attempt}, epoch {epoch} on {holder}, at {}: ", known(at.as_ref()))?;
                write!(f, "the receiver accepted it, and that could not be recorded{}.", said(": ", error.as_ref()))
            }
            Self::Refused { attempt, epoch, holder, at, status_code, error, uncounted } => {
                match uncounted {
                    true => write!(f, "A request that counted as no attempt")?,
                    false => write!(f, "Attempt {attempt}")?,
                }
                write!(f, ", epoch {epoch} on {holder}, at {}: ", known(at.as_ref()))?;
                write!(f, "answered with status {status_code}, which does not accept it")?;
                write!(f, "{}.", said(": ", error.as_ref()))
            }
            Self::Redriven { at, by, why, after_doubt } => {
                write!(f, "{by} redrove it at {}{}", to_the_second(at), said(" (", why.as_ref()))?;
                write!(f, "{}", if why.is_some() { ")" } else { "" })?;
                match after_doubt {
                    true => write!(f, ", after an attempt that delivered it or may have."),
                    false => write!(f, "."),
                }
            }
            Self::Repeats { first, sent_key: Some(key) } => {
                write!(
                    f,
                    "It repeats message {first}, under the idempotency key {key} of that one, by which a receiver "
                )?;
                write!(f, "may recognise it.")
            }
            Self::Repeats { first, sent_key: None } => {
                write!(f, "It repeats message {first}, under an idempotency key of its own.")
            }
            Self::Replayed { at, by, why, replay, new_key } => {
                write!(f, "{by} replayed it at {}{}", to_the_second(at), said(" (", why.as_ref()))?;
                write!(f, "{}: message {replay} sends it again, under ", if why.is_some() { ")" } else { "" })?;
                write!(f, "{} idempotency key.", if *new_key { "a new" } else { "the same" })
            }
            Self::Edited { at, by, old_key, new_key } if old_key == new_key => {
                write!(
                    f,
                    "{by} edited its target or headers at {}; it kept its idempotency key {old_key}.",
                    to_the_second(at)
                )
            }
            Self::Edited { at, by, old_key, new_key } => {
                write!(f, "{by} edited it at {}: attempts since then carry the ", to_the_second(at))?;
                write!(f, "idempotency key {new_key} instead of {old_key}, so that a receiver which had seen the ")?;
                write!(f, "old one does not recognise the message.")
            }
            Self::Accepted { attempt, at, idempotency_key, known: knew, .. } => {
                write!(f, "Attempt {attempt}, accepted at {}: sent with the ", known(at.as_ref()))?;
                write!(f, "idempotency key {idempotency_key}")?;
                if *knew {
                    write!(f, ", which the receiver said it knew already")?;
                }
                f.write_str(&self.sender())
            }
        }
    }
}

impl Again {
    /// Who sent the delivery that finished the message, as the end of a sentence.
    fn sender(&self) -> String {
        match self {
            Self::Accepted { epoch: Some(epoch), holder: Some(holder), instance, .. } => {
                format!(", in epoch {epoch} by {}.", named(holder, instance.as_deref()))
            }
            Self::Accepted { epoch_then: Some(epoch), holder_then: Some(holder), instance_then, .. } => {
                let then = named(holder, instance_then.as_deref());
                format!(". A success leaves no word of who sent it; epoch {epoch} on {then} polled then.")
            }
            _ => ". A success leaves no word of who sent it.".to_owned(),
        }
    }
}

fn term_end(why: Option<&String>, failover: Option<&String>) -> String {
    match (why, failover) {
        (_, Some(change)) => format!(" (the database failed over {change})"),
        (Some(why), None) => format!(" (its term ended: {why})"),
        (None, None) => String::new(),
    }
}
