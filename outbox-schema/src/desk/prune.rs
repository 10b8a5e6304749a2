//! Removing messages past their retention by hand, beside a fleet that does the same.

use std::ops::ControlFlow;
use std::time::Instant;

use super::operation::{PAUSES, audit, pause};
use super::progress::{Progress, Watch};
use super::{Author, DeskError};
use crate::Database;
use crate::retention::{BEGINNING, Pruned, Pruning, Retention};
use crate::sql::{AnyTransaction, while_doing};
use crate::store::wire::millis_i64;

/// Removes what is past its retention. It is counted before, so that whoever follows the removal sees the end of it.
pub(super) async fn prune(
    database: &Database,
    retention: &Retention,
    author: &Author,
    watch: Watch<'_>,
) -> Result<Pruned, DeskError> {
    let of = Some(count(database, retention).await?.total());
    let audit_id = begin(database, retention, author).await.map_err(while_doing("writing down who prunes"))?;
    let told = |removed: Pruned| watch(Progress { audit_id, of, done: removed.total(), changed: removed.total() });
    if told(Pruned::default()).is_break() {
        return Ok(Pruned::default());
    }
    walk(database, retention, true, &told).await
}

/// Counts what a removal would remove.
pub(super) async fn count(database: &Database, retention: &Retention) -> Result<Pruned, DeskError> {
    walk(database, retention, false, &|_| ControlFlow::Continue(())).await
}

async fn begin(database: &Database, retention: &Retention, author: &Author) -> sqlx::Result<i64> {
    let details = serde_json::json!({
        "success_ms": retention.success.map(millis_i64), "dead_ms": retention.dead.map(millis_i64),
    });
    let mut transaction = AnyTransaction::to_write(database).await?;
    let audit_id = audit(&mut transaction.connection(), "prune", None, &details.to_string(), author).await?;
    transaction.commit().await?;
    Ok(audit_id)
}

async fn walk(
    database: &Database,
    retention: &Retention,
    remove: bool,
    told: &(dyn Fn(Pruned) -> ControlFlow<()> + Sync),
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
        if told(done).is_break() || stretch.last {
            return Ok(done);
        }
        after = stretch.through;
        pause(began, PAUSES).await;
    }
}
