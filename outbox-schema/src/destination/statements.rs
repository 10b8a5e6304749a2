//! The statements about destinations, each in three dialects.

use crate::sql::Statement;

pub(super) const TERM_SHARED: Statement = Statement {
    postgres: include_str!("../../queries/postgres/term_lock_shared.sql"),
    mysql: include_str!("../../queries/mysql/term_lock_shared.sql"),
    sqlite: include_str!("../../queries/sqlite/term.sql"),
};

pub(super) const ASIDE_FREE: Statement = Statement {
    postgres: include_str!("../../queries/postgres/aside_free.sql"),
    mysql: include_str!("../../queries/mysql/aside_free.sql"),
    sqlite: include_str!("../../queries/sqlite/aside_free.sql"),
};

pub(super) const ASIDE_PUT: Statement = Statement {
    postgres: include_str!("../../queries/postgres/aside_put.sql"),
    mysql: include_str!("../../queries/mysql/aside_put.sql"),
    sqlite: include_str!("../../queries/sqlite/aside_put.sql"),
};

pub(super) const ASIDE_KEEP: Statement = Statement {
    postgres: include_str!("../../queries/postgres/aside_keep.sql"),
    mysql: include_str!("../../queries/mysql/aside_keep.sql"),
    sqlite: include_str!("../../queries/sqlite/aside_keep.sql"),
};

pub(super) const ASIDE_CLEAR: Statement = Statement {
    postgres: include_str!("../../queries/postgres/aside_clear.sql"),
    mysql: include_str!("../../queries/mysql/aside_clear.sql"),
    sqlite: include_str!("../../queries/sqlite/aside_clear.sql"),
};

pub(super) const BRING_BACK_FREE: Statement = Statement {
    postgres: include_str!("../../queries/postgres/bring_back_free.sql"),
    mysql: include_str!("../../queries/mysql/bring_back_free.sql"),
    sqlite: include_str!("../../queries/sqlite/bring_back_free.sql"),
};

pub(super) const CONFIGURED_FREE: Statement = Statement {
    postgres: include_str!("../../queries/postgres/configured_free.sql"),
    mysql: include_str!("../../queries/mysql/configured_free.sql"),
    sqlite: include_str!("../../queries/sqlite/configured_free.sql"),
};

pub(super) const BRING_BACK: Statement = Statement {
    postgres: include_str!("../../queries/postgres/bring_back.sql"),
    mysql: include_str!("../../queries/mysql/bring_back.sql"),
    sqlite: include_str!("../../queries/sqlite/bring_back.sql"),
};

pub(super) const BY_HAND: Statement = Statement {
    postgres: include_str!("../../queries/postgres/changes_by_hand.sql"),
    mysql: include_str!("../../queries/mysql/changes_by_hand.sql"),
    sqlite: include_str!("../../queries/sqlite/changes_by_hand.sql"),
};

pub(super) const RAMP: Statement = Statement {
    postgres: include_str!("../../queries/postgres/ramp.sql"),
    mysql: include_str!("../../queries/mysql/ramp.sql"),
    sqlite: include_str!("../../queries/sqlite/ramp.sql"),
};
