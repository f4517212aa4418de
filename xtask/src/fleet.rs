//! Makes up the traces of a distributed program's ranks: `.holdup` files, in which one rank is late for a known reason.
//!
//! Every rank launches kernels and then reduces gradients with all others, in each step. A trace is a function of the options
//! and its rank's number, so that any part of the ranks can be made at any time, anywhere.

mod planted;

use crate::random::Random;
use planted::Culprit;
pub(crate) use planted::Plant;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use trace::*;

/// Options of the ranks to make up.
pub(crate) struct Options {
    /// Ranks of the program.
    pub(crate) ranks: i64,
    /// Ranks whose traces are written.
    pub(crate) some: std::ops::Range<i64>,
    /// About how many events a trace has: calls and operations.
    pub(crate) events: usize,
    /// Seed of everything in them.
    pub(crate) seed: u64,
    /// Why the late rank is late.
    pub(crate) plant: Plant,
    /// The late rank.
    pub(crate) late: i64,
    /// How late it is in each step, ns.
    pub(crate) late_ns: Ns,
    /// The rank whose clock jumps by 5 ms in the middle; none if it is no rank.
    pub(crate) jumps: i64,
}

/// Kernels of a step.
const KERNELS: usize = 244;

/// Events of a step besides: a range, the collective with its launch, a synchronization.
const OTHERS: usize = 4;

/// Time from one launch to the next, of a launch and of a kernel, ns.
const LAUNCH: (Ns, Ns, Ns) = (12_000, 4_000, 9_000);

/// Time of a collective from the start of the last rank, ns.
const REDUCES: Ns = 250_000;

/// Time in which all ranks load data, and the most by which ranks differ there, ns.
const LOADS: (Ns, Ns) = (300_000, 40_000);

/// GPUs of a machine.
const GPUS: i64 = 8;

/// Writes the traces into a folder, and returns what is in them as one JSON object.
pub(crate) fn generate(folder: &Path, options: &Options) -> io::Result<String> {
    std::fs::create_dir_all(folder)?;
    let steps = (options.events / (2 * KERNELS + OTHERS)).max(4);
    for rank in options.some.clone() {
        let trace = rank_trace(options, rank, steps);
        let path = folder.join(format!("rank{rank}.holdup"));
        let mut file = BufWriter::new(File::create(path)?);
        trace::write(&trace, &mut file).map_err(io::Error::other)?;
        file.into_inner()?.sync_all().ok();
    }
    let Options { ranks, late, late_ns, jumps, .. } = options;
    let (cause, place) = (options.plant.cause(), options.plant.place());
    Ok(format!(
        "{{\"ranks\": {ranks}, \"written\": {}, \"steps\": {steps}, \"events\": {}, \"late\": {late}, \"late_ns\": {late_ns}, \
         \"cause\": \"{cause}\", \"place\": \"{place}\", \"jumps\": {jumps}}}\n",
        options.some.end - options.some.start,
        steps * (2 * KERNELS + OTHERS),
    ))
}

/// A rank's clock: by how much it is ahead, ns.
fn ahead(options: &Options, rank: i64) -> Ns {
    Random::new(options.seed ^ 0x5eed ^ (rank as u64) << 20).within(-3_000_000, 3_000_000)
}

/// The trace of a rank.
fn rank_trace(options: &Options, rank: i64, steps: usize) -> Trace {
    let mut made = Made::new(options, rank);
    let mut random = Random::new(options.seed.wrapping_mul(31).wrapping_add(rank as u64));
    let is_late = rank == options.late && options.plant != Plant::None;
    // All ranks end a step together: when the late one has begun, or the slowest of the others.
    let (mut now, slowest) = (1_000_000, LOADS.0 + LOADS.1);
    for step in 0..steps {
        if rank == options.jumps && step == steps / 2 {
            made.clock += 5_000_000;
        }
        let begun = now;
        let loads = LOADS.0 + random.within(0, LOADS.1);
        made.loads(now, loads);
        now += loads;
        if is_late {
            Culprit { made: &mut made }.add(options.plant, now, options.late_ns);
            now += options.late_ns;
        }
        let issued = made.kernels(now);
        let waited = if options.plant == Plant::None { 0 } else { options.late_ns.max(0) };
        let end = begun + slowest + waited + LAUNCH.0 * KERNELS as Ns + LAUNCH.2 + REDUCES;
        made.reduces(issued, end + random.within(0, 8_000));
        now = end + 60_000;
        made.step(step, begun, now - 2_000);
    }
    made.done(now)
}

/// A trace that is being made.
struct Made {
    trace: Trace,
    main: ThreadId,
    other: ThreadId,
    streams: [StreamId; 2],
    correlation: i64,
    /// To add to all times, ns.
    clock: Ns,
    kernel: Sym,
    reduce: Sym,
    launch: Sym,
    synchronize: Sym,
    /// Where data is loaded.
    loading: StackId,
    /// Until when the scheduler's numbers are known, ns.
    counted: Ns,
}

