//! The row of a replica in `outbox_replica`. From these rows operators and `outbox migrate` know which replicas run.

use std::time::Duration;

use outbox_schema::Database;
use outbox_schema::desk::Replica;
use tokio_util::sync::CancellationToken;

/// How often a replica writes its row.
const EACH: Duration = Duration::from_secs(30);

/// How long the database has to take the row.
const LIMIT: Duration = Duration::from_secs(5);

/// Writes the row until `ended`, then removes it. Messages go out even where the row cannot be written.
pub async fn show(database: Database, replica: Replica, ended: CancellationToken) {
    // Where this fails, so does the next, which is told.
    let _ = in_time(database.forget_silent_replicas()).await;
    let mut written = true;
    loop {
        match in_time(database.replica_runs(&replica)).await {
            Ok(()) => written = true,
            // Logged once, not twice a minute.
            Err(why) if written => {
                written = false;
                tracing::warn!(
                    why,
                    "replica.unseen: this replica cannot write its row in outbox_replica, so `outbox migrate` does not know of it. \
                     Where a right is missing, apply the grants of this release"
                );
            }
            Err(_) => {}
        }
        if tokio::time::timeout(EACH, ended.cancelled()).await.is_ok() {
            break;
        }
    }
    if let Err(why) = in_time(database.replica_ended(&replica.id)).await {
        tracing::debug!(why, "replica.row_left");
    }
}

async fn in_time<E: std::fmt::Display>(asked: impl Future<Output = Result<(), E>>) -> Result<(), String> {
    match tokio::time::timeout(LIMIT, asked).await {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err(format!("no answer within {LIMIT:?}")),
    }
}
