//! Channels as they are configured.

use std::sync::Arc;
use std::time::Duration;

use outbox_adapters::ChannelSettings;
use outbox_store::{DeliveryRecord, InDoubtPolicy, OnDeadOrdered};

use super::outcome_targets::OutcomeTargets;

/// The settings of one channel.
#[derive(Debug, Clone)]
pub struct ChannelConfig {
    /// The name, as in the rows.
    pub name: String,
    /// The deadline of a whole request.
    pub timeout: Duration,
    /// What becomes of a row of the channel that is in doubt.
    pub in_doubt: InDoubtPolicy,
    /// What a dead letter means for later messages of its ordering key.
    pub on_dead_ordered: OnDeadOrdered,
    /// When to try again, and when to give up.
    pub retry: RetryConfig,
    /// The most messages in flight to one destination. None: destinations share `dispatch.max_in_flight`.
    pub max_in_flight: Option<usize>,
    /// The most messages a second to one destination. None: no limit.
    pub rate: Option<f64>,
    /// The largest message, in bytes of payload, target and headers.
    pub max_message_bytes: u64,
    /// Whether tenants of the channel take turns.
    pub fair: bool,
    /// What `outbox_attempt` keeps of the channel's deliveries.
    pub record_deliveries: DeliveryRecord,
    /// Where outcomes of the channel's messages are told.
    pub outcomes: OutcomeTargets,
    /// The word of its kind.
    pub kind: &'static str,
    /// The settings that its kind alone has.
    pub settings: Arc<dyn ChannelSettings>,
}

/// When to try again, and when to give up.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryConfig {
    /// The number of attempts, the first included, for rows without a number of their own.
    pub max_attempts: u32,
    /// The longest wait before the second attempt (full jitter).
    pub base: Duration,
    /// The growth of the longest wait per attempt; at least 1.
    pub factor: f64,
    /// The upper limit of that growth; at least `base`.
    pub max: Duration,
    /// The age, counted from the first attempt, at which a message is no longer retried.
    pub max_age: Duration,
}
