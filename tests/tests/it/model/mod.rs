//! The protocol, searched to the end; and what breaks where one of its guards is taken away.

mod replay;

use outbox_model::guards::Guard;
use outbox_model::promises::Promise;
use outbox_model::search::{assert_holds, assert_needed, follow, steps_to_breach};
use outbox_model::steps::Step;
use outbox_model::traces::{self, Trace};
use outbox_model::{Faults, Protocol};

#[test]
fn a_hand_over_leaves_nothing_in_doubt_where_sends_end_in_time() {
    assert_holds("calm", traces::CALM);
}

#[test]
fn sends_of_an_ordering_key_take_turns_through_crashes_and_lost_answers() {
    assert_holds("ordered", traces::ORDERED);
}

#[test]
fn every_duplicate_is_explained_by_a_doubt_wherever_a_process_stands_still() {
    assert_holds("two at a time", traces::TWO_AT_A_TIME);
}

#[test]
fn nothing_is_delivered_twice_where_doubts_are_dead_letters() {
    assert_holds("at most once", traces::AT_MOST_ONCE);
}

/// As [`assert_needed`]: a message is doubled. Before that, its row is in two claims at one revision.
fn assert_doubles(trace: &Trace) {
    assert_needed(trace);
    let unguarded = trace.protocol.without(trace.without);
    assert!(steps_to_breach(unguarded, Promise::Disjoint) < trace.steps.len());
}

#[test]
fn without_epochs_from_the_database_two_terms_share_one() {
    assert_needed(&traces::EPOCH_FROM_DATABASE);
}

#[test]
fn without_the_lock_of_the_claim_two_pollers_send_one_row_at_once() {
    assert_needed(&traces::CLAIM_LOCKS_TERM_ROW);
}

#[test]
fn without_the_revision_a_repeated_mark_counts_an_attempt_twice() {
    assert_needed(&traces::MARK_COMPARES_REVISION);
}

#[test]
fn without_a_claim_before_it_a_send_is_known_to_nobody() {
    assert_needed(&traces::CLAIM_BEFORE_SEND);
}

#[test]
fn without_the_settling_time_a_row_on_the_wire_is_sent_again() {
    assert_needed(&traces::SETTLING_TIME);
}

#[test]
fn in_flight_only_until_its_outcome_a_row_is_in_two_claims_and_is_sent_again() {
    assert_doubles(&traces::IN_FLIGHT_UNTIL_MARKED);
}

#[test]
fn beside_a_claim_a_look_that_claims_at_once_takes_the_same_row_and_it_is_sent_twice() {
    assert_doubles(&traces::UNSEEN_BESIDE_NONE);
}

#[test]
fn without_the_release_of_a_claim_that_was_given_up_its_rows_are_in_two_claims() {
    assert_needed(&traces::RELEASED_BEFORE_NEXT);
}

#[test]
fn claimed_by_its_id_alone_a_row_is_sent_as_it_was_before_it_was_edited() {
    assert_needed(&traces::CLAIM_COMPARES_REVISION);
}

#[test]
fn with_slots_per_term_a_process_has_more_in_flight_than_the_bound() {
    assert_needed(&traces::SLOTS_OF_PROCESS);
}

#[test]
fn without_the_gate_a_term_that_is_over_begins_a_send() {
    assert_needed(&traces::GATE_BEFORE_SEND);
}

#[test]
fn with_unsettled_rows_in_the_polls_two_pollers_send_one_row_at_once() {
    assert_needed(&traces::UNSETTLED_LEFT_OUT);
}

#[test]
fn told_that_a_gate_is_closed_which_is_open_the_next_poller_settles_what_is_then_sent() {
    assert_needed(&traces::GATE_CLOSED_BEFORE_TOLD);
}

#[test]
fn released_while_its_rows_are_about_to_be_sent_a_claim_covers_none_of_the_sends() {
    assert_needed(&traces::ONLY_GIVEN_UP_RELEASED);
}

#[test]
fn a_claim_that_was_given_up_is_released_before_its_process_makes_the_next() {
    use Step::{BeginTerm, Claim, ClaimUnanswered, Gate, Look, Release, Select};
    let given_up = [BeginTerm(0), Look(0), Select(0), ClaimUnanswered(0)];
    let anew = [Look(0), Select(0), Claim(0), Gate(0, 0)];
    let released = [&given_up[..], &[Release(0)], &anew].concat();
    assert_eq!(follow(traces::ORDERED, &released).map(|state| state.broken), Ok(None));
    assert_eq!(follow(traces::ORDERED, &[&given_up[..], &anew].concat()), Err(given_up.len()));
}

/// Second bolts, and one that is there for speed. The claim of a row that was settled is gone, but its revision has
/// risen too; what the claim's lock is for is that mark and settlement take turns, which the model takes for granted by
/// making each one step. The holder tells apart two terms of one epoch, which only a database that lost a mint can have.
/// A row that was not sent rises so that the next poller need not wait for the settling time of its claim.
#[test]
fn the_standing_claim_the_holder_and_the_rise_of_unsent_rows_are_second_bolts() {
    let protocol = Protocol { faults: Faults::Crashes, ..traces::TWO_AT_A_TIME };
    assert_holds("without standing claims", protocol.without(&[Guard::MarkNeedsClaim]));
    assert_holds("without holders", protocol.without(&[Guard::HolderCompared]));
    assert_holds("without the rise of unsent rows", protocol.without(&[Guard::UnsentRaisesRevision]));
}
