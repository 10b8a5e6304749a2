//! Looks: plain statements, each a stretch of one index, and what their rows say.

use std::collections::HashSet;

use outbox_schema::MessageId;
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgArgumentBuffer, PgArguments, PgHasArrayType, PgRow, PgTypeInfo, PgValueRef};
use sqlx::query::Query;
use sqlx::{Decode, Encode, Postgres, Row, Type};

use super::errors::failed;
use crate::claim::Place;
use crate::store::due::{LOOKING, LaneLook, Names, RingPlace, RingStep};
use crate::store::{Header, Lane};
use crate::{Revision, Shard, StoreError, WalkStart};

/// The statement of a look, with its parameters.
pub(super) type Look = Query<'static, Postgres, PgArguments>;

/// The priorities, in the order in which places are sent.
const PRIORITIES: [i16; 4] = [3, 2, 1, 0];

/// A `timestamptz`, as exact as the database keeps it: microseconds since 1970. The infinities are the ends of the range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct At(pub(super) i64);

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
pub(super) fn places(behind: &WalkStart) -> (Vec<At>, Vec<i64>) {
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

pub(super) fn headers(rows: &[PgRow]) -> Result<Vec<Header>, StoreError> {
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

pub(super) fn look(shard: Shard, behind: &WalkStart, limit: u32) -> Look {
    let (ats, ids) = places(behind);
    let look = sqlx::query(query!("postgres/due/shown", "postgres/due/look"));
    look.bind(shard.0).bind(ats).bind(ids).bind(i64::from(limit))
}

pub(super) fn newest(shard: Shard, limit: u32) -> Look {
    let look = sqlx::query(query!("postgres/due/shown", "postgres/due/newest"));
    look.bind(shard.0).bind(i64::from(limit))
}

pub(super) fn look_at_lanes(shard: Shard, lanes: &[LaneLook], limit: u32) -> Look {
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
    sqlx::query(query!("postgres/due/shown", "postgres/due/look_at_lanes"))
        .bind(shard.0)
        .bind(channels)
        .bind(tenants)
        .bind(priorities)
        .bind(ats)
        .bind(ids)
        .bind(i64::from(limit))
}

pub(super) fn next_lanes(shard: Shard, from: Option<&RingPlace>, lanes: u32, each: u32) -> Look {
    let step = sqlx::query(query!("postgres/due/next_lanes"));
    step.bind(shard.0).bind(number(from)).bind(i64::from(lanes)).bind(i64::from(each))
}

/// What a step along the ring of lanes brought.
pub(super) fn lanes_step(rows: &[PgRow]) -> Result<RingStep, StoreError> {
    ring_step(rows, |_, _| Ok(true)).map_err(|error| failed(LOOKING, error))
}

pub(super) fn next_keys(shard: Shard, from: Option<&RingPlace>, keys: u32, each: u32, halting: &[String]) -> Look {
    let step = sqlx::query(query!("postgres/due/next_keys"));
    step.bind(shard.0).bind(number(from)).bind(i64::from(keys)).bind(i64::from(each)).bind(halting.to_vec())
}

/// What a step along the ring of ordering keys brought. The rows of a key come in their order: what is behind one that does not
/// go is left out.
pub(super) fn keys_step(rows: &[PgRow]) -> Result<RingStep, StoreError> {
    let mut over = HashSet::new();
    let step = ring_step(rows, |row, header| {
        let key = (header.lane.channel.clone(), header.key.clone());
        if !row.try_get::<bool, _>("goes")? {
            over.insert(key);
            return Ok(false);
        }
        Ok(!over.contains(&key))
    });
    step.map_err(|error| failed(LOOKING, error))
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
