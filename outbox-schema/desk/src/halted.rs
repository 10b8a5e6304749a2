//! Ordering keys that a dead letter halts. Nothing is marked as halted: a key is, while a dead letter stands before the first message
//! of it that waits, and its channel halts at those. So the dead letters are walked by their keys, in an index, a number of them at a
//! time: what looks every few seconds stays short, however many there are.

use std::fmt;
use std::str::FromStr;

use outbox_schema::MessageId;
use outbox_store::sql::{AnyConnection, AnyTransaction, Value};
use outbox_store::store::Lossy;
use outbox_store::store::ids_as_json;
use outbox_store::{Database, Shard};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sqlx::FromRow;

use super::DeadLetter;
use super::selection::from_text;
use super::statements::{HALTED_KEYS, HALTED_KEYS_END, HALTING_LETTERS};

/// Dead letters of one statement.
const CHUNK: i64 = 10_000;

/// The most dead letters that one page looks at.
const LOOKED_AT: i64 = 100_000;

/// The most halted keys of a channel that vitals count.
const COUNTED_KEYS: i64 = 1_000;

/// The halted ordering keys of a channel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HaltedVitals {
    /// The channel, which halts at dead letters.
    pub channel: String,
    /// Its halted ordering keys, among those of the first 10,000 dead letters: up to 1,000.
    pub keys: i64,
    /// The messages that wait in these keys: of each key up to 1,000.
    pub messages: i64,
    /// Whether there may be more.
    pub more: bool,
    /// The key whose first waiting message has the lowest id.
    pub oldest: Option<HaltedKey>,
}

/// An ordering key that a dead letter halts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HaltedKey {
    /// The channel of the key.
    #[sqlx(try_from = "Lossy<String>")]
    pub channel: String,
    /// The key.
    #[sqlx(try_from = "Lossy<String>")]
    pub ordering_key: String,
    /// The id of the first dead letter of the key. A redrive or a purge of it lets the others go, up to the next dead letter.
    pub dead_letter: i64,
    /// The reason of its death.
    pub dead_reason: Option<String>,
    /// When it died.
    pub dead_at: String,
    /// The first message that waits behind it.
    pub first_waiting: i64,
    /// How many messages of the key wait. 1,000 also stands for more.
    pub waiting: i64,
}

/// A page of halted ordering keys.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HaltedKeyPage {
    /// The keys, by channel and key.
    pub keys: Vec<HaltedKey>,
    /// The `after` of the next page. A page ends early where 100,000 dead letters halted too few keys. None on the last page.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub next: Option<KeyCursor>,
}

/// The place where a page of ordering keys ended. In JSON it is the text of its `Display`: `channel/key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyCursor {
    /// The channel.
    pub channel: String,
    /// The last key that was looked at.
    pub ordering_key: String,
}

impl fmt::Display for KeyCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.channel, self.ordering_key)
    }
}

impl FromStr for KeyCursor {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (channel, key) = text.split_once('/').ok_or("it is not where a page of ordering keys ended")?;
        Ok(Self { channel: channel.to_owned(), ordering_key: key.to_owned() })
    }
}

impl Serialize for KeyCursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for KeyCursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

/// What vitals say of each channel that halts.
pub(super) async fn vitals(connection: &mut AnyConnection<'_>, halting: &[String]) -> sqlx::Result<Vec<HaltedVitals>> {
    let mut vitals = Vec::new();
    for channel in halting {
        let keys = halted(connection, channel, None, COUNTED_KEYS).await?;
        let count = counted(keys.len());
        let full = count == COUNTED_KEYS || keys.iter().any(|key| key.waiting == HaltedKey::COUNTED);
        vitals.push(HaltedVitals {
            channel: channel.clone(),
            keys: count,
            messages: keys.iter().map(|key| key.waiting).sum(),
            more: full || end(connection, channel, None).await?.is_some(),
            oldest: keys.into_iter().min_by_key(|key| key.first_waiting),
        });
    }
    Ok(vitals)
}

