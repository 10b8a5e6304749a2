//! Which errors are about the values of a statement, and which are about a later term.

use sqlx::error::DatabaseError;
use sqlx::postgres::PgDatabaseError;

use crate::{StoreError, TermId};

/// SQLSTATE classes: data exception, integrity constraint violation, WITH CHECK OPTION violation, program limit
/// exceeded, PL/pgSQL error (a trigger that raises one). Any other error (connection, resources, operator, deadlock,
/// read-only) may pass.
/// <https://www.postgresql.org/docs/current/errcodes-appendix.html>
const ABOUT_DATA: [&str; 5] = ["22", "23", "44", "54", "P0"];

/// SQLSTATE classes: connection exception, operator intervention (the server stops, or an operator ended the
/// connection).
const LOST: [&str; 2] = ["08", "57P"];

/// The SQLSTATE that our functions raise where a later term exists.
const FENCED: &str = "OB001";

pub(super) fn failed(doing: &'static str, error: sqlx::Error) -> StoreError {
    StoreError::of(doing, error, is_about_data)
}

pub(in crate::store) fn is_about_data(error: &dyn DatabaseError) -> bool {
    let error = error.try_downcast_ref::<PgDatabaseError>();
    error.is_some_and(|error| ABOUT_DATA.iter().any(|class| error.code().starts_with(class)))
}

/// Whether the connection is lost. The statement may have been done or not.
pub(super) fn is_lost(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) => true,
        sqlx::Error::Database(error) => {
            error.code().is_some_and(|code| LOST.iter().any(|class| code.starts_with(class)))
        }
        _ => false,
    }
}

/// The error of a function that checks whether `term` is still the shard's term.
pub(super) fn fenced(term: &TermId, doing: &'static str, error: sqlx::Error) -> StoreError {
    match error.as_database_error().and_then(DatabaseError::code) {
        Some(code) if code == FENCED => StoreError::Fenced { shard: term.shard, epoch: term.epoch },
        Some(_) | None => failed(doing, error),
    }
}
