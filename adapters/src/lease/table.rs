//! A lease in the outbox database: the table `outbox_lease`, one row per shard;
//! of a job, the table `outbox_job_seat`, one row per job.
//!
//! The database's clock decides when a lease expires, never the clock of a replica. Times to live are exact to the
//! millisecond. Each candidate reads the row ten times a second, so that a hand-over is quick. Redis suits a large
//! fleet better, since it tells the candidates.

use std::time::Duration;

use async_trait::async_trait;
use outbox_store::{Database, Holder, Seat};
use sqlx::{Executor, MySql, MySqlConnection, MySqlPool, PgPool, Postgres, Sqlite, SqlitePool};

use super::calls::{LIMIT, held, limit, microseconds, milliseconds, on, question, released, statement, to_its_end};
use super::{Held, Lease, LeaseError};

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
    async fn acquire(&self, seat: &Seat, holder: &Holder, ttl: Duration) -> Result<bool, LeaseError> {
        let (lease, seat, holder) = (self.clone(), seat.clone(), holder.clone());
        let acquired = to_its_end(self.database(), limit(ttl), async move { lease.take(&seat, &holder, ttl).await });
        acquired.await.map_err(failed("campaigning for the lease"))
    }

    async fn renew(&self, seat: &Seat, holder: &Holder, ttl: Duration) -> Result<bool, LeaseError> {
        let (lease, seat, holder) = (self.clone(), seat.clone(), holder.clone());
        let renewed = to_its_end(self.database(), limit(ttl), async move { lease.prolong(&seat, &holder, ttl).await });
        renewed.await.map_err(failed("renewing the lease"))
    }

    async fn release(&self, seat: &Seat, holder: &Holder) -> Result<bool, LeaseError> {
        let (lease, seat, holder) = (self.clone(), seat.clone(), holder.clone());
        let released = to_its_end(self.database(), LIMIT, async move { lease.give_up(&seat, &holder).await });
        released.await.map_err(failed("releasing the lease"))
    }

    async fn released(&self, seat: &Seat) {
        released(self, seat).await;
    }

    async fn current(&self, seat: &Seat) -> Result<Option<Held>, LeaseError> {
        let (lease, seat) = (self.clone(), seat.clone());
        let found = to_its_end(self.database(), LIMIT, async move { lease.read(&seat).await });
        Ok(found.await.map_err(failed("asking who holds the lease"))?.map(held))
    }
}

