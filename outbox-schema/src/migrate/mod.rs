//! Making the tables, and refusing those that are not ours, not of this version, or of another environment.
//!
//! `outbox_meta` says which outbox this is. Its row is the last thing that a migration writes where the database
//! commits each DDL statement at once (MySQL): a table without that row is a migration that broke off, and is
//! taken up again.

mod error;
mod functions;
mod print;
mod split;

use uuid::Uuid;

use crate::Database;
use crate::database::Dialect;
use crate::environment;
use crate::session::Session;
use crate::sql::{AnyConnection, AnyTransaction, Statement};

pub use error::{MigrateError, SchemaError};
pub use functions::FUNCTIONS_VERSION;
pub use print::{migration_statements, migrations_sql};

/// The version of the tables that this program works with.
pub const SCHEMA_VERSION: i32 = 3;

/// Programs made for this version of the tables and later ones run on those of [`SCHEMA_VERSION`]: a rolling upgrade begins with
/// the tables. The newest migration writes it into `outbox_meta`.
pub const SERVES_FROM: i32 = 2;

/// The environment where none is set.
pub const DEFAULT_ENVIRONMENT: &str = "default";

/// What the tables say of themselves.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow, serde::Serialize)]
pub struct Meta {
    /// The last migration that was applied.
    pub schema_version: i32,
    /// Tells this outbox from every other: a part of the lease's key.
    #[sqlx(try_from = "String")]
    pub outbox_id: Uuid,
    /// Whose messages these are. A copy of production carries it along, and so cannot push to real people.
    pub environment: String,
}

impl Meta {
    /// The version of the tables, where they are of a later release than this program.
    pub fn newer(&self) -> Option<i32> {
        (self.schema_version > SCHEMA_VERSION).then_some(self.schema_version)
    }
}

/// What there is in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaState {
    /// No table `outbox`.
    Absent {
        /// Whether there was one: a function, a procedure or the view of ours is still there.
        remains: bool,
    },
    /// A table `outbox` that is not ours: there is no `outbox_meta`.
    Foreign,
    /// A migration broke off, or the row of `outbox_meta` was deleted.
    Unfinished,
    /// Ours, of whatever version and environment.
    Ours(Meta),
}

/// What [`Database::migrate`] did.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Migrated {
    /// The version that was there; none where the tables were made just now. As `meta` where there was nothing to do.
    pub from: Option<i32>,
    /// Whether there had been tables before, which somebody dropped, with their messages.
    pub anew: bool,
    /// Whether PostgreSQL's functions were made or replaced.
    pub functions: bool,
    /// What is there now.
    pub meta: Meta,
}

/// One step from version to version. A step is never edited once released.
struct Migration {
    version: i32,
    script: Statement,
}

const MIGRATIONS: [Migration; 3] = [
    Migration { version: 1, script: dialects!("migrations", "0001_outbox") },
    Migration { version: 2, script: dialects!("migrations", "0002_writers") },
    Migration { version: 3, script: dialects!("migrations", "0003_replicas") },
];

const TABLES: Statement = statement!("migrate/tables");
const META: Statement = statement!("migrate/meta");
const SERVES: Statement = statement!("migrate/serves");
const CONFIRM: Statement = statement!("migrate/confirm_environment");

