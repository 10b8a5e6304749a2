//! What holds a destination up, by the clock of a test.

mod by_hand;
mod credentials;
mod evicted;
mod refusals;
mod terms;

use std::collections::HashMap;
use std::time::Duration;

use outbox_adapters::Answer;
use outbox_store::destination::{ByHandChange, DestinationState};
use outbox_store::{DeadReason, Identity, Message, Outcome, PauseKind, Scope};
use tokio::time::Instant;

use super::destination::Destination;
use super::window::FIRST;
use super::*;
use crate::poller::channels::Channels;
use crate::schedule::{Rooms as _, Standing};

const SLOTS: usize = 512;
const LONGEST: Duration = Duration::from_hours(1);
const QUICK: Duration = Duration::from_millis(2);

fn destinations(limits: Limits) -> Destinations {
    Destinations::new(SLOTS, 64 << 20, HashMap::from([("hook".to_owned(), limits)]))
}

fn to(destination: &str) -> Message {
    Message { destination: destination.to_owned(), channel: "hook".to_owned(), ..crate::fixtures::message(1) }
}

fn answer(outcome: Outcome) -> Answer {
    Answer::failed(outcome, "test")
}

fn delivered() -> Answer {
    Answer::delivered(200, None)
}

/// A change by hand, and what holds the destination since.
fn changed(name: &str, stamp: i64, pause: Option<(PauseKind, Duration)>) -> ByHandChange {
    ByHandChange { destination: name.to_owned(), stamp, pause, failures: 0 }
}

fn failed() -> Answer {
    answer(Outcome::Retry { not_before: None })
}

impl Destinations {
    /// What a destination has in flight: messages and bytes.
    pub(crate) fn in_flight_at(&self, destination: &str) -> Option<(usize, u64)> {
        self.state().known.get(destination).map(Destination::in_flight)
    }

    /// Learns from an answer whose mark is written at once.
    fn learns(&self, message: &Message, answer: &Answer, took: Duration) -> DestinationDecision {
        let decision = self.learns_unwritten(message, answer, took);
        decision.pause.iter().for_each(|pause| self.written(&[pause]));
        decision
    }

    fn learns_unwritten(&self, message: &Message, answer: &Answer, took: Duration) -> DestinationDecision {
        self.answered(message, message.weight(), answer, took, LONGEST)
    }

    fn send(&self, destination: &str, answer: &Answer, took: Duration) -> DestinationDecision {
        self.admitted(&[to(destination)]);
        self.learns(&to(destination), answer, took)
    }

    /// Answers what it was sent, and so often that its window is no limit to a few.
    fn answers(&self, destination: &str) {
        for _ in 0..FIRST {
            self.learns(&to(destination), &delivered(), QUICK);
        }
    }

    /// What a schedule is told of a destination of the channel `hook`.
    fn standing_of(&self, destination: &str) -> Standing {
        let channels = Channels::default();
        self.rooms(&channels).standing("hook", destination, Instant::now())
    }

    fn room_at(&self, destination: &str) -> usize {
        match self.standing_of(destination) {
            Standing::Room(room) => room,
            Standing::Full | Standing::Closed { .. } => 0,
        }
    }

    /// How long a destination takes nothing.
    fn closed_for(&self, destination: &str) -> Option<Duration> {
        match self.standing_of(destination) {
            Standing::Closed { until: Some(until) } => Some(until - Instant::now()),
            Standing::Room(_) | Standing::Full | Standing::Closed { until: None } => None,
        }
    }

    /// Whether all of the channel `hook` takes nothing.
    fn holds_hook(&self) -> bool {
        self.is_closed("https://any.example:443")
    }

    fn is_known(&self, name: &str) -> bool {
        let state = self.state();
        state.known.contains_key(name) || state.idle.contains_key(name)
    }

    fn is_closed(&self, destination: &str) -> bool {
        self.room_at(destination) == 0
    }
}

