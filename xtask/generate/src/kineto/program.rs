//! A made-up training program, step by step: what its host threads call and what the GPU does.
//!
//! Three threads run operators that launch kernels, each in a stream of its own; a fourth loads
//! data. Once in [`STALL_EVERY`] steps the loader copies 64 MiB from the device to pageable
//! memory in the stream of the first thread, whose next launch waits until that copy returns:
//! the planted stall. Every other call is shorter than 100 µs.

use super::names::{FRAMES, OPERATORS};
use crate::random::Random;

/// Nanoseconds, from the program's start.
pub(crate) type Ns = i64;

/// Half-open time.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub(crate) start: Ns,
    pub(crate) end: Ns,
}

/// Which way the flow arrow of a call points in the trace.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// From the call to the GPU.
    Out,
    /// To the call: Kineto's choice for calls that never reach the GPU.
    In,
}

/// A function of the CUDA runtime.
pub(crate) struct Api {
    pub(crate) name: &'static str,
    pub(crate) callback: u64,
    pub(crate) flow: Flow,
}

const LAUNCH: Api = Api { name: "cudaLaunchKernel", callback: 211, flow: Flow::Out };
const COPY: Api = Api { name: "cudaMemcpyAsync", callback: 41, flow: Flow::Out };
const FILL: Api = Api { name: "cudaMemsetAsync", callback: 51, flow: Flow::Out };
const SYNCHRONIZE: Api = Api { name: "cudaStreamSynchronize", callback: 131, flow: Flow::Out };
const BY_THE_WAY: [Api; 4] = [
    Api { name: "cudaStreamIsCapturing", callback: 317, flow: Flow::In },
    Api { name: "cudaEventRecord", callback: 135, flow: Flow::In },
    Api { name: "cudaFuncSetAttribute", callback: 273, flow: Flow::In },
    Api { name: "cudaEventQuery", callback: 138, flow: Flow::In },
];

/// Something that ends up in the trace.
pub(crate) enum Event {
    Operator {
        span: Span,
        tid: u64,
        name: &'static str,
        external: u64,
        index: u64,
    },
    Function {
        span: Span,
        tid: u64,
        name: &'static str,
        id: u64,
        parent: Option<u64>,
        index: u64,
    },
    Call {
        span: Span,
        tid: u64,
        api: &'static Api,
        external: u64,
        correlation: u64,
    },
    Kernel {
        span: Span,
        stream: u64,
        name: usize,
        blocks: u64,
        threads: u64,
        external: u64,
        correlation: u64,
    },
    Copy {
        span: Span,
        stream: u64,
        name: &'static str,
        bytes: u64,
        external: u64,
        correlation: u64,
    },
    Fill {
        span: Span,
        stream: u64,
        bytes: u64,
        external: u64,
        correlation: u64,
    },
    Overhead {
        span: Span,
        name: &'static str,
    },
}

/// A consumer of the events.
pub(crate) type Emit<'a> = dyn FnMut(&Event) + 'a;

/// The stalls planted so far.
#[derive(Clone, Copy, Default)]
pub(crate) struct Planted {
    /// How many launches waited.
    pub(crate) count: u64,
    /// Duration of those launches together.
    pub(crate) waited: Ns,
    /// The part of it that lies inside the copies.
    pub(crate) inside_copies: Ns,
    /// Duration of the copying calls together.
    pub(crate) copying: Ns,
}

/// A host thread with its stream.
pub(crate) struct Worker {
    pub(crate) tid: u64,
    pub(crate) stream: u64,
    now: Ns,
    /// When the stream has done all it was asked.
    busy_until: Ns,
}

/// Thread ids and streams: the thread that gets stalled, two that don't, and the loader.
pub(crate) const WORKERS: [(u64, u64); 4] = [(48_213, 7), (48_377, 20), (48_391, 24), (48_402, 28)];
const STALLED: usize = 0;
const LOADER: usize = 3;

/// Steps from one planted stall to the next.
const STALL_EVERY: u64 = 64;
/// Operators a thread runs in a step.
const OPERATORS_A_STEP: usize = 4;
/// Size of the copy that stalls.
const STALL_BYTES: u64 = 64 << 20;

/// The running program.
pub(crate) struct Program {
    random: Random,
    kernels: usize,
    stacks: bool,
    workers: [Worker; 4],
    step: u64,
    external: u64,
    correlation: u64,
    index: u64,
    python: u64,
    planted: Planted,
}

/// An operator (with those nested in it) that has begun.
struct Running {
    names: &'static [&'static str],
    frames: &'static [&'static str],
    starts: [Ns; 4],
    frame_starts: [Ns; 8],
    /// External id of the outermost; the others follow.
    external: u64,
}

impl Running {
    /// External id of the innermost operator: the one that calls CUDA.
    fn innermost(&self) -> u64 {
        self.external + self.names.len() as u64 - 1
    }
}

