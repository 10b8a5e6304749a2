//! What a claim asks for, and when the next one follows.

use outbox_adapters::Answer;
use outbox_schema::{Outcome, Scope};

use super::*;
use crate::destinations::Limits;
use crate::fixtures::{KeyedStore, SteppedClock, Stretch, message, metrics, term_of};
use crate::poller::hints::HintListener;
use crate::term::clock::Clock;

/// A poller of that outbox.
fn poller(store: &Arc<KeyedStore>) -> (Intake, Arc<Term>) {
    let (in_flight, wakeup) = (Arc::new(InFlight::new(8, 1_000)), Arc::<Notify>::default());
    let clock = SteppedClock::new();
    let term = term_of(&clock, clock.now().after(Duration::from_mins(1)));
    let intake = Intake {
        store: store.clone(),
        suspects: Arc::new(Suspects::new(in_flight.clone(), wakeup.clone())),
        in_flight,
        channels: InForce::new(Channels::default()),
        destinations: Arc::new(Destinations::new(8, 1_000_000, std::collections::HashMap::new())),
        start: Start::default(),
        keys: OrderingKeys::default(),
        attention: Attention::new(false, Arc::new(HintListener::new(wakeup.clone()))),
        wakeup,
        turns: TurnTaking::default(),
        last: LastClaims::default(),
        size: ClaimSize::new(Duration::from_secs(10)),
        marking: Arc::new(Marking::new(Duration::from_secs(10))),
        poll_interval: Duration::from_secs(1),
        lease_ttl: Duration::from_secs(10),
        metrics: metrics(),
    };
    (intake, term)
}

/// Each look goes on behind the one before.
fn all_stretches() -> Vec<Stretch> {
    [None, Some("2"), Some("4"), Some("6"), Some("8")].map(|from| (from.map(str::to_owned), None)).to_vec()
}

#[tokio::test(start_paused = true)]
async fn nothing_is_taken_to_be_due_before_all_stretches_of_the_ordering_keys_were_seen() {
    let store = KeyedStore::new(None);
    let (mut intake, term) = poller(&store);
    assert!(matches!(intake.poll(&term).await, Polled::Empty));
    assert_eq!(store.asked(), all_stretches());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_taken_to_be_due_where_a_destination_began_to_hold_back_while_claims_ran() {
    let store = KeyedStore::new(None);
    let (mut intake, term) = poller(&store);
    store.fill_while_claiming(&intake.destinations);
    assert!(matches!(intake.poll(&term).await, Polled::Nothing { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_claim_in_turns_proves_nothing_where_it_passes_over_a_closed_destination() {
    let store = KeyedStore::without_keys();
    let (mut intake, term) = poller(&store);
    let (busy, hour) = (Message { destination: "busy".to_owned(), ..message(1) }, Duration::from_hours(1));
    let asks = Answer::failed(Outcome::Defer { scope: Scope::Destination, until: hour }, "not now");
    intake.destinations.admitted(std::slice::from_ref(&busy));
    intake.destinations.answered(&busy, busy.weight(), &asks, Duration::ZERO, hour);
    let polled = intake.poll(&term).await;
    let Polled::Nothing { look_again: Some(rest) } = polled else { panic!("{polled:?}") };
    tokio::time::advance(rest).await;
    assert!(matches!(intake.poll(&term).await, Polled::Empty), "nobody takes turns any more");
    assert_eq!(store.asked().len(), 2);
    intake.turns = TurnTaking::default();
    store.fill_while_claiming(&intake.destinations);
    let polled = intake.poll(&term).await;
    assert!(matches!(polled, Polled::Nothing { look_again: None }), "{polled:?}");
    assert_eq!(store.asked().len(), 3, "turns go on");
}

#[tokio::test(start_paused = true)]
async fn what_a_claim_puts_off_though_its_channel_has_been_configured_meanwhile_is_to_be_brought_back() {
    for (configured, brought_back) in [(Some("hook"), true), (None, false)] {
        let store = KeyedStore::new(None);
        let (intake, term) = poller(&store);
        // Rows that were deferred before are back already. The claim was begun before there was such a channel.
        let allowed = configured.map(|channel| (channel.to_owned(), Limits::default())).into_iter().collect();
        let mut intake = Intake { destinations: Arc::new(Destinations::new(8, 1_000_000, allowed)), ..intake };
        store.put_off("hook");
        let polled = intake.poll(&term).await;
        assert_eq!(intake.destinations.holds_back(), brought_back, "{configured:?}");
        assert_eq!(matches!(polled, Polled::Nothing { .. }), brought_back, "{polled:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_is_found_whatever_the_stretch_of_its_ordering_key() {
    for due in ["0", "3", "5", "6", "9"] {
        let store = KeyedStore::new(Some(due));
        let (mut intake, term) = poller(&store);
        assert!(matches!(intake.poll(&term).await, Polled::Batch(_)), "{due}");
        assert!(store.asked().len() <= all_stretches().len(), "{due}: {:?}", store.asked());
    }
}

#[tokio::test(start_paused = true)]
async fn claims_take_turns_over_the_stretches_also_where_they_find_something() {
    let store = KeyedStore::new(Some("0"));
    let (mut intake, term) = poller(&store);
    for _ in 0..2 {
        let Polled::Batch(batch) = intake.poll(&term).await else { panic!("nothing was found") };
        intake.in_flight.release(&[crate::fixtures::mark(batch.claim, 1)]);
    }
    // The second poll ends where it began.
    let all = [all_stretches(), vec![(None, Some("2".to_owned()))]].concat();
    assert_eq!(store.asked(), all);
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_took_too_long_is_released_and_made_anew_with_half_of_it() {
    let store = KeyedStore::new(Some("0"));
    let (mut intake, term) = poller(&store);
    store.answer_none_of(2);
    assert!(matches!(intake.poll(&term).await, Polled::Batch(_)));
    let requests = store.requests();
    let asked: Vec<_> = requests.iter().map(|(_, messages, bytes)| (*messages, *bytes)).collect();
    assert_eq!(asked, [(8, 1_000), (4, 500), (2, 250)]);
    assert_eq!(store.released(), [requests[0].0, requests[1].0]);
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_is_given_up_with_its_term_is_released() {
    let store = KeyedStore::new(Some("0"));
    let (mut intake, term) = poller(&store);
    store.answer_none_of(1);
    let ends = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        term.end(TermEnd::Wedged);
    };
    let (polled, ()) = tokio::join!(intake.poll(&term), ends);
    assert!(matches!(polled, Polled::TermOver), "{polled:?}");
    while store.released().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(store.released(), [store.requests()[0].0]);
    // And the next term asks for less.
    let clock = SteppedClock::new();
    let next = term_of(&clock, clock.now().after(Duration::from_mins(1)));
    assert!(matches!(intake.poll(&next).await, Polled::Batch(_)));
    assert_eq!(store.requests()[1].1, 4);
}
