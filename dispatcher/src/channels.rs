//! The configured channels: how each reaches its destinations, and by which rules it retries messages.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use outbox_adapters::Adapter;
use outbox_store::{ChannelTerms, DeliveryRecord, InDoubtPolicy, OnDeadOrdered};

use outbox_config::OutcomeTargets;

/// A configured channel.
#[derive(Debug)]
pub struct Channel {
    /// The name, as in the rows.
    pub name: String,
    /// The adapter that delivers the messages.
    pub adapter: Arc<dyn Adapter>,
    /// Whether the channel sends the payload's JSON. A payload that is encoded twice is then a mistake.
    pub sends_json: bool,
    /// The longest time for one request.
    pub timeout: Duration,
    /// What becomes of a message of the channel that is in doubt.
    pub in_doubt: InDoubtPolicy,
    /// What a dead letter means for later messages of its ordering key.
    pub on_dead_ordered: OnDeadOrdered,
    /// When a message is tried again, and when no more.
    pub retry: Retry,
    /// The limits of each destination of the channel.
    pub limits: Limits,
    /// The largest message, in bytes of payload, target and headers.
    pub max_message_bytes: u64,
    /// Whether tenants of the channel take turns.
    pub fair: bool,
    /// What `outbox_attempt` keeps of the channel's deliveries.
    pub record_deliveries: DeliveryRecord,
    /// Where outcomes of the channel's messages are told.
    pub outcomes: OutcomeTargets,
}

/// Exponential backoff with full jitter, and its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retry {
    /// The most attempts, the first included.
    pub max_attempts: u32,
    /// The upper limit of the first wait.
    pub base: Duration,
    /// The factor by which that limit grows with each attempt.
    pub factor: f64,
    /// The upper limit of that growth.
    pub max: Duration,
    /// The shortest wait after any attempt. The backoff's random wait is added to it.
    pub floor: Duration,
    /// The age, counted from the first attempt, at which a message is no longer retried.
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

/// The channels by name. A claim keeps the channels of its time, so that its messages are sent with the settings they
/// were claimed under.
#[derive(Debug, Default)]
pub struct Channels {
    by_name: HashMap<String, Channel>,
    terms: Vec<ChannelTerms>,
}

impl Channels {
    /// A set of channels.
    pub fn new(channels: impl IntoIterator<Item = Channel>) -> Self {
        let by_name: HashMap<_, _> = channels.into_iter().map(|channel| (channel.name.clone(), channel)).collect();
        let terms = by_name.values().map(Channel::terms).collect();
        Self { by_name, terms }
    }

    /// The channel called `name`.
    pub fn get(&self, name: &str) -> Option<&Channel> {
        self.by_name.get(name)
    }

    /// The names of the channels.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// The limits of each channel for its destinations.
    pub fn limits(&self) -> HashMap<String, Limits> {
        self.by_name.iter().map(|(name, channel)| (name.clone(), channel.limits)).collect()
    }

    /// What the store must know about the channels.
    pub fn terms(&self) -> &[ChannelTerms] {
        &self.terms
    }

    /// The longest time for a request of any channel.
    pub fn longest_request(&self) -> Duration {
        self.terms.iter().map(|channel| channel.timeout).max().unwrap_or_default()
    }
}

impl Channel {
    fn terms(&self) -> ChannelTerms {
        ChannelTerms {
            name: self.name.clone(),
            timeout: self.timeout,
            max_attempts: self.retry.max_attempts,
            in_doubt: self.in_doubt,
            on_dead_ordered: self.on_dead_ordered,
            max_message_bytes: self.max_message_bytes,
            on_dead: self.outcomes.on_dead.clone(),
        }
    }
}

/// The limits of a channel for each of its destinations.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Limits {
    /// The most messages in flight. None: by shares (see `window`).
    pub max_in_flight: Option<usize>,
    /// The rate. None: as fast as the destination answers.
    pub rate: Option<RateLimit>,
}

/// How a channel limits the rate of each of its destinations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLimit {
    /// Messages a second.
    pub per_second: f64,
    /// How long the rate takes to rise to that after a rest. None: it is allowed at once.
    pub rise: Option<Duration>,
}
