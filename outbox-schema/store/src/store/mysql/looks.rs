//! Looks on one connection. They are plain statements and lock nothing. Each is sent with its values spelled out, so that the
//! server plans it for these. Each is a range of an index: a branch for each priority or lane.

use std::collections::{BTreeSet, HashMap};

use crc::{CRC_32_ISO_HDLC, Crc};
use outbox_schema::MessageId;
use sqlx::mysql::MySqlRow;
use sqlx::{AssertSqlSafe, FromRow, MySqlConnection};

use super::errors::failed;
use crate::claim::Place;
use crate::literal::{spelled_text, text};
use crate::store::due::{LOOKING, LaneLook, RingPlace, RingStep};
use crate::store::headers::{HeaderRow, due_of_keys, headers, in_order, names_of, newest_of, ring_place};
use crate::store::{Header, Lane};
use crate::{Shard, StoreError, WalkStart};

/// The most branches of a statement. Each opens the table once more.
const BRANCHES: usize = 64;

/// From 0001 to 9999, in microseconds since 1970.
const CALENDAR: [i64; 2] = [-62_135_596_800_000_000, 253_402_300_799_999_999];

const PRIORITIES: [i16; 4] = [3, 2, 1, 0];

/// More characters than a key can have.
const LONGEST_KEY: usize = 256;

/// As `CRC32()` of MySQL has it.
const CRC32: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// Looks on a connection, as [`DueRows`](crate::DueRows) says.
#[derive(Debug)]
pub(super) struct Looks<'c>(pub(super) &'c mut MySqlConnection);

impl Looks<'_> {
    /// The due rows behind a place, but for these rows and those of these lanes.
    pub(super) async fn look(
        &mut self,
        shard: Shard,
        behind: WalkStart,
        limit: u32,
        known: &[MessageId],
        not_of: &[Lane],
    ) -> Result<Vec<Header>, StoreError> {
        let known = known.iter().map(|id| id.0.to_string());
        let not_of = not_of.iter().map(|lane| text(&format!("{}\n{}", lane.channel, lane.tenant)));
        let passed_over = [listed(known), listed(not_of)].concat();
        let branch = |(priority, place): (i16, Option<Place>)| {
            let mut values = vec![shard.0.to_string(), priority.to_string()];
            values.extend(bounds(place));
            values.extend(passed_over.iter().cloned());
            values.push(limit.to_string());
            spelled_text(query!("mysql/due/shown", "mysql/due/look"), &values)
        };
        let branches = (0..).zip(behind.places()).map(branch).collect();
        Ok(in_order(self.headers(branches).await?))
    }

    pub(super) async fn newest(&mut self, shard: Shard, limit: u32) -> Result<Vec<Header>, StoreError> {
        let branch = |priority: &i16| {
            let values = [shard.0.to_string(), priority.to_string(), (u64::from(limit) * 8).to_string()];
            spelled_text(query!("mysql/due/shown", "mysql/due/newest"), &values)
        };
        Ok(newest_of(headers(self.headers(PRIORITIES.iter().map(branch).collect()).await?), limit))
    }

    pub(super) async fn look_at_lanes(
        &mut self,
        shard: Shard,
        lanes: &[LaneLook],
        limit: u32,
    ) -> Result<Vec<Header>, StoreError> {
        let numbers: BTreeSet<i64> = lanes.iter().map(|look| number(&look.lane)).collect();
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        let list = numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let all = numbers.len() * usize::from(u16::MAX);
        let priorities = due_priorities(self.turns(shard, format!("IN ({list})"), all).await?);
        let mut branches = Vec::new();
        for LaneLook { lane, behind } in lanes {
            for priority in priorities.get(&number(lane)).into_iter().flatten() {
                let place = usize::try_from(*priority).ok().and_then(|priority| behind.places()[priority]);
                branches.push(lane_branch(shard, number(lane), *priority, place, Some(lane), limit));
            }
        }
        Ok(in_order(self.headers(branches).await?))
    }

    pub(super) async fn next_lanes(
        &mut self,
        shard: Shard,
        from: Option<&RingPlace>,
        lanes: u32,
        each: u32,
    ) -> Result<RingStep, StoreError> {
        let from: i64 = from.and_then(|place| place.0.parse().ok()).unwrap_or(-1);
        let most = lanes as usize * PRIORITIES.len();
        let turns = self.turns(shard, format!("> {from}"), most).await?;
        let mut numbers: Vec<i64> = turns.iter().map(|turn| turn.number).collect();
        numbers.dedup();
        let is_all = turns.len() < most && numbers.len() <= lanes as usize;
        if turns.len() >= most && numbers.len() > 1 {
            // The last one may have more priorities than were read.
            numbers.pop();
        }
        numbers.truncate(lanes as usize);
        let next = numbers.last().filter(|_| !is_all).map(|last| RingPlace(last.to_string()));
        let priorities = due_priorities(turns);
        let due = numbers.iter().filter_map(|number| Some((*number, priorities.get(number)?)));
        let branches = due.flat_map(|(number, priorities)| {
            priorities.iter().map(move |priority| lane_branch(shard, number, *priority, None, None, each))
        });
        Ok(RingStep { headers: in_order(self.headers(branches.collect()).await?), next })
    }

    pub(super) async fn next_keys(
        &mut self,
        shard: Shard,
        from: Option<&RingPlace>,
        keys: u32,
        each: u32,
        halting: &[String],
    ) -> Result<RingStep, StoreError> {
        let (channel, key) = from.map_or_else(|| (String::new(), lowest_key()), names_of);
        let values = [shard.0.to_string(), text(&key), text(&key), text(&channel), keys.to_string()];
        let found: Vec<KeyRow> = self.rows(spelled_text(query!("mysql/due/next_keys"), &values)).await?;
        let Some(last) = found.last() else { return Ok(RingStep::default()) };
        let next = (found.len() >= keys as usize).then(|| ring_place(&last.channel, &last.ordering_key));
        let ids = found.iter().map(|key| key.id.to_string()).collect::<Vec<_>>().join(", ");
        let nth = (0..each).map(|nth| spelled_text(query!("mysql/due/nth_of_keys"), &[nth.to_string(), ids.clone()]));
        let mut values = vec![nth.collect::<Vec<_>>().join("\nUNION ALL\n")];
        values.extend(listed(halting.iter().map(|channel| text(channel))));
        let rows = self.rows(spelled_text(query!("mysql/due/shown", "mysql/due/look_at_keys"), &values)).await?;
        Ok(RingStep { headers: due_of_keys(rows), next })
    }

    /// The rows of these branches, in no order.
    async fn headers(&mut self, branches: Vec<String>) -> Result<Vec<HeaderRow>, StoreError> {
        let mut headers = Vec::new();
        for branches in branches.chunks(BRANCHES) {
            headers.extend(self.rows(format!("({})", branches.join(")\nUNION ALL\n("))).await?);
        }
        Ok(headers)
    }

    async fn turns(&mut self, shard: Shard, which: String, most: usize) -> Result<Vec<TurnRow>, StoreError> {
        let values = [shard.0.to_string(), which, most.to_string()];
        self.rows(spelled_text(query!("mysql/due/next_lanes"), &values)).await
    }

    async fn rows<T: for<'r> FromRow<'r, MySqlRow>>(&mut self, statement: String) -> Result<Vec<T>, StoreError> {
        let rows = sqlx::raw_sql(AssertSqlSafe(statement)).fetch_all(&mut *self.0).await;
        let rows = rows.map_err(|error| failed(LOOKING, error))?;
        rows.iter().map(T::from_row).collect::<Result<_, _>>().map_err(|error| failed(LOOKING, error))
    }
}

