//! The statements about destinations, each in three dialects.

use crate::statement::Statement;

pub(super) const DUE: Statement = statement!("destinations/due");
pub(super) const LOCKED: Statement = statement!("destinations/locked");
pub(super) const ASIDE_PUT: Statement = statement!("destinations/aside_put");
pub(super) const ASIDE_KEEP: Statement = statement!("destinations/aside_keep");
pub(super) const ASIDE_CLEAR: Statement = statement!("destinations/aside_clear");
pub(super) const DEFERRED: Statement = statement!("destinations/deferred");
pub(super) const CONFIGURED: Statement = statement!("destinations/configured");
pub(super) const BRING_BACK: Statement = statement!("destinations/bring_back");
pub(super) const BY_HAND: Statement = statement!("destinations/changes_by_hand");
pub(super) const RAMP: Statement = statement!("destinations/ramp");
