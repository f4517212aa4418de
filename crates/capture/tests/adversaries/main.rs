//! Programs that do what real ones do and nobody expects, each run bare and recorded at every level: output, exit
//! status, signal and time must be as bare, no run may hang, and what is not recorded must be counted.
//!
//! One adversary is one test: `cargo test -p holdup-capture --test adversaries NAME`. The tables (`table`) declare
//! them, `programs` has their sources. A program states in its ledger (`programs/adversary.h`) how many calls each of its
//! processes makes; `ledger` compares that with the spool.

#[allow(dead_code, reason = "the stand-in's own tests use the rest")]
#[path = "../standin/compile.rs"]
mod compile;
#[allow(dead_code, reason = "the stand-in's own tests use the rest")]
#[path = "../standin/recording.rs"]
mod recording;

mod adversary;
mod build;
mod languages;
mod ledger;
mod packages;
mod page;
mod run;
mod table;

use adversary::Adversary;
use libtest_mimic::{Arguments, Completion, Failed, Trial};

fn main() {
    let mut arguments = Arguments::from_args();
    // The programs mostly wait.
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    arguments.test_threads.get_or_insert(2 * processors);
    let mut tests: Vec<Trial> = table::all().map(test).collect();
    tests.push(Trial::test("the_page_lists_every_adversary", || {
        page::compare();
        Ok(())
    }));
    libtest_mimic::run(&arguments, tests).exit();
}

/// The test of one adversary.
fn test(adversary: &'static Adversary) -> Trial {
    Trial::ignorable_test(adversary.name, move || match build::build(adversary) {
        Err(missing) => Ok(skipped(adversary, &missing)),
        Ok(built) => match run::compare(adversary, &built) {
            Ok(()) => Ok(Completion::Completed),
            Err(run::Failure::Skipped(why)) => Ok(skipped(adversary, &why)),
            Err(run::Failure::Failed(why)) => Err(Failed::from(why)),
        },
    })
}

fn skipped(adversary: &Adversary, why: &str) -> Completion {
    println!("{}: skipped: {why}", adversary.name);
    Completion::ignored_with(format!("skipped: {why}"))
}
