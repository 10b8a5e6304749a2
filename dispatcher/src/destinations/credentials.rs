//! Whether receivers refuse how a channel shows who it is, or some of its messages only. No answer says which.
//!
//! An answer 401 or 403 to a credential: it is taken to be refused once `refusals::TARGETS` different targets were refused
//! and nothing was delivered between. The whole channel then waits, and no attempt is counted. Until then the messages are at
//! fault. A refusal says nothing where the message was first tried before the last delivery. The first waits of a channel
//! are short, several messages are tried before it waits again, and a refused message waits for longer than its channel:
//! others go first, and one of them may be delivered.
//!
//! An answer 400 or 401 to a signature: a message that was first tried before the last delivery is itself at fault. Once
//! [`MESSAGES`] different messages were refused and nothing was delivered between, each refused message waits, and counts
//! no attempt. The channel goes on meanwhile: receivers have different keys, and one of them must not stop the others.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use outbox_adapters::Answer;
use outbox_store::{Identity, Message, Outcome};
use tokio::time::Instant;

use super::FAR;
use super::refusals::Refusals;

/// How many different signed messages must be refused.
const MESSAGES: usize = 5;

/// How long a channel waits at first whose credential is refused, whatever the answers ask for. Each further wait is as long as
/// all before it.
const FIRST_BAR: Duration = Duration::from_secs(2);

/// How long it waits at last.
const LONGEST_BAR: Duration = Duration::from_mins(1);

/// How many messages are refused before the channel waits again, for each second that it waited. So one that its receiver would
/// take is soon tried, also where its application wrote hundreds of forbidden ones before it.
const TRIES_A_SECOND: u64 = 8;

/// The first wait of a message that is refused for its channel. Each further wait is as long as all before it.
const FIRST_WAIT: Duration = Duration::from_secs(5);

/// What an attempt says about how its channel shows who it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// The attempt says nothing, or not enough.
    Stay,
    /// The credential is refused: the message waits.
    Refused {
        /// The wait of the channel, where it begins now.
        bar: Option<Duration>,
        /// The wait of the message, which is longer.
        wait: Duration,
    },
    /// The credential that was taken to be refused works.
    Works,
    /// The signature may be refused: the message waits for this long.
    Waits(Duration),
    /// The signature is accepted, and this message was refused.
    AtFault,
    /// The signature that was taken to be refused is accepted.
    Verified,
}

/// What receivers made of the channels.
#[derive(Debug, Default)]
pub(super) struct Credentials {
    channels: HashMap<String, Credential>,
}

#[derive(Debug, Default)]
struct Credential {
    /// Targets that were refused since the last delivery.
    refused: Refusals,
    /// The waits of the channel since the last delivery.
    barred: Option<Barred>,
    /// Signed messages that were refused since the last delivery, [`MESSAGES`] at most.
    unverified: HashSet<i64>,
    /// The last delivery since something was refused.
    worked: Option<Instant>,
}

/// A channel that waits again and again, since nothing is delivered.
#[derive(Debug)]
struct Barred {
    since: Instant,
    /// When its last wait ends.
    until: Instant,
    /// How many more messages are refused after that before it waits again.
    tries: u64,
}

impl Credentials {
    /// Learns from an attempt to deliver `message`. Nothing waits longer than `longest` for it.
    pub(super) fn learn(&mut self, message: &Message, answer: &Answer, longest: Duration, now: Instant) -> Turn {
        match answer.outcome {
            Outcome::Delivered { .. } => self.channels.get_mut(&message.channel).map_or(Turn::Stay, |it| it.works(now)),
            Outcome::Refused { not_before, identity } => {
                let it = self.channels.entry(message.channel.clone()).or_default();
                match identity {
                    Identity::Credential if it.is_refused(message, now) => {
                        // One receiver asks for its own messages: the others of the channel do not wait for it.
                        let asked = not_before.unwrap_or_default();
                        let longer = it.next_bar(longest, now) * 2;
                        let bar = it.bar(longest, now);
                        Turn::Refused { bar, wait: longer.max(asked).max(wait(message)).min(longest) }
                    }
                    Identity::Credential => Turn::Stay,
                    Identity::Signature => it.is_unverified(message, longest, now),
                }
            }
            Outcome::Retry { .. }
            | Outcome::Dead { .. }
            | Outcome::DeadTarget
            | Outcome::Defer { .. }
            | Outcome::InDoubt
            | Outcome::Unsent => Turn::Stay,
        }
    }
}

impl Credential {
    /// Whether the credential is refused, now that `message` was.
    fn is_refused(&mut self, message: &Message, now: Instant) -> bool {
        let was_tried = message.attempts > 0;
        if was_tried && self.worked_since_first_try(message, now) {
            return false;
        }
        self.refused.add(&message.target)
    }

    /// How long the channel waits now, where a wait begins.
    fn bar(&mut self, longest: Duration, now: Instant) -> Option<Duration> {
        if let Some(barred) = &mut self.barred {
            // Sent before the wait began.
            if now < barred.until {
                return None;
            }
            barred.tries = barred.tries.saturating_sub(1);
            if barred.tries > 0 {
                return None;
            }
        }
        let bar = self.next_bar(longest, now);
        let since = self.barred.as_ref().map_or(now, |barred| barred.since);
        self.barred = Some(Barred { since, until: now + bar, tries: bar.as_secs().max(1) * TRIES_A_SECOND });
        Some(bar)
    }

    /// How long the channel waits where a wait begins now.
    fn next_bar(&self, longest: Duration, now: Instant) -> Duration {
        let so_far = self.barred.as_ref().map_or(Duration::ZERO, |barred| now - barred.since);
        so_far.clamp(FIRST_BAR, LONGEST_BAR).min(longest)
    }

    /// What it means that the signed `message` was refused.
    fn is_unverified(&mut self, message: &Message, longest: Duration, now: Instant) -> Turn {
        if self.worked_since_first_try(message, now) {
            return Turn::AtFault;
        }
        if self.unverified.len() < MESSAGES && self.unverified.insert(message.id) && self.unverified.len() == MESSAGES {
            tracing::warn!(
                channel = message.channel,
                messages = MESSAGES,
                "signature.refused: nothing was delivered between, so signing_keys may be wrong; what is refused waits"
            );
        }
        if self.unverified.len() < MESSAGES {
            return Turn::Stay;
        }
        Turn::Waits(wait(message).min(longest))
    }

    fn worked_since_first_try(&self, message: &Message, now: Instant) -> bool {
        self.worked.is_some_and(|worked| now - worked < message.retrying_for())
    }

    fn works(&mut self, now: Instant) -> Turn {
        self.worked = Some(now);
        let was_refused = self.refused.are_many();
        let was_unverified = self.unverified.len() >= MESSAGES;
        self.refused.end();
        self.barred = None;
        self.unverified.clear();
        match (was_refused, was_unverified) {
            (true, _) => Turn::Works,
            (false, true) => Turn::Verified,
            (false, false) => Turn::Stay,
        }
    }
}

/// How long a message waits that is refused for its channel.
fn wait(message: &Message) -> Duration {
    let jitter = 1.0 + rand::random::<f64>() / 5.0;
    message.retrying_for().clamp(FIRST_WAIT, FAR).mul_f64(jitter).min(FAR)
}
