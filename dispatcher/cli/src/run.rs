//! `outbox run`: one replica of the fleet.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use clap::Args;
use outbox_adapters::{Hints, Lease};
use outbox_desk::{Replica, RunsBy};
use outbox_store::migrate::Meta;
use outbox_store::{Database, Lineages, Shard, Store};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime::{self, Builder};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::VERSION;
use super::emptied::Emptied;
use super::reload::{ReadSettings, Reload};
use super::session;
use super::start::{self, Connections, Opened};
use outbox_admin::api::{ApiState, Checks};
use outbox_admin::listener::{CHANGES_AT_ONCE, Listener, ListenerSources, QUESTIONS_AT_ONCE, Tokens};
use outbox_admin::wake_endpoint::WakeEndpoint;
use outbox_config::{Config, Dialect, Wakeup};
use outbox_console::alerts::{AlertWatch, Alerts};
use outbox_console::configured::Configured;
use outbox_console::figures::FiguresKeeper;
use outbox_console::health::fleet::Fleet;
use outbox_console::health::lease_health::LeaseHealth;
use outbox_console::health::presence::Presence;
use outbox_console::health::store_health::StoreHealth;
use outbox_console::health::{Health, of_newer_tables};
use outbox_console::jobs::JobsKeeper;
use outbox_dispatcher::metrics::Metrics;
use outbox_dispatcher::operations::OperationsCarrier;
use outbox_dispatcher::poller::assemble::{Parts, Settings};
use outbox_dispatcher::poller::handle::Handle;
use outbox_dispatcher::poller::mend::Mender;
use outbox_dispatcher::poller::poll::{Dispatcher, Drained, LoopSettings};
use outbox_dispatcher::poller::wake_ups::WakeUpSource;
use outbox_dispatcher::recurring::RecurringWorker;
use outbox_dispatcher::reloadable::Reloadable;
use outbox_dispatcher::telemetry::Telemetry;
use outbox_dispatcher::term::clock::BootClock;
use outbox_dispatcher::wiring;

/// The connections of the pools.
///
/// The loop (terms and claims), marks and settling have one each. So have the deferral worker, the division
/// of the ordering keys, and the removal of old rows. The replica's row uses any of them, twice a minute. On PostgreSQL
/// the loop and the wake-ups have connections of their own beside the pool, so one in the pool is to spare.
///
/// Of the other pool, the report of the database on itself, the causes of `/readyz`, and the same causes for OTLP have one
/// each. The admin API has the rest. docs/settings.md gives the total.
const CONNECTIONS: Connections =
    Connections { of_the_loop: 6, of_the_listener: 3 + QUESTIONS_AT_ONCE + CHANGES_AT_ONCE };

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// Stop once nothing is due, in flight or in doubt (for CI and cron). Messages that wait for a later time,
    /// also for a retry, are left.
    #[arg(long)]
    until_empty: bool,
    /// With --until-empty, end with 1 where a message became a dead letter meanwhile.
    #[arg(long, requires = "until_empty")]
    fail_on_dead: bool,
}

/// The longest wait for the database to close, at the end.
const CLOSING_LIMIT: Duration = Duration::from_secs(2);

/// Runs a replica. The loop has its own thread, and attempts use the threads of this runtime. Otherwise the loop's own
/// work would queue behind the answers of hundreds of receivers: the answers of the database, the renewals of the
/// lease. The listener answers on those threads too, from a pool of its own: probes are answered whatever the loop does,
/// and the loop waits for no large answer.
pub(super) async fn run(read: ReadSettings, args: RunArgs) -> anyhow::Result<ExitCode> {
    let config = read()?;
    config.require_database()?;
    let telemetry = session::telemetry(&config)?;
    let files = getrlimit(Resource::Nofile);
    // Each connection is a file. The lower limit that shells give is for programs that cannot use high numbers. Where it cannot be
    // raised, it is as high as it can be.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files });
    let wire = runtime::Handle::current();
    let the_loop = Builder::new_current_thread().enable_all().build()?;
    let dispatching = tokio::task::spawn_blocking(move || {
        let dispatched = the_loop.block_on(dispatch(config, read, &args, &telemetry, wire));
        // A thread that waits for a file that never comes must not keep the process alive.
        the_loop.shutdown_background();
        dispatched.map(|(metrics, code)| (telemetry, metrics, code))
    });
    let (telemetry, metrics, code) = dispatching.await??;
    telemetry.shutdown(&metrics).await;
    Ok(code)
}

