//! Every store does the same: each behaviour, a test on every database.

use outbox_tests::conformance::store::{
    Dialect, claims, defaults, destinations, due, failovers, halting, locks, marks, odd_rows, on, ordering, outcomes,
    settling, terms, unknown,
};

/// Makes a module of each behaviour, and in it a test for each database: a failure names its database.
macro_rules! on_every_database {
    ($($module:ident: [$($behaviour:ident),+ $(,)?]),+ $(,)?) => { $($(
        mod $behaviour {
            use super::{Dialect, $module, on};

            #[tokio::test]
            async fn on_postgres() {
                on(Dialect::Postgres, $module::$behaviour).await;
            }

            #[tokio::test]
            async fn on_mysql() {
                on(Dialect::MySql, $module::$behaviour).await;
            }

            #[tokio::test]
            async fn on_sqlite() {
                on(Dialect::Sqlite, $module::$behaviour).await;
            }
        }
    )+)+ };
}

on_every_database! {
    defaults: [
        three_columns_suffice,
        a_row_written_in_another_time_zone_is_due_at_once,
        a_destination_is_the_origin_of_a_url_or_else_the_channel,
        what_no_poller_could_read_is_refused_at_the_insert,
    ],
    terms: [
        epochs_strictly_increase,
        an_epoch_is_above_all_that_were_seen,
        terms_begun_at_the_same_time_get_epochs_of_their_own,
        a_repeated_begin_gives_the_same_epoch,
        a_claim_needs_the_epoch_and_the_holder_of_the_present_term,
        a_claim_of_an_older_term_is_fenced_also_when_nothing_is_due,
        the_end_of_a_term_is_logged_and_closes_the_gate_of_its_claims,
        a_term_that_never_ended_is_logged_as_lost_by_the_next,
        a_term_that_begins_says_from_which_epoch_on_claims_are_left,
        no_claim_of_an_older_term_appears_once_a_newer_one_has_begun,
    ],
    failovers: [
        a_claim_that_a_failover_lost_is_made_again_and_its_marks_count,
        the_claim_of_a_term_that_a_failover_lost_is_left_out_by_the_next,
        a_row_that_another_claim_has_is_not_claimed_again,
        no_claim_is_made_again_once_a_term_has_begun_since_the_failover,
        a_row_that_is_gone_or_is_another_messages_is_told_from_one_that_moved_on,
        what_a_failover_lost_is_listed_once_and_under_no_message,
        who_polled_lately_is_awaited_until_it_has_told,
    ],
    destinations: [
        rows_that_are_put_aside_come_back_one_after_the_other,
        a_look_for_rows_to_put_aside_goes_on_where_its_last_step_ended,
        a_step_of_a_look_is_bounded_over_all_priorities,
        only_due_rows_that_nobody_has_in_hand_are_put_aside,
        rows_that_go_elsewhere_stay_where_a_destination_that_bears_their_channels_name_is_put_aside,
        a_row_that_was_put_aside_and_then_not_sent_is_brought_back,
        rows_that_are_brought_back_are_due_when_they_were,
        a_term_that_is_over_moves_no_row,
        a_later_term_is_told_what_matters_of_destinations,
        a_later_term_is_told_of_so_many_destinations_at_most_and_asks_about_the_others,
        of_two_pauses_the_later_end_counts_and_a_breaker_stays_one,
        of_pauses_that_are_marked_together_a_breaker_is_what_counts,
        a_breaker_whose_pause_is_over_stays_one_until_it_closes,
        a_pause_by_hand_is_ended_by_nobody_else,
        a_resumption_by_hand_is_told_with_what_paused_the_destination_since,
    ],
    marks: [
        a_success_ends_the_row_and_its_claim,
        a_delivery_that_is_kept_leaves_its_attempt,
        a_retry_keeps_the_row_pending_until_its_time,
        a_dead_letter_keeps_its_reason_and_a_gone_target_is_recorded,
        a_message_to_a_target_that_is_gone_is_claimed_as_one,
        an_attempt_that_is_spared_is_not_counted_and_begins_the_age,
        a_deferral_counts_no_attempt_and_pauses_the_destination,
        an_unsent_row_is_due_again_at_once,
        the_first_attempt_stays_the_first,
        a_repeated_mark_is_harmless,
        a_mark_that_comes_after_settling_is_fenced,
        a_mark_of_a_row_that_has_moved_on_is_fenced_and_its_neighbours_are_not,
        a_success_counts_after_its_term_as_long_as_its_claim_stands,
        texts_from_outside_are_made_fit_to_store,
        a_group_that_the_database_refuses_for_its_data_is_written_not_at_all,
        groups_written_at_the_same_time_all_land,
    ],
    outcomes: [
        an_outcome_is_told_once_with_all_but_the_payload,
        tags_that_are_no_json_keep_no_outcome_from_being_told,
        the_target_of_an_outcome_has_texts_of_the_message,
        what_is_tried_again_and_what_was_refused_tells_of_nothing,
        a_mark_whose_outcome_cannot_be_told_is_not_written,
        a_row_in_doubt_that_is_settled_as_dead_is_told,
        a_message_that_was_redriven_and_dies_again_is_told_again,
        no_outcome_is_told_of_an_outcome,
    ],
    settling: [
        a_claim_that_is_released_costs_its_messages_no_attempt,
        nothing_is_claimed_any_more_under_the_id_of_a_released_claim,
        rows_of_an_earlier_term_wait_for_their_settling_time,
        a_claim_with_a_row_that_timed_out_settles_after_the_longer_deadline_of_that_row,
        a_claim_of_an_earlier_term_ends_at_once_when_nothing_of_it_is_pending_any_more,
        a_closed_gate_saves_the_ttl,
        later_terms_do_not_start_the_settling_time_anew,
        a_row_that_the_database_itself_refuses_to_settle_keeps_no_other_waiting,
        what_was_decided_is_told_again_to_whoever_never_heard_the_answer,
        rows_in_doubt_go_by_the_policy_of_their_channel,
        rows_in_doubt_of_a_channel_whose_policy_was_changed_go_by_the_stricter,
        rows_in_doubt_of_a_channel_that_is_not_known_here_go_by_the_policy_of_their_claimer,
        an_older_term_settles_nothing,
        a_term_does_not_settle_its_own_claims,
    ],
    ordering: [
        each_ordering_key_is_met_once,
        a_step_along_halted_keys_is_bounded,
        a_step_goes_on_where_a_key_was,
        the_order_of_ids_wins_over_priority_and_age_within_a_key,
        a_retry_keeps_those_behind_it_waiting,
        those_behind_a_message_in_doubt_wait_until_it_is_settled,
    ],
    halting: [
        the_next_of_a_key_goes_when_its_head_is_dead,
        a_dead_letter_halts_its_ordering_key_where_the_channel_says_so,
        a_message_that_is_dead_because_it_was_in_doubt_halts_its_key,
        a_cancelled_message_halts_nothing,
        a_redrive_sets_the_key_going_again_from_the_dead_letter_on,
        a_purge_of_the_dead_letter_sets_the_rest_of_its_key_going,
        a_dead_letter_halts_only_those_behind_it,
        halted_keys_do_not_stand_in_the_way_of_others,
    ],
    odd_rows: [
        a_time_that_is_no_moment_keeps_no_row_from_being_claimed,
        a_row_that_is_due_since_before_all_time_is_claimed,
        a_channel_whose_name_ends_in_a_space_is_refused,
    ],
    due: [
        a_header_says_what_decides_about_its_row,
        a_look_shows_due_rows_by_priority_and_age,
        a_look_leaves_out_what_is_not_due_or_has_a_key,
        looks_that_go_on_show_each_row_once,
        looks_get_past_times_that_are_no_moment,
        the_newest_that_were_never_tried_are_shown_the_newest_first,
        a_look_at_lanes_shows_what_each_of_them_has,
        lanes_whose_names_share_a_number_are_told_apart,
        steps_along_the_lanes_meet_each_once_and_end,
        steps_along_the_ordering_keys_meet_each_once_and_end,
        a_dead_letter_halts_those_behind_it_in_looks_and_claims,
    ],
    unknown: [
        a_look_claims_nothing_of_an_unknown_channel,
        rows_of_an_unknown_channel_wait_until_it_is_configured,
        a_channel_is_not_the_one_whose_name_lacks_its_last_space,
        rows_of_an_unknown_channel_are_moved_with_those_close_behind_and_no_others,
    ],
    claims: [
        rows_are_claimed_by_what_a_look_showed,
        rows_that_are_not_as_they_were_seen_are_not_claimed,
        a_claim_that_gets_no_row_leaves_nothing,
        of_an_ordering_key_only_the_first_is_claimed,
        a_claim_of_rows_repeated_under_its_id_is_made_once,
        a_claim_of_rows_needs_the_present_term,
        a_row_that_is_too_large_for_its_channel_is_claimed_unread,
        what_a_claim_of_rows_left_in_doubt_is_settled,
        a_row_that_is_asked_for_twice_is_claimed_once,
        a_look_claims_at_once_what_is_little,
        a_look_that_claims_passes_over_what_is_known,
        tries_of_one_claim_of_rows_that_overlap_make_it_once,
        a_row_that_comes_back_is_claimed_at_its_new_revision,
        a_claimed_row_carries_what_its_application_wrote,
        a_cancelled_claim_leaves_no_lock_behind,
    ],
}

