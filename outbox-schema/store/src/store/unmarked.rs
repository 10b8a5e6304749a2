//! Deliveries that could not be marked. They are recorded with the rights that are left, so that `messages explain` knows of them
//! should this process end before it can mark them.

use outbox_schema::enqueue::millis;
use serde::Serialize;

use crate::sql::write;
use crate::statement::Statement;
use crate::store::wire::as_json;
use crate::{Database, Mark, StoreError, Verdict};

const UNMARKED: Statement = statement!("poller/unmarked");

const DOING: &str = "recording deliveries that cannot be marked";

/// The row of a delivery.
#[derive(Debug, Serialize)]
struct Row<'a> {
    claim: uuid::Uuid,
    pub(super) id: i64,
    number: u32,
    epoch: i64,
    holder: &'a str,
    started_ms: u64,
    duration_ms: u64,
    error: &'a str,
}

impl<'a> Row<'a> {
    fn of(mark: &'a Mark, why: &'a str) -> Self {
        Self {
            claim: mark.claim.0,
            id: mark.id.0,
            number: mark.attempt.number,
            epoch: mark.attempt.epoch.0,
            holder: mark.attempt.holder.as_str(),
            started_ms: millis(mark.attempt.started.elapsed()),
            duration_ms: millis(mark.attempt.duration),
            error: why,
        }
    }
}

/// Records each delivery among `marks`, once however often this is repeated. `why` is what the database said to its mark.
pub(crate) async fn record(database: &Database, marks: &[Mark], why: &str) -> Result<(), StoreError> {
    let delivered = marks.iter().filter(|mark| matches!(mark.verdict, Verdict::Success { .. }));
    let rows: Vec<_> = delivered.map(|mark| Row::of(mark, why)).collect();
    let rows = as_json(DOING, &rows)?;
    let written = write(database, &UNMARKED, &[(&rows).into()]).await;
    written.map_err(|error| StoreError::of(DOING, error, |_| false))
}
