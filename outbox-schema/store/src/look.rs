//! Looks over the due rows, in steps: each goes on where the last one ended. So the work of a step does not grow with what is due.

use sqlx::FromRow;

use crate::Shard;
use crate::sql::{AnyConnection, Value};
use crate::statement::Statement;

const END: Statement = statement!("poller/due_end");
const COUNT: Statement = statement!("poller/due_count");

/// A place among the due rows of one priority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    priority: i64,
    /// The last row that was looked at. None before the first one.
    last: Option<Passed>,
}

impl Place {
    /// The place before the first of all due rows.
    pub const FIRST: Self = Self { priority: 3, last: None };
}

/// A row that a step came by.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub(crate) struct Passed {
    pub(crate) id: i64,
    /// `available_at` in the words of the database.
    at: String,
}

/// A step over the due rows without ordering keys, the highest priority first.
#[derive(Debug)]
pub(crate) struct Step {
    shard: Shard,
    /// Where it goes on. None behind all rows.
    place: Option<Place>,
    /// How many more rows it looks at.
    rows: i64,
    /// How many more it brings.
    left: i64,
}

/// The rows of one priority that a step looks at.
#[derive(Debug)]
pub(crate) struct Stretch {
    shard: Shard,
    priority: i64,
    /// The last row before it.
    before: Option<Passed>,
    /// Its last row. None where it has no end.
    last: Option<Passed>,
}

impl Step {
    /// A step from `place` on that looks at so many rows at most, and at least at one. It brings `limit` of them at most.
    pub(crate) fn new(shard: Shard, place: Place, rows: u32, limit: u32) -> Self {
        Self { shard, place: Some(place), rows: i64::from(rows.max(1)), left: limit.into() }
    }

    /// How many more rows it may bring.
    pub(crate) fn left(&self) -> i64 {
        self.left
    }

    /// The next rows that it looks at. None where it has come to its end.
    pub(crate) async fn next(&mut self, connection: &mut AnyConnection<'_>) -> sqlx::Result<Option<Stretch>> {
        let Some(Place { priority, last: before }) = self.place.clone().filter(|_| self.rows > 0) else {
            return Ok(None);
        };
        let mut stretch = Stretch { shard: self.shard, priority, before, last: None };
        let [shard, priority_value, at, id, ..] = stretch.values();
        let from = [shard, priority_value, at, id];
        let end: Vec<Passed> = connection.rows(&END, &[&from[..], &[(self.rows - 1).into()]].concat()).await?;
        if let Some(end) = end.into_iter().next() {
            stretch.last = Some(end);
            self.ends_behind(stretch.last.clone());
        } else if priority > 0 {
            let passed: Vec<(i64,)> = connection.rows(&COUNT, &[&from[..], &[self.rows.into()]].concat()).await?;
            self.rows = passed.iter().fold(self.rows, |rows, (passed,)| (rows - passed).max(1));
            self.place = Some(Place { priority: priority - 1, last: None });
        } else {
            self.place = None;
        }
        Ok(Some(stretch))
    }

    /// Takes note of the rows that it brings of a stretch. Where these are as many as it may bring, the next step goes on behind the
    /// last of them.
    pub(crate) fn brings(&mut self, rows: &[Passed], stretch: &Stretch) {
        self.left = self.left.saturating_sub_unsigned(rows.len() as u64);
        if let Some(last) = rows.last().filter(|_| self.left <= 0) {
            self.place = Some(Place { priority: stretch.priority, last: None });
            self.ends_behind(Some(last.clone()));
        }
    }

    fn ends_behind(&mut self, last: Option<Passed>) {
        self.place = self.place.take().map(|place| Place { last, ..place });
        self.rows = 0;
    }

    /// Where the next step goes on. None: there are no rows behind those.
    pub(crate) fn goes_on(self) -> Option<Place> {
        self.place
    }
}

impl Stretch {
    /// The parameters of a statement that looks for rows of the stretch: shard, priority, `available_at` and id of the last row before
    /// it, the same of its last row (NULL where it has no end).
    pub(crate) fn values(&self) -> [Value<'_>; 6] {
        let [(from_at, from_id), (at, id)] = [self.before.as_ref(), self.last.as_ref()].map(bound);
        [self.shard.into(), self.priority.into(), from_at, from_id, at, id]
    }
}

fn bound(row: Option<&Passed>) -> (Value<'_>, Value<'_>) {
    row.map_or((Value::Text(None), 0.into()), |row| ((&row.at).into(), row.id.into()))
}
