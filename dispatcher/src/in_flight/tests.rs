//! What is in flight, and the rows that are on hold.

use super::*;
use crate::fixtures::mark;

fn message(id: i64, bytes: usize) -> Message {
    Message { payload: "x".repeat(bytes), target: String::new(), ..crate::fixtures::message(id) }
}

#[test]
fn a_claim_is_finished_by_the_group_that_has_its_last_row() {
    let in_flight = InFlight::new(8);
    let claim = ClaimId::mint();
    let _ = in_flight.admit(claim, vec![message(1, 10), message(2, 10), message(3, 10)]);
    let first = [mark(claim, 1), mark(claim, 2)];
    assert_eq!(in_flight.finished_by(&first), []);
    in_flight.release(&first);
    assert_eq!(in_flight.finished_by(&[mark(claim, 3)]), [claim]);
}

#[test]
fn what_is_in_flight_is_counted_by_channel() {
    let in_flight = InFlight::new(8);
    let claim = ClaimId::mint();
    let push = |id| Message { channel: "push".to_owned(), ..message(id, 10) };
    let _ = in_flight.admit(claim, vec![message(1, 10), push(2), push(3)]);
    in_flight.release(&[mark(claim, 1), mark(claim, 2)]);
    assert_eq!(in_flight.by_channel(), [("push".to_owned(), 1)].into());
}

#[test]
fn a_message_that_a_claim_brings_twice_or_that_is_in_flight_is_admitted_once_and_counted_once() {
    let in_flight = InFlight::new(8);
    let (claim, again) = (ClaimId::mint(), ClaimId::mint());
    let ids = |messages: Vec<Message>| messages.iter().map(|message| message.id).collect::<Vec<_>>();
    assert_eq!(ids(in_flight.admit(claim, vec![message(1, 10), message(2, 10), message(1, 10)])), [1, 2]);
    assert_eq!(ids(in_flight.admit(again, vec![message(2, 10), message(3, 10)])), [3]);
    assert_eq!(in_flight.count(), 3);
    assert_eq!(in_flight.finished_by(&[mark(claim, 1), mark(claim, 2)]), [claim]);
    assert_eq!(in_flight.finished_by(&[mark(again, 3)]), [again]);
    in_flight.release(&[mark(claim, 1), mark(claim, 2), mark(again, 3)]);
    assert_eq!(in_flight.count(), 0);
}

#[test]
fn what_is_in_flight_unsettled_or_held_back_is_left_out_of_the_next_claim() {
    let in_flight = InFlight::new(8);
    let _ = in_flight.admit(ClaimId::mint(), vec![message(1, 10)]);
    in_flight.set_unsettled(Epoch(7), &[MessageId(2)]);
    in_flight.set_held_back([MessageId(3)].into());
    let mut excluded = in_flight.excluded();
    excluded.sort();
    assert_eq!(excluded, [1, 2, 3].map(MessageId));
    assert!(!in_flight.is_quiet());
}

#[test]
fn what_an_earlier_term_found_unsettled_does_not_replace_what_a_later_one_did() {
    let in_flight = InFlight::new(8);
    in_flight.set_unsettled(Epoch(8), &[MessageId(2)]);
    in_flight.set_unsettled(Epoch(7), &[]);
    assert_eq!(in_flight.excluded(), [MessageId(2)]);
}