async fn dispatch(
    config: Config,
    read: ReadSettings,
    args: &RunArgs,
    telemetry: &Telemetry,
    wire: runtime::Handle,
) -> anyhow::Result<(Arc<Metrics>, ExitCode)> {
    let began = Instant::now();
    // A SIGHUP that comes before the replica is ready is answered once the replica is ready.
    let hang_ups = signal(SignalKind::hangup())?;
    tell_of_default_database(&config);
    let Signals { shutdown, at_once, at_work } = Signals::heeded(config.dispatch.drain_timeout);
    let (tokens, alerts) = (Reloadable::new(Tokens::of(&config)), Reloadable::new(Alerts::of(&config)?));
    let listener = wire.spawn(Listener::bind(config.admin.listen, tokens.clone())).await??;
    let listening_on = listener.address();
    let metrics = shown(&config, telemetry)?;
    let (opened, listener) = if args.until_empty {
        (Some(start::try_once(&config, CONNECTIONS, &wire).await?), listener)
    } else {
        open(&config, &wire, listener, metrics.clone(), &shutdown).await?
    };
    let Some(Opened { database, store, asked, outbox, lease, lineages }) = opened else {
        tracing::info!("run.stopped");
        return Ok((metrics, ExitCode::SUCCESS));
    };
    warn_of_newer_tables(&outbox);
    let instance = Uuid::new_v4().simple().to_string()[..12].to_owned();
    let outbox_id = outbox.outbox_id.to_string();
    let (lease, store) = (Arc::new(LeaseHealth::new(lease)), Arc::new(StoreHealth::new(store, lineages.clone())));
    warn_of_links(&config, &alerts, lease.clone());
    let (wake_ups, channels) = (wiring::wake_ups(&config, &outbox_id)?, wiring::channels(&config, listening_on)?);
    let configured = Reloadable::new(Configured::of(&config));
    let runs_by = Reloadable::new(Configured::runs_by(&config, &config));
    let fleet = Arc::new(Fleet::of(runs_by.clone()));
    let this = started(&instance, listening_on, &config, &runs_by.current());
    let retention = Reloadable::new(wiring::retention(&config));
    let mut dispatcher = Dispatcher::assemble(Parts {
        instance: instance.clone(),
        store: store.clone(),
        destinations: Arc::new(database.clone()),
        lease: lease.clone(),
        lineages: lineages.clone(),
        channels,
        clock: Arc::new(BootClock),
        metrics: metrics.clone(),
        retention: Some((database.pruning(), retention.clone())),
        wake_ups: wake_up_source(config.dispatch.wakeup, store.clone(), wake_ups.clone()),
        wire: wire.clone(),
        settings: numbers(&config, args),
    });
    let handle = dispatcher.handle();
    let _ = at_work.set(handle.clone());
    let (marker_health, judged_by) = (handle.marker_health(), configured.clone());
    let replica =
        Arc::new(Health::new(&asked, store.clone(), lease.clone(), marker_health, fleet.clone(), &config, judged_by));
    let api_state = ApiState {
        database: asked.clone(),
        lease: lease.clone(),
        config: Reloadable::new(config.clone()),
        started: Arc::new(config),
        configured,
        retention,
        wake_endpoint: WakeEndpoint::new(handle.listener(), wake_ups),
        checks: Checks::default(),
        schedule: handle.schedule(),
    };
    wire.spawn(mender(lineages, &api_state, &metrics, &handle, instance.clone()).follow());

    for (pool, its) in [("loop", database.clone()), ("listener", asked.clone())] {
        metrics.pool(pool, move || its.connections());
    }
    let stop_listening = CancellationToken::new();
    let watch = alert_watch(&api_state, &alerts, &metrics, &handle, (outbox_id, this.name.clone()));
    let presence = Presence {
        database: database.clone(),
        replica: this,
        runs_by: runs_by.clone(),
        terms: handle.terms(),
        metrics: metrics.clone(),
        store,
        lease,
        fleet,
    };
    let present = tokio::spawn(presence.show(stop_listening.clone()));
    let watching = wire.spawn(watch.watch(stop_listening.clone()));
    let figures = wire.spawn(figures(&api_state, &replica, &metrics, &handle).keep(stop_listening.clone()));
    let jobs = wire.spawn(jobs(&api_state, &handle).keep(stop_listening.clone()));
    let operations = wire.spawn(operations(&api_state, &handle).carry(stop_listening.clone()));
    let recurring = tokio::spawn(recurring(&database, &api_state, &handle).write(stop_listening.clone()));
    let told = sources(&metrics, &replica, &handle);
    let listening = wire.spawn(listener.serve(told, api_state.clone(), stop_listening.clone()));
    if api_state.started.telemetry.otlp_endpoint.is_some() {
        wire.spawn(replica.refresh_vitals(metrics.clone()));
    }
    let reload =
        Reload { read, api_state, listening_on, dispatcher: handle, metrics: metrics.clone(), runs_by, tokens, alerts };
    tokio::spawn(reload.at_each(hang_ups));
    let drained = at_once.run_until_cancelled(dispatcher.run(shutdown)).await;
    stopped(drained);
    let code = emptied(&database, &instance, began, args).await;
    stop_listening.cancel();
    let closing = async {
        let _ = tokio::join!(listening, present, figures, jobs, watching, operations, recurring);
        tokio::join!(database.close(), asked.close());
    };
    let _ = tokio::time::timeout(CLOSING_LIMIT, closing).await;
    Ok((metrics, code))
}

