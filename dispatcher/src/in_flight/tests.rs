//! Slots, what is kept of them, and the rows that a claim leaves out.

use super::*;
use crate::fixtures::mark;

fn message(id: i64, bytes: usize) -> Message {
    Message { payload: "x".repeat(bytes), target: String::new(), ..crate::fixtures::message(id) }
}

fn now() -> KeptFrom {
    KeptFrom::both(Instant::now())
}

#[test]
fn a_claim_is_finished_by_the_group_that_has_its_last_row() {
    let in_flight = InFlight::new(8, 1000);
    let claim = ClaimId::mint();
    let _ = in_flight.admit(claim, vec![message(1, 10), message(2, 10), message(3, 10)]);
    let first = [mark(claim, 1), mark(claim, 2)];
    assert_eq!(in_flight.finished_by(&first), []);
    in_flight.release(&first);
    assert_eq!(in_flight.finished_by(&[mark(claim, 3)]), [claim]);
}

#[tokio::test]
async fn slots_and_bytes_are_taken_by_a_claim_and_freed_by_a_mark() {
    let in_flight = InFlight::new(8, 1000);
    let claim = ClaimId::mint();
    let _ = in_flight.admit(claim, vec![message(1, 300), message(2, 200)]);
    assert_eq!(
        in_flight.room(false, Kept::default(), now()).await,
        Room { messages: 6, takers: Takers::All, bytes: 500, empty: false }
    );
    in_flight.release(&[mark(claim, 1), mark(claim, 2)]);
    assert_eq!(
        in_flight.room(false, Kept::default(), now()).await,
        Room { messages: 8, takers: Takers::All, bytes: 1000, empty: true }
    );
}

#[test]
fn what_is_in_flight_is_counted_by_channel() {
    let in_flight = InFlight::new(8, 1000);
    let claim = ClaimId::mint();
    let push = |id| Message { channel: "push".to_owned(), ..message(id, 10) };
    let _ = in_flight.admit(claim, vec![message(1, 10), push(2), push(3)]);
    in_flight.release(&[mark(claim, 1), mark(claim, 2)]);
    assert_eq!(in_flight.by_channel(), [("push".to_owned(), 1)].into());
}

#[test]
fn a_message_that_a_claim_brings_twice_or_that_is_in_flight_is_admitted_once_and_counted_once() {
    let in_flight = InFlight::new(8, 1000);
    let (claim, again) = (ClaimId::mint(), ClaimId::mint());
    let ids = |messages: Vec<Message>| messages.iter().map(|message| message.id).collect::<Vec<_>>();
    assert_eq!(ids(in_flight.admit(claim, vec![message(1, 10), message(2, 10), message(1, 10)])), [1, 2]);
    assert_eq!(ids(in_flight.admit(again, vec![message(2, 10), message(3, 10)])), [3]);
    assert_eq!((in_flight.count(), in_flight.present_room().bytes), (3, 970));
    assert_eq!(in_flight.finished_by(&[mark(claim, 1), mark(claim, 2)]), [claim]);
    assert_eq!(in_flight.finished_by(&[mark(again, 3)]), [again]);
    in_flight.release(&[mark(claim, 1), mark(claim, 2), mark(again, 3)]);
    assert_eq!((in_flight.count(), in_flight.present_room().bytes), (0, 1000));
}

#[test]
fn what_is_in_flight_unsettled_or_held_back_is_left_out_of_the_next_claim() {
    let in_flight = InFlight::new(8, 1000);
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
    let in_flight = InFlight::new(8, 1000);
    in_flight.set_unsettled(Epoch(8), &[MessageId(2)]);
    in_flight.set_unsettled(Epoch(7), &[]);
    assert_eq!(in_flight.excluded(), [MessageId(2)]);
}

#[tokio::test(start_paused = true)]
async fn a_full_house_waits_for_a_mark() {
    let in_flight = std::sync::Arc::new(InFlight::new(1, 1000));
    let claim = ClaimId::mint();
    let _ = in_flight.admit(claim, vec![message(1, 10)]);
    let waiting = tokio::spawn({
        let in_flight = in_flight.clone();
        async move { in_flight.room(false, Kept::default(), now()).await }
    });
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert!(!waiting.is_finished());
    in_flight.release(&[mark(claim, 1)]);
    assert!(waiting.await.is_ok_and(|room| room.messages == 1));
}

