//! The replicas that run, and what they run by. Each writes its own row twice a minute, and whenever it begins a term.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use outbox_store::fingerprint::fnv;
use outbox_store::retention::Retention;
use outbox_store::sql::{AnyTransaction, read, write};
use outbox_store::{Database, SCHEMA_VERSION, TermId};
use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use super::error::while_doing;
use super::statements::{
    CURRENT_TERMS, FLEET, OPEN_TERMS, REPLICA_FORGET, REPLICA_GONE, REPLICA_SEEN, REPLICAS, TERM_RUNS_BY,
};
use super::{CurrentTerm, DeskError};

/// A replica that has been silent for longer is gone, or cut off.
const SEEN: Duration = Duration::from_secs(90);

/// The longest text of a short column, in characters.
const SHORT: usize = 255;

/// The longest trouble that is kept, in characters.
const TROUBLE: usize = 1000;

/// A replica, as it describes itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Replica {
    /// The id of its process: the first part of the holder of its terms.
    pub id: String,
    /// Its name for people: `admin.instance`, or else the name of its host.
    pub name: String,
    /// The version of its program.
    pub version: String,
    /// Where its admin API listens.
    pub address: String,
}

/// What a replica runs by. A reader judges the outbox by this, and not by settings of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RunsBy {
    /// The lease store, without secrets: `table`, or a URL.
    pub lease_store: String,
    /// `lease.ttl`, in milliseconds.
    pub lease_ttl_ms: u64,
    /// `lease.term`, in milliseconds.
    pub lease_term_ms: u64,
    /// The configured channels, by name.
    pub channels: BTreeMap<String, ChannelRunsBy>,
    /// How long it keeps messages. None where an earlier release wrote this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention: Option<RetentionRunsBy>,
    /// The settings that all replicas must share and that are not at their defaults, without secrets.
    pub settings: BTreeMap<String, String>,
    /// The settings that it read last and refused. None where it runs by what it read last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<RefusedSettings>,
}

/// Settings that a replica read while it ran and did not take up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RefusedSettings {
    /// When the replica read them, RFC 3339.
    pub at: String,
    /// What is wrong with them, without secrets.
    pub why: String,
}

impl fmt::Display for RefusedSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, why } = self;
        write!(
            f,
            "what was read at {at} was refused, so the settings of before are in force until a restart, which reads the same: {why}"
        )
    }
}

/// How long a replica keeps finished messages, in milliseconds. None: for ever.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RetentionRunsBy {
    /// `retention.success`.
    pub success_ms: Option<u64>,
    /// `retention.dead`.
    pub dead_ms: Option<u64>,
}

/// What a replica's settings say of a channel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChannelRunsBy {
    /// Attempts of a message that has no number of its own.
    pub max_attempts: u32,
    /// How long messages are retried, in milliseconds.
    pub max_age_ms: u64,
    /// Whether a dead letter stops the later messages of its ordering key.
    pub halts: bool,
    /// Whether tenants of the channel take turns.
    pub fair: bool,
}

impl RunsBy {
    /// How long the replica keeps messages, where it says so.
    pub fn retention(&self) -> Option<Retention> {
        let its = self.retention?;
        let continuing = self.channels.iter().filter(|(_, channel)| !channel.halts).map(|(name, _)| name.clone());
        Some(Retention {
            success: its.success_ms.map(Duration::from_millis),
            dead: its.dead_ms.map(Duration::from_millis),
            continuing: continuing.collect(),
        })
    }

    /// The hash of the shared settings. Replicas with the same settings have the same hash, in every release that knows
    /// these settings.
    pub fn settings_hash(&self) -> String {
        let lines: Vec<_> = self.settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        format!("{:012x}", fnv(&lines.join("\n")) >> 16)
    }
}

/// Attempts that ended lately.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// The time that was counted.
    pub within: Duration,
    /// Messages that receivers accepted in that time.
    pub delivered: u64,
    /// Attempts that failed in that time.
    pub failed: u64,
}

