//! Due rows on PostgreSQL: looks are plain statements, each a stretch of one index; claims are functions, each one round trip.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use async_trait::async_trait;
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgArgumentBuffer, PgArguments, PgHasArrayType, PgRow, PgTypeInfo, PgValueRef};
use sqlx::query::{Query, QueryAs};
use sqlx::{Decode, Encode, FromRow, PgConnection, Postgres, Row, Type};

use super::errors::{failed, fenced, is_lost};
use super::{PostgresStore, names};
use crate::claim::Place;
use crate::store::due::{
    ClaimTerms, DueRows, Header, Lane, LaneLook, LookAndClaim, LookedAndClaimed, Names, RingPlace, RingStep,
    RowsToClaim,
};
use crate::store::rows::by_channel;
use crate::store::wire::millis_i64;
use crate::{ChannelTerms, ClaimId, Message, MessageId, Revision, Shard, StoreError, TermId, WalkStart};

const LOOKING: &str = "looking at due messages";
const CLAIMING: &str = "claiming due messages";
const READING: &str = "reading what a claimed message says";
const DEFERRING: &str = "deferring messages of unknown channels";

/// The priorities, in the order in which places are sent.
const PRIORITIES: [i16; 4] = [3, 2, 1, 0];

/// A `timestamptz`, as exact as the database keeps it: microseconds since 1970. The infinities are the ends of the range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct At(i64);

impl At {
    /// From 1970 to 2000, where PostgreSQL counts from.
    const OFFSET: i64 = 946_684_800_000_000;

    /// The first moment that PostgreSQL knows, by its own count.
    const FIRST: i64 = -211_813_488_000_000_000;

    fn of(counted: i64) -> Self {
        match counted {
            i64::MIN | i64::MAX => Self(counted),
            counted => Self(counted.saturating_add(Self::OFFSET)),
        }
    }

    fn counted(self) -> i64 {
        match (self.0, self.0.saturating_sub(Self::OFFSET)) {
            (i64::MAX, _) => i64::MAX,
            (_, counted) if counted < Self::FIRST => i64::MIN,
            (_, counted) => counted,
        }
    }
}

impl Type<Postgres> for At {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(Oid(1184))
    }
}

impl PgHasArrayType for At {
    fn array_type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(Oid(1185))
    }
}

impl Decode<'_, Postgres> for At {
    fn decode(value: PgValueRef<'_>) -> Result<Self, BoxDynError> {
        Ok(Self::of(i64::from_be_bytes(value.as_bytes()?.try_into()?)))
    }
}

impl Encode<'_, Postgres> for At {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        buffer.extend_from_slice(&self.counted().to_be_bytes());
        Ok(IsNull::No)
    }
}

/// The places of a start, the highest priority first, as two columns. Where there is none: before all rows.
fn places(behind: &WalkStart) -> (Vec<At>, Vec<i64>) {
    let places = behind.places();
    let beginning = Place { us: i64::MIN, id: i64::MIN };
    places.into_iter().rev().map(|place| place.unwrap_or(beginning)).map(|place| (At(place.us), place.id)).unzip()
}

/// The header in a row, whose columns begin at this one.
fn header(row: &PgRow, first: usize, names: &mut Names) -> sqlx::Result<Header> {
    let lane = Lane { channel: names.of(row.try_get(first + 4)?), tenant: names.of(row.try_get(first + 5)?) };
    Ok(Header {
        id: MessageId(row.try_get(first)?),
        revision: Revision(row.try_get(first + 1)?),
        priority: row.try_get::<i16, _>(first + 2)?.try_into().unwrap_or(0),
        at: row.try_get::<At, _>(first + 3)?.0,
        lane,
        destination: names.of(row.try_get(first + 6)?),
        key: row.try_get::<Option<&str>, _>(first + 7)?.map(|key| names.of(key)),
        bytes: row.try_get::<i64, _>(first + 8)?.unsigned_abs(),
    })
}

fn headers(rows: &[PgRow]) -> Result<Vec<Header>, StoreError> {
    let mut names = Names::default();
    let headers: sqlx::Result<_> = rows.iter().map(|row| header(row, 0, &mut names)).collect();
    headers.map_err(|error| failed(LOOKING, error))
}

