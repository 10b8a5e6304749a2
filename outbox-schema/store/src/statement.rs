//! A statement in each dialect.

/// A statement in each dialect, with the same parameters in the same order and the same columns. MySQL has no numbered
/// parameters. Where it needs a parameter twice, its file has `?1`, `?2` and so on, as SQLite's does.
#[derive(Debug)]
pub struct Statement {
    /// Its text on PostgreSQL.
    pub postgres: &'static str,
    /// Its text on MySQL and MariaDB.
    pub mysql: &'static str,
    /// Its text on SQLite.
    pub sqlite: &'static str,
}

/// What a [`Statement`] is on PostgreSQL where that has a function for the whole of a step. Nobody asks it, and it would be
/// refused.
pub(crate) const IN_A_FUNCTION: &str = "on PostgreSQL this step is in a function";