/// Changes the row of the lease in an SQLite file as soon as the lock of that file is free. Returns whether it was changed.
///
/// SQLite's own wait looks for the lock ever more rarely, at last every 100 ms. So whoever waits longest is served last, and a
/// renewal would come too late beside claims and marks. Nor is the disk waited for: where the machine loses its power, no holder is
/// left.
async fn change_soon(
    pool: &SqlitePool,
    of_shard: &'static str,
    seat: &Seat,
    holder: &Holder,
    ttl: Option<i64>,
) -> sqlx::Result<bool> {
    let mut connection = pool.acquire().await?;
    connection.execute("PRAGMA busy_timeout = 0; PRAGMA synchronous = NORMAL").await?;
    loop {
        let change = statement::<Sqlite>(seat, of_shard, None)?.bind(holder.as_str()).bind(ttl);
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
    fn database(&self) -> Database {
        match self {
            Self::Postgres(pool) => Database::Postgres(pool.clone()),
            Self::MySql(pool) => Database::MySql(pool.clone()),
            Self::Sqlite(pool) => Database::Sqlite(pool.clone()),
        }
    }

    async fn take(&self, seat: &Seat, holder: &Holder, ttl: Duration) -> sqlx::Result<bool> {
        let ttl = milliseconds(ttl);
        match self {
            Self::Postgres(pool) => {
                let acquire = statement::<Postgres>(seat, include_str!("sql/postgres/lease_acquire.sql"), None)?;
                let acquire = acquire.bind(holder.as_str()).bind(ttl);
                Ok(on(pool, async |connection| acquire.fetch_optional(connection).await).await?.is_some())
            }
            Self::MySql(pool) => {
                on(pool, async |connection| acquire_on_mysql(connection, seat, holder, ttl).await).await
            }
            Self::Sqlite(pool) => {
                // To look takes no lock. So only those write who find nobody, or themselves.
                if self.read(seat).await?.is_some_and(|(present, _)| present != holder.as_str()) {
                    return Ok(false);
                }
                change_soon(pool, include_str!("sql/sqlite/lease_acquire.sql"), seat, holder, Some(ttl)).await
            }
        }
    }

    async fn prolong(&self, seat: &Seat, holder: &Holder, ttl: Duration) -> sqlx::Result<bool> {
        let ttl = milliseconds(ttl);
        let rows = match self {
            Self::Postgres(pool) => {
                let renew = statement::<Postgres>(seat, include_str!("sql/postgres/lease_renew.sql"), None)?;
                let renew = renew.bind(holder.as_str()).bind(ttl);
                on(pool, async |connection| renew.execute(connection).await).await?.rows_affected()
            }
            Self::MySql(pool) => {
                let ttl = Some(microseconds(ttl));
                let renew = statement::<MySql>(seat, include_str!("sql/mysql/lease_renew.sql"), ttl)?;
                let renew = renew.bind(holder.as_str());
                on(pool, async |connection| renew.execute(connection).await).await?.rows_affected()
            }
            Self::Sqlite(pool) => {
                let renew = include_str!("sql/sqlite/lease_renew.sql");
                return change_soon(pool, renew, seat, holder, Some(ttl)).await;
            }
        };
        Ok(rows == 1)
    }

    async fn give_up(&self, seat: &Seat, holder: &Holder) -> sqlx::Result<bool> {
        let rows = match self {
            Self::Postgres(pool) => {
                let release = statement::<Postgres>(seat, include_str!("sql/postgres/lease_release.sql"), None)?;
                let release = release.bind(holder.as_str());
                on(pool, async |connection| release.execute(connection).await).await?.rows_affected()
            }
            Self::MySql(pool) => {
                let release = statement::<MySql>(seat, include_str!("sql/mysql/lease_release.sql"), None)?;
                let release = release.bind(holder.as_str());
                on(pool, async |connection| release.execute(connection).await).await?.rows_affected()
            }
            Self::Sqlite(pool) => {
                return change_soon(pool, include_str!("sql/sqlite/lease_release.sql"), seat, holder, None).await;
            }
        };
        Ok(rows == 1)
    }

    async fn read(&self, seat: &Seat) -> sqlx::Result<Option<(String, i64)>> {
        match self {
            Self::Postgres(pool) => {
                let current = question::<Postgres>(seat, include_str!("sql/postgres/lease_current.sql"))?;
                on(pool, async |connection| current.fetch_optional(connection).await).await
            }
            Self::MySql(pool) => {
                let current = question::<MySql>(seat, include_str!("sql/mysql/lease_current.sql"))?;
                on(pool, async |connection| current.fetch_optional(connection).await).await
            }
            Self::Sqlite(pool) => {
                question::<Sqlite>(seat, include_str!("sql/sqlite/lease_current.sql"))?.fetch_optional(pool).await
            }
        }
    }
}

/// Takes two statements. MySQL and MariaDB share no `RETURNING`, and the count of changed rows does not tell a new row
/// from one that stays with another holder.
async fn acquire_on_mysql(
    connection: &mut MySqlConnection,
    seat: &Seat,
    holder: &Holder,
    ttl: i64,
) -> sqlx::Result<bool> {
    let (holder, ttl) = (holder.as_str(), microseconds(ttl));
    let acquire = statement::<MySql>(seat, include_str!("sql/mysql/lease_acquire.sql"), None)?.bind(holder).bind(ttl);
    acquire.bind(holder).bind(ttl).execute(&mut *connection).await?;
    let holds = statement::<MySql>(seat, include_str!("sql/mysql/lease_holds.sql"), None)?;
    Ok(holds.bind(holder).fetch_optional(connection).await?.is_some())
}

fn failed(doing: &'static str) -> impl FnOnce(sqlx::Error) -> LeaseError {
    move |source| LeaseError {
        at: "outbox_lease, a table of the outbox database".to_owned(),
        doing,
        source: source.into(),
    }
}
