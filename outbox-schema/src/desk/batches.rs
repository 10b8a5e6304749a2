//! A change of many messages: a batch in a transaction, with pauses between, so that deliveries go on beside it.

use std::time::{Duration, Instant};

use async_trait::async_trait;

use super::operation::{BATCH, Operation, PAUSES, pause};
use super::progress::{Progress, Watch};
use crate::sql::{AnyConnection, AnyTransaction};
use crate::{Database, MessageId};

/// A change that is made batch by batch.
#[async_trait]
pub(super) trait BatchedChange: Send {
    /// A pause is this many times as long as the batch before it.
    fn pauses(&self) -> u32 {
        PAUSES
    }

    /// Changes the messages of a batch, in its transaction, and counts them.
    async fn batch(
        &mut self,
        connection: &mut AnyConnection<'_>,
        operation: &Operation,
        ids: &[MessageId],
    ) -> sqlx::Result<Batch>;
}

/// The result of a batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Batch {
    /// How many messages were changed, in all batches so far.
    pub(super) changed: u64,
    /// How long the database had no work meanwhile, because this process had.
    pub(super) idle: Duration,
}

impl Batch {
    /// A batch that left the database no rest.
    pub(super) fn of(changed: u64) -> Self {
        Self { changed, idle: Duration::ZERO }
    }
}

/// Makes a change of `ids`, which are in ascending order, to its end, or until `watch` ends it. `watch` is told before the first batch
/// and after each.
pub(super) async fn in_batches(
    database: &Database,
    operation: &Operation,
    ids: &[MessageId],
    change: &mut dyn BatchedChange,
    watch: Watch<'_>,
) -> sqlx::Result<()> {
    let of = ids.len() as u64;
    let mut progress = Progress { audit_id: operation.audit_id, of: Some(of), done: 0, changed: 0 };
    for batch in ids.chunks(BATCH) {
        if watch(progress).is_break() {
            return Ok(());
        }
        let began = Instant::now();
        let mut transaction = AnyTransaction::to_write(database).await?;
        let Batch { changed, idle } = change.batch(&mut transaction.connection(), operation, batch).await?;
        transaction.commit().await?;
        progress = Progress { done: progress.done + batch.len() as u64, changed, ..progress };
        if progress.done < of {
            pause(began + idle, change.pauses()).await;
        }
    }
    // The change is done, whether it was to go on or not.
    let _ = watch(progress);
    Ok(())
}
