//! What the database keeps about destinations, so that it survives a change of poller: pauses, breakers, rising rates
//! and deferrals. Rows are deferred so that they do not stand in the way of others.

use std::time::Duration;

use async_trait::async_trait;
use outbox_schema::MessageId;

use crate::look::Place;
use crate::{StoreError, TermId};

/// The most destinations of which a new term is told. Where there are as many, there may be more: `Store::destinations` says what
/// is known of one that is met.
pub const MOST_TOLD: i64 = 1_024;

/// Why a destination is paused: the column `pause_kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PauseKind {
    /// An operator paused it.
    Manual,
    /// Too many attempts failed.
    Breaker,
    /// The destination asked for a pause: `Retry-After`.
    RetryAfter,
    /// The whole channel must wait: its credential was refused, or a quota is used up.
    Credential,
}

impl PauseKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Manual, Self::Breaker, Self::RetryAfter, Self::Credential];

    /// The value of the column. Where two pauses name one destination and end together, the kind that is last in the
    /// alphabet holds the most.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Manual => "hand",
            Self::Breaker => "breaker",
            Self::RetryAfter => "asked",
            Self::Credential => "barred",
        }
    }

    /// The kind of a value. A row without a value, or with an unknown one, counts as a pause by hand.
    pub fn of(value: Option<&str>) -> Self {
        Self::ALL.into_iter().find(|kind| Some(kind.as_str()) == value).unwrap_or(Self::Manual)
    }

    /// Whether the pause of a name that is a channel holds the whole channel, at any destination. A person who pauses a
    /// channel means all of it, and so does a refused credential. A breaker or a server speaks of one destination only:
    /// that of targets without a URL, which bears the channel's name.
    pub fn holds_a_channel(self) -> bool {
        match self {
            Self::Manual | Self::Credential => true,
            Self::Breaker | Self::RetryAfter => false,
        }
    }
}

/// A destination, or a whole channel, that is paused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    /// A destination (`https://host:443`) or the name of a channel.
    pub destination: String,
    /// The time until the pause ends.
    pub remaining: Duration,
    /// The kind of the pause.
    pub kind: PauseKind,
}

/// What the database knows about a destination or a channel when a term begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DestinationState {
    /// A destination (`https://host:443`) or the name of a channel.
    pub destination: String,
    /// The last pause that matters, and the time until it ends. The pause of a breaker matters until the breaker is
    /// closed.
    pub pause: Option<(PauseKind, Duration)>,
    /// Pauses in a row that followed failures.
    pub failures: u32,
    /// The time from now until the last deferred row of the destination is due.
    pub aside: Duration,
    /// The rate of the destination, where it is rising.
    pub ramp: Option<Ramp>,
}

/// A rate that rises after a time of rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ramp {
    /// How long the rate has been rising.
    pub rising_for: Duration,
    /// How long nothing has been sent.
    pub unused_for: Duration,
}

/// A deferral of a destination's rows, which come due again one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aside {
    /// A destination, or the name of a channel.
    pub destination: String,
    /// Whether this is a channel whose rows are all meant, at any destination.
    pub whole_channel: bool,
    /// The time from now until the first row is due again.
    pub from: Duration,
    /// The time between one row and the next.
    pub step: Duration,
    /// The last rows are due this long from now, or at `from` where that is later.
    pub most: Duration,
    /// What the rows wait for, for people. None for a pause, which has its own reason.
    pub reason: Option<String>,
}

/// A look over the due rows for those that are to be deferred, in steps. Each step goes on where the last one ended, and the look
/// begins anew once it has come to the end. So the work of a step does not grow with what is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// The most rows that a step looks at.
    pub rows: u32,
    /// The most rows that a step defers.
    pub limit: u32,
    /// Where the next step goes on. None where that is the beginning.
    pub from: Option<Place>,
}

impl Look {
    /// A look of which a step defers so many rows at most, at the beginning.
    pub fn of(limit: u32) -> Self {
        Self { rows: 10_000, limit, from: None }
    }
}

/// What became of rows that were to be brought back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BroughtBack {
    /// The number of rows that are due again. Those that somebody else has locked are left.
    pub rows: u64,
    /// Whether other rows may be left to bring back.
    pub more: bool,
}

/// A pause or a resumption by a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByHandChange {
    /// A destination, or the name of a channel.
    pub destination: String,
    /// When the change was made, by the database's clock. It tells one change from the next.
    pub stamp: i64,
    /// What holds the destination now, and the time until that ends: the pause by hand, or what began after a resumption.
    pub pause: Option<(PauseKind, Duration)>,
    /// Pauses in a row that followed failures.
    pub failures: u32,
}

/// What a poller asks the database about destinations, beside the claims and marks of the [`Store`](crate::Store).
#[async_trait]
pub trait DestinationStore: Send + Sync + std::fmt::Debug {
    /// Takes a step of `look`: defers due rows of these destinations, except those in `excluded`. No attempt is counted.
    /// Returns the number for each destination. Rows with an ordering key stay where they are: a look shows only the
    /// first ones of a key.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] where `term` is no longer the current one.
    async fn put_aside(
        &self,
        term: &TermId,
        aside: &[Aside],
        excluded: &[MessageId],
        look: &mut Look,
    ) -> Result<Vec<u64>, StoreError>;

    /// Ends every pause of `destination` except one by hand, and makes its deferred rows due again at their own times,
    /// `limit` at most. Repeat it while there may be more.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] where `term` is no longer the current one.
    async fn bring_back(&self, term: &TermId, destination: &str, limit: u32) -> Result<BroughtBack, StoreError>;

    /// Makes rows due again at their own times that were deferred because their channel was not configured, and whose
    /// channel is now among `channels`. Rows that are paused or deferred for their destination stay; `limit` rows at
    /// most. Repeat it while there may be more.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] where `term` is no longer the current one.
    async fn bring_back_configured(
        &self,
        term: &TermId,
        channels: &[&str],
        limit: u32,
    ) -> Result<BroughtBack, StoreError>;

    /// The pauses and resumptions that people made within the last minute, and what holds these destinations now.
    async fn changes_by_hand(&self) -> Result<Vec<ByHandChange>, StoreError>;

    /// Records how long the rate of `destination` has been rising, and that it is in use.
    async fn remember_ramp(&self, destination: &str, rising_for: Duration) -> Result<(), StoreError>;
}
