//! A poller in miniature with the schedule, and an outbox in memory. Looks, claims, answers and marks overlap as a seed says,
//! while rows are committed, cancelled and edited, receivers fail, and terms change.
//!
//! `SCHEDULE_SEEDS=100000 cargo test -p outbox-dispatcher --lib simulation` runs more seeds, and `SCHEDULE_SEED=7` one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use outbox_schema::MessageId;
use outbox_store::{Header, Lane, LaneLook, Revision, WalkStart};
use tokio::time::Instant;

use super::store::{Chance, Store};
use crate::schedule::{Capacity, Rooms, Standing};
use crate::schedule::{Schedule, Shows, WhyNot};

const CAPACITY: Capacity = Capacity { slots: 16, bytes: 4000, headers: 48 };
const PAGE: usize = 16;
const EACH: u32 = 8;
const ROWS: usize = 100;

/// What is under way between the poller and others.
#[derive(Debug)]
enum Call {
    Look {
        from: WalkStart,
        unseen: Option<crate::schedule::Unseen>,
    },
    /// `counts`: the step is one of a round amid a backlog.
    Lanes {
        from: Option<Lane>,
        counts: bool,
    },
    Keys,
    Feed {
        asked: Vec<LaneLook>,
        limit: u32,
    },
    Claim {
        rows: Vec<Header>,
    },
    Send {
        row: Header,
    },
    Mark {
        row: Header,
        again: bool,
    },
}

/// Its answer, once it was carried out.
#[derive(Debug)]
enum Answer {
    Headers(Vec<Header>),
    Looked { headers: Vec<Header>, claimed: Vec<Header> },
    Lanes { headers: Vec<Header>, next: Option<Lane> },
    Sent { accepted: bool },
    Marked,
}

#[derive(Debug)]
struct Underway {
    call: Call,
    answer: Option<Answer>,
    term: u32,
}

/// Receivers: each has a window, opens after failures, and may be down.
#[derive(Debug, Default)]
struct Receivers {
    down: BTreeSet<String>,
    answered: BTreeSet<String>,
    in_flight: BTreeMap<String, usize>,
    closed: BTreeMap<String, Instant>,
}

impl Receivers {
    fn room(&self, destination: &str) -> usize {
        self.window(destination).saturating_sub(self.in_flight(destination))
    }

    fn window(&self, destination: &str) -> usize {
        if self.answered.contains(destination) { 6 } else { 2 }
    }

    fn in_flight(&self, destination: &str) -> usize {
        self.in_flight.get(destination).copied().unwrap_or(0)
    }

    /// A row is sent. What was claimed unseen may be on top of its room.
    fn admit(&mut self, row: &Header, unseen: usize) {
        assert!(
            self.in_flight(&row.destination) < self.window(&row.destination) + unseen,
            "{} has no room",
            row.destination
        );
        *self.in_flight.entry(row.destination.to_string()).or_default() += 1;
    }
}

impl Rooms for Receivers {
    fn standing(&mut self, _: &str, destination: &str, now: Instant) -> Standing {
        match (self.closed.get(destination), self.room(destination)) {
            (Some(until), _) if *until > now => Standing::Closed { until: Some(*until) },
            (_, 0) => Standing::Full,
            (_, room) => Standing::Room(room),
        }
    }

    fn in_slow_start(&mut self, destination: &str) -> bool {
        !self.answered.contains(destination)
    }

    fn budget_of_slow_start(&mut self) -> usize {
        2
    }

    fn room_for_anyone(&mut self, now: Instant) -> usize {
        let least = self.in_flight.keys().map(|name| self.room(name)).min().unwrap_or(2);
        if self.closed.values().any(|until| *until > now) { 0 } else { least.min(2) }
    }

    fn largest(&self) -> u64 {
        1500
    }

    fn most_bytes(&self, _: &str) -> Option<u64> {
        Some(4096)
    }

    fn fair(&self, channel: &str) -> bool {
        channel == "http"
    }
}

