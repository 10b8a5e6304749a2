//! A rate limit: a bucket of tokens, one for each message, and a rate that may rise from zero after a rest.

use std::time::Duration;

use tokio::time::Instant;

use crate::channels::RateLimit;

/// A destination that got no message for this long begins its rise anew, where its rate rises at all.
pub(super) const REST: Duration = Duration::from_mins(1);

/// The bucket of tokens of one destination.
#[derive(Debug)]
pub(super) struct Bucket {
    limit: RateLimit,
    tokens: f64,
    filled: Instant,
    /// Since when the rate has been rising.
    rising_since: Instant,
    used: Instant,
}

impl RateLimit {
    /// Messages a second that are allowed when the rate has been rising for this long. More than zero from the start.
    fn after(&self, rising_for: Duration) -> f64 {
        let Some(rise) = self.rise.filter(|rise| !rise.is_zero()) else { return self.per_second };
        let begun = rising_for + Duration::from_secs(1);
        self.per_second * (begun.as_secs_f64() / rise.as_secs_f64()).min(1.0)
    }

    /// How long the rate has been rising where it allows this many messages a second.
    fn rising_for(&self, per_second: f64) -> Duration {
        let rise = self.rise.unwrap_or_default().mul_f64((per_second / self.per_second).min(1.0));
        rise.saturating_sub(Duration::from_secs(1))
    }

    /// How many messages may go at once to a destination of which nothing is known.
    pub(super) fn burst(&self) -> usize {
        whole(self.after(Duration::ZERO).max(1.0))
    }

    /// How many messages may go at once after a while without any, when the rate has risen.
    pub(super) fn burst_at_most(&self) -> usize {
        whole(self.per_second.max(1.0))
    }
}

impl Bucket {
    /// A bucket with this many tokens, whose rate has been rising for this long.
    pub(super) fn new(limit: RateLimit, tokens: usize, rising_for: Duration, now: Instant) -> Self {
        let rising_since = now.checked_sub(rising_for).unwrap_or(now);
        #[expect(clippy::cast_precision_loss, reason = "a number of messages")]
        let tokens = tokens as f64;
        Self { limit, tokens, filled: now, rising_since, used: now }
    }

    /// How many messages may go now.
    pub(super) fn available(&mut self, now: Instant) -> usize {
        if now - self.used >= REST {
            self.rising_since = now;
            self.used = now;
        }
        let rate = self.limit.after(now - self.rising_since);
        let filled = (now - self.filled).as_secs_f64() * rate;
        // At most the tokens of one second are saved up.
        self.tokens = (self.tokens + filled).min(rate.max(1.0));
        self.filled = now;
        whole(self.tokens)
    }

    /// Whether as much is saved up as can be.
    pub(super) fn is_full(&mut self, now: Instant) -> bool {
        self.available(now) >= self.limit.burst()
    }

    /// Takes the tokens of messages that go.
    pub(super) fn take(&mut self, messages: usize, now: Instant) {
        #[expect(clippy::cast_precision_loss, reason = "a number of messages")]
        let messages = messages as f64;
        self.available(now);
        self.tokens -= messages;
        self.used = now;
    }

    /// Keeps to another limit from now on. Where that rises, it goes on from the rate of the moment.
    pub(super) fn keep_to(&mut self, limit: RateLimit, now: Instant) {
        if self.limit == limit {
            return;
        }
        self.available(now);
        let reached = self.limit.after(now - self.rising_since);
        self.limit = limit;
        self.rising_since = now.checked_sub(limit.rising_for(reached)).unwrap_or(now);
    }

    /// The time of one message at the full rate.
    pub(super) fn step(&self) -> Duration {
        Duration::try_from_secs_f64(1.0 / self.limit.per_second).unwrap_or(Duration::from_hours(1))
    }

