//! Destinations for operators: what holds messages up at each, and pausing and resuming by hand.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use outbox_store::destination::bring_back_some;
use outbox_store::sql::{AnyConnection, AnyTransaction, Value};
use outbox_store::store::Lossy;
use outbox_store::store::{millis_i64, storable};
use outbox_store::{Database, PauseKind, Shard};
use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use super::error::while_doing;
use super::operation::{BATCH, PAUSES, audit, pause as rest, who};
use super::statements::{DEFERRED, DESTINATIONS, DUE_BY_DESTINATION, PAUSE, RESUME};
use super::{Author, DeskError};

/// The due messages of a priority that are looked at.
const LOOKED_AT: i64 = 2_500;

/// A destination or a channel that the outbox remembers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DestinationEntry {
    /// A destination (`https://host:443`) or the name of a channel.
    pub destination: String,
    /// What holds messages up. In JSON its name is `state`, and its fields stand beside that.
    #[serde(flatten)]
    pub held: HeldUp,
    /// Pauses in a row that followed failures.
    pub failures: i32,
    /// Deferred rows that wait: those of the destination, or of the channel where this is the name of a channel.
    pub waiting: i64,
    /// Due messages for it, those in flight among them, as far as they were looked at: of each priority the 2,500 that have been
    /// due for longest, and 2,500 with an ordering key.
    #[serde(default)]
    pub due: i64,
    /// Whether more messages may be due for it than were looked at.
    #[serde(default)]
    pub due_more: bool,
    /// How long the oldest message that is due or deferred has been due, in milliseconds. With `due_more` it may be longer.
    #[serde(default)]
    pub oldest_ms: Option<i64>,
    /// What went wrong, or what an operator said about the pause. None where nothing holds messages up.
    pub reason: Option<String>,
}

/// What holds messages up. Times are texts of the database; `remaining_ms` are milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum HeldUp {
    /// An operator paused the destination.
    Paused {
        /// The operator.
        by: Option<String>,
        /// When the pause ends. None: it lasts until an operator resumes the destination.
        until: Option<String>,
        /// Milliseconds until the pause ends.
        remaining_ms: Option<i64>,
    },
    /// The breaker of the destination is open, or lets a few messages through to see whether the destination works
    /// again.
    Broken {
        /// When the breaker tries the destination again.
        until: String,
        /// Milliseconds until then; 0 or less while the breaker is trying.
        remaining_ms: i64,
    },
    /// The destination asked for a pause (`Retry-After`), or the channel may not send: its credential was refused, or
    /// its quota is used up.
    Asked {
        /// When the pause ends.
        until: String,
        /// Milliseconds until the pause ends.
        remaining_ms: i64,
    },
    /// The poller deferred rows of the destination, so that they do not stand in the way of others.
    Aside {
        /// When the last deferred row is due.
        until: String,
        /// Milliseconds until then.
        remaining_ms: i64,
    },
    /// Nothing holds messages up.
    Open,
}

/// The result of a pause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Paused {
    /// The id of the entry in `outbox_audit`.
    pub audit_id: i64,
    /// The destination or channel that is paused.
    pub destination: String,
    /// When the pause ends. None: it lasts until an operator resumes the destination.
    pub until: Option<String>,
}

/// The result of a resumption.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Resumed {
    /// The id of the entry in `outbox_audit`. None where nothing held messages up.
    pub audit_id: Option<i64>,
    /// The destination or channel that is resumed.
    pub destination: String,
    /// Deferred rows that are due again at their own times. A poller that hears of the resumption brings some of them back.
    pub brought_back: u64,
}

#[derive(Debug, FromRow)]
struct Row {
    destination: String,
    paused_until: Option<String>,
    paused_ms: Option<i64>,
    for_good: bool,
    paused_by: Option<String>,
    pause_kind: Option<String>,
    reason: Option<String>,
    failures: i32,
    aside_until: Option<String>,
    aside_ms: Option<i64>,
}

#[derive(Debug, FromRow)]
struct Deferred {
    #[sqlx(try_from = "Lossy<String>")]
    destination: String,
    #[sqlx(try_from = "Lossy<String>")]
    channel: String,
    waiting: i64,
    oldest_ms: Option<i64>,
}

