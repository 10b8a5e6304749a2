//! The store on PostgreSQL 13 and later. Each step of the protocol is a PL/pgSQL function (see the migrations), in one
//! round trip. Every statement in it reads what was committed before that statement began, after the locks are held.

mod claimed;
pub(super) mod errors;
mod loop_connection;
mod mark;
mod trial;
mod wakeup;

use std::time::Duration;

use async_trait::async_trait;
use sqlx::{Executor, PgConnection, PgExecutor, PgPool, Postgres};
use tokio::sync::watch;

use self::claimed::ClaimedRow;
use self::errors::{failed, fenced, is_lost};
use self::loop_connection::LoopConnection;
use crate::mark::MarkReport;
use crate::session::Session;
use crate::silence::distrust;
use crate::sql::AnyConnection;
use crate::store::rows::{DecidedRow, DestinationRow, UnsettledRow};
use crate::store::steps::DIVIDING;
use crate::store::wire::millis_i64;
use crate::store::{Decided, OpenedTerm, Settlement, TermCounts, Wakeups, dead, outcomes, unmarked};
use crate::{
    ChannelTerms, ClaimId, ClaimRequest, Claimed, Database, Epoch, Holder, InDoubtPolicy, Mark, MessageId,
    OnDeadOrdered, OrderingKey, Shard, Store, StoreError, TermEnd, TermId,
};

/// The outbox in a PostgreSQL database.
#[derive(Debug, Clone)]
pub struct PostgresStore {
    pool: PgPool,
    /// The connection for the loop's calls, one at a time: terms and claims.
    of_the_loop: LoopConnection,
    /// Raised where a call got no answer.
    silences: watch::Sender<()>,
}

impl PostgresStore {
    /// The store behind `pool`, whose connections were made by [`crate::Database::connect`].
    pub fn new(pool: PgPool) -> Self {
        let silences = watch::Sender::default();
        Self { of_the_loop: LoopConnection::new(pool.clone(), silences.clone()), pool, silences }
    }

    /// A connection for one piece of work: in a transaction where the work is more than one statement.
    async fn session(&self, in_transaction: bool) -> sqlx::Result<Session<Postgres>> {
        if in_transaction {
            return Session::begin(&self.pool, "BEGIN ISOLATION LEVEL READ COMMITTED").await;
        }
        Session::open(&self.pool).await
    }
}

const BEGINNING: &str = "beginning a term";
const ENDING: &str = "ending a term";
const SETTLING: &str = "settling claims";

/// Mints the next epoch, and reads what a term must know. The function also freezes the claims that earlier terms left.
async fn begun(connection: &mut PgConnection, shard: Shard, holder: &Holder) -> Result<OpenedTerm, StoreError> {
    let epoch: i64 = sqlx::query_scalar(query!("postgres/poller/begin_term"))
        .bind(shard.0)
        .bind(holder.as_str())
        .fetch_one(&mut *connection)
        .await
        .map_err(|error| failed(BEGINNING, error))?;
    let destinations: Vec<DestinationRow> = sqlx::query_as(query!("postgres/poller/destinations_known"))
        .fetch_all(&mut *connection)
        .await
        .map_err(|error| failed(BEGINNING, error))?;
    let (unsettled, _) = unsettled(connection, shard).await?;
    Ok(OpenedTerm { epoch: Epoch(epoch), unsettled, destinations: destinations.into_iter().map(Into::into).collect() })
}

/// Records that the gate of a term is closed, and how the term ended.
async fn ended(
    connection: &mut PgConnection,
    term: &TermId,
    end: TermEnd,
    counts: TermCounts,
) -> Result<(), StoreError> {
    sqlx::query(query!("postgres/poller/close_gate"))
        .bind(term.shard.0)
        .bind(term.epoch.0)
        .bind(term.holder.as_str())
        .execute(&mut *connection)
        .await
        .map_err(|error| failed(ENDING, error))?;
    sqlx::query(query!("postgres/poller/end_term"))
        .bind(term.shard.0)
        .bind(term.epoch.0)
        .bind(term.holder.as_str())
        .bind(end.as_str())
        .bind(counts.claimed.cast_signed())
        .bind(counts.delivered.cast_signed())
        .bind(counts.failed.cast_signed())
        .execute(connection)
        .await
        .map(drop)
        .map_err(|error| failed(ENDING, error))
}

