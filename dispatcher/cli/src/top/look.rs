//! The last answers of an outbox.

use std::sync::Arc;

use outbox_console::health::status::Status;
use outbox_desk::{DeadLetter, DestinationEntry, FiguresSeries, MessageSummary};

/// The answers of an outbox.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) status: Status,
    pub(super) destinations: Vec<DestinationEntry>,
    /// The last hour.
    pub(super) figures: FiguresSeries,
    /// Messages whose last attempt failed and that are tried again, the newest first.
    pub(super) retried: Vec<MessageSummary>,
    /// The dead letters, the most recently dead first.
    pub(super) dead: Vec<DeadLetter>,
}

/// The last answers, and why there are no newer ones.
#[derive(Debug, Clone)]
pub(super) struct Look {
    pub(super) seen: Arc<Seen>,
    pub(super) trouble: Option<String>,
}
