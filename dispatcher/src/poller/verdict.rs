//! The one place that turns the outcome of an attempt into what becomes of the row.

use std::time::Duration;

use outbox_store::{DeadReason, Identity, InDoubtPolicy, Message, Outcome, Verdict};

use crate::destinations::DestinationDecision;
use crate::poller::channels::{Channel, Retry};

/// Decides what becomes of `message` after attempt `number` ended with `outcome`. Where the destination is at fault, or the
/// credential of the channel, and takes nothing for a while, a failure that leads to a plain retry counts no attempt. A message that
/// is at fault itself is dead.
pub(crate) fn decide(
    outcome: &Outcome,
    channel: &Channel,
    message: &Message,
    number: u32,
    decision: &DestinationDecision,
) -> Verdict {
    match (outcome, decision.deferred) {
        _ if decision.at_fault => dead(DeadReason::Permanent, false),
        (Outcome::Retry { not_before }, Some(wait)) if !is_too_old(channel, message) => {
            let at_least = asked(channel, *not_before).max(channel.retry.floor);
            Verdict::Spared { after: wait.max(at_least), at_least }
        }
        (Outcome::Refused { identity: Identity::Credential, .. }, Some(wait)) => {
            Verdict::Deferred { after: asked(channel, Some(wait)) }
        }
        // Unlike a deferral of the whole channel, this lets the message grow too old.
        (Outcome::Refused { identity: Identity::Signature, not_before }, Some(wait))
            if !is_too_old(channel, message) =>
        {
            let at_least = asked(channel, *not_before);
            Verdict::Spared { after: asked(channel, Some(wait)).max(at_least), at_least }
        }
        (outcome, _) => of_itself(outcome, channel, message, number),
    }
}

fn of_itself(outcome: &Outcome, channel: &Channel, message: &Message, number: u32) -> Verdict {
    match outcome {
        Outcome::Delivered { receipt } => Verdict::Success { receipt: receipt.clone() },
        Outcome::Retry { not_before } | Outcome::Refused { not_before, .. } => {
            try_again(channel, message, number, asked(channel, *not_before))
        }
        Outcome::InDoubt => match channel.in_doubt {
            InDoubtPolicy::Resend => try_again(channel, message, number, Duration::ZERO),
            InDoubtPolicy::DeadLetter => dead(DeadReason::InDoubt, false),
        },
        Outcome::Dead { reason } => dead(*reason, false),
        Outcome::DeadTarget => dead(DeadReason::Permanent, true),
        Outcome::Defer { scope: _, until } => Verdict::Deferred { after: asked(channel, Some(*until)) },
        Outcome::Unsent => Verdict::Unsent,
    }
}

/// The number of attempts of `message` on `channel`. The error says what is wrong with the message's own number.
pub(crate) fn budget(message: &Message, retry: &Retry) -> Result<u32, String> {
    match message.max_attempts.map(u32::try_from) {
        None => Ok(retry.max_attempts),
        Some(Ok(budget @ 1..)) => Ok(budget),
        Some(Ok(0) | Err(_)) => Err(format!(
            "max_attempts of the row is {}; it must be 1 or more, or null for the {} of the channel: set it so by SQL",
            message.max_attempts.unwrap_or_default(),
            retry.max_attempts
        )),
    }
}

fn dead(reason: DeadReason, invalid_target: bool) -> Verdict {
    Verdict::Dead { reason, attempted: true, invalid_target }
}

/// The wait that the receiver asked for, as far as the channel honours it.
fn asked(channel: &Channel, wait: Option<Duration>) -> Duration {
    wait.unwrap_or_default().min(channel.retry.max)
}

/// Whether `message` is too old to be retried: its first attempt is longer ago than its channel's `retry.max_age`.
pub(crate) fn is_too_old(channel: &Channel, message: &Message) -> bool {
    message.retrying_for() >= channel.retry.max_age
}

