//! The start of a replica whose database may be away: it waits, and says so.

use std::sync::Arc;
use std::time::Duration;

use outbox_adapters::{Lease, SessionSetupError};
use outbox_config::Config;
use outbox_dispatcher::term::failover::Failovers;
use outbox_dispatcher::wiring;
use outbox_store::{ConnectError, Database, Lineages, Meta, SchemaError, Store};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::session;

/// The first and the longest wait between two tries.
const AGAIN: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(2));

/// How long one try may take. A connection to a server that is gone without a word says nothing.
const TRY: Duration = Duration::from_secs(15);

/// How often the log says that the replica waits.
const TELL: Duration = Duration::from_mins(1);

/// The cause of `/readyz` before the first try has ended.
pub(super) const FIRST: &str = "database: the replica has just been started, and has no answer from it yet";

/// A database that was found to be the right one, and to let a poller work.
pub(super) struct Opened {
    /// The connections of the loop, and of what runs beside it on its thread.
    pub(super) database: Database,
    /// The outbox of that database for the poller.
    pub(super) store: Arc<dyn Store>,
    /// The connections of the listener, on the threads of the attempts.
    pub(super) asked: Database,
    pub(super) outbox: Meta,
    /// The lease store, which may be the same database. Redis is asked later: a replica begins without it, and waits there.
    pub(super) lease: Arc<dyn Lease>,
    /// What all these connections tell of failovers.
    pub(super) lineages: Arc<Lineages>,
}

/// The connections of a replica.
#[derive(Debug, Clone, Copy)]
pub(super) struct Connections {
    pub(super) of_the_loop: u32,
    pub(super) of_the_listener: u32,
}

/// Opens the database of the settings, and goes on trying while it is away. None once `stop` is asked for. An error that
/// stays until somebody mends it, such as a wrong password, is returned at once: whoever started the replica sees it end.
pub(super) async fn open(
    config: &Config,
    connections: Connections,
    wire: &Handle,
    cause: &watch::Sender<String>,
    stop: &CancellationToken,
) -> anyhow::Result<Option<Opened>> {
    let (mut pause, longest) = AGAIN;
    let began = Instant::now();
    let mut told: Option<Instant> = None;
    loop {
        let tried = stop.run_until_cancelled(tokio::time::timeout(TRY, try_once(config, connections, wire))).await;
        let why = match tried {
            None => return Ok(None),
            Some(Ok(Ok(opened))) => return Ok(Some(opened)),
            Some(Ok(Err(error))) if may_pass(&error) => format!("{error:#}"),
            Some(Ok(Err(error))) => return Err(error),
            Some(Err(_)) => format!("database.url is {}: nothing came within {TRY:?}", config.database.url),
        };
        if told.is_none_or(|told| told.elapsed() >= TELL) {
            told = Some(Instant::now());
            tracing::warn!(waited = ?began.elapsed(), "run.waits: the database is not there yet, and is tried again: {why}");
        }
        cause.send_replace(format!("database: the replica waits for it, and has not begun: {why}"));
        if stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
            return Ok(None);
        }
        pause = (2 * pause).min(longest);
    }
}

/// The same, once.
pub(super) async fn try_once(config: &Config, connections: Connections, wire: &Handle) -> anyhow::Result<Opened> {
    let lineages = Arc::<Lineages>::default();
    let database = wiring::database_to_poll(config, connections.of_the_loop, &lineages).await?;
    session::require_standby(config, &database).await?;
    let outbox = session::require_or_create(config, &database).await?;
    session::warn_of_missing_rights(&database).await;
    let store = session::require_work(&database).await?;
    let (settings, also) = (config.clone(), lineages.clone());
    // A connection belongs to the threads that made it.
    let asked = wire.spawn(async move { wiring::database_to_ask(&settings, connections.of_the_listener, &also).await });
    let asked = asked.await??;
    let lease = wiring::lease(config, &outbox.outbox_id.to_string(), &lineages).await?;
    let failovers = Failovers {
        lineages: lineages.clone(),
        databases: [database.clone(), asked.clone()],
        store: store.clone(),
        lease: lease.clone(),
        ttl: config.lease.ttl,
        durability: config.database.durability,
    };
    tokio::spawn(failovers.follow());
    Ok(Opened { database, store, asked, outbox, lease, lineages })
}

fn may_pass(error: &anyhow::Error) -> bool {
    error.downcast_ref::<ConnectError>().is_some_and(ConnectError::may_pass)
        || error.downcast_ref::<SchemaError>().is_some_and(SchemaError::may_pass)
        || matches!(error.downcast_ref(), Some(SessionSetupError::Database(error)) if error.may_pass())
}
