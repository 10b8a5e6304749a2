//! The causes for which a message has not been sent, and their words.

use std::fmt;

use outbox_schema::MessageId;
use outbox_schema::desk::COUNTED;
use serde::{Deserialize, Serialize};

use super::Said;
use super::words::{known, said};
use crate::cli::text::{span, to_the_second};

/// Why a message has not been sent. Times are texts of the database; `*_ms` are milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields are named as the columns that they come from")]
pub enum NotSent {
    /// It has been: the other side accepted it.
    Delivered { at: Option<String>, attempts: i32, status_code: Option<i32>, receipt: Option<String> },
    /// It is a dead letter.
    Dead {
        message: MessageId,
        reason: Option<String>,
        at: Option<String>,
        attempts: i32,
        error: Option<String>,
        /// Who cancelled it, where the audit says so.
        cancelled_by: Option<String>,
        why: Option<String>,
    },
    /// Its status is none of ours.
    UnknownStatus { status: String },
    /// A claim of the present term names it.
    InFlight { since: String, holder: String, epoch: i64, gate_closed_at: Option<String> },
    /// A claim of an earlier term names it.
    BeingSettled { since: String, holder: String, epoch: i64, until: Option<String> },
    /// Nobody has configured its channel, as far as these settings say.
    ChannelNotConfigured { channel: String, put_off_until: Option<String> },
    /// A dead letter of its ordering key is before it, and its channel halts at those.
    Halted { ordering_key: String, behind: MessageId, dead_reason: Option<String> },
    /// Another message of its ordering key goes out first.
    WaitsBehind {
        ordering_key: String,
        behind: MessageId,
        /// How many are before it; 10,000 also where there are more.
        waiting: i64,
        /// Why that one has not been sent.
        because: Vec<Said<NotSent>>,
    },
    /// Its destination, or its channel, takes nothing for now.
    Paused { destination: String, until: String, remaining_ms: Option<i64>, by: Option<String>, reason: Option<String> },
    /// It was put off by a pause that is no more, or by a channel that is configured by now.
    PutOff { since: String, until: String },
    /// An attempt failed, and the next has its time.
    NextAttempt {
        at: String,
        in_ms: Option<i64>,
        attempt: i32,
        of: i64,
        status_code: Option<i32>,
        error: Option<String>,
    },
    /// Its time has not come.
    NotDue { at: String, in_ms: Option<i64> },
    /// Its `expires_at` has passed.
    Expired { at: String },
    /// All its attempts were made.
    AttemptsUsedUp { attempts: i32, of: i64 },
    /// Its own `max_attempts` is no number of attempts.
    WrongMaxAttempts { max_attempts: i32 },
    /// No replica has ever led its shard.
    NeverPolled { shard: i32 },
    /// The last term of its shard has ended, or is too old to last, and no other has begun.
    NotPolled {
        shard: i32,
        epoch: i64,
        holder: String,
        began: String,
        began_ms: i64,
        /// When the term ended; none where its poller did not live to say so.
        ended: Option<String>,
        ended_because: Option<String>,
    },
    /// It was in flight when a poller died.
    Suspect { attempt: i32, epoch: i64, holder: String },
    /// Due messages are before it.
    Backlog { ahead: i64, oldest_ms: Option<i64> },
    /// Nothing keeps it.
    Due { since: String, for_ms: Option<i64> },
    /// Beside what else there is: it will not be sent after that.
    Expires { at: String, in_ms: Option<i64>, before_due: bool },
}

