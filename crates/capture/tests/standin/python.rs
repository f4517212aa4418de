//! The lines of a Python program that its slow calls come from.

use crate::compile::{Binding, built};
use crate::run::Program;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Like [`python`], but a test without one is skipped.
fn python_or_skip() -> Option<(PathBuf, bool)> {
    let found = python();
    if found.is_none() {
        println!("skipped: there is no python3 of 3.10 to 3.14");
    }
    found
}

/// `sys.executable` of the `python3` on PATH, if it is of a release whose stacks are known, and
/// whether its functions have qualified names.
fn python() -> Option<(PathBuf, bool)> {
    let ask = "import sys; print(sys.executable); print(*sys.version_info[:2])";
    let output = Command::new("python3").args(["-c", ask]).output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?;
    let (path, version) = said.trim().split_once('\n')?;
    let minor: u32 = version.strip_prefix("3 ")?.parse().ok()?;
    (10..15).contains(&minor).then(|| (PathBuf::from(path), minor > 10))
}

#[test]
fn a_slow_call_says_which_line_of_python_made_it() {
    let Some((python, qualified)) = python_or_skip() else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/standin/program.py");
    let script = script.to_str().expect("paths are UTF-8");
    let folder = built().folder(Binding::Lazy);
    let recorded = Program::new(python, folder, &[script]).with("STANDIN_COPY_MS", "2").both();
    assert_eq!(recorded.outcome.stdout, "done\n", "{:?}", recorded.outcome);
    let process = recorded.process();
    let lines = recorded.facts("line").iter().zip(recorded.facts("caller"));
    for (who, (line, caller)) in ["main", "thread"].into_iter().zip(lines) {
        let copies = process.calls_of("cuMemcpyDtoHAsync_v2");
        let copy = copies.into_iter().find(|call| u64::from(call.tid) == recorded.fact(who));
        let copy = copy.unwrap_or_else(|| panic!("no copy of {who}"));
        assert_eq!(copy.record.bytes, 64);
        let is_its = |stack: &&crate::recording::StackRow| {
            stack.tid == copy.tid && stack.record.start == copy.record.start
        };
        let stack = process.stacks.iter().find(is_its).expect("a stack of the copy");
        let [copying, running, ..] = stack.python.as_slice() else { panic!("{:?}", stack.python) };
        let class = if qualified { "Worker." } else { "" };
        let frame =
            |function: &str, line: &u64| (script.to_owned(), format!("{class}{function}"), *line as u32);
        assert_eq!(*copying, frame("copy", line));
        assert_eq!(*running, frame("run", caller));
    }
}

#[test]
fn a_slow_call_from_code_that_numba_compiled_says_which_line_made_it() {
    let Some((python, _)) = python_or_skip() else { return };
    let found = Command::new(&python).args(["-c", "import numba"]).output();
    if !found.is_ok_and(|found| found.status.success()) {
        println!("skipped: there is no numba");
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/standin/jitted.py");
    let script = script.to_str().expect("paths are UTF-8");
    let folder = built().folder(Binding::Lazy);
    let recorded = Program::new(python, folder, &[script]).with("STANDIN_COPY_MS", "2").gathered().recorded();
    assert_eq!(recorded.outcome.stdout, "done\n", "{:?}", recorded.outcome);
    let frames = recorded.frames_of("cuMemcpyDtoH_v2");
    let line = recorded.fact("line") as u32;
    let compiled = ("__main__::compiled".to_owned(), "jitted.py".to_owned(), line);
    let compiled = frames.iter().position(|frame| *frame == compiled);
    let outer = frames.iter().position(|(function, ..)| function == "main");
    assert!(compiled.is_some() && compiled < outer, "{frames:?}");
}

/// Forks end by `os._exit`, which runs no handlers.
#[test]
fn what_children_of_multiprocessing_issued_is_there() {
    let Some((python, _)) = python_or_skip() else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/standin/children.py");
    let script = script.to_str().expect("paths are UTF-8");
    for how in ["fork", "spawn"] {
        let program = Program::new(python.clone(), built().folder(Binding::Lazy), &[script, how]);
        let recorded = program.at_level("full").with("STANDIN_OPERATIONS", "1").gathered().both();
        assert_eq!(recorded.outcome.stdout, "0 0\n", "{:?}", recorded.outcome);
        assert_eq!(recorded.recording.processes.len(), 2, "{how}");
        assert!(recorded.recording.processes.iter().all(|process| process.finished), "{how}");
        assert_eq!(recorded.trace.expect("it was gathered").ops.len(), 30, "{how}");
    }
}
