//! Makes the tables, and refuses tables of another program, another version or another environment.
//!
//! `outbox_meta` says which outbox this is. Where the database commits each DDL statement at once (MySQL), its row is
//! the last thing that a migration writes. So tables without that row show a migration that broke off. It is then taken
//! up again.

mod error;
mod functions;
mod index_build;
mod print;
mod split;

use uuid::Uuid;

use crate::Database;
use crate::database::Dialect;
use crate::environment;
use crate::session::Session;
use crate::sql::{AnyConnection, AnyTransaction, Statement, lacks_rights};

pub use error::{MigrateError, SchemaError};
pub use functions::FUNCTIONS_VERSION;
pub use index_build::IndexBuild;
pub use print::{migration_statements, migrations_sql};

/// The version of the tables that this program works with.
pub const SCHEMA_VERSION: i32 = 18;

/// Programs made for this version of the tables, or a later one, run on tables of [`SCHEMA_VERSION`]: a rolling upgrade
/// begins with the tables. The newest migration writes this version into `outbox_meta`.
pub const SERVES_FROM: i32 = 2;

/// The environment where none is set.
pub const DEFAULT_ENVIRONMENT: &str = "default";

/// The row of `outbox_meta`.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow, serde::Serialize)]
pub struct Meta {
    /// The version of the last migration that was applied.
    pub schema_version: i32,
    /// The id that tells this outbox from every other. It is a part of the lease's key.
    #[sqlx(try_from = "String")]
    pub outbox_id: Uuid,
    /// The environment of the messages. A copy of production carries it along, and so cannot push to real people.
    pub environment: String,
}

impl Meta {
    /// The version of the tables, where it is later than that of this program.
    pub fn newer(&self) -> Option<i32> {
        (self.schema_version > SCHEMA_VERSION).then_some(self.schema_version)
    }
}

/// The state of the tables in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaState {
    /// There is no table `outbox`.
    Absent {
        /// Whether there was one: a function, a procedure or the view of ours is still there.
        remains: bool,
    },
    /// There is a table `outbox` of another program: there is no `outbox_meta`.
    Foreign,
    /// A migration broke off, or the row of `outbox_meta` was deleted.
    Unfinished,
    /// The tables are ours, of any version and environment.
    Ours(Meta),
}

/// The result of [`Database::migrate`].
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Migrated {
    /// The version before. None where the tables were made just now. The same as in `meta` where there was nothing to
    /// do.
    pub from: Option<i32>,
    /// Whether there had been tables before, which were dropped with their messages.
    pub anew: bool,
    /// Whether PostgreSQL's functions were made or replaced.
    pub functions: bool,
    /// The tables as they are now.
    pub meta: Meta,
}

/// One step from version to version. A step is never edited once released.
struct Migration {
    version: i32,
    script: Statement,
}

const MIGRATIONS: [Migration; 18] = [
    Migration { version: 1, script: dialects!("migrations", "0001_outbox") },
    Migration { version: 2, script: dialects!("migrations", "0002_writers") },
    Migration { version: 3, script: dialects!("migrations", "0003_replicas") },
    Migration { version: 4, script: dialects!("migrations", "0004_turns") },
    Migration { version: 5, script: dialects!("migrations", "0005_fleet") },
    Migration { version: 6, script: dialects!("migrations", "0006_replay") },
    Migration { version: 7, script: dialects!("migrations", "0007_figures") },
    Migration { version: 8, script: dialects!("migrations", "0008_tags") },
    Migration { version: 9, script: dialects!("migrations", "0009_alerts") },
    Migration { version: 10, script: dialects!("migrations", "0010_operations") },
    Migration { version: 11, script: dialects!("migrations", "0011_outcome_keys") },
    Migration { version: 12, script: dialects!("migrations", "0012_operation_place") },
    // On PostgreSQL the types of the columns have bounded it all along.
    Migration { version: 13, script: dialects!("migrations", "0013_born_in_bounds") },
    Migration { version: 14, script: dialects!("migrations", "0014_ids_by_the_table") },
    Migration { version: 15, script: dialects!("migrations", "0015_terms_in_doubt") },
    Migration { version: 16, script: dialects!("migrations", "0016_writers_not_hurt") },
    Migration { version: 17, script: dialects!("migrations", "0017_claims_bounded") },
    Migration { version: 18, script: dialects!("migrations", "0018_deadlines") },
];