fn warn_of_newer_tables(outbox: &Meta) {
    if let Some(found) = outbox.newer() {
        tracing::warn!("run.newer_tables: {}", of_newer_tables(found));
    }
}

/// The metrics of this program.
fn shown(config: &Config, telemetry: &Telemetry) -> anyhow::Result<Arc<Metrics>> {
    let metrics = telemetry.metrics(config.channels.keys().map(String::as_str), &[Shard::default()])?;
    metrics.version(VERSION);
    Ok(Arc::new(metrics))
}

/// Warns of passwords in the clear, and of what the lease store had better be set to.
fn warn_of_links(config: &Config, alerts: &Reloadable<Option<Alerts>>, lease: Arc<dyn Lease>) {
    tokio::spawn(session::warn_of_the_lease(lease));
    if let Some(warning) = wiring::lease_link(config).and_then(|link| link.warning()) {
        tracing::warn!("lease.password_in_the_clear: {warning}");
    }
    if alerts.current().as_ref().as_ref().is_some_and(Alerts::is_in_the_clear) {
        tracing::warn!(
            "alerts.in_the_clear: alerts.url begins with http://: who is on the network can read it, and post there"
        );
    }
}

/// Who writes again what a failover lost, on the connections of the listener.
fn mender(
    lineages: Arc<Lineages>,
    api_state: &ApiState,
    metrics: &Arc<Metrics>,
    handle: &Handle,
    instance: String,
) -> Mender {
    Mender {
        lineages,
        database: api_state.database.clone(),
        journal: handle.journal(),
        terms: handle.terms(),
        metrics: metrics.clone(),
        instance,
        lease_ttl: api_state.started.lease.ttl,
    }
}

/// What keeps the figures over time, on the connections of the listener.
fn figures(api_state: &ApiState, replica: &Health, metrics: &Arc<Metrics>, handle: &Handle) -> FiguresKeeper {
    FiguresKeeper {
        database: api_state.database.clone(),
        terms: handle.terms(),
        metrics: metrics.clone(),
        vitals: replica.vitals.clone(),
        config: api_state.config.clone(),
    }
}

