//! Other languages, and programs that are linked otherwise.

use crate::adversary::Expected::{Either, Nothing};
use crate::adversary::{Adversary, Beside, End, adversary};

const LEDGER: &[&str] = &["languages/ledger.c"];

const fn python(name: &'static str, words: &'static [&'static str], does: &'static str) -> Adversary {
    adversary(name, "languages/samplers.py", does).words(words).libraries(LEDGER)
}

const fn executes(name: &'static str, beside: &'static [Beside], does: &'static str) -> Adversary {
    adversary(name, "languages/executes.c", does).beside(beside).ends(End::Exit(3))
}

const PLAIN: &str = "languages/plain.c";

pub const ALL: &[Adversary] = &[
    adversary(
        "exceptions",
        "languages/exceptions.cpp",
        "C++ exceptions pass through driver calls, waits and `call_once`",
    ),
    adversary(
        "rust",
        "languages/threads.rs",
        "Rust threads with channels and locks of their own, and a panic",
    )
    .libraries(LEDGER),
    adversary(
        "java",
        "languages/Adversary.java",
        "the JVM, with threads, null references and native methods",
    ),
    adversary("go", "languages/goroutines.go", "Go routines call the driver by cgo").libraries(LEDGER),
    adversary("fortran", "languages/overlap.f90", "Fortran calls the driver through `iso_c_binding`")
        .libraries(LEDGER),
    python(
        "python_faulthandler",
        &["dumps"],
        "Python's `faulthandler` dumps all threads while they are in slow calls",
    ),
    python(
        "python_timer",
        &["sampled"],
        "a Python handler of SIGALRM makes driver calls, 1,000 times a second",
    ),
    python("python_forks", &["forks"], "Python forks; the children make driver calls").children(Either),
    python(
        "python_switches",
        &["switches"],
        "Python's threads pass on the interpreter's lock as often as they can",
    ),
    adversary("static_program", PLAIN, "a static executable")
        .flags(&["-static"])
        .ends(End::Exit(3))
        .recorded(Nothing),
    adversary("static_pie", PLAIN, "a static executable at any address")
        .flags(&["-static-pie"])
        .ends(End::Exit(3))
        .recorded(Nothing),
    executes("executes_static", &[Beside::Static(PLAIN)], "starts and executes a static executable"),
    executes(
        "executes_musl",
        &[Beside::Musl(PLAIN)],
        "starts and executes a program with another C library (musl)",
    ),
    executes("executes_musl_at", &[Beside::Musl(PLAIN)], "the same by `execveat`").words(&["execveat"]),
    executes("executes_musl_open", &[Beside::Musl(PLAIN)], "the same by `execveat` of an open file")
        .words(&["execveat-open"]),
    executes("executes_musl_by_number", &[Beside::Musl(PLAIN)], "the same by `syscall` with `SYS_execve`")
        .words(&["number"]),
    executes(
        "executes_musl_at_by_number",
        &[Beside::Musl(PLAIN)],
        "the same by `syscall` with `SYS_execveat`",
    )
    .words(&["number-at"]),
    executes("executes_musl_looked_up", &[Beside::Musl(PLAIN)], "the same by `execve` that it looked up")
        .words(&["looked-up"]),
    executes(
        "executes_static_by_number",
        &[Beside::Static(PLAIN)],
        "starts and executes a static executable by `syscall`",
    )
    .words(&["number"]),
];
