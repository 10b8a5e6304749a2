//! The rate of a channel after a rest, as FCM sees it.

use std::time::{Duration, Instant};

use outbox_tests::fcm::StandIn;
use outbox_tests::{eventually, outbox_binary};
use rustix::process::Signal;

use super::{ends, push, stand_in};
use crate::outboxes::Outbox;
use crate::program::{PATIENCE, Program};

/// Pushes a second, reached a minute after a rest.
const RATE: f64 = 120.0;

/// The most that may have arrived after so long, where the rate had been rising for a time before: a second's worth, and
/// all the time at the rate of its end.
fn allowed(rising_for: Duration, elapsed: Duration) -> f64 {
    let rate = |rising_for: Duration| RATE * ((rising_for.as_secs_f64() + 1.0) / 60.0).min(1.0);
    rate(rising_for) + elapsed.as_secs_f64() * rate(rising_for + elapsed)
}

/// For how long the rate has been rising, by what pollers keep; a rest ends it.
const RISING_MS: &str = "SELECT CASE WHEN last_sent_at > now() - interval '1 minute' \
                         THEN (extract(epoch FROM now() - ramp_from) * 1000)::bigint ELSE 0 END FROM outbox_destination";

/// A channel with a rate, on both sides of the dispatcher.
struct Channel {
    outbox: Outbox,
    stand_in: StandIn,
    program: Program,
}

impl Channel {
    async fn new() -> Self {
        let (outbox, stand_in) = (super::outbox().await, stand_in(Duration::ZERO));
        let program = Program::new(&outbox.test.url, &format!("{}rate = {RATE:.1}\n", stand_in.channel("push")));
        // Built before any time counts.
        outbox_binary();
        Self { outbox, stand_in, program }
    }

    /// Has a new poller send so many pushes, of which never more may have come than are allowed. Gives when that was, by
    /// the database's clock.
    async fn sends(&self, pushes: usize) -> String {
        let started = Instant::now();
        let since = self.outbox.text("SELECT now()::text").await;
        let rising_for = Duration::from_millis(self.outbox.number(RISING_MS).await.unsigned_abs());
        let before = self.stand_in.counts().received;
        push(&self.outbox, "push", (before..before + pushes).map(|number| format!("device-{number}"))).await;
        let poller = self.program.start();
        ends(&self.outbox, i64::try_from(before + pushes).unwrap(), "status = 'SUCCESS'").await;
        let saved = async || self.is(&format!("last_sent_at > '{since}'")).await.then_some(());
        eventually("how far the rate has risen is saved", PATIENCE, saved).await;
        assert_eq!(poller.stop(Signal::TERM).await.0, Some(0));
        for (sent, count) in self.stand_in.received().iter().skip(before).zip(1_u32..) {
            let elapsed = sent.arrived - started;
            let most = allowed(rising_for, elapsed);
            assert!(
                f64::from(count) <= most,
                "{count} came within {elapsed:?} after a rise of {rising_for:?}, not {most}"
            );
        }
        since
    }

    /// Whether that is true of what pollers keep.
    async fn is(&self, condition: &str) -> bool {
        self.outbox.number(&format!("SELECT count(*) FROM outbox_destination WHERE {condition}")).await == 1
    }
}

#[tokio::test]
async fn after_a_rest_the_rate_begins_low_and_a_new_poller_goes_on_with_its_rise() {
    let channel = Channel::new().await;
    let rested = "INSERT INTO outbox_destination (destination, ramp_from, last_sent_at) \
                  VALUES ('push', now() - interval '1 hour', now() - interval '2 minutes')";
    channel.outbox.sql(rested).await;
    let since = channel.sends(20).await;
    assert!(channel.is(&format!("ramp_from > '{since}'")).await, "it went on with the rise from before the rest");

    let earlier = "UPDATE outbox_destination SET ramp_from = ramp_from - interval '30 seconds', last_sent_at = now()";
    channel.outbox.sql(earlier).await;
    let since = channel.sends(450).await;
    assert!(channel.is(&format!("ramp_from < '{since}'")).await, "it began anew");
}
