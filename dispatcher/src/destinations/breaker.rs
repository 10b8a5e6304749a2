//! A circuit breaker: a destination that fails again and again is left alone, and then tried with a few messages.
//!
//! It opens once at least [`LEAST`] attempts have failed, and these are half or more of those since counting began; counting
//! begins anew every [`SPAN`], but not before something has succeeded. A failure does not count where the message was first
//! tried before the last success: it is itself at fault. The first pause is [`FIRST_PAUSE`], the next twice as long, up to
//! [`LONGEST_PAUSE`], each longer by up to a fifth. After a pause up to [`PROBES`] messages are let through: one that
//! succeeds closes it, and when all have failed the next pause begins.

use std::time::Duration;

use tokio::time::Instant;

/// Failures that open it.
const LEAST: u32 = 5;

/// How long attempts are counted together.
const SPAN: Duration = Duration::from_mins(1);

const FIRST_PAUSE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// Messages that are let through after a pause.
const PROBES: usize = 3;

/// What an attempt says of its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// It works: it took the message, or refused this one.
    Good,
    /// It does not.
    Bad,
    /// Nothing was asked of it, or it is not at fault.
    None,
}

/// What the breaker does about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Nothing.
    Stay,
    /// It opens, or stays open, for so long: a pause begins.
    Open(Duration),
    /// It is open already: this attempt began before.
    StillOpen(Duration),
    /// It closes.
    Close,
}

#[derive(Debug)]
enum State {
    Closed { since: Instant, good: u32, bad: u32 },
    Open { until: Instant },
    HalfOpen { let_through: usize },
}

/// The breaker of one destination.
#[derive(Debug)]
pub(super) struct Breaker {
    state: State,
    /// When something last succeeded.
    worked: Option<Instant>,
    /// Whether anything has failed.
    pub(super) has_failed: bool,
    /// Pauses in a row.
    pub(super) failures: u32,
}

impl Breaker {
    pub(super) fn new(now: Instant) -> Self {
        Self { state: State::Closed { since: now, good: 0, bad: 0 }, worked: None, has_failed: false, failures: 0 }
    }

    /// As an earlier term left it.
    pub(super) fn taken_over(failures: u32, remaining: Duration, now: Instant) -> Self {
        let state = State::Open { until: now + remaining };
        Self { state, worked: None, has_failed: true, failures: failures.max(1) }
    }

    /// How much longer it is open; none where it is not.
    pub(super) fn open_for(&mut self, now: Instant) -> Option<Duration> {
        if let State::Open { until } = self.state {
            if until > now {
                return Some(until - now);
            }
            self.state = State::HalfOpen { let_through: 0 };
        }
        None
    }

    /// How many messages it still lets through to see whether the destination works; none where it does not count them.
    pub(super) fn probes_left(&self) -> Option<usize> {
        match self.state {
            State::HalfOpen { let_through } => Some(PROBES.saturating_sub(let_through)),
            State::Closed { .. } | State::Open { .. } => None,
        }
    }

    /// A message is on its way.
    pub(super) fn let_through(&mut self) {
        if let State::HalfOpen { let_through } = &mut self.state {
            *let_through += 1;
        }
    }

