//! What an explanation rests on: a message, and all that it may wait for. Facts only; what follows from them, and how it
//! is said, is the business of whoever explains.

use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use super::database::whole_message;
use super::statements::{
    BACKLOG, CURRENT_TERMS, INVALID_TARGET_OF, MESSAGE_CLOCK, ORDERED_BEFORE, ORDERED_DEAD, ORDERED_IN_FLIGHT,
    PAUSED_DESTINATIONS, TERMS_OF_MESSAGE,
};
use super::{
    CurrentTerm, DestinationEntry, HeldUp, InvalidTarget, MessageRecord, PausedDestination, TermEntry, destinations,
};
use crate::sql::{AnyConnection, AnyTransaction, Value};
use crate::{Database, MessageId, Status};

/// A message and what it may wait for, all of one moment (on MySQL, of a few statements after each other).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageFacts {
    /// The message, its attempts, what was done to it, and the claim that names it.
    pub message: MessageRecord,
    /// How it stands by the database's clock.
    pub clock: MessageClock,
    /// Pauses of its destination and of its channel.
    pub pauses: Vec<PausedDestination>,
    /// Its destination or channel whose rows were put aside, where it is one of those rows.
    pub aside: Option<DestinationEntry>,
    /// Of a dead letter: its target, where that is known to be gone.
    pub invalid_target: Option<InvalidTarget>,
    /// Messages of its ordering key that go out before it; none without a key, and at the head of it.
    pub before: Option<Earlier>,
    /// The first dead letter of its ordering key before it, but for cancelled ones; asked only of channels that halt.
    pub dead_before: Option<EarlierDead>,
    /// A message of its ordering key that comes after it and is in flight; none where that is not so.
    pub in_flight_after: Option<MessageId>,
    /// Due messages that the poll meets before it; none where the message itself is not due.
    pub backlog: Option<Backlog>,
    /// The present term of its shard; none where nobody has led it yet.
    pub term: Option<CurrentTerm>,
    /// Those of its attempts, the one that led when it was finished, and the newest, by epoch. Where the log was pruned
    /// they can be missing.
    pub terms: Vec<TermEntry>,
}

/// How a message stands by the database's clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, FromRow)]
pub struct MessageClock {
    /// The time.
    pub now: String,
    /// Whether `available_at` has come.
    pub due: bool,
    /// Milliseconds until then, negative once past; none where the calendar has no such time.
    pub due_in_ms: Option<i64>,
    /// Whether `expires_at` has passed.
    pub expired: bool,
    /// Milliseconds until then, negative once past; none where it does not expire.
    pub expires_in_ms: Option<i64>,
    /// Milliseconds since its first attempt; none where none was made.
    pub tried_for_ms: Option<i64>,
    /// Milliseconds from `created_at` until it was first due or, where it was tried, may be tried again; negative where it was due
    /// before it was written.
    pub delayed_by_ms: Option<i64>,
    /// Milliseconds until `created_at`; negative as a rule.
    pub created_in_ms: Option<i64>,
    /// Whether the server keeps numbers of JSON in 64 bits, as MySQL does.
    pub rounds: bool,
}

/// Messages of an ordering key that go out first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Earlier {
    /// The one whose turn it is.
    pub first: MessageId,
    /// How many there are, it included; [`COUNTED`] also where there are more.
    pub waiting: i64,
}

/// A dead letter of an ordering key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, FromRow)]
pub struct EarlierDead {
    /// Which.
    pub id: i64,
    /// Why it is dead.
    pub dead_reason: Option<String>,
}

/// Due messages without an ordering key, those in flight among them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backlog {
    /// How many; of one priority [`COUNTED`] also where there are more.
    pub ahead: i64,
    /// For how long the first of them has been due; none where there are none.
    pub oldest_ms: Option<i64>,
}

/// As far as messages before another one are counted.
pub const COUNTED: i64 = 10_000;

/// The highest priority that a message can have.
const HIGHEST: i32 = 3;

#[derive(Debug, FromRow)]
struct KeyRow {
    first: Option<i64>,
    waiting: i64,
}

#[derive(Debug, FromRow)]
struct BacklogRow {
    ahead: i64,
    oldest_ms: Option<i64>,
}

pub(super) async fn facts(
    database: &Database,
    id: MessageId,
    halting: &[String],
) -> sqlx::Result<Option<MessageFacts>> {
    let mut transaction = AnyTransaction::to_read(database).await?;
    let found = read(&mut transaction.connection(), id, halting).await?;
    transaction.commit().await?;
    Ok(found)
}

