//! What the engine promises on every store: one suite, which a store runs by one line.
//!
//! ```ignore
//! threadline_testkit::engine_contract!(MyHarness::new());
//! ```
//!
//! makes a test of each law. The expression is evaluated for each test and each case, and must give an empty store. A store that
//! several processes can have runs [`engines_contract`](crate::engines_contract) as well.

mod altering;
mod chaining;
mod cloning;
mod descent;
mod following;
mod forgetting;
mod growing;
mod isolation;
mod orphans;
mod reading;
mod reconnecting;
mod several;
mod stage;
mod time_travel;
mod transfer;

pub use altering::*;
pub use chaining::*;
pub use cloning::*;
pub use descent::*;
pub use following::*;
pub use forgetting::*;
pub use isolation::*;
pub use orphans::*;
pub use reading::*;
pub use reconnecting::*;
pub use several::*;
pub use stage::{CountingIds, ManualClock, Stage, play};
pub use time_travel::*;
pub use transfer::*;

/// Makes a test of each law of the engine, on a store.
#[macro_export]
macro_rules! engine_contract {
    ($harness:expr) => {
        $crate::engine_contract! { $harness;
            a_run_continues_what_its_messages_continue,
            a_run_answers_the_run_that_asked,
            what_was_asked_is_answered_once,
            a_run_waits_for_its_parent,
            a_request_opens_one_run,
            a_state_that_says_nothing_is_the_branchs,
            six_runs_are_four_histories,
            ends_of_runs_have_the_chains_value,
            records_that_are_not_those_chained_are_found,
            chains_go_on_when_records_are_gone,
            a_clone_is_its_own,
            a_clone_is_cut_where_it_says,
            a_clone_has_nothing_of_what_came_later,
            branches_and_clones_stay_what_they_were,
            a_long_branch_holds_all_that_was_said,
            siblings_hold_nothing_of_each_other,
            followers_see_every_record_once,
            followers_are_told_what_they_cannot_have,
            followers_are_told_of_what_lies_between,
            followers_see_what_is_repeated,
            followers_see_what_nobody_waited_for,
            a_follower_of_a_deleted_thread_is_cut_off,
            followers_see_the_log_however_they_come_and_go,
            compacted_runs_keep_their_meaning,
            trimmed_threads_keep_their_branches,
            folds_of_another_version_are_made_anew,
            old_threads_are_deleted,
            a_thread_that_cannot_be_retained_stands_alone,
            letting_go_does_not_disturb_writers,
            abandoned_runs_are_closed,
            abandoned_runs_are_closed_after_a_crash,
            abandoned_runs_get_their_checkpoints_later,
            checkpoints_are_made_of_what_is_whole,
            a_writer_of_a_deleted_thread_is_refused,
            records_are_found_by_offset_run_and_time,
            changes_of_threads_are_told,
            every_point_in_time_can_be_seen_again,
            ends_outlive_their_records,
            an_export_that_is_imported_is_the_same_export,
            a_copy_is_the_same_thread,
            an_export_of_a_trimmed_thread_keeps_its_branches,
            an_export_that_was_altered_is_refused,
            an_export_that_does_not_hold_what_it_says_is_refused,
            an_export_knows_what_went_meanwhile,
            recordings_can_be_imported,
            what_is_no_event_is_counted_or_refused,
            an_export_is_known_however_it_is_written,
            times_of_an_export_make_sense,
            runs_that_say_nothing_at_first_can_be_exported,
            an_end_stays_where_it_was,
            an_import_that_fails_leaves_nothing,
            what_a_killed_import_leaves_is_no_thread,
        }
    };
    ($harness:expr; $($law:ident,)+) => {
        $(
            #[test]
            fn $law() {
                $crate::engine::play(|| $harness, $crate::engine::$law);
            }
        )+
    };
}

/// Makes a test of each law of several engines, on a store that several can have: its harness gives a second one.
#[macro_export]
macro_rules! engines_contract {
    ($harness:expr) => {
        $crate::engine_contract! { $harness;
            followers_elsewhere_see_every_record_once,
            a_run_of_one_engine_is_known_to_the_others,
            one_of_several_engines_opens_a_run,
            a_run_is_ended_from_elsewhere,
            a_thread_that_is_deleted_elsewhere_is_not_followed_any_more,
            changes_elsewhere_are_told,
            abandoned_runs_are_closed_elsewhere,
        }
    };
}
