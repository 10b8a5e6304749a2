//! Why a message was sent more than once, as far as the database shows it.

use std::collections::BTreeSet;

use outbox_desk::{AttemptEntry, AuditEntry, MessageFacts, MessageRecord, TermEntry};
use outbox_store::Status;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::attempts::{in_time, is_in_doubt, was_fenced, was_kept, was_known, was_refused, was_unmarked};
use super::said::Said;
use super::{Again, Holder};

/// Whether a message was sent more than once, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Repetition {
    /// The answer in one word.
    pub verdict: Verdict,
    /// The answer in one sentence.
    pub sentence: String,
    /// What happened, the oldest first. Empty where nothing did.
    pub causes: Vec<Said<Again>>,
}

/// What the recorded attempts say about deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// At most one delivery, and no other request that got an answer.
    Once,
    /// The same, of a message that repeats another one.
    Replay,
    /// The same, of a message that another one repeats.
    Replayed,
    /// One attempt ended in doubt, and no other attempt delivered. The receiver may have, or may get, the message
    /// twice.
    InDoubt,
    /// One delivery that could not be marked. The message is not `SUCCESS`, and may be delivered a second time.
    DeliveredUnmarked,
    /// The message was sent more than once, and the receiver recognised it: it did it once.
    Recognised,
    /// The receiver answered more than one request, and accepted at most one.
    SeveralRequests,
    /// One delivery and an attempt in doubt, or several attempts in doubt.
    PerhapsTwice,
    /// The receiver accepted the message more than once.
    Twice,
}

