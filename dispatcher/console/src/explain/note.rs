//! Mistakes of the application that a row shows.

use std::fmt;

use outbox_desk::MessageFacts;
use outbox_store::Status;
use outbox_store::payload::{is_encoded_twice, may_be_rounded};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Mention, Mentions};

/// A likely mistake of the application that wrote a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum Note {
    /// The row was written with an outcome, so nobody sent it.
    BornFinished {
        /// The status with which the row was written.
        status: String,
    },
    /// The payload is a JSON string that holds JSON.
    EncodedTwice,
    /// The message was due a whole number of hours before or after it was written.
    WholeHours {
        /// The number of hours. Negative where the message was due before it was written.
        hours: i64,
    },
    /// The message was due some hours after it was written, no more than a time zone can explain.
    Delayed {
        /// The delay in milliseconds.
        by_ms: i64,
    },
    /// The message was due before it was written.
    DueBefore {
        /// By how many milliseconds.
        by_ms: i64,
    },
    /// The message's `created_at` lies in the future.
    WrittenInTheFuture {
        /// Milliseconds from now until then.
        in_ms: i64,
    },
    /// A number in the payload may have been rounded.
    PerhapsRounded,
}

const HOUR_MS: i64 = 3_600_000;
const MINUTE_MS: i64 = 60_000;

/// The largest distance of a time zone from UTC, in hours.
const FURTHEST_ZONE: i64 = 14;

impl Note {
    /// The mistakes that the facts show.
    pub(super) fn of(facts: &MessageFacts) -> Vec<Self> {
        let (message, clock) = (&facts.message, &facts.clock);
        let finished = message.status != Status::Pending.as_str();
        let born = (finished && message.revision == 0).then(|| Self::BornFinished { status: message.status.clone() });
        let twice = message.payload.as_deref().is_some_and(is_encoded_twice).then_some(Self::EncodedTwice);
        // A retry moves the time at which a message is due.
        let untouched = message.attempts == 0 || (message.attempts == 1 && message.status == Status::Success.as_str());
        let delay = clock.delayed_by_ms.filter(|_| untouched).and_then(Self::of_delay);
        let future = clock.created_in_ms.filter(|in_ms| *in_ms > MINUTE_MS);
        let future = future.map(|in_ms| Self::WrittenInTheFuture { in_ms });
        let rounded =
            (clock.rounds && message.payload.as_deref().is_some_and(may_be_rounded)).then_some(Self::PerhapsRounded);
        [born, twice, delay, future, rounded].into_iter().flatten().collect()
    }
}

impl Note {
    /// The mistake that the time between writing and being due shows.
    fn of_delay(ms: i64) -> Option<Self> {
        match whole_hours(ms) {
            Some(hours) => Some(Self::WholeHours { hours }),
            None if ms < -MINUTE_MS => Some(Self::DueBefore { by_ms: ms.saturating_neg() }),
            None => (HOUR_MS..=(FURTHEST_ZONE + 1) * HOUR_MS).contains(&ms).then_some(Self::Delayed { by_ms: ms }),
        }
    }
}

/// The hours, where `ms` is a whole number of them to the minute, and no more than a time zone can explain.
fn whole_hours(ms: i64) -> Option<i64> {
    // SQLite keeps times as far away as a number can say.
    let hours = ms.saturating_add(HOUR_MS / 2).div_euclid(HOUR_MS);
    let off = ms.saturating_sub(hours.saturating_mul(HOUR_MS)).saturating_abs();
    (hours != 0 && hours.abs() <= FURTHEST_ZONE && off <= MINUTE_MS).then_some(hours)
}

impl Mentions for Note {
    /// Nothing: the mistakes are in the row itself.
    fn mentions(&self) -> Vec<Mention> {
        Vec::new()
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BornFinished { status } => write!(
                f,
                "It was written with the status {status}, so no replica ever sent it. An application leaves `status` to its \
                 default."
            ),
            Self::EncodedTwice => f.write_str(
                "Its payload is a JSON string that holds JSON, so the receiver gets the text in quotes. Was it encoded twice? \
                 Give the column an object, or one encoding of it; where the text itself is meant, set the channel's body to \
                 \"text\".",
            ),
            Self::WholeHours { hours } => {
                let (hours, side) = (hours.abs(), if *hours < 0 { "before" } else { "after" });
                let plural = if hours == 1 { "" } else { "s" };
                write!(
                    f,
                    "It was due {hours} hour{plural} {side} it was written, to the minute. If no delay of that length is meant, \
                     a time zone is the reason: write times in UTC, or let outbox_enqueue count the seconds."
                )
            }
            Self::Delayed { by_ms } => {
                let (hours, minutes) = (by_ms / HOUR_MS, by_ms % HOUR_MS / MINUTE_MS);
                write!(
                    f,
                    "It was due {hours} h {minutes} min after it was written. If a shorter delay was meant, a time zone is the \
                     reason: write times in UTC, or let outbox_enqueue count the seconds."
                )
            }
            Self::DueBefore { by_ms } => {
                let minutes = by_ms / MINUTE_MS;
                write!(
                    f,
                    "It was due {minutes} minutes before it was written, so it went at once. If a delay was meant, a time zone is \
                     the reason: write times with their zone, or let outbox_enqueue count the seconds."
                )
            }
            Self::WrittenInTheFuture { in_ms } => {
                let minutes = in_ms / MINUTE_MS;
                write!(
                    f,
                    "It says that it was written {minutes} minutes from now. The application should leave `created_at` to its \
                     default, or write it in UTC."
                )
            }
            Self::PerhapsRounded => f.write_str(
                "A number of its payload has as many digits as MySQL can keep, and a fraction or an exponent. It may have been \
                 rounded: write numbers beyond 64 bits as strings.",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_that_a_time_zone_may_have_made_is_noted_in_either_direction() {
        assert_eq!(Note::of_delay(9 * HOUR_MS), Some(Note::WholeHours { hours: 9 }));
        let late = 9 * HOUR_MS + 10 * MINUTE_MS;
        assert_eq!(Note::of_delay(late), Some(Note::Delayed { by_ms: late }));
        let early = -8 * HOUR_MS - 50 * MINUTE_MS;
        assert_eq!(Note::of_delay(early), Some(Note::DueBefore { by_ms: -early }));
        assert_eq!(Note::of_delay(i64::MIN), Some(Note::DueBefore { by_ms: i64::MAX }));
        for ms in [0, 10 * MINUTE_MS, -MINUTE_MS, 24 * HOUR_MS, i64::MAX] {
            assert_eq!(Note::of_delay(ms), None, "{ms}");
        }
    }

    #[test]
    fn whole_hours_are_those_that_a_time_zone_makes() {
        for (ms, hours) in [(9 * HOUR_MS, 9), (9 * HOUR_MS + 50_000, 9), (-9 * HOUR_MS - 1, -9), (HOUR_MS - 1, 1)] {
            assert_eq!(whole_hours(ms), Some(hours), "{ms}");
        }
        for ms in [0, 600_000, -1, HOUR_MS + 61_000, 5 * HOUR_MS / 2, 15 * HOUR_MS, -15 * HOUR_MS] {
            assert_eq!(whole_hours(ms), None, "{ms}");
        }
    }
}
