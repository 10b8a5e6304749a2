//! Of how much a refusal speaks: of a target, or of all of its destination.

use outbox_adapters::About;

use super::*;

/// A server that hosts the webhooks of many.
const SHARED: &str = "https://hooks.example:443";

fn refused() -> Answer {
    Answer { status_code: Some(429), busy_for: Some(Duration::from_secs(10)), about: About::Target, ..failed() }
}

fn unavailable() -> Answer {
    Answer { status_code: Some(503), busy_for: None, ..refused() }
}

impl Destinations {
    fn hook(&self, target: &str, answer: &Answer) -> DestinationDecision {
        let message = Message { target: format!("{SHARED}/{target}"), ..to(SHARED) };
        self.admitted(std::slice::from_ref(&message));
        self.learns(&message, answer, QUICK)
    }
}

#[tokio::test(start_paused = true)]
async fn one_target_that_is_refused_again_and_again_holds_up_no_other_of_its_host() {
    for refusal in [refused(), unavailable()] {
        let destinations = destinations(Limits::default());
        destinations.hook("calm", &delivered());
        for _ in 0..100 {
            assert_eq!(destinations.hook("noisy", &refusal), DestinationDecision::default());
        }
        assert!(!destinations.is_closed(SHARED));
    }
}

#[tokio::test(start_paused = true)]
async fn several_targets_that_are_refused_hold_up_no_other_where_one_is_accepted_between() {
    let destinations = destinations(Limits::default());
    destinations.hook("calm", &delivered());
    for number in 0..100 {
        assert_eq!(destinations.hook(&format!("noisy/{number}"), &refused()), DestinationDecision::default());
        if number % 4 == 3 {
            destinations.hook("calm", &delivered());
        }
    }
    for number in 0..10 {
        let target = format!("{SHARED}/again/{number}");
        let tried = Message { target, attempts: 1, retrying_for_ms: Some(60_000), ..to(SHARED) };
        destinations.admitted(std::slice::from_ref(&tried));
        let decision = destinations.learns(&tried, &refused(), QUICK);
        assert_eq!(decision, DestinationDecision::default(), "it was first tried before the last delivery");
    }
    assert!(!destinations.is_closed(SHARED));
}

#[tokio::test(start_paused = true)]
async fn a_host_that_refuses_five_targets_is_left_alone_for_as_long_as_it_asks() {
    let for_an_hour = Answer { busy_for: Some(LONGEST), ..refused() };
    for (refusal, at_least) in [(refused(), 10), (for_an_hour, 3_600), (unavailable(), 10)] {
        let destinations = destinations(Limits::default());
        destinations.hook("calm", &delivered());
        for number in 1..5 {
            assert_eq!(destinations.hook(&number.to_string(), &refusal), DestinationDecision::default());
        }
        let decision = destinations.hook("5", &refusal);
        let pause = decision.pause.expect("it is paused");
        assert_eq!((pause.destination.as_str(), pause.kind), (SHARED, PauseKind::Breaker));
        assert!(pause.remaining >= Duration::from_secs(at_least), "{pause:?}");
        assert!(decision.deferred.is_some(), "no attempt is counted");
        assert!(destinations.is_closed(SHARED));
        assert!(destinations.hook("calm", &refusal).deferred.is_some(), "it was sent before");

        tokio::time::advance(pause.remaining).await;
        assert!(!destinations.is_closed(SHARED));
        assert!(destinations.hook("calm", &refusal).pause.is_some(), "it is tried, and is as before");
    }
}

/// A claim takes two messages for a host of which nothing is known. Where it finds one, nothing else waits.
#[tokio::test(start_paused = true)]
async fn a_host_that_asks_for_a_pause_at_its_only_message_is_left_alone_for_as_long_as_it_asks() {
    let destinations = destinations(Limits::default());
    let pause = destinations.hook("only", &refused()).pause.expect("nobody else is known to wait for it");
    assert_eq!((pause.kind, pause.remaining), (PauseKind::RetryAfter, Duration::from_secs(10)));
    assert!(destinations.is_closed(SHARED));
}

#[tokio::test(start_paused = true)]
async fn a_refused_target_with_more_than_one_message_holds_up_no_other_that_waits_behind_them() {
    let destinations = destinations(Limits::default());
    let noisy = Message { target: format!("{SHARED}/noisy"), ..to(SHARED) };
    for _ in 0..5 {
        destinations.admitted(&[noisy.clone(), noisy.clone()]);
        assert_eq!(destinations.learns(&noisy, &refused(), QUICK), DestinationDecision::default());
        assert_eq!(destinations.learns(&noisy, &refused(), QUICK), DestinationDecision::default());
    }
    assert!(!destinations.is_closed(SHARED));
    destinations.hook("calm", &delivered());
    for _ in 0..100 {
        assert_eq!(destinations.hook("noisy", &refused()), DestinationDecision::default());
    }
}

#[tokio::test(start_paused = true)]
async fn the_few_targets_of_a_host_are_the_host() {
    for few in [1, 2, 4] {
        let name = |number: u32| (number % few).to_string();
        let busy = destinations(Limits::default());
        for number in 0..20 {
            busy.hook(&name(number), &delivered());
        }
        for number in 1..few {
            assert_eq!(
                busy.hook(&name(number), &refused()),
                DestinationDecision::default(),
                "one of {few} is not refused"
            );
        }
        let pause = busy.hook(&name(0), &refused()).pause.expect("it is paused");
        assert_eq!((pause.kind, pause.remaining), (PauseKind::RetryAfter, Duration::from_secs(10)));

        let down = destinations(Limits::default());
        let silent = Answer { busy_for: None, ..refused() };
        let opened = (0..few + 4).find_map(|number| down.hook(&name(number), &silent).pause);
        assert_eq!(opened.map(|pause| pause.kind), Some(PauseKind::Breaker), "{few}");
    }
}