/// An entry of the attempts or of the audit, in the order of time.
enum Entry<'a> {
    Attempt(&'a AttemptEntry),
    Audit(&'a AuditEntry),
}

impl Repetition {
    pub(super) fn of(facts: &MessageFacts) -> Self {
        let message = &facts.message;
        let accepted = message.status == Status::Success.as_str();
        let mut causes = causes(facts, accepted);
        if accepted && (!causes.is_empty() || is_known(message)) {
            causes.push(last(facts));
        }
        let replays = replays(message);
        let verdict = match verdict(message, accepted) {
            // The last word is that of the receiver.
            Verdict::PerhapsTwice | Verdict::SeveralRequests if is_known(message) => Verdict::Recognised,
            Verdict::Once if message.replay_of.is_some() => Verdict::Replay,
            Verdict::Once if !replays.is_empty() => Verdict::Replayed,
            verdict => verdict,
        };
        causes.extend(replays);
        let repeats = |first| Again::Repeats { first, sent_key: message.sent_key.clone() };
        causes.splice(0..0, message.replay_of.map(repeats));
        Self { verdict, sentence: sentence(verdict, message), causes: causes.into_iter().map(Said::from).collect() }
    }
}

fn verdict(message: &MessageRecord, accepted: bool) -> Verdict {
    let log = &message.attempt_log;
    // A delivery that could not be marked, and then was fenced, has two entries. One that was marked in the end is that of the
    // message.
    let delivered: BTreeSet<_> = log.iter().filter(|attempt| is_a_delivery(attempt, message)).map(of_attempt).collect();
    // For an attempt in doubt that turns out to be delivered, both are recorded.
    let in_doubt = |attempt: &&AttemptEntry| is_in_doubt(attempt) && !delivered.contains(&of_attempt(attempt));
    let doubts = log.iter().filter(in_doubt).count();
    let answered = log.iter().filter(|attempt| was_refused(attempt)).count();
    let delivered = delivered.len() + usize::from(accepted);
    match (delivered, doubts) {
        (2.., _) => Verdict::Twice,
        (1, 1..) | (0, 2..) => Verdict::PerhapsTwice,
        (0, 1) => Verdict::InDoubt,
        (1, 0) if !accepted => Verdict::DeliveredUnmarked,
        (0 | 1, 0) if delivered + answered > 1 => Verdict::SeveralRequests,
        (0 | 1, 0) => Verdict::Once,
    }
}

/// What tells an attempt from others.
fn of_attempt(attempt: &AttemptEntry) -> (i32, i64, &str) {
    (attempt.number, attempt.epoch, &attempt.holder)
}

/// Whether the entry is of a delivery beside that which made the message `SUCCESS`.
fn is_a_delivery(attempt: &AttemptEntry, message: &MessageRecord) -> bool {
    was_fenced(attempt) || was_unmarked(attempt) && !was_marked_later(attempt, message)
}

/// Whether the delivery could be marked in the end. Otherwise a later term has settled its attempt, and the entry says so.
fn was_marked_later(attempt: &AttemptEntry, message: &MessageRecord) -> bool {
    let settled =
        message.attempt_log.iter().any(|other| is_in_doubt(other) && of_attempt(other) == of_attempt(attempt));
    message.status == Status::Success.as_str() && message.attempts == attempt.number && !settled
}

fn sentence(verdict: Verdict, message: &MessageRecord) -> String {
    let pending = message.status == Status::Pending.as_str();
    match verdict {
        Verdict::Once => "Nothing says that it was sent more than once.",
        Verdict::Replay => "It is a replay, and nothing says that it was sent more than once itself.",
        Verdict::Replayed => "An operator had it sent again.",
        Verdict::InDoubt if pending => {
            "It may have been delivered once, which nobody knows, and it is to be sent again with the same idempotency \
             key."
        }
        Verdict::InDoubt => "It may have been delivered once, which nobody knows, and it is not sent again by itself.",
        Verdict::DeliveredUnmarked if pending => {
            "It was delivered, which could not be marked, and it is to be sent again with the same idempotency key."
        }
        Verdict::DeliveredUnmarked => {
            "It was delivered, which could not be marked, and it is not sent again by itself."
        }
        Verdict::Recognised => "It was sent more than once, and the receiver recognised it: it did it once.",
        Verdict::SeveralRequests => "It was requested more than once, and accepted once at most.",
        Verdict::PerhapsTwice => "It may have been delivered more than once: not every attempt has a known end.",
        Verdict::Twice => "It was delivered more than once.",
    }
    .to_owned()
}

fn causes(facts: &MessageFacts, accepted: bool) -> Vec<Again> {
    let entries = in_order(&facts.message);
    let pending = facts.message.status == Status::Pending.as_str();
    let last_attempt = entries.iter().rposition(|entry| matches!(entry, Entry::Attempt(_)));
    let (mut doubtful, mut requested) = (false, false);
    let mut causes = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        match entry {
            Entry::Attempt(attempt) => {
                let again = accepted || pending || last_attempt.is_some_and(|last| place < last);
                let cause = if is_in_doubt(attempt) || was_fenced(attempt) || was_unmarked(attempt) {
                    doubtful = true;
                    Some(doubt(attempt, facts))
                } else {
                    refused(attempt).filter(|_| again)
                };
                requested |= cause.is_some();
                causes.extend(cause);
            }
            // A redrive that was undone made nothing go out.
            Entry::Audit(entry) if requested && entry.action == "redrive" && !was_undone(&entries[place + 1..]) => {
                causes.push(Again::Redriven {
                    at: entry.at.clone(),
                    by: entry.who.clone(),
                    why: entry.why.clone(),
                    after_doubt: doubtful,
                });
            }
            Entry::Audit(entry) if entry.action == "edit" => causes.extend(edited(entry)),
            Entry::Audit(_) => {}
        }
    }
    causes
}

/// The replays of the message, but for those that were taken back.
fn replays(message: &MessageRecord) -> Vec<Again> {
    let of = |entry: &AuditEntry| -> Option<(i64, bool)> {
        let details: serde_json::Value = serde_json::from_str(entry.details.as_deref()?).ok()?;
        Some((details["replay"].as_i64()?, details["new_key"].as_bool().unwrap_or_default()))
    };
    let undone = message.audit.iter().filter(|entry| entry.action == "undo").filter_map(of);
    let undone: BTreeSet<_> = undone.map(|(replay, _)| replay).collect();
    let replays = message.audit.iter().filter(|entry| entry.action == "replay").filter_map(|entry| {
        let (replay, new_key) = of(entry).filter(|(replay, _)| !undone.contains(replay))?;
        let (at, by, why) = (entry.at.clone(), entry.who.clone(), entry.why.clone());
        Some(Again::Replayed { at, by, why, replay, new_key })
    });
    replays.collect()
}

/// The entries of both logs, in the order of time.
fn in_order(message: &MessageRecord) -> Vec<Entry<'_>> {
    let mut entries: Vec<_> = message.attempt_log.iter().map(Entry::Attempt).collect();
    entries.extend(message.audit.iter().map(Entry::Audit));
    // Both logs are in order already. A text of RFC 3339 in UTC sorts by time.
    entries.sort_by(|one, other| one.at().cmp(other.at()));
    entries
}