impl Made {
    fn new(options: &Options, rank: i64) -> Made {
        let mut trace = Trace::default();
        let meta = &mut trace.meta;
        (meta.rank, meta.world_size) = (Some(rank), Some(options.ranks));
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
            clock: ahead(options, rank),
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

    fn stack(&mut self, file: &str, line: u32, function: &str) -> StackId {
        let (file, function) = (self.trace.strings.intern(file), self.trace.strings.intern(function));
        let frame = self.trace.frames.push(Frame { function, file, line, ..Frame::default() });
        self.trace.stacks.push(Stack { frame, caller: StackId::NONE })
    }

    fn call(&mut self, (start, end): (Ns, Ns), name: Sym) -> (CallId, i64) {
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

    fn op(&mut self, (start, end): (Ns, Ns), stream: usize, op: Op, (call, correlation): (CallId, i64)) {
        let (start, end) = (start + self.clock, end + self.clock);
        let stream = self.streams[stream];
        self.trace.ops.push(Op { start, end, stream, call, correlation, ..op });
    }

    /// Adds a state of the main thread as the scheduler counted it, and the places where samples found it.
    fn state(&mut self, (from, to): (Ns, Ns), did: ThreadState, stack: StackId, call: &str) {
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
    fn loads(&mut self, now: Ns, ns: Ns) {
        self.state((now, now + ns), ThreadState::Running, self.loading, "");
    }

    /// Kernels are launched one after another; returns when the last is done.
    fn kernels(&mut self, mut now: Ns) -> Ns {
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
    fn reduces(&mut self, now: Ns, end: Ns) {
        let call = self.call((now, now + 5_000), self.launch);
        let op = Op { kind: OpKind::Kernel, name: self.reduce, grid_x: 16, block_x: 640, ..Op::default() };
        self.op((now + 8_000, end), 1, op, call);
        self.call((now + 10_000, end + 6_000), self.synchronize);
        self.state((self.counted, now), ThreadState::Running, StackId::NONE, "");
        self.state((now, end + 6_000), ThreadState::Blocked, StackId::NONE, "");
    }

    fn step(&mut self, step: usize, start: Ns, end: Ns) {
        let name = self.trace.strings.intern(&format!("ProfilerStep#{step}"));
        let (start, end) = (start + self.clock, end + self.clock);
        let range = Range { start, end, thread: self.main, kind: RangeKind::User, name, ..Range::default() };
        self.trace.ranges.push(range);
    }

    fn done(mut self, now: Ns) -> Trace {
        self.state((self.counted, now), ThreadState::Running, StackId::NONE, "");
        self.trace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(plant: Plant, jumps: i64) -> Options {
        let (ranks, seed, late, late_ns) = (4, 7, 2, 3_000_000);
        Options { ranks, some: 0..4, events: 5_000, seed, plant, late, late_ns, jumps }
    }

    /// When a rank's collectives begin and end, ns.
    fn reduced(options: &Options, rank: i64) -> Vec<(Ns, Ns)> {
        let trace = rank_trace(options, rank, 10);
        let ops = trace.ops.ids().map(|op| trace.ops.row(op));
        ops.filter(|op| trace.text(op.name).starts_with("nccl")).map(|op| (op.start, op.end)).collect()
    }

    #[test]
    fn a_trace_is_a_function_of_its_options_and_can_be_read() {
        for plant in [Plant::HostCode, Plant::Gil, Plant::Pageable, Plant::Allocation] {
            let write = || {
                let mut file = io::Cursor::new(Vec::new());
                trace::write(&rank_trace(&options(plant, -1), 2, 10), &mut file).expect("written");
                file.into_inner()
            };
            assert!(write() == write());
            let read = trace::read(write()).expect("a trace that keeps the rules");
            assert_eq!((read.meta.rank, read.meta.world_size), (Some(2), Some(4)));
        }
    }

    #[test]
    fn collectives_end_together_and_one_rank_is_late() {
        for plant in [Plant::None, Plant::Blocked, Plant::Slow] {
            let made = options(plant, -1);
            let [first, late] = [0, 2].map(|rank| reduced(&made, rank));
            let clocks = late[0].1 - first[0].1;
            for (one, other) in first.iter().zip(&late) {
                assert!((other.1 - one.1 - clocks).abs() <= 16_000);
                let waited = (other.0 - one.0 - clocks) - if plant == Plant::None { 0 } else { made.late_ns };
                assert!(waited.abs() <= LOADS.1 + 16_000, "{waited}");
            }
        }
    }

    #[test]
    fn a_clock_jumps_in_the_middle() {
        let [steady, jumping] = [-1, 0].map(|jumps| reduced(&options(Plant::None, jumps), 0));
        let apart: Vec<Ns> = jumping.iter().zip(&steady).map(|(one, other)| one.1 - other.1).collect();
        assert_eq!(apart, [[0; 5], [5_000_000; 5]].concat());
    }
}
