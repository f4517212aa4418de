//! How many calls a second the simulator runs on one core: `cargo bench -p holdup-sim`.

use experiments::catalogue::architectures::Case;
use experiments::catalogue::launch_stall::{self, Beside};
use sim::{Model, Options};
use std::time::{Duration, Instant};
use workload::Workload;

fn main() {
    let threads = |workers, connections| {
        Case { workers, connections: Some(connections), iterations: 200, ..Case::default() }.workload()
    };
    let alone = launch_stall::Case {
        beside: Beside::Idle,
        between: Duration::ZERO,
        time: Duration::from_secs(8),
        ..Default::default()
    };
    let cases = [
        ("one thread that launches", alone.workload()),
        ("1 thread of seed 000", threads(1, 8)),
        ("8 threads of seed 000", threads(8, 8)),
        ("32 threads of seed 000 for one mutex", threads(32, 32)),
    ];
    for (what, workload) in &cases {
        for trace in [false, true] {
            rate(what, workload, trace);
        }
    }
}

/// Prints the best of three.
fn rate(what: &str, workload: &Workload, trace: bool) {
    let model = Model::load("h200").expect("it comes with the crate");
    let options = Options { trace, ..Options::default() };
    let mut best = f64::MAX;
    let mut calls = 0;
    for _ in 0..3 {
        let start = Instant::now();
        let (outcome, _) = sim::run(workload, &model, options).expect("it runs");
        best = best.min(start.elapsed().as_secs_f64());
        calls = outcome.threads.iter().flat_map(|thread| &thread.calls).map(|call| call.count).sum::<u64>();
    }
    let with = if trace { "with a trace" } else { "without" };
    println!("{what:38} {with:13} {:5.2} million calls/s ({calls} calls)", calls as f64 / best / 1e6);
}
