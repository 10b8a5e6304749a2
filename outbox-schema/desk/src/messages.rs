//! Reading many messages, the newest first. No index holds the delivered messages, so a list walks down the primary
//! key: a fixed number of rows in a statement, and in all. Pending and dead messages are read from their own index
//! while they are few. So they are found at once, however long the history is.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use outbox_schema::{MessageId, Tags};
use outbox_store::sql::{AnyConnection, AnyTransaction, Value};
use outbox_store::store::Lossy;
use outbox_store::store::ids_as_json;
use outbox_store::{Database, Status};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use sqlx::FromRow;

use super::error::{DeskError, while_doing};
use super::finding::{Known, few, said, said_if};
use super::statements::{IDS_BELOW, IDS_BETWEEN, IDS_DEAD, IDS_IN_DOUBT, IDS_PENDING, MESSAGES};
use super::{InDoubt, Moment};

/// The most rows of one statement.
const CHUNK: i64 = 10_000;

/// Rows that are looked at before an index of tags is asked.
const GLANCE: i64 = 2_000;

/// Messages of a page, where all that a filter means are read.
const PAGE: u32 = 5_000;

/// The most rows that one page looks at.
const LOOKED_AT: u64 = 100_000;

/// Up to this many pending messages, or dead letters, count as few.
const FEW: i64 = 20_000;

/// A filter of messages. A message must meet all conditions that are given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams, utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct MessageFilter {
    /// The state of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// The channel of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The destination of the message: `https://shop.example:443`, or the name of an FCM channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// The target of the message, as it is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The beginning of the idempotency key.
    #[serde(default, deserialize_with = "said_if", skip_serializing_if = "Option::is_none")]
    pub key_prefix: Option<String>,
    /// Tags, all of which the message has: `order=4711`, several with commas between. In JSON they may be an object too.
    #[serde(default, deserialize_with = "said", skip_serializing_if = "Tags::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "order=4711"))]
    #[cfg_attr(feature = "openapi", param(value_type = Option<String>, example = "order=4711"))]
    pub tags: Tags,
    /// The tenant: what the row says, else the destination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The ordering key of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ordering_key: Option<String>,
    /// The priority of the message: 0 to 3.
    #[serde(default, deserialize_with = "priority", skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// A text within the last error, in any case of letters. No index tells it: a page looks at 100,000 rows at most.
    #[serde(default, deserialize_with = "said_if", skip_serializing_if = "Option::is_none")]
    pub error_contains: Option<String>,
    /// The least number of attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts_from: Option<u32>,
    /// Only messages that were ever in doubt, and so may have been delivered twice: `any`, or those of one term, by its epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "any"))]
    #[cfg_attr(feature = "openapi", param(value_type = Option<String>, example = "any"))]
    pub in_doubt: Option<InDoubt>,
    /// Only messages created at this moment or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "2h"))]
    #[cfg_attr(feature = "openapi", param(value_type = Option<String>, example = "2h"))]
    pub since: Option<Moment>,
    /// Only messages created at this moment or earlier.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "2h"))]
    #[cfg_attr(feature = "openapi", param(value_type = Option<String>, example = "2h"))]
    pub until: Option<Moment>,
}

/// Reads a priority that messages can have.
fn priority<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u8>, D::Error> {
    match Option::<u8>::deserialize(deserializer)? {
        Some(4..) => Err(D::Error::custom("it must be 0, 1, 2 or 3")),
        priority => Ok(priority),
    }
}

impl MessageFilter {
    /// What the filter means now, and only that, also when it is asked later.
    pub(super) fn as_of(&self, now_us: i64) -> Self {
        let since = self.since.map(|since| since.fixed(now_us));
        Self { since, until: Some(Moment::until(self.until, now_us)), ..self.clone() }
    }

    fn known(&self) -> Known<'_> {
        Known::new(self.target.as_ref(), self.key_prefix.as_ref(), &self.tags, self.tenant.as_ref())
    }
}

/// A message without its body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[allow(missing_docs, reason = "columns of the table `outbox`")]
pub struct MessageSummary {
    pub id: i64,
    #[sqlx(try_from = "Lossy<String>")]
    pub idempotency_key: String,
    #[sqlx(try_from = "Lossy<String>")]
    pub channel: String,
    #[sqlx(try_from = "Lossy<String>")]
    pub target: String,
    #[sqlx(try_from = "Lossy<String>")]
    pub destination: String,
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub ordering_key: Option<String>,
    pub priority: i32,
    pub status: String,
    pub dead_reason: Option<String>,
    pub attempts: i32,
    pub available_at: String,
    pub deferred_from: Option<String>,
    pub created_at: String,
    #[serde(default)]
    pub first_attempt_at: Option<String>,
    pub finished_at: Option<String>,
    pub last_error: Option<String>,
    pub last_status_code: Option<i32>,
    /// The message that this one repeats, where it is a replay.
    #[serde(default)]
    pub replay_of: Option<i64>,
    /// Whom the message is sent for, where its row says it.
    #[serde(default)]
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub tenant: Option<String>,
    /// The tags as JSON text, as the database returns it.
    #[serde(default)]
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub tags: Option<String>,
}

