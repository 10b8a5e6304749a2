//! A lease in the outbox database: the table `outbox_lease`, one row per shard.
//!
//! The database's clock decides when a lease expires, never the clock of a replica. Times to live are exact to the
//! millisecond. Each candidate reads the row ten times a second, so that a hand-over is quick. Redis suits a large
//! fleet better, since it tells the candidates.

use std::time::Duration;

use async_trait::async_trait;
use outbox_store::session::Session;
use outbox_store::{Database, Holder, Shard};
use sqlx::{Executor, MySqlConnection, MySqlPool, PgPool, Pool, SqlitePool};

use super::{Held, Lease, LeaseError};

/// How often a candidate checks whether the lease has been released.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// How long the database has for each answer at least, and what part of the time to live where that is more. A caller waits
/// less long (see [`to_its_end`]). Without a limit, a database that is gone without a word would take the few connections of
/// the lease away for ever.
const LIMIT: Duration = Duration::from_secs(2);
const LIMIT_OF_TTL: u32 = 3;

/// How often a call looks for the lock of an SQLite file.
const LOOK_FOR_LOCK: Duration = Duration::from_millis(2);

/// The lease of one outbox in its own database. It needs no other server, but connections of its own.
#[derive(Debug, Clone)]
pub enum TableLease {
    /// PostgreSQL 13 or later.
    Postgres(PgPool),
    /// MySQL 8.4 or 9, or MariaDB 10.6 or later.
    MySql(MySqlPool),
    /// SQLite.
    Sqlite(SqlitePool),
}

#[async_trait]
impl Lease for TableLease {
    async fn acquire(&self, shard: Shard, holder: &Holder, ttl: Duration) -> Result<bool, LeaseError> {
        let (lease, holder) = (self.clone(), holder.clone());
        let acquired = self.to_its_end(limit(ttl), async move { lease.take(shard, &holder, ttl).await });
        acquired.await.map_err(failed("campaigning for the lease"))
    }

    async fn renew(&self, shard: Shard, holder: &Holder, ttl: Duration) -> Result<bool, LeaseError> {
        let (lease, holder) = (self.clone(), holder.clone());
        let renewed = self.to_its_end(limit(ttl), async move { lease.prolong(shard, &holder, ttl).await });
        renewed.await.map_err(failed("renewing the lease"))
    }

    async fn release(&self, shard: Shard, holder: &Holder) -> Result<bool, LeaseError> {
        let (lease, holder) = (self.clone(), holder.clone());
        let released = self.to_its_end(LIMIT, async move { lease.give_up(shard, &holder).await });
        released.await.map_err(failed("releasing the lease"))
    }

    /// Reads the row ten times a second: none of these databases tells a candidate of a release.
    async fn released(&self, shard: Shard) {
        loop {
            tokio::time::sleep(LOOK_AGAIN).await;
            match self.current(shard).await {
                Ok(Some(_)) => {}
                Ok(None) => return,
                // The next campaign will report the error. No release is reported meanwhile.
                Err(_) => std::future::pending().await,
            }
        }
    }

    async fn current(&self, shard: Shard) -> Result<Option<Held>, LeaseError> {
        let lease = self.clone();
        let found = self.to_its_end(LIMIT, async move { lease.read(shard).await });
        let found = found.await.map_err(failed("asking who holds the lease"))?;
        Ok(found.map(|(holder, remaining)| Held {
            holder,
            remaining: Duration::from_millis(remaining.try_into().unwrap_or_default()),
            removed_by: None,
        }))
    }
}

fn limit(ttl: Duration) -> Duration {
    LIMIT.max(ttl / LIMIT_OF_TTL)
}

/// Does some work on a connection of a pool. Where the work is given up, or fails, the connection is closed.
async fn on<DB: sqlx::Database, T>(
    pool: &Pool<DB>,
    work: impl AsyncFnOnce(&mut DB::Connection) -> sqlx::Result<T>,
) -> sqlx::Result<T> {
    let mut session = Session::open(pool).await?;
    let done = work(&mut session).await?;
    session.finish();
    Ok(done)
}

