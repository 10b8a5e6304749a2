//! Which of the due rows of a walk its claim takes. For dialects whose statements do not decide that themselves.

use std::collections::{HashMap, HashSet};

use crate::claim::{Found, Place};
use crate::store::lossy::Lossy;
use crate::store::rows::Met;
use crate::{ChannelTerms, ClaimRequest, MessageId, WalkStart};

/// A due row that the walk met.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct DueRow {
    pub(crate) id: i64,
    pub(crate) revision: i32,
    #[sqlx(try_from = "Lossy<String>")]
    pub(crate) channel: String,
    #[sqlx(try_from = "Lossy<String>")]
    pub(crate) destination: String,
    /// The bytes of payload, target and headers.
    pub(crate) bytes: i64,
    pub(crate) priority: i16,
    /// Whether the row is the head of an ordering key. Heads are found in another way.
    pub(crate) ordered: bool,
    /// `available_at`, or a second ago if that is earlier, in microseconds since 1970. None where it is no time of the
    /// calendar.
    pub(crate) start_us: Option<i64>,
    /// The row's place in the walk. None where the row came beside the walk, as the turn of a tenant.
    #[sqlx(skip)]
    pub(crate) place: Option<usize>,
}

impl DueRow {
    /// Numbers the rows of a walk.
    pub(crate) fn number(walked: &mut [Self]) {
        for (place, row) in walked.iter_mut().enumerate() {
            row.place = Some(place);
        }
    }
}

/// What a claim does with the rows of its walk.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fitting {
    /// The rows that the claim takes, in its order.
    pub(crate) taken: Vec<DueRow>,
    /// Rows of channels that are not configured. They are deferred.
    pub(crate) met: Met,
    /// For each priority, the last place before which no row was left. None where rows are deferred.
    pub(crate) reached: Option<WalkStart>,
    /// The strangers that the claim asks about. It then takes nothing.
    pub(crate) asked: Vec<String>,
    /// The rows that the claim leaves, but for heads of ordering keys; all rows where it asks.
    pub(crate) found: Found,
    /// The rows, where they were found before and others have locked them all.
    pub(crate) held: Vec<MessageId>,
    /// Whether all rows are taken, and a walk that stops at the limit did not.
    pub(crate) took_all: bool,
}

impl Fitting {
    /// Whether something is left of what a walk found, or behind it, also for want of room for strangers: tenants then take turns.
    pub(crate) fn leaves_some(due: &[DueRow], request: &ClaimRequest<'_>, from: WalkStart) -> bool {
        if due.len() >= request.limit as usize {
            return true;
        }
        let found = Self::of(due.to_vec(), request, from);
        !found.asked.is_empty() || !found.took_all
    }

