//! Metrics that are a state and not an event: they are kept here, and read when a client asks.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use jiff::Timestamp;
use opentelemetry::KeyValue;
use opentelemetry::metrics::{AsyncInstrument, Meter};
use outbox_desk::{ChannelVitals, JobEntry, TenantVitals, Vitals};
use outbox_store::jobs::RunEnd;
use outbox_store::{Connections, Shard, Status};
use parking_lot::{Mutex, MutexGuard};

use super::Name;
use super::bounded::bounded;
use super::term_gauge::TermGauge;

/// How long an answer of the database is shown. OTLP reads every 60 s by default, and must find it too.
const VITALS_SHOWN: Duration = Duration::from_secs(90);

/// The most channels beside those of the settings that have series of their own. An instrument has 2,000 series, and rows may name any
/// number of channels.
const NOT_CONFIGURED: usize = 20;

#[derive(Debug)]
pub(super) struct Observed {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The configured channels.
    channels: Vec<String>,
    /// The last term of each shard that this process led, which may have ended. None before the first one.
    terms: BTreeMap<Shard, Option<Arc<dyn TermGauge>>>,
    vitals: Option<(Instant, Arc<Vitals>)>,
    retention_behind: Option<(Instant, Duration)>,
    ready: Option<(Instant, bool)>,
    /// The hash of the shared settings, and the kind of the lease store.
    settings: Option<(String, &'static str)>,
    /// Whether the settings that were read last were taken up, and when some were.
    read: (bool, Option<SystemTime>),
    version: Option<&'static str>,
    pools: Vec<(&'static str, Counted)>,
}

/// What counts the connections of a pool.
struct Counted(Box<dyn Fn() -> Connections + Send>);

impl fmt::Debug for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0)().fmt(f)
    }
}

impl Observed {
    pub(super) fn register(meter: &Meter, channels: Vec<String>, shards: &[Shard]) -> Arc<Self> {
        let terms = shards.iter().map(|shard| (*shard, None)).collect();
        let read = (true, Some(SystemTime::now()));
        let observed = Arc::new(Self { state: Mutex::new(State { channels, terms, read, ..State::default() }) });
        observed.gauge(meter, Name::LeaseHeld, Self::show_lease_held);
        observed.gauge(meter, Name::Epoch, Self::show_epoch);
        observed.gauge(meter, Name::DestinationPaused, Self::show_paused);
        observed.gauge(meter, Name::Messages, Self::show_messages);
        observed.gauge(meter, Name::Ready, Self::show_ready);
        observed.gauge(meter, Name::BuildInfo, Self::show_build);
        observed.gauge(meter, Name::SettingsInfo, Self::show_settings);
        observed.gauge(meter, Name::ReloadSuccessful, Self::show_reload_successful);
        observed.seconds(meter, Name::ReloadedAt, Self::show_reloaded_at);
        observed.gauge(meter, Name::DatabaseConnections, Self::show_connections);
        observed.seconds(meter, Name::RetentionLag, Self::show_retention_behind);
        observed.seconds(meter, Name::Trusted, Self::show_trusted);
        observed.seconds(meter, Name::Lag, Self::show_lag);
        observed.gauge(meter, Name::TenantDue, Self::show_tenant_due);
        observed.gauge(meter, Name::HaltedKeys, Self::show_halted_keys);
        observed.seconds(meter, Name::TenantLag, Self::show_tenant_lag);
        observed.gauge(meter, Name::JobRunning, |this, running| {
            this.each_job(|job| running.observe(i64::from(job.state == "running"), &job_labels(job)));
        });
        observed.gauge(meter, Name::JobLate, |this, late| {
            this.each_job(|job| late.observe(i64::from(job.late), &job_labels(job)));
        });
        observed.seconds(meter, Name::JobLastSuccess, Self::show_job_success);
        observed.seconds(meter, Name::JobLastDuration, Self::show_job_duration);
        observed.counter(meter, Name::JobRuns, Self::show_job_runs);
        observed.counter(meter, Name::JobSkips, |this, skips| {
            this.each_job(|job| skips.observe(counted(job.skips), &job_labels(job)));
        });
        observed
    }

    fn gauge(self: &Arc<Self>, meter: &Meter, name: Name, show: fn(&Self, &dyn AsyncInstrument<i64>)) {
        let this = Arc::clone(self);
        let gauge = meter.i64_observable_gauge(name.as_str()).with_description(name.help());
        gauge.with_callback(move |instrument| show(&this, instrument)).build();
    }

    fn counter(self: &Arc<Self>, meter: &Meter, name: Name, show: fn(&Self, &dyn AsyncInstrument<u64>)) {
        let this = Arc::clone(self);
        let counter = meter.u64_observable_counter(name.as_str()).with_description(name.help());
        counter.with_callback(move |instrument| show(&this, instrument)).build();
    }

