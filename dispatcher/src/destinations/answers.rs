//! What an answer tells of its destination, and what is decided about its message because of that.

use std::time::Duration;

use outbox_adapters::{About, Answer};
use outbox_store::{Message, Outcome, Pause, PauseKind, Scope};
use tokio::time::Instant;

use super::breaker::Signal;
use super::destination_decision::DestinationDecision;
use super::{Destinations, State, credentials};

impl Destinations {
    /// Learns from an attempt to deliver `message`, which weighed so much when it was admitted. The attempt ended after `took`.
    /// No answer can ask for a longer pause than `longest`.
    pub fn answered(
        &self,
        message: &Message,
        weight: u64,
        answer: &Answer,
        took: Duration,
        longest: Duration,
    ) -> DestinationDecision {
        let now = Instant::now();
        let mut state = self.state();
        let mut decision = DestinationDecision::default();
        let slots = self.slots(&state);
        let State { known, slow_start, .. } = &mut *state;
        let mut is_of_all = answer.about != About::Target;
        if let Some(destination) = known.get_mut(&message.destination) {
            let signal = signal(message, answer);
            match signal {
                Signal::Good if destination.in_slow_start() => slow_start.answered(destination.unused_for(now)),
                Signal::Bad { .. } | Signal::Refused { .. } if destination.in_slow_start() => slow_start.failed(),
                Signal::Good | Signal::Bad { .. } | Signal::Refused { .. } | Signal::Down | Signal::None => {}
            }
            decision = destination.answered(message, signal, weight, took, slots, now);
            is_of_all |= destination.speaks_for_all();
            if destination.comes_back_now(now) {
                self.recovery.notify_one();
            }
        }
        let mut asked = asked(message, answer, longest).filter(|_| is_of_all);
        match state.credentials.learn(message, answer, longest, now) {
            credentials::Turn::Stay => {}
            credentials::Turn::Refused { bar, wait } => {
                decision.deferred = Some(wait);
                let destination = message.channel.clone();
                asked = bar.map(|remaining| Pause { destination, remaining, kind: PauseKind::Credential }).or(asked);
            }
            credentials::Turn::AtFault => decision.at_fault = true,
            credentials::Turn::Waits(wait) => decision.deferred = Some(wait),
            credentials::Turn::Verified => {
                state.destination(&message.destination, now).brings_back();
                self.recovery.notify_one();
            }
            credentials::Turn::Works => {
                state.destination(&message.channel, now).no_longer_barred();
                self.recovery.notify_one();
            }
        }
        if let Some(asked) = asked {
            state.destination(&asked.destination, now).pause(asked.kind, asked.remaining, now);
            decision.pause = Some(match decision.pause.take() {
                // The destination is tried carefully, but no sooner than it asked for.
                Some(opened) => Pause { remaining: opened.remaining.max(asked.remaining), ..opened },
                None => asked,
            });
        }
        if let Some(pause) = &decision.pause {
            state.destination(&pause.destination, now).is_to_be_written();
        }
        state.stirred.note(&message.destination);
        self.has_answered(state);
        decision
    }
}

fn signal(message: &Message, answer: &Answer) -> Signal {
    match &answer.outcome {
        // The message was refused here, and the destination was not asked.
        Outcome::Dead { .. } | Outcome::DeadTarget if answer.status_code.is_none() => Signal::None,
        Outcome::Delivered { .. } | Outcome::Refused { .. } | Outcome::Dead { .. } | Outcome::DeadTarget => {
            Signal::Good
        }
        Outcome::Retry { .. } | Outcome::InDoubt => {
            // Where no attempt was counted, the destination was at fault before, and not the message.
            let trying_for = if message.attempts == 0 { Duration::ZERO } else { message.retrying_for() };
            if answer.about == About::Target {
                Signal::Refused { trying_for, asks: answer.busy_for.is_some() }
            } else {
                Signal::Bad { trying_for }
            }
        }
        Outcome::Defer { .. } | Outcome::Unsent => Signal::None,
    }
}

/// The pause that the answer asks for, if any.
fn asked(message: &Message, answer: &Answer, longest: Duration) -> Option<Pause> {
    let (destination, kind, remaining) = match (&answer.outcome, answer.busy_for) {
        (Outcome::Defer { scope: Scope::Channel, until }, _) => (&message.channel, PauseKind::Credential, *until),
        (Outcome::Defer { scope: Scope::Destination, until }, _) => {
            (&message.destination, PauseKind::RetryAfter, *until)
        }
        (_, Some(busy_for)) => (&message.destination, PauseKind::RetryAfter, busy_for),
        (_, None) => return None,
    };
    Some(Pause { destination: destination.clone(), remaining: remaining.min(longest), kind })
}
