//! Which errors of a database may be over a moment later.

use sqlx::error::DatabaseError;

/// PostgreSQL's SQLSTATE classes: connection, transaction state (read-only), transaction rollback, resources, object state (a
/// lock), operator intervention, system error.
const PASSING_ON_POSTGRES: [&str; 7] = ["08", "25", "40", "53", "55", "57", "58"];

/// MySQL and MariaDB: too many connections, out of memory, disk full, table full, lock wait, deadlock, too many connections of
/// this user (two numbers), read-only (by option, by transaction, by mode), statement time, connection killed.
const PASSING_ON_MYSQL: [u16; 16] =
    [1021, 1038, 1040, 1053, 1114, 1203, 1205, 1213, 1226, 1290, 1792, 1836, 1927, 1969, 3024, 4031];

/// Whether the same may succeed a moment later.
pub fn passes(error: &dyn DatabaseError) -> bool {
    if let Some(error) = error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
        return PASSING_ON_MYSQL.contains(&error.number());
    }
    let code = error.code().unwrap_or_default();
    if error.try_downcast_ref::<sqlx::postgres::PgDatabaseError>().is_some() {
        return PASSING_ON_POSTGRES.iter().any(|class| code.starts_with(class));
    }
    // SQLite: busy, locked, read-only, input or output, full; the first byte of an extended code.
    matches!(code.parse::<u32>().map(|code| code & 0xff), Ok(5 | 6 | 8 | 10 | 13))
}

/// PostgreSQL: `read_only_sql_transaction`. MySQL and MariaDB: read-only by option, by mode.
const OF_A_READER: (&str, [u16; 2]) = ("25006", [1290, 1836]);

/// Whether the server refuses all writes.
pub(crate) fn is_of_a_reader(error: &dyn DatabaseError) -> bool {
    if let Some(error) = error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
        return OF_A_READER.1.contains(&error.number());
    }
    let of_postgres = error.try_downcast_ref::<sqlx::postgres::PgDatabaseError>();
    of_postgres.is_some_and(|error| error.code() == OF_A_READER.0)
}
