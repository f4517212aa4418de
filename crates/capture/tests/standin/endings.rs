//! However a program ends, starts again or splits: it looks as it did, and what it did until then
//! is in the spool.

use crate::compile::Binding;
use crate::recording::Process;
use crate::run::{Program, Recorded};

fn both_bindings(scenario: &str) -> [Program; 2] {
    [Program::linked(Binding::Now, "endings", scenario), Program::looking_up("endings", scenario)]
}

fn every_way(scenario: &str, check: &dyn Fn(&Recorded)) {
    both_bindings(scenario).into_iter().for_each(|program| check(&program.both()));
}

fn launches(process: &Process) -> usize {
    process.calls_of("cuLaunchKernel").len()
}

/// The outcome's exit status and signal.
fn ended(recorded: &Recorded) -> (Option<i32>, Option<i32>) {
    (recorded.outcome.code, recorded.outcome.signal)
}

#[test]
fn a_return_from_main_finishes_the_file() {
    every_way("returns", &|recorded| {
        let process = recorded.process();
        assert_eq!(ended(recorded), (Some(0), None));
        assert_eq!((launches(process), process.finished), (100, true));
        assert_eq!(u64::from(process.pid), recorded.fact("pid"));
        let [(path, line)] = process.programs.as_slice() else { panic!("{:?}", process.programs) };
        assert!(path.contains("/endings") && line.ends_with(" returns"), "{path} {line}");
        assert_eq!(process.parent, std::process::id());
    });
}

#[test]
fn variables_that_change_what_cuda_does_are_recorded() {
    let program = || Program::linked(Binding::Lazy, "endings", "returns");
    let recorded =
        program().with("CUDA_MODULE_LOADING", "EAGER").with("CUDA_CACHE_PATH", "/private").recorded();
    assert_eq!(recorded.process().settings, [("CUDA_MODULE_LOADING", String::from("EAGER"))]);
    let recorded = program().recorded();
    assert_eq!(recorded.process().settings, [], "none is set");
}

#[test]
fn ends_without_a_farewell_lose_no_call() {
    for (scenario, code, signal) in [
        ("child-cannot-run", None, Some(libc::SIGKILL)),
        ("aborts", None, Some(libc::SIGABRT)),
        ("is-killed", None, Some(libc::SIGKILL)),
    ] {
        every_way(scenario, &|recorded| {
            let process = recorded.process();
            assert_eq!(ended(recorded), (code, signal), "{scenario}");
            assert_eq!((launches(process), process.finished), (100, false), "{scenario}");
        });
    }
}

#[test]
fn an_exit_without_handlers_finishes_the_file() {
    for (scenario, code, count) in
        [("exits-at-once", 7, 100), ("exits-in-handler", 5, 100), ("child-exits-at-once", 0, 30)]
    {
        every_way(scenario, &|recorded| {
            let process = recorded.process();
            assert_eq!(ended(recorded), (Some(code), None), "{scenario}");
            assert_eq!((launches(process), process.finished), (count, true), "{scenario}");
        });
    }
}

/// With CUPTI's records of operations.
fn with_operations(scenario: &str) -> Program {
    let program = Program::looking_up("endings", scenario).at_level("full").gathered();
    program.with("STANDIN_OPERATIONS", "1")
}

#[test]
fn a_killed_program_loses_what_cupti_has_not_handed_out_and_says_how_much() {
    for (scenario, launches, fewest) in [("is-killed", 100, 0), ("is-killed-later", 1000, 256)] {
        let recorded = with_operations(scenario).with("STANDIN_FULL", "1").both();
        let trace = recorded.trace.expect("it was gathered");
        let operations = trace.ops.len();
        // The second buffer takes as many as come in tenths of a second.
        assert!(operations >= fewest && operations < launches, "{scenario}: {operations}");
        let lost = trace.meta.lost;
        let without = lost.reasons.get(trace::Lost::KERNELS).unwrap_or(&0);
        assert_eq!(operations as u64 + lost.unmatched_calls + without, launches as u64, "{scenario}");
    }
}

