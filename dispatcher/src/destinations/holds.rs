//! The pauses of a destination that do not depend on its messages.

use std::time::Duration;

use outbox_store::PauseKind;
use tokio::time::Instant;

/// The pauses of a destination. Where the destination bears the name of a channel, a pause of the whole channel is kept
/// apart from one of the destination alone. So the longer pause of a busy server neither ends the shorter one of a
/// refused credential, nor makes it last.
///
/// The database keeps only the pause that ends last. A new term learns of a shorter one from the next refusal.
#[derive(Debug, Default)]
pub(super) struct Holds {
    of_a_channel: Option<(PauseKind, Instant)>,
    its_own: Option<(PauseKind, Instant)>,
}

impl Holds {
    /// Begins a pause. A pause by hand goes before any other. Of the others, the one that ends later counts.
    pub(super) fn begin(&mut self, kind: PauseKind, remaining: Duration, now: Instant) {
        let until = now + remaining;
        if kind == PauseKind::Manual {
            *self = Self { of_a_channel: Some((kind, until)), its_own: None };
            return;
        }
        if self.on(now).is_some_and(|(held, _)| held == PauseKind::Manual) {
            return;
        }
        let held = if kind.holds_a_channel() { &mut self.of_a_channel } else { &mut self.its_own };
        if held.is_none_or(|(_, end)| end < until) {
            *held = Some((kind, until));
        }
    }

    /// Ends the pause for a refused credential.
    pub(super) fn end_barred(&mut self) {
        self.of_a_channel = self.of_a_channel.filter(|(kind, _)| *kind != PauseKind::Credential);
    }

    /// When the last of them ends.
    pub(super) fn until(&self) -> Option<Instant> {
        [self.of_a_channel, self.its_own].into_iter().flatten().map(|(_, until)| until).max()
    }

    /// The present pause that holds the most, and when it ends.
    pub(super) fn on(&self, now: Instant) -> Option<(PauseKind, Instant)> {
        [self.of_a_channel, self.its_own].into_iter().flatten().find(|(_, until)| *until > now)
    }
}
