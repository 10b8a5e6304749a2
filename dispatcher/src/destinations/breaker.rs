//! A circuit breaker: a destination that fails again and again gets no messages for a while, and is then tried with a
//! few.
//!
//! The breaker counts attempts and opens once at least [`LEAST`] of them have failed, and half or more of all have.
//! Counting begins anew every [`SPAN`], but not before an attempt has succeeded. A failure does not count where the
//! message was first tried before the last success: then the message is at fault. Nor does a refusal count that may be about
//! one target alone; once it is known to be about all, the breaker opens.
//!
//! The first pause is [`FIRST_PAUSE`], and each further one is twice as long, up to [`LONGEST_PAUSE`]. Each is
//! lengthened by up to a fifth. After a pause, up to [`PROBES`] messages are let through. One that succeeds closes the
//! breaker. When all have failed, the next pause begins.

use std::time::Duration;

use tokio::time::Instant;

/// The number of failures that opens the breaker.
const LEAST: u32 = 5;

/// How long attempts are counted together.
const SPAN: Duration = Duration::from_mins(1);

const FIRST_PAUSE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// The number of messages that are let through after a pause.
const PROBES: usize = 3;

/// What an attempt says about its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    /// The destination works: it took the message, or refused this one.
    Good,
    /// The destination does not work.
    Bad {
        /// How long ago the message was first tried. Zero where this was its first attempt.
        trying_for: Duration,
    },
    /// The destination refused a message for now. That may be about its target alone.
    Refused {
        /// How long ago the message was first tried. Zero where this was its first attempt.
        trying_for: Duration,
        /// Whether the answer asks for a pause.
        asks: bool,
    },
    /// The destination refuses all of its targets for now.
    Down,
    /// The attempt says nothing: the destination was not asked, or is not at fault.
    None,
}

/// The reaction of the breaker to an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transition {
    /// The breaker stays as it is.
    Stay,
    /// The breaker opens, or stays open, for this long: a pause begins.
    Open(Duration),
    /// The breaker is open already: this attempt began before that.
    StillOpen(Duration),
    /// The breaker closes.
    Close,
}

#[derive(Debug)]
enum State {
    Closed { since: Instant, good: u32, bad: u32 },
    Open { until: Instant },
    HalfOpen { let_through: usize },
}

impl State {
    fn closed(now: Instant) -> Self {
        Self::Closed { since: now, good: 0, bad: 0 }
    }
}

/// The breaker of one destination.
#[derive(Debug)]
pub(super) struct Breaker {
    state: State,
    /// When an attempt last succeeded.
    worked: Option<Instant>,
    /// Whether any attempt has failed.
    pub(super) has_failed: bool,
    /// Pauses in a row.
    pub(super) failures: u32,
}

impl Breaker {
    pub(super) fn new(now: Instant) -> Self {
        Self { state: State::closed(now), worked: None, has_failed: false, failures: 0 }
    }

    /// The breaker as an earlier term left it.
    pub(super) fn taken_over(failures: u32, remaining: Duration, now: Instant) -> Self {
        let state = State::Open { until: now + remaining };
        Self { state, worked: None, has_failed: true, failures: failures.max(1) }
    }

    /// How much longer the breaker is open. None where it is not.
    pub(super) fn open_for(&mut self, now: Instant) -> Option<Duration> {
        if let State::Open { until } = self.state {
            if until > now {
                return Some(until - now);
            }
            self.state = State::HalfOpen { let_through: 0 };
        }
        None
    }

    /// How many messages the breaker still lets through to see whether the destination works. None where it does not
    /// count them.
    pub(super) fn probes_left(&self) -> Option<usize> {
        match self.state {
            State::HalfOpen { let_through } => Some(PROBES.saturating_sub(let_through)),
            State::Closed { .. } | State::Open { .. } => None,
        }
    }