impl Program {
    /// Starts the program; `kernels` is how many kernel names there are to choose from.
    pub(crate) fn new(seed: u64, kernels: usize, stacks: bool) -> Program {
        let worker = |(tid, stream)| Worker { tid, stream, now: 0, busy_until: 0 };
        Program {
            random: Random::new(seed),
            kernels,
            stacks,
            workers: WORKERS.map(worker),
            step: 0,
            external: 1,
            correlation: 40,
            index: 0,
            python: 1,
            planted: Planted::default(),
        }
    }

    /// The stalls planted so far.
    pub(crate) fn planted(&self) -> Planted {
        self.planted
    }

    /// The time the program has reached.
    pub(crate) fn now(&self) -> Ns {
        self.workers[0].now
    }

    /// Runs one step. All threads start it together.
    pub(crate) fn step(&mut self, emit: &mut Emit) {
        if self.step == 0 {
            self.buffer_request(emit);
        }
        if self.step.is_multiple_of(STALL_EVERY) {
            self.stall(emit);
        }
        self.load(emit);
        for worker in (0..LOADER).cycle().take(LOADER * OPERATORS_A_STEP) {
            self.operator(worker, emit);
        }
        if self.step % 16 == 15 {
            self.synchronize(STALLED, emit);
        }
        self.step += 1;
        let latest = self.workers.iter().map(|worker| worker.now).max().unwrap_or(0);
        self.workers.iter_mut().for_each(|worker| worker.now = latest);
    }

    /// The tracer makes room for its records before the first call.
    fn buffer_request(&mut self, emit: &mut Emit) {
        let end = self.random.within(2_200_000, 2_900_000);
        emit(&Event::Overhead { span: Span { start: 0, end }, name: "Activity Buffer Request" });
        self.workers.iter_mut().for_each(|worker| worker.now = end);
    }

    /// The planted stall: a launch waits for another thread's pageable copy in the same stream.
    fn stall(&mut self, emit: &mut Emit) {
        let copying = self.begin(LOADER, &["aten::to", "aten::_to_copy", "aten::copy_"]);
        let start = self.workers[LOADER].now;
        let copy_start = self.workers[STALLED].busy_until.max(start + self.random.within(18_000, 60_000));
        let copy = Span { start: copy_start, end: copy_start + self.random.within(4_600_000, 5_400_000) };
        let call = Span { start, end: copy.end + self.random.within(5_000, 20_000) };
        let (external, stream) = (copying.innermost(), self.workers[STALLED].stream);
        let correlation = self.call(LOADER, &COPY, call, external, emit);
        let name = "Memcpy DtoH (Device -> Pageable)";
        emit(&Event::Copy { span: copy, stream, name, bytes: STALL_BYTES, external, correlation });
        self.workers[STALLED].busy_until = copy.end;
        self.end(LOADER, copying, emit);
        self.wait_for(call, emit);
        self.planted.copying += call.end - call.start;
    }

    /// The launch that waits for `copy` to return.
    fn wait_for(&mut self, copy: Span, emit: &mut Emit) {
        self.workers[STALLED].now = copy.start + self.random.within(60_000, 900_000);
        let waiting = self.begin(STALLED, &["aten::linear", "aten::addmm"]);
        let start = self.workers[STALLED].now;
        let call = Span { start, end: copy.end + self.random.within(1_000, 30_000) };
        self.launch(STALLED, call, call.end - 500, waiting.innermost(), emit);
        self.end(STALLED, waiting, emit);
        self.planted.count += 1;
        self.planted.waited += call.end - call.start;
        self.planted.inside_copies += copy.end - call.start;
    }

    /// The loader's everyday copies: one pinned, and sometimes a small pageable one.
    fn load(&mut self, emit: &mut Emit) {
        let bytes = 4096 * self.random.within(16, 256) as u64;
        self.copy("Memcpy HtoD (Pinned -> Device)", bytes, 50, emit);
        if self.random.chance(30) {
            self.copy("Memcpy HtoD (Pageable -> Device)", 4096, 8, emit);
        }
    }

    /// A copy of the loader in its own stream at `bytes_a_ns`.
    fn copy(&mut self, name: &'static str, bytes: u64, bytes_a_ns: u64, emit: &mut Emit) {
        let copying = self.begin(LOADER, &["aten::copy_"]);
        let call = self.next_span(LOADER, 6_000, 20_000);
        let external = copying.innermost();
        let correlation = self.call(LOADER, &COPY, call, external, emit);
        let duration = 900 + (bytes / bytes_a_ns) as Ns;
        let span = self.enqueue(LOADER, call.start + 2_500, duration);
        let stream = self.workers[LOADER].stream;
        emit(&Event::Copy { span, stream, name, bytes, external, correlation });
        self.end(LOADER, copying, emit);
    }

    /// One operator: now and then a call by the way, then a launch or a fill.
    fn operator(&mut self, worker: usize, emit: &mut Emit) {
        let names = OPERATORS[self.random.skewed(OPERATORS.len())];
        let running = self.begin(worker, names);
        let external = running.innermost();
        while self.random.chance(35) {
            let span = self.next_span(worker, 400, 4_000);
            let api = &BY_THE_WAY[self.random.skewed(BY_THE_WAY.len())];
            self.call(worker, api, span, external, emit);
        }
        let call = self.next_span(worker, 3_000, 9_000);
        if self.random.chance(4) {
            self.fill(worker, call, external, emit);
        } else {
            let earliest = call.start + self.random.within(1_800, 4_000);
            self.launch(worker, call, earliest, external, emit);
        }
        self.end(worker, running, emit);
    }

