//! One run: a stage, a fleet, and what struck it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use outbox_dispatcher::term::leadership::longest_campaign_pause;

use super::{Figures, Machine};
use crate::eventually::{PATIENCE, eventually};
use crate::fleet::{Fleet, Place, Poller, Settings};
use crate::invariants::{Report, changes_under_load, hand_overs_under_load, pollers};
use crate::receiver::Request;
use crate::servers::TestDatabase;
use crate::stage::Stage;
use crate::tables::TermRow;

/// Replicas of every fleet.
pub const REPLICAS: usize = 3;

/// Changes of poller that each run takes at least.
pub const CHANGES: usize = 5;

/// How long the receiver takes: long enough that `max_in_flight` binds.
pub const LATENCY: Duration = Duration::from_millis(50);

/// Beyond what the settings imply: the answer, the mint, the first claim.
const SLACK: Duration = Duration::from_millis(500);

/// Within this a poller that has enough to do has its slots full, and most of its requests answered once.
const AT_WORK: Duration = Duration::from_secs(1);

/// Requests of a poller that is gone may be read for so long: they were in the sockets.
const IN_THE_SOCKETS: Duration = Duration::from_millis(200);

/// What a run is about.
#[derive(Debug)]
pub struct Setup {
    /// An empty database.
    pub database: TestDatabase,
    /// A Redis; none: the table lease.
    pub redis: Option<String>,
    /// `dispatch.max_in_flight`.
    pub max_in_flight: u32,
    /// Whether the replicas have fault points.
    pub fault_points: bool,
}

/// A fleet at work, and what has struck it.
#[derive(Debug)]
pub struct Run {
    /// The outbox and those around it.
    pub stage: Stage,
    /// Its replicas.
    pub fleet: Fleet,
    /// How late everything is.
    pub machine: Machine,
    struck: Vec<Struck>,
}

/// A poller that a fault struck.
#[derive(Debug, Clone)]
pub struct Struck {
    /// Which.
    pub poller: Poller,
    /// When.
    pub at: Instant,
}

impl Run {
    /// Sets the stage and starts three replicas, who change only for a fault and whose messages in doubt can be settled
    /// soon, unless `settings` says otherwise.
    pub async fn begin(setup: Setup, settings: impl FnOnce(Settings) -> Settings) -> Self {
        let Setup { database, redis, max_in_flight, fault_points } = setup;
        let stage = Stage::set(database, LATENCY).await;
        let settings = settings(Settings {
            max_in_flight,
            term: Duration::from_hours(1),
            timeout: Duration::from_secs(2),
            ..stage.settings(redis)
        });
        let start = if fault_points { Fleet::with_fault_points } else { Fleet::start };
        let fleet = start(&settings, REPLICAS);
        Self::of(stage, fleet)
    }

    /// A run of a fleet that is there.
    pub fn of(stage: Stage, fleet: Fleet) -> Self {
        Self { stage, fleet, machine: Machine::watch(), struck: Vec::new() }
    }

