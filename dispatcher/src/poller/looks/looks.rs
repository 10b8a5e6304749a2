//! Which look comes next.
//!
//! *Calm*: all that is due is in the schedule. A look begins behind the last row that one has met. It also sees the last moment
//! again: a transaction that began before may commit later. Where much is due in that moment, only now and then. As seldom a look
//! begins at the beginning.
//!
//! *Backlog*: more is due than the schedule holds. Four kinds of looks then take turns. The *tail* follows what comes. Once in a while
//! the *newest* are looked at: a row may have been committed long after its time, behind the tail. The *ring* steps from lane to lane,
//! with the first rows of each: once round it rests. And lanes that run low are *fed* behind the rows that are known of them.
//! It ends once a whole round has met nothing that is not known, and no lane has more.
//!
//! Ordering keys have a ring of their own, at all times.

use std::time::Duration;

use outbox_store::WalkStart;
use outbox_store::store::due::{Header, RingPlace};
use tokio::time::Instant;

/// The headers of one priority that a look brings at most.
pub(crate) const PAGE: u32 = 2_048;
/// The lanes, or keys, of a step.
pub(crate) const STEP: u32 = 512;
/// The first rows of each that a step brings.
pub(crate) const EACH: u32 = 8;
/// Where a round over the keys meets more of them than that, its steps are wider, and bring fewer rows of each.
const MANY_KEYS: u32 = 2_048;
const EACH_OF_MANY: u32 = EACH * STEP / MANY_KEYS;

/// The last moment, which looks see again.
const MOMENT: Duration = Duration::from_millis(50);
/// Where no more headers are in the last moment, each look sees them again.
const CHEAP: usize = 256;
/// After a look from the beginning, one at much of the last moment, or a whole round, this many times its duration passes before
/// the next.
const REST: u32 = 20;
/// The shortest rest after a whole round, or after a look at the newest.
const SHORTEST_REST: Duration = Duration::from_millis(500);
/// How soon the keys are looked at again where some wait. Each round that meets nothing new doubles it, up to the longest.
const KEYS_AGAIN: Duration = Duration::from_millis(5);
const KEYS_LONGEST: Duration = Duration::from_secs(1);
/// How soon the tail is looked at again, amid a backlog.
const TAIL_AGAIN: Duration = Duration::from_millis(2);

/// A look, to be made now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Look {
    /// At what is due behind these places.
    Behind(WalkStart),
    /// At the newest rows.
    Newest,
    /// A step along the ring of lanes.
    Lanes(Option<RingPlace>),
    /// A step along the ring of ordering keys.
    Keys(KeyStep),
}

/// A step along the ring of ordering keys: from this place, over so many keys, with the first rows of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyStep {
    pub from: Option<RingPlace>,
    pub keys: u32,
    pub each: u32,
}

/// What was seen, and what is to be looked at.
#[derive(Debug)]
pub(crate) struct Looks {
    mode: Mode,
    keys: Ring,
    /// How long the keys rest after the next round that meets nothing new.
    keys_rest: Duration,
    /// The steps of this round over the keys, and whether the last one met many.
    key_steps: u32,
    many_keys: bool,
    /// When the due rows are looked at next.
    at: Instant,
}

#[derive(Debug)]
enum Mode {
    Calm { follow: Follow, whole_at: Instant },
    Backlog { tail: Option<Follow>, newest_at: Instant, ring: Ring, whole_round: bool },
}

/// The looks that follow what comes.
#[derive(Debug, Clone, Copy)]
struct Follow {
    /// Behind the last row that was met.
    behind: WalkStart,
    /// A moment before the last row that was met when a look last saw its last moment again.
    moment: WalkStart,
    /// When a look begins there again. It brings one page.
    moment_at: Instant,
    /// How long the look has taken so far that goes on behind its last page.
    goes_on: Option<Sweep>,
}

/// A look of one page or more.
#[derive(Debug, Clone, Copy)]
struct Sweep {
    /// Whether it began at the beginning.
    whole: bool,
    took: Duration,
}

