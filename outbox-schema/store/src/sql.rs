//! Runs one statement on any of the three databases: for migrating, for the operator's desk, and for what a poller does
//! beside its messages (destinations, retention). The work for each message has statements of its own for each
//! database: the stores, and enqueuing.

use futures_util::TryStreamExt;
use sqlx::mysql::MySqlRow;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{
    Arguments, AssertSqlSafe, Encode, FromRow, MySql, MySqlConnection, PgConnection, Postgres, Sqlite,
    SqliteConnection, Transaction, Type,
};

use crate::lineage::begin_after_all;
use crate::literal::{self, spelled_out};
use crate::session::Session;
use crate::statement::Statement;
use crate::{Database, QueryError, Shard};

const CLOCK: Statement = statement!("poller/clock");

/// A parameter.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    /// A whole number, or NULL.
    Number(Option<i64>),
    /// A text, or NULL.
    Text(Option<&'a str>),
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Number(Some(number))
    }
}

impl From<Shard> for Value<'_> {
    fn from(shard: Shard) -> Self {
        i64::from(shard.0).into()
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(Some(text))
    }
}

impl<'a> From<Option<&'a str>> for Value<'a> {
    fn from(text: Option<&'a str>) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Some(text))
    }
}

impl Value<'_> {
    /// As a literal of MySQL and MariaDB.
    fn spelled(&self) -> String {
        let literal = match self {
            Self::Number(number) => number.map(|number| number.to_string()),
            Self::Text(text) => text.map(literal::text),
        };
        literal.unwrap_or_else(|| "NULL".to_owned())
    }
}

/// A row that is read in the same way from each database. `()` is for statements without rows.
pub trait AnyRow:
    for<'r> FromRow<'r, PgRow> + for<'r> FromRow<'r, MySqlRow> + for<'r> FromRow<'r, SqliteRow> + Send + Unpin
{
}

impl<T> AnyRow for T where
    T: for<'r> FromRow<'r, PgRow> + for<'r> FromRow<'r, MySqlRow> + for<'r> FromRow<'r, SqliteRow> + Send + Unpin
{
}

/// A row, as its database returns it.
enum Row {
    Postgres(PgRow),
    MySql(MySqlRow),
    Sqlite(SqliteRow),
}

impl Row {
    fn read<T: AnyRow>(&self) -> sqlx::Result<T> {
        match self {
            Self::Postgres(row) => T::from_row(row),
            Self::MySql(row) => T::from_row(row),
            Self::Sqlite(row) => T::from_row(row),
        }
    }
}

/// Takes each row of a statement, one after the other.
type Take<'a> = &'a mut (dyn FnMut(Row) -> sqlx::Result<()> + Send);