async fn read(
    connection: &mut AnyConnection<'_>,
    id: MessageId,
    halting: &[String],
) -> sqlx::Result<Option<MessageFacts>> {
    let Some(message) = whole_message(connection, id).await? else { return Ok(None) };
    let by_id = [id.0.into()];
    let Some(clock) = connection.rows::<MessageClock>(&MESSAGE_CLOCK, &by_id).await?.pop() else { return Ok(None) };
    let pending = message.status == Status::Pending.as_str();
    let mut pauses: Vec<PausedDestination> = Vec::new();
    if pending {
        pauses = connection.rows(&PAUSED_DESTINATIONS, &[]).await?;
        pauses.retain(|pause| {
            pause.destination == message.destination
                || (pause.destination == message.channel && pause.holds_a_channel())
        });
    }
    let aside = if pending { aside(connection, &message).await? } else { None };
    let dead = message.status == Status::Dead.as_str();
    let gone: Vec<InvalidTarget> = if dead { connection.rows(&INVALID_TARGET_OF, &by_id).await? } else { Vec::new() };
    let terms: Vec<CurrentTerm> = connection.rows(&CURRENT_TERMS, &[]).await?;
    Ok(Some(MessageFacts {
        before: if pending { before(connection, &message).await? } else { None },
        dead_before: if pending && halting.contains(&message.channel) {
            dead_before(connection, &message).await?
        } else {
            None
        },
        in_flight_after: if pending { in_flight_after(connection, &message).await? } else { None },
        backlog: if pending && clock.due { Some(backlog(connection, &message).await?) } else { None },
        term: terms.into_iter().find(|term| term.shard == message.shard),
        terms: connection.rows(&TERMS_OF_MESSAGE, &by_id).await?,
        message,
        clock,
        pauses,
        aside,
        invalid_target: gone.into_iter().next(),
    }))
}

/// The destination goes before the channel: it says more.
async fn aside(connection: &mut AnyConnection<'_>, message: &MessageRecord) -> sqlx::Result<Option<DestinationEntry>> {
    if message.deferred_from.is_none() {
        return Ok(None);
    }
    for name in [&message.destination, &message.channel] {
        let entry = destinations::entries(connection, Some(name)).await?.pop();
        if let Some(entry) = entry.filter(|entry| matches!(entry.held, HeldUp::Aside { .. })) {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

async fn before(connection: &mut AnyConnection<'_>, message: &MessageRecord) -> sqlx::Result<Option<Earlier>> {
    let Some(place) = in_its_key(message) else { return Ok(None) };
    let found = connection.rows_from_index::<KeyRow>(&ORDERED_BEFORE, &place).await?.pop();
    Ok(found.and_then(|row| Some(Earlier { first: MessageId(row.first?), waiting: row.waiting })))
}

async fn dead_before(connection: &mut AnyConnection<'_>, message: &MessageRecord) -> sqlx::Result<Option<EarlierDead>> {
    let Some(place) = in_its_key(message) else { return Ok(None) };
    Ok(connection.rows(&ORDERED_DEAD, &place).await?.pop())
}

async fn in_flight_after(
    connection: &mut AnyConnection<'_>,
    message: &MessageRecord,
) -> sqlx::Result<Option<MessageId>> {
    let Some(place) = in_its_key(message) else { return Ok(None) };
    let found: Vec<(i64,)> = connection.rows(&ORDERED_IN_FLIGHT, &place).await?;
    Ok(found.first().map(|(id,)| MessageId(*id)))
}

fn in_its_key(message: &MessageRecord) -> Option<[Value<'_>; 4]> {
    let key = message.ordering_key.as_ref()?;
    Some([i64::from(message.shard).into(), Value::from(&message.channel), key.into(), message.id.into()])
}

/// What the poll meets first: what has a higher priority, and of its own what has been due for longer. Of ordering keys
/// only one message each can be met, and which those are takes a walk from key to key: they are not counted.
async fn backlog(connection: &mut AnyConnection<'_>, message: &MessageRecord) -> sqlx::Result<Backlog> {
    let mut backlog = Backlog::default();
    for priority in message.priority..=HIGHEST {
        let (shard, own) = (i64::from(message.shard), i64::from(message.priority));
        let values = [shard, i64::from(priority), own, message.id].map(Value::from);
        if let Some(of_priority) = connection.rows_from_index::<BacklogRow>(&BACKLOG, &values).await?.pop() {
            backlog.ahead += of_priority.ahead;
            backlog.oldest_ms = backlog.oldest_ms.max(of_priority.oldest_ms);
        }
    }
    Ok(backlog)
}