#[test]
fn an_exit_without_handlers_loses_no_operation() {
    for (scenario, count) in [("exits-at-once", 100), ("child-exits-at-once", 30)] {
        let recorded = with_operations(scenario).both();
        assert_eq!(recorded.trace.expect("it was gathered").ops.len(), count, "{scenario}");
    }
}

#[test]
fn an_exit_without_handlers_waits_for_no_flush_that_hangs_or_fails() {
    for flush in ["stuck", "aborts"] {
        for (scenario, code) in [("exits-at-once", 7), ("exits-in-handler", 5)] {
            let recorded = with_operations(scenario).with("STANDIN_FLUSH", flush).both();
            assert_eq!(ended(&recorded), (Some(code), None), "{scenario} {flush}");
            let process = recorded.process();
            assert_eq!((launches(process), process.finished), (100, false), "{scenario} {flush}");
        }
    }
}

#[test]
fn the_call_that_a_killed_thread_was_in_is_known() {
    every_way("is-killed-in-call", &|recorded| {
        let process = recorded.process();
        let tid = u32::try_from(recorded.fact("stays")).expect("an id");
        assert_eq!(process.within, [(tid, "cuLaunchKernel".to_owned())]);
        assert_eq!((launches(process), process.begun), (100, 101));
    });
}

#[test]
fn a_kill_in_the_middle_of_records_leaves_no_damage() {
    every_way("is-killed-anywhere", &|recorded| {
        let process = recorded.process();
        assert_eq!(ended(recorded), (None, Some(libc::SIGKILL)));
        // Each thread was in at most one call that is not there.
        let missing = process.begun - launches(process) as u64;
        assert!(launches(process) >= 20_000 - 4 && missing <= 4, "{missing}");
    });
}

#[test]
fn a_main_thread_may_end_first() {
    every_way("main-thread-ends-first", &|recorded| {
        let process = recorded.process();
        assert_eq!(ended(recorded), (Some(0), None));
        assert_eq!((launches(process), process.finished, process.threads.len()), (150, true, 2));
    });
}

#[test]
fn each_image_of_a_process_has_its_file() {
    every_way("becomes-itself", &|recorded| {
        assert_eq!(ended(recorded), (Some(0), None));
        let [first, second] = recorded.recording.processes.as_slice() else { panic!("not two files") };
        assert_eq!(first.pid, second.pid);
        assert_eq!((launches(first), first.finished), (100, false));
        assert_eq!((launches(second), second.finished), (100, true));
    });
}

#[test]
fn processes_that_split_early_are_both_recorded() {
    every_way("forks-early", &|recorded| {
        let [parent, child] = ["pid", "child"].map(|name| recorded.recording.of(recorded.fact(name)));
        assert_eq!(recorded.recording.processes.len(), 2);
        assert_eq!(child.parent, parent.pid);
        assert_eq!((launches(parent), parent.finished), (100, true));
        assert_eq!((launches(child), child.finished), (30, true));
    });
}

/// The number of the GPU on which each process that made so many launches ran them, and notes.
fn gpus(of_parent: &str, of_child: &str) -> ([i64; 2], usize, Vec<String>) {
    let program = Program::looking_up("endings", "forks-for-gpus").at_level("full").gathered();
    let program = program.with("STANDIN_OPERATIONS", "1").with("STANDIN_GPU", of_parent);
    let recorded = program.with("STANDIN_GPU_OF_CHILD", of_child).both();
    let trace = recorded.trace.expect("it was gathered");
    let ran = |launches: usize| {
        let streams = trace.ops.stream.iter();
        let devices =
            streams.map(|stream| (trace.process_of_stream(*stream), trace.device_of_stream(*stream)));
        let devices: Vec<_> = devices.collect();
        let of = |process| devices.iter().filter(move |(of, _)| *of == process);
        let (process, device) = devices.iter().find(|(process, _)| of(*process).count() == launches).unwrap();
        assert!(of(*process).all(|(_, other)| other == device));
        trace.devices.ordinal[device.index()]
    };
    ([ran(100), ran(30)], trace.devices.len(), trace.meta.notes)
}

