//! Which of the due rows of a walk its claim takes. For dialects whose statements do not decide that themselves.

use std::collections::{HashMap, HashSet};

use crate::claim::Place;
use crate::store::lossy::Lossy;
use crate::store::rows::Met;
use crate::{ChannelTerms, ClaimRequest, WalkStart};

/// A due row that the walk met.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct DueRow {
    pub(crate) id: i64,
    pub(crate) revision: i32,
    #[sqlx(try_from = "Lossy<String>")]
    pub(crate) channel: String,
    #[sqlx(try_from = "Lossy<String>")]
    pub(crate) destination: String,
    pub(crate) payload_bytes: i32,
    pub(crate) priority: i16,
    /// Whether the row is the head of an ordering key. Heads are found in another way.
    pub(crate) ordered: bool,
    /// `available_at`, or a second ago if that is earlier, in microseconds since 1970. None where it is no time of the
    /// calendar.
    pub(crate) start_us: Option<i64>,
}

/// What a claim does with the rows of its walk.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fitting {
    /// The rows that the claim takes, in its order.
    pub(crate) taken: Vec<DueRow>,
    /// Rows of channels that are not configured. They are deferred.
    pub(crate) met: Met,
    /// For each priority, the last row before which no row was left. None where rows are deferred.
    pub(crate) reached: Option<WalkStart>,
}

impl Fitting {
    /// Chooses from `due`, which a walk from `from` found, the first to go first. Takes of each destination as many
    /// rows as there is room for, and of those as many as are not too large together.
    pub(crate) fn of(due: Vec<DueRow>, request: &ClaimRequest<'_>, from: WalkStart) -> Self {
        let channels: HashMap<_, _> = request.channels.iter().map(|terms| (terms.name.as_str(), terms)).collect();
        let rooms: HashMap<_, _> = request.rooms.iter().map(|one| (one.destination.as_str(), one.room)).collect();
        let mut there: HashMap<String, u32> = HashMap::new();
        let (mut taken, mut met, mut left) = (Vec::new(), Met::new(), HashSet::new());
        let (mut bytes, mut too_large, mut start) = (0, false, from);
        for row in due {
            let Some(terms) = channels.get(row.channel.as_str()) else {
                met.insert(row.id, row.channel);
                continue;
            };
            let place_there = there.entry(row.destination.clone()).or_default();
            *place_there += 1;
            let size = u64::from(row.payload_bytes.unsigned_abs());
            let has_room = *place_there <= room(terms, rooms.get(row.destination.as_str()).copied());
            // Rows before a large one must not wait for it, and rows after it must not go before it.
            too_large |= has_room && bytes + size > request.max_bytes && !(taken.is_empty() && request.oversize);
            if has_room && !too_large {
                bytes += size;
                pass(&mut start, &row, &left);
                taken.push(row);
            } else if !row.ordered {
                left.insert(row.priority);
            }
        }
        let reached = met.is_empty().then_some(start);
        Self { taken, met, reached }
    }

    /// Leaves rows alone that are not `free`. The place where the next walk may begin is then unknown: a row that was
    /// left lies before the others.
    pub(crate) fn keep(&mut self, free: &HashMap<i64, i32>) {
        self.taken.retain(|row| free.get(&row.id) == Some(&row.revision));
        self.met.retain(|id, _| free.contains_key(id));
        self.reached = None;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.taken.is_empty() && self.met.is_empty()
    }

    /// The ids of all rows.
    pub(crate) fn ids(&self) -> impl Iterator<Item = i64> {
        self.taken.iter().map(|row| row.id).chain(self.met.keys().copied())
    }
}

/// The room of a destination of that channel. `said` is its own room, if it has one.
fn room(terms: &ChannelTerms, said: Option<u32>) -> u32 {
    said.unwrap_or(terms.room).min(terms.most)
}

