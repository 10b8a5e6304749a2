//! How fast and how much of it an operator lets a change be made, and what is said of what it left.

use std::fmt::{self, Write as _};
use std::num::NonZeroU32;
use std::time::Duration;

use clap::Args;
use outbox_desk::Pace;

use crate::session::Misuse;

#[derive(Debug, Clone, Copy, Args)]
pub(super) struct PaceArgs {
    /// Only the first so many, to see what becomes of them.
    #[arg(long, value_name = "N")]
    canary: Option<NonZeroU32>,
    /// Let them come due so many a second, for example 50/s.
    #[arg(long, value_name = "N/s", value_parser = rate)]
    rate: Option<NonZeroU32>,
}

impl From<PaceArgs> for Pace {
    fn from(PaceArgs { canary, rate }: PaceArgs) -> Self {
        Self { canary, rate }
    }
}

fn rate(text: &str) -> Result<NonZeroU32, Misuse> {
    let number = text.strip_suffix("/s").unwrap_or(text).parse();
    number.map_err(|_| Misuse::new("it must be a number of messages a second, as 50/s"))
}

/// The number of messages that a selection finds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Count {
    pub(super) counted: u64,
    /// Whether there may be groups that were not counted.
    pub(super) more: bool,
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at_least = if self.more { "at least " } else { "" };
        write!(f, "{at_least}{}", self.counted)
    }
}

impl Count {
    /// What a change at this pace would do to the messages: they would be `redriven`, or `replayed`.
    pub(super) fn would_be(self, done: &str, pace: Pace) -> String {
        let first = pace.canary.map(|canary| self.counted.min(canary.get().into()));
        let mut text = match first {
            Some(first) => format!("{first} of {self} would be {done}"),
            None => format!("{self} would be {done}"),
        };
        if let Some(rate) = pace.rate {
            let rate = u64::from(rate.get());
            let seconds = first.unwrap_or(self.counted).div_ceil(rate);
            let lasting = humantime::format_duration(Duration::from_secs(seconds));
            let at_least = if self.more && first.is_none() { "at least " } else { "" };
            let _ = write!(text, ", {rate} a second for {at_least}{lasting}");
        }
        text
    }
}

/// How many of the messages meant a change has changed.
pub(super) fn changed_of(changed: u64, meant: u64, done: &str) -> String {
    if meant > changed { format!("{changed} of {meant} {done}") } else { format!("{changed} {done}") }
}

/// When the last of the messages comes due that a change at this pace has made due.
pub(super) fn last_due(changed: u64, pace: Pace) -> String {
    let seconds = pace.rate.map_or(0, |rate| changed.div_ceil(rate.get().into()));
    if seconds < 2 {
        return String::new();
    }
    format!("\nlast comes due:  in {}", humantime::format_duration(Duration::from_secs(seconds)))
}

/// How to go on where a change has not come to all messages meant.
pub(super) fn go_on(meant: u64, changed: u64, skipped: u64, stopped: bool) -> String {
    if meant <= changed + skipped {
        return String::new();
    }
    let again = if stopped { "the same command" } else { "the same command without --canary" };
    format!("\ngo on:           {again}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_with_a_rate_says_when_the_last_message_comes_due() {
        let at = |rate: Option<u32>| Pace { canary: None, rate: rate.and_then(NonZeroU32::new) };
        assert_eq!(last_due(2_501, at(Some(20))), "\nlast comes due:  in 2m 6s");
        assert_eq!([last_due(20, at(Some(20))), last_due(2_501, at(None))], ["", ""]);
    }
}
