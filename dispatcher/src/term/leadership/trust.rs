//! Trust never outlives what the lease store would still honour, whatever the network, the clocks and other replicas
//! do.
//!
//! Each case is a schedule: what the network does to each call, how long the database takes to mint, when the machine
//! is suspended, when the store forgets, when rivals ask, and by how much the store's clock is fast. A replica leads,
//! loses and campaigns through it, and is watched all the time.

use std::cell::RefCell;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::tests::leadership;
use super::*;
use crate::fixtures::{Asked, Call, Forget, LeaseStore, Network, Rival, SteppedClock, TermStore};
use crate::term::trust::{call_limit, trusted_until};

/// How many times the lease's time to live a case lasts.
const LENGTH: u32 = 12;

/// How late the timers of the runtime may be in one wait, and in all waits of one try together.
const TIMER: Duration = Duration::from_millis(5);

/// Parts of the time to live, in thousandths.
type Part = u32;

#[derive(Debug, Clone)]
struct Schedule {
    ttl: Duration,
    /// By how much the store's clock is fast.
    fast: Part,
    interval: Part,
    network: Vec<Network>,
    minting: Vec<Part>,
    /// When each suspension begins, and how long it lasts.
    suspensions: Vec<(Part, Part)>,
    forgets: Vec<Part>,
    rivals: Vec<Part>,
}

impl Schedule {
    fn time(&self, part: Part) -> Duration {
        self.ttl * part / 1000
    }

    fn moment(&self, part: Part) -> Moment {
        Moment::at(self.time(part))
    }
}

fn schedules() -> impl Strategy<Value = Schedule> {
    (
        (1000_u32..20_000, 0_u32..40, 500_u32..8000),
        prop::collection::vec(delays(), 1..40),
        prop::collection::vec(prop_oneof![4 => 0_u32..100, 1 => 0_u32..1500], 1..4),
        prop::collection::vec((0..LENGTH * 1000, 0_u32..2500), 0..4),
        prop::collection::vec(0..LENGTH * 1000, 0..4),
        prop::collection::vec(0..LENGTH * 1000, 0..20),
    )
        .prop_map(|((ttl, fast, interval), network, minting, suspensions, forgets, rivals)| {
            let ttl = Duration::from_millis(ttl.into());
            let time = |part: Part| ttl * part / 1000;
            let network = network.into_iter().map(|(kind, there, back)| match kind {
                0 => Network::LosesAnswer(time(there)),
                1 => Network::Loses,
                2 => Network::Refuses(time(there)),
                _ => Network::Carries(time(there), time(back)),
            });
            let network = network.collect();
            Schedule { ttl, fast, interval, network, minting, suspensions, forgets, rivals }
        })
}

/// Delays that are mostly in time, and now and then longer than any wait.
fn delays() -> impl Strategy<Value = (u8, Part, Part)> {
    let delay = || prop_oneof![6 => 0_u32..30, 3 => 0_u32..170, 1 => 0_u32..2000];
    (0_u8..12, delay(), delay())
}

#[test]
fn trust_never_outlives_what_the_lease_store_would_still_honour() {
    let mut runner = TestRunner::default();
    let (mut terms, mut lost) = (0, 0);
    let seen = RefCell::new((&mut terms, &mut lost));
    runner
        .run(&schedules(), |schedule| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
            let ends = runtime.block_on(play(&schedule));
            let (terms, lost) = &mut *seen.borrow_mut();
            **terms += ends.len();
            **lost += ends.iter().filter(|end| matches!(end, TermEnd::Lost | TermEnd::RenewalFailed)).count();
            Ok(())
        })
        .unwrap_or_else(|failure| panic!("{failure}"));
    assert!(terms > 200 && lost > 50, "the schedules bring about too little: {terms} terms, {lost} of them lost");
}

/// Plays one schedule. Returns how its terms ended.
async fn play(schedule: &Schedule) -> Vec<TermEnd> {
    let clock = SteppedClock::new();
    let honoured = schedule.ttl * (1000 - schedule.fast) / 1000;
    let lease = LeaseStore::new(&clock, honoured, schedule.network.clone());
    let moments = |parts: &[Part]| parts.iter().map(|part| schedule.moment(*part)).collect::<Vec<_>>();
    let forgets: Vec<_> = moments(&schedule.forgets).into_iter().map(Forget).collect();
    let rivals: Vec<_> = moments(&schedule.rivals).into_iter().map(Rival).collect();
    lease.expect(&forgets, &rivals);
    let store = TermStore::new(&clock, schedule.minting.iter().map(|part| schedule.time(*part)).collect());
    let mut replica = leadership(&clock, &lease, &store, schedule.ttl, schedule.time(schedule.interval));
    let case = Case { schedule, lease, store, clock, current: RefCell::default(), suspended: RefCell::default() };
    let length = schedule.moment(LENGTH * 1000);
    tokio::select! {
        () = case.lead(&mut replica) => {}
        () = case.suspend() => {}
        () = case.watch(length) => {}
    }
    case.check_refusals();
    case.store.ended().into_iter().map(|(_, end)| end).collect()
}

