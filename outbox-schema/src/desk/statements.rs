//! The statements of the desk, each in three dialects.

use crate::sql::Statement;

pub(super) const CHANNELS: Statement = Statement {
    postgres: include_str!("../../queries/postgres/channels.sql"),
    mysql: include_str!("../../queries/mysql/channels.sql"),
    sqlite: include_str!("../../queries/sqlite/channels.sql"),
};

pub(super) const CURRENT_TERMS: Statement = Statement {
    postgres: include_str!("../../queries/postgres/current_terms.sql"),
    mysql: include_str!("../../queries/mysql/current_terms.sql"),
    sqlite: include_str!("../../queries/sqlite/current_terms.sql"),
};

pub(super) const PAUSED_DESTINATIONS: Statement = Statement {
    postgres: include_str!("../../queries/postgres/paused_destinations.sql"),
    mysql: include_str!("../../queries/mysql/paused_destinations.sql"),
    sqlite: include_str!("../../queries/sqlite/paused_destinations.sql"),
};

pub(super) const UNSETTLED_CLAIMS: Statement = Statement {
    postgres: include_str!("../../queries/postgres/unsettled_claims.sql"),
    mysql: include_str!("../../queries/mysql/unsettled_claims.sql"),
    sqlite: include_str!("../../queries/sqlite/unsettled_claims.sql"),
};

pub(super) const TERMS: Statement = Statement {
    postgres: include_str!("../../queries/postgres/terms.sql"),
    mysql: include_str!("../../queries/mysql/terms.sql"),
    sqlite: include_str!("../../queries/sqlite/terms.sql"),
};

pub(super) const MESSAGE: Statement = Statement {
    postgres: include_str!("../../queries/postgres/message.sql"),
    mysql: include_str!("../../queries/mysql/message.sql"),
    sqlite: include_str!("../../queries/sqlite/message.sql"),
};

pub(super) const MESSAGE_ID: Statement = Statement {
    postgres: include_str!("../../queries/postgres/message_id.sql"),
    mysql: include_str!("../../queries/mysql/message_id.sql"),
    sqlite: include_str!("../../queries/sqlite/message_id.sql"),
};

pub(super) const ATTEMPTS: Statement = Statement {
    postgres: include_str!("../../queries/postgres/attempts.sql"),
    mysql: include_str!("../../queries/mysql/attempts.sql"),
    sqlite: include_str!("../../queries/sqlite/attempts.sql"),
};

pub(super) const NAMING_CLAIM: Statement = Statement {
    postgres: include_str!("../../queries/postgres/naming_claim.sql"),
    mysql: include_str!("../../queries/mysql/naming_claim.sql"),
    sqlite: include_str!("../../queries/sqlite/naming_claim.sql"),
};

pub(super) const DEAD_LETTERS: Statement = Statement {
    postgres: include_str!("../../queries/postgres/dead_letters.sql"),
    mysql: include_str!("../../queries/mysql/dead_letters.sql"),
    sqlite: include_str!("../../queries/sqlite/dead_letters.sql"),
};

pub(super) const LOCK_TERMS: Statement = Statement {
    postgres: include_str!("../../queries/postgres/lock_terms.sql"),
    mysql: include_str!("../../queries/mysql/lock_terms.sql"),
    sqlite: include_str!("../../queries/sqlite/lock_terms.sql"),
};

pub(super) const REDRIVABLE: Statement = Statement {
    postgres: include_str!("../../queries/postgres/redrivable.sql"),
    mysql: include_str!("../../queries/mysql/redrivable.sql"),
    sqlite: include_str!("../../queries/sqlite/redrivable.sql"),
};

pub(super) const REDRIVE_AUDIT: Statement = Statement {
    postgres: include_str!("../../queries/postgres/redrive_audit.sql"),
    mysql: include_str!("../../queries/mysql/redrive_audit.sql"),
    sqlite: include_str!("../../queries/sqlite/redrive_audit.sql"),
};

pub(super) const REDRIVE: Statement = Statement {
    postgres: include_str!("../../queries/postgres/redrive.sql"),
    mysql: include_str!("../../queries/mysql/redrive.sql"),
    sqlite: include_str!("../../queries/sqlite/redrive.sql"),
};

pub(super) const DURABILITY: Statement = Statement {
    postgres: include_str!("../../queries/postgres/durability.sql"),
    mysql: include_str!("../../queries/mysql/durability.sql"),
    sqlite: include_str!("../../queries/sqlite/durability.sql"),
};
