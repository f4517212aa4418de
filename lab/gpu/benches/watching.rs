//! Cost of a launch, watched more and more closely, on a machine with a GPU: `cargo bench -p holdup-gpu --features on-gpu`

#[path = "../tests/support/mod.rs"]
mod support;

use gpu::{Options, run};
use support::{gpu_try, single};
use workload::{Kernel, Repeat, StreamKind};

/// Launches of a body: fewer than wait in a stream before it is full.
const LAUNCHES: u64 = 500;
const BODIES: u64 = 200;

fn main() {
    let workload = single("launches", |process| {
        let context = process.primary(0);
        let stream = process.stream("s", context, StreamKind::NonBlocking);
        let thread = process.thread("launches", context);
        thread.before().launch(Kernel::Empty, 1, 32, stream).synchronize(stream);
        thread.body().repeat(LAUNCHES, |steps| {
            steps.launch(Kernel::Empty, 1, 32, stream);
        });
        thread.body().synchronize(stream);
        thread.repeat = Repeat::Times(BODIES);
    });
    for (name, timed, trace) in [("bodies", false, false), ("calls", true, false), ("trace", true, true)] {
        let times = (0..5).map(|_| {
            let options = Options { executable: Some(gpu_try()), timed, trace, ..Options::default() };
            let run = run(&workload, &options).unwrap_or_else(|error| panic!("{error}"));
            run.outcome.threads[0].elapsed_ns / (LAUNCHES * BODIES)
        });
        println!("{name}: {:?} ns a launch", times.collect::<Vec<_>>());
    }
}
