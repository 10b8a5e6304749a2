//! What of a database's settings and rights endangers messages.

use outbox_store::sql::read;
use outbox_store::{Database, Dialect};

use super::DeskError;
use super::error::while_doing;
use super::statements::{DURABILITY, MAY_CREATE, PREPARED, SEES_SYSTEM};

/// Who besides the owners may make functions and operators in the schema of the tables, which the statements of others
/// can then call. Each comes with its remedy.
pub async fn strangers_may_create(database: &Database) -> Result<Vec<String>, DeskError> {
    let rows: Vec<(String, String, String)> =
        read(database, &MAY_CREATE, &[]).await.map_err(while_doing("reading who may create in the schema"))?;
    let warning = |(role, schema, owner): &(String, String, String)| {
        let (by, cure) = if owner.is_empty() {
            ("", format!("REVOKE CREATE ON SCHEMA {schema} FROM {role}"))
        } else {
            let give = format!("ALTER SCHEMA {schema} OWNER TO {owner}");
            (
                ", as the owner of the schema or of the database",
                format!(
                    "{give}, after which it creates nothing there; or have a schema for the outbox alone (database.schema)"
                ),
            )
        };
        format!(
            "{role} may create functions and operators in the schema of the tables{by}, and statements of the dispatcher and the \
             owner would call them with their rights: {cure}"
        )
    };
    Ok(rows.iter().map(warning).collect())
}

/// Settings of the database under which a committed message can be lost. Each comes with its remedy.
pub async fn durability(database: &Database) -> Result<Vec<String>, DeskError> {
    let settings: Vec<(String, String)> =
        read(database, &DURABILITY, &[]).await.map_err(while_doing("reading the database's settings"))?;
    Ok(settings.iter().filter_map(|(name, setting)| warning(name, setting)).collect())
}

/// Why a transaction that inserts a message may fail as it is prepared, for two-phase commit. Comes with its remedy.
pub async fn prepared_transactions(database: &Database) -> Result<Option<String>, DeskError> {
    let most: Vec<(i64,)> =
        read(database, &PREPARED, &[]).await.map_err(while_doing("reading the database's settings"))?;
    Ok(most.first().map(|(most,)| {
        format!(
            "the database has max_prepared_transactions = {most}, and PREPARE TRANSACTION (XA, JTA) refuses a transaction \
             whose message wakes the poller. Where an application prepares its transactions, type: \
             ALTER ROLE its_role SET outbox.wakeup = 'off'"
        )
    }))
}

/// How little the connections of this role know of the lineage of a PostgreSQL server. None where they know all.
pub async fn hidden_system(database: &Database) -> Result<Option<String>, DeskError> {
    if database.dialect() != Dialect::Postgres {
        return Ok(None);
    }
    let sees: Vec<(bool,)> =
        read(database, &SEES_SYSTEM, &[]).await.map_err(while_doing("asking for the right to pg_control_system()"))?;
    Ok(sees.contains(&(false,)).then(|| {
        "this role may not read pg_control_system(), so the timeline alone tells one server from another: \
         GRANT EXECUTE ON FUNCTION pg_control_system() TO its_role"
            .to_owned()
    }))
}

/// What a setting means for the promise that nothing committed is lost.
fn warning(name: &str, setting: &str) -> Option<String> {
    let consequence = match (name, setting) {
        ("fsync", "off") => "a crash of its machine can destroy the whole database. Set fsync = on",
        ("full_page_writes", "off") => "a crash of its machine can leave pages half written. Set full_page_writes = on",
        ("synchronous_commit", "off") => {
            "its crash loses the last committed messages and marks. Set synchronous_commit = on, for this role at least"
        }
        ("innodb_flush_log_at_trx_commit", "0" | "2") => {
            "a crash of its machine loses about the last second of committed messages and marks. Set it to 1"
        }
        ("sync_binlog", setting) if setting != "1" => {
            "a crash of its machine can lose the end of the binary log, so that replicas miss committed messages. Set it to 1"
        }
        ("synchronous", "0" | "1") => {
            "a loss of power loses the last committed messages and marks. Set PRAGMA synchronous = FULL"
        }
        _ => return None,
    };
    Some(format!("the database has {name} = {setting}: {consequence}"))
}