impl Follow {
    fn behind(behind: WalkStart) -> Self {
        let moment = behind.no_later_than_before_last(MOMENT);
        Self { behind, moment, moment_at: Instant::now(), goes_on: None }
    }

    /// Where the next page begins.
    fn next(&self, now: Instant, whole: bool) -> WalkStart {
        match self.goes_on {
            None if whole => WalkStart::default(),
            None if now >= self.moment_at => self.moment,
            _ => self.behind,
        }
    }

    /// Takes note of a page. Returns the look that it ends.
    fn looked(&mut self, page: &Page, took: Duration, now: Instant) -> Option<Sweep> {
        let mut sweep = self.goes_on.take().unwrap_or(Sweep { whole: page.from.is_beginning(), took: Duration::ZERO });
        sweep.took += took;
        let of_moment = !sweep.whole && page.from == self.moment;
        if !(page.full && of_moment) {
            self.behind = page.reached;
        }
        if page.full && !of_moment {
            self.goes_on = Some(sweep);
            return None;
        }
        if of_moment || sweep.whole {
            let rest = if page.headers > CHEAP { took * REST } else { Duration::ZERO };
            (self.moment, self.moment_at) = (self.behind.no_later_than_before_last(MOMENT), now + rest);
        }
        Some(sweep)
    }
}

/// A ring, and the rounds that looks take on it.
#[derive(Debug)]
struct Ring {
    next: Option<RingPlace>,
    began: Instant,
    rests_until: Instant,
    /// Whether this round has met something.
    met: bool,
    /// Whether the last whole round met nothing, or none was made.
    proven: bool,
}

impl Ring {
    fn new() -> Self {
        let now = Instant::now();
        Self { next: None, began: now, rests_until: now, met: false, proven: false }
    }

    /// Takes note of a step that met something, or did not. Returns whether the round is over.
    fn stepped(&mut self, next: Option<RingPlace>, met: bool) -> bool {
        self.met |= met;
        self.next = next;
        if self.next.is_none() {
            self.proven = !std::mem::take(&mut self.met);
        }
        self.next.is_none()
    }
}

impl Mode {
    /// Begins at the beginning.
    fn calm() -> Self {
        Self::Calm { follow: Follow::behind(WalkStart::default()), whole_at: Instant::now() }
    }
}

impl Default for Looks {
    fn default() -> Self {
        let now = Instant::now();
        Self { mode: Mode::calm(), keys: Ring::new(), keys_rest: KEYS_AGAIN, key_steps: 0, many_keys: false, at: now }
    }
}

impl Looks {
    /// There may be something new.
    pub(crate) fn woken(&mut self) {
        self.at = Instant::now();
        (self.keys.rests_until, self.keys_rest) = (self.at, KEYS_AGAIN);
    }

    /// Whether more is due than the schedule holds.
    pub(crate) fn is_backlog(&self) -> bool {
        matches!(self.mode, Mode::Backlog { .. })
    }

    /// When the next look is due. `room`: as of [`Looks::due`].
    pub(crate) fn next_at(&self, room: bool) -> Instant {
        let ring = match &self.mode {
            Mode::Calm { .. } => None,
            Mode::Backlog { ring, .. } => Some(ring),
        };
        let steps = ring.into_iter().chain([&self.keys]).filter(|_| room).map(|ring| ring.rests_until);
        steps.fold(self.at, Instant::min)
    }

    /// The looks that are due now, the most urgent first. `room`: whether the schedule takes in what a step along the lanes brings.
    pub(crate) fn due(&self, now: Instant, room: bool) -> Vec<Look> {
        let mut due = Vec::new();
        match &self.mode {
            Mode::Calm { follow, whole_at } if now >= self.at => {
                due.push(Look::Behind(follow.next(now, now >= *whole_at)));
            }
            Mode::Calm { .. } => {}
            Mode::Backlog { tail: None, .. } => due.push(Look::Newest),
            Mode::Backlog { tail: Some(tail), newest_at, ring, .. } => {
                if now >= *newest_at {
                    due.push(Look::Newest);
                }
                if now >= self.at {
                    due.push(Look::Behind(tail.next(now, false)));
                }
                if room && now >= ring.rests_until {
                    due.push(Look::Lanes(ring.next.clone()));
                }
            }
        }
        if room && now >= self.keys.rests_until {
            let (keys, each) = self.key_step();
            due.push(Look::Keys(KeyStep { from: self.keys.next.clone(), keys, each }));
        }
        due
    }

