//! What is marked, and counted, when the turn of a message has come.

#![allow(clippy::unwrap_used)]

use async_trait::async_trait;
use outbox_adapters::Adapter;
use outbox_store::InDoubtPolicy;
use outbox_store::store::TermCounts;

use super::*;
use crate::fixtures::{SteppedClock, channel, message, metrics, term_of};
use crate::term::clock::Clock;

/// Refuses every message before it connects.
#[derive(Debug)]
struct Refusing;

#[async_trait]
impl Adapter for Refusing {
    async fn deliver(&self, _: Delivery) -> Answer {
        Answer::failed(Outcome::Dead { reason: DeadReason::Permanent }, "no URL")
    }

    fn examine(&self, _: Delivery) -> Result<String, String> {
        unreachable!("nobody asks")
    }

    async fn check(&self) -> Result<String, String> {
        unreachable!("nobody asks")
    }
}

/// The result of one message, and what was counted for it.
#[derive(Debug)]
struct Told {
    mark: Mark,
    counts: TermCounts,
    metrics: Arc<Metrics>,
    /// What its destination has in flight afterwards: messages and bytes.
    in_flight: Option<(usize, u64)>,
}

impl Told {
    /// How many attempts ended with this outcome.
    fn attempts(&self, outcome: &str) -> u64 {
        self.number(&format!(r#"outbox_attempts_total{{channel="hook",outcome="{outcome}"}} "#))
    }

    /// How many attempts were timed.
    fn timed(&self) -> u64 {
        self.number(r#"outbox_attempt_duration_seconds_count{channel="hook"} "#)
    }

    fn number(&self, name: &str) -> u64 {
        let text = self.metrics.render().unwrap();
        text.lines().find_map(|line| line.strip_prefix(name)).map_or(0, |number| number.parse().unwrap())
    }
}

/// Accepts no message in time. Or it loses the connection, where it does not time out.
#[derive(Debug)]
struct Slow {
    times_out: bool,
}

#[async_trait]
impl Adapter for Slow {
    async fn deliver(&self, delivery: Delivery) -> Answer {
        tokio::time::sleep(delivery.deadline.unwrap()).await;
        if self.times_out { Answer::timed_out("no answer") } else { Answer::failed(Outcome::InDoubt, "no answer") }
    }

    fn examine(&self, _: Delivery) -> Result<String, String> {
        unreachable!("nobody asks")
    }

    async fn check(&self) -> Result<String, String> {
        unreachable!("nobody asks")
    }
}

async fn turn_of(message: Message) -> Told {
    let clock = SteppedClock::new();
    turn_under(&term_of(&clock, clock.now().after(Duration::from_mins(1))), Arc::new(Refusing), message).await
}

async fn turn_under(term: &Arc<Term>, adapter: Arc<dyn Adapter>, message: Message) -> Told {
    turn_by(term, channel(adapter), message).await
}

async fn turn_by(term: &Arc<Term>, channel: Channel, message: Message) -> Told {
    let channels = Arc::new(Channels::new([channel]));
    let (marks, mut marked) = mpsc::unbounded_channel();
    let destinations = Arc::new(Destinations::new(8, 1_000_000, channels.limits()));
    destinations.admitted(std::slice::from_ref(&message));
    let sender = Arc::new(Sender { destinations: destinations.clone(), marks, metrics: metrics() });
    let (metrics, destination) = (sender.metrics.clone(), message.destination.clone());
    sender.attempt(term.clone(), channels, ClaimId::mint(), message).await;
    let Sent { mark, .. } = marked.try_recv().expect("its row waits for a mark");
    Told { mark, counts: term.counts(), metrics, in_flight: destinations.in_flight_at(&destination) }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_dead_before_its_turn_counts_as_no_attempt() {
    let expired = Message { expires_in_ms: Some(0), ..message(1) };
    let gone = Message { target_is_gone: true, ..message(1) };
    let used_up = Message { attempts: 1, ..message(1) };
    let forged =
        Message { target: "/path".to_owned(), destination: "https://elsewhere.example:443".to_owned(), ..message(1) };
    for (message, expected) in [
        (expired, DeadReason::Expired),
        (gone, DeadReason::Permanent),
        (used_up, DeadReason::Exhausted),
        (forged, DeadReason::Permanent),
    ] {
        let told = turn_of(message).await;
        let Verdict::Dead { reason, attempted: false, invalid_target: false } = told.mark.verdict else {
            panic!("{told:?}")
        };
        assert_eq!(reason, expected);
        assert_eq!((told.attempts("dead"), told.timed(), told.counts.failed), (0, 0, 0), "{expected:?}");
    }
}

/// The message might have been sent: only the adapter knows that it was not.
#[tokio::test(start_paused = true)]
async fn a_message_that_its_adapter_refuses_counts_as_an_attempt() {
    let of_its_channel = Message { target: "/path".to_owned(), destination: "hook".to_owned(), ..message(1) };
    for message in [message(1), of_its_channel] {
        let told = turn_of(message).await;
        assert!(matches!(told.mark.verdict, Verdict::Dead { attempted: true, .. }), "{told:?}");
        assert_eq!((told.attempts("dead"), told.timed(), told.counts.failed), (1, 1, 1));
    }
}

/// The row must not stay in flight for good. The next claim defers it, like all rows of such a channel.
#[tokio::test(start_paused = true)]
async fn what_a_destination_has_in_flight_is_given_back_whole_whether_a_message_was_sent_or_not() {
    for channel in ["hook", "fax"] {
        let large = Message { payload: "x".repeat(10_000), headers: Some("{}".to_owned()), ..message(1) };
        let told = turn_of(Message { channel: channel.to_owned(), ..large }).await;
        assert_eq!(told.in_flight, Some((0, 0)), "{channel}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_has_got_another_channel_since_its_claim_is_marked_unsent() {
    let told = turn_of(Message { channel: "another".to_owned(), ..message(1) }).await;
    assert_eq!(told.mark.verdict, Verdict::Unsent);
    assert!(told.mark.error.as_deref().is_some_and(|error| error.contains("another")), "{told:?}");
    assert_eq!(told.counts.failed, 0);
}

/// Says whether its permit holds before its term ends, and after that.
#[derive(Debug)]
struct Asking {
    term: Arc<Term>,
}

#[async_trait]
impl Adapter for Asking {
    async fn deliver(&self, delivery: Delivery) -> Answer {
        let before = delivery.permit.holds();
        self.term.end(outbox_store::TermEnd::Lost);
        Answer::failed(Outcome::Unsent, format!("{before}, then {}", delivery.permit.holds()))
    }

    fn examine(&self, _: Delivery) -> Result<String, String> {
        unreachable!("nobody asks")
    }

    async fn check(&self) -> Result<String, String> {
        unreachable!("nobody asks")
    }
}

#[tokio::test(start_paused = true)]
async fn an_adapter_may_send_as_long_as_the_term_lasts() {
    let clock = SteppedClock::new();
    let term = term_of(&clock, clock.now().after(Duration::from_mins(1)));
    let told = turn_under(&term, Arc::new(Asking { term: term.clone() }), message(1)).await;
    assert_eq!((told.attempts("unsent"), told.timed(), told.counts.failed), (1, 0, 0));
    assert_eq!((told.mark.verdict, told.mark.error.as_deref()), (Verdict::Unsent, Some("true, then false")));
}

/// How long the attempt took, and the deadline that its mark gives the next one, in seconds.
async fn after_no_answer(channel: Channel, own: Option<u64>) -> (u64, Option<u64>) {
    let clock = SteppedClock::new();
    let term = term_of(&clock, clock.now().after(Duration::from_hours(1)));
    let deadline_ms = own.map(|seconds| i32::try_from(seconds * 1000).unwrap());
    let began = tokio::time::Instant::now();
    let told = turn_by(&term, channel, Message { max_attempts: Some(3), deadline_ms, ..message(1) }).await;
    (began.elapsed().as_secs(), told.mark.deadline.map(|next| next.as_secs()))
}

fn slow(timeout: u64, times_out: bool) -> Channel {
    Channel { timeout: Duration::from_secs(timeout), ..channel(Arc::new(Slow { times_out })) }
}

#[tokio::test(start_paused = true)]
async fn each_attempt_that_times_out_doubles_the_deadline_of_the_next_up_to_a_minute() {
    for (timeout, own, took, next) in [
        (15, None, 15, Some(30)),
        (15, Some(30), 30, Some(60)),
        (15, Some(60), 60, None),
        (40, None, 40, Some(60)),
        (60, None, 60, None),
        (90, None, 90, None),
        (90, Some(60), 90, None),
    ] {
        assert_eq!(after_no_answer(slow(timeout, true), own).await, (took, next), "{timeout} s, {own:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn neither_a_lost_connection_nor_a_message_that_is_not_sent_again_gets_a_longer_deadline() {
    assert_eq!(after_no_answer(slow(15, false), None).await, (15, None));
    let once = Channel { in_doubt: InDoubtPolicy::DeadLetter, ..slow(15, true) };
    assert_eq!(after_no_answer(once, None).await, (15, None));
}