    /// Notes that a message is on its way.
    pub(super) fn let_through(&mut self) {
        if let State::HalfOpen { let_through } = &mut self.state {
            *let_through += 1;
        }
    }

    /// Whether the breaker remembers nothing that matters.
    pub(super) fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed { .. })
    }

    /// Whether an attempt has succeeded since a message was first tried, so long ago.
    pub(super) fn worked_within(&self, trying_for: Duration, now: Instant) -> bool {
        self.worked.is_some_and(|worked| now - worked < trying_for)
    }

    /// Learns from an attempt that ended. `others` are still in flight to the destination.
    pub(super) fn learn(&mut self, signal: Signal, others: usize, now: Instant) -> Transition {
        match signal {
            Signal::Good => self.worked = Some(now),
            Signal::Bad { .. } | Signal::Down => self.has_failed = true,
            Signal::Refused { .. } | Signal::None => {}
        }
        if let Some(remaining) = self.open_for(now) {
            return if matches!(signal, Signal::Bad { .. } | Signal::Down) {
                Transition::StillOpen(remaining)
            } else {
                Transition::Stay
            };
        }
        let at_fault = matches!(signal, Signal::Bad { trying_for } if self.worked_within(trying_for, now));
        match (&mut self.state, signal) {
            // The attempt showed nothing: another one goes in its place.
            (State::HalfOpen { let_through }, Signal::None | Signal::Refused { .. }) => {
                *let_through = let_through.saturating_sub(1);
                Transition::Stay
            }
            (State::Closed { .. } | State::Open { .. }, Signal::None | Signal::Refused { .. }) => Transition::Stay,
            // The message is at fault.
            (State::Closed { .. }, Signal::Bad { .. }) if at_fault => Transition::Stay,
            (State::Closed { .. }, Signal::Down) => self.open(now),
            (State::Closed { since, good, bad }, _) => {
                if now - *since >= SPAN && *good > 0 {
                    (*since, *good, *bad) = (now, 0, 0);
                }
                if signal == Signal::Good {
                    *good = good.saturating_add(1);
                    return Transition::Stay;
                }
                *bad = bad.saturating_add(1);
                if *bad >= LEAST && *bad >= *good { self.open(now) } else { Transition::Stay }
            }
            (State::HalfOpen { .. }, Signal::Good) => {
                (self.state, self.failures) = (State::closed(now), 0);
                Transition::Close
            }
            // The other probes may still succeed.
            (State::HalfOpen { .. }, Signal::Bad { .. } | Signal::Down) if others > 0 => {
                Transition::StillOpen(FIRST_PAUSE)
            }
            (State::HalfOpen { .. } | State::Open { .. }, Signal::Good | Signal::Bad { .. } | Signal::Down) => {
                self.open(now)
            }
        }
    }

    fn open(&mut self, now: Instant) -> Transition {
        let doubled = 1_u32.checked_shl(self.failures).unwrap_or(u32::MAX);
        let pause = FIRST_PAUSE.saturating_mul(doubled).min(LONGEST_PAUSE);
        let pause = pause.mul_f64(1.0 + rand::random::<f64>() / 5.0);
        self.failures = self.failures.saturating_add(1);
        self.state = State::Open { until: now + pause };
        Transition::Open(pause)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The failure of a message at its first attempt.
    const BAD: Signal = Signal::Bad { trying_for: Duration::ZERO };

    /// How long the breaker opened for, after these signals.
    fn after(breaker: &mut Breaker, signals: &[Signal], now: Instant) -> Option<Duration> {
        signals.iter().find_map(|signal| match breaker.learn(*signal, 0, now) {
            Transition::Open(pause) => Some(pause),
            Transition::Stay | Transition::StillOpen(_) | Transition::Close => None,
        })
    }

    #[test]
    fn it_opens_at_the_fifth_failure_when_half_of_all_attempts_failed() {
        let now = Instant::now();
        assert_eq!(after(&mut Breaker::new(now), &[BAD; 4], now), None);
        assert!(after(&mut Breaker::new(now), &[BAD; 5], now).is_some());
        let mixed = [[Signal::Good; 6], [BAD; 6]].concat();
        assert_eq!(after(&mut Breaker::new(now), &mixed[..11], now), None);
        assert!(after(&mut Breaker::new(now), &mixed, now).is_some());
        assert_eq!(after(&mut Breaker::new(now), &[Signal::None; 50], now), None);
    }

    #[test]
    fn failures_that_are_far_between_count_together_until_something_succeeds() {
        let now = Instant::now();
        let (mut lonely, mut answered) = (Breaker::new(now), Breaker::new(now));
        answered.learn(Signal::Good, 0, now);
        let mut opened = (0, 0);
        for minute in 1..=5 {
            let then = now + SPAN * minute;
            opened.0 += u32::from(lonely.learn(BAD, 0, then) != Transition::Stay);
            opened.1 += u32::from(answered.learn(BAD, 0, then) != Transition::Stay);
            answered.learn(Signal::Good, 0, then);
        }
        assert_eq!(opened, (1, 0));
    }

    #[test]
    fn a_message_that_was_first_tried_before_the_last_success_opens_nothing() {
        const AGO: Duration = Duration::from_secs(20);
        let tried = |ago| [Signal::Bad { trying_for: ago }; 5];
        let now = Instant::now();
        assert!(after(&mut Breaker::new(now), &tried(AGO), now).is_some(), "nothing is known of the destination");

        let mut breaker = Breaker::new(now);
        breaker.learn(Signal::Good, 0, now);
        let then = now + AGO;
        assert_eq!(after(&mut breaker, &tried(AGO + Duration::from_millis(1)), then), None);
        let pause = after(&mut breaker, &tried(AGO), then).expect("it may have failed since");
        assert!(matches!(breaker.learn(tried(AGO * 2)[0], 0, then), Transition::StillOpen(_)));
        assert_eq!(breaker.learn(Signal::Good, 0, then + pause), Transition::Close);
        assert_eq!(after(&mut breaker, &tried(AGO + pause), then + pause + AGO), None, "it took one after the pause");
        assert!(after(&mut breaker, &tried(AGO), then + pause + AGO).is_some());
    }

    #[test]
    fn after_a_pause_one_success_closes_it() {
        let now = Instant::now();
        let mut breaker = Breaker::new(now);
        let pause = after(&mut breaker, &[BAD; 5], now);
        assert!(breaker.open_for(now).is_some());
        assert_eq!(breaker.learn(Signal::Good, 0, now), Transition::Stay, "it began before the pause");
        let then = now + pause.unwrap_or_default();
        assert_eq!((breaker.open_for(then), breaker.probes_left()), (None, Some(PROBES)));
        assert!(matches!(breaker.learn(BAD, 1, then), Transition::StillOpen(_)));
        assert_eq!(breaker.learn(Signal::Good, 0, then), Transition::Close);
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
        breaker.learn(BAD, 2, now);
        assert_eq!(breaker.probes_left(), Some(0), "one that failed makes no room for another");
        breaker.learn(Signal::None, 1, now);
        assert_eq!(breaker.probes_left(), Some(1), "one that was not sent does");
        assert!(matches!(breaker.learn(BAD, 0, now), Transition::Open(_)));
    }

    #[test]
    fn each_pause_is_twice_as_long_as_the_one_before_up_to_five_minutes() {
        let mut now = Instant::now();
        let mut breaker = Breaker::new(now);
        let mut pauses = Vec::new();
        for _ in 0..9 {
            let pause = after(&mut breaker, &[BAD; 5], now).unwrap_or_default();
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
            let signals: Vec<_> = (0..rounds).flat_map(|_| [Signal::Good, Signal::Good, BAD]).collect();
            prop_assert_eq!(after(&mut breaker, &signals, now), None);
        }
    }
}