#[test]
fn the_first_gpus_of_two_processes_are_one_if_their_uuids_are() {
    let is_told = |notes: &[String]| notes.iter().any(|note| note.contains("CUDA_VISIBLE_DEVICES"));
    // The child begins before its parent; PCI addresses decide.
    for (of_parent, of_child, numbers) in [("1", "2", [0, 1]), ("2", "1", [1, 0])] {
        let (ran, devices, notes) = gpus(of_parent, of_child);
        assert_eq!((ran, devices), (numbers, 2));
        assert!(is_told(&notes), "{notes:?}");
    }
    // A driver that knows no UUID leaves the number alone to tell GPUs apart.
    for (of_parent, of_child) in [("1", "1"), ("0", "0"), ("0", "2")] {
        let (ran, devices, notes) = gpus(of_parent, of_child);
        assert_eq!((ran, devices), ([0, 0], 1));
        assert!(!is_told(&notes), "{notes:?}");
    }
}

#[test]
fn a_child_waits_for_no_thread_that_was_starting_the_recording() {
    for program in both_bindings("forks-within-start") {
        let recorded = program.preloading("libstuck.so").both();
        let [parent, child] = ["pid", "child"].map(|name| recorded.recording.of(recorded.fact(name)));
        assert_eq!((launches(parent), parent.finished), (100, true));
        assert_eq!((launches(child), child.finished), (30, true));
    }
}

#[test]
fn a_child_that_cannot_use_the_driver_is_left_alone() {
    every_way("forks-late", &|recorded| {
        let process = recorded.process();
        assert_eq!(u64::from(process.pid), recorded.fact("pid"));
        assert_eq!((launches(process), process.finished), (110, true));
    });
}

#[test]
fn a_child_forgets_the_parents_other_threads() {
    every_way("forks-with-threads", &|recorded| {
        let process = recorded.process();
        assert_eq!((launches(process), process.finished), (10, true));
        assert_eq!(process.within.len(), 1);
    });
}

#[test]
fn children_that_run_other_programs_leave_no_file() {
    every_way("runs-others", &|recorded| {
        assert_eq!(launches(recorded.process()), 20);
    });
}

#[test]
fn a_driver_that_is_let_go_of_and_opened_again_is_recorded_still() {
    every_way("closes-driver", &|recorded| {
        assert_eq!(launches(recorded.process()), 20);
    });
}

#[test]
fn a_limit_of_file_sizes_does_not_end_the_program() {
    every_way("limits-file-size", &|recorded| {
        let process = recorded.process();
        assert_eq!(ended(recorded), (Some(0), None));
        assert!(process.dropped > 0 && process.calls.len() as u64 + process.dropped >= 10_000);
        assert_eq!(process.full, Some(spool::Full::FileSize));
    });
}

#[test]
fn a_program_without_descriptors_goes_on() {
    for program in both_bindings("uses-up-descriptors") {
        // The stack of a call that was slow by chance would be dropped, too.
        let recorded = program.with(spool::VAR_STACKS, "off").both();
        let process = recorded.process();
        assert_eq!(ended(&recorded), (Some(0), None));
        assert!(process.dropped > 0 && launches(process) > 10);
        assert_eq!(process.full, Some(spool::Full::Descriptors));
        assert_eq!(launches(process) as u64 + process.dropped, 10_010);
    }
}

#[test]
fn the_drivers_injection_alone_records_a_linked_program() {
    let program = Program::linked(Binding::Now, "endings", "returns").with("LD_PRELOAD", "");
    let recorded = program.both();
    assert_eq!((launches(recorded.process()), recorded.process().finished), (100, true));
}

#[test]
fn a_program_without_cuda_leaves_no_file() {
    let words = ["-c", "echo out; echo err >&2; (exit 4); exit $((3 + $?))"];
    let recorded = Program::new("/bin/sh".into(), "/".into(), &words).both();
    assert_eq!((ended(&recorded), recorded.recording.processes.len()), ((Some(7), None), 0));
    assert_eq!((recorded.outcome.stdout.as_str(), recorded.outcome.stderr.as_str()), ("out\n", "err\n"));
}
