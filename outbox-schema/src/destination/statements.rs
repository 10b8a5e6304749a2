//! The statements about destinations, each in three dialects.

use crate::sql::Statement;

pub(super) const ASIDE_FREE: Statement = statement!("destinations/aside_free");
pub(super) const ASIDE_PUT: Statement = statement!("destinations/aside_put");
pub(super) const ASIDE_KEEP: Statement = statement!("destinations/aside_keep");
pub(super) const ASIDE_CLEAR: Statement = statement!("destinations/aside_clear");
pub(super) const BRING_BACK_FREE: Statement = statement!("destinations/bring_back_free");
pub(super) const CONFIGURED_FREE: Statement = statement!("destinations/configured_free");
pub(super) const BRING_BACK: Statement = statement!("destinations/bring_back");
pub(super) const BY_HAND: Statement = statement!("destinations/changes_by_hand");
pub(super) const RAMP: Statement = statement!("destinations/ramp");