impl Database {
    /// Makes the tables, or brings them to this program's version. Many may call it at once: one works, the others
    /// wait and find the work done. On PostgreSQL, makes the schema that `database.schema` names.
    ///
    /// # Errors
    /// A table `outbox` of somebody else, a newer schema, or another environment are left untouched.
    ///
    /// # Cancel safety
    /// Safe: PostgreSQL and SQLite undo all of it; MySQL keeps what was made, and the next call goes on from there.
    pub async fn migrate(&self, environment: &str) -> Result<Migrated, MigrateError> {
        check_name(environment)?;
        self.require_utf8().await?;
        match self {
            Self::Postgres(pool) => {
                let mut transaction = Session::begin(pool, "BEGIN ISOLATION LEVEL READ COMMITTED").await?;
                let mut connection = AnyConnection::Postgres(&mut transaction);
                connection.script(query!("postgres/migrate/migrate_begin").to_owned()).await?;
                let migrated = apply(connection, Dialect::Postgres, environment).await?;
                transaction.commit().await?;
                Ok(migrated)
            }
            Self::MySql(pool) => {
                // Out of the pool: the lock lasts as long as the connection, whatever becomes of this call.
                let mut connection = pool.acquire().await?.detach();
                sqlx::raw_sql(query!("mysql/migrate/migrate_limits")).execute(&mut connection).await?;
                let lock: Option<i64> =
                    sqlx::query_scalar(query!("mysql/migrate/migrate_lock")).fetch_one(&mut connection).await?;
                if lock != Some(1) {
                    return Err(MigrateError::Busy);
                }
                let migrated = apply(AnyConnection::MySql(&mut connection), Dialect::MySql, environment).await?;
                sqlx::Connection::close(connection).await?;
                Ok(migrated)
            }
            Self::Sqlite(pool) => {
                let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
                let connection = AnyConnection::Sqlite(&mut transaction);
                let migrated = apply(connection, Dialect::Sqlite, environment).await?;
                transaction.commit().await?;
                Ok(migrated)
            }
        }
    }

    /// What there is in the database.
    pub async fn schema_state(&self) -> Result<SchemaState, SchemaError> {
        let mut transaction = AnyTransaction::to_read(self).await?;
        let state = state(&mut transaction.connection()).await?;
        transaction.commit().await?;
        Ok(state)
    }

    /// What `run` needs: tables of this version, or newer ones that serve it, of this environment. Newer ones are there between
    /// the first and the last step of a rolling upgrade: [`Meta::newer`].
    pub async fn require(&self, environment: &str) -> Result<Meta, SchemaError> {
        check_name(environment)?;
        self.require_utf8().await?;
        let mut transaction = AnyTransaction::to_read(self).await?;
        let mut connection = transaction.connection();
        let meta = ours(state(&mut connection).await?)?.ok_or(SchemaError::Absent)?;
        let found = meta.schema_version;
        if found < SCHEMA_VERSION {
            return Err(SchemaError::Older { found });
        }
        let serves = serves(&mut connection).await?;
        transaction.commit().await?;
        if found > SCHEMA_VERSION && serves.from > SCHEMA_VERSION {
            return Err(SchemaError::Newer { found });
        }
        if self.dialect() == Dialect::Postgres && serves.functions < FUNCTIONS_VERSION {
            return Err(SchemaError::OlderFunctions { found: serves.functions });
        }
        of_environment(meta, environment)
    }

    async fn require_utf8(&self) -> Result<(), SchemaError> {
        let Self::Postgres(pool) = self else { return Ok(()) };
        let found: String = sqlx::query_scalar(query!("postgres/migrate/encoding")).fetch_one(pool).await?;
        if found == "UTF8" { Ok(()) } else { Err(SchemaError::Encoding { found }) }
    }

    /// Says that this outbox is `environment`'s from now on: an operator's word for a restored copy (`outbox migrate
    /// --adopt-environment`). It becomes an outbox of its own, with a new `outbox_id`, so that it does not contend
    /// with the original for one lease. Stop its dispatchers before, and decide what becomes of its `PENDING` rows:
    /// the original may have sent them.
    ///
    /// Without a change of environment it does nothing.
    pub async fn confirm_environment(&self, environment: &str) -> Result<Meta, SchemaError> {
        check_name(environment)?;
        let mut transaction = AnyTransaction::to_write(self).await?;
        let mut connection = transaction.connection();
        let mut meta = usable(state(&mut connection).await?)?.ok_or(SchemaError::Absent)?;
        if meta.environment != environment {
            meta.environment = environment.to_owned();
            meta.outbox_id = Uuid::new_v4();
            let id = meta.outbox_id.to_string();
            connection.rows::<()>(&CONFIRM, &[environment.into(), id.as_str().into()]).await?;
        }
        transaction.commit().await?;
        Ok(meta)
    }
}