/// What keeps the runs of jobs, on the connections of the listener.
fn jobs(api_state: &ApiState, handle: &Handle) -> JobsKeeper {
    JobsKeeper {
        database: api_state.database.clone(),
        lease: api_state.lease.clone(),
        terms: handle.terms(),
        config: api_state.config.clone(),
    }
}

/// What tells people, on the connections of the listener.
fn alert_watch(
    api_state: &ApiState,
    alerts: &Reloadable<Option<Alerts>>,
    metrics: &Arc<Metrics>,
    handle: &Handle,
    (outbox_id, replica): (String, String),
) -> AlertWatch {
    AlertWatch {
        database: api_state.database.clone(),
        alerts: alerts.clone(),
        terms: handle.terms(),
        longest_term: api_state.started.lease.term,
        metrics: metrics.clone(),
        environment: api_state.started.database.environment.clone(),
        outbox_id,
        replica,
    }
}

/// Who goes on with operations, on the connections of the listener.
fn operations(api_state: &ApiState, handle: &Handle) -> OperationsCarrier {
    OperationsCarrier { operations: Arc::new(api_state.database.clone()), terms: handle.terms() }
}

/// Who writes recurring messages, on the connections of the loop: only those lead to a server that takes writes.
fn recurring(database: &Database, api_state: &ApiState, handle: &Handle) -> RecurringWorker {
    RecurringWorker {
        store: Arc::new(database.clone()),
        config: api_state.config.clone(),
        terms: handle.terms(),
        listener: handle.listener(),
    }
}

/// Where wake-ups come from.
fn wake_up_source(wakeup: Wakeup, store: Arc<dyn Store>, wake_ups: Option<Arc<dyn Hints>>) -> Option<WakeUpSource> {
    match wakeup {
        Wakeup::Notify => Some(WakeUpSource::Database(store)),
        Wakeup::Redis => wake_ups.map(WakeUpSource::Applications),
        Wakeup::Off => None,
    }
}

/// What the listener tells of the replica.
fn sources(metrics: &Arc<Metrics>, replica: &Arc<Health>, handle: &Handle) -> ListenerSources {
    ListenerSources {
        metrics: metrics.clone(),
        vitals: replica.vitals.clone(),
        liveness: handle.liveness(),
        readiness: replica.clone(),
        destinations: handle.destinations(),
    }
}