    /// Chooses from `due`, which a walk from `from` found, and turns of tenants beside it, the first to go first. Takes of
    /// each destination as many rows as there is room for, and of those as many as are not too large together. A row that
    /// is too large for its channel counts no bytes, for it is not read.
    pub(crate) fn of(due: Vec<DueRow>, request: &ClaimRequest<'_>, from: WalkStart) -> Self {
        let channels: HashMap<_, _> = request.channels.iter().map(|terms| (terms.name.as_str(), terms)).collect();
        let rooms: HashMap<_, _> = request.rooms.iter().map(|one| (one.destination.as_str(), one.room)).collect();
        let strange =
            |row: &DueRow| channels.contains_key(row.channel.as_str()) && !rooms.contains_key(row.destination.as_str());
        let mut strangers: HashMap<&str, u32> = HashMap::new();
        let (mut rows, mut of_strangers) = (0, 0);
        for row in due.iter().filter(|row| strange(row)) {
            let there = strangers.entry(row.destination.as_str()).or_default();
            *there += 1;
            rows += u32::from(*there <= channels[row.channel.as_str()].room);
            of_strangers += row.bytes.unsigned_abs();
        }
        let crowded = rows > request.strangers.rows || of_strangers > request.strangers.bytes;
        if request.strangers.ask && crowded {
            let asked = strangers.into_keys().map(str::to_owned).collect();
            return Self {
                taken: Vec::new(),
                met: Met::new(),
                reached: None,
                asked,
                found: Found(due),
                held: Vec::new(),
                took_all: false,
            };
        }
        let mut there: HashMap<String, u32> = HashMap::new();
        let (mut taken, mut left, mut met, mut steps) = (Vec::new(), Vec::new(), Met::new(), Vec::new());
        let (mut bytes, mut too_large) = (0, false);
        let mut left_for_strangers = (request.strangers.rows, request.strangers.bytes);
        let in_turns = due.iter().any(|row| row.place.is_none());
        let mut took_all = !in_turns && due.len() < request.limit as usize;
        for row in due {
            let Some(terms) = channels.get(row.channel.as_str()) else {
                met.insert(row.id, row.channel);
                continue;
            };
            let place_there = there.entry(row.destination.clone()).or_default();
            *place_there += 1;
            let size = row.bytes.unsigned_abs();
            let size = if size > terms.max_message_bytes { 0 } else { size };
            let said = rooms.get(row.destination.as_str()).copied();
            let mut has_room = *place_there <= room(terms, said) && taken.len() < request.limit as usize;
            if has_room && said.is_none() {
                let (rows, of_strangers) = left_for_strangers;
                has_room = rows > 0 && size <= of_strangers;
                // One that is too large is not overtaken by those that are smaller.
                left_for_strangers = if has_room { (rows - 1, of_strangers - size) } else { (0, 0) };
            }
            // Rows before a large one must not wait for it, and rows after it must not go before it.
            too_large |= has_room && bytes + size > request.max_bytes;
            let goes = has_room && !too_large;
            steps.extend(row.place.map(|place| Step {
                place,
                goes,
                id: row.id,
                priority: row.priority,
                start_us: row.start_us,
                ordered: row.ordered,
            }));
            if goes {
                bytes += size;
                taken.push(row);
            } else {
                took_all = false;
                if !row.ordered {
                    left.push(row);
                }
            }
        }
        let reached = met.is_empty().then(|| reached(steps, from));
        Self { taken, met, reached, asked: Vec::new(), found: Found(left), held: Vec::new(), took_all }
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

/// A row of the walk, and what became of it.
struct Step {
    place: usize,
    goes: bool,
    id: i64,
    priority: i16,
    start_us: Option<i64>,
    ordered: bool,
}

/// For each priority, the last place before which no row was left: also rows that the walk passed over are behind it.
fn reached(mut steps: Vec<Step>, from: WalkStart) -> WalkStart {
    steps.sort_unstable_by_key(|step| step.place);
    let (mut start, mut left) = (from, HashSet::new());
    for step in steps.into_iter().filter(|step| !step.ordered) {
        if left.contains(&step.priority) {
            continue;
        }
        if !step.goes {
            left.insert(step.priority);
        }
        match step.start_us.map(|us| Place { us, id: step.id }) {
            Some(place) if step.goes => start.pass(step.priority, place),
            Some(place) => start.stop_before(step.priority, place),
            None => {}
        }
    }
    start
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::destination::DestinationRoom;
    use crate::{ClaimId, InDoubtPolicy, KeyStretch, OnDeadOrdered, Strangers};

    /// A row of the channel `hook` to that destination, of ten bytes.
    fn due(id: i64, destination: &str) -> DueRow {
        DueRow {
            id,
            revision: 0,
            channel: "hook".to_owned(),
            destination: destination.to_owned(),
            bytes: 10,
            priority: 0,
            ordered: false,
            start_us: Some(1_000 + id),
            place: None,
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
            max_message_bytes: 1_000,
            fair: true,
            on_dead: None,
        }
    }

    fn request<'a>(channels: &'a [ChannelTerms], rooms: &'a [DestinationRoom], max_bytes: u64) -> ClaimRequest<'a> {
        ClaimRequest {
            claim: ClaimId::mint(),
            limit: 100,
            max_bytes,
            excluded: &[],
            from: WalkStart::default(),
            keys: KeyStretch::default(),
            channels,
            closed: &[],
            closed_channels: &[],
            rooms,
            strangers: Strangers { rows: 100, bytes: 1_000, ask: false },
            found: None,
            turns: None,
            unknown_channel_delay: Duration::ZERO,
            lease_ttl: Duration::ZERO,
            margin: Duration::ZERO,
        }
    }

    /// Rows as a walk brings them.
    fn walked(rows: Vec<DueRow>) -> Vec<DueRow> {
        rows.into_iter().enumerate().map(|(place, row)| DueRow { place: Some(place), ..row }).collect()
    }

    /// The ids of the taken rows, and for each priority the row behind which the next walk begins.
    fn fit(
        rows: Vec<DueRow>,
        terms: ChannelTerms,
        rooms: &[DestinationRoom],
        max_bytes: u64,
    ) -> (Vec<i64>, Option<WalkStart>) {
        let terms = [terms];
        let request = request(&terms, rooms, max_bytes);
        let fitting = Fitting::of(walked(rows), &request, request.from);
        (fitting.taken.iter().map(|row| row.id).collect(), fitting.reached)
    }

    fn room_of(destination: &str, room: u32) -> DestinationRoom {
        DestinationRoom { destination: destination.to_owned(), room }
    }

    #[test]
    fn a_destination_takes_what_is_said_of_it_else_what_its_channel_says_and_never_more_than_that_allows() {
        let rows = || ["a", "a", "a", "b", "b", "b"].iter().zip(1..).map(|(to, id)| due(id, to)).collect::<Vec<_>>();
        assert_eq!(fit(rows(), hook(2, 9), &[room_of("b", 1)], 1_000).0, [1, 2, 4]);
        assert_eq!(fit(rows(), hook(2, 9), &[room_of("b", 0)], 1_000).0, [1, 2]);
        assert_eq!(fit(rows(), hook(9, 2), &[room_of("b", 3)], 1_000).0, [1, 2, 4, 5]);
    }

    #[test]
    fn what_follows_one_for_which_there_are_not_enough_bytes_waits_for_it() {
        let rows = || {
            let large = DueRow { bytes: 50, ..due(2, "a") };
            vec![due(1, "a"), large, due(3, "a")]
        };
        assert_eq!(fit(rows(), hook(9, 9), &[], 30).0, [1]);
        assert!(fit(rows().split_off(1), hook(9, 9), &[], 30).0.is_empty());
        assert_eq!(fit(rows(), hook(9, 9), &[], 70).0, [1, 2, 3]);
    }

    #[test]
    fn one_that_is_too_large_for_its_channel_is_taken_and_counts_no_bytes() {
        let rows = vec![due(1, "a"), DueRow { bytes: 5_000, ..due(2, "a") }, due(3, "a")];
        assert_eq!(fit(rows, hook(9, 9), &[], 20).0, [1, 2, 3]);
    }

    #[test]
    fn strangers_share_their_room_and_those_that_are_known_have_theirs() {
        let rows = || ["a", "b", "c", "known"].iter().zip(1..).map(|(to, id)| due(id, to)).collect::<Vec<_>>();
        let ask = |strangers| {
            let known = [room_of("known", 9)];
            let terms = [hook(9, 9)];
            let request = ClaimRequest { strangers, ..request(&terms, &known, 1_000) };
            Fitting::of(walked(rows()), &request, WalkStart::default())
        };
        let few = Strangers { rows: 2, bytes: 1_000, ask: false };
        let taken = |fitting: &Fitting| fitting.taken.iter().map(|row| row.id).collect::<Vec<_>>();
        assert_eq!(taken(&ask(few)), [1, 2, 4]);
        assert_eq!(taken(&ask(Strangers { bytes: 10, ..few })), [1, 4]);
        let asks = ask(Strangers { ask: true, ..few });
        assert!(asks.taken.is_empty() && asks.asked.len() == 3, "{asks:?}");
    }

    #[test]
    fn a_walk_goes_on_before_the_first_row_of_its_priority_that_was_left_else_behind_the_last() {
        let urgent = DueRow { priority: 1, ..due(9, "c") };
        let rows = vec![urgent, due(1, "a"), due(2, "b"), due(3, "a")];
        let (taken, reached) = fit(rows, hook(9, 9), &[room_of("b", 0)], 1_000);
        assert_eq!(taken, [9, 1, 3]);
        let left = WalkStart::behind(1, 1_009, 9).or(WalkStart::behind(0, 1_002, 1));
        assert_eq!(reached, Some(left));
    }

    #[test]
    fn a_head_that_is_left_keeps_no_walk_back_and_is_passed_by_none() {
        let head = |id, to| DueRow { ordered: true, ..due(id, to) };
        let rows = vec![head(1, "b"), due(2, "a"), head(3, "a")];
        let (taken, reached) = fit(rows, hook(9, 9), &[room_of("b", 0)], 1_000);
        assert_eq!(taken, [2, 3]);
        assert_eq!(reached, Some(WalkStart::behind(0, 1_002, 2)));
    }

    #[test]
    fn rows_of_unknown_channels_are_met_and_no_start_is_known() {
        let strange = DueRow { channel: "strange".to_owned(), ..due(1, "a") };
        assert_eq!(fit(vec![strange, due(2, "a")], hook(9, 9), &[], 1_000), (vec![2], None));
    }
}
