//! What a look shows of a due row.

use std::sync::Arc;

use outbox_schema::MessageId;

use crate::Revision;

/// What a look shows of a due row: what decides when the row goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The row.
    pub id: MessageId,
    /// The revision at which the look saw it. A claim takes the row at this revision only.
    pub revision: Revision,
    /// 0 to 3. Higher goes first.
    pub priority: u8,
    /// `available_at`, in microseconds since 1970. Infinite times are the ends of the range.
    pub at: i64,
    /// Who takes turns with whom.
    pub lane: Lane,
    /// The destination.
    pub destination: Arc<str>,
    /// The ordering key. Rows of one key in one channel go one at a time, in the order of their ids.
    pub key: Option<Arc<str>>,
    /// The bytes of payload, target and headers.
    pub bytes: u64,
}

/// A tenant of a channel. Lanes take turns.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lane {
    /// The channel.
    pub channel: Arc<str>,
    /// What rows say as `tenant`, or else their destination.
    pub tenant: Arc<str>,
}