/// All of it.
#[derive(Debug)]
struct World {
    chance: Chance,
    store: Store,
    receivers: Receivers,
    schedule: Schedule,
    began: Instant,
    underway: Vec<Underway>,
    /// Answers that wait until a look that may claim is answered.
    held_back: Vec<Underway>,
    term: u32,
    /// Rows of claims that an ended process left.
    unsettled: Vec<Header>,
    /// Where the next look begins, and the next step of the round over all lanes.
    behind: WalkStart,
    backlog: bool,
    ring: Option<Lane>,
    /// The rows without a key that looks have shown since this round over all lanes began, and their revisions.
    shown: BTreeSet<(MessageId, Revision)>,
    /// The rule that a test leaves out.
    holds_back: bool,
    /// The most rows that a look has claimed.
    unseen: usize,
    in_flight: BTreeMap<MessageId, Header>,
}

impl World {
    fn new(seed: u64, holds_back: bool) -> Self {
        Self {
            chance: Chance(seed),
            store: Store::default(),
            receivers: Receivers::default(),
            schedule: Schedule::new(CAPACITY),
            began: Instant::now(),
            underway: Vec::new(),
            held_back: Vec::new(),
            term: 0,
            unsettled: Vec::new(),
            behind: WalkStart::default(),
            backlog: false,
            ring: None,
            shown: BTreeSet::new(),
            holds_back,
            unseen: 0,
            in_flight: BTreeMap::new(),
        }
    }

    fn now(&self) -> Instant {
        self.began + Duration::from_micros(self.store.now.unsigned_abs())
    }

    fn run(&mut self) {
        let mut steps = 0;
        while self.store.rows.len() < ROWS || self.chance.below(20) > 0 {
            self.step(true);
            steps += 1;
            assert!(steps < 100_000, "it did not come to an end");
        }
        self.receivers.down.clear();
        while self.store.rows.values().any(|row| !row.committed) {
            self.store.commit_late(&mut self.chance);
        }
        for _ in 0..40_000 {
            if self.store.rows.values().all(|row| !row.pending) {
                return;
            }
            self.step(false);
        }
        let left: Vec<_> = self.store.rows.values().filter(|row| row.pending).collect();
        panic!("{} were never delivered, such as {:?}: {:?}", left.len(), left[0], self.schedule.waiting());
    }

    fn step(&mut self, unrest: bool) {
        match self.chance.below(if unrest { 14 } else { 9 }) {
            0..=1 => self.store.now += i64::try_from(self.chance.below(8_000)).expect("not much"),
            2 => self.poll(),
            3..=7 => self.proceed(),
            8..=9 if unrest => {
                for _ in 0..self.chance.below(4) {
                    self.store.write(&mut self.chance);
                }
            }
            10 => self.store.commit_late(&mut self.chance),
            11 if self.chance.one_in(4) => self.store.meddle(&mut self.chance),
            12 if self.receivers.down.is_empty() && self.chance.one_in(20) => {
                self.receivers.down = (0..self.chance.below(5)).map(|down| format!("d{down}")).collect();
            }
            12 if self.chance.one_in(10) => self.receivers.down.clear(),
            13 if self.chance.one_in(60) => self.hand_over(),
            _ => self.settle(),
        }
        if self.chance.one_in(8) {
            self.check();
        }
    }

    fn check(&self) {
        self.schedule.check();
        let waiting = self.schedule.waiting();
        assert!(waiting.bytes <= CAPACITY.bytes || waiting.in_flight == 1, "too many bytes: {waiting:?}");
        assert_eq!(waiting.in_flight, self.in_flight.len());
    }

    /// What looks have shown in a whole round is known, but for what was left for a while.
    fn check_round(&self) {
        for (id, revision) in self.shown.iter().filter(|_| self.schedule.left_until.is_none()) {
            let row = &self.store.rows[&id.0];
            let is_due = row.pending && row.header.revision == *revision;
            assert!(!is_due || self.schedule.why_not(*id).is_some(), "a whole round forgot {row:?}");
        }
    }

