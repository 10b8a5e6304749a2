//! The state of an outbox, for `outbox status` and the admin API: the counts of the database, and which replica polls.

use std::collections::{BTreeMap, BTreeSet};

use outbox_adapters::{Held, Lease, LeaseError};
use outbox_desk::{CurrentTerm, Desk, DeskError, TermEntry, Vitals};
use outbox_store::{Database, Shard};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::configured::Configured;
use crate::health::replicas::{PerMinute, ReplicaStatus, Replicas};
use outbox_dispatcher::metrics::bounded::{self, bounded};
use outbox_dispatcher::poller::schedule_now::ScheduleNow;
use outbox_dispatcher::schedule::WhyNot;

/// The number of terms that are shown.
const LAST_TERMS: usize = 10;

/// The terms that are looked at for what was done in a minute. A term lasts a second or longer.
const TERMS_OF_A_MINUTE: u32 = 120;

/// The most channels that are shown one by one beside those of the settings.
const NOT_CONFIGURED: usize = 100;

/// The state of an outbox.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Status {
    /// The counts of the database.
    #[serde(flatten)]
    pub vitals: Vitals,
    /// Channels with pending messages that the settings of the fleet do not have, 100 at most. The channel
    /// `(not configured)` counts all further ones together, and a note says how many they are.
    pub not_configured: Vec<String>,
    /// The poller of each shard, as the lease store and the database together show it.
    pub shards: Vec<ShardStatus>,
    /// The last ten terms, the newest first.
    pub last_terms: Vec<TermEntry>,
    /// The replicas that run, and those that were killed within a day. Those of 0.1.0 as released say nothing of themselves.
    #[serde(default)]
    pub replicas: Vec<ReplicaStatus>,
    /// What the replicas do in a minute, by their own counts. None until those that run have polled for ten seconds.
    #[serde(default)]
    pub per_minute: Option<PerMinute>,
    /// Due messages that the poller has read and cannot claim yet, by what they wait for. None where another replica polls, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<BTreeMap<String, usize>>,
    /// What could not be found out, and why.
    #[serde(default)]
    pub notes: Vec<String>,
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
    /// The name of the replica that holds the lease. None where it does not say it.
    #[serde(default)]
    pub instance: Option<String>,
    /// The epoch of the holder's term. None until that term has begun; so are the next two fields.
    pub epoch: Option<i64>,
    /// When the term began.
    pub since: Option<String>,
    /// Milliseconds since the term began.
    pub since_ms: Option<i64>,
    /// Milliseconds until the lease expires unless it is renewed. None where the lease store was not asked, or did not answer.
    pub trusted_ms: Option<i64>,
    /// Why the lease store did not answer. Who polls is then what the database shows.
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
    /// The lease store does not answer, and the database shows no poller.
    Unknown,
}

impl Status {
    /// The same with what the schedule of this process says, where it polls.
    #[must_use]
    pub async fn waiting_at(self, schedule: &ScheduleNow) -> Self {
        let waiting = schedule.ask(|schedule| schedule.waiting().why).await;
        let by_name = |(why, count): (WhyNot, usize)| (why.as_str().to_owned(), count);
        Self { waiting: waiting.map(|why| why.into_iter().map(by_name).collect()), ..self }
    }

    /// Asks the database and the lease store, which may be away. Without a lease store the database says who polls, as
    /// far as it shows. `configured` is what the fleet runs by.
    pub async fn of(
        database: &Database,
        lease: Option<&dyn Lease>,
        configured: &Configured,
    ) -> Result<Self, DeskError> {
        let leases = leases(&outbox_desk::current_terms(database).await?, lease).await;
        // The database is asked after the leases, so that they are no newer than its answer.
        let vitals = database.vitals(&configured.halting()).await?;
        Self::with(vitals, leases, database, configured).await
    }

    /// The same with messages that were counted before. All else is of now.
    pub async fn of_counted(
        counted: &Vitals,
        database: &Database,
        lease: &dyn Lease,
        configured: &Configured,
    ) -> Result<Self, DeskError> {
        let leases = leases(&counted.terms, Some(lease)).await;
        let vitals = Vitals { terms: outbox_desk::current_terms(database).await?, ..counted.clone() };
        Self::with(vitals, leases, database, configured).await
    }

