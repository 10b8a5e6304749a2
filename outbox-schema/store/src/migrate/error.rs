//! Why tables cannot be used or made, and what to do about it.

use outbox_schema::words::words;

use super::{FUNCTIONS_VERSION, SCHEMA_VERSION};
use crate::database::Dialect;
use crate::environment::ALLOWED;

/// Why the tables cannot be used as they are.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// There is no table `outbox`.
    #[error("there is no outbox in this database: run `outbox migrate`{}", elsewhere(*.dialect))]
    Absent {
        /// The dialect of the database.
        dialect: Dialect,
    },
    /// There is a table `outbox` of another program.
    #[error(
        "the table `outbox` in this database is not ours (there is no `outbox_meta`), and it is left as it is. Give \
         ours another place: {}",
        another_place(*.dialect)
    )]
    Foreign {
        /// The dialect of the database.
        dialect: Dialect,
    },
    /// The role may not read which outbox this is.
    #[error(
        "the role {role} may not read outbox_meta{}. Whoever owns the tables gives the right: {grant} (all rights of each role \
         are in outbox-schema/grants)",
        if *.is_certain { "" } else { ", or there is none" }
    )]
    Unreadable {
        /// The role, as the database names it.
        role: String,
        /// The statement that gives it the right.
        grant: String,
        /// Whether the table is there. MySQL does not say so to a role without rights.
        is_certain: bool,
    },
    /// The encoding of the PostgreSQL database is not UTF8: it takes texts that are not UTF-8, or not every text.
    #[error(
        "the database has the encoding {found}, and the outbox needs UTF8: with SQL_ASCII a message that is no UTF-8 \
         would stop all others. Make a database with `CREATE DATABASE ... TEMPLATE template0 ENCODING 'UTF8'`"
    )]
    Encoding {
        /// The encoding of the database.
        found: String,
    },
    /// A migration broke off.
    #[error(
        "the outbox tables are incomplete: `outbox_meta` has no row, so a migration broke off or the row was deleted. \
         On MySQL, run `outbox migrate` again and it goes on; elsewhere restore the row from a backup"
    )]
    Unfinished,
    /// The tables are of a later program.
    #[error(
        "the outbox tables have schema version {found}, and this program's is {SCHEMA_VERSION}: run the newer program. \
         `outbox migrate` never takes tables back, and only the release before runs on the tables of the next"
    )]
    Newer {
        /// The version of the tables.
        found: i32,
    },
    /// The tables are of an earlier program.
    #[error("the outbox tables have schema version {found}; this program needs {SCHEMA_VERSION}: run `outbox migrate`")]
    Older {
        /// The version of the tables.
        found: i32,
    },
    /// The functions of PostgreSQL are of an earlier program.
    #[error(
        "the functions of the outbox have version {found}; this program needs {FUNCTIONS_VERSION}: run `outbox migrate`, or \
         apply what `outbox migrate --print --from {SCHEMA_VERSION}` prints"
    )]
    OlderFunctions {
        /// The version of the functions.
        found: i32,
    },
    /// The messages belong to another environment: most often this is a restored copy.
    #[error(
        "this outbox belongs to the environment `{found}`, and database.environment is `{asked}`. If this is the wrong \
         database, mend database.url. If it is the right one, these settings lack database.environment = \"{found}\" \
         (OUTBOX_DATABASE__ENVIRONMENT). A restored copy that is to be `{asked}`'s is a case of its own: docs/runbook.md, \
         \"After a restore\""
    )]
    Environment {
        /// The stored environment.
        found: String,
        /// The requested environment.
        asked: String,
    },
    /// The environment is not a valid name.
    #[error("database.environment is {asked:?}: {why}; allowed is {ALLOWED}")]
    EnvironmentName {
        /// The requested environment.
        asked: String,
        /// What is wrong with the name.
        why: String,
    },
    /// The database did not answer, or refused to.
    #[error("the outbox database cannot be asked for its schema: {}", words(.0))]
    Database(#[from] sqlx::Error),
}

/// Why the tables were not made, or not brought up to date.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// The present tables stand in the way.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// PostgreSQL has no schema to put the tables into.
    #[error(
        "there is no schema to make the tables in: the role's search_path names none that exists and that it may use. \
         Set database.schema, which is made if it is missing"
    )]
    NoSchema,
    /// Another migration holds the lock.
    #[error(
        "another migration of this database has been running for two minutes: wait for it, or end its connection, \
         and run `outbox migrate` again"
    )]
    Busy,
    /// The database refused a statement, or did not answer.
    #[error(
        "the outbox tables could not be made: {}. The role must own them, or be allowed to create tables here; \
         `outbox migrate --print` shows the statements for somebody who may",
        words(.0)
    )]
    Database(#[source] sqlx::Error),
}

/// Where else the outbox may lie.
fn elsewhere(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => {
            ". If it lies in a schema of its own, set database.schema; if that is set, this role may not use the schema (GRANT USAGE \
             ON SCHEMA)"
        }
        Dialect::MySql => ", or name the right database in database.url",
        Dialect::Sqlite => ", or name the right file in database.url",
    }
}

fn another_place(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "a schema of its own (database.schema = \"dispatcher\")",
        Dialect::MySql => "another database",
        Dialect::Sqlite => "another file",
    }
}

impl From<sqlx::Error> for MigrateError {
    fn from(error: sqlx::Error) -> Self {
        // invalid_schema_name and lock_not_available of
        // https://www.postgresql.org/docs/current/errcodes-appendix.html
        match error.as_database_error().and_then(sqlx::error::DatabaseError::code).as_deref() {
            Some("3F000") => Self::NoSchema,
            Some("55P03") => Self::Busy,
            Some(_) | None => Self::Database(error),
        }
    }
}