    /// Of the first rows of keys, none waits without one that goes before it.
    fn check_keys(&self, shown: &[Header]) {
        let known = |row: &Header| self.schedule.why_not(row.id);
        for rows in shown.chunk_by(|one, other| one.key == other.key && one.lane.channel == other.lane.channel) {
            let missing = rows.iter().position(|row| known(row).is_none());
            let waits = |row: &Header| known(row).is_some_and(|why| !matches!(why, WhyNot::InFlight | WhyNot::Held));
            let last = rows.iter().rposition(waits);
            assert!(missing.is_none_or(|missing| last.is_none_or(|last| last < missing)), "one overtakes: {rows:?}");
        }
    }

    /// The poller does what it can begin.
    fn poll(&mut self) {
        let now = self.now();
        let is_on = |calls: &[Underway], of: fn(&Call) -> bool| calls.iter().any(|one| of(&one.call));
        if !is_on(&self.underway, |call| matches!(call, Call::Claim { .. })) {
            let rows = self.schedule.take(4, &mut self.receivers, now);
            self.fly(&rows);
            if !rows.is_empty() {
                self.begin(Call::Claim { rows });
            }
        }
        if !is_on(&self.underway, |call| matches!(call, Call::Look { .. })) {
            let whole = !self.backlog && self.chance.one_in(3);
            let unseen = Some(self.schedule.unseen(&mut self.receivers, now)).filter(|unseen| unseen.up_to > 0);
            let from = if whole { WalkStart::default() } else { self.behind };
            self.begin(Call::Look { from, unseen });
        }
        if !is_on(&self.underway, |call| matches!(call, Call::Keys)) && !self.is_held(|call| matches!(call, Call::Keys))
        {
            self.begin(Call::Keys);
        }
        if !is_on(&self.underway, |call| matches!(call, Call::Feed { .. }))
            && !self.is_held(|call| matches!(call, Call::Feed { .. }))
            && let Some((asked, limit)) = self.schedule.hungry(now)
        {
            self.begin(Call::Feed { asked, limit });
        }
        if (self.backlog || self.chance.one_in(4))
            && !is_on(&self.underway, |call| matches!(call, Call::Lanes { .. }))
            && !self.is_held(|call| matches!(call, Call::Lanes { .. }))
        {
            let from = self.ring.take();
            if from.is_none() {
                self.shown.clear();
            }
            self.begin(Call::Lanes { from, counts: self.backlog });
        }
    }

    fn is_held(&self, of: fn(&Call) -> bool) -> bool {
        self.held_back.iter().any(|one| of(&one.call))
    }

    fn begin(&mut self, call: Call) {
        self.underway.push(Underway { call, answer: None, term: self.term });
    }

    fn fly(&mut self, rows: &[Header]) {
        for row in rows {
            assert!(self.in_flight.insert(row.id, row.clone()).is_none(), "{row:?} is in two claims: it is in flight");
            let same_key = |other: &&Header| {
                row.key.is_some()
                    && other.key == row.key
                    && other.lane.channel == row.lane.channel
                    && other.id != row.id
            };
            assert_eq!(self.in_flight.values().find(same_key), None, "two of a key are in flight: {row:?}");
        }
    }

    /// Something that is under way is carried out, or its answer comes.
    fn proceed(&mut self) {
        if self.underway.is_empty() {
            return;
        }
        let one = usize::try_from(self.chance.below(self.underway.len() as u64)).expect("few calls");
        if self.underway[one].answer.is_none() {
            let answer = self.carry_out(one);
            self.underway[one].answer = Some(answer);
            return;
        }
        let one = self.underway.swap_remove(one);
        let may_claim = |one: &Underway| matches!(one.call, Call::Look { unseen: Some(_), .. });
        let finds = matches!(one.call, Call::Lanes { .. } | Call::Keys | Call::Feed { .. });
        if self.holds_back && finds && self.underway.iter().any(may_claim) {
            self.held_back.push(one);
            return;
        }
        let releases = matches!(one.call, Call::Look { .. });
        self.hear(one);
        if releases {
            for one in std::mem::take(&mut self.held_back) {
                self.hear(one);
            }
        }
    }

