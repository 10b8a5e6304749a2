//! Claims: the committed record, made before any send, that a term may send these rows.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use uuid::Uuid;

use crate::destination::DestinationRoom;
use crate::store::due::Header;
use crate::store::fitting::DueRow;
use crate::store::lossy::Lossy;
use crate::{InDoubtPolicy, Message, MessageId, OutcomeTarget};

/// The id of a claim. The replica chooses it before it makes the claim. So a claim whose COMMIT went unanswered can be
/// repeated, and is made once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClaimId(pub Uuid);

impl ClaimId {
    /// A new, time-ordered id.
    pub fn mint() -> Self {
        Self(Uuid::now_v7())
    }
}

/// What the store must know about a configured channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelTerms {
    /// The channel's name, as rows say it.
    pub name: String,
    /// The longest a request of this channel may take.
    pub timeout: Duration,
    /// Attempts of a row of this channel that has no number of its own.
    pub max_attempts: u32,
    /// What becomes of a row of this channel that is in doubt.
    pub in_doubt: InDoubtPolicy,
    /// What a dead letter of this channel means for later messages of its ordering key.
    pub on_dead_ordered: OnDeadOrdered,
    /// The most rows of one destination in a claim, unless the claim gives that destination another room.
    pub room: u32,
    /// The most rows of one destination in a claim, whatever room the claim gives it, where other channels may send
    /// more to it: 0 to `i32::MAX`.
    pub most: u32,
    /// The largest message, in bytes of payload, target and headers. A larger one is claimed without being read.
    pub max_message_bytes: u64,
    /// Whether tenants of the channel take turns.
    pub fair: bool,
    /// Where a dead letter of this channel is told.
    pub on_dead: Option<OutcomeTarget>,
}

/// What becomes of the messages behind a dead letter in its ordering key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnDeadOrdered {
    /// The next message goes out.
    #[default]
    Continue,
    /// The messages wait until the dead letter is redriven or purged. A cancelled letter halts nothing: whoever
    /// cancelled it decided that.
    Halt,
}

/// The request of one claim.
#[derive(Debug, Clone)]
pub struct ClaimRequest<'a> {
    /// The id of the claim. A caller without an answer repeats the same id.
    pub claim: ClaimId,
    /// The most rows.
    pub limit: u32,
    /// The most bytes of payload, target and headers, together.
    pub max_bytes: u64,
    /// Rows to leave out: rows in flight here, and rows of claims not yet settled. The caller takes this set before the
    /// call.
    pub excluded: &'a [MessageId],
    /// Where the walk begins. It may miss due rows before that place. So begin anew now and then, and before you
    /// believe that no row is due.
    pub from: WalkStart,
    /// The ordering keys whose rows may be claimed.
    pub keys: KeyStretch<'a>,
    /// The configured channels. Due rows of other channels are deferred, not claimed.
    pub channels: &'a [ChannelTerms],
    /// Destinations whose rows the walk passes over.
    pub closed: &'a [String],
    /// Channels whose rows the walk passes over, at any destination.
    pub closed_channels: &'a [String],
    /// The most rows of these destinations. Others are strangers.
    pub rooms: &'a [DestinationRoom],
    /// The rows and bytes that all strangers together may get.
    pub strangers: Strangers,
    /// What this claim found before it asked about strangers, or another one left. It then looks for nothing else. Where others have
    /// locked all of it, it says so ([`Claimed::held`]), and claims nothing.
    pub found: Option<&'a Found>,
    /// Whether tenants take turns, and where these begin. None where nothing is backed up.
    pub turns: Option<Turns<'a>>,
    /// How long rows of an unknown channel are deferred.
    pub unknown_channel_delay: Duration,
    /// `lease.ttl`, the part of the settling time that a closed gate saves.
    pub lease_ttl: Duration,
    /// Time for the last mark to be written, added to the longest request timeout of the batch.
    pub margin: Duration,
}

/// What the destinations may get of which a claim says nothing. One of them gets [`ChannelTerms::room`] at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strangers {
    /// The most rows, together.
    pub rows: u32,
    /// The most bytes, together.
    pub bytes: u64,
    /// Whether the claim asks about the strangers that it meets, where they are more than `rows`. It then claims nothing.
    pub ask: bool,
}

/// Where the turns of tenants begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turns<'a> {
    /// A place on the ring of the tenants of each channel: 0 to [`Turns::LAST`]. Where it is odd, the newest messages go first.
    pub from: u64,
    /// How many tenants of each channel are looked at.
    pub tenants: u32,
    /// Tenants that are looked at in any case: messages of theirs were claimed lately for destinations that answer.
    pub served: &'a [Tenant],
    /// Whether the claim may do without its walk where few tenants have something that waits. It then says nothing of where the next
    /// walk may begin.
    pub glance: bool,
}