/// One page of messages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MessagePage {
    /// The messages, the highest id first.
    pub messages: Vec<MessageSummary>,
    /// Rows that were looked at. A page ends early where 100,000 of them held too few messages that the filter admits.
    pub looked_at: u64,
    /// The `after` of the next page, which has lower ids. None on the last page.
    pub next: Option<MessageId>,
}

/// Where the rows to look at come from.
enum Rows {
    /// The rows with these ids, the highest id first.
    Named(VecDeque<MessageId>),
    /// All rows below an id.
    Below(i64),
}

/// All messages that a filter means, page by page, until `take` breaks off. Tells whether it broke off before the end.
pub(super) async fn each(
    database: &Database,
    filter: &MessageFilter,
    mut take: impl FnMut(Vec<MessageSummary>) -> ControlFlow<()> + Send,
) -> sqlx::Result<ControlFlow<()>> {
    let mut after = None;
    loop {
        let page = page(database, filter, after, PAGE).await?;
        let goes_on = take(page.messages);
        after = page.next;
        if after.is_none() {
            return Ok(ControlFlow::Continue(()));
        }
        if goes_on.is_break() {
            return Ok(goes_on);
        }
    }
}

/// The messages with these ids as they are now, without their bodies. Those that are not there any more are left out.
///
/// # Errors
/// The database did not answer, or refused.
pub async fn summaries(database: &Database, ids: &[MessageId]) -> Result<Vec<MessageSummary>, DeskError> {
    let found = among(database, ids, &MessageFilter::default()).await;
    found.map_err(while_doing("reading messages"))
}

/// The messages among these that a filter means.
pub(super) async fn among(
    database: &Database,
    ids: &[MessageId],
    filter: &MessageFilter,
) -> sqlx::Result<Vec<MessageSummary>> {
    let mut transaction = AnyTransaction::to_read(database).await?;
    let found = meant(&mut transaction.connection(), ids, filter, 0, usize::MAX).await?;
    transaction.commit().await?;
    Ok(found)
}

pub(super) async fn page(
    database: &Database,
    filter: &MessageFilter,
    after: Option<MessageId>,
    limit: u32,
) -> sqlx::Result<MessagePage> {
    let mut transaction = AnyTransaction::to_read(database).await?;
    let page = walk(&mut transaction.connection(), filter, after, limit).await?;
    transaction.commit().await?;
    Ok(page)
}

async fn walk(
    connection: &mut AnyConnection<'_>,
    filter: &MessageFilter,
    after: Option<MessageId>,
    limit: u32,
) -> sqlx::Result<MessagePage> {
    let now_us = connection.now_us().await?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if !filter.tags.is_empty()
        && let Some(page) = glance(connection, filter, now_us, (after, limit)).await?
    {
        return Ok(page);
    }
    let mut rows = Rows::of(connection, filter, after).await?;
    let mut page = MessagePage::default();
    // Most lists end with their first rows.
    let mut size = i64::try_from(limit).unwrap_or(CHUNK).saturating_add(1).min(CHUNK);
    loop {
        let Some(chunk) = rows.next(connection, size).await? else { return Ok(page) };
        size = (size * 4).min(CHUNK);
        page.looked_at += chunk.looked_at();
        let lowest = chunk.lowest();
        // One more than the limit tells whether there is a next page.
        let room = limit - page.messages.len() + 1;
        page.messages.extend(chunk.meant(connection, filter, now_us, room).await?);
        if page.messages.len() > limit {
            page.messages.truncate(limit);
            page.next = page.messages.last().map(|message| MessageId(message.id));
            return Ok(page);
        }
        if page.looked_at >= LOOKED_AT {
            page.next = Some(lowest);
            return Ok(page);
        }
    }
}

/// Fills a page from the newest rows, where they are enough. An index would first read all that have a common tag.
async fn glance(
    connection: &mut AnyConnection<'_>,
    filter: &MessageFilter,
    now_us: i64,
    (after, limit): (Option<MessageId>, usize),
) -> sqlx::Result<Option<MessagePage>> {
    let mut rows = Rows::Below(after.map_or(i64::MAX, |id| id.0));
    let Some(chunk) = rows.next(connection, GLANCE).await? else { return Ok(None) };
    let looked_at = chunk.looked_at();
    let mut messages = chunk.meant(connection, filter, now_us, limit.saturating_add(1)).await?;
    if messages.len() <= limit {
        return Ok(None);
    }
    messages.truncate(limit);
    let next = messages.last().map(|message| MessageId(message.id));
    Ok(Some(MessagePage { messages, looked_at, next }))
}

