//! How an outbox does, as `outbox status` and the admin API say it: what the database counts, and who polls.

use std::collections::{BTreeMap, BTreeSet};

use outbox_adapters::{Held, Lease, LeaseError};
use outbox_schema::desk::{TermEntry, Vitals};
use outbox_schema::{Desk, DeskError, Shard};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Terms shown.
const LAST_TERMS: u32 = 10;

/// How an outbox does.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Status {
    /// What the database counts.
    #[serde(flatten)]
    pub vitals: Vitals,
    /// Channels that messages wait for and that the settings of whoever answers do not know.
    pub not_configured: Vec<String>,
    /// Who polls each shard, as the lease store and the database together say it.
    pub shards: Vec<ShardStatus>,
    /// The last ten terms, the newest first.
    pub last_terms: Vec<TermEntry>,
}

/// Who polls a shard.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ShardStatus {
    /// Which.
    pub shard: i16,
    /// As far as can be told.
    pub state: State,
    /// Who holds the lease; none where nobody does.
    pub holder: Option<String>,
    /// Of the holder's term; none until it has begun, as with the next two.
    pub epoch: Option<i64>,
    /// When that term began.
    pub since: Option<String>,
    /// Milliseconds since then.
    pub since_ms: Option<i64>,
    /// For how much longer the lease store honours the lease unless it is renewed.
    pub trusted_ms: Option<i64>,
    /// Why the lease store could not be asked.
    pub error: Option<String>,
}

/// What the lease store and the database say together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The holder of the lease leads the newest term.
    Polled,
    /// The lease is held, and its term has not begun.
    Beginning,
    /// Nobody holds the lease.
    Idle,
    /// The lease store does not answer.
    Unknown,
}

impl Status {
    /// Asks the database and the lease store, which may be away. `known` are the channels of the settings.
    pub async fn of(desk: &dyn Desk, lease: &dyn Lease, known: impl Fn(&str) -> bool) -> Result<Self, DeskError> {
        let mut leases = BTreeMap::new();
        for shard in shards(&desk.vitals().await?) {
            leases.insert(shard, lease.current(shard).await);
        }
        // Asked again: what the leases say is no newer than this.
        let vitals = desk.vitals().await?;
        Ok(Self {
            not_configured: not_configured(&vitals, known),
            shards: leases.into_iter().map(|(shard, held)| ShardStatus::of(shard, held, &vitals)).collect(),
            vitals,
            last_terms: desk.terms(LAST_TERMS).await?,
        })
    }
}

/// Those that somebody has led, and the first.
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
