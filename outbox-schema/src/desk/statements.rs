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

pub(super) const AUDIT_OF_MESSAGE: Statement = Statement {
    postgres: include_str!("../../queries/postgres/audit_of_message.sql"),
    mysql: include_str!("../../queries/mysql/audit_of_message.sql"),
    sqlite: include_str!("../../queries/sqlite/audit_of_message.sql"),
};

pub(super) const MESSAGE_CLOCK: Statement = Statement {
    postgres: include_str!("../../queries/postgres/message_clock.sql"),
    mysql: include_str!("../../queries/mysql/message_clock.sql"),
    sqlite: include_str!("../../queries/sqlite/message_clock.sql"),
};

pub(super) const ORDERED_BEFORE: Statement = Statement {
    postgres: include_str!("../../queries/postgres/ordered_before.sql"),
    mysql: include_str!("../../queries/mysql/ordered_before.sql"),
    sqlite: include_str!("../../queries/sqlite/ordered_before.sql"),
};

pub(super) const ORDERED_DEAD: Statement = Statement {
    postgres: include_str!("../../queries/postgres/ordered_dead.sql"),
    mysql: include_str!("../../queries/mysql/ordered_dead.sql"),
    sqlite: include_str!("../../queries/sqlite/ordered_dead.sql"),
};

pub(super) const ORDERED_IN_FLIGHT: Statement = Statement {
    postgres: include_str!("../../queries/postgres/ordered_in_flight.sql"),
    mysql: include_str!("../../queries/mysql/ordered_in_flight.sql"),
    sqlite: include_str!("../../queries/sqlite/ordered_in_flight.sql"),
};

pub(super) const BACKLOG: Statement = Statement {
    postgres: include_str!("../../queries/postgres/backlog.sql"),
    mysql: include_str!("../../queries/mysql/backlog.sql"),
    sqlite: include_str!("../../queries/sqlite/backlog.sql"),
};

pub(super) const TERMS_OF_MESSAGE: Statement = Statement {
    postgres: include_str!("../../queries/postgres/terms_of_message.sql"),
    mysql: include_str!("../../queries/mysql/terms_of_message.sql"),
    sqlite: include_str!("../../queries/sqlite/terms_of_message.sql"),
};

pub(super) const IDS_BELOW: Statement = Statement {
    postgres: include_str!("../../queries/postgres/ids_below.sql"),
    mysql: include_str!("../../queries/mysql/ids_below.sql"),
    sqlite: include_str!("../../queries/sqlite/ids_below.sql"),
};

pub(super) const IDS_PENDING: Statement = Statement {
    postgres: include_str!("../../queries/postgres/ids_pending.sql"),
    mysql: include_str!("../../queries/mysql/ids_pending.sql"),
    sqlite: include_str!("../../queries/sqlite/ids_pending.sql"),
};

pub(super) const IDS_DEAD: Statement = Statement {
    postgres: include_str!("../../queries/postgres/ids_dead.sql"),
    mysql: include_str!("../../queries/mysql/ids_dead.sql"),
    sqlite: include_str!("../../queries/sqlite/ids_dead.sql"),
};

pub(super) const MESSAGES: Statement = Statement {
    postgres: include_str!("../../queries/postgres/messages.sql"),
    mysql: include_str!("../../queries/mysql/messages.sql"),
    sqlite: include_str!("../../queries/sqlite/messages.sql"),
};

pub(super) const CLOCK: Statement = Statement {
    postgres: include_str!("../../queries/postgres/clock.sql"),
    mysql: include_str!("../../queries/mysql/clock.sql"),
    sqlite: include_str!("../../queries/sqlite/clock.sql"),
};

pub(super) const DEAD_FINGERPRINT: Statement = Statement {
    postgres: include_str!("../../queries/postgres/dead_fingerprint.sql"),
    mysql: include_str!("../../queries/mysql/dead_fingerprint.sql"),
    sqlite: include_str!("../../queries/sqlite/dead_fingerprint.sql"),
};

pub(super) const DEAD_LAST: Statement = Statement {
    postgres: include_str!("../../queries/postgres/dead_last.sql"),
    mysql: include_str!("../../queries/mysql/dead_last.sql"),
    sqlite: include_str!("../../queries/sqlite/dead_last.sql"),
};

pub(super) const DEAD_GROUP: Statement = Statement {
    postgres: include_str!("../../queries/postgres/dead_group.sql"),
    mysql: include_str!("../../queries/mysql/dead_group.sql"),
    sqlite: include_str!("../../queries/sqlite/dead_group.sql"),
};

pub(super) const DEAD_GROUP_CONTAINING: Statement = Statement {
    postgres: include_str!("../../queries/postgres/dead_group_containing.sql"),
    mysql: include_str!("../../queries/mysql/dead_group_containing.sql"),
    sqlite: include_str!("../../queries/sqlite/dead_group_containing.sql"),
};

pub(super) const DEAD_PAGE: Statement = Statement {
    postgres: include_str!("../../queries/postgres/dead_page.sql"),
    mysql: include_str!("../../queries/mysql/dead_page.sql"),
    sqlite: include_str!("../../queries/sqlite/dead_page.sql"),
};