    fn seconds(self: &Arc<Self>, meter: &Meter, name: Name, show: fn(&Self, &dyn AsyncInstrument<f64>)) {
        let this = Arc::clone(self);
        let gauge = meter.f64_observable_gauge(name.as_str()).with_description(name.help()).with_unit("s");
        gauge.with_callback(move |instrument| show(&this, instrument)).build();
    }

    pub(super) fn reconfigure(&self, channels: Vec<String>) {
        self.state().channels = channels;
    }

    pub(super) fn term_began(&self, term: Arc<dyn TermGauge>) {
        self.state().terms.insert(term.id().shard, Some(term));
    }

    pub(super) fn vitals(&self, vitals: Option<Arc<Vitals>>) {
        self.state().vitals = vitals.map(|vitals| (Instant::now(), vitals));
    }

    pub(super) fn retention_behind(&self, by: Duration) {
        self.state().retention_behind = Some((Instant::now(), by));
    }

    pub(super) fn ready(&self, ready: bool) {
        self.state().ready = Some((Instant::now(), ready));
    }

    pub(super) fn settings(&self, hash: String, lease: &'static str) {
        self.state().settings = Some((hash, lease));
    }

    pub(super) fn settings_read(&self, taken_up: bool) {
        let (_, last) = self.state().read;
        self.state().read = (taken_up, if taken_up { Some(SystemTime::now()) } else { last });
    }

    pub(super) fn version(&self, version: &'static str) {
        self.state().version = Some(version);
    }

    pub(super) fn pool(&self, name: &'static str, count: impl Fn() -> Connections + Send + 'static) {
        self.state().pools.push((name, Counted(Box::new(count))));
    }

    fn show_connections(&self, connections: &dyn AsyncInstrument<i64>) {
        for (pool, counted) in &self.state().pools {
            let Connections { in_use, idle, unopened } = (counted.0)();
            for (state, count) in [("in_use", in_use), ("idle", idle), ("unopened", unopened)] {
                connections.observe(count.into(), &[KeyValue::new("pool", *pool), KeyValue::new("state", state)]);
            }
        }
    }

    fn show_build(&self, build: &dyn AsyncInstrument<i64>) {
        let version = self.state().version.unwrap_or(env!("CARGO_PKG_VERSION"));
        build.observe(1, &[KeyValue::new("version", version)]);
    }

    fn show_reload_successful(&self, successful: &dyn AsyncInstrument<i64>) {
        successful.observe(i64::from(self.state().read.0), &[]);
    }

    fn show_reloaded_at(&self, at: &dyn AsyncInstrument<f64>) {
        let since_1970 = self.state().read.1.and_then(|read| read.duration_since(SystemTime::UNIX_EPOCH).ok());
        if let Some(since_1970) = since_1970 {
            at.observe(since_1970.as_secs_f64(), &[]);
        }
    }

    fn show_settings(&self, settings: &dyn AsyncInstrument<i64>) {
        if let Some((hash, lease)) = &self.state().settings {
            settings.observe(1, &[KeyValue::new("hash", hash.clone()), KeyValue::new("lease", *lease)]);
        }
    }

    // Only the poller removes messages, so only it can be behind. Its last number may have grown since.
    fn show_retention_behind(&self, behind: &dyn AsyncInstrument<f64>) {
        let state = self.state();
        let leads = state.terms.values().flatten().any(|term| term.is_on());
        if let Some((said, by)) = state.retention_behind.filter(|_| leads) {
            behind.observe((by + said.elapsed()).as_secs_f64(), &[]);
        }
    }

    fn show_ready(&self, ready: &dyn AsyncInstrument<i64>) {
        if let Some((_, is_ready)) = self.state().ready.filter(|(said, _)| said.elapsed() < VITALS_SHOWN) {
            ready.observe(i64::from(is_ready), &[]);
        }
    }

    fn show_lease_held(&self, held: &dyn AsyncInstrument<i64>) {
        for (shard, term) in &self.state().terms {
            let is_on = term.as_ref().is_some_and(|term| term.is_on());
            held.observe(i64::from(is_on), &shard_labels(*shard));
        }
    }

    fn show_epoch(&self, epoch: &dyn AsyncInstrument<i64>) {
        for (shard, term) in &self.state().terms {
            if let Some(term) = term {
                epoch.observe(term.id().epoch.0, &shard_labels(*shard));
            }
        }
    }

    // The gate is asked whenever the metrics are read: a process that is stuck must not go on showing its former trust.
    fn show_trusted(&self, trusted: &dyn AsyncInstrument<f64>) {
        for (shard, term) in &self.state().terms {
            let remaining = term.as_ref().map_or(Duration::ZERO, |term| term.trusted_for());
            trusted.observe(remaining.as_secs_f64(), &shard_labels(*shard));
        }
    }

