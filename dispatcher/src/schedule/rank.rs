//! The order within a lane.

use outbox_schema::Header;

/// The order within a lane: the highest priority first, then the longest due.
pub(super) type Rank = (u8, i64, i64);

/// The rank of a row.
pub(super) fn rank(header: &Header) -> Rank {
    (u8::MAX - header.priority, header.at, header.id.0)
}
