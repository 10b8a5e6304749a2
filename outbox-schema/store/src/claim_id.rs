//! The id of a claim.

use uuid::Uuid;

/// The id of a claim. The replica chooses it before it makes the claim. So a claim whose COMMIT went unanswered can be
/// repeated, and is made once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClaimId(pub Uuid);

impl ClaimId {
    /// A new, time-ordered id.
    pub fn mint() -> Self {
        Self(Uuid::now_v7())
    }
}
