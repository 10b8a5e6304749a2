//! What holds a destination up whatever becomes of its messages.

use std::time::Duration;

use outbox_schema::PauseKind;
use tokio::time::Instant;

/// The pauses of a destination. Where it bears the name of a channel, what holds all of that is kept apart from what holds
/// the destination alone: the longer one of a busy server must not end the shorter one of a credential, nor make it last.
///
/// The database keeps one of them, which ends last: a new term learns of a shorter one from the next refusal.
#[derive(Debug, Default)]
pub(super) struct Holds {
    of_a_channel: Option<(PauseKind, Instant)>,
    its_own: Option<(PauseKind, Instant)>,
}

impl Holds {
    /// A pause by hand goes before any other; else the one that ends later counts.
    pub(super) fn begin(&mut self, kind: PauseKind, remaining: Duration, now: Instant) {
        let until = now + remaining;
        if kind == PauseKind::Hand {
            *self = Self { of_a_channel: Some((kind, until)), its_own: None };
            return;
        }
        if self.on(now).is_some_and(|(held, _)| held == PauseKind::Hand) {
            return;
        }
        let held = if kind.holds_a_channel() { &mut self.of_a_channel } else { &mut self.its_own };
        if held.is_none_or(|(_, end)| end < until) {
            *held = Some((kind, until));
        }
    }

    /// The one that is on and holds the most, and until when.
    pub(super) fn on(&self, now: Instant) -> Option<(PauseKind, Instant)> {
        [self.of_a_channel, self.its_own].into_iter().flatten().find(|(_, until)| *until > now)
    }
}
