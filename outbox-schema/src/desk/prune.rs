//! Removing messages past their retention by hand, beside a fleet that does the same.

use std::time::Instant;

use super::operation::{audit, pause};
use super::{Author, DeskError};
use crate::Database;
use crate::retention::{BEGINNING, Pruned, Pruning, Retention};
use crate::sql::{AnyTransaction, while_doing};
use crate::store::wire::millis_i64;

pub(super) async fn prune(
    database: &Database,
    retention: &Retention,
    author: &Author,
    progress: &(dyn Fn(Pruned) + Sync),
) -> Result<Pruned, DeskError> {
    begin(database, retention, author).await.map_err(while_doing("writing down who prunes"))?;
    walk(database, retention, true, progress).await
}

/// Counts what a removal would remove.
pub(super) async fn count(database: &Database, retention: &Retention) -> Result<Pruned, DeskError> {
    walk(database, retention, false, &|_| ()).await
}

async fn begin(database: &Database, retention: &Retention, author: &Author) -> sqlx::Result<()> {
    let details = serde_json::json!({
        "success_ms": retention.success.map(millis_i64), "dead_ms": retention.dead.map(millis_i64),
    });
    let mut transaction = AnyTransaction::to_write(database).await?;
    audit(&mut transaction.connection(), "prune", None, &details.to_string(), author).await?;
    transaction.commit().await
}

async fn walk(
    database: &Database,
    retention: &Retention,
    remove: bool,
    progress: &(dyn Fn(Pruned) + Sync),
) -> Result<Pruned, DeskError> {
    let (mut done, mut after) = (Pruned::default(), BEGINNING);
    loop {
        let began = Instant::now();
        let stretch = database.overdue(retention, after).await?;
        if remove {
            done.add(&database.remove(retention, &stretch).await?);
        } else {
            done.add(&stretch.overdue);
        }
        progress(done);
        if stretch.last {
            return Ok(done);
        }
        after = stretch.through;
        pause(began).await;
    }
}
