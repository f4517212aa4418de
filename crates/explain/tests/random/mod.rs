//! Made-up traces: threads that launch into streams, wait for each other, and mark steps.

use proptest::prelude::*;
use trace::*;

/// Next activity of a thread.
#[derive(Clone, Debug)]
struct Round {
    thread: usize,
    pause: Ns,
    call: Ns,
    latency: Ns,
    runs: Ns,
    /// Whether it first waits for a lock of the other thread.
    waits: bool,
    sync: bool,
}

fn round() -> impl Strategy<Value = Round> {
    let times = (0..400_000i64, 1..300_000i64, 0..100_000i64, 1..300_000i64);
    (0..2usize, times, any::<bool>(), any::<bool>()).prop_map(
        |(thread, (pause, call, latency, runs), waits, sync)| Round {
            thread,
            pause,
            call,
            latency,
            runs,
            waits,
            sync,
        },
    )
}

/// Activity of two threads, and the records of it.
#[derive(Clone, Debug)]
pub struct Program {
    rounds: Vec<Round>,
    has_steps: bool,
    has_states: bool,
}

/// Any program.
pub fn program() -> impl Strategy<Value = Program> {
    (prop::collection::vec(round(), 1..60), any::<bool>(), any::<bool>())
        .prop_map(|(rounds, has_steps, has_states)| Program { rounds, has_steps, has_states })
}

/// The trace of a program.
pub fn trace(program: &Program) -> Trace {
    let Program { rounds, has_steps, has_states } = program;
    let mut trace = Trace::default();
    let process = trace.processes.push(Process { pid: 1, ..Process::default() });
    let device = trace.devices.push(Device::default());
    let context = trace.contexts.push(Context { process, device, number: 1 });
    let stream = trace.streams.push(Stream { context, number: 7 });
    let threads = [1, 2].map(|tid| trace.threads.push(Thread { process, tid, ..Thread::default() }));
    let [launch, sync, kernel] =
        ["cudaLaunchKernel", "cudaStreamSynchronize", "k"].map(|name| trace.strings.intern(name));
    let (mut now, mut gpu_free, mut step) = ([0i64; 2], 0i64, 0i64);
    for (at, round) in rounds.iter().enumerate() {
        let (thread, other) = (threads[round.thread], threads[1 - round.thread]);
        let mut start = now[round.thread] + round.pause;
        if round.waits && round.pause > 0 {
            let (end, layer) = (start, LockLayer::Interpreter);
            let from = start - round.pause / 2;
            trace.waits.push(Wait {
                start: from,
                end,
                thread,
                holder: other,
                releaser: other,
                kind: LockKind::Gil,
                layer,
                ..Wait::default()
            });
            start += 1;
        }
        let end = start + round.call;
        let correlation = at as i64 + 1;
        let name = if round.sync { sync } else { launch };
        let api = Api::Runtime;
        trace.calls.push(Call { start, end, thread, api, name, correlation, ..Call::default() });
        if !round.sync {
            let start = gpu_free.max(start + round.latency);
            gpu_free = start + round.runs;
            let (kind, name) = (OpKind::Kernel, kernel);
            trace.ops.push(Op { start, end: gpu_free, kind, name, stream, correlation, ..Op::default() });
        }
        if *has_states && now[round.thread] < end {
            let start = now[round.thread];
            let (running, runnable) = ((end - start) / 2, (end - start) / 3);
            trace.states.push(State { start, end, thread, running, runnable, ..State::default() });
        }
        now[round.thread] = end;
        if *has_steps && round.thread == 0 {
            let name = trace.strings.intern(&format!("step {at}"));
            let kind = RangeKind::User;
            trace.ranges.push(Range { start: step, end, thread, kind, name, ..Range::default() });
            step = end;
        }
    }
    trace.join();
    trace
}