    async fn with(
        mut vitals: Vitals,
        leases: Leases,
        database: &Database,
        configured: &Configured,
    ) -> Result<Self, DeskError> {
        let terms = database.terms(TERMS_OF_A_MINUTE).await?;
        let (replicas, mut notes) = match Replicas::of(database).await {
            Ok(replicas) => (replicas, Vec::new()),
            // As where the role has the rights of a release before.
            Err(error) => (Replicas::default(), vec![format!("which replicas run is not known: {error}")]),
        };
        let unanswered = leases.values().any(|held| !matches!(held, Some(Ok(_))));
        let open = if unanswered { outbox_desk::open_terms(database).await? } else { Vec::new() };
        let shard = |(shard, held)| match held {
            Some(Ok(held)) => ShardStatus::of(shard, held, &vitals, &replicas),
            Some(Err(error)) => ShardStatus::by_database(shard, &open, &replicas, configured).without_lease(&error),
            None => ShardStatus::by_database(shard, &open, &replicas, configured),
        };
        let shards = leases.into_iter().map(shard).collect();
        let is_configured = |name: &str| configured.channels.contains_key(name);
        let (channels, more) = bounded(&vitals.channels, is_configured, NOT_CONFIGURED);
        vitals.channels = channels;
        if more > 0 {
            notes
                .push(format!("channels beyond {NOT_CONFIGURED} that nobody has configured: {more}, counted together"));
        }
        Ok(Self {
            not_configured: not_configured(&vitals, |name| is_configured(name) || name == bounded::NOT_CONFIGURED),
            shards,
            vitals,
            last_terms: terms[..terms.len().min(LAST_TERMS)].to_vec(),
            per_minute: replicas.per_minute(&terms),
            replicas: replicas.into_all(),
            waiting: None,
            notes,
        })
    }
}

/// What the lease store says of each shard. None where it was not asked.
type Leases = BTreeMap<Shard, Option<Result<Option<Held>, LeaseError>>>;

/// The leases of the shards that a replica has led, and of the first shard.
async fn leases(terms: &[CurrentTerm], lease: Option<&dyn Lease>) -> Leases {
    let led = terms.iter().filter_map(|term| i16::try_from(term.shard).ok()).map(Shard);
    let mut leases = Leases::new();
    for shard in led.chain([Shard::default()]).collect::<BTreeSet<_>>() {
        let held = match lease {
            Some(lease) => Some(lease.current(&shard.into()).await),
            None => None,
        };
        leases.insert(shard, held);
    }
    leases
}

impl ShardStatus {
    /// A shard that no replica polls.
    fn idle(shard: Shard) -> Self {
        Self {
            shard: shard.0,
            state: State::Idle,
            holder: None,
            instance: None,
            epoch: None,
            since: None,
            since_ms: None,
            trusted_ms: None,
            error: None,
        }
    }

    fn by_database(shard: Shard, open: &[CurrentTerm], replicas: &Replicas, configured: &Configured) -> Self {
        let idle = Self::idle(shard);
        let open = open.iter().find(|term| term.shard == i32::from(shard.0));
        let Some(term) = open.filter(|term| replicas.goes_on(term, configured.lease.longest_term())) else {
            return idle;
        };
        Self {
            state: State::Polled,
            holder: Some(term.holder.clone()),
            instance: replicas.holder(&term.holder).map(|replica| replica.replica.row.name.clone()),
            epoch: Some(term.epoch),
            since: Some(term.started_at.clone()),
            since_ms: Some(term.age_ms),
            ..idle
        }
    }

    /// The same where the lease store did not answer: a term may go on for as long as its lease is trusted.
    fn without_lease(self, error: &LeaseError) -> Self {
        let state = if self.state == State::Idle { State::Unknown } else { self.state };
        Self { state, error: Some(error.to_string()), ..self }
    }

    fn of(shard: Shard, held: Option<Held>, vitals: &Vitals, replicas: &Replicas) -> Self {
        let nothing = Self::idle(shard);
        let Some(held) = held else { return nothing };
        let term = term_of(shard, vitals).filter(|term| term.holder == held.holder);
        Self {
            instance: replicas.holder(&held.holder).map(|replica| replica.replica.row.name.clone()),
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

fn term_of(shard: Shard, vitals: &Vitals) -> Option<&CurrentTerm> {
    vitals.terms.iter().find(|term| term.shard == i32::from(shard.0))
}

fn not_configured(vitals: &Vitals, known: impl Fn(&str) -> bool) -> Vec<String> {
    let waited_for = vitals.channels.iter().filter(|channel| channel.pending > 0).map(|channel| &channel.channel);
    waited_for.filter(|name| !known(name)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::fixtures::{replica, runs_by};
    use outbox_config::LeaseTimes;

    #[test]
    fn while_the_lease_store_is_away_the_poller_is_the_one_whose_term_the_database_shows() {
        let ttl = Duration::from_secs(10);
        let lease = LeaseTimes { ttl, term: ttl * 2 };
        let configured = Configured { channels: BTreeMap::new(), lease };
        let away = || LeaseError { at: "redis".to_owned(), doing: "asking", source: "refused".into() };
        let replicas = Replicas::told(vec![ReplicaStatus {
            replica: replica("a", runs_by("redis", &[]), 10),
            runs: true,
            polls: vec![0],
            differs: Vec::new(),
        }]);
        let term =
            CurrentTerm { shard: 0, epoch: 7, holder: "a.1".to_owned(), started_at: String::new(), age_ms: 1_000 };
        let shown = |open: &[CurrentTerm]| {
            ShardStatus::by_database(Shard(0), open, &replicas, &configured).without_lease(&away())
        };
        let polled = shown(&[term]);
        assert_eq!(
            (polled.state, polled.instance.as_deref(), polled.trusted_ms),
            (State::Polled, Some("host-a"), None)
        );
        assert!(polled.error.is_some(), "it says so");
        assert_eq!(shown(&[]).state, State::Unknown);
    }
}
