//! The facts behind an explanation: a message, and everything that it may wait for. The dispatcher's `explain` decides
//! what follows from the facts, and how to say it.

use outbox_schema::MessageId;
use outbox_store::sql::{AnyConnection, AnyTransaction, Value};
use outbox_store::{Database, Status};
use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use super::error::{DeskError, while_doing};
use super::message::whole_message;
use super::statements::{
    BACKLOG, CURRENT_TERMS, INVALID_TARGET_OF, MESSAGE_CLOCK, ORDERED_BEFORE, ORDERED_DEAD, ORDERED_IN_FLIGHT,
    PAUSED_DESTINATIONS, TERMS_OF_MESSAGE,
};
use super::{
    CurrentTerm, DestinationEntry, HeldUp, InvalidTarget, MessageRecord, OutcomeMessage, PausedDestination,
    RecurringEntry, TermEntry, ToldMessage, destinations, recurring, told,
};

/// A message and what it may wait for, all at one moment. (On MySQL: in a few statements, one after the other.)
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageFacts {
    /// The message, its attempts, its changes by hand, and the claim that names it.
    pub message: MessageRecord,
    /// The times of the message by the database's clock.
    pub clock: MessageClock,
    /// Pauses of the message's destination and channel.
    pub pauses: Vec<PausedDestination>,
    /// The destination or channel whose rows the poller deferred, where the message is one of those rows.
    pub aside: Option<DestinationEntry>,
    /// The target of a dead letter, where that target is known to be gone.
    pub invalid_target: Option<InvalidTarget>,
    /// Messages of the same ordering key that go out first. None without a key, and for the first message of a key.
    pub before: Option<Earlier>,
    /// The first dead letter of the same ordering key before the message, cancelled ones left out. Read only for
    /// channels that halt.
    pub dead_before: Option<EarlierDead>,
    /// A later message of the same ordering key that is in flight, if there is one.
    pub in_flight_after: Option<MessageId>,
    /// Due messages that the poll meets first. None where the message itself is not due.
    pub backlog: Option<Backlog>,
    /// The present term of the message's shard. None where no replica has led it yet.
    pub term: Option<CurrentTerm>,
    /// The terms of the message's attempts, the term that led when it was finished, and the newest term, by epoch.
    /// Terms that were pruned from the log are missing.
    pub terms: Vec<TermEntry>,
    /// The messages that tell of the outcomes of the message, the oldest first.
    pub told_by: Vec<OutcomeMessage>,
    /// The message of which the message tells, where it is an outcome.
    pub tells_of: Option<ToldMessage>,
    /// The recurring message that the message is one of.
    pub recurring: Option<RecurringEntry>,
}

/// The times of a message, by the database's clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, FromRow)]
pub struct MessageClock {
    /// The present time.
    pub now: String,
    /// Whether `available_at` has come.
    pub due: bool,
    /// Milliseconds until `available_at`, negative once past. None where it is no time of the calendar (`infinity`).
    pub due_in_ms: Option<i64>,
    /// Whether `expires_at` has passed.
    pub expired: bool,
    /// Milliseconds until `expires_at`, negative once past. None where the message does not expire.
    pub expires_in_ms: Option<i64>,
    /// Milliseconds since the first attempt. None before it.
    pub tried_for_ms: Option<i64>,
    /// Milliseconds from `created_at` until the message was first due or, where it was tried, may be tried again.
    /// Negative where it was due before it was written.
    pub delayed_by_ms: Option<i64>,
    /// Milliseconds until `created_at`. As a rule this is negative.
    pub created_in_ms: Option<i64>,
    /// Whether the server keeps the numbers of JSON in 64 bits, as MySQL does.
    pub rounds: bool,
}

/// Messages of an ordering key that go out first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Earlier {
    /// The message whose turn it is.
    pub first: MessageId,
    /// How many there are, the first included. [`COUNTED`] also stands for more.
    pub waiting: i64,
}

/// A dead letter of an ordering key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, FromRow)]
pub struct EarlierDead {
    /// The id of the message.
    pub id: i64,
    /// The reason of its death.
    pub dead_reason: Option<String>,
}

/// Due messages without an ordering key, those in flight among them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backlog {
    /// How many there are. For one priority, [`COUNTED`] also stands for more.
    pub ahead: i64,
    /// Milliseconds for which the first of them has been due. None where there are none.
    pub oldest_ms: Option<i64>,
    /// Those of the same tenant. The message waits for these; with the others its tenant takes turns.
    pub of_tenant: i64,
}

/// The most messages before another one that are counted.
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
    of_tenant: i64,
}

/// A message and everything that it may wait for. `halting` are the channels whose ordering keys halt at a dead
/// letter.
pub async fn facts(database: &Database, id: MessageId, halting: &[String]) -> Result<Option<MessageFacts>, DeskError> {
    at_one_moment(database, id, halting).await.map_err(while_doing("reading a message and what it waits for"))
}

async fn at_one_moment(database: &Database, id: MessageId, halting: &[String]) -> sqlx::Result<Option<MessageFacts>> {
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
        let names = serde_json::json!([message.destination, message.channel]).to_string();
        pauses = connection.rows(&PAUSED_DESTINATIONS, &[(&names).into(), PausedDestination::SHOWN.into()]).await?;
        pauses.retain(|pause| pause.destination == message.destination || pause.holds_a_channel());
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
        told_by: told::told_by(connection, &message).await?,
        tells_of: told::tells_of(connection, &message).await?,
        recurring: recurring::of_key(connection, message.key_sent()).await?,
        message,
        clock,
        pauses,
        aside,
        invalid_target: gone.into_iter().next(),
    }))
}

/// The destination comes before the channel, since it says more.
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

/// Counts what the poll meets first: messages of a higher priority, and those of the same priority that have been due
/// for longer. Messages with an ordering key are not counted: only one of each key can be met, and finding those takes
/// a walk from key to key.
async fn backlog(connection: &mut AnyConnection<'_>, message: &MessageRecord) -> sqlx::Result<Backlog> {
    let mut backlog = Backlog::default();
    for priority in message.priority..=HIGHEST {
        let (shard, own) = (i64::from(message.shard), i64::from(message.priority));
        let values = [shard, i64::from(priority), own, message.id].map(Value::from);
        if let Some(of_priority) = connection.rows_from_index::<BacklogRow>(&BACKLOG, &values).await?.pop() {
            backlog.ahead += of_priority.ahead;
            backlog.of_tenant += of_priority.of_tenant;
            backlog.oldest_ms = backlog.oldest_ms.max(of_priority.oldest_ms);
        }
    }
    Ok(backlog)
}
