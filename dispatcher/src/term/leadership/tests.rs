//! How terms begin and end.

#![allow(clippy::unwrap_used)]

use outbox_store::{Epoch, Seen};

use super::*;
use crate::fixtures::{Asked, LeaseStore, Network, Rival, SteppedClock, TermStore, metrics};
use crate::in_flight::InFlight;
use crate::poller::channels::Channels;
use crate::poller::quarantine::Quarantine;
use crate::poller::settling::Settling;
use crate::reloadable::Reloadable;
use crate::term::trust::trust_margin;

const TTL: Duration = Duration::from_secs(9);
const INTERVAL: Duration = Duration::from_secs(20);
const AT_ONCE: Network = Network::Carries(Duration::ZERO, Duration::ZERO);

/// How late the timers of the runtime may be.
const TIMER: Duration = Duration::from_millis(2);

/// The trust that a call gives when it is answered at once.
fn full_trust() -> Duration {
    trusted_until(Moment::at(Duration::ZERO), TTL).since_boot()
}

struct Stage {
    clock: Arc<SteppedClock>,
    lease: Arc<LeaseStore>,
    store: Arc<TermStore>,
    leadership: Leadership,
}

/// A replica, a database that takes `minting` to mint, and a lease store that honours a lease for `honoured`.
fn stage(honoured: Duration, network: Vec<Network>, minting: Duration) -> Stage {
    let clock = SteppedClock::new();
    let lease = LeaseStore::new(&clock, honoured, network);
    let store = TermStore::new(&clock, vec![minting]);
    let leadership = leadership(&clock, &lease, &store, TTL, INTERVAL);
    Stage { clock, lease, store, leadership }
}

pub(super) fn leadership(
    clock: &Arc<SteppedClock>,
    lease: &Arc<LeaseStore>,
    store: &Arc<TermStore>,
    ttl: Duration,
    interval: Duration,
) -> Leadership {
    Leadership {
        shard: Shard(0),
        instance: "a".to_owned(),
        ttl,
        interval,
        lease: lease.clone(),
        store: store.clone(),
        lineages: Arc::default(),
        clock: clock.clone(),
        metrics: metrics(),
        campaigned: false,
        stands_back: false,
        fenced: 0,
    }
}

impl Stage {
    async fn term(&mut self) -> Arc<Term> {
        self.leadership.next_term(&CancellationToken::new()).await.unwrap()
    }
}

async fn sleep(clock: &Arc<SteppedClock>, duration: Duration) {
    (clock.clone() as Arc<dyn Clock>).sleep(duration).await;
}

#[tokio::test(start_paused = true)]
async fn candidates_campaign_at_intervals_that_are_spread_and_never_shorter_than_they_should_be() {
    let mut stage = stage(Duration::from_hours(1), vec![AT_ONCE], Duration::ZERO);
    stage.lease.expect(&[], &[Rival(stage.clock.now())]);
    let in_vain = tokio::time::timeout(Duration::from_mins(5), stage.term()).await;
    assert!(in_vain.is_err(), "a lease was won that a rival holds");
    let calls = stage.lease.calls();
    let pauses: Vec<_> = calls.windows(2).map(|calls| calls[1].sent.since(calls[0].sent)).collect();
    let (shortest, longest) = (*pauses.iter().min().unwrap(), *pauses.iter().max().unwrap());
    assert!(pauses.len() > 200, "{} campaigns in 5 minutes", pauses.len());
    assert!(shortest >= campaign_interval(TTL), "a pause of {shortest:?}");
    assert!(longest <= longest_campaign_pause(TTL) + TIMER, "a pause of {longest:?}");
    let jitter = longest_campaign_pause(TTL).saturating_sub(campaign_interval(TTL));
    assert!(longest.saturating_sub(shortest) > jitter / 2, "pauses from {shortest:?} to {longest:?} only");
}

#[tokio::test(start_paused = true)]
async fn each_campaign_that_was_answered_is_followed_by_one_of_another_holder() {
    let mut stage = stage(Duration::from_hours(1), vec![AT_ONCE], Duration::ZERO);
    stage.lease.expect(&[], &[Rival(stage.clock.now())]);
    let _ = tokio::time::timeout(Duration::from_mins(1), stage.term()).await;
    let holders: Vec<_> = stage.lease.calls().iter().map(|call| call.holder.to_string()).collect();
    let different: std::collections::HashSet<_> = holders.iter().collect();
    assert_eq!(different.len(), holders.len());
    assert!(holders.iter().all(|holder| holder.starts_with("a.") && holder.len() == "a.".len() + 8), "{holders:?}");
}

