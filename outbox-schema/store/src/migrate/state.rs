//! The state of the tables.

use uuid::Uuid;

use super::versions::SCHEMA_VERSION;

/// The row of `outbox_meta`.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow, serde::Serialize)]
pub struct Meta {
    /// The version of the last migration that was applied.
    pub schema_version: i32,
    /// The id that tells this outbox from every other. It is a part of the lease's key.
    #[sqlx(try_from = "String")]
    pub outbox_id: Uuid,
    /// The environment of the messages. A copy of production carries it along, and so cannot push to real people.
    pub environment: String,
}

impl Meta {
    /// The version of the tables, where it is later than that of this program.
    pub fn newer(&self) -> Option<i32> {
        (self.schema_version > SCHEMA_VERSION).then_some(self.schema_version)
    }
}

/// The state of the tables in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaState {
    /// There is no table `outbox`.
    Absent {
        /// Whether there was one: a function, a procedure or the view of ours is still there.
        remains: bool,
    },
    /// There is a table `outbox` of another program: there is no `outbox_meta`.
    Foreign,
    /// A migration broke off, or the row of `outbox_meta` was deleted.
    Unfinished,
    /// The tables are ours, of any version and environment.
    Ours(Meta),
}

/// The result of [`Database::migrate`](crate::Database::migrate).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Migrated {
    /// The version before. None where the tables were made just now. The same as in `meta` where there was nothing to
    /// do.
    pub from: Option<i32>,
    /// Whether there had been tables before, which were dropped with their messages.
    pub anew: bool,
    /// Whether PostgreSQL's functions were made or replaced.
    pub functions: bool,
    /// The tables as they are now.
    pub meta: Meta,
}