    /// A look has brought this page. `passed_over`: how many of its headers the schedule did not take in. `wait`: when to look again
    /// where nothing else calls for it.
    pub(crate) fn looked(&mut self, page: Page, passed_over: usize, took: Duration, wait: Duration) {
        let now = Instant::now();
        self.at = now + if page.full { Duration::ZERO } else { wait };
        match &mut self.mode {
            Mode::Calm { .. } if passed_over > 0 => self.begin_backlog(),
            Mode::Calm { follow, whole_at } => {
                if let Some(sweep) = follow.looked(&page, took, now) {
                    if sweep.whole {
                        *whole_at = now + sweep.took * REST;
                    }
                    // What was not looked at again is, in a while.
                    if follow.moment_at > now {
                        self.at = self.at.min(follow.moment_at);
                    }
                }
            }
            Mode::Backlog { tail: Some(tail), .. } => {
                if tail.looked(&page, took, now).is_some() {
                    self.at = now + wait.clamp(TAIL_AGAIN, 2 * TAIL_AGAIN);
                }
            }
            Mode::Backlog { tail: None, .. } => {}
        }
    }

    /// The schedule could not take in what a look, or a step, has brought.
    pub(crate) fn begin_backlog(&mut self) {
        if !self.is_backlog() {
            self.mode = Mode::Backlog { tail: None, newest_at: Instant::now(), ring: Ring::new(), whole_round: false };
        }
    }

    /// A look at the newest has brought these headers. Where there is no tail, it begins behind the last of them.
    pub(crate) fn newest(&mut self, headers: &[Header], took: Duration) {
        if let Mode::Backlog { tail, newest_at, .. } = &mut self.mode {
            let reached = Page::of(WalkStart::default(), headers).reached;
            tail.get_or_insert_with(|| Follow::behind(reached));
            *newest_at = Instant::now() + (took * REST).max(SHORTEST_REST);
        }
    }

    /// A step along the lanes. `skipped`: whether some of what the round met is neither in the schedule nor noted there.
    pub(crate) fn stepped(&mut self, next: Option<RingPlace>, skipped: impl FnOnce() -> bool) {
        let now = Instant::now();
        let Mode::Backlog { ring, whole_round, .. } = &mut self.mode else { return };
        if ring.stepped(next, false) {
            *whole_round = !skipped();
            let rest = (ring.began.elapsed() * REST).max(SHORTEST_REST);
            ring.rests_until = now + if *whole_round { rest } else { Duration::ZERO };
            ring.began = ring.rests_until;
        }
    }

    /// Ends the backlog where a whole round has met nothing that is not known, and no lane has more.
    pub(crate) fn conclude(&mut self, more: bool) {
        if !more && matches!(self.mode, Mode::Backlog { whole_round: true, .. }) {
            // A look from the beginning finds what else there is.
            self.mode = Mode::calm();
            self.at = Instant::now();
        }
    }

    /// How many keys a step meets, and how many rows of each it brings.
    fn key_step(&self) -> (u32, u32) {
        if self.many_keys { (MANY_KEYS, EACH_OF_MANY) } else { (STEP, EACH) }
    }

    /// A step along the ordering keys, which met something new or did not.
    pub(crate) fn stepped_along_keys(&mut self, next: Option<RingPlace>, met: bool) {
        self.key_steps += 1;
        if self.keys.stepped(next, met) {
            let (keys, _) = self.key_step();
            self.many_keys = std::mem::take(&mut self.key_steps) > MANY_KEYS / keys;
            self.keys_rest = if self.keys.proven { (self.keys_rest * 2).min(KEYS_LONGEST) } else { KEYS_AGAIN };
            self.keys.rests_until = Instant::now() + self.keys_rest;
        }
    }