#[tokio::test]
async fn names_that_are_not_utf_8_keep_no_step_from_the_lanes_and_keys_behind_them_on_sqlite() {
    on(Dialect::Sqlite, due::names_that_are_not_utf_8_keep_no_step_from_the_lanes_and_keys_behind_them).await;
}

#[tokio::test]
async fn a_row_that_somebody_has_locked_is_left_and_the_others_are_claimed_on_mysql() {
    on(Dialect::MySql, locks::a_row_that_somebody_has_locked_is_left_and_the_others_are_claimed).await;
}

#[tokio::test]
async fn a_row_that_is_being_taken_back_is_left_and_the_others_are_claimed_on_postgres() {
    on(Dialect::Postgres, locks::a_row_that_is_being_taken_back_is_left_and_the_others_are_claimed).await;
}

#[tokio::test]
async fn indexes_compare_by_bytes_on_postgres() {
    on(Dialect::Postgres, defaults::indexes_compare_by_bytes).await;
}

#[tokio::test]
async fn no_statement_is_compiled_on_postgres() {
    on(Dialect::Postgres, defaults::no_statement_is_compiled).await;
}

#[tokio::test]
async fn a_claim_outlasts_the_connection_of_the_last_one_on_postgres() {
    on(Dialect::Postgres, claims::a_claim_outlasts_the_connection_of_the_last_one).await;
}

