//! The causes for which a message has not been sent, and their words.

use std::fmt;

use outbox_schema::MessageId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::said::Said;
use super::words::{known, said};
use super::{Holder, Mention, Mentions, Subject, named, sentences};
use crate::text::{span, to_the_second};

/// Why a message has not been sent. Times are texts of the database; `*_ms` are milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "cause", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields are named as the columns that they come from")]
pub enum NotSent {
    /// The message has been sent: the receiver accepted it.
    Delivered {
        at: Option<String>,
        attempts: i32,
        status_code: Option<i32>,
        receipt: Option<String>,
        /// The replica that delivered it, and its term, where the channel keeps a record of deliveries.
        holder: Option<String>,
        /// The name of that replica, where it is known.
        #[serde(default)]
        instance: Option<String>,
        epoch: Option<i64>,
    },
    /// The application wrote the row with an outcome, so no replica sent the message.
    BornFinished { status: String },
    /// The message is a dead letter.
    Dead {
        message: MessageId,
        reason: Option<String>,
        at: Option<String>,
        attempts: i32,
        error: Option<String>,
        /// Who cancelled the message, where the audit has that.
        cancelled_by: Option<String>,
        why: Option<String>,
        /// Who edited the message last since it died.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        edited_by: Option<String>,
    },
    /// The status in the row is unknown.
    UnknownStatus { status: String },
    /// The receiver accepted the message, and that could not be recorded so far.
    AcceptedUnmarked {
        at: Option<String>,
        #[serde(flatten)]
        holder: Holder,
        epoch: i64,
        error: Option<String>,
    },
    /// A claim of the present term names the message.
    InFlight {
        since: String,
        #[serde(flatten)]
        holder: Holder,
        epoch: i64,
        gate_closed_at: Option<String>,
    },
    /// A claim of an earlier term names the message.
    BeingSettled {
        since: String,
        #[serde(flatten)]
        holder: Holder,
        epoch: i64,
        until: Option<String>,
    },
    /// The settings have no such channel: those of the poller, or of the replica that explains.
    ChannelNotConfigured {
        channel: String,
        put_off_until: Option<String>,
        /// The name of the poller, where it lacks the channel and another replica has it.
        poller: Option<String>,
        /// Whether the settings of the replicas were looked at, and not only those of who explains.
        #[serde(default)]
        at_replicas: bool,
    },
    /// A dead letter before the message halts its ordering key.
    Halted { ordering_key: String, behind: MessageId, dead_reason: Option<String> },
    /// Another message of the same ordering key goes first.
    WaitsBehind {
        ordering_key: String,
        behind: MessageId,
        /// How many messages go first. 10,000 also stands for more.
        waiting: i64,
        /// Why the first of them has not been sent.
        #[schema(no_recursion)]
        because: Vec<Said<NotSent>>,
    },
    /// A later message of the same ordering key is in flight: the present one was redriven meanwhile.
    KeyInFlight { ordering_key: String, message: MessageId },
    /// The target of the message is known to be gone.
    InvalidTarget { channel: String, target: String, since: String, reason: Option<String> },
    /// The destination or the channel is paused: by an operator, or at the destination's own request.
    Paused { destination: String, until: String, remaining_ms: Option<i64>, by: Option<String>, reason: Option<String> },
    /// The breaker of the destination is open after too many failed attempts.
    BreakerOpen {
        destination: String,
        until: String,
        remaining_ms: Option<i64>,
        /// Pauses in a row.
        failures: i32,
        reason: Option<String>,
    },
    /// The poller deferred rows of the destination, so that they do not stand in the way of others.
    PutAside {
        destination: String,
        until: String,
        in_ms: Option<i64>,
        /// When the message was first due.
        since: String,
        /// Deferred rows of the destination, this message included.
        waiting: i64,
        reason: Option<String>,
    },
    /// The message is deferred, by itself. Or the pause behind that has ended, or the channel is configured by now.
    PutOff {
        since: String,
        until: String,
        /// The error of the last attempt. It was not counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// An attempt failed, and the next one is scheduled.
    NextAttempt {
        at: String,
        in_ms: Option<i64>,
        attempt: i32,
        /// The attempts that the message may have. Left out where the settings have no such channel.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<i64>,
        status_code: Option<i32>,
        error: Option<String>,
    },
    /// The message is not due yet.
    NotDue { at: String, in_ms: Option<i64> },
    /// The message's `expires_at` has passed.
    Expired { at: String },
    /// The message has used all its attempts.
    AttemptsUsedUp { attempts: i32, of: i64 },
    /// The message is older than its channel retries messages.
    TooOld { tried_for_ms: i64, max_age_ms: i64 },
    /// The message's own `max_attempts` is not a positive number.
    WrongMaxAttempts { max_attempts: i32 },
    /// No replica has ever led the shard of the message.
    NeverPolled {
        shard: i32,
        /// The number of replicas that run.
        #[serde(default)]
        running: usize,
        /// The newest trouble that one of them says it has, behind its name.
        #[serde(default)]
        trouble: Option<String>,
    },
    /// The last term of the shard has ended, or is too old to last still, and no other has begun.
    NotPolled {
        shard: i32,
        epoch: i64,
        #[serde(flatten)]
        holder: Holder,
        began: String,
        began_ms: i64,
        /// When the term ended. None where its poller died before it could write that.
        ended: Option<String>,
        ended_because: Option<String>,
        /// The number of replicas that run.
        #[serde(default)]
        running: usize,
        /// The newest trouble that one of them says it has, behind its name.
        #[serde(default)]
        trouble: Option<String>,
    },
    /// The message was in flight when a poller died.
    Suspect {
        attempt: i32,
        epoch: i64,
        #[serde(flatten)]
        holder: Holder,
    },
    /// The poller has read the message, and its schedule has not chosen it yet. Only the replica that polls says so.
    Waits {
        /// `full`, `closed`, `bytes`, `strangers` or `turn`, as the metric `outbox_waiting` has it.
        why: String,
        destination: String,
        tenant: String,
        /// Messages in flight to the destination.
        in_flight: Option<usize>,
        /// The most that may be in flight to it now.
        window: Option<usize>,
        /// Whether the destination takes more messages, in words.
        standing: Option<String>,
    },
    /// Other due messages go first.
    Backlog {
        ahead: i64,
        oldest_ms: Option<i64>,
        /// Who takes turns with others in the channel. None where nobody does.
        tenant: Option<String>,
        /// How many of the messages before it are of the same tenant.
        of_tenant: i64,
    },
    /// The message is due, and nothing keeps it from being sent.
    Due { since: String, for_ms: Option<i64> },
    /// Beside the other causes: an attempt timed out, and the next one waits longer for an answer.
    LongerDeadline { deadline_ms: i64 },
    /// Beside the other causes: the message will not be sent after this time.
    Expires { at: String, in_ms: Option<i64>, before_due: bool },
}

impl Mentions for NotSent {
    fn mentions(&self) -> Vec<Mention> {
        match self {
            Self::Delivered { epoch, .. } => epoch.iter().copied().map(Mention::term).collect(),
            Self::AcceptedUnmarked { epoch, .. }
            | Self::InFlight { epoch, .. }
            | Self::BeingSettled { epoch, .. }
            | Self::NotPolled { epoch, .. }
            | Self::Suspect { epoch, .. } => vec![Mention::term(*epoch)],
            Self::ChannelNotConfigured { channel, .. } => {
                vec![Mention::new(format!("channel {channel:?}"), Subject::Channel(channel.clone()))]
            }
            Self::Halted { ordering_key, behind: message, .. } | Self::KeyInFlight { ordering_key, message } => {
                vec![Mention::message(*message), Mention::ordering_key(ordering_key)]
            }
            Self::WaitsBehind { ordering_key, behind, because, .. } => {
                let mut mentions = vec![Mention::message(*behind), Mention::ordering_key(ordering_key)];
                mentions.extend(because.iter().take(1).flat_map(|said| said.cause.mentions()));
                mentions
            }
            Self::InvalidTarget { channel, target, .. } => {
                let gone = Subject::InvalidTarget { channel: channel.clone(), target: target.clone() };
                vec![Mention::new("known to be gone", gone)]
            }
            Self::Waits { destination, .. }
            | Self::Paused { destination, .. }
            | Self::BreakerOpen { destination, .. }
            | Self::PutAside { destination, .. } => vec![Mention::destination(destination)],
            Self::Backlog { tenant, .. } => {
                let of = |tenant: &String| Mention::new(format!("tenant {tenant}"), Subject::Tenant(tenant.clone()));
                tenant.iter().map(of).collect()
            }
            Self::BornFinished { .. }
            | Self::Dead { .. }
            | Self::UnknownStatus { .. }
            | Self::PutOff { .. }
            | Self::NextAttempt { .. }
            | Self::NotDue { .. }
            | Self::Expired { .. }
            | Self::AttemptsUsedUp { .. }
            | Self::TooOld { .. }
            | Self::WrongMaxAttempts { .. }
            | Self::NeverPolled { .. }
            | Self::Due { .. }
            | Self::LongerDeadline { .. }
            | Self::Expires { .. } => Vec::new(),
        }
    }
}

impl fmt::Display for NotSent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentence = match self {
            Self::Delivered { at, attempts, status_code, receipt, holder, instance, epoch } => {
                let (code, receipt) =
                    (said(" with status ", status_code.as_ref()), said(", receipt ", receipt.as_ref()));
                let by = holder.as_ref().map(|holder| named(holder, instance.as_deref()));
                let by = format!("{}{}", said(", sent by ", by.as_ref()), said(" in epoch ", epoch.as_ref()));
                format!("It was sent: accepted at {} on attempt {attempts}{code}{receipt}{by}.", known(at.as_ref()))
            }
            Self::BornFinished { status } => {
                format!("It was written with the status {status}, so no replica ever sent it.")
            }
            Self::Dead { message, reason, at, attempts, error, cancelled_by, why, edited_by } => {
                let because = match reason.as_deref() {
                    Some("cancelled") => sentences::cancelled(cancelled_by.as_deref(), why.as_ref()),
                    reason => sentences::died(reason, *attempts, error.as_ref()),
                };
                let remedy = sentences::remedy(reason.as_deref(), *message, edited_by.as_ref());
                format!("It is a dead letter since {}, {because}. {remedy}", known(at.as_ref()))
            }
            Self::UnknownStatus { status } => sentences::unknown_status(status),
            Self::AcceptedUnmarked { at, holder, epoch, error } => {
                sentences::accepted_unmarked(at.as_ref(), holder, *epoch, error.as_ref())
            }
            Self::InFlight { since, holder, epoch, gate_closed_at } => {
                sentences::in_flight(since, holder, *epoch, gate_closed_at.as_ref())
            }
            Self::BeingSettled { since, holder, epoch, until } => {
                sentences::being_settled(since, holder, *epoch, until.as_ref())
            }
            Self::ChannelNotConfigured { channel, put_off_until, poller, at_replicas } => {
                sentences::not_configured(channel, put_off_until.as_ref(), poller.as_ref(), *at_replicas)
            }
            Self::Halted { ordering_key, behind, dead_reason } => {
                sentences::halted(ordering_key, *behind, dead_reason.as_ref())
            }
            Self::WaitsBehind { ordering_key, behind, waiting, because } => {
                sentences::waits_behind(ordering_key, *behind, *waiting, because.first().map(|said| &*said.sentence))
            }
            Self::KeyInFlight { ordering_key, message } => sentences::key_in_flight(ordering_key, *message),
            Self::InvalidTarget { channel, target, since, reason } => {
                sentences::invalid_target(channel, target, since, reason.as_ref())
            }
            Self::Paused { destination, until, remaining_ms, by, reason } => {
                sentences::paused(destination, until, *remaining_ms, by.as_ref(), reason.as_ref())
            }
            Self::BreakerOpen { destination, until, remaining_ms, failures, reason } => {
                sentences::breaker_open(destination, until, *remaining_ms, *failures, reason.as_ref())
            }
            Self::PutAside { destination, until, in_ms, since, waiting, reason } => {
                sentences::put_aside(destination, until, *in_ms, since, *waiting, reason.as_ref())
            }
            Self::PutOff { since, until, error } => sentences::put_off(since, until, error.as_deref()),
            Self::NextAttempt { at, in_ms, attempt, of, status_code, error } => {
                let (code, error) = (said(" with status ", status_code.as_ref()), said(": ", error.as_ref()));
                let (of, at) = (said(" of ", of.as_ref()), sentences::later(at, *in_ms));
                format!("It waits for attempt {attempt}{of} at {at}. The last one failed{code}{error}.")
            }
            Self::NotDue { at, in_ms } => format!("It is not due until {}.", sentences::later(at, *in_ms)),
            Self::Expired { at } => sentences::expired(at),
            Self::AttemptsUsedUp { attempts, of } => sentences::used_up(*attempts, *of),
            Self::TooOld { tried_for_ms, max_age_ms } => sentences::too_old(*tried_for_ms, *max_age_ms),
            Self::WrongMaxAttempts { max_attempts } => sentences::wrong_max_attempts(*max_attempts),
            Self::NeverPolled { shard, running, trouble } => {
                format!("No replica has ever polled shard {shard}. {}", sentences::who_runs(*running, trouble.as_ref()))
            }
            Self::NotPolled { shard, epoch, holder, began, began_ms, ended, ended_because, running, trouble } => {
                let last = match ended {
                    Some(at) => sentences::ended(*shard, *epoch, holder, at, ended_because.as_ref()),
                    None => sentences::silent(*shard, *epoch, holder, began, *began_ms),
                };
                let who_runs = sentences::who_runs(*running, trouble.as_ref());
                format!("{last}, and no replica has begun another. {who_runs}")
            }
            Self::Suspect { attempt, epoch, holder } => sentences::suspect(*attempt, *epoch, holder),
            Self::Waits { why, destination, tenant, in_flight, window, standing } => {
                sentences::waits_at_poller(why, destination, tenant, in_flight.zip(*window), standing.as_deref())
            }
            Self::Backlog { ahead, oldest_ms, tenant, of_tenant } => {
                sentences::backlog(*ahead, *oldest_ms, tenant.as_deref(), *of_tenant)
            }
            Self::Due { since, for_ms } => {
                let waited = for_ms.map_or_else(String::new, |ms| format!(" ({})", span(ms)));
                let since = to_the_second(since);
                format!("It is due since {since}{waited}, and nothing keeps it: the next poll takes it.")
            }
            Self::LongerDeadline { deadline_ms } => format!(
                "Its next attempt waits up to {} for an answer: one before it timed out, and each that does doubles that time, up to a \
                 minute.",
                span(*deadline_ms)
            ),
            Self::Expires { at, in_ms, before_due } => {
                let then = if *before_due {
                    "which is before it is due: it will not be sent"
                } else {
                    "and is not sent after that"
                };
                format!("It expires at {}, {then}.", sentences::later(at, *in_ms))
            }
        };
        f.write_str(&sentence)
    }
}
