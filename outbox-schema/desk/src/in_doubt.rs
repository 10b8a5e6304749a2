//! Which messages were in doubt: each may have been delivered twice.

use std::fmt;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Messages that were in doubt: `any`, or of one term, by its epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InDoubt {
    /// In any term.
    Any,
    /// In the term of this epoch.
    OfEpoch(i64),
}

impl InDoubt {
    /// As a statement takes it: epochs begin with 1.
    pub(super) fn as_number(self) -> i64 {
        match self {
            Self::Any => 0,
            Self::OfEpoch(epoch) => epoch,
        }
    }
}

impl FromStr for InDoubt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(epoch @ 1..) => Ok(Self::OfEpoch(epoch)),
            Ok(_) | Err(_) if text == "any" => Ok(Self::Any),
            Ok(_) | Err(_) => Err(format!("`{text}` is neither `any` nor the epoch of a term, such as 17")),
        }
    }
}

impl fmt::Display for InDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::OfEpoch(epoch) => epoch.fmt(f),
        }
    }
}

impl Serialize for InDoubt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for InDoubt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doubt_is_any_or_of_an_epoch() {
        for text in ["any", "17"] {
            assert_eq!(text.parse::<InDoubt>().map(|in_doubt| in_doubt.to_string()), Ok(text.to_owned()));
        }
        for wrong in ["", "0", "-1", "17.5", "yes"] {
            assert!(wrong.parse::<InDoubt>().is_err_and(|error| error.contains("`any`")), "{wrong}");
        }
    }
}