    fn carry_out(&mut self, one: usize) -> Answer {
        match &self.underway[one].call {
            Call::Look { from, unseen, .. } => {
                let passes = |row: &Header| {
                    unseen.as_ref().is_none_or(|it| !it.known.contains(&row.id) && !it.not_of.contains(&row.lane))
                };
                let headers = self.store.look(*from, PAGE, passes);
                let few = unseen.as_ref().is_some_and(|unseen| headers.len() <= unseen.up_to);
                let claimed = if few { self.store.claim(&headers) } else { Vec::new() };
                Answer::Looked { headers, claimed }
            }
            Call::Lanes { from, .. } => {
                let (headers, next) = self.store.next_lanes(from.as_ref(), 2, EACH as usize);
                Answer::Lanes { headers, next }
            }
            Call::Keys => Answer::Headers(self.store.heads(3)),
            Call::Feed { asked, limit } => Answer::Headers(self.store.look_at_lanes(asked, *limit as usize)),
            Call::Claim { rows } => Answer::Headers(self.store.claim(rows)),
            Call::Send { row } => Answer::Sent { accepted: !self.receivers.down.contains(&*row.destination) },
            Call::Mark { row, again } => {
                let at = again.then(|| self.store.now + 30_000);
                self.store.mark(row.id, row.revision, at);
                Answer::Marked
            }
        }
    }

    /// The poller hears an answer. What looks of an earlier term brought is of no use.
    fn hear(&mut self, one: Underway) {
        let (now, current) = (self.now(), one.term == self.term);
        if let Some(Answer::Looked { headers, .. } | Answer::Lanes { headers, .. } | Answer::Headers(headers)) =
            &one.answer
            && current
        {
            self.shown.extend(headers.iter().filter(|row| row.key.is_none()).map(|row| (row.id, row.revision)));
        }
        match (one.call, one.answer.expect("it was carried out")) {
            (Call::Look { from, unseen }, Answer::Looked { headers, claimed }) => {
                self.unseen = self.unseen.max(claimed.len());
                self.schedule.add_claimed(claimed.clone(), &mut self.receivers, now);
                self.fly(&claimed);
                self.send(&claimed);
                if current && claimed.is_empty() {
                    self.looked(from, unseen.is_some(), headers);
                } else if current && !claimed.is_empty() {
                    let left = headers.into_iter().filter(|row| !claimed.contains(row)).collect();
                    self.schedule.add(left, Shows::Newest, &mut self.receivers, now);
                }
            }
            (Call::Lanes { counts, .. }, Answer::Lanes { headers, next }) if current => {
                self.schedule.add_lanes(&headers, EACH, &mut self.receivers, now);
                if !self.backlog || !counts {
                    return;
                }
                let whole_round = next.is_none() && !self.schedule.take_skipped();
                self.ring = next;
                if whole_round && !self.schedule.has_more() {
                    self.check_round();
                    (self.backlog, self.behind) = (false, WalkStart::default());
                }
            }
            (Call::Keys, Answer::Headers(headers)) if current => {
                self.schedule.add_keys(headers.clone(), &mut self.receivers, now);
                self.check_keys(&headers);
            }
            (Call::Feed { asked, limit }, Answer::Headers(headers)) if current => {
                self.schedule.add_fed(&asked, limit, headers, &mut self.receivers, now);
            }
            (Call::Claim { rows }, Answer::Headers(claimed)) => {
                for row in rows.iter().filter(|row| !claimed.contains(row)) {
                    self.schedule.refused(row.id);
                    self.in_flight.remove(&row.id);
                }
                self.send(&claimed);
            }
            (Call::Send { row }, Answer::Sent { accepted }) => {
                *self.receivers.in_flight.get_mut(&*row.destination).expect("it was admitted") -= 1;
                if accepted {
                    self.receivers.answered.insert(row.destination.to_string());
                    self.receivers.closed.remove(&*row.destination);
                } else {
                    self.receivers.closed.insert(row.destination.to_string(), now + Duration::from_millis(20));
                }
                self.schedule.destination_changed(&row.destination);
                self.begin(Call::Mark { row, again: !accepted });
            }
            (Call::Mark { row, again }, Answer::Marked) => {
                self.in_flight.remove(&row.id);
                self.schedule.finished(row.id, again);
            }
            _ => {}
        }
    }