const TABLES: Statement = statement!("migrate/tables");
const WHO: Statement = statement!("migrate/who");
const META: Statement = statement!("migrate/meta");
const SERVES: Statement = statement!("migrate/serves");
const CONFIRM: Statement = statement!("migrate/confirm_environment");

impl Database {
    /// Makes the tables, or brings them to this program's version. Many processes may call this at once: one works, and
    /// the others wait and find the work done. On PostgreSQL, makes the schema that `database.schema` names.
    ///
    /// # Errors
    /// A table `outbox` of another program, a newer schema, or another environment. These are left untouched.
    ///
    /// # Cancel safety
    /// Safe: PostgreSQL and SQLite undo all of it. MySQL keeps what was made, and the next call goes on from there.
    pub async fn migrate(&self, environment: &str) -> Result<Migrated, MigrateError> {
        self.migrate_watched(environment, &|_| {}).await
    }

    /// The same. `told` is told of each version before it is made: on large tables one can take minutes.
    ///
    /// # Errors
    /// As of [`Database::migrate`].
    pub async fn migrate_watched(
        &self,
        environment: &str,
        told: &(dyn Fn(i32) + Sync),
    ) -> Result<Migrated, MigrateError> {
        check_name(environment)?;
        self.require_utf8().await?;
        match self {
            Self::Postgres(pool) => {
                let mut transaction = Session::begin(pool, "BEGIN ISOLATION LEVEL READ COMMITTED").await?;
                let mut connection = AnyConnection::Postgres(&mut transaction);
                connection.script(query!("postgres/migrate/migrate_begin").to_owned()).await?;
                let migrated = apply(connection, Dialect::Postgres, environment, told).await?;
                transaction.commit().await?;
                Ok(migrated)
            }
            Self::MySql(pool) => {
                // The connection leaves the pool: the lock lasts as long as the connection, whatever becomes of this
                // call.
                let mut connection = pool.acquire().await?.detach();
                sqlx::raw_sql(query!("mysql/migrate/migrate_limits")).execute(&mut connection).await?;
                let lock: Option<i64> =
                    sqlx::query_scalar(query!("mysql/migrate/migrate_lock")).fetch_one(&mut connection).await?;
                if lock != Some(1) {
                    return Err(MigrateError::Busy);
                }
                let migrated = apply(AnyConnection::MySql(&mut connection), Dialect::MySql, environment, told).await?;
                sqlx::Connection::close(connection).await?;
                Ok(migrated)
            }
            Self::Sqlite(pool) => {
                let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
                let connection = AnyConnection::Sqlite(&mut transaction);
                let migrated = apply(connection, Dialect::Sqlite, environment, told).await?;
                transaction.commit().await?;
                Ok(migrated)
            }
        }
    }

    /// The state of the tables in the database.
    pub async fn schema_state(&self) -> Result<SchemaState, SchemaError> {
        let mut transaction = AnyTransaction::to_read(self).await?;
        let state = state(&mut transaction.connection()).await?;
        transaction.commit().await?;
        Ok(state)
    }

    /// Checks what `run` needs: tables of this environment, and of this version or a newer one that serves it. Newer
    /// tables exist between the first and the last step of a rolling upgrade: [`Meta::newer`].
    pub async fn require(&self, environment: &str) -> Result<Meta, SchemaError> {
        check_name(environment)?;
        of_environment(self.require_tables().await?, environment)
    }

    /// The same for whoever only looks: tables of any environment.
    pub async fn require_tables(&self) -> Result<Meta, SchemaError> {
        self.require_utf8().await?;
        let mut transaction = AnyTransaction::to_read(self).await?;
        let mut connection = transaction.connection();
        let dialect = self.dialect();
        let meta = ours(state(&mut connection).await?, dialect)?.ok_or(SchemaError::Absent { dialect })?;
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
        Ok(meta)
    }

    async fn require_utf8(&self) -> Result<(), SchemaError> {
        let Self::Postgres(pool) = self else { return Ok(()) };
        let found: String = sqlx::query_scalar(query!("postgres/migrate/encoding")).fetch_one(pool).await?;
        if found == "UTF8" { Ok(()) } else { Err(SchemaError::Encoding { found }) }
    }

