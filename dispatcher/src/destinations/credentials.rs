//! Whether receivers refuse how a channel shows who it is, or some of its messages only. No answer says which.
//!
//! An answer 401 or 403 to a credential: it is taken to be refused once [`TARGETS`] different targets were refused and
//! nothing was delivered between. The whole channel then waits, and no attempt is counted. Until then the messages are at
//! fault. A refusal says nothing where the message was first tried before the last delivery. The first waits of a channel
//! are short, and a refused message waits for longer than its channel: others go first, and one of them may be delivered.
//!
//! An answer 400 or 401 to a signature: a message that was first tried before the last delivery is itself at fault. Once
//! [`MESSAGES`] different messages were refused and nothing was delivered between, each refused message waits, and counts
//! no attempt. The channel goes on meanwhile: receivers have different keys, and one of them must not stop the others.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use outbox_adapters::Answer;
use outbox_schema::{Identity, Message, Outcome};
use tokio::time::Instant;

use super::FAR;

/// How many different targets must be refused.
const TARGETS: usize = 5;

/// How many different signed messages must be refused.
const MESSAGES: usize = 5;

/// How long a channel waits at first whose credential is refused, whatever the answers ask for. Each further wait is as long as
/// all before it.
const FIRST_BAR: Duration = Duration::from_secs(2);

/// How long it waits at last.
const LONGEST_BAR: Duration = Duration::from_mins(1);

/// The first wait of a message that is refused for its channel. Each further wait is as long as all before it.
const FIRST_WAIT: Duration = Duration::from_secs(5);

/// What an attempt says about how its channel shows who it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// The attempt says nothing, or not enough.
    Stay,
    /// The credential is refused: the channel waits, and the message waits for longer.
    Refused {
        /// The wait of the channel.
        bar: Duration,
        /// The wait of the message, which is no shorter.
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
    /// Targets that were refused since the last delivery, [`TARGETS`] at most.
    refused: HashSet<String>,
    /// When the credential was first taken to be refused, since the last delivery.
    barred_since: Option<Instant>,
    /// Signed messages that were refused since the last delivery, [`MESSAGES`] at most.
    unverified: HashSet<i64>,
    /// The last delivery since something was refused.
    worked: Option<Instant>,
}

impl Credentials {
    /// Learns from an attempt to deliver `message`.
    pub(super) fn learn(&mut self, message: &Message, answer: &Answer, now: Instant) -> Turn {
        match answer.outcome {
            Outcome::Delivered { .. } => self.channels.get_mut(&message.channel).map_or(Turn::Stay, |it| it.works(now)),
            Outcome::Refused { not_before, identity } => {
                let it = self.channels.entry(message.channel.clone()).or_default();
                match identity {
                    Identity::Credential if it.is_refused(message, now) => {
                        // One receiver asks for its own messages: the others of the channel do not wait for it.
                        let (bar, asked) = (it.bar(now), not_before.unwrap_or_default());
                        Turn::Refused { bar, wait: bar.max(asked).max(wait(message)) }
                    }
                    Identity::Credential => Turn::Stay,
                    Identity::Signature => it.is_unverified(message, now),
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
        if self.refused.len() < TARGETS {
            self.refused.insert(message.target.clone());
        }
        self.refused.len() >= TARGETS
    }

    /// How long the channel waits now.
    fn bar(&mut self, now: Instant) -> Duration {
        let since = *self.barred_since.get_or_insert(now);
        (now - since).clamp(FIRST_BAR, LONGEST_BAR)
    }

    /// What it means that the signed `message` was refused.
    fn is_unverified(&mut self, message: &Message, now: Instant) -> Turn {
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
        Turn::Waits(wait(message))
    }

    fn worked_since_first_try(&self, message: &Message, now: Instant) -> bool {
        self.worked.is_some_and(|worked| now - worked < message.retrying_for())
    }

    fn works(&mut self, now: Instant) -> Turn {
        self.worked = Some(now);
        let was_refused = self.refused.len() >= TARGETS;
        let was_unverified = self.unverified.len() >= MESSAGES;
        self.refused.clear();
        self.barred_since = None;
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
