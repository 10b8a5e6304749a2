//! Channels as they are configured.

use std::time::Duration;

use outbox_adapters::{fcm, http};
use outbox_schema::{InDoubtPolicy, OnDeadOrdered};

/// A configured way out.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelConfig {
    /// As rows name it.
    pub name: String,
    /// One deadline for a whole request.
    pub timeout: Duration,
    /// What becomes of a row that is in doubt.
    pub in_doubt: InDoubtPolicy,
    /// What a dead letter means for those behind it in its ordering key.
    pub on_dead_ordered: OnDeadOrdered,
    /// When to try again, and when to give up.
    pub retry: RetryConfig,
    /// In flight to one destination at most; none: by shares of `dispatch.max_in_flight`.
    pub max_in_flight: Option<usize>,
    /// Messages a second to one destination at most; none: no limit.
    pub rate: Option<f64>,
    /// What it is, and what only its kind has.
    pub kind: ChannelKind,
}

/// When to try again, and when to give up.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryConfig {
    /// Attempts in all, the first included, where the row does not say so itself.
    pub max_attempts: u32,
    /// Longest wait before the second attempt (full jitter).
    pub base: Duration,
    /// Growth of the longest wait per attempt; at least 1.
    pub factor: f64,
    /// Upper limit of that growth; at least `base`.
    pub max: Duration,
    /// Age since the first attempt at which a message is retried no more.
    pub max_age: Duration,
}

/// What a channel is.
#[derive(Debug, Clone, PartialEq)]
pub enum ChannelKind {
    /// Requests to URLs.
    Http(http::Settings),
    /// Firebase Cloud Messaging.
    Fcm(fcm::Settings),
}