#[tokio::test(start_paused = true)]
async fn a_destination_that_is_down_is_left_alone_and_its_messages_keep_their_attempts() {
    let destinations = destinations(Limits::default());
    destinations.send("down", &delivered(), QUICK);
    for _ in 0..4 {
        assert_eq!(destinations.send("down", &failed(), QUICK), DestinationDecision::default());
    }
    let opened = destinations.send("down", &failed(), QUICK);
    let pause = opened.pause.as_ref().expect("the breaker opens");
    assert_eq!(
        (pause.destination.as_str(), pause.kind, opened.deferred),
        ("down", PauseKind::Breaker, Some(pause.remaining))
    );
    assert!(destinations.is_closed("down"));
    let straggler = destinations.send("down", &failed(), QUICK);
    assert!(straggler.deferred.is_some() && straggler.pause.is_none());

    tokio::time::advance(pause.remaining).await;
    assert_eq!(destinations.room_at("down"), 3, "it is probed");
    destinations.admitted(&[to("down"), to("down"), to("down")]);
    assert!(destinations.is_closed("down"));
    assert_eq!(destinations.learns(&to("down"), &delivered(), QUICK), DestinationDecision::default());
    assert_eq!(destinations.recovered(), ["down"]);
    assert!(!destinations.is_closed("down"));
    destinations.brought_back("down");
    assert!(destinations.recovered().is_empty());
}

#[tokio::test(start_paused = true)]
async fn messages_that_always_fail_do_not_close_a_destination_that_takes_others() {
    let destinations = destinations(Limits::default());
    let failing = Message { attempts: 1, retrying_for_ms: Some(300_000), ..to("up") };
    destinations.send("up", &delivered(), QUICK);
    for _ in 0..20 {
        tokio::time::advance(Duration::from_secs(4)).await;
        destinations.admitted(std::slice::from_ref(&failing));
        assert_eq!(destinations.learns(&failing, &failed(), QUICK), DestinationDecision::default());
    }
    assert!(!destinations.is_closed("up"));

    tokio::time::advance(EVICTED_AFTER * 3).await;
    destinations.prune();
    for _ in 0..20 {
        destinations.admitted(std::slice::from_ref(&failing));
        assert_eq!(destinations.learns(&failing, &failed(), QUICK), DestinationDecision::default(), "it is remembered");
    }
    let opened = (0..5).filter(|_| destinations.send("up", &failed(), QUICK).pause.is_some()).count();
    assert_eq!(opened, 1, "others fail as well");
}