/// Says what became of the messages, where the replica was to end once there are none. Gives the exit status.
async fn emptied(database: &Database, instance: &str, began: Instant, args: &RunArgs) -> ExitCode {
    let RunArgs { until_empty, fail_on_dead, .. } = *args;
    if !until_empty {
        return ExitCode::SUCCESS;
    }
    match Emptied::since(database, instance, began).await {
        Ok(emptied) => {
            tracing::info!("run.emptied: {}", emptied.sentence());
            if fail_on_dead && emptied.dead > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
        Err(error) => {
            tracing::warn!(%error, "run.emptied: what became of the messages cannot be read");
            if fail_on_dead { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
    }
}

fn tell_of_default_database(config: &Config) {
    if config.uses_default_database() {
        let folder = std::env::current_dir().unwrap_or_default();
        tracing::warn!(
            database = %config.database.url,
            folder = %folder.display(),
            "run.default_database: database.url is not set, so messages are kept in a file of this folder: for a first try only"
        );
    }
}

/// How long a start may take before the listener answers that the replica is not ready. Who asks sooner waits.
const USUAL_START: Duration = Duration::from_secs(5);

/// Opens the database, however long it is away. Meanwhile the listener answers probes.
async fn open(
    config: &Config,
    wire: &runtime::Handle,
    listener: Listener,
    metrics: Arc<Metrics>,
    stop: &CancellationToken,
) -> anyhow::Result<(Option<Opened>, Listener)> {
    let (cause, mut causes) = watch::channel(start::FIRST.to_owned());
    let mut opening = std::pin::pin!(start::open(config, CONNECTIONS, wire, &cause, stop));
    tokio::select! {
        opened = &mut opening => return Ok((opened?, listener)),
        _ = causes.changed() => {}
        () = tokio::time::sleep(USUAL_START) => {}
    }
    let over = CancellationToken::new();
    let waiting = wire.spawn(listener.wait(metrics, causes, over.clone()));
    let opened = opening.await?;
    over.cancel();
    Ok((opened, waiting.await?))
}

/// Says in the log how the loop ended. None: it was stopped at once.
fn stopped(drained: Option<Drained>) {
    match drained {
        Some(Drained { left_in_doubt: 0 }) => tracing::info!("run.stopped"),
        Some(Drained { left_in_doubt }) => {
            tracing::warn!(messages = left_in_doubt, "run.stopped_with_messages_on_the_wire");
        }
        None => tracing::warn!("run.stopped_at_once: what is on the wire is in doubt"),
    }
}

/// Says in the log which replica this is, and what it runs by.
fn started(id: &str, listening_on: SocketAddr, config: &Config, runs_by: &RunsBy) -> Replica {
    let host = || rustix::system::uname().nodename().to_string_lossy().into_owned();
    let replica = Replica {
        id: id.to_owned(),
        name: config.admin.instance.clone().unwrap_or_else(host),
        version: VERSION.to_owned(),
        address: listening_on.to_string(),
    };
    let channels: Vec<_> = config.channels.keys().collect();
    tracing::info!(
        instance = replica.name, id = replica.id, version = replica.version, environment = config.database.environment,
        database = %config.database.url, lease_store = runs_by.lease_store, ?channels, address = replica.address,
        settings = runs_by.settings_hash(), "run.started"
    );
    replica
}

fn numbers(config: &Config, args: &RunArgs) -> Settings {
    let dispatch = &config.dispatch;
    Settings {
        lease_ttl: config.lease.ttl,
        term: config.lease.term,
        poll_interval: dispatch.poll_interval,
        max_in_flight: dispatch.max_in_flight as usize,
        max_bytes: dispatch.max_bytes,
        run: LoopSettings {
            drain_timeout: dispatch.drain_timeout,
            // A poll locks the file of SQLite. So on SQLite a wake-up ends the wait, but the poller does not poll more
            // often for wake-ups.
            expects_wake_ups: dispatch.wakeup != Wakeup::Off && config.database.dialect != Dialect::Sqlite,
            until_empty: args.until_empty,
        },
    }
}

/// What signals ask of a replica.
#[derive(Default)]
struct Signals {
    /// To claim no more, and to finish what is in flight.
    shutdown: CancellationToken,
    /// To end without waiting for that.
    at_once: CancellationToken,
    /// The dispatcher, once there is one.
    at_work: Arc<OnceLock<Handle>>,
}

impl Signals {
    /// Signals are heeded from now on.
    fn heeded(drain_timeout: Duration) -> Self {
        let signals = Self::default();
        let Self { shutdown, at_once, at_work } = &signals;
        tokio::spawn(stop_on_signals(shutdown.clone(), at_once.clone(), at_work.clone(), drain_timeout));
        signals
    }
}

/// Stops the replica on signals. The first SIGTERM or SIGINT asks for a hand-over, a second one for an end at once.
async fn stop_on_signals(
    shutdown: CancellationToken,
    at_once: CancellationToken,
    at_work: Arc<OnceLock<Handle>>,
    drain_timeout: Duration,
) {
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        tracing::error!("run.no_signal_handlers: this process can only be killed");
        return;
    };
    for (token, first) in [(shutdown, true), (at_once, false)] {
        let signal = tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        };
        if first {
            let in_flight = at_work.get().map_or(0, Handle::in_flight);
            let limit = humantime::format_duration(drain_timeout);
            tracing::info!(signal, "run.stopping: {in_flight} in flight, up to {limit}; again to stop at once");
        } else {
            tracing::info!(signal, "run.stopping: at once");
        }
        token.cancel();
    }
}