/// Where a step begins: at this number.
fn number(from: Option<&RingPlace>) -> i64 {
    from.and_then(|place| place.0.parse().ok()).unwrap_or(i64::MIN)
}

/// What a step brought. `goes` says of a header whether it is shown, and hears of all.
fn ring_step(rows: &[PgRow], mut goes: impl FnMut(&PgRow, &Header) -> sqlx::Result<bool>) -> sqlx::Result<RingStep> {
    let (mut names, mut step) = (Names::default(), RingStep::default());
    for row in rows {
        step.next = row.try_get::<Option<i64>, _>(0)?.map(|number| RingPlace(number.to_string()));
        if row.try_get::<Option<i64>, _>(1)?.is_some() {
            let header = header(row, 1, &mut names)?;
            if goes(row, &header)? {
                step.headers.push(header);
            }
        }
    }
    Ok(step)
}

/// A row that was claimed, or shown.
#[derive(Debug, FromRow)]
struct DueMessage {
    claimed: bool,
    place: i64,
    priority: i16,
    available_at: At,
    #[sqlx(flatten)]
    message: Message,
}

impl DueMessage {
    fn claimed(rows: Vec<Self>) -> Vec<Message> {
        rows.into_iter().filter(|row| row.claimed).map(|row| row.message).collect()
    }
}

impl PostgresStore {
    /// The rows of a look. `query` makes its statement, anew for a connection that turned out to be lost.
    async fn looked<'q>(&self, query: impl Fn() -> Query<'q, Postgres, PgArguments>) -> Result<Vec<PgRow>, StoreError> {
        let mut connection = self.of_the_looks.take_unasked().await.map_err(|error| failed(LOOKING, error))?;
        let mut rows = query().fetch_all(&mut connection).await;
        if rows.as_ref().is_err_and(is_lost) {
            connection = self.of_the_looks.make().await.map_err(|error| failed(LOOKING, error))?;
            rows = query().fetch_all(&mut connection).await;
        }
        let rows = rows.map_err(|error| failed(LOOKING, error))?;
        self.of_the_looks.keep(connection);
        Ok(rows)
    }

    /// The rows that a claim took and showed, in their order. `query` makes its statement: with what rows say, or without.
    async fn claimed<'q>(
        &self,
        term: &TermId,
        query: impl Fn(bool) -> QueryAs<'q, Postgres, DueMessage, PgArguments>,
    ) -> Result<Vec<DueMessage>, StoreError> {
        let mut connection = self.of_the_loop.take_unasked().await.map_err(|error| failed(CLAIMING, error))?;
        let mut rows = query(true).fetch_all(&mut connection).await;
        // The claim may have been made. A repeat under its id makes it only once.
        if rows.as_ref().is_err_and(is_lost) {
            connection = self.of_the_loop.make().await.map_err(|error| failed(CLAIMING, error))?;
            rows = query(true).fetch_all(&mut connection).await;
        }
        let rows = rows.map_err(|error| match error.as_database_error() {
            // An earlier try of the same claim has committed meanwhile. The next try finds it.
            Some(database) if database.is_unique_violation() => {
                StoreError::Unavailable { doing: CLAIMING, source: error.into() }
            }
            Some(_) | None => fenced(term, CLAIMING, error),
        });
        let mut rows = match rows {
            Err(StoreError::Refused { .. }) => {
                let rows = query(false).fetch_all(&mut connection).await;
                let mut rows = rows.map_err(|error| fenced(term, READING, error))?;
                apart(&mut connection, &mut rows).await?;
                rows
            }
            rows => rows?,
        };
        self.of_the_loop.keep(connection);
        rows.sort_by_key(|row| row.place);
        Ok(rows)
    }
}

/// Reads each body by itself, since the database cannot give all together.
async fn apart(connection: &mut PgConnection, rows: &mut [DueMessage]) -> Result<(), StoreError> {
    for message in rows.iter_mut().filter(|row| row.claimed).map(|row| &mut row.message) {
        if !message.too_large {
            let body = sqlx::query_as(query!("postgres/poller/claimed_body"))
                .bind(message.id)
                .bind(message.revision)
                .fetch_one(&mut *connection)
                .await;
            message.read_apart(body.map_err(|error| failed(READING, error)))?;
        }
    }
    Ok(())
}

