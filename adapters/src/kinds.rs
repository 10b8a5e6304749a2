//! The kinds of channels that there are.

use crate::kind::Kind;
use crate::{fcm, http};

/// Every kind of channel. A new one is a folder beside this file, its `mod` in `lib.rs`, and a word here.
pub const KINDS: &[&Kind] = &[&http::KIND, &fcm::KIND];
