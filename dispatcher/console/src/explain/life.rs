//! The life of a message: its recorded events, the oldest first.

use outbox_desk::{AttemptEntry, AuditEntry, MessageRecord, NamingClaim};
use outbox_schema::MessageId;
use outbox_store::Status;

use super::attempts::{in_time, is_in_doubt, was_fenced, was_unmarked};
use super::words::said;
use super::{Holder, Mention, Subject};
use crate::text::span;

/// An event in the life of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// When it happened. None where that is not recorded.
    pub at: Option<String>,
    /// What happened.
    pub what: String,
    /// More to read about it: the beginning of an answer, or what a change overwrote.
    pub more: Option<String>,
    /// The messages, destinations, terms and other things that the words of the event mention.
    pub mentions: Vec<Mention>,
    /// The time by which events are sorted.
    place: Option<String>,
}

impl Event {
    fn new(at: impl Into<Option<String>>, what: impl Into<String>) -> Self {
        let at = at.into();
        Self { place: at.clone(), at, what: what.into(), more: None, mentions: Vec::new() }
    }

    fn mentioning(self, mentions: impl IntoIterator<Item = Mention>) -> Self {
        Self { mentions: mentions.into_iter().collect(), ..self }
    }
}

/// The recorded events of a message, the oldest first.
pub fn life(message: &MessageRecord) -> Vec<Event> {
    let enqueued =
        message.replay_of.map_or_else(|| "enqueued".to_owned(), |first| format!("enqueued to repeat message {first}"));
    let first = message.replay_of.map(|first| Mention::message(MessageId(first)));
    let mut events = vec![Event::new(message.created_at.clone(), enqueued).mentioning(first)];
    events.extend(message.deferred_from.clone().map(|at| {
        Event::new(
            at,
            format!(
                "due from here on, and put off until {}: its destination is paused or at fault, or its channel not configured",
                message.available_at
            ),
        )
        .mentioning([Mention::new("its destination", Subject::Destination(message.destination.clone()))])
    }));
    events.extend(message.attempt_log.iter().map(|attempt| attempted(attempt, message)));
    for (place, entry) in message.audit.iter().enumerate() {
        let undone = message.audit.get(place + 1).is_some_and(|next| next.action == "undo");
        events.extend(earlier_death(entry).filter(|_| !undone));
        events.push(audited(entry));
    }
    events.extend(message.claim.as_ref().map(claimed));
    events.extend(finished(message));
    // A text of RFC 3339 in UTC sorts by time. An event without a time comes first.
    events.sort_by(|one, other| one.place.cmp(&other.place));
    events
}

fn attempted(attempt: &AttemptEntry, message: &MessageRecord) -> Event {
    let AttemptEntry { number, epoch, .. } = attempt;
    let holder = Holder::from(attempt);
    let took = said(" took ", attempt.duration_ms.map(span).as_ref());
    let outcome = if was_fenced(attempt) {
        "delivered, and its mark refused (fenced)".to_owned()
    } else if was_unmarked(attempt) {
        "delivered, which could not be recorded".to_owned()
    } else if is_in_doubt(attempt) {
        "in doubt".to_owned()
    } else {
        attempt.outcome.clone()
    };
    let code = said(" with status ", attempt.status_code.as_ref());
    let error = said(": ", attempt.error.as_ref());
    // A settled attempt has no beginning: its poller died before it could write that.
    let began = attempt.started_at.as_ref().filter(|began| !is_after_end(began, message));
    let at = began.or(attempt.claimed_at.as_ref()).cloned();
    let place = in_time(attempt).map(str::to_owned);
    let what = if attempt.was_settled() {
        format!("attempt {number} claimed by {holder}, epoch {epoch}, and {outcome}{error}")
    } else {
        format!("attempt {number} by {holder}, epoch {epoch},{took}: {outcome}{code}{error}")
    };
    let more = attempt.excerpt.as_deref().map(|excerpt| format!("answer: {}", excerpt.trim()));
    Event { more, place, ..Event::new(at, what).mentioning([Mention::term(*epoch)]) }
}

/// Whether a time is after the end of the message. The replica's clock says when an attempt began, and the database's when the
/// message ended: a cause must not seem to come after its effect.
fn is_after_end(began: &str, message: &MessageRecord) -> bool {
    message.finished_at.as_deref().is_some_and(|end| began > end)
}

fn audited(entry: &AuditEntry) -> Event {
    // An undo needs the id of the whole operation.
    let id = entry.part_of.unwrap_or(entry.id);
    let what = format!("audit {id}: {} by {}{}", entry.action, entry.who, said(": ", entry.why.as_ref()));
    let names_row = matches!(entry.action.as_str(), "replay" | "undo") && entry.part_of.is_some();
    let replay = entry.details.as_deref().and_then(replay_in).filter(|_| names_row);
    let more = match (replay, &entry.details) {
        (Some(replay), _) => Some(format!("by message {replay}")),
        (None, details) => details.as_ref().map(|details| format!("before: {details}")),
    };
    let mentions = entry.part_of.map(Mention::operation).into_iter();
    let mentions = mentions.chain(replay.map(|id| Mention::message(MessageId(id))));
    Event { more, ..Event::new(entry.at.clone(), what).mentioning(mentions) }
}

/// The row of a replay that an entry names.
fn replay_in(details: &str) -> Option<i64> {
    serde_json::from_str::<serde_json::Value>(details).ok()?["replay"].as_i64()
}

/// The death before a redrive. The redrive overwrote its time and reason in the row, and noted both in the audit.
fn earlier_death(entry: &AuditEntry) -> Option<Event> {
    if entry.action != "redrive" {
        return None;
    }
    let details: serde_json::Value = serde_json::from_str(entry.details.as_deref()?).ok()?;
    let reason = details["dead_reason"].as_str().unwrap_or("no reason");
    Some(Event::new(in_utc(details["finished_at"].as_str()?), format!("dead ({reason})")))
}

/// A time as all others are written. The JSON of PostgreSQL writes it with an offset, and leaves out zeros at the end.
fn in_utc(time: &str) -> String {
    let Some(time) = time.strip_suffix("+00:00") else { return time.to_owned() };
    let (seconds, fraction) = time.split_once('.').unwrap_or((time, ""));
    format!("{seconds}.{fraction:0<6}Z")
}

fn claimed(claim: &NamingClaim) -> Event {
    let settles = said("; being settled until ", claim.settles_at.as_ref());
    let what = format!("in flight: claimed by {}, epoch {}{settles}", Holder::from(claim), claim.epoch);
    Event::new(claim.claimed_at.clone(), what).mentioning([Mention::term(claim.epoch)])
}

fn finished(message: &MessageRecord) -> Option<Event> {
    let at = message.finished_at.clone();
    if message.status == Status::Success.as_str() {
        // Most channels keep no row of a plain success among the attempts.
        let what = format!(
            "delivered: attempt {} accepted{}{}",
            message.attempts,
            said(" with status ", message.last_status_code.as_ref()),
            said(", receipt ", message.receipt.as_ref())
        );
        return Some(Event::new(at, what));
    }
    let reason = message.dead_reason.as_deref().unwrap_or("no reason");
    (message.status == Status::Dead.as_str())
        .then(|| Event::new(at, format!("dead ({reason}){}", said(": ", message.last_error.as_ref()))))
}