/// Decides the rows of claims whose settling time is over.
async fn settled(
    database: impl PgExecutor<'_>,
    term: &TermId,
    channels: &[ChannelTerms],
) -> Result<Vec<DecidedRow>, StoreError> {
    sqlx::query_as(query!("postgres/poller/settle"))
        .bind(term.shard.0)
        .bind(term.epoch.0)
        .bind(term.holder.as_str())
        .bind(names(channels))
        .bind(channels.iter().map(|channel| channel.in_doubt == InDoubtPolicy::Resend).collect::<Vec<_>>())
        .bind(channels.iter().map(|channel| channel.max_attempts.cast_signed()).collect::<Vec<_>>())
        .fetch_all(database)
        .await
        .map_err(|error| fenced(term, SETTLING, error))
}

async fn unsettled(
    connection: &mut PgConnection,
    shard: Shard,
) -> Result<(Vec<MessageId>, Option<Duration>), StoreError> {
    let rows: Vec<UnsettledRow> = sqlx::query_as(query!("postgres/poller/unsettled"))
        .bind(shard.0)
        .fetch_all(connection)
        .await
        .map_err(|error| failed("reading unsettled claims", error))?;
    Ok(UnsettledRow::split(&rows))
}

/// Claims rows that the database cannot give all together, and reads each by itself.
async fn claimed_apart(
    connection: &mut PgConnection,
    term: &TermId,
    request: &ClaimRequest<'_>,
) -> Result<Vec<ClaimedRow>, StoreError> {
    let doing = "reading what a claimed message says";
    let mut rows = claimed(connection, term, request, false).await.map_err(|error| fenced(term, doing, error))?;
    for message in rows.iter_mut().filter(|row| row.is_claimed()).map(ClaimedRow::message) {
        if !message.too_large {
            let body = sqlx::query_as(query!("postgres/poller/claimed_body"))
                .bind(message.id)
                .bind(message.revision)
                .fetch_one(&mut *connection)
                .await;
            message.read_apart(body.map_err(|error| failed(doing, error)))?;
        }
    }
    Ok(rows)
}

/// The rows that a claim took and met, with what they say, or without the `bodies`.
async fn claimed(
    connection: &mut PgConnection,
    term: &TermId,
    request: &ClaimRequest<'_>,
    bodies: bool,
) -> sqlx::Result<Vec<ClaimedRow>> {
    let served = request.turns.map_or(&[][..], |turns| turns.served);
    sqlx::query_as(query!("postgres/poller/claim"))
        .bind(term.shard.0)
        .bind(term.epoch.0)
        .bind(term.holder.as_str())
        .bind(request.claim.0)
        .bind(request.limit.cast_signed())
        .bind(request.max_bytes.cast_signed())
        .bind(request.excluded.iter().map(|id| id.0).collect::<Vec<_>>())
        .bind(names(request.channels))
        .bind(request.channels.iter().map(|channel| millis_i64(channel.timeout)).collect::<Vec<_>>())
        .bind(request.channels.iter().map(|channel| channel.room.cast_signed()).collect::<Vec<_>>())
        .bind(request.channels.iter().map(|channel| channel.most.cast_signed()).collect::<Vec<_>>())
        .bind(request.channels.iter().map(|channel| channel.max_message_bytes.cast_signed()).collect::<Vec<_>>())
        .bind(halting(request.channels))
        .bind(request.unfair())
        .bind(request.at_most_once())
        .bind(request.closed)
        .bind(request.closed_channels)
        .bind(request.rooms.iter().map(|room| room.destination.clone()).collect::<Vec<_>>())
        .bind(request.rooms.iter().map(|room| room.room.cast_signed()).collect::<Vec<_>>())
        .bind(request.strangers.rows.cast_signed())
        .bind(request.strangers.bytes.cast_signed())
        .bind(request.strangers.ask)
        .bind(request.turns.map(|turns| turns.from.cast_signed()))
        .bind(request.turns.map(|turns| turns.tenants.cast_signed()))
        .bind(served.iter().map(|tenant| tenant.channel.as_str()).collect::<Vec<_>>())
        .bind(served.iter().map(|tenant| tenant.name.as_str()).collect::<Vec<_>>())
        .bind(millis_i64(request.unknown_channel_delay))
        .bind(millis_i64(request.lease_ttl))
        .bind(millis_i64(request.margin))
        .bind(request.from.places().map(|place| place.map(|place| place.us)).to_vec())
        .bind(request.from.places().map(|place| place.map(|place| place.id)).to_vec())
        .bind(request.keys.from.map(|key| &key.channel))
        .bind(request.keys.from.map(|key| &key.ordering_key))
        .bind(request.keys.until.map(|key| &key.channel))
        .bind(request.keys.until.map(|key| &key.ordering_key))
        .bind(bodies)
        .fetch_all(connection)
        .await
}