    fn looked(&mut self, from: WalkStart, passed_over: bool, headers: Vec<Header>) {
        let (now, found) = (self.now(), headers.len());
        let moment = self.store.now - 50_000;
        let reached = headers
            .iter()
            .fold(from, |reached, row| WalkStart::behind(row.priority.into(), row.at, row.id.0).or(reached));
        // A look that passes over lanes has not seen all there is.
        let seen = if self.backlog || passed_over { WalkStart::default() } else { from };
        let added = self.schedule.add(headers, Shows::AllUpTo(seen), &mut self.receivers, now);
        if self.backlog {
            self.behind = start_at(moment);
        } else if self.schedule.take_skipped() || added.passed_over > 0 {
            (self.backlog, self.ring) = (true, None);
            self.behind = start_at(moment);
        } else {
            self.behind = if found >= PAGE { reached } else { start_at(moment) };
        }
    }

    fn send(&mut self, claimed: &[Header]) {
        for row in claimed {
            self.receivers.admit(row, self.unseen);
            self.begin(Call::Send { row: row.clone() });
        }
    }

    /// A new term begins: of this process, or of another one. Then all that was under way is lost.
    fn hand_over(&mut self) {
        self.term += 1;
        (self.backlog, self.behind, self.ring) = (false, WalkStart::default(), None);
        self.shown.clear();
        self.held_back.clear();
        if self.chance.one_in(2) {
            self.schedule.clear();
            return;
        }
        self.schedule = Schedule::new(CAPACITY);
        self.receivers.in_flight.clear();
        for lost in std::mem::take(&mut self.underway) {
            if let Some(Answer::Looked { claimed, .. }) = lost.answer {
                self.unsettled.extend(claimed);
            }
        }
        self.unsettled.extend(std::mem::take(&mut self.in_flight).into_values());
        self.schedule.hold(self.unsettled.iter().map(|row| row.id));
    }

    /// The claim of a row that an ended process left is settled.
    fn settle(&mut self) {
        let Some(row) = self.unsettled.pop() else { return };
        self.store.mark(row.id, row.revision, Some(self.store.now));
        if !self.unsettled.iter().any(|other| other.id == row.id) {
            self.schedule.free([row.id]);
        }
    }
}

/// Behind all that was due before that time.
fn start_at(moment: i64) -> WalkStart {
    WalkStart::behind(1, moment, 0).or(WalkStart::behind(0, moment, 0))
}

/// Runs the simulation with this seed. Returns which rule was broken, if one was.
fn broken(seed: u64, holds_back: bool) -> Option<String> {
    let panic = std::panic::catch_unwind(|| World::new(seed, holds_back).run()).err()?;
    Some(panic.downcast::<String>().map_or_else(|_| "another panic".to_owned(), |said| *said))
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn every_row_is_delivered_and_none_is_in_two_claims_however_calls_overlap() {
    let (first, seeds) = number("SCHEDULE_SEED").map_or((0, number("SCHEDULE_SEEDS").unwrap_or(40)), |seed| (seed, 1));
    for seed in first..first + seeds {
        let broken = broken(seed, true);
        assert_eq!(broken, None, "SCHEDULE_SEED={seed}");
    }
}

#[test]
fn a_poller_that_holds_nothing_back_while_a_look_claims_claims_rows_twice() {
    let broken = (0..1_000).find_map(|seed| broken(seed, false));
    assert!(broken.as_ref().is_some_and(|rule| rule.contains("two claims")), "{broken:?}");
}
