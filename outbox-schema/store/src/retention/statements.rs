//! The statements of retention, each in three dialects.

use crate::statement::Statement;

pub(super) const PRUNE_PAGE: Statement = statement!("retention/prune_page");
pub(crate) const PRUNE_LOCK: Statement = statement!("retention/prune_lock");
pub(super) const ORPHANED_ATTEMPTS: Statement = statement!("retention/orphaned_attempts");
pub(super) const OLD_TERMS: Statement = statement!("retention/old_terms");
pub(super) const PRUNE_TERMS: Statement = statement!("retention/prune_terms");
pub(super) const DESTINATIONS_PAGE: Statement = statement!("retention/destinations_page");
pub(super) const FORGET_DESTINATIONS: Statement = statement!("retention/forget_destinations");
/// Removes the attempts of messages.
pub const PURGE_ATTEMPTS: Statement = statement!("retention/purge_attempts");
/// Removes messages.
pub const PURGE: Statement = statement!("retention/purge");