#[tokio::test]
async fn the_ids_of_a_large_claim_are_not_compressed_on_postgres() {
    on(Dialect::Postgres, claims::the_ids_of_a_large_claim_are_not_compressed).await;
}

#[tokio::test]
async fn a_delivery_on_mariadb_takes_the_room_that_its_row_keeps_for_it() {
    on(Dialect::MySql, marks::a_delivery_takes_the_room_that_its_row_keeps_for_it).await;
}

#[tokio::test]
async fn a_mark_on_postgres_finds_its_claim_by_the_index() {
    on(Dialect::Postgres, marks::a_mark_finds_its_claim_by_the_index).await;
}

#[tokio::test]
async fn replicas_that_start_lead_and_hand_over_meet_no_deadlock_on_postgres() {
    on(Dialect::Postgres, locks::replicas_that_start_lead_and_hand_over_meet_no_deadlock).await;
}

#[tokio::test]
async fn replicas_that_start_lead_and_hand_over_meet_no_deadlock_on_mysql() {
    on(Dialect::MySql, locks::replicas_that_start_lead_and_hand_over_meet_no_deadlock).await;
}

#[tokio::test]
async fn a_mark_of_a_row_that_an_application_has_locked_holds_up_no_other_mark_on_postgres() {
    on(Dialect::Postgres, locks::a_mark_of_a_row_that_an_application_has_locked_holds_up_no_other_mark).await;
}

#[tokio::test]
async fn a_row_in_doubt_that_an_application_has_locked_holds_up_no_other_decision_on_postgres() {
    on(Dialect::Postgres, locks::a_row_in_doubt_that_an_application_has_locked_holds_up_no_other_decision).await;
}

#[tokio::test]
async fn a_mark_of_a_row_that_an_application_has_locked_holds_up_no_other_mark_on_mysql() {
    on(Dialect::MySql, locks::a_mark_of_a_row_that_an_application_has_locked_holds_up_no_other_mark).await;
}

#[tokio::test]
async fn a_mark_whose_outcome_has_a_locked_key_holds_up_no_other_mark_on_mysql() {
    on(Dialect::MySql, locks::a_mark_whose_outcome_has_a_locked_key_holds_up_no_other_mark).await;
}

#[tokio::test]
async fn a_row_in_doubt_that_an_application_has_locked_holds_up_no_other_decision_on_mysql() {
    on(Dialect::MySql, locks::a_row_in_doubt_that_an_application_has_locked_holds_up_no_other_decision).await;
}

#[tokio::test]
async fn an_open_transaction_of_an_application_holds_up_nobody_on_postgres() {
    on(Dialect::Postgres, locks::an_open_transaction_of_an_application_holds_up_nobody).await;
}

#[tokio::test]
async fn an_open_transaction_of_an_application_holds_up_nobody_on_mysql() {
    on(Dialect::MySql, locks::an_open_transaction_of_an_application_holds_up_nobody).await;
}

#[tokio::test]
async fn a_text_that_is_not_utf8_keeps_no_row_from_being_claimed_on_sqlite() {
    on(Dialect::Sqlite, odd_rows::a_text_that_is_not_utf8_keeps_no_row_from_being_claimed).await;
}
