//! Makes the tables, and looks at those that are there.

use uuid::Uuid;

use super::error::{MigrateError, SchemaError};
use super::functions::{self, FUNCTIONS_VERSION};
use super::print;
use super::state::{Meta, Migrated, SchemaState};
use super::versions::{MIGRATIONS, SCHEMA_VERSION};
use crate::database::Dialect;
use crate::rights::lacks_rights;
use crate::session::Session;
use crate::sql::{AnyConnection, AnyTransaction};
use crate::statement::Statement;
use crate::{Database, environment};

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

/// The row of `outbox_meta`, where there is one.
pub async fn read_meta(connection: &mut AnyConnection<'_>) -> sqlx::Result<Option<Meta>> {
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
