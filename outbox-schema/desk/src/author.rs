//! Who makes a change, why, and how fast.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

/// The author of a change, and the reason. The audit keeps both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Author {
    /// The name of a person, or of a token.
    pub who: String,
    /// The reason, in their words. Empty where they gave none.
    pub why: String,
}

/// How fast, and how much, to redrive or to replay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// Only this many, those with the lowest ids. None: all.
    pub canary: Option<NonZeroU32>,
    /// How many messages come due a second. None: all at once.
    pub rate: Option<NonZeroU32>,
}