    /// The last rounds prove nothing.
    pub(crate) fn disprove(&mut self) {
        self.keys.proven = false;
        self.keys.met |= self.keys.next.is_some();
    }

    /// Whether no key has waited in the last round, and no more is due than the schedule holds.
    pub(crate) fn prove_nothing(&self) -> bool {
        !self.is_backlog() && self.keys.proven && self.keys.next.is_none()
    }
}

/// What a look behind a place has seen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page {
    from: WalkStart,
    /// Up to which place of each priority all is seen that is due.
    reached: WalkStart,
    headers: usize,
    /// Whether it brought as many headers of some priority as it may.
    full: bool,
}

impl Page {
    /// The page of these headers, which a look behind `from` has brought.
    pub(crate) fn of(from: WalkStart, headers: &[Header]) -> Self {
        let (mut reached, mut of) = (from, [0; 4]);
        for header in headers {
            reached.pass_header(header);
            of[usize::from(header.priority.min(3))] += 1;
        }
        Self { from, reached, headers: headers.len(), full: of.iter().any(|count| *count >= PAGE) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use outbox_schema::MessageId;
    use outbox_store::{Lane, Revision};

    use super::*;

    const QUICK: Duration = Duration::from_millis(1);

    fn header(at: i64) -> Header {
        let name: Arc<str> = "a".into();
        Header {
            id: MessageId(at),
            revision: Revision(0),
            priority: 0,
            at,
            lane: Lane { channel: name.clone(), tenant: name.clone() },
            destination: name,
            key: None,
            bytes: 100,
        }
    }

    fn page(from: WalkStart, ats: impl IntoIterator<Item = i64>) -> Page {
        Page::of(from, &ats.into_iter().map(header).collect::<Vec<_>>())
    }

    fn behind(due: &[Look]) -> Option<WalkStart> {
        due.iter().find_map(|look| if let Look::Behind(from) = look { Some(*from) } else { None })
    }

    #[tokio::test(start_paused = true)]
    async fn a_calm_look_begins_a_moment_before_the_last_row_that_was_met_and_now_and_then_at_the_beginning() {
        let mut looks = Looks::default();
        assert_eq!(behind(&looks.due(Instant::now(), true)), Some(WalkStart::default()));
        looks.looked(page(WalkStart::default(), [1_000_000]), 0, QUICK, Duration::ZERO);
        let moment = WalkStart::behind(0, 950_000, 0);
        assert_eq!(behind(&looks.due(Instant::now(), true)), Some(moment));
        tokio::time::advance(QUICK * REST).await;
        assert_eq!(behind(&looks.due(Instant::now(), true)), Some(WalkStart::default()));
    }

    #[tokio::test]
    async fn after_a_look_that_found_nothing_the_next_waits_as_long_as_it_is_told() {
        let mut looks = Looks::default();
        for headers in [vec![], vec![5]] {
            let began = Instant::now();
            looks.looked(page(WalkStart::default(), headers), 0, QUICK, Duration::from_hours(1));
            assert!(looks.at >= began + Duration::from_hours(1));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn where_much_is_due_in_the_last_moment_looks_begin_behind_it_and_now_and_then_bring_one_page_of_it() {
        let mut looks = Looks::default();
        let many = i64::from(PAGE) - 1;
        looks.looked(page(WalkStart::default(), 0..many), 0, QUICK, Duration::ZERO);
        let last = WalkStart::behind(0, many - 1, many - 1);
        assert_eq!(behind(&looks.due(Instant::now(), true)), Some(last));
        looks.looked(page(last, [90_000]), 0, QUICK, Duration::ZERO);
        tokio::time::advance(QUICK * (REST - 1)).await;
        let new = WalkStart::behind(0, 90_000, 90_000);
        assert_eq!(behind(&looks.due(Instant::now(), true)), Some(new), "it rests");
        looks.begin_backlog();
        looks.newest(&[header(90_000)], QUICK);
        let moment = WalkStart::behind(0, 40_000, 0);
        assert_eq!(behind(&looks.due(Instant::now(), true)), Some(moment));
        looks.looked(page(moment, 40_001..40_001 + i64::from(PAGE)), 0, QUICK, Duration::ZERO);
        tokio::time::advance(2 * TAIL_AGAIN).await;
        assert_eq!(behind(&looks.due(Instant::now(), true)), Some(new), "what is new does not wait for what is known");
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_that_is_full_is_followed_by_the_next_at_once() {
        let mut looks = Looks::default();
        looks.looked(page(WalkStart::default(), 0..i64::from(PAGE)), 0, QUICK, Duration::from_secs(1));
        let last = i64::from(PAGE) - 1;
        assert_eq!(behind(&looks.due(Instant::now(), true)), Some(WalkStart::behind(0, last, last)));
        looks.looked(page(WalkStart::default(), [5]), 0, QUICK, Duration::from_secs(1));
        assert_eq!(behind(&looks.due(Instant::now(), true)), None, "it waits");
        looks.woken();
        assert!(behind(&looks.due(Instant::now(), true)).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn amid_a_backlog_the_newest_are_looked_at_first_and_then_the_tail_and_the_ring() {
        let mut looks = Looks::default();
        looks.looked(page(WalkStart::default(), 0..i64::from(PAGE)), 7, QUICK, Duration::ZERO);
        assert!(looks.is_backlog() && looks.due(Instant::now(), true).contains(&Look::Newest));
        looks.newest(&[header(5_000_000)], QUICK);
        let due = looks.due(Instant::now(), true);
        assert_eq!(behind(&due), Some(WalkStart::behind(0, 4_950_000, 0)));
        assert!(due.contains(&Look::Lanes(None)) && !due.contains(&Look::Newest));
        assert!(!looks.due(Instant::now(), false).contains(&Look::Lanes(None)), "there is no room for what it brings");
        tokio::time::advance(SHORTEST_REST).await;
        let due = looks.due(Instant::now(), true);
        assert_eq!(due[0], Look::Newest, "one of them may have been committed long after its time");
        looks.newest(&[header(9_000_000)], QUICK);
        assert_eq!(behind(&looks.due(Instant::now(), true)), behind(&due), "the tail stays where it is");
    }

    #[tokio::test(start_paused = true)]
    async fn a_backlog_is_over_once_a_whole_round_has_left_nothing_and_no_lane_has_more() {
        let mut looks = Looks::default();
        looks.begin_backlog();
        looks.newest(&[], QUICK);
        looks.stepped(None, || true);
        looks.conclude(false);
        assert!(looks.is_backlog(), "something was skipped");
        looks.stepped(None, || false);
        looks.conclude(true);
        assert!(looks.is_backlog(), "a lane has more");
        assert!(!looks.due(Instant::now(), true).contains(&Look::Lanes(None)), "the ring rests");
        looks.conclude(false);
        assert!(!looks.is_backlog());
        assert_eq!(behind(&looks.due(Instant::now(), true)), Some(WalkStart::default()));
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_due_soon_for_which_the_schedule_has_no_room() {
        let mut looks = Looks::default();
        looks.looked(page(WalkStart::default(), [5]), 0, QUICK, Duration::from_secs(1));
        assert_eq!(looks.next_at(true), Instant::now(), "the keys are due");
        assert_eq!(looks.next_at(false), Instant::now() + Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn keys_are_looked_at_ever_later_while_none_waits_and_soon_again_after_a_hint() {
        let mut looks = Looks { at: Instant::now() + Duration::from_hours(1), ..Looks::default() };
        let mut rests = Vec::new();
        for met in [true, false, false, false] {
            looks.stepped_along_keys(None, met);
            rests.push(looks.next_at(true) - Instant::now());
        }
        assert_eq!(rests, [1, 2, 4, 8].map(|times| KEYS_AGAIN * times));
        (0..20).for_each(|_| looks.stepped_along_keys(None, false));
        assert_eq!(looks.next_at(true) - Instant::now(), KEYS_LONGEST);
        looks.woken();
        assert_eq!(looks.next_at(true), Instant::now());
    }
}