impl Entry<'_> {
    fn at(&self) -> &str {
        match self {
            Self::Attempt(attempt) => in_time(attempt).unwrap_or_default(),
            Self::Audit(entry) => &entry.at,
        }
    }
}

fn was_undone(later: &[Entry<'_>]) -> bool {
    matches!(later.first(), Some(Entry::Audit(next)) if next.action == "undo")
}

/// The requests since the last redrive that got an answer, and counted as no attempt.
pub(super) fn uncounted(message: &MessageRecord) -> usize {
    let redriven = message.audit.iter().rfind(|entry| entry.action == "redrive").map(|entry| entry.at.as_str());
    let counts =
        |attempt: &&AttemptEntry| was_refused(attempt) && was_deferred(attempt) && in_time(attempt) >= redriven;
    message.attempt_log.iter().filter(counts).count()
}

/// Whether the attempt was not counted: the message waits with its destination, and has as many attempts left as before.
fn was_deferred(attempt: &AttemptEntry) -> bool {
    attempt.outcome == "deferred"
}

/// Whether the message is `SUCCESS` because the receiver knew its key.
fn is_known(message: &MessageRecord) -> bool {
    kept_delivery(message).is_some_and(was_known)
}

/// The entry of the delivery that made the message `SUCCESS`, where there is one.
pub(super) fn kept_delivery(message: &MessageRecord) -> Option<&AttemptEntry> {
    message.attempt_log.iter().rfind(|attempt| was_kept(attempt)).filter(|_| message.status == Status::Success.as_str())
}

fn doubt(attempt: &AttemptEntry, facts: &MessageFacts) -> Again {
    let AttemptEntry { number, epoch, claimed_at, started_at, duration_ms, error, .. } = attempt.clone();
    let holder = Holder::from(attempt);
    if was_fenced(attempt) {
        return Again::DeliveredFenced { attempt: number, epoch, holder, at: started_at };
    }
    if was_unmarked(attempt) {
        return Again::DeliveredUnmarked { attempt: number, epoch, holder, at: started_at, error };
    }
    if !attempt.was_settled() {
        return Again::NoAnswer { attempt: number, epoch, holder, at: started_at, duration_ms, error };
    }
    let term = facts.terms.iter().find(|term| term.epoch == epoch);
    let (ended_because, failover) =
        (term.and_then(|term| term.ended_because.clone()), term.and_then(TermEntry::failover));
    if attempt.was_left_by_a_crash() {
        Again::Killed { attempt: number, epoch, holder, claimed_at, ended_because, failover }
    } else {
        Again::HandedOver { attempt: number, epoch, holder, claimed_at, ended_because, failover }
    }
}

fn refused(attempt: &AttemptEntry) -> Option<Again> {
    let status_code = attempt.status_code.filter(|_| was_refused(attempt))?;
    let AttemptEntry { number, epoch, started_at, error, .. } = attempt.clone();
    let uncounted = was_deferred(attempt);
    Some(Again::Refused {
        attempt: number,
        epoch,
        holder: attempt.into(),
        at: started_at,
        status_code,
        error,
        uncounted,
    })
}

fn edited(entry: &AuditEntry) -> Option<Again> {
    let details: serde_json::Value = serde_json::from_str(entry.details.as_deref()?).ok()?;
    let key = |name: &str| details[name].as_str().map(str::to_owned);
    let (at, by) = (entry.at.clone(), entry.who.clone());
    Some(Again::Edited { at, by, old_key: key("idempotency_key")?, new_key: key("new_idempotency_key")? })
}

/// The delivery that made the message `SUCCESS`.
fn last(facts: &MessageFacts) -> Again {
    let message = &facts.message;
    let finished = message.finished_at.as_deref();
    let kept = kept_delivery(message);
    // A term that began in the same moment had nothing to finish yet.
    let led = facts.terms.iter().rfind(|term| finished.is_some_and(|at| term.started_at.as_str() < at));
    Again::Accepted {
        attempt: message.attempts,
        at: message.finished_at.clone(),
        idempotency_key: message.key_sent().to_owned(),
        epoch: kept.map(|attempt| attempt.epoch),
        holder: kept.map(|attempt| attempt.holder.clone()),
        instance: kept.and_then(|attempt| attempt.instance.clone()),
        known: is_known(message),
        epoch_then: led.map(|term| term.epoch),
        holder_then: led.map(|term| term.holder.clone()),
        instance_then: led.and_then(|term| term.instance.clone()),
    }
}
