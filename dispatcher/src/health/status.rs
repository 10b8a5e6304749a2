//! The state of an outbox, for `outbox status` and the admin API: the counts of the database, and which replica polls.

use std::collections::{BTreeMap, BTreeSet};

use outbox_adapters::{Held, Lease, LeaseError};
use outbox_schema::desk::{TermEntry, Vitals};
use outbox_schema::{Desk, DeskError, Shard};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The number of terms that are shown.
const LAST_TERMS: u32 = 10;

/// The state of an outbox.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Status {
    /// The counts of the database.
    #[serde(flatten)]
    pub vitals: Vitals,
    /// Channels with pending messages that the settings of the answering replica do not have.
    pub not_configured: Vec<String>,
    /// The poller of each shard, as the lease store and the database together show it.
    pub shards: Vec<ShardStatus>,
    /// The last ten terms, the newest first.
    pub last_terms: Vec<TermEntry>,
}

/// The poller of a shard.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ShardStatus {
    /// The shard.
    pub shard: i16,
    /// The state of the shard, as far as it can be told.
    pub state: State,
    /// The holder of the lease. None where no replica holds it.
    pub holder: Option<String>,
    /// The epoch of the holder's term. None until that term has begun; so are the next two fields.
    pub epoch: Option<i64>,
    /// When the term began.
    pub since: Option<String>,
    /// Milliseconds since the term began.
    pub since_ms: Option<i64>,
    /// Milliseconds until the lease expires unless it is renewed.
    pub trusted_ms: Option<i64>,
    /// Why the lease store did not answer.
    pub error: Option<String>,
}

/// What the lease store and the database together show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The holder of the lease leads the newest term.
    Polled,
    /// The lease is held, and its holder's term has not begun.
    Beginning,
    /// No replica holds the lease.
    Idle,
    /// The lease store does not answer.
    Unknown,
}

impl Status {
    /// Asks the database and the lease store, which may be away. `known` tells whether the settings have a channel.
    pub async fn of(desk: &dyn Desk, lease: &dyn Lease, known: impl Fn(&str) -> bool) -> Result<Self, DeskError> {
        let mut leases = BTreeMap::new();
        for shard in shards(&desk.vitals().await?) {
            leases.insert(shard, lease.current(shard).await);
        }
        // The database is asked again, so that the leases are no newer than its answer.
        let vitals = desk.vitals().await?;
        Ok(Self {
            not_configured: not_configured(&vitals, known),
            shards: leases.into_iter().map(|(shard, held)| ShardStatus::of(shard, held, &vitals)).collect(),
            vitals,
            last_terms: desk.terms(LAST_TERMS).await?,
        })
    }
}

/// The shards that a replica has led, and the first shard.
fn shards(vitals: &Vitals) -> BTreeSet<Shard> {
    let led = vitals.terms.iter().filter_map(|term| i16::try_from(term.shard).ok());
    led.map(Shard).chain([Shard::default()]).collect()
}

impl ShardStatus {
    fn of(shard: Shard, held: Result<Option<Held>, LeaseError>, vitals: &Vitals) -> Self {
        let nothing = Self {
            shard: shard.0,
            state: State::Idle,
            holder: None,
            epoch: None,
            since: None,
            since_ms: None,
            trusted_ms: None,
            error: None,
        };
        let held = match held {
            Ok(Some(held)) => held,
            Ok(None) => return nothing,
            Err(error) => return Self { state: State::Unknown, error: Some(error.to_string()), ..nothing },
        };
        let term = vitals.terms.iter().find(|term| term.shard == i32::from(shard.0) && term.holder == held.holder);
        Self {
            state: if term.is_some() { State::Polled } else { State::Beginning },
            holder: Some(held.holder),
            epoch: term.map(|term| term.epoch),
            since: term.map(|term| term.started_at.clone()),
            since_ms: term.map(|term| term.age_ms),
            trusted_ms: Some(held.remaining.as_millis().try_into().unwrap_or(i64::MAX)),
            ..nothing
        }
    }
}

fn not_configured(vitals: &Vitals, known: impl Fn(&str) -> bool) -> Vec<String> {
    let waited_for = vitals.channels.iter().filter(|channel| channel.pending > 0).map(|channel| &channel.channel);
    waited_for.filter(|name| !known(name)).cloned().collect()
}