/// A connection to one of the databases.
#[derive(Debug)]
pub enum AnyConnection<'c> {
    /// PostgreSQL.
    Postgres(&'c mut PgConnection),
    /// MySQL or MariaDB.
    MySql(&'c mut MySqlConnection),
    /// SQLite.
    Sqlite(&'c mut SqliteConnection),
}

impl AnyConnection<'_> {
    /// Runs a statement and reads the rows that it returns.
    pub async fn rows<T: AnyRow>(
        &mut self,
        statement: &'static Statement,
        values: &[Value<'_>],
    ) -> sqlx::Result<Vec<T>> {
        let mut read = Vec::new();
        Box::pin(self.each(statement, values, &mut |row| row.read().map(|row| read.push(row)))).await?;
        Ok(read)
    }

    /// The same for a statement that reads much of an index. MariaDB 10.11 reads the rows too when it executes a
    /// prepared statement a second time, even where the index has all columns. So there the statement is sent as text.
    pub async fn rows_from_index<T: AnyRow>(
        &mut self,
        statement: &'static Statement,
        values: &[Value<'_>],
    ) -> sqlx::Result<Vec<T>> {
        let Self::MySql(connection) = self else { return self.rows(statement, values).await };
        let rows = Box::pin(rows_of_text(connection, statement, values)).await?;
        rows.iter().map(T::from_row).collect()
    }

    /// Runs a statement, and hands over the rows that it returns. It is compiled once, whatever the rows are read as.
    async fn each(&mut self, statement: &'static Statement, values: &[Value<'_>], take: Take<'_>) -> sqlx::Result<()> {
        match self {
            Self::Postgres(connection) => {
                let query = sqlx::query_with(statement.postgres, bound::<Postgres>(values)?);
                let mut rows = query.fetch(&mut **connection);
                while let Some(row) = rows.try_next().await? {
                    take(Row::Postgres(row))?;
                }
            }
            Self::MySql(connection) => {
                let (text, values) = unnumbered(statement.mysql, values);
                let query = sqlx::query_with(AssertSqlSafe(text), bound::<MySql>(&values)?);
                let mut rows = query.fetch(&mut **connection);
                while let Some(row) = rows.try_next().await? {
                    take(Row::MySql(row))?;
                }
            }
            Self::Sqlite(connection) => {
                let query = sqlx::query_with(statement.sqlite, bound::<Sqlite>(values)?);
                let mut rows = query.fetch(&mut **connection);
                while let Some(row) = rows.try_next().await? {
                    take(Row::Sqlite(row))?;
                }
            }
        }
        Ok(())
    }

    /// Runs a statement that inserts one row. Returns the `id` of the row.
    pub async fn inserted_id(&mut self, statement: &'static Statement, values: &[Value<'_>]) -> sqlx::Result<i64> {
        match self {
            Self::Postgres(connection) => {
                let query = sqlx::query_scalar_with(statement.postgres, bound::<Postgres>(values)?);
                query.fetch_one(&mut **connection).await
            }
            Self::MySql(connection) => {
                let (text, values) = unnumbered(statement.mysql, values);
                let query = sqlx::query_with(AssertSqlSafe(text), bound::<MySql>(&values)?);
                Ok(query.execute(&mut **connection).await?.last_insert_id().cast_signed())
            }
            Self::Sqlite(connection) => {
                let query = sqlx::query_scalar_with(statement.sqlite, bound::<Sqlite>(values)?);
                query.fetch_one(&mut **connection).await
            }
        }
    }

    /// Runs a statement that returns no rows. Returns how many rows it changed.
    pub async fn changed(&mut self, statement: &'static Statement, values: &[Value<'_>]) -> sqlx::Result<u64> {
        match self {
            Self::Postgres(connection) => {
                let query = sqlx::query_with(statement.postgres, bound::<Postgres>(values)?);
                Ok(query.execute(&mut **connection).await?.rows_affected())
            }
            Self::MySql(connection) => {
                let (text, values) = unnumbered(statement.mysql, values);
                let query = sqlx::query_with(AssertSqlSafe(text), bound::<MySql>(&values)?);
                Ok(query.execute(&mut **connection).await?.rows_affected())
            }
            Self::Sqlite(connection) => {
                let query = sqlx::query_with(statement.sqlite, bound::<Sqlite>(values)?);
                Ok(query.execute(&mut **connection).await?.rows_affected())
            }
        }
    }

    /// The time by the database's clock, in microseconds since 1970.
    pub async fn now_us(&mut self) -> sqlx::Result<i64> {
        let now: Vec<(i64,)> = self.rows(&CLOCK, &[]).await?;
        now.first().map(|(us,)| *us).ok_or(sqlx::Error::RowNotFound)
    }

    /// Runs a script of our own: statements without parameters.
    pub async fn script(&mut self, script: String) -> sqlx::Result<()> {
        let script = sqlx::raw_sql(AssertSqlSafe(script));
        match self {
            Self::Postgres(connection) => script.execute(&mut **connection).await.map(drop),
            Self::MySql(connection) => script.execute(&mut **connection).await.map(drop),
            Self::Sqlite(connection) => script.execute(&mut **connection).await.map(drop),
        }
    }
}

async fn rows_of_text(
    connection: &mut MySqlConnection,
    statement: &'static Statement,
    values: &[Value<'_>],
) -> sqlx::Result<Vec<MySqlRow>> {
    let (text, values) = unnumbered(statement.mysql, values);
    let values: Vec<_> = values.iter().map(Value::spelled).collect();
    sqlx::raw_sql(spelled_out(&text, &values)).fetch_all(connection).await
}

/// The statement with bare `?`, and a value for each. A statement that has only bare `?` stays as it is.
fn unnumbered<'a>(statement: &str, values: &[Value<'a>]) -> (String, Vec<Value<'a>>) {
    let mut parts = statement.split('?');
    let mut text = parts.next().unwrap_or_default().to_owned();
    let mut named = Vec::new();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        let number = part[..part.len() - rest.len()].parse::<usize>().ok();
        named.extend(number.and_then(|number| values.get(number.checked_sub(1)?)));
        text.push('?');
        text.push_str(rest);
    }
    (text, if named.is_empty() { values.to_vec() } else { named })
}