struct Case<'a> {
    schedule: &'a Schedule,
    lease: Arc<LeaseStore>,
    store: Arc<TermStore>,
    clock: Arc<SteppedClock>,
    current: RefCell<Option<Arc<Term>>>,
    /// The suspensions of the machine, from when to when.
    suspended: RefCell<Vec<(Moment, Moment)>>,
}

impl Case<'_> {
    async fn sleep(&self, duration: Duration) {
        (self.clock.clone() as Arc<dyn Clock>).sleep(duration).await;
    }

    /// Leads term after term, as the loop does.
    async fn lead(&self, replica: &mut Leadership) {
        let shutdown = CancellationToken::new();
        while let Some(term) = replica.next_term(&shutdown).await {
            self.current.replace(Some(term.clone()));
            self.check_trust(&term);
            while term.is_on() {
                term.progress();
                tokio::select! {
                    () = term.ended() => {}
                    () = self.sleep(self.schedule.ttl / 4) => {}
                }
            }
            self.check_end(&term);
            replica.hand_over(&term).await;
        }
    }

    async fn suspend(&self) {
        let mut suspensions = self.schedule.suspensions.clone();
        suspensions.sort_unstable();
        for (at, length) in suspensions {
            self.clock.sleep_until(self.schedule.moment(at)).await;
            let began = self.clock.now();
            self.clock.step(self.schedule.time(length));
            self.suspended.borrow_mut().push((began, self.clock.now()));
        }
        std::future::pending::<()>().await;
    }

    async fn watch(&self, until: Moment) {
        while self.clock.now() < until {
            let current = self.current.borrow().clone();
            if let Some(term) = current {
                self.check_trust(&term);
            }
            self.sleep(self.schedule.ttl / 50).await;
        }
    }

    /// Checks that the store honours the lease to the end of the present trust, and that trust counts from a call that
    /// was sent.
    fn check_trust(&self, term: &Term) {
        if !term.gate.is_open() {
            return;
        }
        let (now, holder) = (self.clock.now(), &term.id.holder);
        let until = now.after(term.gate.trusted_for());
        assert!(until <= trusted_until(self.last_good(holder), self.schedule.ttl), "trust beyond what a call gave");
        if !self.lease.forgot(holder) {
            let honoured = self.lease.honours(holder);
            assert!(honoured.is_some_and(|honoured| until <= honoured), "{until:?} is trusted, honoured {honoured:?}");
        }
    }

    /// When the last call that gave trust was sent: the first of the campaign, or a renewal answered "yes".
    fn last_good(&self, holder: &Holder) -> Moment {
        self.lease.with_calls(|calls| {
            let mut mine = calls.iter().filter(|call| call.holder == *holder);
            let first = mine.clone().next().map(|call| call.sent);
            let good = |call: &&Call| call.asked == Asked::Renew && call.answer == Some(true);
            let renewed = mine.rfind(good).map(|call| call.sent);
            renewed.max(first).unwrap_or(Moment::at(Duration::ZERO))
        })
    }

    /// Checks that no renewal follows a "no" that was heard.
    fn check_refusals(&self) {
        self.lease.with_calls(|calls| {
            let renewals: Vec<_> = calls.iter().filter(|call| call.asked == Asked::Renew).collect();
            for pair in renewals.windows(2) {
                let regained = pair[0].answer == Some(false) && pair[0].holder == pair[1].holder;
                assert!(!regained, "renewed after a refusal");
            }
        });
    }

    /// Checks that a term ends when trust does, or one try later.
    fn check_end(&self, term: &Term) {
        let trusted = trusted_until(self.last_good(&term.id.holder), self.schedule.ttl);
        let last_try = self.awake(trusted).after(call_limit(self.schedule.ttl));
        let latest = self.awake(last_try).after(TIMER);
        assert!(self.clock.now() <= latest, "ended at {:?}, {latest:?} at the latest", self.clock.now());
    }

    /// The moment at which the machine can know that it is `moment`: not while it is suspended.
    fn awake(&self, moment: Moment) -> Moment {
        self.suspended.borrow().iter().fold(moment, |moment, (began, resumed)| {
            let asleep = *began <= moment.after(TIMER) && moment < *resumed;
            if asleep { *resumed } else { moment }
        })
    }
}
