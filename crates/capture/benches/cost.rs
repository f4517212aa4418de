//! What a watched lock and a wrapped call cost without a GPU: `cargo bench -p holdup-capture`

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

fn main() {
    let calls = || Program::looking_up("calls", "cost");
    for (what, program, fact) in [
        ("a free mutex taken and let go of", Program::linked(Binding::Now, "locks", "cost"), "picoseconds"),
        ("a call of the driver", calls(), "picoseconds"),
        ("a launch, which shares a free lock", calls(), "launch-picoseconds"),
    ] {
        let program = program.with(spool::VAR_LOCKS, "libchecks");
        let measured = |facts: &HashMap<String, Vec<u64>>| facts[fact][0] as f64 / 1e3;
        let (_, bare) = program.bare();
        let recorded = program.recorded().facts;
        println!("{what}: {:.1} ns, recorded {:.1} ns", measured(&bare), measured(&recorded));
    }
}
