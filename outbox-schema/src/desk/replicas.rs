//! The replicas that run. Each writes its own row twice a minute.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::statements::{REPLICA_FORGET, REPLICA_GONE, REPLICA_SEEN, REPLICAS};
use crate::sql::{read, write};
use crate::{Database, SCHEMA_VERSION};

/// A replica that has been silent for longer is gone, or cut off.
const SEEN: Duration = Duration::from_secs(90);

/// A replica, as it describes itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    /// The id of its process: the first part of the holder of its terms.
    pub id: String,
    /// The name of its host, for people.
    pub name: String,
    /// The version of its program.
    pub version: String,
}

/// The row of a replica.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReplicaRow {
    /// The id of the process: the first part of the holder of its terms.
    pub id: String,
    /// The name of its host.
    pub name: String,
    /// The version of its program.
    pub version: String,
    /// The schema version that its program was made for.
    pub schema_version: i32,
    /// When the replica started, RFC 3339.
    pub started_at: String,
    /// Milliseconds since the replica wrote its row.
    pub seen_ms: i64,
}

impl ReplicaRow {
    /// Whether the replica has written its row lately, as it does while it runs.
    pub fn runs(&self) -> bool {
        Duration::from_millis(self.seen_ms.try_into().unwrap_or(0)) <= SEEN
    }
}

impl Database {
    /// Records that a replica of this program runs.
    pub async fn replica_runs(&self, replica: &Replica) -> sqlx::Result<()> {
        let Replica { id, name, version } = replica;
        write(self, &REPLICA_SEEN, &[id.into(), name.into(), version.into(), i64::from(SCHEMA_VERSION).into()]).await
    }

    /// Removes the rows of replicas that have been silent for a day: those that were killed.
    pub async fn forget_silent_replicas(&self) -> sqlx::Result<()> {
        write(self, &REPLICA_FORGET, &[]).await
    }

    /// Removes the row of a replica that ends.
    pub async fn replica_ended(&self, id: &str) -> sqlx::Result<()> {
        write(self, &REPLICA_GONE, &[id.into()]).await
    }

    /// Every replica that has a row.
    pub async fn replicas(&self) -> sqlx::Result<Vec<ReplicaRow>> {
        read(self, &REPLICAS, &[]).await
    }
}
