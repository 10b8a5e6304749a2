//! The rounds of a measurement, and about how long those that are left will take.

use std::time::{Duration, Instant};

use outbox_console::text::span;

use crate::say;

/// The rounds of a measurement. Each is told once it is over, with about how long the others will take.
#[derive(Debug)]
pub(super) struct Pace {
    what: String,
    of: usize,
    over: usize,
    began: Instant,
}

impl Pace {
    /// So many rounds, of which the first begins now.
    pub(super) fn of(what: &str, rounds: usize) -> Self {
        Self { what: what.to_owned(), of: rounds, over: 0, began: Instant::now() }
    }

    /// Says what a round has come to.
    pub(super) fn round_is_over(&mut self, found: &str) {
        self.over += 1;
        say(&self.line(found, self.began.elapsed()));
    }

    fn line(&self, found: &str, took: Duration) -> String {
        let Self { what, of, over, .. } = self;
        let left = (took.as_millis() / (*over).max(1) as u128).saturating_mul(of.saturating_sub(*over) as u128);
        let left = match i64::try_from(left) {
            Ok(0) | Err(_) => String::new(),
            Ok(left) => format!("; about {} left", span(left)),
        };
        format!("{what}, round {over} of {of}: {found}{left}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_that_is_over_says_about_how_long_the_others_take() {
        let mut pace = Pace::of("drain", 3);
        pace.over = 1;
        assert_eq!(pace.line("H 9/s", Duration::from_mins(1)), "drain, round 1 of 3: H 9/s; about 2m 0s left");
        pace.over = 3;
        assert_eq!(pace.line("H 9/s", Duration::from_mins(3)), "drain, round 3 of 3: H 9/s");
    }
}
