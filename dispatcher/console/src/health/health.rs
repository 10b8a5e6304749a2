//! What a replica knows about itself and the fleet: the sources behind `/metrics` and `/readyz`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use outbox_adapters::Lease;
use outbox_desk::{Desk, HeldBack};
use outbox_schema::words::words;
use outbox_store::{Database, Dialect, Epoch, Meta, SCHEMA_VERSION, Shard};
use parking_lot::Mutex;

use crate::configured::Configured;
use crate::health::answering::Silence;
use crate::health::cached::Cached;
use crate::health::fleet::Fleet;
use crate::health::lease_health::LeaseHealth;
use crate::health::readiness::{Asked, NewestTerm, Observations, Readiness, Standing, causes};
use crate::health::store_health::StoreHealth;
use crate::health::vitals::{Vitals, VitalsCache, VitalsSource};
use crate::text::span;
use outbox_config::Config;
use outbox_config::LeaseTimes;
use outbox_dispatcher::metrics::Metrics;
use outbox_dispatcher::poller::marker_health::{MarkerHealth, Stuck};
use outbox_dispatcher::reloadable::Reloadable;

/// How often each replica refreshes the metrics that it sends over OTLP.
const REFRESH: Duration = Duration::from_mins(1);

/// How old a count of very many messages may be that says whether the fleet does its work.
const COUNTED_LATELY: Duration = Duration::from_mins(1);

/// For how long the locks that others hold are not asked for anew.
const LOCKS_FRESH: Duration = Duration::from_secs(5);

/// How long a failover stays among the notes.
const TOLD_OF_FAILOVER: Duration = Duration::from_mins(10);

/// How long the database has to refuse a connection, or to name the holder of a snapshot or a lock. The same for the lease
/// store, to say who holds the lease.
const REFUSAL_LIMIT: Duration = Duration::from_secs(2);

/// The health of a replica: sees the outbox through the desk, and the lease through its answers.
pub struct Health {
    /// The state of the outbox, at most a few seconds old.
    pub vitals: Arc<VitalsCache>,
    database: Database,
    environment: String,
    store: Arc<StoreHealth>,
    lease: Arc<LeaseHealth>,
    marker: Arc<MarkerHealth>,
    times: LeaseTimes,
    fleet: Arc<Fleet>,
    /// Whether a look asks the lease store just now. All else it asks of the database.
    asks_lease: AtomicBool,
    locks: Cached<Vec<String>>,
    /// What the log was told last of the locks of others.
    logged: Mutex<Vec<String>>,
}

struct DeskVitals {
    desk: Arc<dyn Desk>,
    configured: Reloadable<Configured>,
}

#[async_trait]
impl VitalsSource for DeskVitals {
    async fn vitals(&self) -> Result<Vitals, String> {
        self.desk.vitals(&self.configured.current().halting()).await.map_err(|error| error.to_string())
    }
}

impl Health {
    /// The health of a replica with these settings. A reload replaces those in `configured`.
    pub fn new(
        database: &Database,
        store: Arc<StoreHealth>,
        lease: Arc<LeaseHealth>,
        marker: Arc<MarkerHealth>,
        fleet: Arc<Fleet>,
        config: &Config,
        configured: Reloadable<Configured>,
    ) -> Self {
        let ttl = config.lease.ttl;
        Self {
            vitals: Arc::new(VitalsCache::new(Arc::new(DeskVitals { desk: Arc::new(database.clone()), configured }))),
            database: database.clone(),
            environment: config.database.environment.clone(),
            store,
            lease,
            marker,
            times: LeaseTimes { ttl, term: config.lease.term },
            fleet,
            asks_lease: AtomicBool::new(false),
            locks: Cached::new(LOCKS_FRESH),
            logged: Mutex::default(),
        }
    }

    /// The error, and the database's own words where it refuses connections.
    async fn in_its_own_words(&self, why: String) -> String {
        match tokio::time::timeout(REFUSAL_LIMIT, self.database.refusal()).await {
            Ok(Some(refusal)) if !why.contains(&words(&refusal)) => format!("{why}: {}", words(&refusal)),
            Ok(None) => self.store.in_full(why),
            Ok(Some(_)) | Err(_) => why,
        }
    }

    /// The tables, or what is wrong with them.
    async fn schema(&self) -> Result<Meta, String> {
        match tokio::time::timeout(REFUSAL_LIMIT, self.database.require(&self.environment)).await {
            Ok(meta) => meta.map_err(|error| error.to_string()),
            Err(_) => Err(format!("the outbox database did not answer within {REFUSAL_LIMIT:?}")),
        }
    }

    /// Asks only while messages age. A fact that cannot be found out in time is no cause.
    async fn held_back(&self) -> Option<HeldBack> {
        match tokio::time::timeout(REFUSAL_LIMIT, outbox_desk::held_back(&self.database)).await {
            Ok(Ok(held_back)) => Some(held_back),
            Ok(Err(error)) => {
                tracing::warn!(%error, "readiness.snapshots_unseen");
                None
            }
            Err(_) => None,
        }
    }

    /// The note of a failover, for a while after it.
    fn failover(&self) -> Option<String> {
        let (change, ago) = self.store.lineages.last_change().filter(|(_, ago)| *ago < TOLD_OF_FAILOVER)?;
        Some(format!("database: it failed over {change}, {} ago", span(ago.as_millis().try_into().unwrap_or(i64::MAX))))
    }

