//! Claims: made, and read again where the answer was lost.

use std::collections::BTreeMap;

use sqlx::PgConnection;

use super::claimed::ClaimedRow;
use super::errors::{failed, fenced, is_lost};
use super::{PostgresStore, names};
use crate::store::fitting::Fitting;
use crate::store::rows::{Met, by_channel};
use crate::store::steps::longest_timeout;
use crate::store::wire::millis_i64;
use crate::{ChannelTerms, ClaimRequest, Claimed, OnDeadOrdered, StoreError, TermId};

const DOING: &str = "claiming due messages";

impl PostgresStore {
    /// Claims what is due. Where the request says what it found before, chooses from that.
    pub(super) async fn claim_in_one_call(
        &self,
        term: &TermId,
        request: &ClaimRequest<'_>,
    ) -> Result<Claimed, StoreError> {
        let Some(found) = request.found else {
            return Ok(ClaimedRow::split(self.rows(term, request, None).await?, request));
        };
        let mut chosen = Fitting::of(found.0.clone(), request, request.from);
        let met = std::mem::take(&mut chosen.met);
        let deferred = if met.is_empty() { BTreeMap::new() } else { self.defer(term, request, &met).await? };
        let nothing = chosen.taken.is_empty();
        let rows = if nothing { Vec::new() } else { self.rows(term, request, Some(&chosen)).await? };
        Ok(Claimed { deferred, ..ClaimedRow::chosen(rows, chosen) })
    }

    /// Moves rows of unknown channels that an earlier look `met` out of the way. Returns how many of each channel.
    async fn defer(
        &self,
        term: &TermId,
        request: &ClaimRequest<'_>,
        met: &Met,
    ) -> Result<BTreeMap<String, u64>, StoreError> {
        let mut step = self.session(true).await.map_err(|error| failed(DOING, error))?;
        sqlx::query(query!("postgres/poller/require_term"))
            .bind(term.shard.0)
            .bind(term.epoch.0)
            .bind(term.holder.as_str())
            .execute(&mut *step)
            .await
            .map_err(|error| fenced(term, DOING, error))?;
        let channels: Vec<String> = sqlx::query_scalar(query!("postgres/poller/defer"))
            .bind(term.shard.0)
            .bind(met.keys().copied().collect::<Vec<_>>())
            .bind(request.excluded.iter().map(|id| id.0).collect::<Vec<_>>())
            .bind(names(request.channels))
            .bind(millis_i64(request.unknown_channel_delay))
            .fetch_all(&mut *step)
            .await
            .map_err(|error| failed(DOING, error))?;
        step.commit().await.map_err(|error| failed(DOING, error))?;
        Ok(by_channel(channels.into_iter()))
    }

    /// The rows that a claim took and met, or those of the `chosen` that it took.
    async fn rows(
        &self,
        term: &TermId,
        request: &ClaimRequest<'_>,
        chosen: Option<&Fitting>,
    ) -> Result<Vec<ClaimedRow>, StoreError> {
        let mut connection = self.of_the_loop.take_unasked().await.map_err(|error| failed(DOING, error))?;
        let mut rows = asked(&mut connection, term, request, chosen, true).await;
        // The claim may have been made. A repeat under its id makes it only once.
        if rows.as_ref().is_err_and(is_lost) {
            connection = self.of_the_loop.make().await.map_err(|error| failed(DOING, error))?;
            rows = asked(&mut connection, term, request, chosen, true).await;
        }
        let rows = rows.map_err(|error| match error.as_database_error() {
            // An earlier try of the same claim has committed meanwhile. The next try finds it.
            Some(database) if database.is_unique_violation() => {
                StoreError::Unavailable { doing: DOING, source: error.into() }
            }
            Some(_) | None => fenced(term, DOING, error),
        });
        let rows = match rows {
            Err(StoreError::Refused { .. }) => apart(&mut connection, term, request, chosen).await?,
            rows => rows?,
        };
        self.of_the_loop.keep(connection);
        Ok(rows)
    }
}

/// Claims rows that the database cannot give all together, and reads each by itself.
async fn apart(
    connection: &mut PgConnection,
    term: &TermId,
    request: &ClaimRequest<'_>,
    chosen: Option<&Fitting>,
) -> Result<Vec<ClaimedRow>, StoreError> {
    let doing = "reading what a claimed message says";
    let rows = asked(connection, term, request, chosen, false).await;
    let mut rows = rows.map_err(|error| fenced(term, doing, error))?;
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

/// One call of a claim: of what it takes and meets, or of those of the `chosen` that it takes.
pub(super) async fn asked(
    connection: &mut PgConnection,
    term: &TermId,
    request: &ClaimRequest<'_>,
    chosen: Option<&Fitting>,
    bodies: bool,
) -> sqlx::Result<Vec<ClaimedRow>> {
    match chosen {
        None => claimed(connection, term, request, bodies).await,
        Some(chosen) => claimed_of(connection, term, request, chosen, bodies).await,
    }
}

/// Those rows that a claim takes of what it found before, with what they say, or without the `bodies`.
async fn claimed_of(
    connection: &mut PgConnection,
    term: &TermId,
    request: &ClaimRequest<'_>,
    chosen: &Fitting,
    bodies: bool,
) -> sqlx::Result<Vec<ClaimedRow>> {
    let closed = longest_timeout(&chosen.taken, request).saturating_add(request.margin);
    sqlx::query_as(concat!(query!("postgres/poller/claim_columns"), query!("postgres/poller/claim_found")))
        .bind(term.shard.0)
        .bind(term.epoch.0)
        .bind(term.holder.as_str())
        .bind(request.claim.0)
        .bind(chosen.taken.iter().map(|row| row.id).collect::<Vec<_>>())
        .bind(chosen.taken.iter().map(|row| row.revision).collect::<Vec<_>>())
        .bind(names(request.channels))
        .bind(most_bytes(request.channels))
        .bind(request.at_most_once())
        .bind(millis_i64(closed.saturating_add(request.lease_ttl)))
        .bind(millis_i64(closed))
        .bind(bodies)
        .bind(millis_i64(request.margin))
        .fetch_all(connection)
        .await
}

/// The rows that a claim took and met, with what they say, or without the `bodies`.
async fn claimed(
    connection: &mut PgConnection,
    term: &TermId,
    request: &ClaimRequest<'_>,
    bodies: bool,
) -> sqlx::Result<Vec<ClaimedRow>> {
    let served = request.turns.map_or(&[][..], |turns| turns.served);
    sqlx::query_as(concat!(query!("postgres/poller/claim_columns"), query!("postgres/poller/claim")))
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
        .bind(most_bytes(request.channels))
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
        .bind(request.turns.map(|turns| if turns.glance { 0 } else { turns.tenants.cast_signed() }))
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

fn most_bytes(channels: &[ChannelTerms]) -> Vec<i64> {
    channels.iter().map(|channel| channel.max_message_bytes.cast_signed()).collect()
}

/// The channels in which a dead letter halts its ordering key.
fn halting(channels: &[ChannelTerms]) -> Vec<String> {
    let halting = channels.iter().filter(|channel| channel.on_dead_ordered == OnDeadOrdered::Halt);
    halting.map(|channel| channel.name.clone()).collect()
}