impl Rows {
    async fn of(
        connection: &mut AnyConnection<'_>,
        filter: &MessageFilter,
        after: Option<MessageId>,
    ) -> sqlx::Result<Self> {
        let below = after.map_or(i64::MAX, |id| id.0);
        let known = filter.known();
        let mut named = known.few(connection).await?;
        if let (None, Some(in_doubt)) = (&named, filter.in_doubt) {
            named = few(connection.rows(&IDS_IN_DOUBT, &[in_doubt.as_number().into(), (FEW + 1).into()]).await?, FEW);
        }
        let named = match (named, filter.status) {
            (Some(ids), _) => Some(ids),
            (None, Some(Status::Pending)) => {
                few(connection.rows_from_index(&IDS_PENDING, &[(FEW + 1).into()]).await?, FEW)
            }
            (None, Some(Status::Dead)) => few(connection.rows_from_index(&IDS_DEAD, &[(FEW + 1).into()]).await?, FEW),
            (None, Some(Status::Success) | None) => None,
        };
        Ok(match named {
            Some(mut ids) => {
                ids.retain(|id| id.0 < below);
                ids.sort_unstable_by(|one, other| other.cmp(one));
                Self::Named(ids.into())
            }
            None => Self::Below(below),
        })
    }

    /// The next rows to look at. None where there are no more.
    async fn next(&mut self, connection: &mut AnyConnection<'_>, size: i64) -> sqlx::Result<Option<Chunk>> {
        match self {
            Self::Named(ids) => {
                let size = usize::try_from(size).unwrap_or(usize::MAX).min(ids.len());
                let ids: Vec<_> = ids.drain(..size).collect();
                Ok(ids.last().copied().map(|lowest| Chunk::Named { ids, lowest }))
            }
            Self::Below(below) => {
                let found: Vec<(Option<i64>, i64)> =
                    connection.rows_from_index(&IDS_BELOW, &[(*below).into(), size.into()]).await?;
                let Some(&(Some(lowest), looked_at)) = found.first() else { return Ok(None) };
                let below = std::mem::replace(below, lowest);
                Ok(Some(Chunk::Between { lowest, below, looked_at: looked_at.try_into().unwrap_or(0) }))
            }
        }
    }
}

/// Rows that are looked at together.
enum Chunk {
    Named { ids: Vec<MessageId>, lowest: MessageId },
    Between { lowest: i64, below: i64, looked_at: u64 },
}

impl Chunk {
    fn looked_at(&self) -> u64 {
        match self {
            Self::Named { ids, .. } => ids.len() as u64,
            Self::Between { looked_at, .. } => *looked_at,
        }
    }

    fn lowest(&self) -> MessageId {
        match self {
            Self::Named { lowest, .. } => *lowest,
            Self::Between { lowest, .. } => MessageId(*lowest),
        }
    }

    /// The messages of the chunk that the filter means, the newest first.
    async fn meant(
        self,
        connection: &mut AnyConnection<'_>,
        filter: &MessageFilter,
        now_us: i64,
        limit: usize,
    ) -> sqlx::Result<Vec<MessageSummary>> {
        let ids = match self {
            Self::Named { ids, .. } => ids,
            // Where few rows of many are meant, the others are passed over where they lie.
            Self::Between { lowest, below, .. } => {
                let known = filter.known();
                let mut values = conditions(filter, &known, lowest.into(), now_us, limit);
                values.push(below.into());
                let ids: Vec<(i64,)> = connection.rows(&IDS_BETWEEN, &values).await?;
                ids.into_iter().map(|(id,)| MessageId(id)).collect()
            }
        };
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        meant(connection, &ids, filter, now_us, limit).await
    }
}

async fn meant(
    connection: &mut AnyConnection<'_>,
    ids: &[MessageId],
    filter: &MessageFilter,
    now_us: i64,
    limit: usize,
) -> sqlx::Result<Vec<MessageSummary>> {
    let (ids, known) = (ids_as_json(ids), filter.known());
    connection.rows(&MESSAGES, &conditions(filter, &known, (&ids).into(), now_us, limit)).await
}

/// The values of the conditions of a filter, of which the first says which rows are looked at.
fn conditions<'a>(
    filter: &'a MessageFilter,
    known: &'a Known<'_>,
    rows: Value<'a>,
    now_us: i64,
    limit: usize,
) -> Vec<Value<'a>> {
    let in_us = |moment: Option<Moment>| Value::Number(moment.map(|moment| moment.in_us(now_us)));
    let mut values = vec![
        rows,
        filter.status.map(Status::as_str).into(),
        filter.channel.as_deref().into(),
        filter.destination.as_deref().into(),
        filter.ordering_key.as_deref().into(),
        Value::Number(filter.priority.map(i64::from)),
        in_us(filter.since),
        in_us(filter.until),
        i64::try_from(limit).unwrap_or(i64::MAX).into(),
    ];
    values.extend(known.values());
    values.push(filter.error_contains.as_deref().into());
    values.push(Value::Number(filter.attempts_from.map(i64::from)));
    values.push(Value::Number(filter.in_doubt.map(InDoubt::as_number)));
    values
}