/// Lets the next walk begin behind `row`, if no row of its priority was left before it.
fn pass(start: &mut WalkStart, row: &DueRow, left: &HashSet<i16>) {
    if let (Some(us), false) = (row.start_us, row.ordered || left.contains(&row.priority)) {
        start.pass(row.priority, Place { us, id: row.id });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::destination::DestinationRoom;
    use crate::{ClaimId, InDoubtPolicy, KeyStretch, OnDeadOrdered};

    /// A row of the channel `hook` to that destination, of ten bytes.
    fn due(id: i64, destination: &str) -> DueRow {
        DueRow {
            id,
            revision: 0,
            channel: "hook".to_owned(),
            destination: destination.to_owned(),
            payload_bytes: 10,
            priority: 0,
            ordered: false,
            start_us: Some(1_000 + id),
        }
    }

    fn hook(room: u32, most: u32) -> ChannelTerms {
        ChannelTerms {
            name: "hook".to_owned(),
            timeout: Duration::from_secs(15),
            max_attempts: 10,
            in_doubt: InDoubtPolicy::Resend,
            on_dead_ordered: OnDeadOrdered::Continue,
            room,
            most,
        }
    }

    /// The ids of the taken rows, and for each priority the row behind which the next walk begins.
    fn fit(
        rows: Vec<DueRow>,
        terms: ChannelTerms,
        rooms: &[DestinationRoom],
        max_bytes: u64,
        oversize: bool,
    ) -> (Vec<i64>, Option<WalkStart>) {
        let request = ClaimRequest {
            claim: ClaimId::mint(),
            limit: 100,
            max_bytes,
            oversize,
            excluded: &[],
            from: WalkStart::default(),
            keys: KeyStretch::default(),
            channels: &[terms],
            closed: &[],
            closed_channels: &[],
            rooms,
            unknown_channel_delay: Duration::ZERO,
            lease_ttl: Duration::ZERO,
            margin: Duration::ZERO,
        };
        let fitting = Fitting::of(rows, &request, request.from);
        (fitting.taken.iter().map(|row| row.id).collect(), fitting.reached)
    }

    fn room_of(destination: &str, room: u32) -> DestinationRoom {
        DestinationRoom { destination: destination.to_owned(), room }
    }

    #[test]
    fn a_destination_takes_what_is_said_of_it_else_what_its_channel_says_and_never_more_than_that_allows() {
        let rows = || ["a", "a", "a", "b", "b", "b"].iter().zip(1..).map(|(to, id)| due(id, to)).collect::<Vec<_>>();
        assert_eq!(fit(rows(), hook(2, 9), &[room_of("b", 1)], 1_000, false).0, [1, 2, 4]);
        assert_eq!(fit(rows(), hook(2, 9), &[room_of("b", 0)], 1_000, false).0, [1, 2]);
        assert_eq!(fit(rows(), hook(9, 2), &[room_of("b", 3)], 1_000, false).0, [1, 2, 4, 5]);
    }

    #[test]
    fn what_follows_one_that_is_too_large_waits_for_it_and_that_one_goes_alone() {
        let rows = || {
            let large = DueRow { payload_bytes: 50, ..due(2, "a") };
            vec![due(1, "a"), large, due(3, "a")]
        };
        assert_eq!(fit(rows(), hook(9, 9), &[], 30, true).0, [1]);
        assert_eq!(fit(rows().split_off(1), hook(9, 9), &[], 30, true).0, [2]);
        assert!(fit(rows().split_off(1), hook(9, 9), &[], 30, false).0.is_empty());
        assert_eq!(fit(rows(), hook(9, 9), &[], 70, false).0, [1, 2, 3]);
    }

    #[test]
    fn a_walk_goes_on_behind_the_last_row_before_which_none_of_its_priority_was_left() {
        let urgent = DueRow { priority: 1, ..due(9, "c") };
        let rows = vec![urgent, due(1, "a"), due(2, "b"), due(3, "a")];
        let (taken, reached) = fit(rows, hook(9, 9), &[room_of("b", 0)], 1_000, false);
        assert_eq!(taken, [9, 1, 3]);
        let behind_both = WalkStart::behind(1, 1_009, 9).or(WalkStart::behind(0, 1_001, 1));
        assert_eq!(reached, Some(behind_both));
    }

    #[test]
    fn a_head_that_is_left_keeps_no_walk_back_and_is_passed_by_none() {
        let head = |id, to| DueRow { ordered: true, ..due(id, to) };
        let rows = vec![head(1, "b"), due(2, "a"), head(3, "a")];
        let (taken, reached) = fit(rows, hook(9, 9), &[room_of("b", 0)], 1_000, false);
        assert_eq!(taken, [2, 3]);
        assert_eq!(reached, Some(WalkStart::behind(0, 1_002, 2)));
    }

    #[test]
    fn rows_of_unknown_channels_are_met_and_no_start_is_known() {
        let strange = DueRow { channel: "strange".to_owned(), ..due(1, "a") };
        assert_eq!(fit(vec![strange, due(2, "a")], hook(9, 9), &[], 1_000, false), (vec![2], None));
    }
}
