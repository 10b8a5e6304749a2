//! Claims: a row is claimed in the database, and the claim is committed, before it is sent.

mod claim;
pub(super) mod given_up;

pub(crate) use claim::Batch;
pub use claim::SETTLING_MARGIN;
pub(in crate::poller) use claim::{ClaimTask, Claimed};