pub(super) const DEAD_PAGE_CONTAINING: Statement = Statement {
    postgres: include_str!("../../queries/postgres/dead_page_containing.sql"),
    mysql: include_str!("../../queries/mysql/dead_page_containing.sql"),
    sqlite: include_str!("../../queries/sqlite/dead_page_containing.sql"),
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

pub(super) const STANDING: Statement = Statement {
    postgres: include_str!("../../queries/postgres/standing.sql"),
    mysql: include_str!("../../queries/mysql/standing.sql"),
    sqlite: include_str!("../../queries/sqlite/standing.sql"),
};

pub(super) const NAMED: Statement = Statement {
    postgres: include_str!("../../queries/postgres/named.sql"),
    mysql: include_str!("../../queries/mysql/named.sql"),
    sqlite: include_str!("../../queries/sqlite/named.sql"),
};

pub(super) const AUDIT: Statement = Statement {
    postgres: include_str!("../../queries/postgres/audit.sql"),
    mysql: include_str!("../../queries/mysql/audit.sql"),
    sqlite: include_str!("../../queries/sqlite/audit.sql"),
};

pub(super) const AUDIT_EACH: Statement = Statement {
    postgres: include_str!("../../queries/postgres/audit_each.sql"),
    mysql: include_str!("../../queries/mysql/audit_each.sql"),
    sqlite: include_str!("../../queries/sqlite/audit_each.sql"),
};

pub(super) const OPERATION: Statement = Statement {
    postgres: include_str!("../../queries/postgres/operation.sql"),
    mysql: include_str!("../../queries/mysql/operation.sql"),
    sqlite: include_str!("../../queries/sqlite/operation.sql"),
};

pub(super) const OPERATION_PAGE: Statement = Statement {
    postgres: include_str!("../../queries/postgres/operation_page.sql"),
    mysql: include_str!("../../queries/mysql/operation_page.sql"),
    sqlite: include_str!("../../queries/sqlite/operation_page.sql"),
};

pub(super) const REDRIVE: Statement = Statement {
    postgres: include_str!("../../queries/postgres/redrive.sql"),
    mysql: include_str!("../../queries/mysql/redrive.sql"),
    sqlite: include_str!("../../queries/sqlite/redrive.sql"),
};

pub(super) const UNDOABLE: Statement = Statement {
    postgres: include_str!("../../queries/postgres/undoable.sql"),
    mysql: include_str!("../../queries/mysql/undoable.sql"),
    sqlite: include_str!("../../queries/sqlite/undoable.sql"),
};

pub(super) const UNDO: Statement = Statement {
    postgres: include_str!("../../queries/postgres/undo.sql"),
    mysql: include_str!("../../queries/mysql/undo.sql"),
    sqlite: include_str!("../../queries/sqlite/undo.sql"),
};

pub(super) const CANCEL: Statement = Statement {
    postgres: include_str!("../../queries/postgres/cancel.sql"),
    mysql: include_str!("../../queries/mysql/cancel.sql"),
    sqlite: include_str!("../../queries/sqlite/cancel.sql"),
};

pub(super) const EDIT: Statement = Statement {
    postgres: include_str!("../../queries/postgres/edit.sql"),
    mysql: include_str!("../../queries/mysql/edit.sql"),
    sqlite: include_str!("../../queries/sqlite/edit.sql"),
};

pub(super) const DURABILITY: Statement = Statement {
    postgres: include_str!("../../queries/postgres/durability.sql"),
    mysql: include_str!("../../queries/mysql/durability.sql"),
    sqlite: include_str!("../../queries/sqlite/durability.sql"),
};

pub(super) const HELD_BACK: Statement = Statement {
    postgres: include_str!("../../queries/postgres/held_back.sql"),
    mysql: include_str!("../../queries/mysql/held_back.sql"),
    sqlite: include_str!("../../queries/sqlite/held_back.sql"),
};

pub(super) const DESTINATIONS: Statement = Statement {
    postgres: include_str!("../../queries/postgres/destinations.sql"),
    mysql: include_str!("../../queries/mysql/destinations.sql"),
    sqlite: include_str!("../../queries/sqlite/destinations.sql"),
};

pub(super) const DEFERRED: Statement = Statement {
    postgres: include_str!("../../queries/postgres/deferred.sql"),
    mysql: include_str!("../../queries/mysql/deferred.sql"),
    sqlite: include_str!("../../queries/sqlite/deferred.sql"),
};

pub(super) const PAUSE: Statement = Statement {
    postgres: include_str!("../../queries/postgres/pause.sql"),
    mysql: include_str!("../../queries/mysql/pause.sql"),
    sqlite: include_str!("../../queries/sqlite/pause.sql"),
};

pub(super) const RESUME: Statement = Statement {
    postgres: include_str!("../../queries/postgres/resume.sql"),
    mysql: include_str!("../../queries/mysql/resume.sql"),
    sqlite: include_str!("../../queries/sqlite/resume.sql"),
};

pub(super) const INVALID_TARGETS: Statement = Statement {
    postgres: include_str!("../../queries/postgres/invalid_targets.sql"),
    mysql: include_str!("../../queries/mysql/invalid_targets.sql"),
    sqlite: include_str!("../../queries/sqlite/invalid_targets.sql"),
};

pub(super) const INVALID_TARGETS_COUNT: Statement = Statement {
    postgres: include_str!("../../queries/postgres/invalid_targets_count.sql"),
    mysql: include_str!("../../queries/mysql/invalid_targets_count.sql"),
    sqlite: include_str!("../../queries/sqlite/invalid_targets_count.sql"),
};

pub(super) const INVALID_TARGETS_CLEAR: Statement = Statement {
    postgres: include_str!("../../queries/postgres/invalid_targets_clear.sql"),
    mysql: include_str!("../../queries/mysql/invalid_targets_clear.sql"),
    sqlite: include_str!("../../queries/sqlite/invalid_targets_clear.sql"),
};

pub(super) const INVALID_TARGET_OF: Statement = Statement {
    postgres: include_str!("../../queries/postgres/invalid_target_of.sql"),
    mysql: include_str!("../../queries/mysql/invalid_target_of.sql"),
    sqlite: include_str!("../../queries/sqlite/invalid_target_of.sql"),
};