    /// A poller with as many requests in flight as it may have, or nearly.
    pub async fn poller_at_work(&mut self) -> Poller {
        let in_flight = self.in_flight();
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if self.waiting() < 4 * in_flight {
                self.stage.application.insert(8 * in_flight, "/hook").await;
            }
            let poller = self.fleet.poller(&self.stage.tables).await;
            let enough = self.stage.receiver.count() + in_flight;
            let at_work = async || {
                let receiver = &self.stage.receiver;
                (receiver.count() >= enough && receiver.open() >= in_flight / 2).then_some(())
            };
            // Its term may end meanwhile, or its work be done: then from the beginning.
            let at_work = eventually("the poller has requests in flight", PATIENCE, at_work);
            if tokio::time::timeout(AT_WORK, at_work).await.is_ok() {
                return poller;
            }
        }
        panic!("no poller was at work within {PATIENCE:?}");
    }

    /// Keeps the fleet at work until there were so many hand-overs under load as a run takes, between two pollers at least.
    pub async fn enough_hand_overs(&mut self) {
        let is_enough = |terms: &[TermRow]| hand_overs_under_load(terms) >= CHANGES && pollers(terms) >= 2;
        while !is_enough(&self.stage.tables.terms().await) {
            self.poller_at_work().await;
        }
    }

    /// Notes that a fault strikes `poller` now. Call it right before.
    ///
    /// # Panics
    /// Where no request is in flight.
    pub fn strikes(&mut self, poller: &Poller) -> Instant {
        let at = Instant::now();
        assert!(self.stage.receiver.open() > 0, "no request was in flight when epoch {} was struck", poller.epoch);
        self.struck.push(Struck { poller: poller.clone(), at });
        at
    }

    /// Waits for a later term than that of `poller`.
    pub async fn successor(&self, poller: &Poller) -> Poller {
        let later = async || {
            let newest = self.stage.tables.newest_term().await;
            (newest.epoch > poller.epoch).then_some(())
        };
        eventually("somebody else begins a term", PATIENCE, later).await;
        self.fleet.poller(&self.stage.tables).await
    }

    /// Waits for the first delivery of another replica after it was struck; says how long that took.
    pub async fn next_delivery(&self, struck: &Struck) -> Duration {
        let from = self.stage.receiver.requests().partition_point(|request| request.arrived <= struck.at);
        let next = async || {
            let later = self.stage.receiver.requests_from(from);
            later.into_iter().find(|request| request.replica != Some(struck.poller.place))
        };
        let next: Request = eventually("another replica delivers", PATIENCE, next).await;
        next.arrived - struck.at
    }

    /// The last that was struck.
    pub fn last(&self) -> Struck {
        self.struck.last().expect("a fault has struck").clone()
    }

    /// Waits until another replica delivers, and asserts that this took no longer than a crash may cost.
    pub async fn taken_over_in_time(&self, figures: &mut Figures) {
        let gap = self.next_delivery(&self.last()).await;
        let ttl = self.fleet.settings().ttl;
        let bound = ttl + longest_campaign_pause(ttl);
        let what = format!("from the fault to the next delivery, ttl {ttl:?} (bound {bound:.2?})");
        figures.bounded(&what, gap, bound + SLACK, self.lateness());
    }

    /// Requests of a replica that arrived after a moment, but for what was in the sockets then.
    pub fn sent_since(&self, place: Place, moment: Instant) -> Vec<Request> {
        let by_it = |request: &Request| request.replica == Some(place) && request.arrived > moment + IN_THE_SOCKETS;
        self.stage.receiver.requests().into_iter().filter(by_it).collect()
    }

    /// Waits until a replica's log says that the term of this epoch has ended; gives the reason.
    pub async fn term_ended(&self, poller: &Poller) -> String {
        let epoch = poller.epoch.to_string();
        let ended = async || {
            let lines = self.fleet.lines(poller.place, "term.ended");
            let line = lines.into_iter().find(|line| line["epoch"] == epoch.as_str())?;
            Some(line["reason"].as_str().expect("a term ends for a reason").to_owned())
        };
        eventually("the term has ended", PATIENCE, ended).await
    }

    /// Waits until every message has an outcome, stops the fleet, checks every guarantee, and asserts that the run was
    /// one: enough changes of poller with requests in flight, between more than one.
    pub async fn end(mut self, figures: &mut Figures) -> Report {
        self.stage.settled().await;
        self.fleet.stop_all().await;
        let report = self.stage.check(&self.fleet).await;
        figures.stood_still(self.machine.stood_still());
        assert!(report.terms.len() > CHANGES, "too few changes of poller: {:?}", report.terms);
        assert!(pollers(&report.terms) >= 2, "there was one poller only: {:?}", report.terms);
        let struck: BTreeSet<i64> = self.struck.iter().map(|struck| struck.poller.epoch).collect();
        let under_load = changes_under_load(&report.terms, &struck);
        assert!(under_load >= CHANGES, "only {under_load} changes of poller with requests in flight");
        let in_flight = self.in_flight();
        for epoch in struck {
            let left = report.left_in_doubt_by(epoch);
            figures.count(format!("left in doubt by a poller that was struck, max_in_flight {in_flight}"), left);
        }
        figures.count(format!("delivered again in a run, max_in_flight {in_flight}"), report.repeats);
        report
    }

    /// What a bound on a change of poller must allow for: SQLite waits for the disk, the test servers do not.
    pub fn lateness(&self) -> Duration {
        if self.fleet.settings().database.starts_with("sqlite") {
            self.machine.lateness_with_disk()
        } else {
            self.machine.lateness()
        }
    }

    /// `dispatch.max_in_flight`.
    pub fn in_flight(&self) -> usize {
        usize::try_from(self.fleet.settings().max_in_flight).unwrap()
    }

    /// Messages that were committed and have not arrived yet.
    pub fn waiting(&self) -> usize {
        self.stage.application.committed.len().saturating_sub(self.stage.receiver.count())
    }
}
