//! Whether receivers refuse the credential of a channel, or some of its targets only.
//!
//! An answer 401 or 403 does not say which. The credential is taken to be refused once [`TARGETS`] different targets were
//! refused and nothing was delivered between: the whole channel then waits, and no attempt is counted. Until then the
//! messages are at fault. A refusal says nothing where the message was first tried before the last delivery.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use outbox_adapters::Answer;
use outbox_schema::{Message, Outcome};
use tokio::time::Instant;

/// How many different targets must be refused.
const TARGETS: usize = 5;

/// How long a channel waits whose credential is refused, where the answer does not say how long.
const WAIT: Duration = Duration::from_mins(1);

/// The least wait: it counts no attempt, so nothing else would stop it from repeating at once.
const LEAST_WAIT: Duration = Duration::from_secs(1);

/// What an attempt says about the credential of its channel.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// The attempt says nothing, or not enough.
    Stay,
    /// The credential is refused: the channel waits for this long.
    Refused(Duration),
    /// The credential that was taken to be refused works.
    Works,
}

/// The credentials of the channels.
#[derive(Debug, Default)]
pub(super) struct Credentials {
    channels: HashMap<String, Credential>,
}

#[derive(Debug, Default)]
struct Credential {
    /// Targets that were refused since the last delivery, [`TARGETS`] at most.
    refused: HashSet<String>,
    /// The last delivery since a target was refused.
    worked: Option<Instant>,
}

impl Credentials {
    /// Learns from an attempt to deliver `message`.
    pub(super) fn learn(&mut self, message: &Message, answer: &Answer, now: Instant) -> Turn {
        match answer.outcome {
            Outcome::Delivered { .. } => self.channels.get_mut(&message.channel).map_or(Turn::Stay, |it| it.works(now)),
            Outcome::Refused { not_before } => {
                let it = self.channels.entry(message.channel.clone()).or_default();
                let wait = not_before.unwrap_or(WAIT).max(LEAST_WAIT);
                if it.is_refused(message, now) { Turn::Refused(wait) } else { Turn::Stay }
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
        if was_tried && self.worked.is_some_and(|worked| now - worked < message.retrying_for()) {
            return false;
        }
        if self.refused.len() < TARGETS {
            self.refused.insert(message.target.clone());
        }
        self.refused.len() >= TARGETS
    }

    fn works(&mut self, now: Instant) -> Turn {
        self.worked = Some(now);
        let was_refused = self.refused.len() >= TARGETS;
        self.refused.clear();
        if was_refused { Turn::Works } else { Turn::Stay }
    }
}