/// Who takes turns with others in a channel.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Tenant {
    /// The channel.
    pub channel: String,
    /// What rows say as `tenant`, or else their destination.
    pub name: String,
}

impl Turns<'_> {
    /// The last place on the ring.
    pub const LAST: u64 = (1 << 48) - 1;
}

impl ClaimRequest<'_> {
    /// The most rows that a walk brings in all. In turns, those of each priority are wanted, and each head of an ordering key.
    pub(crate) fn walk_limit(&self) -> i64 {
        if self.turns.is_some() { i64::MAX } else { i64::from(self.limit) }
    }

    /// The room of a destination, as far as something is said of it: none where it is closed.
    pub(crate) fn room_of(&self, destination: &str) -> Option<u32> {
        if self.closed.iter().any(|closed| closed == destination) {
            return Some(0);
        }
        self.rooms.iter().find(|one| one.destination == destination).map(|one| one.room)
    }

    /// The channels whose tenants take no turns.
    pub(crate) fn unfair(&self) -> Vec<&str> {
        self.channels.iter().filter(|channel| !channel.fair).map(|channel| channel.name.as_str()).collect()
    }

    /// The channels whose rows in doubt are not sent again. The claim keeps them: the poller that settles it may have
    /// other settings.
    pub(crate) fn at_most_once(&self) -> Vec<&str> {
        let careful = self.channels.iter().filter(|channel| channel.in_doubt == InDoubtPolicy::DeadLetter);
        careful.map(|channel| channel.name.as_str()).collect()
    }
}

/// The result of one claim.
#[derive(Debug, Default)]
pub struct Claimed {
    /// The claimed rows, highest priority and longest due first.
    pub messages: Vec<Message>,
    /// Due rows of unknown channels that the walk met and deferred, counted by channel.
    pub deferred: BTreeMap<String, u64>,
    /// Where the next walk may begin. None where it must begin at the same place, because rows were left.
    pub reached: Option<WalkStart>,
    /// The strangers that were met, where the claim asks about them and claims nothing.
    pub asked: Vec<String>,
    /// What the claim found and did not take, as far as that is known. A claim that asks is made again with it.
    pub found: Found,
    /// The rows that were found before, where none of them could be claimed: an open cancellation has locked them all. The claim may
    /// look for others under the same id.
    pub held: Vec<MessageId>,
    /// Whether the claim took all rows that its walk met.
    pub took_all: bool,
    /// The first ordering key of the stretch that the claim did not look at. None where it looked at all of them.
    pub keys_left: Option<OrderingKey>,
}

/// Due rows that a claim found and did not take, in the order in which they are to go. They are read again once they are claimed,
/// each by its revision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found(pub(crate) Vec<DueRow>);

impl Found {
    /// Whether a look found no rows.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The destinations of these rows.
    pub fn destinations(&self) -> HashSet<&str> {
        self.0.iter().map(|row| row.destination.as_str()).collect()
    }

    /// Keeps those rows that came beside the walk, as the turns of tenants. The others are met again.
    #[must_use]
    pub fn of_turns(mut self) -> Self {
        self.0.retain(|row| row.place.is_none());
        self
    }

    /// How many of these rows there is room for, at the destinations whose room is said.
    pub fn fitting(&self, rooms: &[DestinationRoom]) -> usize {
        let mut rows: HashMap<&str, usize> = HashMap::new();
        for row in &self.0 {
            *rows.entry(&row.destination).or_default() += 1;
        }
        let fitting = |one: &DestinationRoom| Some(rows.remove(one.destination.as_str())?.min(one.room as usize));
        rooms.iter().filter_map(fitting).sum()
    }

    /// Leaves out these rows, and those of these destinations and channels.
    pub fn leave_out(&mut self, excluded: &HashSet<MessageId>, closed: &[String], closed_channels: &[String]) {
        let closed: HashSet<&str> = closed.iter().map(String::as_str).collect();
        let closed_channels: HashSet<&str> = closed_channels.iter().map(String::as_str).collect();
        self.0.retain(|row| {
            !excluded.contains(&MessageId(row.id))
                && !closed.contains(row.destination.as_str())
                && !closed_channels.contains(row.channel.as_str())
        });
    }
}

/// The priorities that a row can have: 0 to 3.
pub const PRIORITIES: usize = 4;