#[tokio::test(start_paused = true)]
async fn of_many_slots_a_claim_does_not_wait_for_a_quarter_unless_a_destination_is_full() {
    let in_flight = InFlight::new(1_500, 10_000);
    let claim = ClaimId::mint();
    let messages: Vec<Message> = (0..1_500).map(|id| message(id, 1)).collect();
    let _ = in_flight.admit(claim, messages);
    let marks: Vec<Mark> = (0..64).map(|id| mark(claim, id)).collect();
    in_flight.release(&marks);
    let began = Instant::now();
    assert_eq!(in_flight.room(false, Kept::default(), now()).await.messages, marks.len());
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert_eq!(in_flight.room(true, Kept::default(), now()).await.messages, marks.len());
    assert_eq!(began.elapsed(), LINGER);
}

#[tokio::test(start_paused = true)]
async fn slots_that_are_kept_are_for_claims_of_their_own_while_few_others_are_free() {
    const AGAIN: Duration = Duration::from_millis(50);
    let in_flight = InFlight::new(64, 1000);
    let (claim, began) = (ClaimId::mint(), Instant::now());
    let kept = Kept { slots: 8, bytes: 125, shared: false };
    let room = async || {
        let Room { messages, takers, .. } = in_flight.room(false, kept, KeptFrom::both(began + AGAIN)).await;
        (messages, takers.are_kept_for())
    };
    let _ = in_flight.admit(claim, (0..40).map(|id| message(id, 1)).collect());
    assert_eq!(room().await, (16, false));
    let _ = in_flight.admit(claim, (40..54).map(|id| message(id, 1)).collect());
    assert_eq!(room().await, (2, false), "it is not yet time for one");
    let _ = in_flight.admit(claim, vec![message(54, 1), message(55, 1)]);
    assert_eq!(room().await, (8, true));
    assert_eq!(began.elapsed(), AGAIN);
    in_flight.release(&[mark(claim, 55)]);
    assert_eq!(room().await, (9, true), "few others are free");
    in_flight.release(&(0..15).map(|id| mark(claim, id)).collect::<Vec<_>>());
    assert_eq!(room().await, (16, false));
    let _ = in_flight.admit(ClaimId::mint(), vec![message(60, 900)]);
    assert_eq!(room().await, (23, true), "few bytes are free");
}

#[tokio::test(start_paused = true)]
async fn a_half_of_what_is_kept_is_for_those_with_less_than_their_share() {
    let in_flight = InFlight::new(64, 1000);
    let claim = ClaimId::mint();
    let kept = Kept { slots: 8, bytes: 125, shared: true };
    let room = async || {
        let room = in_flight.room(false, kept, now()).await;
        (room.messages, room.bytes, room.takers)
    };
    let _ = in_flight.admit(claim, (0..56).map(|id| message(id, 1)).collect());
    let left = 1000 - 56;
    assert_eq!(room().await, (4, left - 62, Takers::BelowShares));
    let _ = in_flight.admit(claim, (56..60).map(|id| message(id, 1)).collect());
    assert_eq!(room().await, (4, left - 4, Takers::Idle), "the other half");
}

#[tokio::test(start_paused = true)]
async fn bytes_are_kept_also_where_no_slot_is() {
    let in_flight = InFlight::new(4, 1000);
    let _ = in_flight.admit(ClaimId::mint(), vec![message(1, 900)]);
    let kept = Kept { slots: 0, bytes: 125, shared: false };
    let room = in_flight.room(false, kept, now()).await;
    assert_eq!((room.messages, room.bytes, room.takers), (3, 100, Takers::Idle));
}

#[tokio::test]
async fn a_message_as_large_as_all_that_may_be_in_flight_has_room_where_nothing_is() {
    let kept = Kept { slots: 8, bytes: 125, shared: false };
    let room = InFlight::new(64, 1000).room(false, kept, now()).await;
    assert_eq!((room.messages, room.bytes), (56, 1000));
}

#[tokio::test(start_paused = true)]
async fn a_trickle_of_free_slots_puts_a_claim_off_once() {
    const SLOTS: i64 = 64;
    let in_flight = InFlight::new(64, 1000);
    let claim = ClaimId::mint();
    let messages: Vec<Message> = (0..SLOTS).map(|id| message(id, 1)).collect();
    let _ = in_flight.admit(claim, messages);
    let trickle = async {
        for id in 0..SLOTS {
            in_flight.release(&[mark(claim, id)]);
            tokio::time::sleep(LINGER / 2).await;
        }
    };
    let began = Instant::now();
    let room = tokio::select! {
        biased;
        room = in_flight.room(false, Kept::default(), now()) => room,
        () = trickle => panic!("it waited for all"),
    };
    assert_eq!(began.elapsed(), LINGER);
    assert!(room.messages <= 3, "{room:?}");
}
