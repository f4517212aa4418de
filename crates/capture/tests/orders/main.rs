//! Random programs of threads and locks that cannot deadlock, each run bare and recorded. The recorded run must look the
//! same from outside, end, and leave a recording with the waits and calls that the program knows of.
//!
//! `orders.h` describes the programs, which a seed determines; when which thread runs is another matter each time. First
//! come the seeds of `seeds.txt`, then one after the other from `HOLDUP_ORDERS_FROM`. Environment variables:
//!
//! | variable | meaning | otherwise |
//! |---|---|---|
//! | `HOLDUP_ORDERS_SECONDS` | how long to begin programs | 45 |
//! | `HOLDUP_ORDERS_PROGRAMS` | how many to run, however long that takes | as many as there is time for |
//! | `HOLDUP_ORDERS_FROM` | the first seed behind those of the list; with `PROGRAMS`, the list is left out | 1 |
//! | `HOLDUP_ORDERS_JOBS` | programs at once | 4 for each processor: they sleep mostly |
//! | `HOLDUP_ORDERS_LIMIT` | how long a program may take, seconds | 20 |
//! | `HOLDUP_ORDERS_BUILT` | the folder with the programs, on a machine without a compiler | built by the test |
//! | `HOLDUP_TEST_LIBRARY` | the capture library to test | built by the test |

mod built;
mod check;
#[allow(dead_code, reason = "shared with the tests of the stand-in")]
#[path = "../standin/compile.rs"]
mod compile;
mod many;
#[allow(dead_code, reason = "shared with the tests of the stand-in")]
#[path = "../standin/recording.rs"]
mod recording;
#[allow(dead_code, reason = "shared with the tests of the stand-in")]
#[path = "../standin/run.rs"]
mod run;
mod seeded;

use many::Plan;
use seeded::Seeded;

#[test]
fn random_programs_end_and_their_waits_are_recorded() {
    let plan = Plan::of_environment();
    let result = many::run(&plan);
    println!("{result}");
    assert!(result.failed.is_empty(), "{result}");
    result.check_that_waits_were_known();
}

#[test]
fn a_program_that_hangs_is_ended_and_shown() {
    let failure = many::caught(|| Seeded::hanging().run()).expect_err("a program that waits for itself ends");
    assert!(failure.contains("did not end"), "{failure}");
    // Where there is a debugger.
    assert!(failure.contains("no stacks") || failure.contains("pthread_mutex_lock"), "{failure}");
}

#[test]
fn a_false_fact_is_noticed() {
    let known = |recorded: &run::Recorded| !recorded.facts("wait-thread").is_empty();
    let seeded = (1..).map(Seeded::new);
    let mut recorded =
        seeded.map(|seeded| seeded.record()).find(known).expect("some program knows of a wait");
    check::check(&recorded);
    for name in ["wait-thread", "wait-address", "wait-kind", "wait-to", "calls-least"] {
        let facts = recorded.facts.clone();
        let list = recorded.facts.get_mut(name).expect("a list of the program's facts");
        list[0] += if name == "wait-to" { 10_000_000_000 } else { 1 };
        if name == "calls-least" {
            recorded.facts.insert("calls-most".to_owned(), recorded.facts[name].clone());
        }
        many::caught(|| check::check(&recorded)).expect_err(name);
        recorded.facts = facts;
    }
}