    fn show_paused(&self, paused: &dyn AsyncInstrument<i64>) {
        for pause in self.recent_vitals().iter().flat_map(|vitals| &vitals.paused) {
            paused.observe(1, &[KeyValue::new("destination", pause.destination.clone())]);
        }
    }

    fn show_messages(&self, messages: &dyn AsyncInstrument<i64>) {
        self.each_channel(|channel| {
            for (status, rows) in [(Status::Pending, channel.pending), (Status::Dead, channel.dead)] {
                let labels =
                    [KeyValue::new("channel", channel.channel.clone()), KeyValue::new("status", status.as_str())];
                messages.observe(rows, &labels);
            }
        });
    }

    fn show_lag(&self, lag: &dyn AsyncInstrument<f64>) {
        self.each_channel(|channel| {
            lag.observe(channel.lag().as_secs_f64(), &[KeyValue::new("channel", channel.channel.clone())]);
        });
    }

    fn show_tenant_due(&self, due: &dyn AsyncInstrument<i64>) {
        for tenant in self.recent_vitals().iter().flat_map(|vitals| &vitals.tenants) {
            due.observe(tenant.due, &tenant_labels(tenant));
        }
    }

    fn show_tenant_lag(&self, lag: &dyn AsyncInstrument<f64>) {
        for tenant in self.recent_vitals().iter().flat_map(|vitals| &vitals.tenants) {
            lag.observe(tenant.lag().as_secs_f64(), &tenant_labels(tenant));
        }
    }

    fn show_halted_keys(&self, keys: &dyn AsyncInstrument<i64>) {
        for halted in self.recent_vitals().iter().flat_map(|vitals| &vitals.halted) {
            keys.observe(halted.keys, &[KeyValue::new("channel", halted.channel.clone())]);
        }
    }

    fn show_job_success(&self, at: &dyn AsyncInstrument<f64>) {
        self.each_job(|job| {
            let last = job.last_success_at.as_deref().and_then(|at| at.parse::<Timestamp>().ok());
            if let Some(last) = last {
                at.observe(last.as_duration().as_secs_f64(), &job_labels(job));
            }
        });
    }

    fn show_job_duration(&self, took: &dyn AsyncInstrument<f64>) {
        self.each_job(|job| {
            if let Some(ms) = job.took_ms {
                took.observe(Duration::from_millis(counted(ms)).as_secs_f64(), &job_labels(job));
            }
        });
    }

    fn show_job_runs(&self, runs: &dyn AsyncInstrument<u64>) {
        self.each_job(|job| {
            for end in RunEnd::ALL {
                let labels = [KeyValue::new("name", job.name.clone()), KeyValue::new("end", end.as_str())];
                runs.observe(counted(job.ends.of(end)), &labels);
            }
        });
    }

    fn each_job(&self, show: impl Fn(&JobEntry)) {
        self.recent_vitals().iter().flat_map(|vitals| &vitals.jobs).for_each(show);
    }

    /// The configured channels, also those without rows, and then the others of a recent answer: 20 by their names, and the rest as
    /// one.
    fn each_channel(&self, show: impl Fn(&ChannelVitals)) {
        let Some(vitals) = self.recent_vitals() else { return };
        let configured = self.state().channels.clone();
        let is_configured = |name: &str| configured.iter().any(|known| known == name);
        let (channels, _) = bounded(&vitals.channels, is_configured, NOT_CONFIGURED);
        for name in &configured {
            let without_rows = ChannelVitals { channel: name.clone(), ..ChannelVitals::default() };
            show(channels.iter().find(|channel| channel.channel == *name).unwrap_or(&without_rows));
        }
        channels.iter().filter(|channel| !is_configured(&channel.channel)).for_each(&show);
    }

    fn recent_vitals(&self) -> Option<Arc<Vitals>> {
        let vitals = self.state().vitals.clone();
        vitals.filter(|(at, _)| at.elapsed() < VITALS_SHOWN).map(|(_, vitals)| vitals)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change is one assignment, so a panic left nothing half done.
        self.state.lock()
    }
}

fn tenant_labels(tenant: &TenantVitals) -> [KeyValue; 2] {
    [KeyValue::new("channel", tenant.channel.clone()), KeyValue::new("tenant", tenant.tenant.clone())]
}

/// Prometheus keeps `job` for itself.
fn job_labels(job: &JobEntry) -> [KeyValue; 1] {
    [KeyValue::new("name", job.name.clone())]
}

fn counted(count: i64) -> u64 {
    count.try_into().unwrap_or(0)
}

fn shard_labels(shard: Shard) -> [KeyValue; 1] {
    [KeyValue::new("shard", i64::from(shard.0))]
}
