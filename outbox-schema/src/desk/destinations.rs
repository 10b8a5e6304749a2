//! Destinations as people see them: what holds each of them up, and pausing and resuming by hand.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use super::Author;
use super::operation::{BATCH, audit, pause as rest, who};
use super::statements::{DEFERRED, DESTINATIONS, PAUSE, RESUME};
use crate::destination::bring_back_rows;
use crate::sql::{AnyConnection, AnyTransaction, Value};
use crate::store::wire::{millis_i64, storable};
use crate::{Database, PauseKind};

/// A destination, or a channel, of which the outbox remembers something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DestinationEntry {
    /// A destination (`https://host:443`) or the name of a channel.
    pub destination: String,
    /// What holds it up. In JSON its name is `state`, its fields are beside it.
    #[serde(flatten)]
    pub held: HeldUp,
    /// Pauses in a row that it has failed into.
    pub failures: i32,
    /// Rows that were put aside and wait: of the destination, or of the channel where this is the name of one.
    pub waiting: i64,
    /// What went wrong, or what somebody said of the pause; none where nothing holds it up.
    pub reason: Option<String>,
}

/// What holds a destination up. Times are texts of the database; `remaining_ms` are milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum HeldUp {
    /// Somebody paused it.
    Paused {
        /// Who.
        by: Option<String>,
        /// Until when; none: until somebody resumes it.
        until: Option<String>,
        /// How much longer.
        remaining_ms: Option<i64>,
    },
    /// Its breaker is open, or lets a few messages through to see whether it works again.
    Broken {
        /// When it is tried again.
        until: String,
        /// How long until then; 0 or less while it is being tried.
        remaining_ms: i64,
    },
    /// It, or what stands before it, asked to be left alone.
    Asked {
        /// Until when.
        until: String,
        /// How much longer.
        remaining_ms: i64,
    },
    /// Rows were put aside, so that they do not stand in the way of others.
    Aside {
        /// When the last of them is due.
        until: String,
        /// How long until then.
        remaining_ms: i64,
    },
    /// Nothing.
    Open,
}

/// What a pause did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Paused {
    /// Its entry in `outbox_audit`.
    pub audit_id: i64,
    /// What is paused.
    pub destination: String,
    /// Until when; none: until somebody resumes it.
    pub until: Option<String>,
}

/// What a resumption did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Resumed {
    /// Its entry in `outbox_audit`. None where nothing held the destination up.
    pub audit_id: Option<i64>,
    /// What is resumed.
    pub destination: String,
    /// Rows that had been put aside and are due again when they were.
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
    destination: String,
    channel: String,
    waiting: i64,
}

impl Row {
    fn held(&self) -> HeldUp {
        let kind = PauseKind::of(self.pause_kind.as_deref());
        match (kind, self.paused_until.clone(), self.paused_ms) {
            (PauseKind::Breaker, Some(until), Some(remaining_ms)) if remaining_ms > 0 || self.failures > 0 => {
                HeldUp::Broken { until, remaining_ms }
            }
            (PauseKind::Asked | PauseKind::Barred, Some(until), Some(remaining_ms @ 1..)) => {
                HeldUp::Asked { until, remaining_ms }
            }
            (PauseKind::Hand, Some(until), Some(remaining_ms @ 1..)) => {
                let ends = !self.for_good;
                HeldUp::Paused {
                    by: self.paused_by.clone(),
                    until: ends.then_some(until),
                    remaining_ms: ends.then_some(remaining_ms),
                }
            }
            (PauseKind::Hand | PauseKind::Breaker | PauseKind::Asked | PauseKind::Barred, ..) => self.aside(),
        }
    }

    fn aside(&self) -> HeldUp {
        match (self.aside_until.clone(), self.aside_ms) {
            (Some(until), Some(remaining_ms @ 1..)) => HeldUp::Aside { until, remaining_ms },
            (Some(_) | None, _) => HeldUp::Open,
        }
    }

    fn into_entry(self, waiting: &HashMap<String, i64>) -> DestinationEntry {
        let held = self.held();
        DestinationEntry {
            failures: self.failures,
            waiting: waiting.get(&self.destination).copied().unwrap_or(0),
            reason: self.reason.filter(|_| held != HeldUp::Open),
            destination: self.destination,
            held,
        }
    }
}

/// All of them by name, or the one of that name.
pub(super) async fn entries(
    connection: &mut AnyConnection<'_>,
    name: Option<&str>,
) -> sqlx::Result<Vec<DestinationEntry>> {
    let rows: Vec<Row> = connection.rows(&DESTINATIONS, &[name.into()]).await?;
    let deferred: Vec<Deferred> = connection.rows(&DEFERRED, &[name.into()]).await?;
    let mut waiting: HashMap<String, i64> = HashMap::new();
    for Deferred { destination, channel, waiting: rows } in deferred {
        if destination != channel {
            *waiting.entry(destination).or_default() += rows;
        }
        *waiting.entry(channel).or_default() += rows;
    }
    let mut entries: Vec<_> = rows.into_iter().map(|row| row.into_entry(&waiting)).collect();
    entries.sort_by(|one, other| one.destination.cmp(&other.destination));
    Ok(entries)
}

/// Those that hold something up, or all.
pub(super) async fn list(database: &Database, all: bool) -> sqlx::Result<Vec<DestinationEntry>> {
    let mut transaction = AnyTransaction::to_read(database).await?;
    let mut entries = entries(&mut transaction.connection(), None).await?;
    transaction.commit().await?;
    entries.retain(|entry| all || entry.held != HeldUp::Open || entry.waiting > 0);
    Ok(entries)
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

/// The poller hears of it, and brings back itself what it puts aside until then.
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
    connection.rows::<()>(&RESUME, &[destination.into()]).await?;
    transaction.commit().await?;
    loop {
        let began = Instant::now();
        let mut transaction = AnyTransaction::to_write(database).await?;
        let back = bring_back_rows(&mut transaction.connection(), None, destination, BATCH).await?;
        transaction.commit().await?;
        done.brought_back += back as u64;
        if back < BATCH {
            return Ok(done);
        }
        rest(began).await;
    }
}
