//! Where `outbox status` has it from: a replica, or the database with the lease store of the fleet.

use std::sync::Arc;

use outbox_adapters::Lease;
use outbox_store::Database;

use crate::client::Replica;
use crate::session::OutboxAccess;
use outbox_config::Config;
use outbox_console::configured::Configured;
use outbox_console::health::replicas::Replicas;
use outbox_console::health::status::Status;
use outbox_dispatcher::wiring;

/// Where the status comes from.
pub(crate) enum Source {
    Replica(Replica),
    Database {
        database: Database,
        /// None where the fleet has another lease store than these settings.
        lease: Option<Arc<dyn Lease>>,
        configured: Configured,
        /// The lease store of the fleet.
        lease_store: String,
    },
}

impl Source {
    pub(crate) async fn of(config: &Config, outbox: OutboxAccess) -> anyhow::Result<Self> {
        let (database, configured) = match outbox {
            OutboxAccess::Replica(replica) => return Ok(Self::Replica(replica)),
            OutboxAccess::Database(database, configured) => (database, configured),
        };
        let own = config.lease.provider.shown();
        let replicas = Replicas::of(&database).await.unwrap_or_default();
        let lease_store = replicas.runs_by().map_or_else(|| own.clone(), |by| by.lease_store.clone());
        let lease = if lease_store == own {
            let outbox = database.require_tables().await?;
            Some(wiring::lease(config, &outbox.outbox_id.to_string(), &Arc::default()).await?)
        } else {
            None
        };
        Ok(Self::Database { database, lease, configured, lease_store })
    }

    pub(crate) async fn status(&self) -> anyhow::Result<Status> {
        match self {
            Self::Replica(replica) => Ok(replica.status().await?),
            Self::Database { database, lease, configured, lease_store } => {
                let mut status = Status::of(database, lease.as_deref(), configured).await?;
                if lease.is_none() {
                    status.notes.push(format!(
                        "the lease of the fleet is in {lease_store}, and these settings name another store: who polls is what the \
                         database shows"
                    ));
                }
                Ok(status)
            }
        }
    }
}
