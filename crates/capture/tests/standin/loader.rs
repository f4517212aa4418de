//! Libraries that come and go, other libraries between program and driver, and look-ups whose
//! answer depends on who asks.

use crate::compile::Binding;
use crate::recording::Process;
use crate::run::{Program, Recorded};

fn both_ways(scenario: &str) -> [Program; 2] {
    [Program::linked(Binding::Lazy, "loader", scenario), Program::looking_up("loader", scenario)]
        .map(|program| program.with(spool::VAR_LOCKS, "libother"))
}

/// As without recording, and well.
fn well(program: &Program) -> Recorded {
    let recorded = program.both();
    assert_eq!(recorded.outcome.code, Some(0), "{:?}", recorded.outcome);
    recorded
}

fn launches(process: &Process) -> usize {
    process.calls_of("cuLaunchKernel").len()
}

/// Libraries whose locks were waited for, in order.
fn waited_for(process: &Process) -> Vec<&str> {
    process.waits.iter().map(|wait| wait.name.as_str()).collect()
}

#[test]
fn locks_of_a_library_that_comes_late_are_watched() {
    for program in both_ways("late-library") {
        assert_eq!(waited_for(well(&program).process()), ["libother.so"]);
    }
}

#[test]
fn the_environment_is_the_programs_once_recording_has_begun() {
    for program in both_ways("environment-changes") {
        assert_eq!(waited_for(well(&program).process()), ["libother.so"]);
    }
}

#[test]
fn a_library_that_comes_again_is_watched_again() {
    for program in both_ways("library-again") {
        assert_eq!(waited_for(well(&program).process()), ["libother.so"; 2]);
    }
}

#[test]
fn a_library_that_is_being_loaded_is_left_alone_until_it_is() {
    for binding in [Binding::Lazy, Binding::Now] {
        let program = Program::linked(binding, "loader", "half-loaded").with(spool::VAR_LOCKS, "libhalfway");
        assert_eq!(waited_for(well(&program).process()), ["libhalfway.so"], "{binding:?}");
    }
}

#[test]
fn calls_of_libraries_linked_with_the_driver_are_recorded() {
    for scenario in ["early-user", "late-user"] {
        for program in both_ways(scenario) {
            assert_eq!(launches(well(&program).process()), 10, "{scenario}");
        }
    }
}

#[test]
fn a_library_before_the_driver_stays_there() {
    for program in both_ways("shimmed") {
        let recorded = well(&program.preloading("libshim.so"));
        assert!(recorded.outcome.stdout.contains("shim saw "), "{}", recorded.outcome.stdout);
        assert_eq!(launches(recorded.process()), 10);
    }
}

#[test]
fn look_ups_answer_every_caller() {
    for program in both_ways("look-ups") {
        let said = well(&program).outcome.stdout;
        assert!(
            said.starts_with("finder_number 1\nfinder_inner 2\nfinder_next 3\nfinder_default 3\n"),
            "{said}"
        );
    }
}

#[test]
fn with_anothers_injection_the_first_call_starts_the_recording() {
    let program = Program::looking_up("endings", "returns").with("CUDA_INJECTION64_PATH", "");
    let recorded = well(&program);
    assert_eq!(launches(recorded.process()), 100);
    assert!(recorded.process().finished);
}

#[test]
fn recording_starts_while_a_library_is_loaded() {
    let program = Program::looking_up("loader", "while-loading");
    for program in [program.with("CUDA_INJECTION64_PATH", ""), Program::looking_up("loader", "while-loading")]
    {
        assert_eq!(launches(well(&program).process()), 10);
    }
}

#[test]
fn a_slow_call_waits_for_no_thread_that_loads_a_library() {
    for program in both_ways("slow-while-loading") {
        assert_eq!(well(&program).outcome.stdout, "call ended\ndone\n");
    }
}

#[test]
fn a_call_is_recorded_once_for_every_way_to_look_it_up() {
    for program in both_ways("looked-up-twice") {
        assert_eq!(launches(well(&program).process()), 10);
    }
}

#[test]
fn a_child_that_begins_anew_knows_its_libraries() {
    let program = Program::looking_up("loader", "child-begins").with(spool::VAR_LOCKS, "libother");
    let recorded = well(&program);
    let [parent, child] = ["pid", "child"].map(|name| recorded.recording.of(recorded.fact(name)));
    assert_eq!(waited_for(parent), ["libother.so"]);
    assert_eq!(waited_for(child), ["libcuda.so.1", "libother.so"]);
    assert_eq!(launches(child), 2);
}
