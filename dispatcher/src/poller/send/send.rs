//! One attempt: from the gate to a mark. A straight line that ends in a closed outcome, whatever happens.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use outbox_adapters::{About, Answer, Delivery};
use outbox_store::payload::is_encoded_twice;
use outbox_store::{
    AttemptRecord, ClaimId, DeadReason, DeliveryRecord, KNOWN_ALREADY, LONGEST_DEADLINE, Mark, Message, Outcome, Scope,
    Verdict,
};
use tokio::sync::mpsc;
use tracing::Span;

use crate::destinations::{DestinationDecision, Destinations};
use crate::fault_point::{self, Point};
use crate::metrics::Metrics;
use crate::poller::channels::{Channel, Channels};
use crate::poller::mark::Sent;
use crate::poller::verdict::{budget, decide, is_too_old};
use crate::telemetry::spans;
use crate::term::Term;

/// An adapter ends within the deadline of its delivery. Should it not, the attempt ends this much later all the same.
const GRACE: Duration = Duration::from_secs(1);

/// Makes attempts.
#[derive(Debug)]
pub(crate) struct Sender {
    /// The state of the destinations.
    pub destinations: Arc<Destinations>,
    /// Takes the results, to be marked.
    pub marks: mpsc::UnboundedSender<Sent>,
    /// Where attempts are counted.
    pub metrics: Arc<Metrics>,
}

impl Sender {
    /// Makes one attempt to deliver a message claimed under these channels. Passes its result on to be marked.
    pub(crate) async fn attempt(
        self: Arc<Self>,
        term: Arc<Term>,
        channels: Arc<Channels>,
        claim: ClaimId,
        mut message: Message,
    ) {
        let number = message.attempts.unsigned_abs().saturating_add(1);
        // A delivery takes the body of the message with it.
        let weight = message.weight();
        let started = Instant::now();
        let mut deadline = None;
        let (answer, verdict, pause, record) = match sendable(&channels, &message) {
            Ok(channel) => {
                if channel.sends_json && is_encoded_twice(&message.payload) {
                    self.metrics.encoded_twice(&message.channel);
                }
                let answer = self.deliver(&term, channel, &mut message, number).await;
                let took = started.elapsed();
                let decision = self.decision(channel, &message, weight, &answer, took);
                let verdict = decide(&answer.outcome, channel, &message, number, &decision);
                if answer.timed_out && matches!(verdict, Verdict::Retry { .. }) {
                    deadline = longer(message.deadline(channel.timeout));
                }
                if answer.about == About::Channel {
                    self.metrics.misconfigured(&message.channel);
                }
                (answer, verdict, decision.pause, channel.record_deliveries)
            }
            Err(NotSent { outcome, verdict, error }) => {
                self.destinations.released(&message, weight);
                (Answer::failed(outcome, error), verdict, None, DeliveryRecord::Off)
            }
        };
        let duration = started.elapsed();
        fault_point::reach(Point::BeforeMark).await;
        let outcome = if answer.known { KNOWN_ALREADY } else { word_for(&answer.outcome, &verdict) };
        let is_summary = record == DeliveryRecord::Summary && matches!(verdict, Verdict::Success { .. });
        let told = channels.get(&message.channel).and_then(|channel| channel.outcomes.of(&verdict));
        let mark = Mark {
            claim,
            id: message.id(),
            revision: message.revision(),
            verdict,
            pause,
            status_code: answer.status_code,
            error: answer.error,
            deadline,
            told,
            attempt: AttemptRecord {
                number,
                epoch: term.id.epoch,
                holder: term.id.holder.clone(),
                started,
                duration,
                kept: record != DeliveryRecord::Off || answer.known,
                outcome,
                excerpt: answer.excerpt.filter(|_| !is_summary),
            },
        };
        self.report(&term, &message, &answer.outcome, &mark);
        // The marker outlives every attempt. Without it, a later term settles the claim.
        let _ = self.marks.send(Sent { frees: message.ordering_key.is_some() || mark.told.is_some(), mark });
    }