/// Due messages of a destination and a channel, among those that were looked at.
#[derive(Debug, FromRow)]
struct DueRow {
    #[sqlx(try_from = "Lossy<String>")]
    destination: String,
    #[sqlx(try_from = "Lossy<String>")]
    channel: String,
    due: i64,
    oldest_ms: Option<i64>,
}

/// The rows that wait under one name, and the oldest of them.
#[derive(Debug, Clone, Copy, Default)]
struct Waiting {
    rows: i64,
    oldest_ms: Option<i64>,
}

impl Waiting {
    fn add(&mut self, rows: i64, oldest_ms: Option<i64>) {
        self.rows += rows;
        self.oldest_ms = self.oldest_ms.max(oldest_ms);
    }
}

impl Row {
    fn held(&self) -> HeldUp {
        let kind = PauseKind::of(self.pause_kind.as_deref());
        match (kind, self.paused_until.clone(), self.paused_ms) {
            (PauseKind::Breaker, Some(until), Some(remaining_ms)) if remaining_ms > 0 || self.failures > 0 => {
                HeldUp::Broken { until, remaining_ms }
            }
            (PauseKind::RetryAfter | PauseKind::Credential, Some(until), Some(remaining_ms @ 1..)) => {
                HeldUp::Asked { until, remaining_ms }
            }
            (PauseKind::Manual, Some(until), Some(remaining_ms @ 1..)) => {
                let ends = !self.for_good;
                HeldUp::Paused {
                    by: self.paused_by.clone(),
                    until: ends.then_some(until),
                    remaining_ms: ends.then_some(remaining_ms),
                }
            }
            (PauseKind::Manual | PauseKind::Breaker | PauseKind::RetryAfter | PauseKind::Credential, ..) => {
                self.aside()
            }
        }
    }

    fn aside(&self) -> HeldUp {
        match (self.aside_until.clone(), self.aside_ms) {
            (Some(until), Some(remaining_ms @ 1..)) => HeldUp::Aside { until, remaining_ms },
            (Some(_) | None, _) => HeldUp::Open,
        }
    }

    fn into_entry(self, waiting: &HashMap<String, Waiting>) -> DestinationEntry {
        let held = self.held();
        let Waiting { rows, oldest_ms } = waiting.get(&self.destination).copied().unwrap_or_default();
        DestinationEntry {
            failures: self.failures,
            waiting: rows,
            due: 0,
            due_more: false,
            oldest_ms,
            reason: self.reason.filter(|_| held != HeldUp::Open),
            destination: self.destination,
            held,
        }
    }
}

/// All entries, or only the one called `name`.
pub(super) async fn entries(
    connection: &mut AnyConnection<'_>,
    name: Option<&str>,
) -> sqlx::Result<Vec<DestinationEntry>> {
    let rows: Vec<Row> = connection.rows(&DESTINATIONS, &[name.into()]).await?;
    let deferred: Vec<Deferred> = connection.rows(&DEFERRED, &[name.into()]).await?;
    let held: HashSet<&str> =
        rows.iter().filter(|row| row.held() != HeldUp::Open).map(|row| row.destination.as_str()).collect();
    let mut waiting: HashMap<String, Waiting> = HashMap::new();
    for Deferred { destination, channel, waiting: rows, oldest_ms } in deferred {
        // What waits for its destination does not wait for a channel that takes messages.
        if destination == channel || held.contains(channel.as_str()) || !held.contains(destination.as_str()) {
            waiting.entry(channel.clone()).or_default().add(rows, oldest_ms);
        }
        if destination != channel {
            waiting.entry(destination).or_default().add(rows, oldest_ms);
        }
    }
    let mut entries: Vec<_> = rows.into_iter().map(|row| row.into_entry(&waiting)).collect();
    entries.sort_by(|one, other| one.destination.cmp(&other.destination));
    Ok(entries)
}

/// The entries that hold messages up, or all of them, with what is due.
pub(super) async fn list(database: &Database, all: bool) -> sqlx::Result<Vec<DestinationEntry>> {
    let mut transaction = AnyTransaction::to_read(database).await?;
    let mut connection = transaction.connection();
    let mut entries = entries(&mut connection, None).await?;
    entries.retain(|entry| all || entry.held != HeldUp::Open || entry.waiting > 0);
    add_due(&mut connection, &mut entries).await?;
    transaction.commit().await?;
    Ok(entries)
}