/// Halted keys of these channels, from the place where an earlier page ended.
pub(super) async fn page(
    database: &Database,
    halting: &[String],
    after: Option<&KeyCursor>,
    limit: u32,
) -> sqlx::Result<HaltedKeyPage> {
    let mut transaction = AnyTransaction::to_read(database).await?;
    let page = walk(&mut transaction.connection(), halting, after, limit).await?;
    transaction.commit().await?;
    Ok(page)
}

async fn walk(
    connection: &mut AnyConnection<'_>,
    halting: &[String],
    after: Option<&KeyCursor>,
    limit: u32,
) -> sqlx::Result<HaltedKeyPage> {
    let mut channels: Vec<_> =
        halting.iter().filter(|name| after.is_none_or(|after| **name >= after.channel)).collect();
    channels.sort();
    let (mut page, mut looked_at, limit) = (HaltedKeyPage::default(), 0, limit as usize);
    for channel in channels {
        let mut after = after.filter(|after| after.channel == *channel).map(|after| after.ordering_key.clone());
        loop {
            // One more than the limit tells whether there is a next page.
            let room = limit - page.keys.len() + 1;
            page.keys.extend(halted(connection, channel, after.as_deref(), counted(room)).await?);
            if page.keys.len() > limit {
                page.keys.truncate(limit);
                page.next = page.keys.last().map(HaltedKey::cursor);
                return Ok(page);
            }
            let Some(ordering_key) = end(connection, channel, after.as_deref()).await? else { break };
            looked_at += CHUNK;
            if looked_at >= LOOKED_AT {
                page.next = Some(KeyCursor { channel: channel.clone(), ordering_key });
                return Ok(page);
            }
            after = Some(ordering_key);
        }
    }
    Ok(page)
}

fn counted(number: usize) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

impl HaltedKey {
    /// The most messages of a key that are counted.
    pub const COUNTED: i64 = 1_000;

    fn cursor(&self) -> KeyCursor {
        KeyCursor { channel: self.channel.clone(), ordering_key: self.ordering_key.clone() }
    }
}

/// The halted keys among those of the channel's next dead letters.
async fn halted(
    connection: &mut AnyConnection<'_>,
    channel: &str,
    after: Option<&str>,
    limit: i64,
) -> sqlx::Result<Vec<HaltedKey>> {
    let [chunk, limit, waiting] = [CHUNK, limit, HaltedKey::COUNTED].map(Value::from);
    let values = [Shard::default().into(), channel.into(), after.into(), chunk, limit, waiting];
    connection.rows_from_index(&HALTED_KEYS, &values).await
}

/// The last key of these dead letters. None where there were fewer than a statement looks at.
async fn end(connection: &mut AnyConnection<'_>, channel: &str, after: Option<&str>) -> sqlx::Result<Option<String>> {
    let values = [Shard::default().into(), channel.into(), after.into(), (CHUNK - 1).into()];
    let last: Vec<(Lossy<String>,)> = connection.rows_from_index(&HALTED_KEYS_END, &values).await?;
    Ok(last.into_iter().next().map(|(key,)| key.into()))
}

/// Says of each letter whether it halts its ordering key.
pub(super) async fn mark(
    connection: &mut AnyConnection<'_>,
    letters: &mut [DeadLetter],
    halting: &[String],
) -> sqlx::Result<()> {
    let may_halt = |letter: &&DeadLetter| letter.ordering_key.is_some() && halting.contains(&letter.channel);
    let ids: Vec<_> = letters.iter().filter(may_halt).map(|letter| MessageId(letter.id)).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let mut found: Vec<(i64, i64)> = connection.rows(&HALTING_LETTERS, &[(&ids_as_json(&ids)).into()]).await?;
    found.sort_unstable();
    for letter in letters {
        let found_at = found.binary_search_by_key(&letter.id, |(id, _)| *id);
        letter.first_waiting = found_at.ok().map(|at| found[at].1);
    }
    Ok(())
}
