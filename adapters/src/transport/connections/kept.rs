//! The times for which idle connections are kept.

use std::time::Duration;

/// The times for which idle connections are kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept {
    /// A connection of HTTP/1 that was idle for so long is not used again.
    pub(crate) idle: Duration,
    /// A connection of this age takes no more requests: the name of its host may have moved.
    pub(crate) age: Duration,
}
