//! Costs of a watched lock, a wrapped call and a launch without a GPU: `cargo bench -p holdup-capture`

#[path = "../tests/standin/compile.rs"]
mod compile;
#[allow(dead_code, reason = "shared with the tests")]
#[path = "../tests/standin/recording.rs"]
mod recording;
#[allow(dead_code, reason = "shared with the tests")]
#[path = "../tests/standin/run.rs"]
mod run;

use compile::Binding;
use run::Program;
use std::collections::HashMap;
use std::process::Command;

/// Takes the recorder out of a process and puts it back.
const TURNS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/overhead/turns.c");

/// Runs of which the median counts.
const RUNS: usize = 5;

fn main() {
    let calls = || Program::looking_up("calls", "cost");
    for (what, program, fact) in [
        ("a free mutex acquired and released", Program::linked(Binding::Now, "locks", "cost"), "picoseconds"),
        ("a call of the driver", calls(), "picoseconds"),
        ("a launch, which shares a free lock", calls(), "launch-picoseconds"),
    ] {
        let program = program.with(spool::VAR_LOCKS, "libchecks");
        let (_, bare) = program.bare();
        let recorded = program.recorded().facts;
        println!("{what}: {:.1} ns, recorded {:.1} ns", ns(&bare, fact), ns(&recorded, fact));
    }
    let launches = Program::looking_up("calls", "by-turns").with("STANDIN_TURNS", &turns());
    adds("a launch", &launches);
    adds("a launch that runs 40 KiB of code", &launches.clone().with("STANDIN_COLD", "1"));
    adds("a launch that uses 2,048 pages as well", &launches.with("STANDIN_COLD", "pages"));
    ["2", "4"].into_iter().for_each(gil);
}

fn ns(facts: &HashMap<String, Vec<u64>>, name: &str) -> f64 {
    facts[name][0] as f64 / 1e3
}

/// Says what the recorder costs threads of Python that wait for the GIL, and one that does not.
fn gil(threads: &str) {
    let ask = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    let Some(python) = ask.ok().and_then(|output| String::from_utf8(output.stdout).ok()) else {
        return println!("Python's GIL: not measured, there is no python3");
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/gil.py");
    let folder = compile::built().folder(Binding::Lazy);
    let program = Program::new(python.trim().into(), folder, &[script, threads, "20"]);
    let facts = program.with("STANDIN_TURNS", &turns()).patient().recorded().facts;
    for (what, name) in [("give the GIL up", "switches"), ("compute", "computes")] {
        let percent =
            |name: String| facts[&name][0] as f64 / 1e4 - if name.contains("spread") { 0.0 } else { 100.0 };
        let [clock, spread] =
            ["clock", "clock-spread"].map(|by| percent(format!("{name}-by-{by}-millionths")));
        let steps = facts[&format!("{name}-a-second")][0];
        println!(
            "{threads} threads that {what}, {steps} steps a second: {clock:+.1} % (± {spread:.1}) recorded"
        );
    }
    let (alone, added) = (ns(&facts, "alone-picoseconds"), ns(&facts, "alone-added-picoseconds"));
    println!(
        "the GIL given up and acquired while nobody wants it: {alone:.0} ns, the recorder adds {added:.0} ns"
    );
}

/// Says what the recorder adds to a launch.
fn adds(what: &str, program: &Program) {
    let mut runs = [(); RUNS].map(|()| {
        let facts = program.recorded().facts;
        let bare = ns(&facts, "launch-picoseconds");
        (ns(&facts, "recorded-picoseconds") - bare, bare)
    });
    runs.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let (added, bare) = runs[RUNS / 2];
    println!("{what}, by turns: {bare:.1} ns, the recorder adds {added:.1} ns");
}

/// The library that takes the recorder out of a process and puts it back, built.
fn turns() -> String {
    let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/libturns.so");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let built = Command::new(compiler).args(["-O2", "-shared", "-fPIC", "-o", path, TURNS]).status();
    assert!(built.is_ok_and(|status| status.success()), "{TURNS} cannot be built");
    path.to_owned()
}
