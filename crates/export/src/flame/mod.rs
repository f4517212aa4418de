//! Flame graphs of samples, apart for the times at which the GPU worked and at which it was idle: in speedscope's format,
//! and as folded stacks.

mod folded;
mod speedscope;

pub use folded::folded;
pub use speedscope::speedscope;

use rustc_hash::FxHashMap;
use std::borrow::Cow;
use trace::{FrameId, Ns, ProcessId, Sample, StackId, ThreadId, Times, Trace};

/// State of the GPUs of a sample's process at that moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Gpu {
    /// None ran an operation of the process.
    Idle,
    /// One ran an operation of the process.
    Busy,
    /// The trace has no operations of the process.
    Unknown,
}

impl Gpu {
    fn name(self) -> &'static str {
        match self {
            Gpu::Idle => "GPU idle",
            Gpu::Busy => "GPU busy",
            Gpu::Unknown => "GPU unknown",
        }
    }
}

/// The samples of a thread that found the GPU in one state, by time.
struct Flame {
    thread: ThreadId,
    gpu: Gpu,
    samples: Vec<Sample>,
    /// The time that each sample stands for, ns: the median distance of the thread's samples.
    each: Ns,
}

/// The flames of a trace: by thread, idle before busy.
fn flames(trace: &Trace) -> Vec<Flame> {
    let busy = busy_times(trace);
    let mut by_thread = vec![Vec::new(); trace.threads.len()];
    for sample in trace.samples.ids().map(|sample| trace.samples.row(sample)) {
        if let Some(thread) = sample.thread.some() {
            by_thread[thread.index()].push(sample);
        }
    }
    let of_thread = |(thread, mut samples): (ThreadId, Vec<Sample>)| {
        samples.sort_by_key(|sample| sample.at);
        let each = distance(&samples);
        let busy = busy.get(&trace.process_of_thread(thread));
        let gpu = |sample: &Sample| match busy.map(|busy| busy.hold(sample.at)) {
            Some(true) => Gpu::Busy,
            Some(false) => Gpu::Idle,
            None => Gpu::Unknown,
        };
        [Gpu::Idle, Gpu::Busy, Gpu::Unknown].map(|wanted| {
            let samples = samples.iter().filter(|sample| gpu(sample) == wanted).copied().collect();
            Flame { thread, gpu: wanted, samples, each }
        })
    };
    let flames = trace.threads.ids().zip(by_thread).flat_map(of_thread);
    flames.filter(|flame| !flame.samples.is_empty()).collect()
}

/// The times for which each process had an operation on any GPU.
fn busy_times(trace: &Trace) -> FxHashMap<ProcessId, Times> {
    let mut times = FxHashMap::<ProcessId, Vec<(Ns, Ns)>>::default();
    for at in 0..trace.ops.len() {
        let process = trace.process_of_stream(trace.ops.stream[at]);
        times.entry(process).or_default().push((trace.ops.start[at], trace.ops.end[at]));
    }
    times.into_iter().map(|(process, times)| (process, Times::of(times))).collect()
}

/// The median distance of samples, which are in order, ns; at least 1.
fn distance(samples: &[Sample]) -> Ns {
    let mut distances: Vec<Ns> =
        samples.windows(2).map(|pair| pair[1].at.saturating_sub(pair[0].at)).collect();
    if distances.is_empty() {
        return 1;
    }
    let middle = distances.len() / 2;
    (*distances.select_nth_unstable(middle).1).max(1)
}

/// The name of a flame: its thread's and the GPU's state.
fn title(trace: &Trace, flame: &Flame) -> String {
    let thread = trace.threads.row(flame.thread);
    let name = match trace.text(thread.name) {
        "" => Cow::Borrowed("thread"),
        name => visible(name),
    };
    format!("{name} {}, {}", thread.tid, flame.gpu.name())
}

/// The frames of a stack, outermost first.
fn frames(trace: &Trace, stack: StackId) -> Vec<FrameId> {
    let stacks = std::iter::successors(stack.some(), |stack| trace.stacks.caller[stack.index()].some());
    let mut frames: Vec<_> = stacks.filter_map(|stack| trace.stacks.frame[stack.index()].some()).collect();
    frames.reverse();
    frames
}

/// Name in place of the stack of a sample without one.
fn stackless(sample: &Sample) -> String {
    format!("[{}, no stack]", sample.state.name())
}

/// A name without control characters.
fn visible(name: &str) -> Cow<'_, str> {
    match name.contains(char::is_control) {
        true => Cow::Owned(name.replace(char::is_control, "\u{fffd}")),
        false => Cow::Borrowed(name),
    }
}