#[tokio::test(start_paused = true)]
async fn a_lease_won_by_a_call_without_an_answer_is_trusted_from_that_call_on() {
    let mut stage = stage(TTL, vec![Network::LosesAnswer(Duration::ZERO), AT_ONCE], Duration::ZERO);
    let term = stage.term().await;
    let calls = stage.lease.calls();
    assert_eq!((calls.len(), &calls[0].holder), (2, &calls[1].holder));
    let trusted_until = stage.clock.now().after(term.gate.trusted_for());
    assert_eq!(trusted_until, calls[0].sent.after(full_trust()));
}

#[tokio::test(start_paused = true)]
async fn a_lease_won_after_a_long_silence_is_renewed_before_its_term_begins() {
    let mut stage = stage(TTL, vec![Network::Refuses(Duration::ZERO)], Duration::ZERO);
    let shutdown = CancellationToken::new();
    let (term, ()) = tokio::join!(stage.leadership.next_term(&shutdown), async {
        sleep(&stage.clock, Duration::from_mins(5)).await;
        stage.lease.set_network(AT_ONCE);
    });
    assert_eq!(stage.lease.renewals(), 1);
    assert_eq!(term.unwrap().gate.trusted_for(), full_trust());
}

#[tokio::test(start_paused = true)]
async fn a_term_that_the_database_minted_late_begins_with_a_lease_that_was_asked_for_again() {
    let mut stage = stage(TTL, vec![AT_ONCE], full_trust() + trust_margin(TTL) / 2);
    let term = stage.term().await;
    assert_eq!(term.gate.trusted_for(), full_trust());
}

#[tokio::test(start_paused = true)]
async fn no_term_begins_whose_lease_was_lost_while_the_database_minted() {
    let mut stage = stage(TTL / 2, vec![AT_ONCE], full_trust() + trust_margin(TTL) / 2);
    let in_vain = tokio::time::timeout(Duration::from_mins(5), stage.term()).await;
    assert!(in_vain.is_err(), "a term began without a lease");
}

