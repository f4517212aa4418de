//! Addresses of the driver's functions that were taken before the driver was initialized: calls through
//! them are recorded.

use crate::compile::Binding;
use crate::run::Program;

fn is_recorded(program: &Program, way: &str) {
    let recorded = program.both();
    assert_eq!(recorded.outcome.code, Some(0), "{way}: {:?}", recorded.outcome);
    let calls = |function: &str| recorded.process().calls_of(function).len();
    assert_eq!(calls("cuMemcpyHtoDAsync_v2"), 10, "{way}");
    assert!(recorded.process().notes.is_empty(), "{way}: {:?}", recorded.process().notes);
}

#[test]
fn however_a_program_looks_them_up() {
    let ways = [
        "dlsym",
        "dlvsym",
        "default",
        "found-dlsym",
        "dlsym-of-libc",
        "dlvsym-of-libc",
        "address",
        "library",
        "late-constructor",
        "walking",
    ];
    for way in ways {
        is_recorded(&Program::looking_up("taken", way), way);
        is_recorded(&Program::looking_up("taken", way).with("CUDA_INJECTION64_PATH", ""), way);
    }
}

#[test]
fn wherever_the_linker_of_a_program_writes_them() {
    for way in ["name", "table", "constructor", "linked-library", "first-constructor", "next", "dlvsym"] {
        for binding in [Binding::Lazy, Binding::Now] {
            is_recorded(&Program::linked(binding, "taken", way), way);
        }
    }
}

#[test]
fn without_preloading_the_recording_says_what_is_missing() {
    let recorded = Program::linked(Binding::Now, "taken", "name").not_preloaded().both();
    let process = recorded.process();
    assert_eq!(process.calls_of("cuMemcpyHtoDAsync_v2").len(), 0);
    assert!(process.notes.iter().any(|note| note.contains("not preloaded")), "{:?}", process.notes);
}
