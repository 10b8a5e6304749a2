//! Looks over the due rows, in steps: each goes on where the last one ended. So the work of a step does not grow with what is due.

use sqlx::FromRow;

use crate::Shard;
use crate::sql::{AnyConnection, AnyRow, Statement, Value};

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

impl AsRef<Self> for Passed {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// How much a step does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Most {
    /// The most rows that it looks at.
    pub(crate) rows: u32,
    /// The most that it finds.
    pub(crate) found: u32,
}

/// Takes a step from `place` on, over rows without ordering keys, the highest priority first. Returns what `statement` finds for these
/// names, and where the next step goes on: None behind all rows.
///
/// The statement has these parameters: shard, priority, `available_at` and id of the last row before its stretch, the same of the last
/// row in it (NULL where it has no end), two lists of names in JSON, and the most rows that it returns.
pub(crate) async fn step<R: AnyRow + AsRef<Passed>>(
    connection: &mut AnyConnection<'_>,
    statement: &'static Statement,
    shard: Shard,
    mut place: Place,
    most: Most,
    names: [&str; 2],
) -> sqlx::Result<(Vec<R>, Option<Place>)> {
    let (mut found, mut rows): (Vec<R>, _) = (Vec::new(), i64::from(most.rows).max(1));
    while place.priority >= 0 {
        let (at, id) = bound(place.last.as_ref());
        let from: [Value<'_>; 4] = [shard.into(), place.priority.into(), at, id];
        let end: Vec<Passed> = connection.rows(&END, &[&from[..], &[(rows - 1).into()]].concat()).await?;
        let end = end.into_iter().next();
        let (at, id) = bound(end.as_ref());
        let left = i64::from(most.found).saturating_sub_unsigned(found.len() as u64);
        let [one, other] = names.map(Value::from);
        let some: Vec<R> =
            connection.rows(statement, &[&from[..], &[at, id, one, other, left.into()]].concat()).await?;
        let is_full = i64::try_from(some.len()).is_ok_and(|some| some >= left);
        let last = if is_full { some.last().map(|last| last.as_ref().clone()) } else { end };
        found.extend(some);
        if last.is_some() {
            place.last = last;
            return Ok((found, Some(place)));
        }
        let passed: Vec<(i64,)> = connection.rows(&COUNT, &[&from[..], &[rows.into()]].concat()).await?;
        rows = passed.iter().fold(rows, |rows, (passed,)| (rows - passed).max(1));
        place = Place { priority: place.priority - 1, last: None };
    }
    Ok((found, None))
}

fn bound(row: Option<&Passed>) -> (Value<'_>, Value<'_>) {
    row.map_or((Value::Text(None), 0.into()), |row| ((&row.at).into(), row.id.into()))
}
