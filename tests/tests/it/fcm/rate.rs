//! The rate of a channel after a rest, as FCM sees it.

use std::time::{Duration, Instant};

use outbox_tests::eventually;
use rustix::process::Signal;

use super::{ends, push, stand_in};
use crate::program::{PATIENCE, Program};

/// Pushes a second, reached a minute after a rest.
const RATE: f64 = 120.0;

/// The most that may have arrived after so long, where the rate had been rising for a time before: a second's worth, and
/// all the time at the rate of its end.
fn allowed(rising_for: Duration, elapsed: Duration) -> f64 {
    let rate = |rising_for: Duration| RATE * ((rising_for.as_secs_f64() + 1.0) / 60.0).min(1.0);
    rate(rising_for) + elapsed.as_secs_f64() * rate(rising_for + elapsed)
}

/// Of each arrival: how many have come with it, and when.
fn counted(arrivals: &[Instant]) -> impl Iterator<Item = (f64, Instant)> {
    arrivals.iter().zip(1_u32..).map(|(arrived, count)| (f64::from(count), *arrived))
}

#[tokio::test]
async fn after_a_rest_the_rate_begins_low_and_a_new_poller_goes_on_with_its_rise() {
    let (outbox, stand_in) = (super::outbox().await, stand_in(Duration::ZERO));
    let program = Program::new(&outbox.test.url, &format!("{}rate = {RATE:.1}\n", stand_in.channel("push")));
    outbox
        .sql(
            "INSERT INTO outbox_destination (destination, ramp_from, last_sent_at) \
             VALUES ('push', now() - interval '1 hour', now() - interval '2 minutes')",
        )
        .await;
    push(&outbox, "push", (0..20).map(|number| format!("first-{number}"))).await;
    let started = Instant::now();
    let first = program.start();
    ends(&outbox, 20, "status = 'SUCCESS'").await;
    let arrivals: Vec<_> = stand_in.received().iter().map(|sent| sent.arrived).collect();
    for (count, arrived) in counted(&arrivals) {
        let allowed = allowed(Duration::ZERO, arrived - started);
        assert!(count <= allowed, "{count} came within {:?} of a rest", arrived - started);
    }
    let saved = "SELECT count(*) FROM outbox_destination WHERE ramp_from > now() - interval '30 minutes'";
    let is_saved = async || (outbox.number(saved).await == 1).then_some(());
    eventually("the new rise is saved", PATIENCE, is_saved).await;
    assert_eq!(first.stop(Signal::TERM).await.0, Some(0));

    let started = Instant::now();
    outbox
        .sql("UPDATE outbox_destination SET ramp_from = ramp_from - interval '30 seconds', last_sent_at = now()")
        .await;
    let rising_for = "SELECT (extract(epoch FROM now() - ramp_from) * 1000)::bigint FROM outbox_destination";
    let rising_for = Duration::from_millis(outbox.number(rising_for).await.unsigned_abs());
    push(&outbox, "push", (0..300).map(|number| format!("second-{number}"))).await;
    let second = program.start();
    ends(&outbox, 320, "status = 'SUCCESS'").await;
    let arrivals: Vec<_> = stand_in.received().iter().skip(20).map(|sent| sent.arrived).collect();
    for (count, arrived) in counted(&arrivals) {
        let allowed = allowed(rising_for, arrived - started);
        assert!(count <= allowed, "{count} came within {:?} of a rise of {rising_for:?}", arrived - started);
    }
    let goes_on = counted(&arrivals).any(|(count, arrived)| count > allowed(Duration::ZERO, arrived - arrivals[0]));
    assert!(goes_on, "it began anew: {:?}", arrivals[arrivals.len() - 1] - arrivals[0]);
    assert_eq!(second.stop(Signal::TERM).await.0, Some(0));
}
