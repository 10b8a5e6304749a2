//! The rules, in the order and by the numbers of docs/guarantees.md.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, SystemTime};

use super::{Accounts, Trail, instance, places};
use crate::tables::{AttemptRow, MessageRow};

/// From the gate to the receiver's log: a busy machine takes its time. What is sent in another's term comes later.
const ON_ITS_WAY: Duration = Duration::from_secs(1);

/// Claims are dated in milliseconds.
const RESOLUTION: Duration = Duration::from_millis(1);

/// 1: epochs strictly increase, each has one holder, and no term is newer than the term row.
pub(super) fn epochs_increase(accounts: &Accounts, breaches: &mut Vec<String>) {
    for pair in accounts.terms.windows(2).filter(|pair| pair[0].epoch >= pair[1].epoch) {
        breaches.push(format!("epoch {} was followed by epoch {}", pair[0].epoch, pair[1].epoch));
    }
    let last = accounts.terms.last().map(|term| (term.epoch, term.holder.as_str()));
    let newest = accounts.newest.as_ref().filter(|newest| newest.epoch > 0);
    let newest = newest.map(|newest| (newest.epoch, newest.holder.as_str()));
    if last != newest {
        breaches.push(format!("outbox_term says {newest:?}, and outbox_term_log {last:?}"));
    }
    for attempt in &accounts.attempts {
        let (id, epoch, holder) = (attempt.message_id, attempt.epoch, &attempt.holder);
        if !accounts.terms.iter().any(|term| term.epoch == epoch && term.holder == *holder) {
            breaches.push(format!("an attempt of message {id} names epoch {epoch} of {holder}, which never was"));
        }
        if attempt.is_in_doubt() && attempt.settled == 1 && newest.is_none_or(|(newest, _)| epoch >= newest) {
            breaches.push(format!("message {id} was settled as in doubt of epoch {epoch}, which is the newest"));
        }
    }
}

/// 2: whenever a replica sends a message, it has claimed it before, as often as it has sent it by then.
pub(super) fn claimed_before_sent(accounts: &Accounts, trail: &Trail<'_>, breaches: &mut Vec<String>) {
    let places = places(&accounts.led);
    let mut claimed: HashMap<_, Vec<SystemTime>> = HashMap::new();
    for claim in &accounts.claims {
        let Some(place) = places.get(instance(&claim.holder)) else { continue };
        for id in &claim.message_ids {
            claimed.entry((*place, *id)).or_default().push(claim.written);
        }
    }
    for message in &accounts.messages {
        let mut sent: HashMap<_, usize> = HashMap::new();
        for request in trail.requests(message).iter().filter(|_| !accounts.led.is_empty()) {
            let Some(place) = request.replica else { continue };
            let sent = sent.entry(place).or_default();
            *sent += 1;
            // Of these each request used up one, in the order of arrival: what came too late for one is no use to it.
            let claims = claimed.get(&(place, message.id)).into_iter().flatten();
            let claimed = claims.filter(|written| **written <= request.wall_clock + RESOLUTION).count();
            if *sent > claimed {
                let key = &message.idempotency_key;
                breaches.push(format!(
                    "{key} was sent {sent} times by replica {place}, which had claimed it {claimed} times"
                ));
            }
        }
    }
}

/// 3: no `SUCCESS` without an accepted send.
pub(super) fn success_was_accepted(accounts: &Accounts, trail: &Trail<'_>, breaches: &mut Vec<String>) {
    for message in accounts.messages.iter().filter(|message| message.status == "SUCCESS") {
        if trail.accepted(message) == 0 {
            breaches.push(format!("{} is SUCCESS, and was never accepted", message.idempotency_key));
        }
    }
}

/// 4: what was committed has an outcome or waits for one; what was not is never sent.
pub(super) fn none_lost_and_none_invented(accounts: &Accounts, breaches: &mut Vec<String>) {
    let kept: HashSet<_> = accounts.messages.iter().map(|message| &message.idempotency_key).collect();
    for key in accounts.committed.iter().filter(|key| !kept.contains(key)) {
        breaches.push(format!("{key} was committed, and the outbox does not have it"));
    }
    for key in kept.iter().filter(|key| !accounts.committed.contains(**key)) {
        breaches.push(format!("{key} is in the outbox, and was not committed"));
    }
    let arrived: HashSet<_> = accounts.requests.iter().map(|request| &request.key).collect();
    for key in arrived.into_iter().filter(|key| !accounts.committed.contains(*key)) {
        let why = if accounts.rolled_back.contains(key) { "was rolled back" } else { "is nobody's" };
        breaches.push(format!("{key:?} {why}, and was sent"));
    }
    for message in &accounts.messages {
        match (message.status.as_str(), &message.dead_reason) {
            ("SUCCESS" | "PENDING", None) | ("DEAD", Some(_)) => {}
            (status, reason) => {
                breaches.push(format!("{} is {status} for the reason {reason:?}", message.idempotency_key));
            }
        }
    }
}