    /// Gives this outbox the environment `environment`: an operator's word for a restored copy (`outbox migrate
    /// --adopt-environment`). It becomes an outbox of its own, with a new `outbox_id`, so that it does not contend with
    /// the original for one lease. Stop its dispatchers before, and decide what becomes of its `PENDING` rows: the
    /// original may have sent them.
    ///
    /// Without a change of environment it does nothing.
    pub async fn confirm_environment(&self, environment: &str) -> Result<Meta, SchemaError> {
        check_name(environment)?;
        let mut transaction = AnyTransaction::to_write(self).await?;
        let mut connection = transaction.connection();
        let dialect = self.dialect();
        let mut meta = usable(state(&mut connection).await?, dialect)?.ok_or(SchemaError::Absent { dialect })?;
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
    told: &(dyn Fn(i32) + Sync),
) -> Result<Migrated, MigrateError> {
    let state = state(&mut connection).await?;
    let anew = matches!(state, SchemaState::Absent { remains: true });
    let found = match state {
        // Only MySQL can leave a migration half done. Each of its statements may be run again.
        SchemaState::Unfinished if dialect == Dialect::MySql => None,
        state => usable(state, dialect)?,
    };
    if let Some(meta) = found.clone() {
        of_environment(meta, environment)?;
    }
    let from = found.map(|meta| meta.schema_version);
    for migration in MIGRATIONS.iter().filter(|migration| Some(migration.version) > from) {
        told(migration.version);
        connection.script(print::for_the_server(migration, dialect, environment)).await?;
    }
    let functions = match functions::script(dialect) {
        // A program of a later release may have replaced the functions already.
        Some(script) if serves(&mut connection).await?.functions < FUNCTIONS_VERSION => {
            connection.script(script).await?;
            true
        }
        Some(_) | None => false,
    };
    let meta = read_meta(&mut connection).await?.ok_or(SchemaError::Unfinished)?;
    Ok(Migrated { from, anew, functions, meta })
}

async fn state(connection: &mut AnyConnection<'_>) -> Result<SchemaState, SchemaError> {
    let tables: Vec<(bool, bool, bool, bool)> = connection.rows(&TABLES, &[]).await?;
    Ok(match tables.first() {
        Some((_, true, _, false)) => return Err(unreadable(connection, true).await?),
        Some((_, true, _, true)) => match read_meta(connection).await? {
            Some(meta) => SchemaState::Ours(meta),
            None => SchemaState::Unfinished,
        },
        Some((_, false, _, _)) if is_hidden(connection).await => return Err(unreadable(connection, false).await?),
        Some((true, false, _, _)) => SchemaState::Foreign,
        Some((false, false, remains, _)) => SchemaState::Absent { remains: *remains },
        None => SchemaState::Absent { remains: false },
    })
}

/// Whether `outbox_meta` may be there though the database does not show it: MySQL shows no table to whoever has no right to it.
async fn is_hidden(connection: &mut AnyConnection<'_>) -> bool {
    matches!(connection, AnyConnection::MySql(_))
        && read_meta(connection).await.is_err_and(|error| lacks_rights(&error))
}

/// The error of a role that may not read `outbox_meta`.
async fn unreadable(connection: &mut AnyConnection<'_>, is_certain: bool) -> Result<SchemaError, SchemaError> {
    let mut rows: Vec<(String, String)> = connection.rows(&WHO, &[]).await?;
    let (role, place) = rows.pop().ok_or(sqlx::Error::RowNotFound)?;
    let grant = format!("GRANT SELECT ON {place}.outbox_meta TO {role};");
    Ok(SchemaError::Unreadable { role, grant, is_certain })
}

async fn read_meta(connection: &mut AnyConnection<'_>) -> sqlx::Result<Option<Meta>> {
    Ok(connection.rows(&META, &[]).await?.pop())
}

/// The columns that tables have from version 3 on, about the programs that use them.
struct Serves {
    from: i32,
    functions: i32,
}

async fn serves(connection: &mut AnyConnection<'_>) -> Result<Serves, SchemaError> {
    let rows: Vec<(i32, i32)> = connection.rows(&SERVES, &[]).await?;
    let &(from, functions) = rows.first().ok_or(SchemaError::Unfinished)?;
    Ok(Serves { from, functions })
}

/// Our tables, of any version. None where there are no tables yet.
fn ours(state: SchemaState, dialect: Dialect) -> Result<Option<Meta>, SchemaError> {
    match state {
        SchemaState::Absent { .. } => Ok(None),
        SchemaState::Foreign => Err(SchemaError::Foreign { dialect }),
        SchemaState::Unfinished => Err(SchemaError::Unfinished),
        SchemaState::Ours(meta) => Ok(Some(meta)),
    }
}

/// Our tables, where they are not newer than this program.
fn usable(state: SchemaState, dialect: Dialect) -> Result<Option<Meta>, SchemaError> {
    match ours(state, dialect)? {
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
