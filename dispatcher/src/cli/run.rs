//! `outbox run`: one replica of the fleet.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use outbox_schema::{Database, Shard};
use tokio::runtime::{Builder, Handle};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::session;
use crate::api::Office;
use crate::assemble::{Parts, Settings};
use crate::clock::BootClock;
use crate::config::{Config, SecretText, Wakeup};
use crate::explain::Configured;
use crate::lease_health::LeaseHealth;
use crate::listener::{CHANGES_AT_ONCE, Listener, QUESTIONS_AT_ONCE, Shown, Tokens};
use crate::metrics::Metrics;
use crate::poll::{Dispatcher, Drained, LoopSettings};
use crate::replica::Replica;
use crate::store_health::StoreHealth;
use crate::telemetry::Telemetry;
use crate::wiring;

/// Of the pool. One each for the loop (terms and claims), marks, settling, the destinations' keeper, the division of
/// the ordering keys, what is removed, what the database says of itself, the causes of `/readyz`, and the same causes
/// for OTLP; and those of the admin API. On PostgreSQL the loop and the hints have connections of their own beside the
/// pool, so that one is to spare. docs/settings.md says how many that makes in all.
const CONNECTIONS: u32 = 9 + QUESTIONS_AT_ONCE + CHANGES_AT_ONCE;

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// Stop once nothing is due, in flight or in doubt (for CI and cron). Messages that wait for a later time,
    /// also for a retry, are left.
    #[arg(long)]
    until_empty: bool,
}

/// Longest wait, at the end, for the database to close.
const CLOSING_LIMIT: Duration = Duration::from_secs(2);

/// The loop has a thread of its own, and attempts have those of this runtime: what the loop waits for, the database's answer
/// or a renewal of the lease, would else queue behind the answers of hundreds of receivers.
pub(super) async fn run(config: Config, args: RunArgs) -> anyhow::Result<ExitCode> {
    let telemetry = session::telemetry(&config)?;
    tokio::spawn(outlive_hang_ups());
    let wire = Handle::current();
    let the_loop = Builder::new_current_thread().enable_all().build()?;
    let dispatching = tokio::task::spawn_blocking(move || {
        the_loop.block_on(dispatch(&config, &args, &telemetry, wire)).map(|metrics| (telemetry, metrics))
    });
    let (telemetry, metrics) = dispatching.await??;
    telemetry.shutdown(&metrics).await;
    Ok(ExitCode::SUCCESS)
}

async fn dispatch(
    config: &Config,
    args: &RunArgs,
    telemetry: &Telemetry,
    wire: Handle,
) -> anyhow::Result<Arc<Metrics>> {
    let database = wiring::database(config, CONNECTIONS).await?;
    let outbox = session::require_or_create(config, &database).await?;
    let lease = Arc::new(LeaseHealth::new(wiring::lease(config, &outbox.outbox_id.to_string()).await?));
    let channels = wiring::channels(config)?;
    let names: Vec<String> = channels.iter().map(|channel| channel.name.clone()).collect();
    let metrics = Arc::new(telemetry.metrics(names.iter().map(String::as_str), &[Shard::default()])?);
    let store = Arc::new(StoreHealth::new(database.store()));
    let replica = Arc::new(Replica::new(&database, store.clone(), lease.clone(), config));
    let office = office(config, &database, &lease);
    let dispatcher = Dispatcher::assemble(Parts {
        store,
        destinations: Arc::new(database.clone()),
        lease,
        channels,
        clock: Arc::new(BootClock),
        metrics: metrics.clone(),
        retention: Some((database.pruning(), wiring::retention(config))),
        wire,
        settings: numbers(config, args),
    });
    let shown = Shown {
        metrics: metrics.clone(),
        vitals: replica.vitals.clone(),
        pulse: dispatcher.pulse(),
        readiness: replica.clone(),
    };
    let listener = Listener::bind(config.admin.listen, &tokens(config), shown, office).await?;

    let (shutdown, at_once) = (CancellationToken::new(), CancellationToken::new());
    tokio::spawn(stop_on_signals(shutdown.clone(), at_once.clone()));
    let stop_listening = CancellationToken::new();
    let listening = tokio::spawn(listener.serve(stop_listening.clone()));
    if config.telemetry.otlp_endpoint.is_some() {
        tokio::spawn(replica.refresh_vitals(metrics.clone(), dispatcher.leading()));
    }
    let drained = at_once.run_until_cancelled(dispatcher.run(shutdown)).await;
    match drained {
        Some(Drained { left_in_doubt: 0 }) => tracing::info!("run.stopped"),
        Some(Drained { left_in_doubt }) => {
            tracing::warn!(messages = left_in_doubt, "run.stopped_with_messages_on_the_wire");
        }
        None => tracing::warn!("run.stopped_at_once: what is on the wire is in doubt"),
    }
    stop_listening.cancel();
    let _ = tokio::time::timeout(CLOSING_LIMIT, async { tokio::join!(listening, database.close()) }).await;
    Ok(metrics)
}

fn tokens(config: &Config) -> Tokens {
    let token = |token: &Option<SecretText>| token.as_ref().map(|token| Arc::from(token.expose()));
    Tokens { operate: token(&config.admin.token), read: token(&config.admin.read_token) }
}

fn office(config: &Config, database: &Database, lease: &Arc<LeaseHealth>) -> Office {
    Office {
        database: database.clone(),
        lease: lease.clone(),
        configured: Arc::new(Configured::of(config)),
        retention: wiring::retention(config),
    }
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
            wakeup: dispatch.wakeup == Wakeup::Notify,
            until_empty: args.until_empty,
        },
    }
}

/// SIGTERM or SIGINT asks for a hand-over; a second one for an end at once.
async fn stop_on_signals(shutdown: CancellationToken, at_once: CancellationToken) {
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        tracing::error!("run.no_signal_handlers: this process can only be killed");
        return;
    };
    for token in [shutdown, at_once] {
        tokio::select! {
            _ = terminate.recv() => tracing::info!(signal = "SIGTERM", "run.stopping"),
            _ = interrupt.recv() => tracing::info!(signal = "SIGINT", "run.stopping"),
        }
        token.cancel();
    }
}

/// SIGHUP asks many programs to read their settings anew. This one does not, and must not die of being asked.
async fn outlive_hang_ups() {
    let Ok(mut hang_up) = signal(SignalKind::hangup()) else {
        tracing::error!("run.no_signal_handler: SIGHUP ends this process at once");
        return;
    };
    while hang_up.recv().await.is_some() {
        tracing::warn!(
            signal = "SIGHUP",
            "run.settings_not_reloaded: they are read at the start only; restart this replica to have them read anew \
             (SIGTERM hands over)"
        );
    }
}