/// Changes the row of the lease in an SQLite file as soon as the lock of that file is free. Returns whether it was changed.
///
/// SQLite's own wait looks for the lock ever more rarely, at last every 100 ms. So whoever waits longest is served last, and a
/// renewal would come too late beside claims and marks. Nor is the disk waited for: where the machine loses its power, no holder is
/// left.
async fn change_soon(
    pool: &SqlitePool,
    statement: &'static str,
    shard: Shard,
    holder: &Holder,
    ttl: Option<i64>,
) -> sqlx::Result<bool> {
    let mut connection = pool.acquire().await?;
    connection.execute("PRAGMA busy_timeout = 0; PRAGMA synchronous = NORMAL").await?;
    loop {
        let change = sqlx::query(statement).bind(shard.0).bind(holder.as_str()).bind(ttl);
        match change.execute(&mut *connection).await {
            Err(error) if is_locked(&error) => tokio::time::sleep(LOOK_FOR_LOCK).await,
            changed => return Ok(changed?.rows_affected() == 1),
        }
    }
}

/// Whether another connection writes to the SQLite file.
fn is_locked(error: &sqlx::Error) -> bool {
    // The low byte of an extended code is its primary code (https://www.sqlite.org/rescode.html).
    const BUSY: i32 = 5;
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<i32>().ok());
    code.is_some_and(|code| code & 0xff == BUSY)
}

impl TableLease {
    /// Lets a call come to its end also where its caller gives it up, within a limit. What was given up has its effect all
    /// the same, and its connection stays: closed, as a connection is that was given up in the middle, it would leave a
    /// handshake to the next renewal, which has a sixth of the time to live for its answer.
    async fn to_its_end<T: Send + 'static>(
        &self,
        limit: Duration,
        call: impl Future<Output = sqlx::Result<T>> + Send + 'static,
    ) -> sqlx::Result<T> {
        let lease = self.clone();
        let call = tokio::spawn(async move {
            let answer = tokio::time::timeout(limit, call).await;
            answer.unwrap_or_else(|_| {
                lease.distrust();
                Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into()))
            })
        });
        call.await.unwrap_or(Err(sqlx::Error::WorkerCrashed))
    }

    /// Closes the idle connections, since a call got no answer.
    fn distrust(self) {
        match self {
            Self::Postgres(pool) => Database::Postgres(pool).distrust(),
            Self::MySql(pool) => Database::MySql(pool).distrust(),
            Self::Sqlite(pool) => Database::Sqlite(pool).distrust(),
        }
    }

    async fn take(&self, shard: Shard, holder: &Holder, ttl: Duration) -> sqlx::Result<bool> {
        let ttl = milliseconds(ttl);
        match self {
            Self::Postgres(pool) => {
                let acquire = sqlx::query(include_str!("sql/postgres/lease_acquire.sql"));
                let acquire = acquire.bind(shard.0).bind(holder.as_str()).bind(ttl);
                Ok(on(pool, async |connection| acquire.fetch_optional(connection).await).await?.is_some())
            }
            Self::MySql(pool) => {
                on(pool, async |connection| acquire_on_mysql(connection, shard, holder, ttl).await).await
            }
            Self::Sqlite(pool) => {
                // To look takes no lock. So only those write who find nobody, or themselves.
                if self.read(shard).await?.is_some_and(|(present, _)| present != holder.as_str()) {
                    return Ok(false);
                }
                change_soon(pool, include_str!("sql/sqlite/lease_acquire.sql"), shard, holder, Some(ttl)).await
            }
        }
    }

    async fn prolong(&self, shard: Shard, holder: &Holder, ttl: Duration) -> sqlx::Result<bool> {
        let ttl = milliseconds(ttl);
        let rows = match self {
            Self::Postgres(pool) => {
                let renew = sqlx::query(include_str!("sql/postgres/lease_renew.sql"));
                let renew = renew.bind(shard.0).bind(holder.as_str()).bind(ttl);
                on(pool, async |connection| renew.execute(connection).await).await?.rows_affected()
            }
            Self::MySql(pool) => {
                let renew = sqlx::query(include_str!("sql/mysql/lease_renew.sql")).bind(microseconds(ttl));
                let renew = renew.bind(shard.0).bind(holder.as_str());
                on(pool, async |connection| renew.execute(connection).await).await?.rows_affected()
            }
            Self::Sqlite(pool) => {
                let renew = include_str!("sql/sqlite/lease_renew.sql");
                return change_soon(pool, renew, shard, holder, Some(ttl)).await;
            }
        };
        Ok(rows == 1)
    }

    async fn give_up(&self, shard: Shard, holder: &Holder) -> sqlx::Result<bool> {
        let rows = match self {
            Self::Postgres(pool) => {
                let release = sqlx::query(include_str!("sql/postgres/lease_release.sql"));
                let release = release.bind(shard.0).bind(holder.as_str());
                on(pool, async |connection| release.execute(connection).await).await?.rows_affected()
            }
            Self::MySql(pool) => {
                let release = sqlx::query(include_str!("sql/mysql/lease_release.sql"));
                let release = release.bind(shard.0).bind(holder.as_str());
                on(pool, async |connection| release.execute(connection).await).await?.rows_affected()
            }
            Self::Sqlite(pool) => {
                return change_soon(pool, include_str!("sql/sqlite/lease_release.sql"), shard, holder, None).await;
            }
        };
        Ok(rows == 1)
    }

    async fn read(&self, shard: Shard) -> sqlx::Result<Option<(String, i64)>> {
        match self {
            Self::Postgres(pool) => {
                let current = sqlx::query_as(include_str!("sql/postgres/lease_current.sql")).bind(shard.0);
                on(pool, async |connection| current.fetch_optional(connection).await).await
            }
            Self::MySql(pool) => {
                let current = sqlx::query_as(include_str!("sql/mysql/lease_current.sql")).bind(shard.0);
                on(pool, async |connection| current.fetch_optional(connection).await).await
            }
            Self::Sqlite(pool) => {
                sqlx::query_as(include_str!("sql/sqlite/lease_current.sql")).bind(shard.0).fetch_optional(pool).await
            }
        }
    }
}

