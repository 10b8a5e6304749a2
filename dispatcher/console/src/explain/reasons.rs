//! From the facts to the causes for which a message has not been sent.

use outbox_desk::{
    AttemptEntry, Backlog, DestinationEntry, InvalidTarget, MessageFacts, MessageRecord, PausedDestination, RunsBy,
};
use outbox_schema::MessageId;
use outbox_store::{LONGEST_DEADLINE, PauseKind, Status};

use super::attempts::was_unmarked;
use super::said::Said;
use super::sent_twice::kept_delivery;
use super::{Holder, NotSent};
use crate::configured::Configured;
use crate::health::replicas::Replicas;

/// The causes, the deciding one first; never empty. `first` is the message that this one waits behind, where it does. `waits`
/// is what the schedule of this process says.
pub(super) fn of(
    facts: &MessageFacts,
    first: Option<&MessageFacts>,
    configured: &Configured,
    fleet: &Replicas,
    waits: Option<NotSent>,
) -> Vec<NotSent> {
    let message = &facts.message;
    match [Status::Pending, Status::Success, Status::Dead].into_iter().find(|known| known.as_str() == message.status) {
        None => vec![NotSent::UnknownStatus { status: message.status.clone() }],
        Some(Status::Success) if message.revision == 0 => {
            vec![NotSent::BornFinished { status: message.status.clone() }]
        }
        Some(Status::Success) => vec![delivered(message)],
        Some(Status::Dead) => [dead(message)].into_iter().chain(invalid_target(facts)).collect(),
        Some(Status::Pending) => pending(facts, first, configured, fleet, waits),
    }
}

fn delivered(message: &MessageRecord) -> NotSent {
    let kept = kept_delivery(message);
    NotSent::Delivered {
        at: message.finished_at.clone(),
        attempts: message.attempts,
        status_code: message.last_status_code,
        receipt: message.receipt.clone(),
        holder: kept.map(|attempt| attempt.holder.clone()),
        instance: kept.and_then(|attempt| attempt.instance.clone()),
        epoch: kept.map(|attempt| attempt.epoch),
    }
}

fn dead(message: &MessageRecord) -> NotSent {
    let cancelled = message.audit.iter().rev().find(|entry| entry.action == "cancel");
    let cancelled = cancelled.filter(|_| message.dead_reason.as_deref() == Some("cancelled"));
    let died = message.finished_at.as_deref();
    let edited = message.audit.iter().rfind(|entry| entry.action == "edit" && Some(entry.at.as_str()) >= died);
    NotSent::Dead {
        message: MessageId(message.id),
        reason: message.dead_reason.clone(),
        at: message.finished_at.clone(),
        attempts: message.attempts,
        error: message.last_error.clone(),
        cancelled_by: cancelled.map(|entry| entry.who.clone()),
        why: cancelled.and_then(|entry| entry.why.clone()),
        edited_by: edited.map(|entry| entry.who.clone()),
    }
}

fn invalid_target(facts: &MessageFacts) -> Option<NotSent> {
    let gone = facts.invalid_target.clone()?;
    let InvalidTarget { channel, target, observed_at: since, reason, .. } = gone;
    Some(NotSent::InvalidTarget { channel, target, since, reason })
}

fn pending(
    facts: &MessageFacts,
    first: Option<&MessageFacts>,
    configured: &Configured,
    fleet: &Replicas,
    waits: Option<NotSent>,
) -> Vec<NotSent> {
    let poller = no_poller(facts, configured, fleet);
    if let Some(out) = claimed(&facts.message) {
        return [accepted(&facts.message), Some(out), poller].into_iter().flatten().collect();
    }
    let mut causes = kept(facts, first, configured, fleet);
    let kept = !causes.is_empty();
    causes.extend(poller);
    causes.extend(expired(facts));
    if !kept && !facts.clock.expired {
        causes.extend(wrong_budget(&facts.message, configured).or_else(|| too_old(facts, configured)));
        causes.extend(suspect(&facts.message));
        causes.extend(waits);
        causes.extend(backlog(facts, configured));
    }
    if causes.is_empty() {
        let for_ms = facts.clock.due_in_ms.map(i64::saturating_neg);
        causes.push(NotSent::Due { since: facts.message.available_at.clone(), for_ms });
    }
    causes.extend(longer_deadline(&facts.message));
    causes.extend(expires(facts));
    causes
}