    /// Sentences about locks of others. On MySQL any long transaction holds some, so there it is asked only while messages age or
    /// marks wait for locks.
    async fn locks(&self, vitals: &Vitals) -> Vec<String> {
        let held = self.marker.held();
        let waits = !held.is_empty() || vitals.lag() > self.times.patience();
        if self.database.dialect() != Dialect::Postgres && !waits {
            return Vec::new();
        }
        let ask = || async {
            match tokio::time::timeout(REFUSAL_LIMIT, outbox_desk::lock_holders(&self.database, &held)).await {
                Ok(Ok(locks)) => locks,
                Ok(Err(error)) => {
                    tracing::warn!(%error, "readiness.locks_unseen");
                    Vec::new()
                }
                Err(_) => Vec::new(),
            }
        };
        let locks = self.locks.get(ask).await;
        let mut logged = self.logged.lock();
        for new in locks.iter().filter(|lock| !logged.contains(lock)) {
            tracing::warn!("readiness.locked: {new}");
        }
        logged.clone_from(&locks);
        locks
    }

    /// The cause of a lease that never expires, while nobody polls.
    async fn endless_lease(&self, newest_term: Option<NewestTerm>) -> Option<String> {
        if newest_term.is_some_and(|term| term.age <= self.times.longest_term()) {
            return None;
        }
        self.asks_lease.store(true, Ordering::Relaxed);
        let current = tokio::time::timeout(REFUSAL_LIMIT, self.lease.current(&Shard::default().into())).await;
        self.asks_lease.store(false, Ordering::Relaxed);
        let remove = current.ok()?.ok()??.removed_by?;
        Some(format!(
            "lease: no replica can be elected, since the key of the lease never expires, and no replica sets it so; remove it \
             with {remove}"
        ))
    }

    /// Refreshes what `metrics` shows of the database, for a collector that is sent metrics and never asks for them.
    /// Each replica does this: the collector must hear of messages that age while no replica polls.
    pub async fn refresh_vitals(self: Arc<Self>, metrics: Arc<Metrics>) {
        loop {
            metrics.vitals(self.vitals.get().await.ok());
            metrics.ready(self.look().await.causes.is_empty());
            tokio::time::sleep(REFRESH).await;
        }
    }
}

#[async_trait]
impl Readiness for Health {
    async fn look(&self) -> Standing {
        let vitals = match self.vitals.at_hand(COUNTED_LATELY).await.1 {
            Ok(vitals) => Ok(vitals),
            Err(why) => {
                // The next question should not wait on another connection that is dead.
                self.database.distrust();
                Err(self.in_its_own_words(why).await)
            }
        };
        let schema = match &vitals {
            Ok(_) => Some(self.schema().await),
            Err(_) => None,
        };
        let newer = schema.as_ref().and_then(|schema| schema.as_ref().ok()).and_then(Meta::newer);
        let schema = schema.and_then(Result::err);
        let held_back = match &vitals {
            Ok(vitals) if vitals.lag() > self.times.patience() => self.held_back().await,
            Ok(_) | Err(_) => None,
        };
        let newest_term = vitals.as_ref().ok().and_then(|vitals| newest_term(vitals));
        let store = self.store.trouble().map(|it| Silence { why: self.store.in_full(it.why), ..it });
        let marks = self.marker.stuck().map(|it| Stuck { why: self.store.in_full(it.why), ..it });
        let lease = self.lease.trouble();
        let mut causes = causes(&Observations {
            database: vitals.as_ref().map(AsRef::as_ref).map_err(String::as_str),
            schema: schema.as_deref(),
            newest_term,
            store: store.as_ref(),
            standby: self.store.lineages.waits_for_standby(),
            marks: marks.as_ref(),
            held_back: held_back.as_ref(),
            lease_store: lease.as_ref(),
            lease: self.times,
        });
        let mut notes: Vec<_> = newer.map(of_newer_tables).into_iter().chain(self.failover()).collect();
        notes.extend(self.store.lineages.not_replicated().map(|why| format!("database: {why}")));
        notes.extend(self.fleet.sentences().into_iter().map(|sentence| format!("settings: {sentence}")));
        if let Ok(vitals) = &vitals {
            causes.extend(self.endless_lease(newest_term).await);
            notes.extend(self.locks(vitals).await);
        }
        Standing { causes, notes }
    }

    fn waits_for(&self) -> Asked {
        if self.asks_lease.load(Ordering::Relaxed) { Asked::LeaseStore } else { Asked::Database }
    }
}

/// The note of a replica whose tables are newer, between the first and the last step of a rolling upgrade.
pub fn of_newer_tables(found: i32) -> String {
    format!(
        "schema: the tables have version {found}, and this program was made for version {SCHEMA_VERSION}, which they still serve: \
         replace this replica by one of the newer release"
    )
}

fn newest_term(vitals: &Vitals) -> Option<NewestTerm> {
    let term = vitals.terms.iter().filter(|term| term.epoch > 0).min_by_key(|term| term.age_ms)?;
    let age = Duration::from_millis(term.age_ms.try_into().unwrap_or(0));
    Some(NewestTerm { epoch: Epoch(term.epoch), age })
}