async fn apply(
    mut connection: AnyConnection<'_>,
    dialect: Dialect,
    environment: &str,
) -> Result<Migrated, MigrateError> {
    let state = state(&mut connection).await?;
    let anew = matches!(state, SchemaState::Absent { remains: true });
    let found = match state {
        // Only MySQL can leave a migration half done; each of its statements may be run again.
        SchemaState::Unfinished if dialect == Dialect::MySql => None,
        state => usable(state)?,
    };
    if let Some(meta) = found.clone() {
        of_environment(meta, environment)?;
    }
    let from = found.map(|meta| meta.schema_version);
    for migration in MIGRATIONS.iter().filter(|migration| Some(migration.version) > from) {
        connection.script(print::for_the_server(migration, dialect, environment)).await?;
    }
    let functions = match functions::script(dialect) {
        // A program of a later release may have replaced them already.
        Some(script) if serves(&mut connection).await?.functions < FUNCTIONS_VERSION => {
            connection.script(script).await?;
            true
        }
        Some(_) | None => false,
    };
    let meta = read_meta(&mut connection).await?.ok_or(SchemaError::Unfinished)?;
    Ok(Migrated { from, anew, functions, meta })
}

async fn state(connection: &mut AnyConnection<'_>) -> sqlx::Result<SchemaState> {
    let tables: Vec<(bool, bool, bool)> = connection.rows(&TABLES, &[]).await?;
    Ok(match tables.first() {
        Some((_, true, _)) => match read_meta(connection).await? {
            Some(meta) => SchemaState::Ours(meta),
            None => SchemaState::Unfinished,
        },
        Some((true, false, _)) => SchemaState::Foreign,
        Some((false, false, remains)) => SchemaState::Absent { remains: *remains },
        None => SchemaState::Absent { remains: false },
    })
}

async fn read_meta(connection: &mut AnyConnection<'_>) -> sqlx::Result<Option<Meta>> {
    Ok(connection.rows(&META, &[]).await?.pop())
}

/// What tables from version 3 on say of those who use them.
struct Serves {
    from: i32,
    functions: i32,
}

async fn serves(connection: &mut AnyConnection<'_>) -> Result<Serves, SchemaError> {
    let rows: Vec<(i32, i32)> = connection.rows(&SERVES, &[]).await?;
    let &(from, functions) = rows.first().ok_or(SchemaError::Unfinished)?;
    Ok(Serves { from, functions })
}

/// What is ours, of whatever version; none where there is nothing yet.
fn ours(state: SchemaState) -> Result<Option<Meta>, SchemaError> {
    match state {
        SchemaState::Absent { .. } => Ok(None),
        SchemaState::Foreign => Err(SchemaError::Foreign),
        SchemaState::Unfinished => Err(SchemaError::Unfinished),
        SchemaState::Ours(meta) => Ok(Some(meta)),
    }
}

/// What is ours and not newer than this program.
fn usable(state: SchemaState) -> Result<Option<Meta>, SchemaError> {
    match ours(state)? {
        Some(Meta { schema_version: found, .. }) if found > SCHEMA_VERSION => Err(SchemaError::Newer { found }),
        meta => Ok(meta),
    }
}

fn of_environment(meta: Meta, environment: &str) -> Result<Meta, SchemaError> {
    if meta.environment == environment {
        Ok(meta)
    } else {
        Err(SchemaError::Environment { found: meta.environment, asked: environment.to_owned() })
    }
}

fn check_name(environment: &str) -> Result<(), SchemaError> {
    environment::check(environment).map_err(|why| SchemaError::EnvironmentName { asked: environment.to_owned(), why })
}
