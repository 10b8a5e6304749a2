//! Destinations that take nothing and that no claim is told of.

use super::super::evicted::MANY_IDLE;
use super::*;

fn host(number: usize) -> String {
    format!("http://{number}.example:80")
}

/// So many hosts that asked to be left alone for an hour, one after the other.
async fn paused(destinations: &Destinations, count: usize) {
    let busy = Answer { busy_for: Some(LONGEST), ..failed() };
    for number in 0..count {
        destinations.send(&host(number), &busy, QUICK);
        tokio::time::advance(Duration::from_micros(100)).await;
        if number % 64 == 0 {
            destinations.bound();
        }
        if number % 1_000 == 0 {
            destinations.prune();
        }
    }
    destinations.prune();
}

fn asked_for(name: &str) -> DestinationState {
    let pause = Some((PauseKind::RetryAfter, LONGEST));
    DestinationState { destination: name.to_owned(), pause, failures: 0, aside: Duration::ZERO, ramp: None }
}

#[tokio::test(start_paused = true)]
async fn of_very_many_paused_destinations_some_are_looked_at_and_the_others_are_idle() {
    let destinations = destinations(Limits::default());
    destinations.heard(vec![changed("hook", 1, Some((PauseKind::Manual, Duration::from_hours(9))))]);
    paused(&destinations, 5_000).await;
    destinations.bound();
    let known = destinations.state().known.len();
    assert!(known <= MANY_IDLE + 1, "{known} are looked at");
    assert!(destinations.holds_hook(), "no channel is idle");
    destinations.heard(vec![changed("hook", 2, None)]);
    assert_eq!(destinations.in_doubt(&[host(0), host(4_999)]), [""; 0], "they are remembered");
    assert!(destinations.is_closed(&host(0)) && destinations.is_closed(&host(4_999)));
    let channels = Channels::default();
    let mut rooms = destinations.rooms(&channels);
    assert_eq!(rooms.standing("hook", "http://new.example:80", Instant::now()), Standing::Closed { until: None });
    assert_eq!(rooms.unsure(), ["http://new.example:80"], "the database is asked about each that is not remembered");
    destinations.recall(&["http://new.example:80".to_owned()], &[]);
    assert_eq!(destinations.room_at("http://new.example:80"), window::SLOW_START, "it knows nothing of it");

    tokio::time::advance(LONGEST).await;
    assert!(!destinations.is_closed("http://newer.example:80"), "none of them is paused");
}

#[tokio::test(start_paused = true)]
async fn the_database_is_asked_about_what_was_evicted() {
    let destinations = destinations(Limits::default());
    assert_eq!(destinations.in_doubt(&[host(0)]), [""; 0]);
    paused(&destinations, 20_000).await;
    assert!(!destinations.is_known(&host(0)) && destinations.is_known(&host(19_999)));
    assert_eq!(destinations.in_doubt(&[host(0), host(10_000), host(19_999)]), [host(0)]);
    destinations.recall(&[host(0)], &[asked_for(&host(0))]);
    assert!(destinations.is_closed(&host(0)));
    assert_eq!(destinations.in_doubt(&[host(0)]), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_term_that_is_not_told_of_all_asks_about_those_that_it_knows_too() {
    let destinations = destinations(Limits::default());
    for known in [host(1), host(2)] {
        destinations.send(&known, &delivered(), QUICK);
    }
    destinations.admitted(&[to(&host(1))]);
    let told: Vec<_> = (10..1_034).map(|number| asked_for(&host(number))).collect();
    destinations.take_over(&told);
    assert!([1, 2, 3].iter().all(|number| destinations.is_closed(&host(*number))));
    assert_eq!(destinations.in_doubt(&[host(1), host(2), host(3), host(10)]), [host(1), host(2), host(3)]);
    destinations.recall(&[host(1), host(2)], &[asked_for(&host(2))]);
    assert!(!destinations.is_closed(&host(1)) && destinations.is_closed(&host(2)));

    destinations.take_over(&told[1..]);
    assert_eq!(destinations.in_doubt(&[host(3)]), [""; 0], "it is told of all");
}

#[tokio::test(start_paused = true)]
async fn what_somebody_changed_by_hand_since_the_database_was_asked_stays() {
    let destinations = destinations(Limits::default());
    let told: Vec<_> = (10..1_034).map(|number| asked_for(&host(number))).collect();
    destinations.take_over(&told);
    assert_eq!(destinations.in_doubt(&[host(3)]), [host(3)]);
    // The database was asked, and answers what was true before the resumption.
    destinations.heard(vec![changed(&host(3), 1, None)]);
    destinations.recall(&[host(3)], &[asked_for(&host(3))]);
    assert!(!destinations.is_closed(&host(3)));
}

/// Those that are paused come first.
#[tokio::test(start_paused = true)]
async fn a_term_whose_last_destination_is_not_paused_was_told_of_all_that_are() {
    let destinations = destinations(Limits::default());
    let mut told: Vec<_> = (10..1_034).map(|number| asked_for(&host(number))).collect();
    told[1_023].pause = Some((PauseKind::Breaker, Duration::ZERO));
    destinations.take_over(&told);
    assert_eq!(destinations.in_doubt(&[host(3)]), [""; 0]);
}
