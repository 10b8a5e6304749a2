//! What people do by hand to destinations.

use super::*;

#[tokio::test(start_paused = true)]
async fn people_are_heard_once_for_each_change() {
    let destinations = destinations(Limits::default());
    let change = |stamp, paused: Option<Duration>| changed("a", stamp, paused.map(|left| (PauseKind::Manual, left)));
    destinations.heard(vec![change(1, Some(Duration::from_hours(9)))]);
    assert!(destinations.is_closed("a"));
    let asked = Answer { busy_for: Some(Duration::from_secs(1)), ..failed() };
    destinations.send("a", &asked, QUICK);
    tokio::time::advance(Duration::from_secs(2)).await;
    assert!(destinations.is_closed("a"), "nothing shortens a pause by hand");
    destinations.heard(vec![change(2, None)]);
    assert!(!destinations.is_closed("a"));
    assert_eq!(destinations.recovered(), ["a"]);
    destinations.heard(vec![change(2, None), change(1, Some(LONGEST))]);
    assert!(destinations.is_closed("a"));
}

#[tokio::test(start_paused = true)]
async fn a_resumption_ends_nothing_that_paused_the_destination_since() {
    for kind in [PauseKind::RetryAfter, PauseKind::Breaker] {
        // The next poller takes the pause over, and then hears of the resumption before it.
        let destinations = destinations(Limits::default());
        let pause = Some((kind, Duration::from_mins(5)));
        destinations.heard(vec![changed("a", 1, pause)]);
        assert!(destinations.is_closed("a"), "{kind:?}");
        assert_eq!(destinations.recovered(), [""; 0], "its pause in the database stays");
    }
}

#[tokio::test(start_paused = true)]
async fn a_resumption_waits_for_the_mark_of_a_pause_that_may_be_newer() {
    let destinations = destinations(Limits::default());
    destinations.admitted(&[to("a")]);
    let busy = Answer { busy_for: Some(Duration::from_mins(5)), ..failed() };
    let decision = destinations.learns_unwritten(&to("a"), &busy, QUICK);
    destinations.heard(vec![changed("a", 1, None)]);
    assert!(destinations.is_closed("a"));
    destinations.written(&[&decision.pause.expect("it asks for a pause")]);
    destinations.heard(vec![changed("a", 1, None)]);
    assert!(!destinations.is_closed("a"), "the database has no pause any more: somebody ended it");
}
