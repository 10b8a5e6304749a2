//! Which errors are about the values of a statement.

use sqlx::error::DatabaseError;
use sqlx::mysql::MySqlDatabaseError;

use crate::StoreError;

/// A NULL that is not allowed; duplicate key; too large a packet; out of range; wrong temporal value; wrong value; too
/// long; a foreign key (of the parent, of the child); a trigger that signals; a result that is out of range; not JSON;
/// a CHECK (MySQL, MariaDB). Any other error (connection, resources, lock time-out, deadlock, read-only) may pass.
/// <https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html>,
/// <https://mariadb.com/kb/en/mariadb-error-code-reference/>
const ABOUT_DATA: [u16; 14] = [1048, 1062, 1153, 1264, 1292, 1366, 1406, 1451, 1452, 1644, 1690, 3140, 3819, 4025];

pub(super) fn failed(doing: &'static str, error: sqlx::Error) -> StoreError {
    StoreError::of(doing, error, is_about_data)
}

pub(in crate::store) fn is_about_data(error: &dyn DatabaseError) -> bool {
    let error = error.try_downcast_ref::<MySqlDatabaseError>();
    error.is_some_and(|error| ABOUT_DATA.contains(&error.number()))
}

/// Whether somebody else has a lock for which the statement would have waited longer.
pub(super) fn is_lock(error: &StoreError) -> bool {
    const LOCK_WAIT_TIMEOUT: u16 = 1205;
    let StoreError::Unavailable { source, .. } = error else { return false };
    let Some(sqlx::Error::Database(error)) = source.downcast_ref() else { return false };
    error.try_downcast_ref::<MySqlDatabaseError>().is_some_and(|error| error.number() == LOCK_WAIT_TIMEOUT)
}
