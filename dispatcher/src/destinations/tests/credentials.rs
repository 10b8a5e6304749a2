//! What is learned where a receiver refuses a credential.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_credential_that_is_refused_closes_the_channel() {
    let destinations = destinations(Limits::default());
    let until = Duration::from_mins(1);
    let decision = destinations.send("a", &answer(Outcome::Defer { scope: Scope::Channel, until }), QUICK);
    let pause = decision.pause.expect("it is paused");
    assert_eq!((pause.destination.as_str(), pause.kind), ("hook", PauseKind::Credential));
    assert!(destinations.is_closed("hook"));
    assert!(destinations.holds_hook());
    assert!(destinations.aside().iter().all(|aside| aside.whole_channel));
}

fn refused() -> Answer {
    Answer { status_code: Some(403), ..answer(Outcome::Refused { not_before: None, identity: Identity::Credential }) }
}

impl Destinations {
    /// An attempt at a signed message, which its receiver refused. It was first tried so long ago.
    fn refuse_signed(&self, id: i64, tried: Duration) -> DestinationDecision {
        let retrying_for_ms = i64::try_from(tried.as_millis()).ok();
        let message = Message { id, retrying_for_ms, ..to("hook") };
        self.admitted(std::slice::from_ref(&message));
        let refused = Outcome::Refused { not_before: None, identity: Identity::Signature };
        self.learns(&message, &Answer { status_code: Some(400), ..answer(refused) }, QUICK)
    }
}

#[tokio::test(start_paused = true)]
async fn one_signed_message_that_is_refused_again_and_again_counts_its_attempts() {
    let destinations = destinations(Limits::default());
    for tried in 0..100 {
        assert_eq!(destinations.refuse_signed(1, Duration::from_secs(tried)), DestinationDecision::default());
    }
}

#[tokio::test(start_paused = true)]
async fn signed_messages_wait_each_for_itself_once_five_were_refused_and_nothing_was_delivered() {
    let destinations = destinations(Limits::default());
    for id in 1..5 {
        assert_eq!(destinations.refuse_signed(id, Duration::ZERO), DestinationDecision::default());
    }
    for (id, tried, wait) in [(5, 0, 5), (1, 7, 7), (6, 100, 100)] {
        let decision = destinations.refuse_signed(id, Duration::from_secs(tried));
        let waits = decision.deferred.expect("it waits").as_secs_f64();
        assert!((f64::from(wait)..=f64::from(wait) * 1.2).contains(&waits), "{waits} s");
        assert!(decision.pause.is_none() && !decision.at_fault);
    }
    assert_eq!(destinations.refuse_signed(7, Duration::from_hours(50)).deferred, Some(FAR), "however old it is");
    assert!(!destinations.is_closed("hook") && !destinations.holds_hook());

    destinations.send_to("/ok", &delivered());
    assert_eq!(destinations.recovered(), ["hook"], "what waits comes back at once");
    assert_eq!(destinations.refuse_signed(8, Duration::ZERO), DestinationDecision::default(), "the key works");
}

#[tokio::test(start_paused = true)]
async fn a_signed_message_is_at_fault_where_another_was_delivered_since_it_was_first_tried() {
    let destinations = destinations(Limits::default());
    destinations.refuse_signed(1, Duration::ZERO);
    tokio::time::advance(Duration::from_secs(1)).await;
    destinations.send_to("/ok", &delivered());
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(
        destinations.refuse_signed(2, Duration::ZERO),
        DestinationDecision::default(),
        "it was never tried before"
    );
    assert_eq!(
        destinations.refuse_signed(3, Duration::from_millis(900)),
        DestinationDecision::default(),
        "nor so long ago"
    );
    assert!(destinations.refuse_signed(1, Duration::from_secs(2)).at_fault);
}

impl Destinations {
    /// An attempt at a path under the channel's `base_url`.
    fn send_to(&self, target: &str, answer: &Answer) -> DestinationDecision {
        let message = Message { target: target.to_owned(), ..to("hook") };
        self.admitted(std::slice::from_ref(&message));
        self.learns(&message, answer, QUICK)
    }
}

#[tokio::test(start_paused = true)]
async fn one_target_that_is_refused_again_and_again_holds_nothing_up() {
    let destinations = destinations(Limits::default());
    for _ in 0..100 {
        assert_eq!(destinations.send_to("/forbidden", &refused()), DestinationDecision::default());
    }
    assert!(!destinations.is_closed("hook"));
}

#[tokio::test(start_paused = true)]
async fn several_targets_that_are_refused_are_at_fault_where_others_are_delivered_between() {
    let destinations = destinations(Limits::default());
    for number in 0..100 {
        assert_eq!(destinations.send_to(&format!("/forbidden/{number}"), &refused()), DestinationDecision::default());
        if number % 4 == 3 {
            destinations.send_to("/ok", &delivered());
        }
    }
    let tried = Message { target: "/again".to_owned(), attempts: 1, retrying_for_ms: Some(60_000), ..to("hook") };
    for number in 0..10 {
        let tried = Message { target: format!("/again/{number}"), ..tried.clone() };
        destinations.admitted(std::slice::from_ref(&tried));
        let decision = destinations.learns(&tried, &refused(), QUICK);
        assert_eq!(decision, DestinationDecision::default(), "it was first tried before the last delivery");
    }
}

