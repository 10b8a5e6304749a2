//! The one place that turns the outcome of an attempt into what becomes of the row.

use std::time::Duration;

use outbox_schema::{DeadReason, InDoubtPolicy, Message, Outcome, Scope, Verdict};
use rand::RngExt;

use crate::channels::{Channel, Retry};

/// Decides what becomes of `message` after attempt `number` ended with `outcome`.
pub fn decide(outcome: &Outcome, channel: &Channel, message: &Message, number: u32) -> Verdict {
    match outcome {
        Outcome::Delivered { receipt } => Verdict::Success { receipt: receipt.clone() },
        Outcome::Retry { not_before } => try_again(channel, message, number, not_before.unwrap_or_default()),
        Outcome::InDoubt => match channel.in_doubt {
            InDoubtPolicy::Resend => try_again(channel, message, number, Duration::ZERO),
            InDoubtPolicy::DeadLetter => dead(DeadReason::InDoubt, false),
        },
        Outcome::Dead { reason } => dead(*reason, false),
        Outcome::DeadTarget => dead(DeadReason::Permanent, true),
        Outcome::Defer { scope, until } => Verdict::Deferred {
            destination: match scope {
                Scope::Destination => message.destination.clone(),
                Scope::Channel => message.channel.clone(),
            },
            until: *until,
        },
        Outcome::Unsent => Verdict::Unsent,
    }
}

/// The attempts that `message` has on `channel`, or what is wrong with its own number.
pub fn budget(message: &Message, retry: &Retry) -> Result<u32, String> {
    match message.max_attempts.map(u32::try_from) {
        None => Ok(retry.max_attempts),
        Some(Ok(budget @ 1..)) => Ok(budget),
        Some(Ok(0) | Err(_)) => Err(format!(
            "max_attempts of the row is {}; it must be 1 or more, or null for the {} of the channel",
            message.max_attempts.unwrap_or_default(),
            retry.max_attempts
        )),
    }
}

fn dead(reason: DeadReason, invalid_target: bool) -> Verdict {
    Verdict::Dead { reason, attempted: true, invalid_target }
}

fn try_again(channel: &Channel, message: &Message, number: u32, not_before: Duration) -> Verdict {
    let retry = &channel.retry;
    let age = Duration::from_millis(message.retrying_for_ms.and_then(|ms| ms.try_into().ok()).unwrap_or(0));
    if number >= budget(message, retry).unwrap_or(1) || age >= retry.max_age {
        return dead(DeadReason::Exhausted, false);
    }
    // Full jitter: anywhere up to the ceiling, so that what failed together does not come back together.
    let wait = retry.ceiling(number).mul_f64(rand::rng().random());
    Verdict::Retry { after: wait.max(not_before) }
}