/// Where a walk over the due rows begins: for each priority, behind a row that was claimed or before one that was left, else at the
/// oldest due row.
///
/// The start is a hint. While a snapshot is open, the database keeps index entries of finished rows where a walk would
/// begin; a start lets the walk skip them. Rows can become due before the start: transactions commit in another order
/// than they began, letters are redriven, pauses end. So the start alone never shows that no row is due.
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
    /// Behind the row `id` of that priority, due since `us` microseconds after 1970. For other priorities, at the
    /// beginning.
    pub fn behind(priority: i16, us: i64, id: i64) -> Self {
        let mut start = Self::default();
        start.pass(priority, Place { us, id });
        start
    }

    /// Whether the walk begins at the oldest due row of every priority.
    pub fn is_beginning(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a walk that begins here meets this row: it lies behind the start.
    pub fn is_before(&self, priority: i16, us: i64, id: i64) -> bool {
        let start = usize::try_from(priority).ok().and_then(|priority| self.0.get(priority));
        start.is_none_or(|start| *start < Some(Place { us, id }))
    }

    /// This start. For a priority that it leaves open, the start of `earlier`.
    #[must_use]
    pub fn or(self, earlier: Self) -> Self {
        Self(std::array::from_fn(|priority| self.0[priority].or(earlier.0[priority])))
    }

    /// Moves the start behind the row of that header, unless it is further on already.
    pub fn pass_header(&mut self, header: &Header) {
        self.pass(header.priority.into(), Place { us: header.at, id: header.id.0 });
    }

    /// This start, but no later than so long before the last of its places.
    #[must_use]
    pub fn no_later_than_before_last(self, moment: Duration) -> Self {
        let Some(last) = self.0.iter().flatten().map(|place| place.us).max() else { return self };
        let moment = i64::try_from(moment.as_micros()).unwrap_or(i64::MAX);
        let limit = Place { us: last.saturating_sub(moment), id: 0 };
        Self(self.0.map(|place| place.map(|place| place.min(limit))))
    }

    /// Moves the start behind that row, unless it is further on already.
    pub(crate) fn pass(&mut self, priority: i16, place: Place) {
        if let Some(start) = usize::try_from(priority).ok().and_then(|priority| self.0.get_mut(priority)) {
            *start = (*start).max(Some(place));
        }
    }

    /// Moves the start to before that row, which was left, unless it is further on already.
    pub(crate) fn stop_before(&mut self, priority: i16, place: Place) {
        self.pass(priority, Place { id: place.id.saturating_sub(1), ..place });
    }

    /// The places, one for each priority, the lowest first.
    pub(crate) fn places(&self) -> [Option<Place>; PRIORITIES] {
        self.0
    }
}

/// An ordering key of a channel.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct OrderingKey {
    /// The name of the channel.
    pub channel: String,
    /// The key.
    pub ordering_key: String,
}

/// A stretch of the ordering keys, in the order in which the database keeps them. By default it holds all keys. Of these a claim
/// looks at the first [`KeyStretch::MOST`] with waiting rows, and says where it stopped ([`Claimed::keys_left`]).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeyStretch<'a> {
    /// The first key of the stretch. None: the first of all keys.
    pub from: Option<&'a OrderingKey>,
    /// The first key behind the stretch. None: the stretch ends with the last key.
    pub until: Option<&'a OrderingKey>,
}

impl KeyStretch<'_> {
    /// The most keys that a claim looks at, however many the stretch has.
    pub const MOST: usize = 512;
}

/// The head of an ordering key: its first message that waits, due or not.
#[derive(Debug, sqlx::FromRow)]
pub(crate) struct Head {
    id: i64,
    #[sqlx(try_from = "Lossy<String>")]
    channel: String,
    #[sqlx(try_from = "Lossy<String>")]
    ordering_key: String,
}

/// The heads that a claim looks at.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    pub(crate) ids: Vec<MessageId>,
    /// The first key that it does not look at.
    pub(crate) left: Option<OrderingKey>,
}

impl Heads {
    /// Of the first heads of a stretch, the most that a claim looks at. The statements read one more.
    pub(crate) fn of(mut heads: Vec<Head>) -> Self {
        let left = heads
            .get(KeyStretch::MOST)
            .map(|head| OrderingKey { channel: head.channel.clone(), ordering_key: head.ordering_key.clone() });
        heads.truncate(KeyStretch::MOST);
        Self { ids: heads.into_iter().map(|head| MessageId(head.id)).collect(), left }
    }

    /// Adds heads, of which some may be known.
    pub(crate) fn add(&mut self, ids: Vec<i64>) {
        let known: HashSet<MessageId> = self.ids.iter().copied().collect();
        self.ids.extend(ids.into_iter().map(MessageId).filter(|id| !known.contains(id)));
    }
}
