//! Headers: as the statements of MySQL and SQLite return them, and in the order of a look.

use std::cmp::Reverse;
use std::collections::HashMap;

use outbox_schema::MessageId;
use serde::Serialize;

use super::header::{Header, Lane};
use crate::claim::Place;
use crate::store::due::{Names, RingPlace};
use crate::store::lossy::Lossy;
use crate::{Revision, WalkStart};

/// A row of a look.
#[derive(Debug, sqlx::FromRow)]
pub(crate) struct HeaderRow {
    id: i64,
    revision: i32,
    priority: i16,
    /// `available_at`, on MySQL.
    #[sqlx(default)]
    at_us: Option<i64>,
    /// The same on SQLite, which may keep parts of a millisecond.
    #[sqlx(default)]
    at_ms: Option<f64>,
    due: bool,
    #[sqlx(try_from = "Lossy<String>")]
    channel: String,
    #[sqlx(try_from = "Lossy<String>")]
    tenant: String,
    #[sqlx(try_from = "Lossy<String>")]
    destination: String,
    #[sqlx(try_from = "Lossy<Option<String>>")]
    ordering_key: Option<String>,
    bytes: i64,
}

impl HeaderRow {
    fn header(self, names: &mut Names) -> Header {
        Header {
            id: MessageId(self.id),
            revision: Revision(self.revision),
            priority: u8::try_from(self.priority.clamp(0, 3)).unwrap_or_default(),
            at: self.at_us.or(self.at_ms.map(microseconds)).unwrap_or(i64::MIN),
            lane: Lane { channel: names.of(&self.channel), tenant: names.of(&self.tenant) },
            destination: names.of(&self.destination),
            key: self.ordering_key.map(|key| names.of(&key)),
            bytes: self.bytes.unsigned_abs(),
        }
    }
}

pub(crate) fn headers(rows: Vec<HeaderRow>) -> Vec<Header> {
    let mut names = Names::default();
    rows.into_iter().map(|row| row.header(&mut names)).collect()
}

/// Rounded up: a look that goes on behind a row gets past it. So it does where rows are due since long before the calendar.
#[expect(clippy::cast_possible_truncation, reason = "what does not fit becomes the end of the range")]
fn microseconds(ms: f64) -> i64 {
    const FIRST_MS: f64 = -9e15;
    let ms = if ms.is_finite() { ms.max(FIRST_MS) } else { ms };
    (ms * 1000.0).ceil() as i64
}

/// The rows in the order of a look.
pub(crate) fn in_order(rows: Vec<HeaderRow>) -> Vec<Header> {
    let mut headers = headers(rows);
    headers.sort_by_key(|header| (Reverse(header.priority), header.at, header.id));
    headers
}

/// The newest so many, the newest first.
pub(crate) fn newest_of(mut headers: Vec<Header>, limit: u32) -> Vec<Header> {
    headers.sort_by_key(|header| Reverse((header.at, header.id)));
    headers.truncate(limit as usize);
    headers
}

/// Of the first rows of each ordering key, those before the first that is not due, in the order of their ids.
pub(crate) fn due_of_keys(mut rows: Vec<HeaderRow>) -> Vec<Header> {
    rows.sort_by_key(|row| row.id);
    let mut waits: HashMap<(String, Option<String>), bool> = HashMap::new();
    rows.retain(|row| {
        let waits = waits.entry((row.channel.clone(), row.ordering_key.clone())).or_default();
        *waits |= !row.due;
        !*waits
    });
    headers(rows)
}

/// Where a look begins: a priority, and the row behind which it does. The lowest time that there is, is None.
#[derive(Debug, Serialize)]
pub(crate) struct Start(pub(crate) i16, pub(crate) Option<i64>, pub(crate) i64);

impl Start {
    /// The starts of all priorities, the highest first.
    pub(crate) fn of_all(behind: WalkStart) -> impl Iterator<Item = Self> {
        let before_all = Place { us: i64::MIN, id: i64::MIN };
        (0..).zip(behind.places()).map(move |(priority, place)| {
            let place = place.unwrap_or(before_all);
            Self(priority, Some(place.us).filter(|us| *us != i64::MIN), place.id)
        })
    }
}

/// The place on a ring behind this channel and name.
pub(crate) fn ring_place(channel: &str, name: &str) -> RingPlace {
    RingPlace(serde_json::json!([channel, name]).to_string())
}

/// The channel and the name.
pub(crate) fn names_of(place: &RingPlace) -> (String, String) {
    serde_json::from_str(&place.0).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: i64, key: &str, due: bool) -> HeaderRow {
        HeaderRow {
            id,
            revision: 0,
            priority: 0,
            at_us: Some(id),
            at_ms: None,
            due,
            channel: "http".to_owned(),
            tenant: "acme".to_owned(),
            destination: "http".to_owned(),
            ordering_key: Some(key.to_owned()),
            bytes: 10,
        }
    }

    fn ids(headers: &[Header]) -> Vec<i64> {
        headers.iter().map(|header| header.id.0).collect()
    }

    #[test]
    fn of_a_key_nothing_is_shown_behind_a_row_that_is_not_due() {
        let rows =
            vec![row(5, "a", true), row(1, "a", true), row(3, "a", false), row(2, "b", false), row(4, "c", true)];
        assert_eq!(ids(&due_of_keys(rows)), [1, 4]);
    }

    #[test]
    fn a_look_goes_by_priority_then_by_time_then_by_id() {
        let of = |id, priority, at_us| HeaderRow { id, priority, at_us, ..row(id, "k", true) };
        let rows = || vec![of(4, 0, Some(7)), of(1, 0, Some(7)), of(2, 0, None), of(3, 9, Some(8))];
        let headers = in_order(rows());
        assert_eq!(ids(&headers), [3, 2, 1, 4]);
        assert_eq!((headers[0].priority, headers[1].at), (3, i64::MIN));
        assert_eq!(ids(&newest_of(super::headers(rows()), 2)), [3, 4]);
    }

    #[test]
    fn a_time_that_is_no_whole_microsecond_is_passed_by_the_look_behind_it() {
        assert_eq!(microseconds(1_700_000_000_000.0), 1_700_000_000_000_000);
        assert_eq!(microseconds(1.000_000_1), 1_001);
        assert_eq!(microseconds(-1e300), -9_000_000_000_000_000_000);
        assert_eq!((microseconds(f64::NEG_INFINITY), microseconds(f64::INFINITY)), (i64::MIN, i64::MAX));
    }

    #[test]
    fn a_place_on_a_ring_says_its_names_again() {
        let place = ring_place("a\n", "\"'");
        assert_eq!(names_of(&place), ("a\n".to_owned(), "\"'".to_owned()));
    }
}
