//! Removing messages past their retention by hand, beside a fleet that does the same.

use std::time::Instant;

use outbox_schema::MessageId;
use outbox_store::Database;
use outbox_store::retention::{BEGINNING, Pruned, Pruning, Retention, overdue_in, remove_in};
use outbox_store::sql::AnyConnection;

use super::DeskError;
use super::operation::{PAUSES, pause};
use super::operations::Outcome;

/// Removes what is past its retention of the next rows. Gives how many messages those were, and whether they were the last.
pub(super) async fn batch(
    connection: &mut AnyConnection<'_>,
    retention: &Retention,
    after: &mut MessageId,
    done: &mut Outcome,
) -> sqlx::Result<(u64, bool)> {
    let stretch = overdue_in(connection, retention, *after).await?;
    let mut removed = Pruned::default();
    removed.add(&remove_in(connection, retention, &stretch).await?);
    done.add("success", removed.success);
    done.add("dead", removed.dead);
    done.changed += removed.total();
    *after = stretch.through;
    Ok((removed.total(), stretch.last))
}

/// Counts what a removal would remove.
pub(super) async fn count(database: &Database, retention: &Retention) -> Result<Pruned, DeskError> {
    let (mut found, mut after) = (Pruned::default(), BEGINNING);
    loop {
        let began = Instant::now();
        let stretch = database.overdue(retention, after).await?;
        found.add(&stretch.overdue);
        if stretch.last {
            return Ok(found);
        }
        after = stretch.through;
        pause(began, PAUSES).await;
    }
}