    /// What the answer says about the destination. It says nothing where this process stood still meanwhile.
    fn decision(
        &self,
        channel: &Channel,
        message: &Message,
        weight: u64,
        answer: &Answer,
        took: Duration,
    ) -> DestinationDecision {
        if took > message.deadline(channel.timeout) + 2 * GRACE {
            self.destinations.released(message, weight);
            return DestinationDecision::default();
        }
        self.destinations.answered(message, weight, answer, took, channel.retry.max)
    }

    async fn deliver(&self, term: &Arc<Term>, channel: &Channel, message: &mut Message, number: u32) -> Answer {
        let attempt = spans::attempt_span(message, number, term.id.epoch);
        let request = spans::request_span(&attempt);
        let (traceparent, tracestate) = spans::inject(&request, message);
        let deadline = message.deadline(channel.timeout);
        let delivery = Delivery {
            idempotency_key: message.idempotency_key.clone(),
            target: message.target.clone(),
            destination: message.destination.clone(),
            payload: std::mem::take(&mut message.payload),
            headers: message.headers.take(),
            deadline: Some(deadline),
            created_at: message.created_at(),
            traceparent,
            tracestate,
            permit: term.clone(),
            recorder: None,
        };
        fault_point::reach(Point::BeforeGate).await;
        if !term.gate.is_open() {
            return Answer::failed(Outcome::Unsent, "not sent: the term ended before its turn came");
        }
        let answer = guarded(channel, delivery, deadline, &request).await;
        spans::record(&attempt, &request, &answer);
        answer
    }

    fn report(&self, term: &Term, message: &Message, outcome: &Outcome, mark: &Mark) {
        let attempt = &mark.attempt;
        // A message that was dead before its turn says nothing about its destination, nor about how long that takes.
        if !matches!(mark.verdict, Verdict::Dead { attempted: false, .. }) {
            term.count_attempt(outcome);
            self.metrics.tally.count(outcome);
            let took = (mark.verdict != Verdict::Unsent).then_some(attempt.duration);
            self.metrics.attempt(&message.channel, word_for(outcome, &mark.verdict), took);
        }
        let waited = Duration::from_millis(u64::try_from(message.waited_ms).unwrap_or(0));
        let latency = waited + attempt.duration;
        self.metrics.counting.count(&message.channel, outcome, &mark.verdict, latency);
        if let Outcome::Delivered { .. } = outcome {
            self.metrics.delivered(&message.channel, latency);
            return;
        }
        let then = match mark.verdict {
            Verdict::Success { .. } => "success",
            Verdict::Retry { .. } => "retry",
            Verdict::Dead { reason, .. } => reason.as_str(),
            Verdict::Deferred { .. } | Verdict::Spared { .. } => "deferred",
            Verdict::Unsent => "unsent",
        };
        tracing::warn!(
            message_id = message.id,
            idempotency_key = message.idempotency_key,
            channel = message.channel,
            destination = message.destination,
            // One that is dead before its turn made none.
            attempt = if matches!(mark.verdict, Verdict::Dead { attempted: false, .. }) { 0 } else { attempt.number },
            epoch = attempt.epoch.0,
            outcome = attempt.outcome,
            then,
            status_code = mark.status_code,
            duration_ms = u64::try_from(attempt.duration.as_millis()).unwrap_or(u64::MAX),
            error = mark.error,
            "attempt"
        );
    }
}

/// The word for an outcome in the tables, logs and metrics. A failure that counts no attempt, because its destination
/// is at fault, is a deferral. A refusal for what is in the message is final.
fn word_for(outcome: &Outcome, verdict: &Verdict) -> &'static str {
    match (outcome, verdict) {
        (_, Verdict::Deferred { after } | Verdict::Spared { after, .. }) => {
            Outcome::Defer { scope: Scope::Destination, until: *after }.as_str()
        }
        (Outcome::Refused { .. }, Verdict::Dead { reason: reason @ DeadReason::Permanent, .. }) => {
            Outcome::Dead { reason: *reason }.as_str()
        }
        (outcome, Verdict::Success { .. } | Verdict::Retry { .. } | Verdict::Dead { .. } | Verdict::Unsent) => {
            outcome.as_str()
        }
    }
}

