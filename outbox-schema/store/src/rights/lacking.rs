//! Whether a database refused because a right is missing.

/// What follows the words of a database that refused for a right.
pub const APPLY_GRANTS: &str = "; apply the grants of this release";

/// Whether the database refused because its role lacks a right.
pub fn lacks_rights(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(error) = error else { return false };
    // https://www.postgresql.org/docs/current/errcodes-appendix.html (insufficient_privilege) and
    // https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html (ER_TABLEACCESS_DENIED_ERROR and its
    // like have the SQLSTATE of a syntax error, so their numbers are told apart).
    match error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
        Some(error) => [1044, 1142, 1143, 1227, 1370].contains(&error.number()),
        None => error.code().as_deref() == Some("42501"),
    }
}
