//! What a new term knows of destinations.

use outbox_store::destination::Ramp;

use super::*;

#[tokio::test(start_paused = true)]
async fn what_a_term_left_is_taken_over_and_what_it_did_not_leave_is_forgotten() {
    let rise = Some(Duration::from_mins(1));
    let destinations =
        destinations(Limits { rate: Some(RateLimit { per_second: 6_000.0, rise }), max_in_flight: None });
    for _ in 0..5 {
        destinations.send("forgotten", &failed(), QUICK);
    }
    let left = |name: &str, pause, failures| DestinationState {
        destination: name.to_owned(),
        pause,
        failures,
        aside: Duration::ZERO,
        ramp: None,
    };
    let ramp = Some(Ramp { rising_for: Duration::from_secs(29), unused_for: Duration::from_secs(5) });
    destinations.take_over(&[
        left("by-hand", Some((PauseKind::Manual, Duration::from_mins(5))), 0),
        left("broken", Some((PauseKind::Breaker, Duration::ZERO)), 4),
        DestinationState { ramp, ..left("hook", None, 0) },
    ]);
    // Over the rate by what was sent to it, and by nothing else.
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(!destinations.is_closed("forgotten"));
    assert!(destinations.is_closed("by-hand"));
    assert_eq!(destinations.room_at("broken"), 3, "it is probed");
    let risen = destinations.rising();
    assert!(risen.contains(&("hook".to_owned(), Duration::from_secs(30))), "{risen:?}");
}

#[tokio::test(start_paused = true)]
async fn a_pause_whose_mark_is_not_written_yet_stays_in_the_next_term() {
    let destinations = destinations(Limits::default());
    let busy = Answer { busy_for: Some(Duration::from_mins(5)), ..failed() };
    destinations.admitted(&[to("busy")]);
    let asked = destinations.learns_unwritten(&to("busy"), &busy, QUICK).pause.expect("it asks for a pause");
    destinations.admitted(&vec![to("broken"); 5]);
    let decisions: Vec<_> = (0..5).map(|_| destinations.learns_unwritten(&to("broken"), &failed(), QUICK)).collect();
    let opened = decisions.into_iter().find_map(|decision| decision.pause).expect("its breaker opens");
    destinations.take_over(&[]);
    assert!(destinations.is_closed("busy") && destinations.is_closed("broken"));
    // Once they are written, the database knows better.
    destinations.written(&[&asked, &opened]);
    destinations.take_over(&[]);
    assert!(!destinations.is_closed("busy") && !destinations.is_closed("broken"));
}

#[tokio::test(start_paused = true)]
async fn what_an_earlier_term_of_the_process_still_waits_for_puts_nothing_aside_in_the_next() {
    let destinations = destinations(Limits::default());
    destinations.admitted(&vec![to("silent"); SLOTS]);
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(destinations.aside().len(), 1, "within a term it is slow");
    destinations.take_over(&[]);
    assert!(destinations.aside().is_empty(), "{:?}", destinations.aside());
}
