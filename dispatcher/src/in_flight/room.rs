//! How much more a claim may take, and for whom.

use tokio::time::Instant;

/// What is kept for destinations that have less in flight than others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kept {
    /// The number of slots.
    pub slots: usize,
    /// The bytes of payload, target and headers.
    pub bytes: u64,
    /// Whether a half of it is for those with less than their share. The other half is for those with nothing in flight.
    pub shared: bool,
}

/// When claims may take of what is kept.
#[derive(Debug, Clone, Copy)]
pub struct KeptFrom {
    /// For destinations with less than their share.
    pub below_shares: Instant,
    /// For destinations with nothing in flight.
    pub idle: Instant,
}

impl KeptFrom {
    /// The same time for both.
    pub fn both(from: Instant) -> Self {
        Self { below_shares: from, idle: from }
    }
}

/// The destinations for which a claim takes messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takers {
    /// The claim takes messages of all destinations.
    All,
    /// All destinations, each up to its share.
    WithinShares,
    /// Destinations with less than their share: the claim takes of what is kept.
    BelowShares,
    /// Destinations with nothing in flight, one message each: the claim takes of what is kept.
    Idle,
}

impl Takers {
    /// Whether the claim takes of what is kept.
    pub fn are_kept_for(self) -> bool {
        matches!(self, Self::BelowShares | Self::Idle)
    }
}

/// How much more a claim may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// The number of rows.
    pub messages: usize,
    /// For whom it is.
    pub takers: Takers,
    /// The bytes of payload, target and headers.
    pub bytes: u64,
    /// Whether no message of this process is in flight.
    pub empty: bool,
}

impl Room {
    pub(super) fn beside(self, kept: Kept) -> Self {
        // A message that is as large as all that may be in flight goes where nothing else does.
        let bytes = if self.empty { self.bytes } else { self.bytes.saturating_sub(kept.bytes) };
        Self { messages: self.messages.saturating_sub(kept.slots), bytes, ..self }
    }

    /// What a claim may take that takes of what is kept, and from when on.
    pub(super) fn of(self, kept: Kept, from: KeptFrom) -> (Self, Instant) {
        let half = self.beside(Kept { slots: kept.slots / 2, bytes: kept.bytes / 2, ..kept });
        if kept.shared && half.messages > 0 && half.bytes > 0 {
            (Self { takers: Takers::BelowShares, ..half }, from.below_shares)
        } else {
            (Self { takers: Takers::Idle, ..self }, from.idle)
        }
    }
}