/// What a replica writes into its row.
#[derive(Debug, Clone, Copy)]
pub struct Heartbeat<'a> {
    /// The replica.
    pub replica: &'a Replica,
    /// The settings that the replica runs by.
    pub runs_by: &'a RunsBy,
    /// Its attempts of the last minute.
    pub counted: Counted,
    /// What keeps it from its work. None where nothing does.
    pub trouble: Option<&'a str>,
    /// A term that it leads and that does not yet say what it runs by.
    pub began: Option<&'a TermId>,
}

/// The first columns of a replica's row, which every release writes.
#[derive(Debug, Clone, PartialEq, Eq, FromRow, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReplicaRow {
    /// The id of the process: the first part of the holder of its terms.
    pub id: String,
    /// The name of the replica: `admin.instance`, or else the name of its host.
    pub name: String,
    /// The version of its program.
    pub version: String,
    /// The schema version that its program was made for.
    pub schema_version: i32,
    /// When the replica started, RFC 3339.
    pub started_at: String,
    /// Milliseconds since the replica wrote its row.
    pub seen_ms: i64,
}

/// The row of a replica, and what it runs by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReplicaEntry {
    /// Which replica it is, and when it was last seen.
    #[serde(flatten)]
    pub row: ReplicaRow,
    /// When the replica wrote its row, RFC 3339.
    #[serde(default)]
    pub seen_at: String,
    /// Where its admin API listens. None for a replica of an earlier release; so are the next three fields.
    pub address: Option<String>,
    /// The lease store, without secrets.
    pub lease_store: Option<String>,
    /// The hash of the settings that all replicas must share.
    pub settings_hash: Option<String>,
    /// What the replica runs by.
    pub runs_by: Option<RunsBy>,
    /// The time before its row was written in which it counted attempts, in milliseconds.
    pub counted_ms: i64,
    /// Messages that receivers accepted in that time.
    pub delivered: i64,
    /// Attempts that failed in that time.
    pub failed: i64,
    /// What keeps the replica from its work, in its own words. None where nothing does.
    pub trouble: Option<String>,
}

#[derive(Debug, FromRow)]
struct FleetRow {
    #[sqlx(flatten)]
    row: ReplicaRow,
    seen_at: String,
    address: Option<String>,
    lease_store: Option<String>,
    settings_hash: Option<String>,
    runs_by: Option<String>,
    counted_ms: Option<i64>,
    delivered: Option<i64>,
    failed: Option<i64>,
    trouble: Option<String>,
}

impl From<FleetRow> for ReplicaEntry {
    fn from(found: FleetRow) -> Self {
        Self {
            row: found.row,
            seen_at: found.seen_at,
            address: found.address,
            lease_store: found.lease_store,
            settings_hash: found.settings_hash,
            // A later release may write it in another way.
            runs_by: found.runs_by.and_then(|json| serde_json::from_str(&json).ok()),
            counted_ms: found.counted_ms.unwrap_or(0),
            delivered: found.delivered.unwrap_or(0),
            failed: found.failed.unwrap_or(0),
            trouble: found.trouble,
        }
    }
}

impl ReplicaRow {
    /// Whether the replica has written its row lately, as it does while it runs.
    pub fn runs(&self) -> bool {
        self.seen() <= SEEN
    }

    /// How long ago the replica wrote its row.
    pub fn seen(&self) -> Duration {
        Duration::from_millis(self.seen_ms.try_into().unwrap_or(0))
    }

    /// Whether `holder` is a holder of this replica's terms.
    pub fn holds(&self, holder: &str) -> bool {
        holder.split_once('.').is_some_and(|(process, _)| process == self.id)
    }
}

/// Writes the row of a replica, and into the log of terms what a term that it began runs by. Returns the rows of all
/// replicas.
pub async fn heartbeat(database: &Database, beat: &Heartbeat<'_>) -> Result<Vec<ReplicaEntry>, DeskError> {
    seen(database, beat).await.map_err(while_doing("writing the row of this replica"))
}

