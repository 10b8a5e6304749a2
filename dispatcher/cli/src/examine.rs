//! What the channels of the settings would make of messages, before they are enqueued. The adapters say it themselves: they
//! make the request of each message, and send nothing.

use std::collections::{BTreeMap, HashMap};

use outbox_config::Config;
use outbox_console::configured::nearest;
use outbox_console::examine::delivery;
use outbox_dispatcher::poller::channels::Channel;
use outbox_dispatcher::wiring;
use outbox_schema::NewMessage;

/// The most messages that are named.
const NAMED: usize = 10;

/// The mistakes that were found in messages before their insert.
#[derive(Debug, Default)]
pub(super) struct Examined {
    /// The messages that would be dead letters before anything is sent, by their place, and why.
    pub(super) dead: Vec<(usize, String)>,
    /// What may be wrong, for the operator.
    pub(super) doubts: Vec<String>,
}

/// A channel as far as the settings here make one.
enum Found {
    Ready(Box<Channel>),
    /// The settings have no such channel.
    Unknown,
    /// This machine cannot set it up, as where it lacks a secret.
    Unusable(String),
}

/// Examines messages that are valid in themselves. What is not is left to the enqueuing.
pub(super) fn examine(config: &Config, messages: &[NewMessage]) -> Examined {
    let mut examined = Examined::default();
    let mut channels: HashMap<&str, Found> = HashMap::new();
    // How many messages there are for each channel that cannot be asked.
    let mut unasked: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, message) in messages.iter().enumerate() {
        let Ok(content) = message.content() else { continue };
        let channel = channels.entry(content.channel).or_insert_with(|| find(config, content.channel));
        let Found::Ready(channel) = channel else {
            *unasked.entry(content.channel).or_default() += 1;
            continue;
        };
        if content.bytes() > channel.max_message_bytes {
            // The database counts them as it writes the payload.
            examined.doubts.push(format!(
                "{}the message has {} bytes, and max_message_bytes of channel {} is {}: it may be a dead letter",
                said_of(place, messages),
                content.bytes(),
                channel.name,
                channel.max_message_bytes
            ));
        }
        if let Err(why) = channel.adapter.examine(delivery(&content)) {
            examined.dead.push((place, why));
        }
    }
    let doubts = unasked.iter().filter_map(|(name, count)| doubt(config, name, channels.get(name)?, *count));
    examined.doubts.extend(doubts);
    examined
}

fn find(config: &Config, name: &str) -> Found {
    let Some(channel) = config.channels.get(name) else { return Found::Unknown };
    match wiring::channel(channel, config.admin.listen) {
        Ok(channel) => Found::Ready(Box::new(channel)),
        Err(error) => Found::Unusable(error.to_string()),
    }
}

/// Why so many messages for a channel were not examined.
fn doubt(config: &Config, name: &str, found: &Found, count: usize) -> Option<String> {
    let messages = if count == 1 { "the message waits".to_owned() } else { format!("{count} messages wait") };
    match found {
        Found::Ready(_) => None,
        Found::Unknown => {
            let nearest = nearest(name, config.channels.keys().map(String::as_str));
            let nearest = nearest.map_or_else(String::new, |nearest| format!(" (did you mean {nearest}?)"));
            Some(format!(
                "the settings here have no channel {name}{nearest}: {messages} until those of the replicas have it"
            ))
        }
        Found::Unusable(error) => Some(format!("what goes to channel {name} was not examined: {error}")),
    }
}

fn said_of(place: usize, messages: &[NewMessage]) -> String {
    if messages.len() == 1 { String::new() } else { format!("message {}: ", place + 1) }
}

impl Examined {
    /// Why these messages are not enqueued. None where no channel is against one.
    pub(super) fn refusal(&self, messages: &[NewMessage]) -> Option<String> {
        let (first, others) = self.dead.split_first()?;
        let named = std::iter::once(first).chain(others).take(NAMED);
        let mut lines: Vec<_> = named.map(|(place, why)| said_of(*place, messages) + why).collect();
        if self.dead.len() > NAMED {
            lines.push(format!("and {} others", self.dead.len() - NAMED));
        }
        let what = if messages.len() == 1 { "it" } else { "each" };
        let reasons = lines.join("\n  ");
        Some(format!(
            "{reasons}\nnothing was inserted: {what} would be a dead letter by the settings here. With --force it is inserted"
        ))
    }
}