impl fmt::Display for NotSent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delivered { at, attempts, status_code, receipt } => {
                write!(f, "It was sent: accepted at {} on attempt {attempts}", known(at.as_ref()))?;
                write!(f, "{}{}.", said(" with status ", status_code.as_ref()), said(", receipt ", receipt.as_ref()))
            }
            Self::Dead { message, reason, at, attempts, error, cancelled_by, why } => {
                write!(f, "It is a dead letter since {}, ", known(at.as_ref()))?;
                match reason.as_deref() {
                    Some("cancelled") => {
                        let by = cancelled_by.as_deref().unwrap_or("somebody whom the audit does not name");
                        write!(f, "cancelled by {by}{}.", said(": ", why.as_ref()))?;
                    }
                    Some(reason) => {
                        write!(f, "`{reason}`, after {}{}.", attempts_made(*attempts), said(": ", error.as_ref()))?;
                    }
                    None => write!(f, "without a reason{}.", said(": ", error.as_ref()))?,
                }
                write!(f, " {}", remedy(reason.as_deref(), *message))
            }
            Self::UnknownStatus { status } => write!(
                f,
                "Its status is {status:?}, which no poller knows: it is PENDING, SUCCESS or DEAD. Whoever wrote it must \
                 set it right."
            ),
            Self::InFlight { since, holder, epoch, gate_closed_at } => {
                write!(f, "It is in flight since {}: claimed by {holder} in epoch {epoch}", to_the_second(since))?;
                match gate_closed_at {
                    None => write!(f, "."),
                    Some(at) => write!(
                        f,
                        ", whose term ended at {}; what it had sent by then may still be answered.",
                        to_the_second(at)
                    ),
                }
            }
            Self::BeingSettled { since, holder, epoch, until } => write!(
                f,
                "It is being settled until {}: {holder} claimed it at {} in epoch {epoch}, an earlier term, and it was \
                 not marked since. Unmarked then, it is in doubt, and goes by `in_doubt` of its channel.",
                known(until.as_ref()),
                to_the_second(since)
            ),
            Self::ChannelNotConfigured { channel, put_off_until } => {
                write!(f, "Its channel {channel:?} is not configured here")?;
                if let Some(until) = put_off_until {
                    write!(f, "; it is put off until {} and looked at again then", to_the_second(until))?;
                }
                write!(f, ". Add [channels.{channel}] to the settings of the replicas.")
            }
            Self::Halted { ordering_key, behind, dead_reason } => write!(
                f,
                "It waits behind message {behind} of its ordering key {ordering_key:?}, which is a dead letter{}, and \
                 its channel halts at dead letters: {}.",
                said(" of ", dead_reason.as_ref()),
                format_args!(
                    "`outbox dead-letters redrive {behind}`, or delete it with `outbox dead-letters purge {behind}`"
                )
            ),
            Self::WaitsBehind { ordering_key, behind, waiting, because } => {
                write!(f, "It waits behind message {behind} of its ordering key {ordering_key:?}")?;
                match *waiting {
                    1 => {}
                    COUNTED.. => write!(f, ", the first of {COUNTED} or more before it")?,
                    some => write!(f, ", the first of {some} before it")?,
                }
                match because.first() {
                    None => write!(f, "."),
                    Some(first) => write!(f, ". Of message {behind}: {}", first.sentence),
                }
            }
            Self::Paused { destination, until, remaining_ms, by, reason } => {
                write!(f, "{destination} is paused until {}", to_the_second(until))?;
                match remaining_ms {
                    Some(ms) => write!(f, " (another {})", span(*ms))?,
                    None => write!(f, " (for good)")?,
                }
                write!(f, "{}{}.", said(", by ", by.as_ref()), said(": ", reason.as_ref()))
            }
            Self::PutOff { since, until } => write!(
                f,
                "It was due at {} and was put off until {}; the pause that did it is over, or its channel is \
                 configured by now.",
                to_the_second(since),
                to_the_second(until)
            ),
            Self::NextAttempt { at, in_ms, attempt, of, status_code, error } => {
                write!(f, "It waits for attempt {attempt} of {of} at {}{}", to_the_second(at), ahead(*in_ms))?;
                write!(f, ". The last one failed{}", said(" with status ", status_code.as_ref()))?;
                write!(f, "{}.", said(": ", error.as_ref()))
            }
            Self::NotDue { at, in_ms } => write!(f, "It is not due until {}{}.", to_the_second(at), ahead(*in_ms)),
            Self::Expired { at } => write!(
                f,
                "It expired at {}: the next poll that meets it makes it a dead letter, `expired`, and does not send it.",
                to_the_second(at)
            ),
            Self::AttemptsUsedUp { attempts, of } => write!(
                f,
                "It has had {attempts} of {of} attempts: the next poll that meets it makes it a dead letter, \
                 `exhausted`."
            ),
            Self::WrongMaxAttempts { max_attempts } => write!(
                f,
                "Its max_attempts is {max_attempts}, and must be 1 or more: the next poll that meets it makes it a dead \
                 letter, `permanent`."
            ),
            Self::NeverPolled { shard } => write!(
                f,
                "No replica has ever polled shard {shard}. Is one running (`outbox run`)? A replica whose lease store is \
                 down says so on /readyz."
            ),
            Self::NotPolled { shard, epoch, holder, began, began_ms, ended, ended_because } => {
                match ended {
                    Some(at) => write!(
                        f,
                        "Nobody polls shard {shard} since {}: the term of {holder}, epoch {epoch}, ended then{}",
                        to_the_second(at),
                        ended_because.as_ref().map_or_else(String::new, |why| format!(" ({why})"))
                    )?,
                    None => write!(
                        f,
                        "Nobody seems to poll shard {shard}: the last term, epoch {epoch} of {holder}, began at {}, {} \
                         ago, which is longer than a term lasts",
                        to_the_second(began),
                        span(*began_ms)
                    )?,
                }
                write!(
                    f,
                    ", and no replica has begun another. Is one running (`outbox run`)? `outbox status` asks the lease \
                     store; a replica whose lease store is down says so on /readyz."
                )
            }
            Self::Suspect { attempt, epoch, holder } => write!(
                f,
                "It may be held back for a moment: attempt {attempt} was in flight when its poller died (epoch {epoch} \
                 on {holder}), and such messages go out one by one for each destination, in case one of them is why. \
                 Whose turn it is, only the poller knows."
            ),
            Self::Backlog { ahead, oldest_ms } => {
                let more = if *ahead >= COUNTED { " or more" } else { "" };
                write!(f, "It is due, and {ahead}{more} due messages are before it, those in flight among them")?;
                match oldest_ms {
                    Some(ms) => write!(f, "; the first of them has been due for {}.", span(*ms)),
                    None => write!(f, "."),
                }
            }
            Self::Due { since, for_ms } => {
                write!(f, "It is due since {}", to_the_second(since))?;
                if let Some(ms) = for_ms {
                    write!(f, " ({})", span(*ms))?;
                }
                write!(f, ", and nothing keeps it: the next poll takes it.")
            }
            Self::Expires { at, in_ms, before_due } => {
                write!(f, "It expires at {}{}", to_the_second(at), ahead(*in_ms))?;
                match before_due {
                    true => write!(f, ", which is before it is due: it will not be sent."),
                    false => write!(f, ", and is not sent after that."),
                }
            }
        }
    }
}

/// What to do about a dead letter.
fn remedy(reason: Option<&str>, id: MessageId) -> String {
    let redrive = format!("`outbox dead-letters redrive {id}`");
    match reason {
        Some("permanent") => format!(
            "Mend what was refused, the message (`outbox dead-letters edit {id}`) or its channel, and send it again: \
             {redrive}."
        ),
        Some("exhausted") => format!("Once the other side takes messages again: {redrive}."),
        Some("expired") => format!("To send it all the same, without the expiry that has passed: {redrive}."),
        Some("in_doubt") => format!(
            "Nobody knows whether it was delivered, and its channel sends at most once: ask the receiver for its \
             idempotency key. If it is not there: {redrive}; if it is: `outbox dead-letters purge {id}`."
        ),
        Some(_) | None => format!("To send it after all: {redrive}."),
    }
}

fn attempts_made(attempts: i32) -> String {
    match attempts {
        0 => "no attempt".to_owned(),
        1 => "1 attempt".to_owned(),
        more => format!("{more} attempts"),
    }
}

fn ahead(ms: Option<i64>) -> String {
    ms.map_or_else(String::new, |ms| format!(" (in {})", span(ms)))
}
