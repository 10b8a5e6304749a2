//! Statuses that the settings of a channel judge otherwise than the table of answers does.

use std::fmt;

use hyper::StatusCode;

/// The texts that [`Statuses::parse`] accepts in a list, in words.
pub(super) const STATUSES: &str = "a list of statuses from 300 to 599, or of \"3xx\", \"4xx\" and \"5xx\"";

/// One status of a failure, or all of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statuses {
    /// A single status.
    One(u16),
    /// The statuses whose hundreds are this digit.
    Class(u16),
}

/// What the settings of a channel say of a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ruled {
    /// The message is sent again.
    Retry,
    /// The message is a dead letter.
    Dead,
    /// The message is delivered: the receiver knew its idempotency key already.
    Known,
}

impl Statuses {
    /// Reads a status such as `404`, or a class such as `4xx`.
    ///
    /// # Errors
    /// What the text would have to be. It is empty where [`STATUSES`] says it all.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(class) = text.strip_suffix("xx") {
            return match class {
                "3" | "4" | "5" => Ok(Self::Class(class.parse().map_err(|_| String::new())?)),
                "2" => Err(DELIVERED.to_owned()),
                _ => Err(String::new()),
            };
        }
        match text.parse::<u16>() {
            Ok(status @ 300..=599) => Ok(Self::One(status)),
            Ok(200..=299) => Err(DELIVERED.to_owned()),
            Ok(_) | Err(_) => Err(String::new()),
        }
    }

    pub(super) fn hold(self, status: StatusCode) -> bool {
        match self {
            Self::One(one) => status.as_u16() == one,
            Self::Class(class) => status.as_u16() / 100 == class,
        }
    }
}

/// Why no list may hold a status of success.
const DELIVERED: &str = "an answer 2xx always means that the message is delivered";

impl fmt::Display for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(status) => write!(f, "{status}"),
            Self::Class(class) => write!(f, "{class}xx"),
        }
    }
}

/// Checks that no status means two things at once. A single status goes before its class.
///
/// # Errors
/// The statuses that stand in both lists.
pub(super) fn check_statuses(one: &[Statuses], other: &[Statuses]) -> Result<(), Statuses> {
    one.iter().find(|statuses| other.contains(statuses)).map_or(Ok(()), |both| Err(*both))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statuses(texts: &[&str]) -> Vec<Statuses> {
        texts.iter().filter_map(|text| Statuses::parse(text).ok()).collect()
    }

    #[test]
    fn only_failures_are_named_and_nothing_twice() {
        for wrong in ["200", "2xx", "204", "1xx", "6xx", "600", "99", "4XX", "4x", "xx", "", "-404", "4 04"] {
            assert!(Statuses::parse(wrong).is_err(), "{wrong}");
        }
        assert!(Statuses::parse("2xx").is_err_and(|why| why.contains("delivered")));
        let both = check_statuses(&statuses(&["404", "5xx"]), &statuses(&["4xx", "5xx"]));
        assert_eq!(both.map_err(|both| both.to_string()), Err("5xx".to_owned()));
        assert_eq!(check_statuses(&statuses(&["4xx"]), &statuses(&["404"])), Ok(()));
    }
}