/// What holds up one destination or channel, and what is due for it. One of which nothing is kept takes messages.
///
/// # Errors
/// The database did not answer, or refused.
pub async fn destination(database: &Database, name: &str) -> Result<DestinationEntry, DeskError> {
    one(database, name).await.map_err(while_doing("reading a destination"))
}

async fn one(database: &Database, name: &str) -> sqlx::Result<DestinationEntry> {
    let mut transaction = AnyTransaction::to_read(database).await?;
    let mut connection = transaction.connection();
    let mut found = entries(&mut connection, Some(name)).await?;
    if found.is_empty() {
        found.push(DestinationEntry::open(name));
    }
    add_due(&mut connection, &mut found).await?;
    transaction.commit().await?;
    Ok(found.remove(0))
}

async fn add_due(connection: &mut AnyConnection<'_>, entries: &mut [DestinationEntry]) -> sqlx::Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let shard = [i64::from(Shard::default().0).into()];
    let due: Vec<DueRow> = connection.rows_from_index(&DUE_BY_DESTINATION, &shard).await?;
    let more = due.iter().map(|one| one.due).sum::<i64>() >= LOOKED_AT;
    let mut by_name: HashMap<&str, Waiting> = HashMap::new();
    for DueRow { destination, channel, due, oldest_ms } in &due {
        by_name.entry(destination).or_default().add(*due, *oldest_ms);
        if channel != destination {
            by_name.entry(channel).or_default().add(*due, *oldest_ms);
        }
    }
    for entry in entries {
        let Waiting { rows, oldest_ms } = by_name.get(entry.destination.as_str()).copied().unwrap_or_default();
        (entry.due, entry.due_more, entry.oldest_ms) = (rows, more, entry.oldest_ms.max(oldest_ms));
    }
    Ok(())
}

impl DestinationEntry {
    /// A destination of which nothing is kept.
    fn open(name: &str) -> Self {
        Self {
            destination: name.to_owned(),
            held: HeldUp::Open,
            failures: 0,
            waiting: 0,
            due: 0,
            due_more: false,
            oldest_ms: None,
            reason: None,
        }
    }
}

pub(super) async fn pause(
    database: &Database,
    destination: &str,
    lasting: Option<Duration>,
    author: &Author,
) -> sqlx::Result<Paused> {
    let for_ms = lasting.map(millis_i64);
    let mut transaction = AnyTransaction::to_write(database).await?;
    let mut connection = transaction.connection();
    let details = serde_json::json!({ "destination": destination, "for_ms": for_ms });
    let audit_id = audit(&mut connection, "pause", None, &details.to_string(), author).await?;
    let (who, why) = (who(author), storable(&author.why));
    let values = [destination.into(), Value::Number(for_ms), Value::from(&who), why.as_ref().into()];
    connection.rows::<()>(&PAUSE, &values).await?;
    let rows: Vec<Row> = connection.rows(&DESTINATIONS, &[destination.into()]).await?;
    transaction.commit().await?;
    let until = rows.into_iter().next().filter(|row| !row.for_good).and_then(|row| row.paused_until);
    Ok(Paused { audit_id, destination: destination.to_owned(), until })
}

/// The poller learns of the resumption within a second. It then brings back by itself what is still deferred.
pub(super) async fn resume(database: &Database, destination: &str, author: &Author) -> sqlx::Result<Resumed> {
    let mut done = Resumed { audit_id: None, destination: destination.to_owned(), brought_back: 0 };
    let mut transaction = AnyTransaction::to_write(database).await?;
    let mut connection = transaction.connection();
    let held = entries(&mut connection, Some(destination)).await?;
    if held.iter().all(|entry| entry.held == HeldUp::Open && entry.waiting == 0) {
        transaction.commit().await?;
        return Ok(done);
    }
    let details = serde_json::json!({ "destination": destination });
    done.audit_id = Some(audit(&mut connection, "resume", None, &details.to_string(), author).await?);
    // Counted here, and not as they come back below: the poller may be faster.
    done.brought_back = held.iter().map(|entry| u64::try_from(entry.waiting).unwrap_or(0)).sum();
    connection.rows::<()>(&RESUME, &[destination.into()]).await?;
    transaction.commit().await?;
    loop {
        let began = Instant::now();
        let back = bring_back_some(database, destination, BATCH).await?;
        if !back.more || back.rows == 0 {
            return Ok(done);
        }
        rest(began, PAUSES).await;
    }
}
