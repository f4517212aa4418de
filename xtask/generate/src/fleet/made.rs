//! A trace of a rank that is being made.

use trace::*;

/// Kernels of a step.
pub(super) const KERNELS: usize = 244;

/// Time from one launch to the next, of a launch and of a kernel, ns.
pub(super) const LAUNCH: (Ns, Ns, Ns) = (12_000, 4_000, 9_000);

/// GPUs of a machine.
const GPUS: i64 = 8;

/// A trace that is being made.
pub(super) struct Made {
    pub(super) trace: Trace,
    pub(super) main: ThreadId,
    pub(super) other: ThreadId,
    streams: [StreamId; 2],
    correlation: i64,
    /// To add to all times, ns.
    pub(super) clock: Ns,
    pub(super) kernel: Sym,
    reduce: Sym,
    pub(super) launch: Sym,
    synchronize: Sym,
    /// Where data is loaded.
    loading: StackId,
    /// Until when the scheduler's numbers are known, ns.
    counted: Ns,
}

impl Made {
    /// The trace of one of some ranks, whose clock is ahead by so many nanoseconds.
    pub(super) fn new(rank: i64, ranks: i64, ahead: Ns) -> Made {
        let mut trace = Trace::default();
        let meta = &mut trace.meta;
        (meta.rank, meta.world_size) = (Some(rank), Some(ranks));
        meta.host = format!("node{:03}", rank / GPUS);
        meta.command = String::from("python train.py");
        meta.epoch_unix_ns = Some(1_790_000_000_000_000_000);
        meta.locks_watched = true;
        let mut sym = |text: &str| trace.strings.intern(text);
        let (python, gpu) = (sym("python"), sym("NVIDIA H100"));
        let (kernel, launch) = (sym("sm90_xmma_gemm_bf16bf16_bf16f32"), sym("cuLaunchKernel"));
        let reduce = sym("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
        let synchronize = sym("cuStreamSynchronize");
        let (main_name, other_name) = (sym("MainThread"), sym("writer"));
        let process = trace.processes.push(Process { pid: 4000 + rank, name: python, ..Process::default() });
        let mut thread = |tid, name| trace.threads.push(Thread { process, tid, name, ..Thread::default() });
        let (main, other) = (thread(4000 + rank, main_name), thread(900_000 + rank, other_name));
        let device = Device {
            ordinal: rank % GPUS,
            name: gpu,
            compute_major: 9,
            multiprocessors: 132,
            copy_engines: 3,
            ..Device::default()
        };
        let device = trace.devices.push(device);
        let context = trace.contexts.push(Context { process, device, number: 1 });
        let streams = [7, 20].map(|number| trace.streams.push(Stream { context, number }));
        let mut made = Made {
            trace,
            main,
            other,
            streams,
            correlation: 0,
            clock: ahead,
            kernel,
            reduce,
            launch,
            synchronize,
            loading: StackId::NONE,
            counted: 0,
        };
        made.loading = made.stack("loader.py", 31, "next_batch");
        made
    }

    pub(super) fn stack(&mut self, file: &str, line: u32, function: &str) -> StackId {
        let (file, function) = (self.trace.strings.intern(file), self.trace.strings.intern(function));
        let frame = self.trace.frames.push(Frame { function, file, line, ..Frame::default() });
        self.trace.stacks.push(Stack { frame, caller: StackId::NONE })
    }

    pub(super) fn call(&mut self, (start, end): (Ns, Ns), name: Sym) -> (CallId, i64) {
        self.correlation += 1;
        let (start, end) = (start + self.clock, end + self.clock);
        let call = Call {
            start,
            end,
            thread: self.main,
            api: Api::Driver,
            name,
            correlation: self.correlation,
            ..Call::default()
        };
        (self.trace.calls.push(call), self.correlation)
    }

    pub(super) fn op(
        &mut self,
        (start, end): (Ns, Ns),
        stream: usize,
        op: Op,
        (call, correlation): (CallId, i64),
    ) {
        let (start, end) = (start + self.clock, end + self.clock);
        let stream = self.streams[stream];
        self.trace.ops.push(Op { start, end, stream, call, correlation, ..op });
    }

    /// Adds a state of the main thread as the scheduler counted it, and the places where samples found it.
    pub(super) fn state(&mut self, (from, to): (Ns, Ns), did: ThreadState, stack: StackId, call: &str) {
        let from = from.max(self.counted);
        let whole = (to - from).max(0);
        let (running, runnable) = match did {
            ThreadState::Running => (whole, 0),
            ThreadState::Runnable => (0, whole),
            _ => (0, 0),
        };
        let call = self.trace.strings.intern(call);
        let (start, end) = (from + self.clock, to + self.clock);
        let row = State { start, end, thread: self.main, running, runnable, state: did, call, object: 0 };
        self.trace.states.push(row);
        self.counted = to;
        if stack.is_some() {
            for at in (from + 50_000..to).step_by(1_000_000) {
                let at = at + self.clock;
                self.trace.samples.push(Sample { at, thread: self.main, stack, state: did });
            }
        }
    }

    /// Data is loaded on the host.
    pub(super) fn loads(&mut self, now: Ns, ns: Ns) {
        self.state((now, now + ns), ThreadState::Running, self.loading, "");
    }

    /// Kernels are launched one after another; returns when the last is done.
    pub(super) fn kernels(&mut self, mut now: Ns) -> Ns {
        let (every, launch, kernel) = LAUNCH;
        let mut free = now;
        for _ in 0..KERNELS {
            let call = self.call((now, now + launch), self.launch);
            let start = (now + launch + 2_000).max(free);
            free = start + kernel;
            let op =
                Op { kind: OpKind::Kernel, name: self.kernel, grid_x: 132, block_x: 128, ..Op::default() };
            self.op((start, free), 0, op, call);
            now += every;
        }
        now
    }

    /// Gradients are reduced: the kernel ends with those of all ranks, and the thread waits for it.
    pub(super) fn reduces(&mut self, now: Ns, end: Ns) {
        let call = self.call((now, now + 5_000), self.launch);
        let op = Op { kind: OpKind::Kernel, name: self.reduce, grid_x: 16, block_x: 640, ..Op::default() };
        self.op((now + 8_000, end), 1, op, call);
        self.call((now + 10_000, end + 6_000), self.synchronize);
        self.state((self.counted, now), ThreadState::Running, StackId::NONE, "");
        self.state((now, end + 6_000), ThreadState::Blocked, StackId::NONE, "");
    }

    pub(super) fn step(&mut self, step: usize, start: Ns, end: Ns) {
        let name = self.trace.strings.intern(&format!("ProfilerStep#{step}"));
        let (start, end) = (start + self.clock, end + self.clock);
        let range = Range { start, end, thread: self.main, kind: RangeKind::User, name, ..Range::default() };
        self.trace.ranges.push(range);
    }

    pub(super) fn done(mut self, now: Ns) -> Trace {
        self.state((self.counted, now), ThreadState::Running, StackId::NONE, "");
        self.trace
    }
}