async fn seen(database: &Database, beat: &Heartbeat<'_>) -> sqlx::Result<Vec<ReplicaEntry>> {
    let Replica { id, name, version, address } = beat.replica;
    let (hash, store) = (beat.runs_by.settings_hash(), cut(&beat.runs_by.lease_store, SHORT));
    let runs_by = serde_json::to_string(beat.runs_by).map_err(|error| sqlx::Error::Encode(error.into()))?;
    let trouble = beat.trouble.map(|trouble| cut(trouble, TROUBLE));
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let within = beat.counted.within.as_millis().try_into().unwrap_or(i64::MAX);
    let values = [
        id.into(),
        name.into(),
        version.into(),
        i64::from(SCHEMA_VERSION).into(),
        address.into(),
        store.into(),
        (&hash).into(),
        (&runs_by).into(),
        within.into(),
        number(beat.counted.delivered).into(),
        number(beat.counted.failed).into(),
        trouble.into(),
    ];
    let mut transaction = AnyTransaction::to_write(database).await?;
    let mut connection = transaction.connection();
    connection.changed(&REPLICA_SEEN, &values).await?;
    if let Some(TermId { shard, epoch, holder }) = beat.began {
        let term = [(*shard).into(), epoch.0.into(), holder.as_str().into()];
        let values = [name.into(), version.into(), store.into(), (&hash).into(), term[0], term[1], term[2]];
        connection.changed(&TERM_RUNS_BY, &values).await?;
    }
    let rows: Vec<FleetRow> = connection.rows(&FLEET, &[]).await?;
    transaction.commit().await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// Removes the rows of replicas that have been silent for a day: those that were killed.
pub async fn forget_silent_replicas(database: &Database) -> Result<(), DeskError> {
    write(database, &REPLICA_FORGET, &[]).await.map_err(while_doing("removing the rows of silent replicas"))
}

/// Removes the row of a replica that ends.
pub async fn replica_ended(database: &Database, id: &str) -> Result<(), DeskError> {
    write(database, &REPLICA_GONE, &[id.into()]).await.map_err(while_doing("removing the row of this replica"))
}

/// The first columns of every replica's row, on tables of any version that has such rows.
pub async fn replicas(database: &Database) -> sqlx::Result<Vec<ReplicaRow>> {
    read(database, &REPLICAS, &[]).await
}

/// The newest term of each shard that a replica has led.
pub async fn current_terms(database: &Database) -> Result<Vec<CurrentTerm>, DeskError> {
    read(database, &CURRENT_TERMS, &[]).await.map_err(while_doing("reading the terms"))
}

/// The newest term of each shard, where nobody noted its end: it goes on, or its replica was killed.
pub async fn open_terms(database: &Database) -> Result<Vec<CurrentTerm>, DeskError> {
    read(database, &OPEN_TERMS, &[]).await.map_err(while_doing("reading the terms"))
}

/// Every replica that has a row, by name: those that run, and those that were killed within a day. A thousand at most.
pub async fn fleet(database: &Database) -> Result<Vec<ReplicaEntry>, DeskError> {
    let rows: Vec<FleetRow> = read(database, &FLEET, &[]).await.map_err(while_doing("reading the replicas"))?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// The beginning of `text`, of so many characters.
fn cut(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_settings_follows_from_the_settings_alone() {
        let by = |settings: &[(&str, &str)], lease_store: &str| {
            let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
            RunsBy { settings, lease_store: lease_store.to_owned(), ..RunsBy::default() }.settings_hash()
        };
        assert_eq!(by(&[("lease.ttl", "5s")], "table"), by(&[("lease.ttl", "5s")], "elsewhere"));
        assert_ne!(by(&[("lease.ttl", "5s")], "table"), by(&[("lease.ttl", "6s")], "table"));
        assert_ne!(by(&[], "table"), by(&[("lease.ttl", "5s")], "table"));
    }

    #[test]
    fn what_another_release_wrote_is_read_as_far_as_it_is_known() {
        let json = r#"{"lease_ttl_ms": 5000, "lineage": 7, "channels": {"http": {"halts": true, "new": 1}}}"#;
        let read: Option<RunsBy> = serde_json::from_str(json).ok();
        let read = read.map(|by| (by.lease_ttl_ms, by.channels.get("http").map(|channel| channel.halts)));
        assert_eq!(read, Some((5000, Some(true))));
    }

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        assert_eq!((cut("äöü", 2), cut("äöü", 3), cut("", 1)), ("äö", "äöü", ""));
    }
}