/// Takes two statements. MySQL and MariaDB share no `RETURNING`, and the count of changed rows does not tell a new row
/// from one that stays with another holder.
async fn acquire_on_mysql(
    connection: &mut MySqlConnection,
    shard: Shard,
    holder: &Holder,
    ttl: i64,
) -> sqlx::Result<bool> {
    let (holder, ttl) = (holder.as_str(), microseconds(ttl));
    let acquire = sqlx::query(include_str!("sql/mysql/lease_acquire.sql")).bind(shard.0).bind(holder).bind(ttl);
    acquire.bind(holder).bind(ttl).execute(&mut *connection).await?;
    let holds = sqlx::query(include_str!("sql/mysql/lease_holds.sql"));
    Ok(holds.bind(shard.0).bind(holder).fetch_optional(connection).await?.is_some())
}

/// The milliseconds, at most a year, which is far within the times of the databases.
fn milliseconds(ttl: Duration) -> i64 {
    const YEAR: Duration = Duration::from_hours(365 * 24);
    i64::try_from(ttl.min(YEAR).as_millis()).unwrap_or(i64::MAX)
}

/// MySQL's intervals have no milliseconds.
fn microseconds(milliseconds: i64) -> i64 {
    milliseconds.saturating_mul(1000)
}

fn failed(doing: &'static str) -> impl FnOnce(sqlx::Error) -> LeaseError {
    move |source| LeaseError {
        at: "outbox_lease, a table of the outbox database".to_owned(),
        doing,
        source: source.into(),
    }
}