/// The delivery under the claim that names the message, where it could not be marked.
fn accepted(message: &MessageRecord) -> Option<NotSent> {
    let claim = message.claim.as_ref()?;
    let of_claim = |attempt: &&AttemptEntry| was_unmarked(attempt) && attempt.epoch == claim.epoch;
    let attempt = message.attempt_log.iter().rfind(of_claim)?;
    let (at, error) = (attempt.started_at.clone(), attempt.error.clone());
    Some(NotSent::AcceptedUnmarked { at, holder: attempt.into(), epoch: attempt.epoch, error })
}

fn claimed(message: &MessageRecord) -> Option<NotSent> {
    let claim = message.claim.clone()?;
    let holder = Holder::from(&claim);
    let (since, epoch) = (claim.claimed_at, claim.epoch);
    Some(match claim.superseded_at {
        None => NotSent::InFlight { since, holder, epoch, gate_closed_at: claim.gate_closed_at },
        Some(_) => NotSent::BeingSettled { since, holder, epoch, until: claim.settles_at },
    })
}

/// The causes that keep the message from being claimed, whichever replica polls.
fn kept(facts: &MessageFacts, first: Option<&MessageFacts>, configured: &Configured, fleet: &Replicas) -> Vec<NotSent> {
    let message = &facts.message;
    let mut causes = Vec::new();
    let poller = fleet.poller_without(message.shard, &message.channel);
    let lacks_channel = poller.is_some() || !configured.channels.contains_key(&message.channel);
    if lacks_channel {
        let put_off_until = message.deferred_from.is_some().then(|| message.available_at.clone());
        let poller = poller.map(str::to_owned);
        let lacks = |by: &RunsBy| !by.channels.contains_key(&message.channel);
        let at_replicas = fleet.runs_by().is_some_and(lacks);
        let channel = message.channel.clone();
        causes.push(NotSent::ChannelNotConfigured { channel, put_off_until, poller, at_replicas });
    }
    let ordering_key = message.ordering_key.clone().unwrap_or_default();
    if let Some(dead) = &facts.dead_before {
        let ordering_key = ordering_key.clone();
        causes.push(NotSent::Halted {
            ordering_key,
            behind: MessageId(dead.id),
            dead_reason: dead.dead_reason.clone(),
        });
    }
    if let Some(before) = &facts.before {
        let its = first.map_or_else(Vec::new, |first| of(first, None, configured, fleet, None));
        let because = its.into_iter().map(Said::from).collect();
        let (ordering_key, behind) = (ordering_key.clone(), before.first);
        causes.push(NotSent::WaitsBehind { ordering_key, behind, waiting: before.waiting, because });
    }
    causes.extend(facts.in_flight_after.map(|message| NotSent::KeyInFlight { ordering_key, message }));
    causes.extend(facts.pauses.iter().map(paused));
    if !facts.clock.due {
        causes.extend(not_due(facts, configured, lacks_channel));
    }
    causes
}

fn paused(pause: &PausedDestination) -> NotSent {
    let (destination, until, remaining_ms) =
        (pause.destination.clone(), pause.paused_until.clone(), pause.remaining_ms);
    if pause.pause_kind.as_deref() == Some(PauseKind::Breaker.as_str()) {
        let (failures, reason) = (pause.failures, pause.reason.clone());
        return NotSent::BreakerOpen { destination, until, remaining_ms, failures, reason };
    }
    NotSent::Paused { destination, until, remaining_ms, by: pause.paused_by.clone(), reason: pause.reason.clone() }
}

fn put_aside(facts: &MessageFacts, since: &str) -> Option<NotSent> {
    let DestinationEntry { destination, waiting, reason, .. } = facts.aside.clone()?;
    let (until, in_ms) = (facts.message.available_at.clone(), facts.clock.due_in_ms);
    Some(NotSent::PutAside { destination, until, in_ms, since: since.to_owned(), waiting, reason })
}

fn not_due(facts: &MessageFacts, configured: &Configured, lacks_channel: bool) -> Option<NotSent> {
    let message = &facts.message;
    let unexplained = facts.pauses.is_empty() && !lacks_channel;
    let (at, in_ms) = (message.available_at.clone(), facts.clock.due_in_ms);
    match &message.deferred_from {
        // The cause of a pause or of a missing channel says as much.
        Some(since) if unexplained => {
            let error = message.last_error.clone();
            put_aside(facts, since).or_else(|| Some(NotSent::PutOff { since: since.clone(), until: at, error }))
        }
        Some(_) => None,
        None if message.attempts > 0 => Some(NotSent::NextAttempt {
            at,
            in_ms,
            attempt: message.attempts.saturating_add(1),
            of: budget(message, configured),
            status_code: message.last_status_code,
            error: message.last_error.clone(),
        }),
        None => Some(NotSent::NotDue { at, in_ms }),
    }
}