    fn launch(&mut self, worker: usize, call: Span, earliest: Ns, external: u64, emit: &mut Emit) {
        let correlation = self.call(worker, &LAUNCH, call, external, emit);
        let duration = self.random.within(900, 12_000);
        let span = self.enqueue(worker, earliest, duration);
        let name = self.random.skewed(self.kernels);
        let (blocks, threads) = (self.random.within(1, 2048) as u64, 32 << self.random.within(0, 6));
        let stream = self.workers[worker].stream;
        emit(&Event::Kernel { span, stream, name, blocks, threads, external, correlation });
    }

    fn fill(&mut self, worker: usize, call: Span, external: u64, emit: &mut Emit) {
        let correlation = self.call(worker, &FILL, call, external, emit);
        let span = self.enqueue(worker, call.start + 2_000, 1_500);
        let stream = self.workers[worker].stream;
        emit(&Event::Fill { span, stream, bytes: 1 << 20, external, correlation });
    }

    /// Waits for the worker's own stream, which is never far behind.
    fn synchronize(&mut self, worker: usize, emit: &mut Emit) {
        let at = &self.workers[worker];
        let span = Span { start: at.now, end: at.busy_until.clamp(at.now, at.now + 90_000) + 2_000 };
        self.call(worker, &SYNCHRONIZE, span, 0, emit);
    }

    /// The next call of the worker: often right after the last one.
    fn next_span(&mut self, worker: usize, shortest: Ns, longest: Ns) -> Span {
        let gap = if self.random.chance(40) { 0 } else { self.random.within(200, 3_000) };
        let start = self.workers[worker].now + gap;
        Span { start, end: start + self.random.within(shortest, longest) }
    }

    /// Emits a call, moves its thread past it, and returns its correlation id.
    fn call(&mut self, worker: usize, api: &'static Api, span: Span, external: u64, emit: &mut Emit) -> u64 {
        let correlation = self.correlation;
        self.correlation += 1 + self.random.within(0, 4) as u64;
        let worker = &mut self.workers[worker];
        worker.now = span.end;
        emit(&Event::Call { span, tid: worker.tid, api, external, correlation });
        correlation
    }

    /// Work of `duration` in the worker's stream, after what is there already.
    fn enqueue(&mut self, worker: usize, earliest: Ns, duration: Ns) -> Span {
        let worker = &mut self.workers[worker];
        let start = earliest.max(worker.busy_until);
        worker.busy_until = start + duration;
        Span { start, end: start + duration }
    }

    /// Enters nested operators, and Python functions around them if asked for.
    fn begin(&mut self, worker: usize, names: &'static [&'static str]) -> Running {
        let depth = if self.stacks { self.random.within(2, FRAMES.len() as i64 + 1) as usize } else { 0 };
        let mut running = Running {
            names,
            frames: &FRAMES[..depth],
            starts: [0; 4],
            frame_starts: [0; 8],
            external: self.external,
        };
        self.external += names.len() as u64;
        self.enter(worker, &mut running.frame_starts[..depth]);
        self.enter(worker, &mut running.starts[..names.len()]);
        running
    }

    fn enter(&mut self, worker: usize, starts: &mut [Ns]) {
        for start in starts {
            *start = self.workers[worker].now;
            self.workers[worker].now += self.random.within(700, 4_000);
        }
    }

    /// Leaves what [`Self::begin`] entered and emits it, outermost first.
    fn end(&mut self, worker: usize, running: Running, emit: &mut Emit) {
        let (mut ends, mut frame_ends) = ([0; 4], [0; 8]);
        let (names, frames) = (running.names, running.frames);
        self.leave(worker, &mut ends[..names.len()]);
        self.leave(worker, &mut frame_ends[..frames.len()]);
        let tid = self.workers[worker].tid;
        for (at, name) in frames.iter().enumerate() {
            let span = Span { start: running.frame_starts[at], end: frame_ends[at] };
            let (id, index) = (self.python, self.next_index());
            let parent = (at > 0).then_some(id - 1);
            emit(&Event::Function { span, tid, name, id, parent, index });
            self.python += 1;
        }
        for (at, name) in names.iter().enumerate() {
            let span = Span { start: running.starts[at], end: ends[at] };
            let (external, index) = (running.external + at as u64, self.next_index());
            emit(&Event::Operator { span, tid, name, external, index });
        }
    }

    /// Ends from the innermost outwards.
    fn leave(&mut self, worker: usize, ends: &mut [Ns]) {
        for end in ends.iter_mut().rev() {
            self.workers[worker].now += self.random.within(300, 2_000);
            *end = self.workers[worker].now;
        }
    }

    fn next_index(&mut self) -> u64 {
        self.index += 1;
        self.index - 1
    }
}