/// A statement that claims, with the parameters that all such have.
fn claiming<'q>(
    statement: &'static str,
    (term, claim, terms): (&TermId, ClaimId, &ClaimTerms<'_>),
    bodies: bool,
) -> QueryAs<'q, Postgres, DueMessage, PgArguments> {
    sqlx::query_as(statement)
        .bind(term.shard.0)
        .bind(term.epoch.0)
        .bind(term.holder.as_str().to_owned())
        .bind(claim.0)
        .bind(names(terms.channels))
        .bind(terms.channels.iter().map(|channel| channel.max_message_bytes.cast_signed()).collect::<Vec<_>>())
        .bind(terms.halting())
        .bind(terms.at_most_once())
        .bind(millis_i64(terms.timeout))
        .bind(millis_i64(terms.margin))
        .bind(millis_i64(terms.lease_ttl))
        .bind(bodies)
}

#[async_trait]
impl DueRows for PostgresStore {
    async fn look(&self, shard: Shard, behind: WalkStart, limit: u32) -> Result<Vec<Header>, StoreError> {
        let (ats, ids) = places(&behind);
        let statement = concat!(query!("postgres/due/shown"), query!("postgres/due/look"));
        let look = || sqlx::query(statement).bind(shard.0).bind(ats.clone()).bind(ids.clone()).bind(i64::from(limit));
        headers(&self.looked(look).await?)
    }

    async fn newest(&self, shard: Shard, limit: u32) -> Result<Vec<Header>, StoreError> {
        let statement = concat!(query!("postgres/due/shown"), query!("postgres/due/newest"));
        let look = || sqlx::query(statement).bind(shard.0).bind(i64::from(limit));
        let mut headers = headers(&self.looked(look).await?)?;
        headers.sort_by_key(|header| Reverse((header.at, header.id)));
        headers.truncate(limit as usize);
        Ok(headers)
    }

    async fn look_at_lanes(&self, shard: Shard, lanes: &[LaneLook], limit: u32) -> Result<Vec<Header>, StoreError> {
        let (mut channels, mut tenants, mut priorities, mut ats, mut ids) =
            <(Vec<_>, Vec<_>, Vec<_>, Vec<_>, Vec<_>)>::default();
        for look in lanes {
            let (at, id) = places(&look.behind);
            channels.extend(PRIORITIES.map(|_| look.lane.channel.to_string()));
            tenants.extend(PRIORITIES.map(|_| look.lane.tenant.to_string()));
            priorities.extend(PRIORITIES);
            ats.extend(at);
            ids.extend(id);
        }
        let statement = concat!(query!("postgres/due/shown"), query!("postgres/due/look_at_lanes"));
        let look = || {
            sqlx::query(statement)
                .bind(shard.0)
                .bind(channels.clone())
                .bind(tenants.clone())
                .bind(priorities.clone())
                .bind(ats.clone())
                .bind(ids.clone())
                .bind(i64::from(limit))
        };
        headers(&self.looked(look).await?)
    }

    async fn next_lanes(
        &self,
        shard: Shard,
        from: Option<&RingPlace>,
        lanes: u32,
        each: u32,
    ) -> Result<RingStep, StoreError> {
        let step = || {
            sqlx::query(query!("postgres/due/next_lanes"))
                .bind(shard.0)
                .bind(number(from))
                .bind(i64::from(lanes))
                .bind(i64::from(each))
        };
        ring_step(&self.looked(step).await?, |_, _| Ok(true)).map_err(|error| failed(LOOKING, error))
    }

