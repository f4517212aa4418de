//! Watched locks do what they did: their answers are the C library's.

use crate::compile::Binding;
use crate::run::{Outcome, Program};

const CHECKS: &str = "libchecks";

fn every_build(scenario: &str) -> impl Iterator<Item = Program> {
    [Binding::Lazy, Binding::Now]
        .into_iter()
        .map(move |binding| Program::linked(binding, "locks", scenario).with(spool::VAR_LOCKS, CHECKS))
}

fn nothing_is_wrong(outcome: &Outcome) {
    let expected =
        Outcome { stdout: "0 wrong\n".to_owned(), stderr: String::new(), code: Some(0), signal: None };
    assert_eq!(*outcome, expected);
}

#[test]
fn locks_answer_what_posix_says() {
    for program in every_build("check") {
        let recorded = program.both();
        nothing_is_wrong(&recorded.outcome);
        let waits = &recorded.process().waits;
        // They were watched: what timed out was waited for.
        assert!(waits.iter().any(|wait| wait.name == "libchecks.so"), "{waits:?}");
        assert!(waits.iter().all(|wait| wait.record.start <= wait.record.end));
    }
}

#[test]
fn threads_at_once_lose_nothing() {
    for program in every_build("stress") {
        nothing_is_wrong(&program.both().outcome);
    }
}

#[test]
fn a_thread_can_be_cancelled_where_it_waits() {
    for program in every_build("cancel") {
        nothing_is_wrong(&program.both().outcome);
    }
}

/// Nanoseconds of what a program measured, bare and recorded.
fn cost(program: &Program) -> [f64; 2] {
    let measured = |facts: &std::collections::HashMap<String, Vec<u64>>| facts["picoseconds"][0] as f64 / 1e3;
    let (_, bare) = program.bare();
    [measured(&bare), measured(&program.recorded().facts)]
}

/// `cargo test --release -p holdup-capture cost -- --ignored --nocapture`
#[test]
#[ignore = "measures"]
fn cost_of_what_is_watched() {
    for (what, program) in [
        ("a free mutex taken and let go of", Program::linked(Binding::Now, "locks", "cost")),
        ("a call of the driver", Program::looking_up("calls", "cost")),
    ] {
        let [bare, recorded] = cost(&program.with(spool::VAR_LOCKS, CHECKS));
        println!("{what}: {bare:.1} ns, recorded {recorded:.1} ns");
    }
}
