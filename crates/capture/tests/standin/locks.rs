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