#[tokio::test(start_paused = true)]
async fn a_term_ends_with_its_interval_and_the_next_candidate_is_told() {
    let mut stage = stage(TTL, vec![AT_ONCE], Duration::ZERO);
    let term = stage.term().await;
    let began = stage.clock.now();
    term.ended().await;
    assert_eq!(stage.clock.now().since(began), INTERVAL);
    stage.leadership.hand_over(&term).await;
    assert_eq!(stage.store.ended(), [(term.id.clone(), TermEnd::Interval)]);
    let handed_over = stage.clock.now();
    let next = stage.term().await;
    assert_eq!(next.id.epoch.0, term.id.epoch.0 + 1);
    assert!(stage.clock.now().since(handed_over) <= DRAW + TIMER, "the release woke nobody");
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_could_not_keep_its_term_lets_the_others_go_first() {
    let mut stage = stage(TTL, vec![AT_ONCE], Duration::ZERO);
    for (why, gives_way) in [(TermEnd::RenewalFailed, true), (TermEnd::Wedged, true), (TermEnd::Interval, false)] {
        let term = stage.term().await;
        term.end(why);
        stage.leadership.hand_over(&term).await;
        let handed_over = stage.clock.now();
        let next = stage.term().await;
        let waited = stage.clock.now().since(handed_over);
        assert_eq!(waited >= campaign_interval(TTL), gives_way, "{why:?}: campaigned again after {waited:?}");
        assert!(waited <= longest_campaign_pause(TTL) + TIMER, "{why:?}: campaigned again after {waited:?}");
        next.end(TermEnd::Interval);
        stage.leadership.hand_over(&next).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_interval_that_ends_while_the_machine_is_suspended_ends_its_term_at_the_resume() {
    let mut stage = stage(TTL, vec![AT_ONCE], Duration::ZERO);
    let term = stage.term().await;
    term.progress();
    sleep(&stage.clock, INTERVAL.saturating_sub(TTL / 3)).await;
    let resumed = stage.clock.now().after(TTL / 2);
    stage.clock.step(TTL / 2);
    term.ended().await;
    assert_eq!((stage.clock.now(), term.end_reason()), (resumed, Some(TermEnd::Interval)));
}

#[tokio::test(start_paused = true)]
async fn a_stopping_process_ends_its_term_and_gives_its_lease_up() {
    let mut stage = stage(TTL, vec![AT_ONCE], Duration::ZERO);
    let shutdown = CancellationToken::new();
    let term = stage.leadership.next_term(&shutdown).await.unwrap();
    shutdown.cancel();
    term.ended().await;
    stage.leadership.hand_over(&term).await;
    assert_eq!(stage.store.ended(), [(term.id.clone(), TermEnd::Shutdown)]);
    assert_eq!(stage.lease.honours(&term.id.holder), None);
    assert!(stage.leadership.next_term(&shutdown).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_process_that_stops_while_it_campaigns_leaves_no_lease_behind() {
    let mut stage = stage(TTL, vec![Network::LosesAnswer(Duration::ZERO), AT_ONCE], Duration::ZERO);
    let shutdown = CancellationToken::new();
    let (term, ()) = tokio::join!(stage.leadership.next_term(&shutdown), async {
        sleep(&stage.clock, Duration::from_millis(100)).await;
        assert!(stage.lease.honours(&stage.lease.calls()[0].holder).is_some());
        shutdown.cancel();
    });
    assert!(term.is_none());
    assert_eq!(stage.lease.honours(&stage.lease.calls()[0].holder), None);
    assert_eq!(stage.lease.calls().last().unwrap().asked, Asked::Release);
}

#[tokio::test(start_paused = true)]
async fn a_term_that_the_database_refuses_is_fenced() {
    let mut stage = stage(TTL, vec![AT_ONCE], Duration::ZERO);
    let term = stage.term().await;
    let (in_flight, wakeup) = (Arc::new(InFlight::new(1)), Arc::default());
    let settling = Arc::new(Settling {
        store: stage.store.clone(),
        quarantine: Arc::new(Quarantine::new(in_flight.clone(), Arc::clone(&wakeup))),
        in_flight,
        channels: Reloadable::new(Channels::default()),
        wakeup,
        marker_health: Arc::new(crate::poller::marker_health::MarkerHealth::new(Duration::from_secs(10))),
        metrics: metrics(),
        unanswered: parking_lot::Mutex::default(),
    });
    settling.begin(&term);
    term.ended().await;
    assert_eq!((term.end_reason(), term.gate.is_open()), (Some(TermEnd::Fenced), false));
}

#[tokio::test(start_paused = true)]
async fn a_term_that_is_fenced_once_is_an_accident_and_twice_in_a_row_a_fault_of_the_lease() {
    let mut stage = stage(Duration::from_hours(1), vec![AT_ONCE], Duration::ZERO);
    for (end, in_a_row) in
        [(TermEnd::Fenced, 1), (TermEnd::Interval, 0), (TermEnd::Fenced, 1), (TermEnd::Fenced, 2), (TermEnd::Lost, 0)]
    {
        let term = stage.term().await;
        term.end(end);
        stage.leadership.hand_over(&term).await;
        assert_eq!(stage.leadership.fenced, in_a_row, "{end:?}");
    }
}

/// What was seen of a database on this timeline.
fn seen(epoch: i64, timeline: u32) -> Seen {
    format!("{epoch} {timeline} system 7").parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_term_ends_where_its_database_fails_over_and_its_gate_shuts_before_anybody_hears_of_it() {
    let mut stage = stage(Duration::from_hours(1), vec![AT_ONCE], Duration::ZERO);
    stage.store.fail_over(&seen(0, 1));
    let term = stage.term().await;
    assert!(term.gate.is_open());
    stage.leadership.lineages.told(seen(0, 2));
    assert!(!term.gate.is_open());
    term.ended().await;
    assert_eq!(term.end_reason(), Some(TermEnd::DatabaseChanged));
    stage.leadership.hand_over(&term).await;
    assert_eq!(stage.store.ended(), [(term.id.clone(), TermEnd::DatabaseChanged)]);
}

#[tokio::test(start_paused = true)]
async fn no_term_begins_in_a_database_that_was_left() {
    let mut stage = stage(Duration::from_hours(1), vec![AT_ONCE], Duration::ZERO);
    stage.store.fail_over(&seen(0, 1));
    let term = stage.term().await;
    stage.leadership.lineages.told(seen(0, 2));
    term.ended().await;
    stage.leadership.hand_over(&term).await;
    let lineages = stage.leadership.lineages.clone();
    let in_vain = tokio::time::timeout(Duration::from_mins(5), stage.term()).await;
    assert!(in_vain.is_err(), "a term began in a database that was left");
    stage.store.fail_over(&seen(0, 2));
    let next = stage.term().await;
    assert!(next.gate.is_open() && lineages.current().is_some_and(|now| now.starts_with("timeline 2 ")));
}

#[tokio::test(start_paused = true)]
async fn a_term_is_minted_above_all_epochs_that_were_seen() {
    let mut stage = stage(Duration::from_hours(1), vec![AT_ONCE], Duration::ZERO);
    stage.leadership.lineages.told(seen(41, 1));
    stage.term().await;
    assert_eq!(stage.store.above(), [Epoch(41)]);
}

#[tokio::test(start_paused = true)]
async fn a_term_is_over_once_a_renewal_tells_of_a_later_one() {
    let mut stage = stage(Duration::from_hours(1), vec![AT_ONCE], Duration::ZERO);
    let term = stage.term().await;
    stage.leadership.lineages.told(seen(41, 1));
    term.progress();
    term.ended().await;
    assert_eq!(term.end_reason(), Some(TermEnd::Fenced));
    assert!(stage.clock.now().since_boot() <= TTL / 3 + DRAW + 2 * TIMER, "{:?}", stage.clock.now());
}
