//! The orders of a part.

use serde::{Deserialize, Serialize};

use super::kind::Kind;
use super::{bare, committer, enqueuer, poster};

/// The orders of a part. No `Debug`: some orders hold a password.
#[derive(Serialize, Deserialize)]
pub(crate) enum Orders {
    /// Receive requests, count them, and report when they came.
    Receive(Kind),
    /// Send requests as fast as the receiver answers them.
    Post(poster::Orders),
    /// Claim and mark in a bare table.
    Bare(bare::Orders),
    /// Commit rows at a given rate.
    Commit(committer::Orders),
    /// Enqueue messages through the library.
    Enqueue(enqueuer::Orders),
}
