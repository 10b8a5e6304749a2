//! What is kept for those with less in flight than others.

use super::*;
use crate::in_flight::Kept;

/// The room that a claim for these takers has for a destination.
fn room(destinations: &Destinations, takers: Takers, name: &str) -> Option<u32> {
    room_in(&destinations.admission(1 << 20, takers), name)
}

fn room_in(admission: &Admission, name: &str) -> Option<u32> {
    admission.rooms.iter().find(|room| room.destination == name).map(|room| room.room)
}

/// Destinations that have answered so often that each may have all that is free.
fn answering(limits: Limits, names: &[&str]) -> Destinations {
    let destinations = destinations(limits);
    for name in names {
        destinations.send(name, &delivered(), QUICK);
        for _ in 0..SLOTS {
            destinations.learns(&to(name), &delivered(), QUICK);
        }
    }
    destinations
}

#[tokio::test(start_paused = true)]
async fn of_what_is_kept_one_message_goes_to_each_destination_that_has_answered_and_has_nothing_in_flight() {
    let destinations = answering(Limits::default(), &["busy", "idle"]);
    destinations.admitted(&[to("busy"), to("stranger")]);
    let mut admission = destinations.admission(1 << 20, Takers::Idle);
    let got = ["busy", "idle", "hook", "stranger"].map(|name| room_in(&admission, name));
    assert_eq!(got, [Some(0), Some(1), Some(1), Some(0)]);
    assert_eq!(admission.strangers.rows, 0);
    tokio::time::advance(Duration::from_secs(2)).await;
    destinations.prune();
    destinations.introduce(&mut admission, vec!["idle".to_owned(), "new".to_owned()]);
    assert_eq!((admission.rooms.last().map(|room| room.room), room_in(&admission, "new")), (Some(1), None));
}

#[tokio::test(start_paused = true)]
async fn the_room_of_a_destination_is_said_once_to_a_claim() {
    let destinations = answering(Limits::default(), &["known", "other"]);
    let mut admission = destinations.admission(1 << 20, Takers::All);
    let names = ["known", "other", "known"].map(str::to_owned).to_vec();
    destinations.introduce(&mut admission, names.clone());
    destinations.tell_of(&mut admission, names);
    let mut said: Vec<_> = admission.rooms.iter().map(|room| room.destination.as_str()).collect();
    said.sort_unstable();
    assert_eq!(said, ["hook", "known", "other"]);
}

#[tokio::test(start_paused = true)]
async fn where_several_want_more_each_has_as_much_of_seven_eighths_of_the_slots() {
    let destinations = answering(Limits::default(), &["late", "quick", "rests"]);
    tokio::time::advance(REST_BEGINS).await;
    destinations.admitted(&vec![to("late"); 300]);
    destinations.admitted(&vec![to("quick"); 24]);
    assert!(destinations.kept().shared);
    for takers in [Takers::WithinShares, Takers::BelowShares] {
        // 448 for two of them: who rests has no share.
        let got = ["late", "quick"].map(|name| room(&destinations, takers, name));
        assert_eq!(got, [Some(0), Some(200)], "{takers:?}");
    }
    assert_eq!(room(&destinations, Takers::All, "late"), Some(84));
    assert!(!destinations.fills_a_share(&[to("quick")]));
    destinations.admitted(&vec![to("quick"); 200]);
    assert!(destinations.fills_a_share(&[to("quick")]));
    assert_eq!(room(&destinations, Takers::WithinShares, "quick"), Some(0));
}

#[tokio::test(start_paused = true)]
async fn where_shares_would_be_few_messages_all_that_is_kept_is_for_those_with_nothing_in_flight() {
    let destinations = destinations(Limits::default());
    for host in 0..57 {
        destinations.send(&format!("host {host}"), &delivered(), QUICK);
    }
    assert!(!destinations.kept().shared, "448 for 57 of them are less than eight each");
    destinations.answers("host 0");
    let window = room(&destinations, Takers::All, "host 0");
    assert_eq!(room(&destinations, Takers::WithinShares, "host 0"), window, "its window alone limits it");
    assert!(window > Some(8));
}

#[tokio::test(start_paused = true)]
async fn the_own_limit_of_a_channel_goes_before_what_is_kept() {
    let destinations = answering(Limits { max_in_flight: Some(300), rate: None }, &["busy"]);
    destinations.admitted(&[to("busy")]);
    for takers in [Takers::WithinShares, Takers::BelowShares, Takers::Idle] {
        let admission = destinations.admission(1 << 20, takers);
        assert!(admission.rooms.iter().all(|room| room.room > 1), "{:?}", admission.rooms);
    }
}

#[tokio::test(start_paused = true)]
async fn an_eighth_of_what_no_slow_destination_holds_is_kept_where_there_are_several() {
    let destinations = destinations(Limits::default());
    assert_eq!(destinations.kept(), Kept::default(), "there is none to keep it for");
    destinations.send("quick", &delivered(), QUICK);
    destinations.answers("quick");
    assert_eq!(destinations.kept(), Kept::default(), "it is the only one");
    let message = Message { payload: "x".repeat(1 << 16), target: String::new(), ..to("silent") };
    destinations.admitted(&vec![message.clone(); 256]);
    assert_eq!(destinations.kept(), Kept { slots: SLOTS / 8, bytes: 8 << 20, shared: true });
    tokio::time::advance(window::SLOW).await;
    let left = (64 << 20) - 256 * message.weight();
    assert_eq!(destinations.kept(), Kept { slots: SLOTS / 16, bytes: left / 8, shared: true });
}
