//! What the database keeps of destinations, so that it survives a change of poller: pauses, breakers, rates that rise, and
//! the rows that were put aside so that they do not stand in the way of others.

mod database;
mod name;
mod statements;

use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;

use crate::{MessageId, StoreError, TermId};

pub(crate) use database::bring_back_rows;
pub use name::origin;

/// Why a destination is paused: the column `pause_kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PauseKind {
    /// Somebody paused it.
    Hand,
    /// Too many attempts failed.
    Breaker,
    /// It asked to be left alone: `Retry-After`.
    Asked,
    /// What stands before all of a channel asked for that: it refused the credential, or a quota is used up.
    Barred,
}

impl PauseKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Hand, Self::Breaker, Self::Asked, Self::Barred];

    /// The value of the column. Of two that name one destination and end together, the last in the alphabet holds the most.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hand => "hand",
            Self::Breaker => "breaker",
            Self::Asked => "asked",
            Self::Barred => "barred",
        }
    }

    /// That of the value. Where somebody wrote a row without one, or with another, it is as good as a pause by hand.
    pub fn of(value: Option<&str>) -> Self {
        Self::ALL.into_iter().find(|kind| Some(kind.as_str()) == value).unwrap_or(Self::Hand)
    }

    /// Whether it holds all of a channel that bears the name of what is paused, wherever it goes. Who pauses a channel, or
    /// refuses its credential, means all of it; what a breaker or a server says, it says of one destination, and that of targets
    /// which name no URL bears the channel's name.
    pub fn holds_a_channel(self) -> bool {
        match self {
            Self::Hand | Self::Barred => true,
            Self::Breaker | Self::Asked => false,
        }
    }
}

/// A destination, or a whole channel, that takes nothing for now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    /// A destination (`https://host:443`) or the name of a channel.
    pub destination: String,
    /// How much longer.
    pub remaining: Duration,
    /// Why.
    pub kind: PauseKind,
}

/// What is known of a destination, or of a channel, when a term begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DestinationState {
    /// A destination (`https://host:443`) or the name of a channel.
    pub destination: String,
    /// The last pause that matters, and how much longer it lasts: that of a breaker matters until it is closed.
    pub pause: Option<(PauseKind, Duration)>,
    /// Pauses in a row that it failed into.
    pub failures: u32,
    /// Until when, from now, the last of its rows was put aside.
    pub aside: Duration,
    /// Where its rate rises.
    pub ramp: Option<Ramp>,
}

/// A rate that rises after a time of rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ramp {
    /// How long it has been rising.
    pub rising_for: Duration,
    /// How long nothing has been sent.
    pub unused_for: Duration,
}

/// How many rows of one destination a claim may take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Room {
    /// A destination.
    pub destination: String,
    /// Rows at most.
    pub room: u32,
}

/// Rows of a destination that are to be put aside: they are due again one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aside {
    /// A destination, or the name of a channel.
    pub destination: String,
    /// Whether that is a channel of which all rows are meant, wherever they go.
    pub whole_channel: bool,
    /// When the first is due again, from now.
    pub from: Duration,
    /// Time between one and the next.
    pub step: Duration,
    /// The last are due this long from now, or at `from` where that is later.
    pub most: Duration,
    /// For people: what they wait for. None for a pause, which says so itself.
    pub reason: Option<String>,
}

/// A pause or a resumption by a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByHandChange {
    /// A destination, or the name of a channel.
    pub destination: String,
    /// When it was made, by the database's clock: tells one change from the next.
    pub stamp: i64,
    /// How much longer it is paused; none where it was resumed.
    pub paused: Option<Duration>,
}

/// What a poller asks of the database about destinations, beside the claims and marks of the
/// [`Store`](crate::Store).
#[async_trait]
pub trait DestinationStore: Send + Sync + std::fmt::Debug {
    /// Moves due rows of these destinations out of the way, `limit` at most, but for those `excluded`; no attempt is counted.
    /// Gives how many of each. Rows with an ordering key stay where they are: only the first of a key is ever met.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] where `term` is no longer the current one.
    async fn put_aside(
        &self,
        term: &TermId,
        aside: &[Aside],
        excluded: &[MessageId],
        limit: u32,
    ) -> Result<Vec<u64>, StoreError>;

    /// Ends every pause of `destination` but one by hand, and makes rows that were put aside due again when they were,
    /// `limit` at most; gives how many. Repeat it while there are any.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] where `term` is no longer the current one.
    async fn bring_back(&self, term: &TermId, destination: &str, limit: u32) -> Result<u64, StoreError>;

    /// Makes rows due again when they were that were deferred because nobody had configured their channel, where `channels` has it
    /// now, and that are neither paused nor put aside; `limit` at most. Gives how many. Repeat it while there are any.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] where `term` is no longer the current one.
    async fn bring_back_configured(&self, term: &TermId, channels: &[&str], limit: u32) -> Result<u64, StoreError>;

    /// What people paused and resumed within the last minute.
    async fn changes_by_hand(&self) -> Result<Vec<ByHandChange>, StoreError>;

    /// Remembers that the rate of `destination` has been rising for so long, and that it is in use.
    async fn remember_ramp(&self, destination: &str, rising_for: Duration) -> Result<(), StoreError>;
}
