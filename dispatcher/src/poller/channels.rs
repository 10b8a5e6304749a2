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
    /// Whether it sends the payload's JSON: then one that is encoded twice is a mistake.
    pub sends_json: bool,
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
    /// The shortest wait, whatever came of the attempt; what the backoff draws comes on top.
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

/// The channels by name. A claim takes them along, so that its messages are sent by the settings they were claimed under.
#[derive(Debug, Default)]
pub struct Channels {
    by_name: HashMap<String, Channel>,
    terms: Vec<ChannelTerms>,
}

impl Channels {
    /// These channels, where there are so many slots.
    pub fn new(channels: impl IntoIterator<Item = Channel>, slots: usize) -> Self {
        let by_name: HashMap<_, _> = channels.into_iter().map(|channel| (channel.name.clone(), channel)).collect();
        let terms = by_name.values().map(|channel| channel.terms(slots)).collect();
        Self { by_name, terms }
    }

    /// The channel of that name.
    pub fn get(&self, name: &str) -> Option<&Channel> {
        self.by_name.get(name)
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// What each channel allows its destinations.
    pub fn limits(&self) -> HashMap<String, Limits> {
        self.by_name.iter().map(|(name, channel)| (name.clone(), channel.limits)).collect()
    }

    /// What the store must know of them.
    pub fn terms(&self) -> &[ChannelTerms] {
        &self.terms
    }

    /// Longest that a request of any of them may take.
    pub fn longest_request(&self) -> Duration {
        self.terms.iter().map(|channel| channel.timeout).max().unwrap_or_default()
    }
}

impl Channel {
    fn terms(&self, slots: usize) -> ChannelTerms {
        ChannelTerms {
            name: self.name.clone(),
            timeout: self.timeout,
            max_attempts: self.retry.max_attempts,
            in_doubt: self.in_doubt,
            on_dead_ordered: self.on_dead_ordered,
            room: self.limits.first_room(slots),
            most: self.limits.most(),
        }
    }
}
