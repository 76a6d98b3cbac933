//! The laws, each of which a store upholds or breaks by itself.
#![expect(missing_docs, reason = "the name of a law says what it promises")]

mod appending;
mod checkpoints;
mod closing;
mod concurrency;
mod forgetting;
mod leases;
mod listing;
mod opening;
mod order;
mod reading;
mod searching;

/// Names each law once, so that none is left out of the contract. (`$d` is a dollar sign for the inner macro.)
macro_rules! laws {
    ($d:tt $($module:ident: $($law:ident)+;)+) => {
        $(pub use $module::{$($law),+};)+

        /// Makes a test of each law for one store, from an expression that gives a [`Harness`](crate::store::Harness).
        #[macro_export]
        macro_rules! store_contract {
            ($d harness:expr) => {
                $($(
                    #[test]
                    fn $law() {
                        $d crate::store::uphold($d harness, $d crate::store::$law);
                    }
                )+)+

                #[test]
                fn matches_the_model() {
                    $d crate::store::matches_the_model(|| $d harness, file!());
                }
            };
        }
    };
}

laws! { $
    order:
        offsets_are_dense_from_zero_in_the_order_of_acks
        each_thread_has_offsets_of_its_own
        bytes_and_kinds_come_back_exactly
        times_never_go_back_though_the_clock_does
        names_that_look_alike_are_different_threads
        reopening_and_tidying_change_nothing_that_can_be_seen;
    reading:
        a_range_gives_exactly_its_offsets
        a_run_is_read_without_the_runs_beside_it
        pages_have_at_least_one_record_and_go_on_where_they_stopped
        trimmed_and_compacted_offsets_are_passed_over;
    opening:
        opening_a_run_makes_its_thread_with_its_metadata
        a_thread_that_is_there_keeps_its_metadata_and_incarnation
        what_is_known_of_a_run_is_kept
        stale_knowledge_of_the_runs_opens_nothing
        a_run_id_is_taken_once_in_its_thread
        a_parent_is_a_run_of_the_same_thread
        runs_on_two_branches_overlap
        a_run_without_records_begins_with_its_first_one
        a_run_is_opened_with_all_that_it_says_or_not_at_all;
    appending:
        an_append_elsewhere_than_at_the_tail_is_refused
        a_writer_of_another_epoch_is_fenced
        a_key_lands_once
        a_key_of_the_append_that_ends_a_run_lands_once
        keys_are_kept_while_their_run_goes_on_and_for_a_while
        a_refused_append_leaves_nothing_not_even_its_key
        an_ended_run_takes_only_rejected_records
        an_empty_append_is_refused
        how_a_run_ended_is_kept
        an_append_that_nobody_waits_for_is_whole_or_not_there
        who_asks_for_an_unknown_thread_or_run_is_told;
    leases:
        a_writer_renews_its_lease
        a_run_is_taken_over_only_after_its_lease
        a_stale_writer_is_fenced_alone
        a_run_is_seized_whoever_has_it
        a_run_that_has_ended_is_nobodys
        runs_whose_lease_is_over_are_found;
    listing:
        a_description_changes_what_it_names_and_takes_no_offset
        counters_count_what_came
        only_what_is_appended_or_said_counts_as_an_update
        a_list_has_the_last_that_was_updated_first
        a_list_has_what_is_asked_for
        pages_of_a_list_are_the_list
        who_pages_sees_each_thread_that_stays_as_it_is_once
        who_pages_by_name_sees_each_thread_that_is_there_all_the_while_once
        a_scope_keeps_what_its_threads_have
        what_a_scope_keeps_is_right_though_it_is_counted_while_it_grows;
    searching:
        threads_are_found_by_whole_words_in_any_case
        messages_are_found_however_a_checkpoint_has_them
        words_that_are_gone_find_nothing
        words_of_all_runs_find_a_thread_together_with_other_filters
        words_and_interrupts_of_any_length_are_found;
    checkpoints:
        a_checkpoint_comes_back_byte_for_byte_until_it_is_replaced
        only_a_run_that_has_ended_has_a_checkpoint
        runs_without_a_checkpoint_are_found
        a_first_checkpoint_is_kept_for_what_was_folded
        what_is_folded_meanwhile_is_known_or_said_to_be_unknown
        messages_of_a_branch_are_known_of_its_runs;
    forgetting:
        trimming_forgets_what_is_before_and_nothing_else
        compacting_forgets_the_records_of_its_run_only
        what_a_compacted_run_rejects_later_is_kept
        deleting_a_thread_leaves_others_alone
        a_thread_is_deleted_as_it_was_seen_or_not_at_all
        a_name_is_free_after_its_thread_was_deleted;
    concurrency:
        many_tasks_append_to_one_thread
        many_tasks_append_to_many_threads
        a_key_lands_once_though_many_bring_it
        one_of_many_openings_wins
        one_of_many_appends_at_the_same_tail_wins
        one_of_those_who_take_over_at_once_succeeds
        nothing_of_a_stale_writer_comes_after_a_takeover;
    closing:
        a_closed_store_takes_no_writes_and_says_so
        who_writes_while_a_store_is_closed_gets_an_ack_or_nothing_is_done;
}