#[async_trait]
impl Store for PostgresStore {
    async fn begin_term(&self, shard: Shard, holder: &Holder) -> Result<OpenedTerm, StoreError> {
        let mut connection = self.of_the_loop.take().await.map_err(|error| failed(BEGINNING, error))?;
        let term = begun(&mut connection, shard, holder).await?;
        self.of_the_loop.keep(connection);
        Ok(term)
    }

    async fn end_term(&self, term: &TermId, end: TermEnd, counts: TermCounts) -> Result<(), StoreError> {
        let mut connection = self.of_the_loop.take().await.map_err(|error| failed(ENDING, error))?;
        ended(&mut connection, term, end, counts).await?;
        self.of_the_loop.keep(connection);
        Ok(())
    }

    async fn claim(&self, term: &TermId, request: &ClaimRequest<'_>) -> Result<Claimed, StoreError> {
        let doing = "claiming due messages";
        let mut connection = self.of_the_loop.take_unasked().await.map_err(|error| failed(doing, error))?;
        let mut rows = claimed(&mut connection, term, request, true).await;
        // The claim may have been made. A repeat under its id makes it only once.
        if rows.as_ref().is_err_and(is_lost) {
            connection = self.of_the_loop.make().await.map_err(|error| failed(doing, error))?;
            rows = claimed(&mut connection, term, request, true).await;
        }
        let rows = rows.map_err(|error| match error.as_database_error() {
            // An earlier try of the same claim has committed meanwhile. The next try finds it.
            Some(database) if database.is_unique_violation() => StoreError::Unavailable { doing, source: error.into() },
            Some(_) | None => fenced(term, doing, error),
        });
        let rows = match rows {
            Err(StoreError::Refused { .. }) => claimed_apart(&mut connection, term, request).await?,
            rows => rows?,
        };
        self.of_the_loop.keep(connection);
        Ok(ClaimedRow::split(rows, request.from, request.limit))
    }

    async fn key_behind(
        &self,
        shard: Shard,
        from: Option<&OrderingKey>,
        keys: u32,
    ) -> Result<Option<OrderingKey>, StoreError> {
        let mut session = Session::open(&self.pool).await.map_err(|error| failed(DIVIDING, error))?;
        let key = sqlx::query_as(query!("postgres/poller/key_behind"))
            .bind(shard.0)
            .bind(from.map(|key| &key.channel))
            .bind(from.map(|key| &key.ordering_key))
            .bind(i64::from(keys))
            .fetch_optional(&mut *session)
            .await
            .map_err(|error| failed(DIVIDING, error))?;
        session.finish();
        Ok(key)
    }

    async fn mark(&self, marks: &[Mark], finished: &[ClaimId]) -> Result<MarkReport, StoreError> {
        self.mark_group(marks, finished).await
    }

    async fn record_unmarked(&self, marks: &[Mark], why: &str) -> Result<(), StoreError> {
        unmarked::record(&Database::Postgres(self.pool.clone()), marks, why).await
    }

    async fn settle(&self, term: &TermId, channels: &[ChannelTerms]) -> Result<Settlement, StoreError> {
        let tells = outcomes::are_told(channels);
        let mut session = self.session(tells).await.map_err(|error| failed(SETTLING, error))?;
        let decided = settled(&mut *session, term, channels).await?;
        let decided: Vec<Decided> = decided.into_iter().map(Into::into).collect();
        if tells {
            outcomes::tell_settled(&mut AnyConnection::Postgres(&mut session), &dead(&decided), channels).await?;
            session.execute("COMMIT").await.map_err(|error| failed(SETTLING, error))?;
        }
        let (unsettled, next) = unsettled(&mut session, term.shard).await?;
        session.finish();
        Ok(Settlement { decided, unsettled, next })
    }

    async fn wakeups(&self) -> Result<Option<Box<dyn Wakeups>>, StoreError> {
        let listening = wakeup::PostgresWakeups::listen(&self.pool, self.silences.subscribe());
        Ok(Some(Box::new(wakeup::in_time(listening).await?)))
    }

    fn distrust(&self) {
        distrust(&self.pool);
        self.silences.send_replace(());
    }
}

fn names(channels: &[ChannelTerms]) -> Vec<String> {
    channels.iter().map(|channel| channel.name.clone()).collect()
}

/// The channels in which a dead letter halts its ordering key.
fn halting(channels: &[ChannelTerms]) -> Vec<String> {
    let halting = channels.iter().filter(|channel| channel.on_dead_ordered == OnDeadOrdered::Halt);
    halting.map(|channel| channel.name.clone()).collect()
}