    async fn next_keys(
        &self,
        shard: Shard,
        from: Option<&RingPlace>,
        keys: u32,
        each: u32,
        halting: &[String],
    ) -> Result<RingStep, StoreError> {
        let step = || {
            sqlx::query(query!("postgres/due/next_keys"))
                .bind(shard.0)
                .bind(number(from))
                .bind(i64::from(keys))
                .bind(i64::from(each))
                .bind(halting.to_vec())
        };
        // The rows of a key come in their order: what is behind one that does not go is left out.
        let mut over = HashSet::new();
        let step = ring_step(&self.looked(step).await?, |row, header| {
            let key = (header.lane.channel.clone(), header.key.clone());
            if !row.try_get::<bool, _>("goes")? {
                over.insert(key);
                return Ok(false);
            }
            Ok(!over.contains(&key))
        });
        step.map_err(|error| failed(LOOKING, error))
    }

    async fn claim_rows(&self, term: &TermId, request: &RowsToClaim<'_>) -> Result<Vec<Message>, StoreError> {
        let mut once = HashSet::new();
        let (ids, revisions): (Vec<i64>, Vec<i32>) =
            request.rows.iter().filter(|(id, _)| once.insert(*id)).map(|(id, revision)| (id.0, revision.0)).unzip();
        let statement = concat!(query!("postgres/due/message"), query!("postgres/due/claim_rows"));
        let claim = |bodies| {
            claiming(statement, (term, request.claim, request.terms), bodies).bind(ids.clone()).bind(revisions.clone())
        };
        Ok(DueMessage::claimed(self.claimed(term, claim).await?))
    }

    async fn look_and_claim(&self, term: &TermId, request: &LookAndClaim<'_>) -> Result<LookedAndClaimed, StoreError> {
        let (ats, places) = places(&request.behind);
        let known: Vec<i64> = request.known.iter().map(|id| id.0).collect();
        let channels: Vec<String> = request.not_of.iter().map(|lane| lane.channel.to_string()).collect();
        let tenants: Vec<String> = request.not_of.iter().map(|lane| lane.tenant.to_string()).collect();
        let statement = concat!(query!("postgres/due/message"), query!("postgres/due/look_and_claim"));
        let look = |bodies| {
            claiming(statement, (term, request.claim, request.terms), bodies)
                .bind(ats.clone())
                .bind(places.clone())
                .bind(i64::from(request.limit))
                .bind(known.clone())
                .bind(channels.clone())
                .bind(tenants.clone())
                .bind(i64::from(request.up_to))
        };
        let mut rows = self.claimed(term, look).await?;
        rows.sort_by_key(|row| (Reverse(row.priority), row.available_at, row.message.id));
        let mut names = Names::default();
        let headers = rows.iter().map(|row| names.header(&row.message, row.priority, row.available_at.0)).collect();
        Ok(LookedAndClaimed { headers, messages: DueMessage::claimed(rows) })
    }

    async fn defer_unknown(
        &self,
        term: &TermId,
        rows: &[MessageId],
        channels: &[ChannelTerms],
        delay: Duration,
    ) -> Result<BTreeMap<String, u64>, StoreError> {
        let mut step = self.session(true).await.map_err(|error| failed(DEFERRING, error))?;
        sqlx::query(query!("postgres/poller/require_term"))
            .bind(term.shard.0)
            .bind(term.epoch.0)
            .bind(term.holder.as_str())
            .execute(&mut *step)
            .await
            .map_err(|error| fenced(term, DEFERRING, error))?;
        let channels: Vec<String> = sqlx::query_scalar(query!("postgres/poller/defer"))
            .bind(term.shard.0)
            .bind(rows.iter().map(|id| id.0).collect::<Vec<_>>())
            .bind(Vec::<i64>::new())
            .bind(names(channels))
            .bind(millis_i64(delay))
            .fetch_all(&mut *step)
            .await
            .map_err(|error| failed(DEFERRING, error))?;
        step.commit().await.map_err(|error| failed(DEFERRING, error))?;
        Ok(by_channel(channels.into_iter()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_comes_back_as_it_was_read_and_one_before_all_that_the_database_knows_is_infinite() {
        for counted in [i64::MIN, At::FIRST, -1, 0, 1, i64::MAX] {
            assert_eq!(At::of(counted).counted(), counted);
        }
        assert_eq!(At::of(0).0, 946_684_800_000_000);
        assert_eq!(At(i64::MIN + 1).counted(), i64::MIN);
    }
}
