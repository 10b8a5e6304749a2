//! Removing messages past their retention by hand, beside a fleet that does the same.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::DeskError;
use super::operation::{Operation, PAUSES, pause};
use super::operations::{Batch, Work};
use crate::retention::{BEGINNING, Pruned, Pruning, Retention, overdue_in, remove_in};
use crate::sql::AnyConnection;
use crate::store::wire::millis_i64;
use crate::{Database, MessageId};

/// A removal of what is past its retention.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Removing {
    retention: Retention,
    /// How many there are to remove, where they were counted.
    of: Option<u64>,
    /// The last row that the removal has come to.
    after: MessageId,
    done: Pruned,
}

impl Removing {
    /// A removal of so many messages. None: they are not counted.
    pub(super) fn of(retention: &Retention, of: Option<u64>) -> Self {
        Self { retention: retention.clone(), of, after: BEGINNING, done: Pruned::default() }
    }
}

#[async_trait]
impl Work for Removing {
    const ACTION: &'static str = "prune";
    type Done = Pruned;

    fn said(&self) -> serde_json::Value {
        let Retention { success, dead, .. } = self.retention;
        serde_json::json!({ "success_ms": success.map(millis_i64), "dead_ms": dead.map(millis_i64) })
    }

    async fn find(&mut self, _: &Database) -> sqlx::Result<Option<u64>> {
        Ok(self.of)
    }

    /// Attempts of messages that are gone are removed too, and nobody counts those.
    fn is_nothing(&self, _: Option<u64>) -> bool {
        false
    }

    fn begun(&mut self, _: i64) {}

    async fn batch(&mut self, connection: &mut AnyConnection<'_>, _: &Operation) -> sqlx::Result<Batch> {
        let stretch = overdue_in(connection, &self.retention, self.after).await?;
        let removed = remove_in(connection, &self.retention, &stretch).await?;
        self.done.add(&removed);
        self.after = stretch.through;
        let come_to = removed.len() as u64;
        Ok(Batch { come_to, changed: self.done.total(), idle: Duration::ZERO, last: stretch.last })
    }

    fn done(self) -> Pruned {
        self.done
    }
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