    /// How long the rate has been rising, where it rises.
    pub(super) fn rising_for(&self, now: Instant) -> Option<Duration> {
        self.limit.rise.map(|_| now - self.rising_since)
    }

    /// Messages a second that are allowed now.
    pub(super) fn per_second(&self, now: Instant) -> f64 {
        self.limit.after(now - self.rising_since)
    }

    /// The rate in words, for people.
    pub(super) fn describe(&self) -> String {
        format!("{} messages a second are allowed", self.limit.per_second)
    }
}

fn whole(tokens: f64) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and far below the limit"
    )]
    let whole = tokens.clamp(0.0, 1e9) as usize;
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEADY: RateLimit = RateLimit { per_second: 100.0, rise: None };
    const RISING: RateLimit = RateLimit { per_second: 6_000.0, rise: Some(Duration::from_mins(1)) };

    /// Takes all tokens every 10 ms, for this many seconds.
    fn sent(bucket: &mut Bucket, from: Instant, seconds: u64) -> usize {
        (1..=seconds * 100)
            .map(|tick| {
                let now = from + Duration::from_millis(tick * 10);
                let available = bucket.available(now);
                bucket.take(available, now);
                available
            })
            .sum()
    }

    #[test]
    fn no_more_is_sent_than_the_rate_allows_and_a_second_of_it_is_saved_up() {
        let now = Instant::now();
        let mut bucket = Bucket::new(STEADY, 0, Duration::ZERO, now);
        assert!((990..=1_000).contains(&sent(&mut bucket, now, 10)));
        assert_eq!(bucket.available(now + Duration::from_mins(5)), 100);
    }

    #[test]
    fn a_rate_below_one_a_second_lets_one_go_in_its_time() {
        let now = Instant::now();
        let mut bucket = Bucket::new(RateLimit { per_second: 0.1, rise: None }, 0, Duration::ZERO, now);
        assert_eq!(bucket.available(now + Duration::from_secs(9)), 0);
        assert_eq!(bucket.available(now + Duration::from_secs(11)), 1);
    }

    #[test]
    fn a_rate_rises_over_a_minute_and_begins_anew_after_a_rest() {
        let now = Instant::now();
        let mut bucket = Bucket::new(RISING, 0, Duration::ZERO, now);
        let first = sent(&mut bucket, now, 1);
        assert!((100..=200).contains(&first), "{first}");
        sent(&mut bucket, now + Duration::from_secs(1), 59);
        let full = sent(&mut bucket, now + Duration::from_mins(1), 1);
        assert!((5_900..=6_000).contains(&full), "{full}");
        assert_eq!(bucket.available(now + Duration::from_mins(3)), RISING.burst());
    }

    #[test]
    fn another_limit_goes_on_from_the_rate_that_was_reached() {
        let now = Instant::now();
        let mut bucket = Bucket::new(STEADY, 0, Duration::ZERO, now);
        bucket.keep_to(RateLimit { per_second: 10.0, ..STEADY }, now);
        assert!((9..=10).contains(&sent(&mut bucket, now, 1)));
        bucket.keep_to(RISING, now + Duration::from_secs(1));
        let second = sent(&mut bucket, now + Duration::from_secs(1), 1);
        assert!((90..=210).contains(&second), "{second}");
        let later = now + Duration::from_secs(2);
        let mut risen = Bucket::new(RISING, 0, Duration::from_mins(1), later);
        risen.keep_to(RateLimit { per_second: 60_000.0, ..RISING }, later);
        let second = sent(&mut risen, later, 1);
        assert!((5_900..=7_100).contains(&second), "{second}");
    }

    #[test]
    fn a_rise_that_was_taken_over_goes_on() {
        let now = Instant::now() + Duration::from_hours(1);
        let mut bucket = Bucket::new(RISING, 0, Duration::from_secs(29), now);
        let second = sent(&mut bucket, now, 1);
        assert!((2_900..=3_100).contains(&second), "{second}");
    }
}