/// The verdict on a message that is not sent.
struct NotSent {
    outcome: Outcome,
    verdict: Verdict,
    error: String,
}

impl NotSent {
    /// The message may be claimed again at once.
    fn unsent(error: String) -> Self {
        Self { outcome: Outcome::Unsent, verdict: Verdict::Unsent, error }
    }
}

/// The channel of a message, unless there is a reason not to send it.
fn sendable<'a>(channels: &'a Channels, message: &Message) -> Result<&'a Channel, NotSent> {
    let Some(channel) = channels.get(&message.channel) else {
        // The claim asked for configured channels only, so the row has been changed since. The next claim defers it.
        return Err(NotSent::unsent(format!(
            "not sent: it was not claimed for its present channel, {}",
            message.channel
        )));
    };
    match unsendable(channel, message) {
        None => Ok(channel),
        Some((reason, error)) => {
            let verdict = Verdict::Dead { reason, attempted: false, invalid_target: false };
            Err(NotSent { outcome: Outcome::Dead { reason }, verdict, error })
        }
    }
}

/// Why a message is dead before it is sent, if there is a reason.
fn unsendable(channel: &Channel, message: &Message) -> Option<(DeadReason, String)> {
    if message.expires_in_ms.is_some_and(|left| left <= 0) {
        return Some((DeadReason::Expired, "expires_at passed before it was sent".to_owned()));
    }
    if message.too_large {
        let (bytes, most) = (message.bytes, channel.max_message_bytes);
        let error = format!(
            "it is too large: {bytes} bytes, where `max_message_bytes` of channel {} allows {most}; enqueue a link to what is \
             large, or raise the setting",
            channel.name
        );
        return Some((DeadReason::Permanent, error));
    }
    if let Some(why) = &message.unread {
        let error = format!("the database cannot give what it says: {why}; enqueue it anew, or purge it");
        return Some((DeadReason::Permanent, error));
    }
    // Of a URL the adapter sees to it.
    if message.destination != message.channel && outbox_schema::origin::column(&message.target).is_none() {
        let error = format!(
            "its row counts it for {}, and its target is one of the channel {}: the functions by which the database reads a target \
             were replaced for whoever wrote it; enqueue it anew",
            message.destination, message.channel
        );
        return Some((DeadReason::Permanent, error));
    }
    if message.target_is_gone {
        let clear = format!("if it is back: outbox invalid-targets clear --channel {} TARGET", message.channel);
        return Some((DeadReason::Permanent, format!("an earlier message found its target gone for good; {clear}")));
    }
    match budget(message, &channel.retry) {
        Err(wrong) => Some((DeadReason::Permanent, wrong)),
        Ok(budget) if message.attempts.unsigned_abs() >= budget => {
            Some((DeadReason::Exhausted, format!("all {budget} attempts were made before")))
        }
        Ok(_) if is_too_old(channel, message) => {
            let max_age = channel.retry.max_age;
            let error = format!("its first attempt is longer ago than the max_age of its channel, {max_age:?}");
            Some((DeadReason::Exhausted, error))
        }
        Ok(_) => None,
    }
}

/// The deadline of the next attempt, where that of one that timed out may grow.
fn longer(deadline: Duration) -> Option<Duration> {
    Some(LONGEST_DEADLINE.min(2 * deadline)).filter(|next| *next > deadline)
}

/// Lets the adapter deliver, and answers in its place should it panic or never end.
async fn guarded(channel: &Channel, delivery: Delivery, deadline: Duration, request: &Span) -> Answer {
    let limit = deadline + GRACE;
    let delivering = async {
        fault_point::reach(Point::Deliver).await;
        channel.adapter.deliver(delivery).await
    };
    let delivering = tracing::Instrument::instrument(delivering, request.clone());
    match tokio::time::timeout(limit, AssertUnwindSafe(delivering).catch_unwind()).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Answer::failed(Outcome::InDoubt, "the adapter panicked; see the log of this replica"),
        Err(_) => Answer::timed_out(format!("no answer within {limit:?}")),
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
