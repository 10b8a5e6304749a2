//! An operation as its row keeps it.

use outbox_store::Database;
use outbox_store::sql::read;
use outbox_store::statement;
use outbox_store::statement::Statement;
use serde_json::{Map, Value};

use super::OperationStatus;
use crate::Progress;

const STATE: Statement = statement!("operations/state");

/// Work, as it is written down: each field by its name.
pub(super) type Fields = Map<String, Value>;

/// The state of an operation, as the row has it.
#[derive(Debug, sqlx::FromRow)]
pub(crate) struct State {
    pub(super) action: String,
    kept: String,
    /// What batches have changed of it.
    place: Option<String>,
    meant: Option<i64>,
    done: i64,
    changed: i64,
    status: String,
    pub(super) who: Option<String>,
}

impl State {
    pub(crate) async fn of(database: &Database, id: i64) -> sqlx::Result<Option<Self>> {
        Ok(read(database, &STATE, &[id.into()]).await?.pop())
    }

    pub(crate) fn is_open(&self) -> bool {
        OperationStatus::of(&self.status) == OperationStatus::Open
    }

    /// The work before its first batch.
    pub(super) fn ordered(&self) -> serde_json::Result<Fields> {
        serde_json::from_str(&self.kept)
    }

    /// The work, as it stands.
    pub(super) fn standing(&self) -> serde_json::Result<Fields> {
        let mut work = self.ordered()?;
        let place: Option<Fields> = self.place.as_deref().map(serde_json::from_str).transpose()?;
        work.extend(place.unwrap_or_default());
        Ok(work)
    }

    pub(crate) fn progress(&self, id: i64) -> Progress {
        Progress {
            audit_id: id,
            of: self.meant.and_then(|meant| meant.try_into().ok()),
            done: self.done.try_into().unwrap_or(0),
            changed: self.changed.try_into().unwrap_or(0),
            has_row: true,
        }
    }
}
