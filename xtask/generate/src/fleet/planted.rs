//! Why the late rank is late.

use super::made::Made;
use trace::*;

/// Cause that makes a rank late.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Plant {
    /// Nothing.
    None,
    /// It computes on the host.
    HostCode,
    /// It reads a file.
    Blocked,
    /// It is ready and has no processor.
    NoCpu,
    /// It waits for Python's lock.
    Gil,
    /// It waits for a mutex of the program.
    Lock,
    /// It waits for a copy from pageable memory.
    Pageable,
    /// It allocates device memory.
    Allocation,
    /// Its kernels take longer.
    Slow,
}

impl Plant {
    /// The cause that explains it.
    pub(crate) fn cause(self) -> &'static str {
        match self {
            Plant::None => "",
            Plant::HostCode => "host-code",
            Plant::Blocked => "blocked",
            Plant::NoCpu => "no-cpu",
            Plant::Gil => "gil",
            Plant::Lock => "lock",
            Plant::Pageable => "pageable-staging",
            Plant::Allocation => "allocation",
            Plant::Slow => "collective-wait",
        }
    }

    /// A part of the place or the call.
    pub(crate) fn place(self) -> &'static str {
        match self {
            Plant::None | Plant::Slow => "",
            Plant::HostCode => "augment.py:52",
            Plant::Blocked => "reader.py:17",
            Plant::NoCpu => "augment.py:52",
            Plant::Gil | Plant::Lock => "writer.py:88",
            Plant::Pageable => "cuMemcpyHtoDAsync",
            Plant::Allocation => "cuMemAlloc",
        }
    }
}

/// The late rank's trace.
pub(super) struct Culprit<'a> {
    pub made: &'a mut Made,
}

impl Culprit<'_> {
    /// Adds what makes it late in a step.
    pub fn add(&mut self, plant: Plant, now: Ns, ns: Ns) {
        let time = (now, now + ns);
        match plant {
            Plant::None => {}
            Plant::HostCode => self.does(time, ThreadState::Running, ("augment.py", 52, "augment"), ""),
            Plant::Blocked => self.does(time, ThreadState::Blocked, ("reader.py", 17, "read_shard"), "read"),
            Plant::NoCpu => self.does(time, ThreadState::Runnable, ("augment.py", 52, "augment"), ""),
            Plant::Gil => self.waits(time, LockKind::Gil, LockLayer::Interpreter),
            Plant::Lock => self.waits(time, LockKind::Mutex, LockLayer::Program),
            Plant::Pageable => self.copies(time),
            Plant::Allocation => self.allocates(time),
            Plant::Slow => self.computes(time),
        }
    }

    fn does(&mut self, time: (Ns, Ns), did: ThreadState, place: (&str, u32, &str), call: &str) {
        let stack = self.made.stack(place.0, place.1, place.2);
        self.made.state(time, did, stack, call);
    }

    /// Another thread holds a lock.
    fn waits(&mut self, (from, to): (Ns, Ns), kind: LockKind, layer: LockLayer) {
        let (stack, holder) =
            (self.made.stack("augment.py", 52, "augment"), self.made.stack("writer.py", 88, "checkpoint"));
        let clock = self.made.clock;
        let wait = Wait {
            start: from + 1_000 + clock,
            end: to - 1_000 + clock,
            thread: self.made.main,
            lock: 0x7f00,
            kind,
            mode: LockMode::Exclusive,
            holder: self.made.other,
            holders: 1,
            releaser: self.made.other,
            layer,
            handoff: 1_000,
            stack,
            holder_stack: holder,
            releaser_stack: holder,
            ..Wait::default()
        };
        self.made.trace.waits.push(wait);
        let other = self.made.other;
        self.made.state((from, to), ThreadState::Blocked, stack, "futex");
        let row = State {
            start: from + clock,
            end: to + clock,
            thread: other,
            running: to - from,
            runnable: 0,
            state: ThreadState::Running,
            call: Sym::EMPTY,
            object: 0,
        };
        self.made.trace.states.push(row);
        let sample =
            Sample { at: from + clock + 10_000, thread: other, stack: holder, state: ThreadState::Running };
        self.made.trace.samples.push(sample);
    }

    /// A copy is staged on the host before the GPU gets it.
    fn copies(&mut self, (from, to): (Ns, Ns)) {
        let name = self.made.trace.strings.intern("cuMemcpyHtoDAsync");
        let call = self.made.call((from + 1_000, to - 1_000), name);
        let op = Op {
            kind: OpKind::Copy,
            bytes: 40 << 20,
            copy: CopyKind::HtoD,
            src: MemoryKind::Pageable,
            dst: MemoryKind::Device,
            ..Op::default()
        };
        self.made.op((from + 20_000, to - 4_000), 0, op, call);
    }

    fn allocates(&mut self, (from, to): (Ns, Ns)) {
        let name = self.made.trace.strings.intern("cuMemAlloc");
        self.made.call((from + 1_000, to - 1_000), name);
    }

    /// A kernel more, as long as the rank is late.
    fn computes(&mut self, (from, to): (Ns, Ns)) {
        let call = self.made.call((from - 5_000, from), self.made.launch);
        let op = Op { kind: OpKind::Kernel, name: self.made.kernel, grid_x: 132, ..Op::default() };
        self.made.op((from, to), 0, op, call);
    }
}
