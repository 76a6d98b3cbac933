//! The same scenarios with three instances on one PostgreSQL: each request goes to another instance, and so does each new WebSocket, with all
//! of its messages.

use super::fixture::on_several_instances;

/// Scenarios that are about one process, each with the reason.
const OF_ONE_PROCESS: &[(&str, &str)] = &[
    (
        "buffered::who_runs_who_joins_and_who_reloads_hold_the_same",
        "who reads a buffered run is told from the memory of its process",
    ),
    (
        "description::the_server_keeps_to_its_description",
        "it is asked for tickets, which the process knows that gave them out",
    ),
    ("refusals::what_is_gone_is_told_to_who_comes_back", "it reaches into the process"),
    ("refusals::what_is_no_fault_of_the_client_reaches_it_as_well", "it reaches into the process"),
    ("refusals::who_comes_while_the_server_stops_is_told", "it reaches into the process"),
];

macro_rules! scenarios {
    ($($module:ident::$scenario:ident,)*) => {
        $(
            #[test]
            fn $scenario() {
                on_several_instances(super::$module::$scenario);
            }
        )*

        const SCENARIOS: &[&str] = &[$(concat!(stringify!($module), "::", stringify!($scenario)),)*];
    };
}

scenarios! {
    adk::what_an_adk_agent_says_is_there_again_after_a_reload,
    adk::a_tool_of_the_clients_is_answered_in_a_second_run,
    branching::edit_and_regenerate_are_branches_and_both_are_kept,
    demo::every_word_is_there_again_after_a_reload,
    demo::a_thread_goes_on_after_a_failure,
    demo::a_plain_client_reads_every_word_with_its_models,
    demo::a_client_answers_a_call_after_a_reload,
    going_away::a_plain_client_comes_back_without_gap_or_double,
    going_away::a_run_outlives_the_client_that_broke_off,
    going_away::a_run_is_stopped_for_everybody,
    going_away::a_run_that_is_cut_off_has_failed,
    going_away::who_attached_comes_back_with_a_cursor_too,
    history::history_is_three_events_and_may_follow,
    history::history_shows_runs_as_messages,
    history::following_ends_and_the_run_goes_on,
    history::a_thread_that_is_not_there_has_an_empty_history,
    interrupts::a_question_survives_a_reload_and_is_answered_once,
    interrupts::a_question_may_be_declined,
    joining::published_clients_join_whatever_is_open,
    joining::published_clients_join_recorded_runs_anywhere,
    joining::generated_runs_are_joined_anywhere,
    refusals::a_busy_thread_and_a_run_id_that_is_taken,
    refusals::every_status_reaches_the_application,
    refusals::a_plain_client_is_told_what_is_wrong,
    refusals::who_stops_must_say_what_and_who_is_slow_is_told,
    state::deltas_alone_are_enough,
}

#[test]
fn every_scenario_is_tried_so_or_is_about_one_process() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/server");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the scenarios") {
        let path = entry.expect("a file").path();
        let module = path.file_stem().and_then(|name| name.to_str()).expect("a name").to_owned();
        let source = std::fs::read_to_string(&path).expect("a file");
        let tests = source.split("#[test]\n").skip(1).filter(|_| module != "several");
        let names = tests.filter_map(|rest| rest.split_once("fn ")?.1.split_once('('));
        found.extend(names.map(|(name, _)| format!("{module}::{name}")));
    }
    found.sort();
    let mut known: Vec<&str> =
        OF_ONE_PROCESS.iter().map(|(name, _)| *name).chain(SCENARIOS.iter().copied()).collect();
    known.sort_unstable();
    assert_eq!(found, known);
}
