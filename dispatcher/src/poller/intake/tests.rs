//! What a term leaves to the next, what a claim without rows leaves in flight, and what a look that failed is followed by.

use outbox_store::{Epoch, Header, Lane, Revision};

use super::*;
use crate::fixtures::{Nobody, SteppedClock, TermStore, metrics, term_of};
use crate::poller::wake_ups::WakeUpListener;
use crate::schedule::Capacity;
use crate::term::clock::Clock;

const TTL: Duration = Duration::from_secs(10);
const ROW: MessageId = MessageId(1);

/// A poller of an outbox in which nothing is due.
fn intake() -> Intake {
    let (in_flight, wakeup) = (Arc::new(InFlight::new(8)), Arc::<Notify>::default());
    Intake {
        store: TermStore::new(&SteppedClock::new(), vec![Duration::ZERO]),
        schedule: Schedule::new(Capacity { slots: 8, bytes: 1_000, headers: 1_000 }),
        quarantine: Arc::new(Quarantine::new(in_flight.clone(), wakeup.clone())),
        in_flight,
        journal: Arc::default(),
        channels: Reloadable::new(Channels::new([crate::fixtures::channel(Arc::new(Nobody))])),
        destinations: Arc::new(Destinations::new(8, 1_000, std::collections::HashMap::new())),
        poll_backoff: PollBackoff::new(false, Arc::new(WakeUpListener::new(wakeup.clone()))),
        wakeup,
        size: Arc::new(Measure::new(TTL)),
        marker_health: Arc::new(MarkerHealth::new(TTL)),
        poll_interval: Duration::from_secs(1),
        lease_ttl: TTL,
        until_empty: false,
        metrics: metrics(),
        questions: mpsc::channel(1).1,
        now: UnderWay::default(),
    }
}

/// What the schedule chooses where a look has met that row.
fn chosen(intake: &mut Intake) -> Vec<Header> {
    let name: Arc<str> = "hook".into();
    let lane = Lane { channel: name.clone(), tenant: name.clone() };
    let (priority, at, key, bytes) = (0, 1, None, 2);
    let header = Header { id: ROW, revision: Revision(0), priority, at, lane, destination: name, key, bytes };
    let (channels, now) = (intake.channels.current(), Instant::now());
    let mut rooms = intake.destinations.rooms(&channels);
    intake.schedule.add(vec![header], Shows::Newest, &mut rooms, now);
    intake.schedule.take(8, &mut rooms, now)
}

#[tokio::test]
async fn a_row_that_was_on_hold_in_an_earlier_term_goes_in_the_one_in_which_it_is_settled() {
    let mut intake = intake();
    intake.begin();
    intake.in_flight.set_unsettled(Epoch(1), &[ROW]);
    intake.take_in();
    assert!(chosen(&mut intake).is_empty());
    intake.leave();
    intake.in_flight.set_unsettled(Epoch(2), &[]);
    intake.begin();
    intake.take_in();
    assert_eq!(chosen(&mut intake).len(), 1);
}

#[tokio::test]
async fn a_claim_that_took_nothing_leaves_nothing_in_flight() {
    let mut intake = intake();
    let clock = SteppedClock::new();
    let term = term_of(&clock, clock.now().after(Duration::from_mins(1)));
    for _ in 0..20 {
        let chosen = chosen(&mut intake);
        assert_eq!(chosen.len(), 1, "it is found again");
        assert!(intake.claimed(&term, Claimed { chosen, made: None, channels: Arc::default() }).is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn behind_a_look_that_failed_none_begins_for_a_moment_whatever_is_due() {
    let mut intake = intake();
    let clock = SteppedClock::new();
    let term = term_of(&clock, clock.now().after(Duration::from_mins(1)));
    intake.begin();
    intake.now.unknown.push(ROW);
    let seen = Err(StoreError::Unavailable { doing: "looking", source: "it is gone".into() });
    assert!(intake.looked(&term, Looked { seen, took: Duration::ZERO, channels: Arc::default() }).is_none());
    intake.begin_look(&term);
    assert!(intake.now.look.is_none() && intake.next_at() > Instant::now());
    tokio::time::sleep_until(intake.next_at()).await;
    intake.begin_look(&term);
    assert!(intake.now.look.is_some());
}