fn no_poller(facts: &MessageFacts, configured: &Configured, fleet: &Replicas) -> Option<NotSent> {
    let shard = facts.message.shard;
    let running = fleet.running().count();
    let trouble = fleet.newest_trouble().map(|(name, trouble)| format!("{name} says: {trouble}"));
    let Some(term) = &facts.term else { return Some(NotSent::NeverPolled { shard, running, trouble }) };
    let log = facts.terms.iter().find(|logged| logged.epoch == term.epoch);
    let ended = log.and_then(|logged| logged.ended_at.clone());
    let lasts = i64::try_from(configured.lease.longest_term().as_millis()).unwrap_or(i64::MAX);
    (ended.is_some() || term.age_ms > lasts).then(|| NotSent::NotPolled {
        shard,
        epoch: term.epoch,
        holder: Holder { holder: term.holder.clone(), instance: log.and_then(|logged| logged.instance.clone()) },
        began: term.started_at.clone(),
        began_ms: term.age_ms,
        ended,
        ended_because: log.and_then(|logged| logged.ended_because.clone()),
        running,
        trouble,
    })
}

fn longer_deadline(message: &MessageRecord) -> Option<NotSent> {
    let longest = i64::try_from(LONGEST_DEADLINE.as_millis()).unwrap_or(i64::MAX);
    message.deadline_ms.map(|own| NotSent::LongerDeadline { deadline_ms: longest.min(own.into()) })
}

fn expired(facts: &MessageFacts) -> Option<NotSent> {
    let at = facts.message.expires_at.clone().filter(|_| facts.clock.expired)?;
    Some(NotSent::Expired { at })
}

fn expires(facts: &MessageFacts) -> Option<NotSent> {
    let at = facts.message.expires_at.clone().filter(|_| !facts.clock.expired)?;
    let in_ms = facts.clock.expires_in_ms;
    let before_due = !facts.clock.due && in_ms.is_some_and(|ms| facts.clock.due_in_ms.is_none_or(|due| ms < due));
    Some(NotSent::Expires { at, in_ms, before_due })
}

/// The fault in the attempts of a due message that the poller finds before it sends the message.
fn wrong_budget(message: &MessageRecord, configured: &Configured) -> Option<NotSent> {
    if let Some(max_attempts @ i32::MIN..=0) = message.max_attempts {
        return Some(NotSent::WrongMaxAttempts { max_attempts });
    }
    let of = budget(message, configured)?;
    (i64::from(message.attempts) >= of).then_some(NotSent::AttemptsUsedUp { attempts: message.attempts, of })
}

fn too_old(facts: &MessageFacts, configured: &Configured) -> Option<NotSent> {
    let channel = configured.channels.get(&facts.message.channel)?;
    let max_age_ms = i64::try_from(channel.max_age.as_millis()).unwrap_or(i64::MAX);
    let tried_for_ms = facts.clock.tried_for_ms.filter(|tried_for_ms| *tried_for_ms >= max_age_ms)?;
    Some(NotSent::TooOld { tried_for_ms, max_age_ms })
}

/// The attempts that the message may have: its own number, else its channel's. None where nothing here says it.
fn budget(message: &MessageRecord, configured: &Configured) -> Option<i64> {
    let own = message.max_attempts.map(i64::from);
    let of_channel = || configured.channels.get(&message.channel).map(|channel| i64::from(channel.max_attempts));
    own.or_else(of_channel)
}

fn suspect(message: &MessageRecord) -> Option<NotSent> {
    let last = message.attempt_log.last().filter(|last| last.was_left_by_a_crash())?;
    Some(NotSent::Suspect { attempt: last.number, epoch: last.epoch, holder: last.into() })
}

fn backlog(facts: &MessageFacts, configured: &Configured) -> Option<NotSent> {
    let Backlog { ahead, oldest_ms, of_tenant } = facts.backlog.filter(|backlog| backlog.ahead > 0)?;
    let message = &facts.message;
    let fair = configured.channels.get(&message.channel).is_some_and(|channel| channel.fair);
    let tenant = message.tenant.as_ref().unwrap_or(&message.destination);
    let tenant = (fair && message.ordering_key.is_none()).then(|| tenant.clone());
    Some(NotSent::Backlog { ahead, oldest_ms, tenant, of_tenant })
}
