//! The version of this program.

/// The version of this program. Between two releases it names the commit, where the build knew it.
pub(crate) const VERSION: &str = env!("OUTBOX_VERSION");
