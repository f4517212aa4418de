//! Calls from code that was made while the program ran.

use crate::compile::{Binding, built};
use crate::recording::StackRow;
use crate::run::{Program, Recorded};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Both ways to the driver, as without recording, and well.
fn recorded(scenario: &str) -> [Recorded; 2] {
    [Program::looking_up("jit", scenario), Program::linked(Binding::Now, "jit", scenario)].map(|program| {
        let recorded = program.both();
        assert_eq!(recorded.outcome.code, Some(0), "{:?}", recorded.outcome);
        recorded
    })
}

/// The stack of the one slow copy.
fn stack(recorded: &Recorded) -> &StackRow {
    let process = recorded.process();
    let copies = process.calls_of("cuMemcpyDtoHAsync_v2");
    let [copy] = copies[..] else { panic!("{} copies", copies.len()) };
    let stack = process.stacks.iter().find(|stack| stack.record.start == copy.record.start);
    stack.expect("the copy has a stack")
}

/// Where on its stack a function of at most so many bytes is, from the innermost; panics if it is not.
fn at(recorded: &Recorded, function: &str, bytes: u64) -> usize {
    let start = recorded.fact(function);
    let found = stack(recorded).native.iter().position(|at| (start..start + bytes).contains(at));
    found.unwrap_or_else(|| panic!("no {function} in {:x?}", stack(recorded).native))
}

#[test]
fn stacks_go_through_made_code() {
    let scenarios = ["with-frame-pointer", "in-another-thread", "registered"];
    for scenario in &scenarios[..if cfg!(target_arch = "x86_64") { 3 } else { 2 }] {
        for recorded in recorded(scenario) {
            let made = at(&recorded, "made", 16);
            assert_eq!(at(&recorded, "caller", 512), made + 1, "{scenario}");
            // Outside of it are those that called the caller.
            let native = &stack(&recorded).native;
            assert!(native.len() > made + 3, "{scenario}: {native:x?}");
        }
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn where_made_code_says_nothing_of_its_frames_the_stack_ends_or_is_right() {
    for recorded in recorded("without-frame-pointer") {
        let made = at(&recorded, "made", 16);
        let own: Vec<_> = recorded.process().modules.iter().map(|module| module.record).collect();
        // The frame pointer is a caller's: whatever comes next lies in a library or the program.
        for address in &stack(&recorded).native[made + 1..] {
            assert!(own.iter().any(|module| (module.start..module.end).contains(address)), "{address:x}");
        }
    }
}

/// The frames of the slow copy as holdup reads them, innermost first: function, file's name and line.
fn frames(recorded: &Recorded) -> Vec<(String, String, u32)> {
    recorded.frames_of("cuMemcpyDtoHAsync")
}

fn has(frames: &[(String, String, u32)], function: &str, file: &str, line: u32) -> bool {
    frames.iter().any(|frame| *frame == (function.to_owned(), file.to_owned(), line))
}

#[test]
fn made_code_that_was_announced_has_its_name_and_line() {
    let object = built().folder(Binding::Lazy).join("jitted.o");
    let object = object.to_str().expect("paths are UTF-8");
    let program = Program::looking_up("jit", "announced").with("STANDIN_OBJECT", object).gathered();
    let recorded = program.both();
    let frames = frames(&recorded);
    assert!(has(&frames, "made_copy", "jitted.c", 5), "{frames:?}");
    assert!(frames.iter().any(|(function, ..)| function == "copy_by"), "{frames:?}");
}

#[test]
fn made_code_in_a_list_for_profilers_has_its_name() {
    let recorded = Program::looking_up("jit", "mapped").gathered().recorded();
    let pid = recorded.process().pid;
    let frames = frames(&recorded);
    std::fs::remove_file(format!("/tmp/perf-{pid}.map")).expect("the program wrote it");
    assert!(has(&frames, "julia_step!_123", "", 0), "{frames:?}");
}

#[test]
fn made_code_of_which_nothing_is_known_has_its_address() {
    let recorded = Program::looking_up("jit", "with-frame-pointer").gathered().recorded();
    let frames = frames(&recorded);
    let made = recorded.fact("made");
    assert!((made..made + 16).any(|at| has(&frames, &format!("0x{at:x}"), "", 0)), "{frames:?}");
}

/// Julia's compiler is LLVM's, too, and announces its code in the same way.
#[test]
fn code_that_llvm_made_has_its_name_and_line() {
    if !Command::new("lli").arg("--version").output().is_ok_and(|found| found.status.success()) {
        println!("skipped: there is no lli, LLVM's just-in-time compiler");
        return;
    }
    let folder = built().folder(Binding::Lazy);
    let code = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/standin/jitted.ll");
    let load = format!("-load={}", folder.join("libcuda.so.1").display());
    let words = ["-jit-kind=mcjit", &load, code.to_str().expect("paths are UTF-8")];
    let program = Program::new(PathBuf::from("lli"), folder, &words).with("STANDIN_COPY_MS", "2").gathered();
    let recorded = program.recorded();
    assert_eq!(recorded.outcome.code, Some(0), "{:?}", recorded.outcome);
    let frames = recorded.frames_of("cuMemcpyDtoH_v2");
    assert!(has(&frames, "norm", "norm.jl", 7) || has(&frames, "julia_norm_42", "norm.jl", 7), "{frames:?}");
}
