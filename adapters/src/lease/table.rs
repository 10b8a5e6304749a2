//! A lease in the outbox database: the table `outbox_lease`, one row per shard.
//!
//! The database's clock decides when a lease expires, never the clock of a replica. Times to live are exact to the
//! millisecond. Each candidate reads the row ten times a second, so that a hand-over is quick. Redis suits a large
//! fleet better, since it tells the candidates.

use std::time::Duration;

use async_trait::async_trait;
use outbox_schema::{Holder, Shard};
use sqlx::{MySqlPool, PgPool, SqlitePool};

use super::{Held, Lease, LeaseError};

/// How often a candidate checks whether the lease has been released.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The lease of one outbox in its own database. It needs no other server.
#[derive(Debug, Clone)]
pub enum TableLease {
    /// PostgreSQL 13 or later.
    Postgres(PgPool),
    /// MySQL 8.0, MariaDB 10.6, or later.
    MySql(MySqlPool),
    /// SQLite.
    Sqlite(SqlitePool),
}

#[async_trait]
impl Lease for TableLease {
    async fn acquire(&self, shard: Shard, holder: &Holder, ttl: Duration) -> Result<bool, LeaseError> {
        let (lease, holder) = (self.clone(), holder.clone());
        to_its_end(async move { lease.take(shard, &holder, ttl).await }).await
    }

    async fn renew(&self, shard: Shard, holder: &Holder, ttl: Duration) -> Result<bool, LeaseError> {
        let (lease, holder) = (self.clone(), holder.clone());
        to_its_end(async move { lease.prolong(shard, &holder, ttl).await }).await
    }

    async fn release(&self, shard: Shard, holder: &Holder) -> Result<bool, LeaseError> {
        let (lease, holder) = (self.clone(), holder.clone());
        to_its_end(async move { lease.give_up(shard, &holder).await }).await
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
        to_its_end(async move { lease.read(shard).await }).await
    }
}

/// Lets a call come to its end also where its caller gives it up. What was given up has its effect all the same, and its
/// connection stays: closed, as a connection is that was given up in the middle, it would leave a handshake to the next renewal,
/// which has a sixth of the time to live for its answer.
async fn to_its_end<T: Send + 'static>(
    call: impl Future<Output = Result<T, LeaseError>> + Send + 'static,
) -> Result<T, LeaseError> {
    match tokio::spawn(call).await {
        Ok(answer) => answer,
        Err(_) => Err(failed("asking the lease table")(sqlx::Error::WorkerCrashed)),
    }
}

impl TableLease {
    async fn take(&self, shard: Shard, holder: &Holder, ttl: Duration) -> Result<bool, LeaseError> {
        let ttl = milliseconds(ttl);
        let acquired = match self {
            Self::Postgres(pool) => {
                let acquire = sqlx::query(include_str!("sql/postgres/lease_acquire.sql"));
                let row = acquire.bind(shard.0).bind(holder.as_str()).bind(ttl).fetch_optional(pool).await;
                row.map(|row| row.is_some())
            }
            Self::MySql(pool) => acquire_on_mysql(pool, shard, holder, ttl).await,
            Self::Sqlite(pool) => {
                let acquire = sqlx::query(include_str!("sql/sqlite/lease_acquire.sql"));
                let row = acquire.bind(shard.0).bind(holder.as_str()).bind(ttl).fetch_optional(pool).await;
                row.map(|row| row.is_some())
            }
        };
        acquired.map_err(failed("campaigning for the lease"))
    }

    async fn prolong(&self, shard: Shard, holder: &Holder, ttl: Duration) -> Result<bool, LeaseError> {
        let ttl = milliseconds(ttl);
        let found = match self {
            Self::Postgres(pool) => {
                let renew = sqlx::query(include_str!("sql/postgres/lease_renew.sql"));
                renew.bind(shard.0).bind(holder.as_str()).bind(ttl).execute(pool).await.map(|done| done.rows_affected())
            }
            Self::MySql(pool) => {
                let renew = sqlx::query(include_str!("sql/mysql/lease_renew.sql")).bind(microseconds(ttl));
                renew.bind(shard.0).bind(holder.as_str()).execute(pool).await.map(|done| done.rows_affected())
            }
            Self::Sqlite(pool) => {
                let renew = sqlx::query(include_str!("sql/sqlite/lease_renew.sql"));
                renew.bind(shard.0).bind(holder.as_str()).bind(ttl).execute(pool).await.map(|done| done.rows_affected())
            }
        };
        found.map(|rows| rows == 1).map_err(failed("renewing the lease"))
    }

    async fn give_up(&self, shard: Shard, holder: &Holder) -> Result<bool, LeaseError> {
        let found = match self {
            Self::Postgres(pool) => {
                let release = sqlx::query(include_str!("sql/postgres/lease_release.sql"));
                release.bind(shard.0).bind(holder.as_str()).execute(pool).await.map(|done| done.rows_affected())
            }
            Self::MySql(pool) => {
                let release = sqlx::query(include_str!("sql/mysql/lease_release.sql"));
                release.bind(shard.0).bind(holder.as_str()).execute(pool).await.map(|done| done.rows_affected())
            }
            Self::Sqlite(pool) => {
                let release = sqlx::query(include_str!("sql/sqlite/lease_release.sql"));
                release.bind(shard.0).bind(holder.as_str()).execute(pool).await.map(|done| done.rows_affected())
            }
        };
        found.map(|rows| rows == 1).map_err(failed("releasing the lease"))
    }

    async fn read(&self, shard: Shard) -> Result<Option<Held>, LeaseError> {
        let found: sqlx::Result<Option<(String, i64)>> = match self {
            Self::Postgres(pool) => {
                sqlx::query_as(include_str!("sql/postgres/lease_current.sql")).bind(shard.0).fetch_optional(pool).await
            }
            Self::MySql(pool) => {
                sqlx::query_as(include_str!("sql/mysql/lease_current.sql")).bind(shard.0).fetch_optional(pool).await
            }
            Self::Sqlite(pool) => {
                sqlx::query_as(include_str!("sql/sqlite/lease_current.sql")).bind(shard.0).fetch_optional(pool).await
            }
        };
        let found = found.map_err(failed("asking who holds the lease"))?;
        Ok(found.map(|(holder, remaining)| Held {
            holder,
            remaining: Duration::from_millis(remaining.try_into().unwrap_or_default()),
            removed_by: None,
        }))
    }
}

/// Takes two statements. MySQL and MariaDB share no `RETURNING`, and the count of changed rows does not tell a new row
/// from one that stays with another holder.
async fn acquire_on_mysql(pool: &MySqlPool, shard: Shard, holder: &Holder, ttl: i64) -> sqlx::Result<bool> {
    let (holder, ttl) = (holder.as_str(), microseconds(ttl));
    let acquire = sqlx::query(include_str!("sql/mysql/lease_acquire.sql")).bind(shard.0).bind(holder).bind(ttl);
    acquire.bind(holder).bind(ttl).execute(pool).await?;
    let holds = sqlx::query(include_str!("sql/mysql/lease_holds.sql"));
    Ok(holds.bind(shard.0).bind(holder).fetch_optional(pool).await?.is_some())
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