    /// Whether it remembers nothing that matters.
    pub(super) fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed { .. })
    }

    /// What the failure of a message says whose first attempt began so long ago.
    pub(super) fn failure(&mut self, trying_for: Duration, now: Instant) -> Sign {
        self.has_failed = true;
        let worked_since = self.worked.is_some_and(|worked| now - worked < trying_for);
        if self.is_closed() && worked_since { Sign::None } else { Sign::Bad }
    }

    /// An attempt ended; `others` are still in flight to the destination.
    pub(super) fn learn(&mut self, sign: Sign, others: usize, now: Instant) -> Turn {
        if sign == Sign::Good {
            self.worked = Some(now);
        }
        if let Some(remaining) = self.open_for(now) {
            return if sign == Sign::Bad { Turn::StillOpen(remaining) } else { Turn::Stay };
        }
        match (&mut self.state, sign) {
            // It told nothing: another one goes in its place.
            (State::HalfOpen { let_through }, Sign::None) => {
                *let_through = let_through.saturating_sub(1);
                Turn::Stay
            }
            (State::Closed { .. } | State::Open { .. }, Sign::None) => Turn::Stay,
            (State::Closed { since, good, bad }, _) => {
                if now - *since >= SPAN && *good > 0 {
                    (*since, *good, *bad) = (now, 0, 0);
                }
                match sign {
                    Sign::Good | Sign::None => *good = good.saturating_add(1),
                    Sign::Bad => *bad = bad.saturating_add(1),
                }
                if sign == Sign::Bad && *bad >= LEAST && *bad >= *good { self.open(now) } else { Turn::Stay }
            }
            (State::HalfOpen { .. }, Sign::Good) => {
                *self = Self { worked: self.worked, has_failed: true, ..Self::new(now) };
                Turn::Close
            }
            // The other probes may still succeed.
            (State::HalfOpen { .. }, Sign::Bad) if others > 0 => Turn::StillOpen(FIRST_PAUSE),
            (State::HalfOpen { .. } | State::Open { .. }, Sign::Good | Sign::Bad) => self.open(now),
        }
    }

    fn open(&mut self, now: Instant) -> Turn {
        let doubled = 1_u32.checked_shl(self.failures).unwrap_or(u32::MAX);
        let pause = FIRST_PAUSE.saturating_mul(doubled).min(LONGEST_PAUSE);
        let pause = pause.mul_f64(1.0 + rand::random::<f64>() / 5.0);
        self.failures = self.failures.saturating_add(1);
        self.state = State::Open { until: now + pause };
        Turn::Open(pause)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// How long it opened for, after these signs.
    fn after(breaker: &mut Breaker, signs: &[Sign], now: Instant) -> Option<Duration> {
        signs.iter().find_map(|sign| match breaker.learn(*sign, 0, now) {
            Turn::Open(pause) => Some(pause),
            Turn::Stay | Turn::StillOpen(_) | Turn::Close => None,
        })
    }

    #[test]
    fn it_opens_at_the_fifth_failure_when_half_of_all_attempts_failed() {
        let now = Instant::now();
        assert_eq!(after(&mut Breaker::new(now), &[Sign::Bad; 4], now), None);
        assert!(after(&mut Breaker::new(now), &[Sign::Bad; 5], now).is_some());
        let mixed = [[Sign::Good; 6], [Sign::Bad; 6]].concat();
        assert_eq!(after(&mut Breaker::new(now), &mixed[..11], now), None);
        assert!(after(&mut Breaker::new(now), &mixed, now).is_some());
        assert_eq!(after(&mut Breaker::new(now), &[Sign::None; 50], now), None);
    }

    #[test]
    fn failures_that_are_far_between_count_together_until_something_succeeds() {
        let now = Instant::now();
        let (mut lonely, mut answered) = (Breaker::new(now), Breaker::new(now));
        answered.learn(Sign::Good, 0, now);
        let mut opened = (0, 0);
        for minute in 1..=5 {
            let then = now + SPAN * minute;
            opened.0 += u32::from(lonely.learn(Sign::Bad, 0, then) != Turn::Stay);
            opened.1 += u32::from(answered.learn(Sign::Bad, 0, then) != Turn::Stay);
            answered.learn(Sign::Good, 0, then);
        }
        assert_eq!(opened, (1, 0));
    }

    #[test]
    fn a_failure_says_nothing_of_a_destination_that_has_taken_something_since_the_message_was_first_tried() {
        const TRYING: Duration = Duration::from_secs(20);
        let now = Instant::now();
        let mut breaker = Breaker::new(now);
        assert_eq!(breaker.failure(TRYING, now), Sign::Bad, "nothing is known of it");
        breaker.learn(Sign::Good, 0, now);
        let then = now + TRYING;
        assert_eq!(breaker.failure(TRYING + Duration::from_millis(1), then), Sign::None);
        assert_eq!(breaker.failure(TRYING, then), Sign::Bad, "it may have failed since");
        assert_eq!(breaker.failure(Duration::ZERO, now), Sign::Bad);

        let pause = after(&mut breaker, &[Sign::Bad; 5], then).unwrap_or_default();
        assert_eq!(breaker.failure(TRYING * 2, then), Sign::Bad, "it is down");
        breaker.learn(Sign::Good, 0, then + pause);
        assert_eq!(
            breaker.failure(pause + TRYING, then + pause + TRYING),
            Sign::None,
            "it took a message after the pause"
        );
    }

    #[test]
    fn after_a_pause_one_success_closes_it() {
        let now = Instant::now();
        let mut breaker = Breaker::new(now);
        let pause = after(&mut breaker, &[Sign::Bad; 5], now);
        assert!(breaker.open_for(now).is_some());
        assert_eq!(breaker.learn(Sign::Good, 0, now), Turn::Stay, "it began before the pause");
        let then = now + pause.unwrap_or_default();
        assert_eq!((breaker.open_for(then), breaker.probes_left()), (None, Some(PROBES)));
        assert!(matches!(breaker.learn(Sign::Bad, 1, then), Turn::StillOpen(_)));
        assert_eq!(breaker.learn(Sign::Good, 0, then), Turn::Close);
        assert!(breaker.is_closed() && breaker.failures == 0);
    }

    #[test]
    fn no_more_than_a_few_messages_find_out_whether_it_works() {
        let now = Instant::now();
        let mut breaker = Breaker::taken_over(1, Duration::ZERO, now);
        assert_eq!(breaker.open_for(now), None);
        for left in (0..PROBES).rev() {
            breaker.let_through();
            assert_eq!(breaker.probes_left(), Some(left));
        }
        breaker.learn(Sign::Bad, 2, now);
        assert_eq!(breaker.probes_left(), Some(0), "one that failed makes no room for another");
        breaker.learn(Sign::None, 1, now);
        assert_eq!(breaker.probes_left(), Some(1), "one that was not sent does");
        assert!(matches!(breaker.learn(Sign::Bad, 0, now), Turn::Open(_)));
    }

    #[test]
    fn each_pause_is_twice_as_long_as_the_one_before_up_to_five_minutes() {
        let mut now = Instant::now();
        let mut breaker = Breaker::new(now);
        let mut pauses = Vec::new();
        for _ in 0..9 {
            let pause = after(&mut breaker, &[Sign::Bad; 5], now).unwrap_or_default();
            pauses.push(pause.as_secs_f64());
            now += pause;
        }
        for (pause, base) in pauses.iter().zip([10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0, 300.0, 300.0]) {
            assert!((base..=base * 1.2).contains(pause), "{pauses:?}");
        }
    }

    #[test]
    fn one_taken_over_is_open_for_the_rest_of_its_pause_and_then_probed() {
        let now = Instant::now();
        let mut breaker = Breaker::taken_over(3, Duration::from_secs(7), now);
        assert_eq!(breaker.open_for(now), Some(Duration::from_secs(7)));
        assert_eq!(breaker.open_for(now + Duration::from_secs(7)), None);
        assert_eq!(breaker.probes_left(), Some(PROBES));
    }

    proptest! {
        #[test]
        fn it_never_opens_where_most_attempts_succeed(rounds in 1_usize..200) {
            let now = Instant::now();
            let mut breaker = Breaker::new(now);
            let signs: Vec<_> = (0..rounds).flat_map(|_| [Sign::Good, Sign::Good, Sign::Bad]).collect();
            prop_assert_eq!(after(&mut breaker, &signs, now), None);
        }
    }
}
