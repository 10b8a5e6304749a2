//! Claims: the committed record, made before any send, that a term may send these rows.

use std::collections::BTreeMap;
use std::time::Duration;

use uuid::Uuid;

use crate::destination::Room;
use crate::{InDoubtPolicy, Message, MessageId};

/// Chosen by the replica before the claim is made, so that a claim whose COMMIT went unanswered can be
/// repeated and is made once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClaimId(pub Uuid);

impl ClaimId {
    /// A new, time-ordered id.
    pub fn mint() -> Self {
        Self(Uuid::now_v7())
    }
}

/// What the store must know of a configured channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelTerms {
    /// The channel's name, as rows say it.
    pub name: String,
    /// The longest a request of this channel may take.
    pub timeout: Duration,
    /// Attempts a row of this channel has where it does not say so itself.
    pub max_attempts: u32,
    /// What becomes of a row of this channel that is in doubt.
    pub in_doubt: InDoubtPolicy,
    /// What a dead letter of this channel means for those behind it in its ordering key.
    pub on_dead_ordered: OnDeadOrdered,
    /// Rows of one destination that a claim takes at most, where it says nothing else of that destination.
    pub room: u32,
    /// Rows of one destination that a claim takes at most, whatever it says of that destination, where other channels may send
    /// more to it: 0 to `i32::MAX`.
    pub most: u32,
}

/// What becomes of the messages behind a dead letter in its ordering key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnDeadOrdered {
    /// The next one goes.
    #[default]
    Continue,
    /// They wait until the dead letter is redriven or purged. One that somebody cancelled halts nothing: that was
    /// their decision.
    Halt,
}

/// What one claim asks for.
#[derive(Debug, Clone)]
pub struct ClaimRequest<'a> {
    /// Repeat the same id after an answer that did not come.
    pub claim: ClaimId,
    /// Rows at most.
    pub limit: u32,
    /// Bytes of payload at most, together.
    pub max_bytes: u64,
    /// Whether the first row may be larger than `max_bytes`: true where nothing else is in flight.
    pub oversize: bool,
    /// Rows to leave out: in flight here, or of claims not yet settled. Taken before the call.
    pub excluded: &'a [MessageId],
    /// Where to begin. Due rows before it may be left out: ask from the beginning before you believe that there are none,
    /// and every now and then.
    pub from: WalkStart,
    /// The ordering keys whose rows may be claimed.
    pub keys: KeyStretch<'a>,
    /// The configured channels. Due rows of other channels are deferred, not claimed.
    pub channels: &'a [ChannelTerms],
    /// Destinations whose rows are passed over.
    pub closed: &'a [String],
    /// Channels whose rows are passed over, wherever they go.
    pub closed_channels: &'a [String],
    /// How many rows of these destinations are claimed at most; of others it is [`ChannelTerms::room`].
    pub rooms: &'a [Room],
    /// How long rows of an unknown channel are deferred.
    pub unknown_channel_delay: Duration,
    /// `lease.ttl`, the part of the settling time that a closed gate saves.
    pub lease_ttl: Duration,
    /// Added to the longest request timeout of the batch: time for the last mark to land.
    pub margin: Duration,
}

impl ClaimRequest<'_> {
    /// The channels of which nothing that is in doubt is sent again. The claim keeps them, for a poller that does not know
    /// them, or has other settings, may settle it.
    pub(crate) fn at_most_once(&self) -> Vec<&str> {
        let careful = self.channels.iter().filter(|channel| channel.in_doubt == InDoubtPolicy::DeadLetter);
        careful.map(|channel| channel.name.as_str()).collect()
    }
}

/// What one claim brought.
#[derive(Debug, Default)]
pub struct Claimed {
    /// The claimed rows, highest priority and longest due first.
    pub messages: Vec<Message>,
    /// Due rows of unknown channels that were met and moved out of the way: how many of each channel.
    pub deferred: BTreeMap<String, u64>,
    /// Where the next walk may begin; none where it has to begin where this one did, because rows were left.
    pub reached: Option<WalkStart>,
}

/// The priorities that a row can have: 0 to 3.
pub const PRIORITIES: usize = 4;

/// Where a walk over the due rows begins: for each priority, behind a row that was claimed, else at the oldest due row.
///
/// A hint. It spares a walk what a database keeps of rows that are done, for as long as anybody has a snapshot of before:
/// entries of the index that lie where the walk would otherwise begin. Rows can become due behind it (transactions
/// commit in another order than they began, letters are redriven, pauses end), so it is never the whole truth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WalkStart([Option<Place>; PRIORITIES]);

/// Where a row lies among the due rows of its priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// `available_at` in microseconds since 1970.
    pub(crate) us: i64,
    pub(crate) id: i64,
}

impl WalkStart {
    /// Behind the row `id` of that priority, due since `us` microseconds after 1970; else at the beginning.
    pub fn behind(priority: i16, us: i64, id: i64) -> Self {
        let mut start = Self::default();
        start.pass(priority, Place { us, id });
        start
    }

    /// Whether this is the oldest due row of every priority.
    pub fn is_beginning(&self) -> bool {
        *self == Self::default()
    }

    /// This start, or that of `earlier` for a priority of which this one says nothing.
    #[must_use]
    pub fn or(self, earlier: Self) -> Self {
        Self(std::array::from_fn(|priority| self.0[priority].or(earlier.0[priority])))
    }

    /// Begins behind that row, if it does not begin further on already.
    pub(crate) fn pass(&mut self, priority: i16, place: Place) {
        if let Some(start) = usize::try_from(priority).ok().and_then(|priority| self.0.get_mut(priority)) {
            *start = (*start).max(Some(place));
        }
    }

    /// For each priority, the lowest first.
    pub(crate) fn places(&self) -> [Option<Place>; PRIORITIES] {
        self.0
    }
}

/// An ordering key of a channel.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct OrderingKey {
    /// The name of the channel. Empty where a database puts equal keys of all channels together.
    pub channel: String,
    /// The key.
    pub ordering_key: String,
}

/// A stretch of the ordering keys, in the order in which the database keeps them: by default all. A claim looks at each key
/// that has rows waiting, so with very many keys it looks at a stretch of them, and the next claim at the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeyStretch<'a> {
    /// Its first key; none is the first of all.
    pub from: Option<&'a OrderingKey>,
    /// The first key behind it; none is behind the last.
    pub until: Option<&'a OrderingKey>,
}
