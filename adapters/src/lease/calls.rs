//! What the leases in the outbox database share: how their calls are made, and in which units.

use std::time::Duration;

use outbox_store::session::Session;
use outbox_store::{Database, Seat};
use sqlx::query::{Query, QueryAs};
use sqlx::{Arguments, AssertSqlSafe, Encode, FromRow, IntoArguments, Pool, SqlSafeStr, SqlStr, Type};

use super::{Held, Lease};

/// How long the database has for each answer at least, and what part of the time to live where that is more. A caller waits
/// less long (see [`to_its_end`]). Without a limit, a database that is gone without a word would take the few connections of
/// the lease away for ever.
pub(super) const LIMIT: Duration = Duration::from_secs(2);
const LIMIT_OF_TTL: u32 = 3;

/// How often a candidate checks whether the lease has been released.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

pub(super) fn limit(ttl: Duration) -> Duration {
    LIMIT.max(ttl / LIMIT_OF_TTL)
}

/// Lets a call come to its end also where its caller gives it up, within a limit. What was given up has its effect all the same, and
/// its connection stays: closed, as a connection is that was given up in the middle, it would leave a handshake to the next renewal,
/// which has a sixth of the time to live for its answer.
pub(super) async fn to_its_end<T: Send + 'static>(
    database: Database,
    limit: Duration,
    call: impl Future<Output = sqlx::Result<T>> + Send + 'static,
) -> sqlx::Result<T> {
    let call = tokio::spawn(async move {
        let answer = tokio::time::timeout(limit, call).await;
        answer.unwrap_or_else(|_| {
            // The idle connections are closed, since a call got no answer.
            database.distrust();
            Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into()))
        })
    });
    call.await.unwrap_or(Err(sqlx::Error::WorkerCrashed))
}

/// Does some work on a connection of a pool. Where the work is given up, or fails, the connection is closed.
pub(super) async fn on<DB: sqlx::Database, T>(
    pool: &Pool<DB>,
    work: impl AsyncFnOnce(&mut DB::Connection) -> sqlx::Result<T>,
) -> sqlx::Result<T> {
    let mut session = Session::open(pool).await?;
    let done = work(&mut session).await?;
    session.finish();
    Ok(done)
}

/// Asks ten times a second who holds the lease, until nobody does: none of these databases tells a candidate of a release.
pub(super) async fn released(lease: &impl Lease, seat: &Seat) {
    loop {
        tokio::time::sleep(LOOK_AGAIN).await;
        match lease.current(seat).await {
            Ok(Some(_)) => {}
            Ok(None) => return,
            // The next campaign will report the error. No release is reported meanwhile.
            Err(_) => std::future::pending().await,
        }
    }
}

/// A statement about the lease of a shard, as it is for that seat: jobs have a table of their own, with the same columns.
fn text(seat: &Seat, statement: &'static str) -> SqlStr {
    match seat {
        Seat::Shard(_) => statement.into_sql_str(),
        Seat::Job(_) => {
            let of_jobs = statement.replace("outbox_lease", "outbox_job_seat").replace("shard", "job");
            AssertSqlSafe(of_jobs).into_sql_str()
        }
    }
}

/// The first parameters of such a statement: perhaps a time to live, then the seat.
fn values<DB>(ttl: Option<i64>, seat: &Seat) -> sqlx::Result<DB::Arguments>
where
    DB: sqlx::Database,
    i16: for<'q> Encode<'q, DB> + Type<DB>,
    i64: for<'q> Encode<'q, DB> + Type<DB>,
    String: for<'q> Encode<'q, DB> + Type<DB>,
{
    let mut values = DB::Arguments::default();
    ttl.map_or(Ok(()), |ttl| values.add(ttl)).map_err(sqlx::Error::Encode)?;
    match seat {
        Seat::Shard(shard) => values.add(shard.0),
        Seat::Job(name) => values.add((**name).to_owned()),
    }
    .map_err(sqlx::Error::Encode)?;
    Ok(values)
}

/// A statement about a seat, which is its first parameter, but for a time to live in microseconds.
pub(super) fn statement<DB>(
    seat: &Seat,
    text_of_shard: &'static str,
    ttl: Option<i64>,
) -> sqlx::Result<Query<'static, DB, DB::Arguments>>
where
    DB: sqlx::Database<Arguments: IntoArguments<DB>>,
    i16: for<'q> Encode<'q, DB> + Type<DB>,
    i64: for<'q> Encode<'q, DB> + Type<DB>,
    String: for<'q> Encode<'q, DB> + Type<DB>,
{
    Ok(sqlx::query_with(text(seat, text_of_shard), values::<DB>(ttl, seat)?))
}

/// A statement that asks who has a seat, and for how long.
pub(super) fn question<DB>(
    seat: &Seat,
    text_of_shard: &'static str,
) -> sqlx::Result<QueryAs<'static, DB, (String, i64), DB::Arguments>>
where
    DB: sqlx::Database<Arguments: IntoArguments<DB>>,
    i16: for<'q> Encode<'q, DB> + Type<DB>,
    i64: for<'q> Encode<'q, DB> + Type<DB>,
    String: for<'q> Encode<'q, DB> + Type<DB>,
    (String, i64): for<'r> FromRow<'r, DB::Row>,
{
    Ok(sqlx::query_as_with(text(seat, text_of_shard), values::<DB>(None, seat)?))
}

/// The holder of a lease, and its milliseconds.
pub(super) fn held((holder, remaining): (String, i64)) -> Held {
    let remaining = Duration::from_millis(remaining.try_into().unwrap_or_default());
    Held { holder, remaining, removed_by: None }
}

/// The milliseconds, at most a year, which is far within the times of the databases.
pub(super) fn milliseconds(ttl: Duration) -> i64 {
    const YEAR: Duration = Duration::from_hours(365 * 24);
    i64::try_from(ttl.min(YEAR).as_millis()).unwrap_or(i64::MAX)
}

/// MySQL's intervals have no milliseconds.
pub(super) fn microseconds(milliseconds: i64) -> i64 {
    milliseconds.saturating_mul(1000)
}
