//! `Retry-After` (RFC 9110, 10.2.3): seconds or an HTTP date.

use std::time::{Duration, SystemTime};

use hyper::header::{HeaderMap, RETRY_AFTER};
use outbox_store::Outcome;

use crate::adapter::RETRY_AFTER_MAX;

/// How long the answer asks to wait, [`RETRY_AFTER_MAX`] at most. None where it does not say, or makes no sense.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    parse(headers.get(RETRY_AFTER)?.to_str().ok()?, SystemTime::now())
}

/// How long a deferral lasts: what the answer asks for, or else `default`. A deferral counts no attempt. So nothing
/// else would stop a deferral of no time from repeating at once.
pub(crate) fn deferral(headers: &HeaderMap, default: Duration) -> Duration {
    retry_after(headers).unwrap_or(default).max(Duration::from_secs(1))
}

/// How long an answer asks for a pause from other messages too, where an attempt failed. (A deferral has its own time. A
/// destination that refuses one message for good will take the next one.)
pub(crate) fn busy_for(outcome: &Outcome, headers: &HeaderMap) -> Option<Duration> {
    match outcome {
        Outcome::Retry { .. } | Outcome::InDoubt => retry_after(headers).filter(|wait| !wait.is_zero()),
        Outcome::Delivered { .. }
        | Outcome::Dead { .. }
        | Outcome::DeadTarget
        | Outcome::Refused { .. }
        | Outcome::Defer { .. }
        | Outcome::Unsent => None,
    }
}

fn parse(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    let wait = if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number of seconds that does not fit is longer than the longest wait.
        value.parse().map_or(RETRY_AFTER_MAX, Duration::from_secs)
    } else {
        // A date that has passed asks for no wait.
        httpdate::parse_http_date(value).ok()?.duration_since(now).unwrap_or_default()
    };
    Some(wait.min(RETRY_AFTER_MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn seconds_and_dates_are_understood_and_clamped() {
        // The same moment in the three forms of RFC 9110, 5.6.7.
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777 - 90);
        for (value, wait) in [
            ("0", Some(Duration::ZERO)),
            ("120", Some(Duration::from_mins(2))),
            (" 7 ", Some(Duration::from_secs(7))),
            ("999999999", Some(RETRY_AFTER_MAX)),
            ("99999999999999999999999999", Some(RETRY_AFTER_MAX)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(Duration::from_secs(90))),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(Duration::from_secs(90))),
            ("Sun Nov  6 08:49:37 1994", Some(Duration::from_secs(90))),
            ("Sat, 05 Nov 1994 08:49:37 GMT", Some(Duration::ZERO)),
            ("Tue, 31 Dec 2999 23:59:59 GMT", Some(RETRY_AFTER_MAX)),
            ("", None),
            ("-5", None),
            ("+5", None),
            ("1.5", None),
            ("soon", None),
        ] {
            assert_eq!(parse(value, now), wait, "Retry-After: {value}");
        }
    }

    proptest! {
        #[test]
        fn no_value_panics_or_exceeds_the_longest_wait(value in ".*") {
            prop_assert!(parse(&value, SystemTime::now()).is_none_or(|wait| wait <= RETRY_AFTER_MAX));
        }
    }
}