#[tokio::test(start_paused = true)]
async fn a_credential_that_five_targets_refuse_closes_the_channel_until_something_is_delivered() {
    let destinations = destinations(Limits::default());
    for number in 0..4 {
        assert_eq!(destinations.send_to(&format!("/{number}"), &refused()), DestinationDecision::default());
    }
    let first = Duration::from_secs(2);
    let decision = destinations.send_to("/4", &refused());
    let pause = decision.pause.expect("it is paused");
    assert_eq!((pause.destination.as_str(), pause.kind, pause.remaining), ("hook", PauseKind::Credential, first));
    assert!(decision.deferred.is_some_and(|wait| wait > first), "no attempt is counted, and others go first");
    assert!(destinations.holds_hook());

    let (mut waits, mut tries) = (Vec::new(), Vec::new());
    let mut bar = first;
    while waits.len() < 8 {
        let late = destinations.send_to("/sent-before", &refused());
        assert!(late.pause.is_none() && late.deferred.is_some(), "what was in flight makes the wait no longer");
        tokio::time::advance(bar).await;
        let mut refusals = 0;
        bar = loop {
            assert!(!destinations.is_closed("hook"));
            refusals += 1;
            let decision = destinations.send_to(&format!("/{refusals}"), &refused());
            let wait = decision.deferred.expect("no attempt is counted");
            if let Some(pause) = decision.pause {
                assert!(wait > pause.remaining, "others go first");
                break pause.remaining;
            }
        };
        assert!(destinations.is_closed("hook"));
        waits.push(bar.as_secs());
        tries.push(refusals);
    }
    assert_eq!(waits, [2, 4, 8, 16, 32, 60, 60, 60], "each is as long as all before it, and no longer than a minute");
    assert_eq!(tries, [16, 16, 32, 64, 128, 256, 480, 480], "eight for each second of the wait before");

    destinations.send_to("/ok", &delivered());
    assert!(!destinations.is_closed("hook"));
    assert_eq!(destinations.recovered(), ["hook"], "what was deferred comes back at once");
    assert_eq!(destinations.send_to("/0", &refused()), DestinationDecision::default());
    for number in 1..4 {
        assert_eq!(destinations.send_to(&format!("/{number}"), &refused()), DestinationDecision::default());
    }
    let again = destinations.send_to("/4", &refused()).pause.expect("it is paused");
    assert_eq!(again.remaining, first, "it begins anew");
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_refuses_and_asks_for_an_hour_has_it_for_its_own_messages_and_not_for_the_channel() {
    let destinations = destinations(Limits::default());
    let hour = Duration::from_hours(1);
    let identity = Identity::Credential;
    let asks = Answer { outcome: Outcome::Refused { not_before: Some(hour), identity }, ..refused() };
    for number in 0..4 {
        destinations.send_to(&format!("/{number}"), &asks);
    }
    let decision = destinations.send_to("/4", &asks);
    assert_eq!(decision.pause.map(|pause| pause.remaining), Some(Duration::from_secs(2)));
    assert_eq!(decision.deferred, Some(hour));
}

/// Targets that are a path under the channel's `base_url` go there.
#[tokio::test(start_paused = true)]
async fn a_destination_that_bears_its_channels_name_does_not_close_the_channel_by_failing() {
    let destinations = destinations(Limits::default());
    for _ in 0..5 {
        destinations.send("hook", &failed(), QUICK);
    }
    assert!(destinations.is_closed("hook"));
    assert!(!destinations.holds_hook());
    assert!(destinations.aside().iter().all(|aside| !aside.whole_channel));
}

/// Nor does it by asking for a pause: that is about itself, not about other origins.
#[tokio::test(start_paused = true)]
async fn a_destination_that_bears_its_channels_name_does_not_close_the_channel_by_being_busy() {
    let destinations = destinations(Limits::default());
    let busy = Answer { busy_for: Some(Duration::from_mins(1)), ..failed() };
    assert!(destinations.send("hook", &busy, QUICK).pause.is_some());
    assert!(destinations.is_closed("hook"));
    assert!(!destinations.holds_hook());
    assert!(destinations.aside().iter().all(|aside| !aside.whole_channel));
}

/// The order of the two must not matter. Otherwise all messages to other origins would be refused, one by one.
#[tokio::test(start_paused = true)]
async fn a_channel_stays_closed_for_its_credential_while_the_server_that_bears_its_name_is_busy_for_longer() {
    let refused = answer(Outcome::Defer { scope: Scope::Channel, until: Duration::from_mins(1) });
    let busy = Answer { busy_for: Some(Duration::from_mins(10)), ..failed() };
    for [first, second] in [[&refused, &busy], [&busy, &refused]] {
        let destinations = destinations(Limits::default());
        destinations.send("hook", first, QUICK);
        destinations.send("hook", second, QUICK);
        assert!(destinations.holds_hook());
        assert_eq!(destinations.closed_for("hook"), Some(Duration::from_mins(1)));
        tokio::time::advance(Duration::from_mins(1)).await;
        assert!(destinations.is_closed("hook") && !destinations.holds_hook());
        assert_eq!(destinations.closed_for("hook"), Some(Duration::from_mins(9)));
        tokio::time::advance(Duration::from_mins(9)).await;
        assert!(!destinations.is_closed("hook"));
    }
}