#[tokio::test(start_paused = true)]
async fn messages_that_were_tried_while_it_was_down_open_the_breaker_when_it_is_down_again() {
    let destinations = destinations(Limits::default());
    let spared = Message { attempts: 0, retrying_for_ms: Some(300_000), ..to("flaky") };
    destinations.send("flaky", &delivered(), QUICK);
    let opened = (0..5).filter(|_| {
        destinations.admitted(std::slice::from_ref(&spared));
        destinations.learns(&spared, &failed(), QUICK).pause.is_some()
    });
    assert_eq!(opened.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_destination_is_shown_with_its_window_its_rate_and_why_it_takes_nothing() {
    let rate = RateLimit { per_second: 2.0, rise: None };
    let destinations = destinations(Limits { rate: Some(rate), ..Limits::default() });
    destinations.admitted(&[to("b"), to("b"), to("a")]);
    let shown = destinations.shown();
    let seen = |one: &DestinationNow| (one.destination.clone(), one.in_flight, one.window, one.rate);
    let of = |name: &str, in_flight| (name.to_owned(), in_flight, window::SLOW_START, Some(2.0));
    assert_eq!(shown.iter().map(seen).collect::<Vec<_>>(), [of("a", 1), of("b", 2)]);
    assert!(matches!(shown[1].standing, destination::Standing::Closed(Closed::OverRate { .. })));
    for _ in 0..5 {
        destinations.send("down", &failed(), QUICK);
    }
    let down = destinations.shown().into_iter().find(|one| one.destination == "down");
    let waits = |standing: &destination::Standing| match standing {
        destination::Standing::Closed(Closed::Broken { remaining }) => (10..20).contains(&remaining.as_secs()),
        _ => false,
    };
    assert!(down.is_some_and(|down| waits(&down.standing)));
    // Who does not poll shows nothing.
    assert_eq!(DestinationsNow::default().seen(), None);
}

#[tokio::test(start_paused = true)]
async fn a_refused_message_is_no_sign_that_its_destination_is_down() {
    let destinations = destinations(Limits::default());
    for outcome in [Outcome::Dead { reason: DeadReason::Permanent }, Outcome::DeadTarget, Outcome::Unsent] {
        let refused = Answer { status_code: Some(400), ..answer(outcome) };
        for _ in 0..20 {
            assert_eq!(destinations.send("up", &refused, QUICK), DestinationDecision::default());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_refused_before_it_is_sent_is_no_sign_that_its_destination_works() {
    let destinations = destinations(Limits::default());
    let refused = answer(Outcome::Dead { reason: DeadReason::Permanent });
    destinations.send("down", &delivered(), QUICK);
    let opened = (0..5).find_map(|_| destinations.send("down", &failed(), QUICK).pause).expect("the breaker opens");
    tokio::time::advance(opened.remaining).await;
    assert_eq!(destinations.room_at("down"), 3, "it is probed");
    destinations.send("down", &refused, QUICK);
    assert_eq!(destinations.room_at("down"), 3, "another one goes in its place");
    assert!(destinations.recovered().is_empty());
    destinations.send("down", &Answer { status_code: Some(400), ..refused }, QUICK);
    assert_eq!(destinations.recovered(), ["down"]);
}

/// After the pause, the destination is tried carefully.
#[tokio::test(start_paused = true)]
async fn a_destination_that_opens_its_breaker_and_asks_for_longer_is_paused_for_as_long_as_it_asks() {
    let opened_by = |asks| {
        let destinations = destinations(Limits::default());
        assert_eq!((0..4).find_map(|_| destinations.send("down", &failed(), QUICK).pause), None);
        let busy = Answer { busy_for: Some(Duration::from_secs(asks)), ..failed() };
        destinations.send("down", &busy, QUICK).pause.expect("the breaker opens")
    };
    let longer = opened_by(600);
    assert_eq!((longer.remaining, longer.kind), (Duration::from_mins(10), PauseKind::Breaker));
    assert!(opened_by(1).remaining >= Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn slow_destinations_together_hold_half_of_the_slots() {
    let destinations = destinations(Limits::default());
    let slow: Vec<String> = (0..8).map(|number| format!("slow-{number}")).collect();
    for _ in 0..200 {
        for name in &slow {
            destinations.send(name, &delivered(), Duration::from_secs(10));
        }
    }
    let mut admitted = 0;
    while let Some(name) = slow.iter().find(|name| !destinations.is_closed(name)) {
        destinations.admitted(&[to(name)]);
        admitted += 1;
    }
    assert_eq!(admitted, SLOTS / 2);
    assert!(slow.iter().all(|name| destinations.is_closed(name)));
    assert_eq!(destinations.room_at("quick"), window::SLOW_START, "one of which nothing is known");
}

#[tokio::test(start_paused = true)]
async fn rows_of_a_slow_destination_are_put_aside_in_turn_and_come_back_when_it_is_quick() {
    let destinations = destinations(Limits::default());
    destinations.send("other", &delivered(), QUICK);
    for _ in 0..200 {
        destinations.send("slow", &delivered(), Duration::from_secs(10));
    }
    destinations.admitted(&vec![to("slow"); 128]);
    let aside = destinations.aside();
    let [one] = &aside[..] else { panic!("{aside:?}") };
    assert_eq!((one.from, one.step, one.most), (Duration::from_secs(10), Duration::from_secs(10) / 128, FAR));
    assert!(one.reason.as_ref().is_some_and(|reason| reason.contains("10.0 s")), "{one:?}");
    destinations.put_aside(&aside, &[1_000]);
    assert_eq!(destinations.aside()[0].from, Duration::from_secs(10) + one.step * 1_000, "behind the last");
    assert!(destinations.holds_back());

    for _ in 0..128 {
        destinations.learns(&to("slow"), &delivered(), QUICK);
    }
    assert_eq!(destinations.recovered(), ["slow"]);
}

#[tokio::test(start_paused = true)]
async fn a_destination_that_asks_to_be_left_alone_is_for_no_longer_than_its_channel_allows() {
    let destinations = destinations(Limits::default());
    let busy = |seconds| Answer { busy_for: Some(Duration::from_secs(seconds)), ..failed() };
    let pause = destinations.send("busy", &busy(30), QUICK).pause.expect("it is paused");
    assert_eq!((pause.remaining, pause.kind), (Duration::from_secs(30), PauseKind::RetryAfter));
    assert_eq!(destinations.closed_for("busy"), Some(Duration::from_secs(30)));
    tokio::time::advance(Duration::from_secs(30)).await;
    assert!(!destinations.is_closed("busy"));
    assert_eq!(destinations.send("busy", &busy(1_000_000), QUICK).pause.map(|pause| pause.remaining), Some(LONGEST));
}

#[tokio::test(start_paused = true)]
async fn a_rate_is_kept_from_the_first_message_on() {
    let rate = RateLimit { per_second: 20.0, rise: None };
    let limits = Limits { rate: Some(rate), max_in_flight: None };
    assert_eq!(limits.first_room(SLOTS), 2, "it is in slow start");
    let destinations = destinations(limits);
    destinations.admitted(&[to("a"), to("a")]);
    assert!(destinations.is_closed("a"));
    let aside = destinations.aside();
    assert_eq!((aside[0].from, aside[0].step), (Duration::from_millis(50), Duration::from_millis(50)));
    destinations.put_aside(&aside, &[100]);
    destinations.answers("a");
    tokio::time::advance(Duration::from_millis(500)).await;
    assert_eq!(destinations.room_at("a"), 10);
    assert!(destinations.recovered().is_empty(), "each waits for its turn");
}

#[tokio::test(start_paused = true)]
async fn a_destination_that_is_idle_is_evicted() {
    let destinations = destinations(Limits::default());
    destinations.send("a", &delivered(), QUICK);
    destinations.admitted(&[to("in-flight")]);
    tokio::time::advance(EVICTED_AFTER).await;
    destinations.prune();
    assert_eq!(destinations.state().known.keys().collect::<Vec<_>>(), ["in-flight"]);
}

fn with_rate(per_second: f64) -> Limits {
    Limits { rate: Some(RateLimit { per_second, rise: None }), max_in_flight: None }
}

#[tokio::test(start_paused = true)]
async fn a_destination_of_two_channels_keeps_to_the_slower_rate() {
    let allowed = [("hook", 100.0), ("slower", 10.0)].map(|(name, rate)| (name.to_owned(), with_rate(rate)));
    let destinations = Destinations::new(SLOTS, 64 << 20, HashMap::from(allowed));
    let slower = Message { channel: "slower".to_owned(), ..to("a") };
    destinations.admitted(&[to("a"), slower]);
    destinations.answers("a");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(destinations.room_at("a"), 10);
}

#[tokio::test(start_paused = true)]
async fn what_a_channel_allows_can_change_while_its_messages_are_in_flight() {
    let destinations = destinations(with_rate(1.0));
    for known in ["a", "b"] {
        destinations.send(known, &delivered(), QUICK);
        destinations.answers(known);
    }
    destinations.admitted(&[to("a"), to("a"), to("b")]);
    destinations.put_aside(&destinations.aside(), &[100, 100]);
    assert!(destinations.is_closed("a") && destinations.recovered().is_empty());

    let own = Limits { max_in_flight: Some(5), rate: None };
    destinations.reconfigure(HashMap::from([("hook".to_owned(), own)]));
    assert_eq!(destinations.room_at("a"), 3, "two are in flight");
    let mut recovered = destinations.recovered();
    recovered.sort();
    assert_eq!(recovered, ["a", "b"], "what was put aside at the old rate comes back");

    destinations.reconfigure(HashMap::new());
    assert!(destinations.room_at("a") > 3, "nobody limits it");
    destinations.reconfigure(HashMap::from([("hook".to_owned(), with_rate(2.0))]));
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(destinations.room_at("a"), 2);
}

#[tokio::test(start_paused = true)]
async fn rows_that_begin_to_wait_for_their_channel_while_others_are_brought_back_are_not_forgotten() {
    let destinations = destinations(Limits::default());
    let begins: [fn(&Destinations); 3] = [
        |destinations| destinations.take_over(&[]),
        |destinations| destinations.reconfigure(HashMap::from([("new".to_owned(), Limits::default())])),
        |destinations| destinations.configured_meanwhile(&["new".to_owned()]),
    ];
    for begin in begins {
        destinations.take_over(&[]);
        let (before, _) = destinations.configured().expect("a term begins");
        begin(&destinations);
        destinations.configured_are_back(before);
        let (now, _) = destinations.configured().expect("others wait");
        destinations.configured_are_back(now);
        assert_eq!(destinations.configured(), None);
    }
    destinations.configured_meanwhile(&["nobody".to_owned()]);
    assert_eq!(destinations.configured(), None);
}

#[tokio::test(start_paused = true)]
async fn another_limit_brings_nothing_back_to_a_destination_that_is_down() {
    let destinations = destinations(Limits::default());
    for _ in 0..5 {
        destinations.send("down", &failed(), QUICK);
    }
    let aside = destinations.aside();
    destinations.put_aside(&aside, &[5_000]);
    destinations.reconfigure(HashMap::from([("hook".to_owned(), with_rate(5.0))]));
    assert!(destinations.is_closed("down") && destinations.recovered().is_empty());
    assert_eq!(destinations.aside().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn rows_come_back_to_a_destination_that_closes_again_only_once_it_is_open() {
    let destinations = destinations(Limits::default());
    let opened = (0..5).find_map(|_| destinations.send("a", &failed(), QUICK).pause).expect("the breaker opens");
    tokio::time::advance(opened.remaining).await;
    destinations.send("a", &delivered(), QUICK);
    assert_eq!(destinations.recovered(), ["a"]);
    let asked = Answer { busy_for: Some(Duration::from_mins(1)), ..failed() };
    destinations.send("a", &asked, QUICK);
    assert_eq!(destinations.recovered(), [""; 0], "the pause would be forgotten");
    tokio::time::advance(Duration::from_mins(1)).await;
    assert_eq!(destinations.recovered(), ["a"]);
    while destinations.send("a", &failed(), QUICK).pause.is_none() {}
    assert_eq!(destinations.recovered(), [""; 0], "the breaker would be forgotten");
}

#[tokio::test(start_paused = true)]
async fn a_rate_below_one_a_second_is_kept_to_also_after_a_rest() {
    let destinations = destinations(with_rate(0.1));
    destinations.send("a", &delivered(), QUICK);
    for _ in 0..9 {
        tokio::time::advance(Duration::from_secs(1)).await;
        destinations.prune();
        assert!(destinations.is_closed("a"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_destination_that_failed_until_its_messages_were_dead_is_forgotten() {
    let destinations = destinations(Limits::default());
    for _ in 0..6 {
        destinations.send("closed", &failed(), QUICK);
    }
    tokio::time::advance(FAILURES_EVICTED_AFTER).await;
    destinations.prune();
    assert!(!destinations.is_known("closed"));
}

#[tokio::test(start_paused = true)]
async fn destinations_in_slow_start_that_answer_promptly_let_in_more_while_more_wait() {
    let destinations = destinations(Limits::default());
    let allowed = || destinations.rooms(&Channels::default()).budget_of_slow_start();
    destinations.send("a", &delivered(), QUICK);
    assert_eq!(allowed(), 64, "no more wait");
    destinations.more_slow_start_wait(true);
    destinations.send("b", &delivered(), QUICK);
    assert_eq!(allowed(), 65);
    destinations.send("c", &failed(), QUICK);
    assert_eq!(allowed(), 64);
}
