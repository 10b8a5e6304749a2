//! Ordering keys: of the messages of one key in one channel, one goes at a time, in the order of their ids.
//!
//! A key is a gate. The first of its messages is let through and takes part in the turns of its lane, as any message does. The next
//! one is let through once that one is marked. Where it is not marked as finished, all others of the key leave the buffer: they are
//! found again behind it.

use std::collections::BTreeMap;
use std::sync::Arc;

use outbox_schema::MessageId;
use outbox_store::Header;

/// A key of a channel.
pub(super) type KeyName = (Arc<str>, Arc<str>);

/// The key of a row, if it has one.
pub(super) fn key_of(header: &Header) -> Option<KeyName> {
    Some((header.lane.channel.clone(), header.key.clone()?))
}

/// The gate of a key.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// Messages behind the gate.
    pub(super) waiting: BTreeMap<MessageId, Header>,
    /// The message that was let through.
    pub(super) through: Option<Through>,
}

/// A message that was let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Through {
    /// It waits in its lane.
    Here(MessageId),
    /// It is in flight.
    InFlight(MessageId),
}

impl Gate {
    /// The first message behind the gate, where it is to go before the one that was let through, or none was.
    pub(super) fn next(&self) -> Option<MessageId> {
        let first = *self.waiting.first_key_value()?.0;
        match self.through {
            None => Some(first),
            Some(Through::Here(through)) => (first < through).then_some(first),
            Some(Through::InFlight(_)) => None,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.through.is_none()
    }
}