fn try_again(channel: &Channel, message: &Message, number: u32, at_least: Duration) -> Verdict {
    let retry = &channel.retry;
    if number >= budget(message, retry).unwrap_or(1) || is_too_old(channel, message) {
        return dead(DeadReason::Exhausted, false);
    }
    // Full jitter: any wait up to the ceiling, so that messages that failed together do not come back together.
    let wait = retry.floor + retry.ceiling(number).mul_f64(rand::random::<f64>());
    Verdict::Retry { after: wait.max(at_least) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;
    use outbox_adapters::{Adapter, Answer, Delivery};
    use outbox_store::{DeliveryRecord, OnDeadOrdered, Scope};
    use proptest::prelude::*;

    use super::*;
    use crate::destinations::Limits;
    use outbox_config::OutcomeTargets;

    #[derive(Debug)]
    struct NoAdapter;

    #[async_trait]
    impl Adapter for NoAdapter {
        async fn deliver(&self, _: Delivery) -> Answer {
            Answer::failed(Outcome::Unsent, "no adapter")
        }

        fn examine(&self, _: Delivery) -> Result<String, String> {
            Ok(String::new())
        }

        async fn check(&self) -> Result<String, String> {
            Ok(String::new())
        }
    }

    fn channel(in_doubt: InDoubtPolicy) -> Channel {
        let seconds = Duration::from_secs;
        let retry = Retry {
            max_attempts: 3,
            base: seconds(5),
            factor: 2.0,
            max: seconds(60),
            floor: Duration::ZERO,
            max_age: seconds(600),
        };
        Channel {
            name: "hook".to_owned(),
            adapter: Arc::new(NoAdapter),
            sends_json: true,
            timeout: seconds(15),
            in_doubt,
            on_dead_ordered: OnDeadOrdered::Continue,
            retry,
            limits: Limits::default(),
            max_message_bytes: 1 << 20,
            fair: true,
            record_deliveries: DeliveryRecord::Off,
            outcomes: OutcomeTargets::default(),
        }
    }

    fn message(max_attempts: Option<i32>, retrying_for_ms: Option<i64>) -> Message {
        Message { max_attempts, retrying_for_ms, ..crate::fixtures::message(1) }
    }

    fn of(outcome: &Outcome, policy: InDoubtPolicy, number: u32) -> Verdict {
        decide(outcome, &channel(policy), &message(None, None), number, &DestinationDecision::default())
    }

    fn takes_nothing_for(wait: Duration) -> DestinationDecision {
        DestinationDecision { deferred: Some(wait), ..DestinationDecision::default() }
    }

    fn is_retry(verdict: &Verdict) -> bool {
        matches!(verdict, Verdict::Retry { .. })
    }

    const EXHAUSTED: Verdict = Verdict::Dead { reason: DeadReason::Exhausted, attempted: true, invalid_target: false };

    #[test]
    fn the_last_attempt_of_the_budget_is_the_last() {
        let retry = Outcome::Retry { not_before: None };
        assert!(is_retry(&of(&retry, InDoubtPolicy::Resend, 2)));
        assert_eq!(of(&retry, InDoubtPolicy::Resend, 3), EXHAUSTED);
        let own = message(Some(2), None);
        assert_eq!(
            decide(&retry, &channel(InDoubtPolicy::Resend), &own, 2, &DestinationDecision::default()),
            EXHAUSTED
        );
    }

    #[test]
    fn a_message_older_than_its_channel_retries_is_exhausted() {
        let old = message(None, Some(600_000));
        let retry = Outcome::Retry { not_before: None };
        assert_eq!(
            decide(&retry, &channel(InDoubtPolicy::Resend), &old, 1, &DestinationDecision::default()),
            EXHAUSTED
        );
    }

    #[test]
    fn doubt_goes_by_the_policy_of_the_channel() {
        assert!(is_retry(&of(&Outcome::InDoubt, InDoubtPolicy::Resend, 1)));
        let parked = Verdict::Dead { reason: DeadReason::InDoubt, attempted: true, invalid_target: false };
        assert_eq!(of(&Outcome::InDoubt, InDoubtPolicy::DeadLetter, 1), parked);
    }

    #[test]
    fn nothing_is_tried_again_sooner_than_its_channel_allows_nor_all_of_it_at_once() {
        let seconds = Duration::from_secs;
        let mut channel = channel(InDoubtPolicy::Resend);
        (channel.retry.floor, channel.retry.base, channel.retry.max) = (seconds(10), seconds(10), seconds(10));
        let soon = decide(
            &Outcome::Retry { not_before: None },
            &channel,
            &message(None, None),
            1,
            &takes_nothing_for(seconds(1)),
        );
        let spared = Verdict::Spared { after: seconds(10), at_least: seconds(10) };
        assert_eq!(soon, spared, "a breaker is about to be tried again");
        for outcome in [Outcome::InDoubt, Outcome::Retry { not_before: None }] {
            let mut waits: Vec<_> = (0..100)
                .map(|_| match decide(&outcome, &channel, &message(None, None), 1, &DestinationDecision::default()) {
                    Verdict::Retry { after } => after,
                    other => panic!("{other:?}"),
                })
                .collect();
            assert!(waits.iter().all(|wait| (seconds(10)..=seconds(20)).contains(wait)), "{waits:?}");
            waits.sort();
            waits.dedup();
            assert!(waits.len() > 90, "{waits:?}");
        }
    }

    #[test]
    fn a_deferral_counts_no_attempt_however_many_there_were() {
        let after = Duration::from_mins(1);
        for scope in [Scope::Destination, Scope::Channel] {
            let verdict = of(&Outcome::Defer { scope, until: after }, InDoubtPolicy::Resend, 99);
            assert_eq!(verdict, Verdict::Deferred { after });
        }
    }

    #[test]
    fn a_refused_message_counts_its_attempts_but_while_the_credential_of_its_channel_is_refused() {
        let refused = Outcome::Refused { not_before: None, identity: Identity::Credential };
        assert!(is_retry(&of(&refused, InDoubtPolicy::Resend, 2)));
        assert_eq!(of(&refused, InDoubtPolicy::Resend, 3), EXHAUSTED);
        let after = Duration::from_secs(30);
        let while_it_waits =
            decide(&refused, &channel(InDoubtPolicy::Resend), &message(None, None), 99, &takes_nothing_for(after));
        assert_eq!(while_it_waits, Verdict::Deferred { after });
    }

    #[test]
    fn a_message_waits_while_the_signature_of_its_channel_is_refused_but_not_for_ever() {
        let refused = Outcome::Refused { not_before: None, identity: Identity::Signature };
        assert!(is_retry(&of(&refused, InDoubtPolicy::Resend, 2)));
        let after = Duration::from_secs(30);
        let decided =
            |age| decide(&refused, &channel(InDoubtPolicy::Resend), &message(None, age), 99, &takes_nothing_for(after));
        assert_eq!(decided(None), Verdict::Spared { after, at_least: Duration::ZERO });
        assert_eq!(decided(Some(600_000)), EXHAUSTED);
    }

    #[test]
    fn a_message_that_is_at_fault_itself_is_dead_at_once() {
        let refused = Outcome::Refused { not_before: None, identity: Identity::Signature };
        let decision = DestinationDecision { at_fault: true, ..DestinationDecision::default() };
        let verdict = decide(&refused, &channel(InDoubtPolicy::Resend), &message(None, None), 1, &decision);
        assert_eq!(verdict, Verdict::Dead { reason: DeadReason::Permanent, attempted: true, invalid_target: false });
    }

    #[test]
    fn while_the_destination_is_at_fault_a_failure_counts_no_attempt_but_doubt_does() {
        let after = Duration::from_mins(1);
        let decided = |outcome: &Outcome, age| {
            decide(outcome, &channel(InDoubtPolicy::Resend), &message(None, age), 99, &takes_nothing_for(after))
        };
        let retry = Outcome::Retry { not_before: None };
        assert_eq!(decided(&retry, None), Verdict::Spared { after, at_least: Duration::ZERO });
        let busy = Outcome::Retry { not_before: Some(Duration::from_secs(20)) };
        assert_eq!(decided(&busy, None), Verdict::Spared { after, at_least: Duration::from_secs(20) });
        assert_eq!(decided(&retry, Some(600_000)), EXHAUSTED, "not for ever");
        assert_eq!(decided(&Outcome::InDoubt, None), EXHAUSTED);
        assert_eq!(decided(&Outcome::DeadTarget, None), of(&Outcome::DeadTarget, InDoubtPolicy::Resend, 1));
    }

    #[test]
    fn only_a_dead_target_makes_the_target_invalid() {
        let invalid =
            |outcome| matches!(of(&outcome, InDoubtPolicy::Resend, 1), Verdict::Dead { invalid_target: true, .. });
        assert!(invalid(Outcome::DeadTarget));
        assert!(!invalid(Outcome::Dead { reason: DeadReason::Permanent }));
    }

    #[test]
    fn a_nonsensical_budget_is_refused_in_words_that_name_it() {
        let retry = channel(InDoubtPolicy::Resend).retry;
        for nonsense in [0, -3, i32::MIN] {
            let words = budget(&message(Some(nonsense), None), &retry).err();
            assert!(words.is_some_and(|words| words.contains(&nonsense.to_string())), "{nonsense}");
        }
        assert_eq!(budget(&message(None, None), &retry), Ok(3));
    }

    proptest! {
        #[test]
        fn a_wait_is_at_least_what_the_other_side_asked_and_neither_is_longer_than_the_channel_allows(
            number in 1_u32..=2, asked in 0_u64..3_600
        ) {
            let asked = Duration::from_secs(asked);
            let outcome = Outcome::Retry { not_before: Some(asked) };
            let ceiling = channel(InDoubtPolicy::Resend).retry.ceiling(number);
            match of(&outcome, InDoubtPolicy::Resend, number) {
                Verdict::Retry { after } => {
                    let longest = channel(InDoubtPolicy::Resend).retry.max;
                    prop_assert!(after >= asked.min(longest) && after <= ceiling.max(asked.min(longest)));
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }

        #[test]
        fn the_ceiling_grows_and_never_passes_its_maximum(number in 1_u32..=u32::MAX) {
            let retry = channel(InDoubtPolicy::Resend).retry;
            prop_assert!(retry.ceiling(number) <= retry.max);
            prop_assert!(retry.ceiling(number) >= retry.ceiling(number.saturating_sub(1).max(1)));
        }
    }
}
