//! Every store does the same: each behaviour, on every database.

use outbox_tests::conformance::store::{
    Dialect, claims, defaults, destinations, halting, marks, odd_rows, on, on_every_database, ordering, settling,
    starts, terms,
};

#[tokio::test]
async fn three_columns_suffice() {
    on_every_database(defaults::three_columns_suffice).await;
}

#[tokio::test]
async fn a_row_written_in_another_time_zone_is_due_at_once() {
    on_every_database(defaults::a_row_written_in_another_time_zone_is_due_at_once).await;
}

#[tokio::test]
async fn a_destination_is_the_origin_of_a_url_or_else_the_channel() {
    on_every_database(defaults::a_destination_is_the_origin_of_a_url_or_else_the_channel).await;
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
async fn what_no_poller_could_read_is_refused_at_the_insert() {
    on_every_database(defaults::what_no_poller_could_read_is_refused_at_the_insert).await;
}

#[tokio::test]
async fn epochs_strictly_increase() {
    on_every_database(terms::epochs_strictly_increase).await;
}

#[tokio::test]
async fn terms_begun_at_the_same_time_get_epochs_of_their_own() {
    on_every_database(terms::terms_begun_at_the_same_time_get_epochs_of_their_own).await;
}

#[tokio::test]
async fn a_repeated_begin_gives_the_same_epoch() {
    on_every_database(terms::a_repeated_begin_gives_the_same_epoch).await;
}

#[tokio::test]
async fn a_claim_needs_the_epoch_and_the_holder_of_the_present_term() {
    on_every_database(terms::a_claim_needs_the_epoch_and_the_holder_of_the_present_term).await;
}

#[tokio::test]
async fn a_claim_of_an_older_term_is_fenced_also_when_nothing_is_due() {
    on_every_database(terms::a_claim_of_an_older_term_is_fenced_also_when_nothing_is_due).await;
}

#[tokio::test]
async fn the_end_of_a_term_is_logged_and_closes_the_gate_of_its_claims() {
    on_every_database(terms::the_end_of_a_term_is_logged_and_closes_the_gate_of_its_claims).await;
}

#[tokio::test]
async fn a_term_that_never_ended_is_logged_as_lost_by_the_next() {
    on_every_database(terms::a_term_that_never_ended_is_logged_as_lost_by_the_next).await;
}

#[tokio::test]
async fn no_claim_of_an_older_term_appears_once_a_newer_one_has_begun() {
    on_every_database(terms::no_claim_of_an_older_term_appears_once_a_newer_one_has_begun).await;
}

#[tokio::test]
async fn a_claim_repeated_under_its_id_is_made_once() {
    on_every_database(claims::a_claim_repeated_under_its_id_is_made_once).await;
}

#[tokio::test]
async fn excluded_rows_are_left_out() {
    on_every_database(claims::excluded_rows_are_left_out).await;
}

#[tokio::test]
async fn a_claim_keeps_to_its_rows_and_bytes() {
    on_every_database(claims::a_claim_keeps_to_its_rows_and_bytes).await;
}

#[tokio::test]
async fn rows_of_an_unknown_channel_wait_until_it_is_configured() {
    on_every_database(claims::rows_of_an_unknown_channel_wait_until_it_is_configured).await;
}

#[tokio::test]
async fn rows_of_a_closed_destination_are_passed_over() {
    on_every_database(claims::rows_of_a_closed_destination_are_passed_over).await;
}

#[tokio::test]
async fn rows_that_go_elsewhere_are_claimed_where_a_destination_that_bears_their_channels_name_is_closed() {
    on_every_database(
        claims::rows_that_go_elsewhere_are_claimed_where_a_destination_that_bears_their_channels_name_is_closed,
    )
    .await;
}

#[tokio::test]
async fn no_more_rows_of_a_destination_are_claimed_than_there_is_room_for() {
    on_every_database(claims::no_more_rows_of_a_destination_are_claimed_than_there_is_room_for).await;
}

#[tokio::test]
async fn no_channel_takes_more_of_a_destination_than_it_may_whatever_others_may_take_there() {
    on_every_database(claims::no_channel_takes_more_of_a_destination_than_it_may_whatever_others_may_take_there).await;
}

#[tokio::test]
async fn rows_that_are_put_aside_come_back_one_after_the_other() {
    on_every_database(destinations::rows_that_are_put_aside_come_back_one_after_the_other).await;
}

#[tokio::test]
async fn only_due_rows_that_nobody_has_in_hand_are_put_aside() {
    on_every_database(destinations::only_due_rows_that_nobody_has_in_hand_are_put_aside).await;
}

#[tokio::test]
async fn rows_that_go_elsewhere_stay_where_a_destination_that_bears_their_channels_name_is_put_aside() {
    on_every_database(
        destinations::rows_that_go_elsewhere_stay_where_a_destination_that_bears_their_channels_name_is_put_aside,
    )
    .await;
}

#[tokio::test]
async fn rows_that_are_brought_back_are_due_when_they_were() {
    on_every_database(destinations::rows_that_are_brought_back_are_due_when_they_were).await;
}

#[tokio::test]
async fn a_term_that_is_over_moves_no_row() {
    on_every_database(destinations::a_term_that_is_over_moves_no_row).await;
}

#[tokio::test]
async fn a_later_term_is_told_what_matters_of_destinations() {
    on_every_database(destinations::a_later_term_is_told_what_matters_of_destinations).await;
}

#[tokio::test]
async fn of_two_pauses_the_later_end_counts_and_a_breaker_stays_one() {
    on_every_database(destinations::of_two_pauses_the_later_end_counts_and_a_breaker_stays_one).await;
}

#[tokio::test]
async fn of_pauses_that_are_marked_together_a_breaker_is_what_counts() {
    on_every_database(destinations::of_pauses_that_are_marked_together_a_breaker_is_what_counts).await;
}

#[tokio::test]
async fn a_breaker_whose_pause_is_over_stays_one_until_it_closes() {
    on_every_database(destinations::a_breaker_whose_pause_is_over_stays_one_until_it_closes).await;
}

#[tokio::test]
async fn a_pause_by_hand_is_ended_by_nobody_else() {
    on_every_database(destinations::a_pause_by_hand_is_ended_by_nobody_else).await;
}

#[tokio::test]
async fn higher_priorities_go_first() {
    on_every_database(claims::higher_priorities_go_first).await;
}

#[tokio::test]
async fn messages_of_an_ordering_key_go_out_one_at_a_time() {
    on_every_database(claims::messages_of_an_ordering_key_go_out_one_at_a_time).await;
}

#[tokio::test]
async fn rows_that_are_not_due_are_not_claimed() {
    on_every_database(claims::rows_that_are_not_due_are_not_claimed).await;
}

#[tokio::test]
async fn a_claimed_row_carries_what_its_application_wrote() {
    on_every_database(claims::a_claimed_row_carries_what_its_application_wrote).await;
}

#[tokio::test]
async fn tries_of_one_claim_that_overlap_make_it_once() {
    on_every_database(claims::tries_of_one_claim_that_overlap_make_it_once).await;
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
async fn a_walk_on_postgres_reads_one_index_entry_of_each_ordering_key() {
    on(Dialect::Postgres, claims::a_walk_reads_one_index_entry_of_each_ordering_key).await;
}

#[tokio::test]
async fn a_cancelled_claim_leaves_no_lock_behind() {
    on_every_database(claims::a_cancelled_claim_leaves_no_lock_behind).await;
}

#[tokio::test]
async fn a_walk_goes_on_behind_what_was_claimed() {
    on_every_database(starts::a_walk_goes_on_behind_what_was_claimed).await;
}

#[tokio::test]
async fn a_walk_goes_on_behind_what_was_claimed_beside_heads_of_ordering_keys() {
    on_every_database(starts::a_walk_goes_on_behind_what_was_claimed_beside_heads_of_ordering_keys).await;
}

#[tokio::test]
async fn a_late_commit_with_an_old_available_at_is_claimed() {
    on_every_database(starts::a_late_commit_with_an_old_available_at_is_claimed).await;
}

#[tokio::test]
async fn a_walk_that_leaves_a_row_is_followed_by_one_that_begins_before_it() {
    on_every_database(starts::a_walk_that_leaves_a_row_is_followed_by_one_that_begins_before_it).await;
}

#[tokio::test]
async fn a_success_ends_the_row_and_its_claim() {
    on_every_database(marks::a_success_ends_the_row_and_its_claim).await;
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
async fn a_retry_keeps_the_row_pending_until_its_time() {
    on_every_database(marks::a_retry_keeps_the_row_pending_until_its_time).await;
}

#[tokio::test]
async fn a_dead_letter_keeps_its_reason_and_a_gone_target_is_recorded() {
    on_every_database(marks::a_dead_letter_keeps_its_reason_and_a_gone_target_is_recorded).await;
}

#[tokio::test]
async fn a_message_to_a_target_that_is_gone_is_claimed_as_one() {
    on_every_database(marks::a_message_to_a_target_that_is_gone_is_claimed_as_one).await;
}

#[tokio::test]
async fn an_attempt_that_is_spared_is_not_counted_and_begins_the_age() {
    on_every_database(marks::an_attempt_that_is_spared_is_not_counted_and_begins_the_age).await;
}

#[tokio::test]
async fn a_deferral_counts_no_attempt_and_pauses_the_destination() {
    on_every_database(marks::a_deferral_counts_no_attempt_and_pauses_the_destination).await;
}

#[tokio::test]
async fn an_unsent_row_is_due_again_at_once() {
    on_every_database(marks::an_unsent_row_is_due_again_at_once).await;
}

#[tokio::test]
async fn the_first_attempt_stays_the_first() {
    on_every_database(marks::the_first_attempt_stays_the_first).await;
}

#[tokio::test]
async fn a_repeated_mark_is_harmless() {
    on_every_database(marks::a_repeated_mark_is_harmless).await;
}

#[tokio::test]
async fn a_mark_that_comes_after_settling_is_fenced() {
    on_every_database(marks::a_mark_that_comes_after_settling_is_fenced).await;
}

#[tokio::test]
async fn a_mark_of_a_row_that_has_moved_on_is_fenced_and_its_neighbours_are_not() {
    on_every_database(marks::a_mark_of_a_row_that_has_moved_on_is_fenced_and_its_neighbours_are_not).await;
}

#[tokio::test]
async fn a_success_counts_after_its_term_as_long_as_its_claim_stands() {
    on_every_database(marks::a_success_counts_after_its_term_as_long_as_its_claim_stands).await;
}

#[tokio::test]
async fn texts_from_outside_are_made_fit_to_store() {
    on_every_database(marks::texts_from_outside_are_made_fit_to_store).await;
}

#[tokio::test]
async fn a_group_that_the_database_refuses_for_its_data_is_written_not_at_all() {
    on_every_database(marks::a_group_that_the_database_refuses_for_its_data_is_written_not_at_all).await;
}

#[tokio::test]
async fn groups_written_at_the_same_time_all_land() {
    on_every_database(marks::groups_written_at_the_same_time_all_land).await;
}

#[tokio::test]
async fn rows_of_an_earlier_term_wait_for_their_settling_time() {
    on_every_database(settling::rows_of_an_earlier_term_wait_for_their_settling_time).await;
}

#[tokio::test]
async fn a_claim_of_an_earlier_term_ends_at_once_when_nothing_of_it_is_pending_any_more() {
    on_every_database(settling::a_claim_of_an_earlier_term_ends_at_once_when_nothing_of_it_is_pending_any_more).await;
}

#[tokio::test]
async fn a_closed_gate_saves_the_ttl() {
    on_every_database(settling::a_closed_gate_saves_the_ttl).await;
}

#[tokio::test]
async fn later_terms_do_not_start_the_settling_time_anew() {
    on_every_database(settling::later_terms_do_not_start_the_settling_time_anew).await;
}

#[tokio::test]
async fn rows_in_doubt_go_by_the_policy_of_their_channel() {
    on_every_database(settling::rows_in_doubt_go_by_the_policy_of_their_channel).await;
}

#[tokio::test]
async fn rows_in_doubt_of_a_channel_whose_policy_was_changed_go_by_the_stricter() {
    on_every_database(settling::rows_in_doubt_of_a_channel_whose_policy_was_changed_go_by_the_stricter).await;
}

#[tokio::test]
async fn rows_in_doubt_of_a_channel_that_is_not_known_here_go_by_the_policy_of_their_claimer() {
    on_every_database(settling::rows_in_doubt_of_a_channel_that_is_not_known_here_go_by_the_policy_of_their_claimer)
        .await;
}

#[tokio::test]
async fn an_older_term_settles_nothing() {
    on_every_database(settling::an_older_term_settles_nothing).await;
}

#[tokio::test]
async fn a_term_does_not_settle_its_own_claims() {
    on_every_database(settling::a_term_does_not_settle_its_own_claims).await;
}

#[tokio::test]
async fn priorities_are_strict_with_and_without_ordering_keys() {
    on_every_database(ordering::priorities_are_strict_with_and_without_ordering_keys).await;
}

#[tokio::test]
async fn the_longest_due_goes_first_whatever_its_ordering_key() {
    on_every_database(ordering::the_longest_due_goes_first_whatever_its_ordering_key).await;
}

#[tokio::test]
async fn each_ordering_key_is_in_one_stretch() {
    on_every_database(ordering::each_ordering_key_is_in_one_stretch).await;
}

#[tokio::test]
async fn a_stretch_begins_where_its_first_key_was() {
    on_every_database(ordering::a_stretch_begins_where_its_first_key_was).await;
}

#[tokio::test]
async fn a_row_without_an_ordering_key_is_found_with_each_stretch() {
    on_every_database(ordering::a_row_without_an_ordering_key_is_found_with_each_stretch).await;
}

#[tokio::test]
async fn the_order_of_ids_wins_over_priority_and_age_within_a_key() {
    on_every_database(ordering::the_order_of_ids_wins_over_priority_and_age_within_a_key).await;
}

#[tokio::test]
async fn a_retry_keeps_those_behind_it_waiting() {
    on_every_database(ordering::a_retry_keeps_those_behind_it_waiting).await;
}

#[tokio::test]
async fn those_behind_a_message_in_doubt_wait_until_it_is_settled() {
    on_every_database(ordering::those_behind_a_message_in_doubt_wait_until_it_is_settled).await;
}

#[tokio::test]
async fn a_redriven_message_waits_for_the_one_of_its_key_that_is_in_flight() {
    on_every_database(ordering::a_redriven_message_waits_for_the_one_of_its_key_that_is_in_flight).await;
}

#[tokio::test]
async fn the_next_of_a_key_goes_when_its_head_is_dead() {
    on_every_database(halting::the_next_of_a_key_goes_when_its_head_is_dead).await;
}

#[tokio::test]
async fn a_dead_letter_halts_its_ordering_key_where_the_channel_says_so() {
    on_every_database(halting::a_dead_letter_halts_its_ordering_key_where_the_channel_says_so).await;
}

#[tokio::test]
async fn a_message_that_is_dead_because_it_was_in_doubt_halts_its_key() {
    on_every_database(halting::a_message_that_is_dead_because_it_was_in_doubt_halts_its_key).await;
}

#[tokio::test]
async fn a_cancelled_message_halts_nothing() {
    on_every_database(halting::a_cancelled_message_halts_nothing).await;
}

#[tokio::test]
async fn a_redrive_sets_the_key_going_again_from_the_dead_letter_on() {
    on_every_database(halting::a_redrive_sets_the_key_going_again_from_the_dead_letter_on).await;
}

#[tokio::test]
async fn a_purge_of_the_dead_letter_sets_the_rest_of_its_key_going() {
    on_every_database(halting::a_purge_of_the_dead_letter_sets_the_rest_of_its_key_going).await;
}

#[tokio::test]
async fn a_dead_letter_halts_only_those_behind_it() {
    on_every_database(halting::a_dead_letter_halts_only_those_behind_it).await;
}

#[tokio::test]
async fn halted_keys_do_not_stand_in_the_way_of_others() {
    on_every_database(halting::halted_keys_do_not_stand_in_the_way_of_others).await;
}

#[tokio::test]
async fn a_time_that_is_no_moment_keeps_no_row_from_being_claimed() {
    on_every_database(odd_rows::a_time_that_is_no_moment_keeps_no_row_from_being_claimed).await;
}

#[tokio::test]
async fn a_row_that_is_due_since_before_all_time_is_claimed() {
    on_every_database(odd_rows::a_row_that_is_due_since_before_all_time_is_claimed).await;
}

#[tokio::test]
async fn a_channel_whose_name_ends_in_a_space_blocks_no_key_of_the_one_without() {
    on_every_database(odd_rows::a_channel_whose_name_ends_in_a_space_blocks_no_key_of_the_one_without).await;
}

#[tokio::test]
async fn a_text_that_is_not_utf8_keeps_no_row_from_being_claimed_on_sqlite() {
    on(Dialect::Sqlite, odd_rows::a_text_that_is_not_utf8_keeps_no_row_from_being_claimed).await;
}
