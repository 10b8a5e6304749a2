//! The configured channels: how each is reached, and by which rules its messages are retried.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use outbox_adapters::Adapter;
use outbox_schema::{ChannelTerms, InDoubtPolicy, OnDeadOrdered};

use crate::destinations::Limits;

/// One configured way out.
#[derive(Debug)]
pub struct Channel {
    /// As rows name it.
    pub name: String,
    /// How it is reached.
    pub adapter: Arc<dyn Adapter>,
    /// Longest that one request may take.
    pub timeout: Duration,
    /// What becomes of a message that is in doubt.
    pub in_doubt: InDoubtPolicy,
    /// What a dead letter means for those behind it in its ordering key.
    pub on_dead_ordered: OnDeadOrdered,
    /// When a message is tried again, and when no more.
    pub retry: Retry,
    /// What each of its destinations may be sent.
    pub limits: Limits,
}

/// Exponential backoff with full jitter, and where it ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retry {
    /// Attempts at most, the first included.
    pub max_attempts: u32,
    /// The ceiling of the first wait.
    pub base: Duration,
    /// By how much the ceiling grows each time.
    pub factor: f64,
    /// The ceiling's ceiling.
    pub max: Duration,
    /// The shortest wait, whatever came of the attempt.
    pub floor: Duration,
    /// Counted from the first attempt; older messages are not tried again.
    pub max_age: Duration,
}

impl Retry {
    /// The longest wait after attempt `number` (the first is 1).
    pub fn ceiling(&self, number: u32) -> Duration {
        let exponent = i32::try_from(number.saturating_sub(1)).unwrap_or(i32::MAX);
        let seconds = self.base.as_secs_f64() * self.factor.powi(exponent);
        Duration::try_from_secs_f64(seconds).unwrap_or(self.max).min(self.max)
    }
}

/// The channels by name.
#[derive(Debug, Default)]
pub struct Channels(HashMap<String, Arc<Channel>>);

impl Channels {
    /// These channels.
    pub fn new(channels: impl IntoIterator<Item = Channel>) -> Self {
        Self(channels.into_iter().map(|channel| (channel.name.clone(), Arc::new(channel))).collect())
    }

    /// The channel of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<Channel>> {
        self.0.get(name)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Channel>> {
        self.0.values()
    }

    /// What each channel allows its destinations.
    pub fn limits(&self) -> HashMap<String, Limits> {
        self.iter().map(|channel| (channel.name.clone(), channel.limits)).collect()
    }

    /// What the store must know of them, where there are so many slots.
    pub fn terms(&self, slots: usize) -> Arc<[ChannelTerms]> {
        self.iter()
            .map(|channel| ChannelTerms {
                name: channel.name.clone(),
                timeout: channel.timeout,
                max_attempts: channel.retry.max_attempts,
                in_doubt: channel.in_doubt,
                on_dead_ordered: channel.on_dead_ordered,
                room: channel.limits.first_room(slots),
            })
            .collect()
    }
}
