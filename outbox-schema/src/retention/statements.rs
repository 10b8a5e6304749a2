//! The statements of retention, each in three dialects.

use crate::sql::Statement;

pub(super) const PRUNE_PAGE: Statement = Statement {
    postgres: include_str!("../../queries/postgres/prune_page.sql"),
    mysql: include_str!("../../queries/mysql/prune_page.sql"),
    sqlite: include_str!("../../queries/sqlite/prune_page.sql"),
};

pub(crate) const PRUNE_LOCK: Statement = Statement {
    postgres: include_str!("../../queries/postgres/prune_lock.sql"),
    mysql: include_str!("../../queries/mysql/prune_lock.sql"),
    sqlite: include_str!("../../queries/sqlite/prune_lock.sql"),
};

pub(super) const ORPHANED_ATTEMPTS: Statement = Statement {
    postgres: include_str!("../../queries/postgres/orphaned_attempts.sql"),
    mysql: include_str!("../../queries/mysql/orphaned_attempts.sql"),
    sqlite: include_str!("../../queries/sqlite/orphaned_attempts.sql"),
};

pub(super) const OLD_TERMS: Statement = Statement {
    postgres: include_str!("../../queries/postgres/old_terms.sql"),
    mysql: include_str!("../../queries/mysql/old_terms.sql"),
    sqlite: include_str!("../../queries/sqlite/old_terms.sql"),
};

pub(super) const PRUNE_TERMS: Statement = Statement {
    postgres: include_str!("../../queries/postgres/prune_terms.sql"),
    mysql: include_str!("../../queries/mysql/prune_terms.sql"),
    sqlite: include_str!("../../queries/sqlite/prune_terms.sql"),
};

pub(crate) const PURGE_ATTEMPTS: Statement = Statement {
    postgres: include_str!("../../queries/postgres/purge_attempts.sql"),
    mysql: include_str!("../../queries/mysql/purge_attempts.sql"),
    sqlite: include_str!("../../queries/sqlite/purge_attempts.sql"),
};

pub(crate) const PURGE: Statement = Statement {
    postgres: include_str!("../../queries/postgres/purge.sql"),
    mysql: include_str!("../../queries/mysql/purge.sql"),
    sqlite: include_str!("../../queries/sqlite/purge.sql"),
};