/// An ordering key, with its first waiting row.
#[derive(Debug, FromRow)]
struct KeyRow {
    channel: String,
    ordering_key: String,
    id: i64,
}

/// A number of lanes that has rows of that priority.
#[derive(Debug, FromRow)]
struct TurnRow {
    #[sqlx(rename = "turn")]
    number: i64,
    priority: i16,
    due: bool,
}

/// The priorities of each number of which rows are due. Nobody looks at others than the four that there are.
fn due_priorities(turns: Vec<TurnRow>) -> HashMap<i64, Vec<i16>> {
    let mut due: HashMap<_, Vec<_>> = HashMap::new();
    for turn in turns.into_iter().filter(|turn| turn.due && PRIORITIES.contains(&turn.priority)) {
        due.entry(turn.number).or_default().push(turn.priority);
    }
    due
}

/// The number of a lane: the column `turn`. It begins with that of its channel. Others may share it.
fn number(lane: &Lane) -> i64 {
    (crc32(&lane.channel) & 0x7fff) << 32 | crc32(&lane.tenant)
}

fn crc32(text: &str) -> i64 {
    i64::from(CRC32.checksum(text.as_bytes()))
}

/// Before all keys, in the order of the column. That compares by code points, as if short keys were filled up with spaces. So
/// the lowest key of all is not the empty one.
fn lowest_key() -> String {
    "\0".repeat(LONGEST_KEY)
}

/// The first rows of a lane, or of all that share a number.
fn lane_branch(
    shard: Shard,
    number: i64,
    priority: i16,
    behind: Option<Place>,
    lane: Option<&Lane>,
    limit: u32,
) -> String {
    let mut values = vec![shard.0.to_string(), number.to_string(), priority.to_string()];
    values.extend(bounds(behind));
    let (channel, tenant) = lane.map_or(("", ""), |lane| (&lane.channel, &lane.tenant));
    values.extend([truth(lane.is_none()), text(channel), text(tenant), limit.to_string()]);
    spelled_text(query!("mysql/due/shown", "mysql/due/look_at_lanes"), &values)
}

/// The values of the condition that rows lie behind a place.
fn bounds(place: Option<Place>) -> [String; 5] {
    let Place { us, id } = place.unwrap_or(Place { us: i64::MIN, id: i64::MIN });
    let [first, last] = CALENDAR;
    let at = if us == i64::MIN {
        "'0000-00-00 00:00:00'".to_owned()
    } else {
        format!("TIMESTAMP'1970-01-01 00:00:00' + INTERVAL {} MICROSECOND", us.clamp(first, last))
    };
    let any = truth(place.is_none());
    [any.clone(), at.clone(), any, at, id.to_string()]
}

/// Whether a list is empty, and its values. An empty one has a NULL, since SQL knows no empty lists.
fn listed(values: impl Iterator<Item = String>) -> [String; 2] {
    let values: Vec<_> = values.collect();
    if values.is_empty() { [truth(true), "NULL".to_owned()] } else { [truth(false), values.join(", ")] }
}

fn truth(is: bool) -> String {
    if is { "TRUE" } else { "FALSE" }.to_owned()
}