/// 5: each send counts an attempt, and no message has more than it may have.
pub(super) fn sends_are_counted(accounts: &Accounts, trail: &Trail<'_>, breaches: &mut Vec<String>) {
    for message in &accounts.messages {
        let (key, sent) = (&message.idempotency_key, trail.sent(message));
        let attempts = usize::try_from(message.attempts).unwrap();
        // A deferral is sent and burns no attempt; the last send of a message without an outcome may be on its way.
        let deferred = trail.attempts(message).filter(|attempt| attempt.outcome == "deferred").count();
        let counted = attempts + deferred + usize::from(message.status == "PENDING");
        if sent > counted {
            breaches.push(format!("{key} was sent {sent} times, and {counted} attempts were counted"));
        }
        let budget = accounts.limits.max_attempts;
        if attempts > budget {
            breaches.push(format!("{key} has {attempts} attempts, and a budget of {budget}"));
        }
    }
}

/// 6: sends beyond the first are explained by attempts on record, and deliveries beyond the first by attempts in doubt, of
/// which a change of poller leaves a bounded number; where a channel asks for it, there are none.
pub(super) fn duplicates_are_explained_and_bounded(accounts: &Accounts, trail: &Trail<'_>, breaches: &mut Vec<String>) {
    for message in &accounts.messages {
        let (key, accepted) = (&message.idempotency_key, trail.accepted(message));
        // A delivery whose mark was refused is on record beside the doubt that it was settled as.
        let recorded = trail.attempts(message).filter(|attempt| !attempt.outcome.starts_with("delivered_")).count();
        let sent = trail.sent(message);
        if sent > recorded + 1 {
            breaches.push(format!("{key} was sent {sent} times, and {recorded} attempts on record explain it"));
        }
        let doubts = trail.attempts(message).filter(|attempt| attempt.is_in_doubt()).count();
        if accepted > doubts + 1 {
            breaches.push(format!("{key} was accepted {accepted} times, and {doubts} attempts were in doubt"));
        }
        if accounts.limits.at_most_once && accepted > 1 {
            breaches.push(format!("{key} was accepted {accepted} times, and its channel sends at most once"));
        }
    }
    let mut left: HashMap<i64, usize> = HashMap::new();
    for attempt in accounts.attempts.iter().filter(|attempt| attempt.is_in_doubt() && attempt.settled == 1) {
        *left.entry(attempt.epoch).or_default() += 1;
    }
    let bound = accounts.limits.max_in_flight;
    for (epoch, left) in left.into_iter().filter(|(_, left)| *left > bound) {
        breaches.push(format!("epoch {epoch} left {left} messages in doubt, and {bound} may be in flight"));
    }
}

/// 7: a replica starts no send but in a term of its own.
pub(super) fn only_the_poller_sends(accounts: &Accounts, breaches: &mut Vec<String>) {
    for request in accounts.requests.iter().filter(|_| accounts.led_by_this_clock) {
        let Some(place) = request.replica else { continue };
        let arrived = request.wall_clock;
        let led = accounts.led.iter().filter(|term| term.place == place).any(|term| {
            // The log line is written when the epoch is there; the first claim comes after it.
            term.began <= arrived + ON_ITS_WAY && term.ended.is_none_or(|ended| arrived <= ended + ON_ITS_WAY)
        });
        if !led {
            breaches.push(format!("{} was sent by replica {place}, which did not lead then", request.key));
        }
    }
}

/// 8: messages of one ordering key neither overtake each other nor overlap. (What a sender gave up, in doubt, may be
/// on the receiver's hands for longer than the sender can know.)
pub(super) fn ordering_keys_hold(accounts: &Accounts, trail: &Trail<'_>, breaches: &mut Vec<String>) {
    let mut last: HashMap<&str, &MessageRow> = HashMap::new();
    let ordered = accounts.messages.iter().filter_map(|message| Some((message.ordering_key.as_deref()?, message)));
    for (key, message) in ordered.filter(|(_, message)| trail.sent(message) > 0) {
        let Some(before) = last.insert(key, message) else { continue };
        let first = trail.requests(message)[0].arrived;
        let given_up = trail.attempts(before).any(AttemptRow::is_in_doubt);
        let (before_key, this) = (&before.idempotency_key, &message.idempotency_key);
        for request in trail.requests(before) {
            if request.arrived >= first {
                breaches.push(format!("{this} overtook {before_key}, both of the ordering key {key}"));
            } else if !given_up && request.is_accepted() && request.was_open_at(first) {
                breaches.push(format!("{this} overlapped {before_key}, both of the ordering key {key}"));
            }
        }
    }
}