fn bound<DB>(values: &[Value<'_>]) -> sqlx::Result<DB::Arguments>
where
    DB: sqlx::Database,
    Option<i64>: for<'q> Encode<'q, DB> + Type<DB>,
    Option<String>: for<'q> Encode<'q, DB> + Type<DB>,
{
    let mut arguments = DB::Arguments::default();
    for value in values {
        match *value {
            Value::Number(number) => arguments.add(number),
            Value::Text(text) => arguments.add(text.map(str::to_owned)),
        }
        .map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
}

/// A transaction on one of the databases. Dropped before its commit it is undone; a server's connection is closed with it, so a
/// transaction that was only read is committed too.
///
/// # Cancel safety
/// Safe, also while it begins: see [`Session`].
#[derive(Debug)]
pub enum AnyTransaction {
    /// PostgreSQL.
    Postgres(Session<Postgres>),
    /// MySQL or MariaDB.
    MySql(Session<MySql>),
    /// SQLite.
    Sqlite(Transaction<'static, Sqlite>),
}

impl AnyTransaction {
    /// To look only: what is read on PostgreSQL and SQLite is of one moment.
    pub async fn to_read(database: &Database) -> sqlx::Result<Self> {
        let postgres = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        Self::begin(database, postgres, "START TRANSACTION READ ONLY", "BEGIN").await
    }

    /// Begins a transaction that locks, then reads in a later statement, and writes. (On MySQL the session is READ
    /// COMMITTED.)
    pub async fn to_write(database: &Database) -> sqlx::Result<Self> {
        let mysql = query!("mysql/poller/begin");
        Self::begin(database, "BEGIN ISOLATION LEVEL READ COMMITTED", mysql, "BEGIN IMMEDIATE").await
    }

    /// The same for what must know of all that any server of a cluster has committed.
    pub async fn to_write_after_all(database: &Database) -> sqlx::Result<Self> {
        let Database::MySql(pool) = database else { return Self::to_write(database).await };
        let mut session = Session::open(pool).await?;
        begin_after_all(&mut session).await?;
        Ok(Self::MySql(session))
    }

    async fn begin(
        database: &Database,
        postgres: &'static str,
        mysql: &'static str,
        sqlite: &'static str,
    ) -> sqlx::Result<Self> {
        Ok(match database {
            Database::Postgres(pool) => Self::Postgres(Session::begin(pool, postgres).await?),
            Database::MySql(pool) => Self::MySql(Session::begin(pool, mysql).await?),
            Database::Sqlite(pool) => Self::Sqlite(pool.begin_with(sqlite).await?),
        })
    }

    /// The connection, for what is done in the transaction.
    pub fn connection(&mut self) -> AnyConnection<'_> {
        match self {
            Self::Postgres(transaction) => AnyConnection::Postgres(transaction),
            Self::MySql(transaction) => AnyConnection::MySql(transaction),
            Self::Sqlite(transaction) => AnyConnection::Sqlite(transaction),
        }
    }

    /// Commits.
    pub async fn commit(self) -> sqlx::Result<()> {
        match self {
            Self::Postgres(transaction) => transaction.commit().await,
            Self::MySql(transaction) => transaction.commit().await,
            Self::Sqlite(transaction) => transaction.commit().await,
        }
    }
}

/// Reads the rows of one statement, in a transaction of its own.
pub async fn read<T: AnyRow>(
    database: &Database,
    statement: &'static Statement,
    values: &[Value<'_>],
) -> sqlx::Result<Vec<T>> {
    let mut read = Vec::new();
    Box::pin(read_each(database, statement, values, &mut |row| row.read().map(|row| read.push(row)))).await?;
    Ok(read)
}

async fn read_each(
    database: &Database,
    statement: &'static Statement,
    values: &[Value<'_>],
    take: Take<'_>,
) -> sqlx::Result<()> {
    let mut transaction = AnyTransaction::to_read(database).await?;
    transaction.connection().each(statement, values, take).await?;
    transaction.commit().await
}

/// Runs one statement that returns no rows, in a transaction of its own.
pub async fn write(database: &Database, statement: &'static Statement, values: &[Value<'_>]) -> sqlx::Result<()> {
    let mut transaction = AnyTransaction::to_write(database).await?;
    transaction.connection().changed(statement, values).await?;
    transaction.commit().await
}

/// An error of the database, with what was asked of it.
pub(crate) fn while_doing(doing: &'static str) -> impl FnOnce(sqlx::Error) -> QueryError {
    move |source| QueryError { doing, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_numbered_parameter_is_bound_wherever_it_is_named() {
        let (text, values) = unnumbered("SELECT ?2, ?1, ?2", &[1.into(), 2.into()]);
        assert_eq!(text, "SELECT ?, ?, ?");
        assert!(matches!(values[..], [Value::Number(Some(2)), Value::Number(Some(1)), Value::Number(Some(2))]));
        let (text, values) = unnumbered("SELECT ?, ?", &[1.into(), 2.into()]);
        assert_eq!((text.as_str(), values.len()), ("SELECT ?, ?", 2));
    }
}
