//! A database that forgets its last commits: searched to the end, and what breaks where a guard is taken away.

use outbox_model::search::{assert_holds, assert_needed};
use outbox_model::{Policy, Protocol, traces};

#[test]
fn a_failover_doubles_nothing_and_leaves_nothing_in_doubt_where_the_pollers_live() {
    assert_holds("rollback", traces::ROLLBACK);
    let two_at_a_time = Protocol { terms: 2, messages: 2, ..traces::ROLLBACK };
    assert_holds("rollback, two at a time", two_at_a_time);
}

#[test]
fn through_a_failover_every_duplicate_is_explained_by_a_lost_answer() {
    assert_holds("lossy rollback", traces::LOSSY_ROLLBACK);
    let at_most_once = Protocol { in_doubt: Policy::DeadLetter, ..traces::LOSSY_ROLLBACK };
    assert_holds("lossy rollback, at most once", at_most_once);
}

#[test]
fn without_the_floor_an_epoch_that_the_database_forgot_is_minted_again() {
    assert_needed(&traces::EPOCH_FLOOR);
}

#[test]
fn not_ended_by_another_lineage_a_term_sends_what_the_next_has_settled() {
    assert_needed(&traces::LINEAGE_ENDS_TERM);
}

#[test]
fn claimed_before_all_is_written_again_a_row_on_the_wire_is_sent_beside_it() {
    assert_needed(&traces::MEND_BEFORE_CLAIMS);
}

#[test]
fn written_again_before_its_claim_a_mark_is_refused_and_its_row_in_doubt() {
    assert_needed(&traces::MEND_IN_ORDER);
}

#[test]
fn written_again_only_once_the_claim_after_the_mark_of_another_process_stays_lost() {
    assert_needed(&traces::MEND_AFTER_OTHERS);
}

#[test]
fn not_superseded_the_claim_of_a_forgotten_term_is_left_out_by_nobody() {
    assert_needed(&traces::MEND_SUPERSEDES);
}
