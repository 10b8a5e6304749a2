//! What a replica does about failovers of its outbox database, whether it polls or not. (A term ends by itself.)

use std::sync::Arc;
use std::time::Duration;

use outbox_adapters::Lease;
use outbox_store::{Database, Durability, Lineages, Shard, Store};

/// How long calls that were under way at a failover may still bring back a connection to the database of before.
const CALLS_END: Duration = Duration::from_secs(5);

/// Looks for failovers, and tells of them.
#[derive(Debug)]
pub struct Failovers {
    /// What the connections of this process tell.
    pub lineages: Arc<Lineages>,
    /// The connections of the loop, and those of the listener.
    pub databases: [Database; 2],
    /// The connections that the poller keeps.
    pub store: Arc<dyn Store>,
    /// Where all replicas hear of it.
    pub lease: Arc<dyn Lease>,
    /// The time to live of the lease.
    pub ttl: Duration,
    /// Which commits are to wait for a standby.
    pub durability: Durability,
}

impl Failovers {
    /// Asks the server three times in a lease: a replica that does not poll would not hear of a failover, and could not warn a
    /// poller whose connections still lead to the database of before.
    pub async fn follow(self) {
        let mut same = self.lineages.watch();
        let mut witnessed = None;
        // The server of the start has been asked.
        let mut has_standby = true;
        loop {
            let now = self.lineages.current();
            if now != witnessed && self.tell_others().await {
                witnessed = now;
            }
            if !has_standby {
                has_standby = self.has_standby().await;
            }
            if tokio::time::timeout(self.ttl / 3, same.changed()).await.is_ok() {
                has_standby = false;
                let (change, _) = self.lineages.last_change().unwrap_or_default();
                tracing::warn!(change, "database.changed");
                self.distrust();
                let (store, databases) = (self.store.clone(), self.databases.clone());
                tokio::spawn(async move {
                    tokio::time::sleep(CALLS_END).await;
                    distrust(&*store, &databases);
                });
                continue;
            }
            match tokio::time::timeout(self.ttl, self.databases[0].ask_again(&self.lineages, self.durability)).await {
                // All connections are at work: they find out by themselves.
                Ok(Ok(()) | Err(sqlx::Error::PoolTimedOut)) => {}
                Ok(Err(_)) | Err(_) => self.distrust(),
            }
        }
    }

    /// Whether commits can wait as they should on the server that answers now. Where they cannot, `/readyz` says why.
    async fn has_standby(&self) -> bool {
        let Ok(Ok(replication)) = tokio::time::timeout(self.ttl / 3, self.databases[0].replication()).await else {
            return false;
        };
        let why = replication.refusal(self.durability);
        self.lineages.refuse_for(why.clone());
        why.is_none()
    }

    /// Tells the lease store which database this replica sees, for pollers whose connections lead to one that was left.
    async fn tell_others(&self) -> bool {
        match tokio::time::timeout(self.ttl / 3, self.lease.witness(&Shard::default().into())).await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::warn!(%error, "lease.witness_not_told");
                false
            }
            Err(_) => false,
        }
    }

    fn distrust(&self) {
        distrust(&*self.store, &self.databases);
    }
}

fn distrust(store: &dyn Store, databases: &[Database]) {
    store.distrust();
    databases.iter().for_each(Database::distrust);
}
