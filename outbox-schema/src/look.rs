//! Looks over the due rows, in steps: each goes on where the last one ended. So the work of a step does not grow with what is due.

use sqlx::FromRow;

use crate::Shard;
use crate::sql::{AnyConnection, AnyRow, Statement, Value};

/// A place among the due rows of one priority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    priority: i64,
    /// The last row that was looked at: `available_at` in the words of the database, and the id. None before the first row.
    last: Option<(String, i64)>,
}

impl Place {
    /// The place before the first of all due rows.
    pub const FIRST: Self = Self { priority: 3, last: None };
}

/// A row that a step came by, without an ordering key.
#[derive(Debug, FromRow)]
pub(crate) struct Passed {
    id: i64,
    at: String,
    /// Its number among those of its priority that the step came by.
    nth: i64,
}

/// Takes a step of at most `rows` rows from `place` on, the highest priority first. Returns the rows that `statement` returns for
/// these names, at most `limit` and the last of a priority, and where the next step goes on: None behind all rows.
///
/// The statement has these parameters: shard, priority, `available_at` and id of the last row, the most rows, the names (two lists in
/// JSON), and the limit. Beside those that are looked for it returns the last row that it came by.
pub(crate) async fn step<R: AnyRow + AsRef<Passed>>(
    connection: &mut AnyConnection<'_>,
    statement: &'static Statement,
    shard: Shard,
    mut place: Place,
    (rows, limit): (u32, u32),
    names: [&str; 2],
) -> sqlx::Result<(Vec<R>, Option<Place>)> {
    let (mut came_by, mut left): (Vec<R>, _) = (Vec::new(), i64::from(rows));
    while place.priority >= 0 {
        let limit = i64::from(limit).saturating_sub_unsigned(came_by.len() as u64);
        let (at, id) = place.last.as_ref().map_or((None, 0), |(at, id)| (Some(at.as_str()), *id));
        let [one, other] = names;
        let values: [Value<'_>; 8] = [
            shard.into(),
            place.priority.into(),
            at.into(),
            id.into(),
            left.into(),
            one.into(),
            other.into(),
            limit.into(),
        ];
        let found: Vec<R> = connection.rows(statement, &values).await?;
        let count = i64::try_from(found.len()).unwrap_or(i64::MAX);
        let last = found.last().map(AsRef::as_ref);
        let looked_at = last.map_or(0, |last| last.nth);
        let goes_on = last.filter(|last| count >= limit || last.nth >= left).map(|last| (last.at.clone(), last.id));
        came_by.extend(found);
        if goes_on.is_some() {
            place.last = goes_on;
            break;
        }
        left -= looked_at;
        place = Place { priority: place.priority - 1, last: None };
    }
    Ok((came_by, Some(place).filter(|place| place.priority >= 0)))
}
