//! A process at level full: the short forms of calls, chunks as the capture library makes them, and operations as CUPTI
//! delivers them, in the order in which they end. Nothing but their order joins them with their calls.

use super::options::{Options, STALL};
use crate::random::Random;
use spool::{
    BriefCall, Build, Call, Clock, Copy, Device, Fill, Kernel, Level, Lock, Mode, NumberedCall, OuterCall,
    StreamNumber, Wait, call, grid_fact,
};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Kernel's id of the first thread; the process's id, too.
const FIRST: u32 = 4711;
/// Ticks of a microsecond: those of a processor at 2.1 GHz.
const RATE: i64 = 2_100;
/// Ticks at time 0 of `CLOCK_MONOTONIC`.
const BEGAN: i64 = 1 << 50;
/// Time between two readings of both clocks, ns: as the capture library has it.
const READING: i64 = 100_000_000;
/// Largest chunk, bytes. The first is [`spool::ALIGN`], each further one four times the last: as the capture library has it.
const LARGEST: usize = 4 << 20;
/// Average time between two calls of a thread, ns.
const PACE: i64 = 20_000;
/// How long a stall lasts, ns.
const STALLED: i64 = 2_000_000;

struct Process {
    build: Build,
    random: Random,
    threads: Vec<Thread>,
    /// The thread with the earliest next call.
    next: BinaryHeap<Reverse<(i64, usize)>>,
    /// Operations that CUPTI has not delivered: when they end, and their number.
    running: BinaryHeap<Reverse<(i64, u32)>>,
    /// The records of the operations that are running, by number modulo their count.
    records: Vec<Operation>,
    correlation: u32,
    events: u64,
    stalls: u64,
    read: i64,
    names: Names,
}

struct Thread {
    tid: u32,
    stream: u64,
    /// Until when its stream is busy, ns.
    busy: i64,
    /// When the last call returned, ticks; 0 in a new chunk.
    last: i64,
    /// Bytes of its current chunk.
    room: usize,
}

/// The texts' numbers.
struct Names {
    launch: [u32; 2],
    copy: [u32; 2],
    fill: [u32; 2],
    wait: [u32; 2],
    library: u32,
    kernels: Vec<u32>,
}

#[derive(Clone, Copy)]
enum Operation {
    Kernel(u32, Kernel),
    Copy(Copy),
    Fill(Fill),
}

/// The most operations that run at a time, more than all streams together can have.
const RUNNING: usize = 1 << 16;

/// The file of such a process, the number of events and of stalls in it.
pub(super) fn generate(options: &Options, threads: u32) -> (Build, u64, u64) {
    let mut process = Process::new(options.seed, threads);
    while process.events < options.events {
        process.step();
    }
    process.deliver(i64::MAX);
    let Process { build, events, stalls, .. } = process;
    (build, events, stalls)
}

fn ticks(ns: i64) -> i64 {
    BEGAN + ns * RATE / 1_000
}

impl Names {
    fn new(build: &mut Build) -> Names {
        let mut text = |name: &str| build.text(FIRST, name);
        Names {
            launch: [text("cuLaunchKernel"), text("cudaLaunchKernel_v7000")],
            copy: [text("cuMemcpyHtoDAsync_v2"), text("cudaMemcpyAsync_v3020")],
            fill: [text("cuMemsetD8Async"), text("cudaMemsetAsync_v3020")],
            wait: [text("cuStreamSynchronize"), text("cudaStreamSynchronize_v3020")],
            library: text("libcuda.so.1"),
            kernels: (0..300).map(|number| text(&format!("kernel_{number}"))).collect(),
        }
    }
}

impl Process {
    fn new(seed: u64, threads: u32) -> Process {
        let mut build = Build::new(FIRST, Level::Full);
        let name = build.text(FIRST, "NVIDIA H200");
        let device = Device {
            compute_major: 9,
            multiprocessors: 132,
            copy_engines: 3,
            memory: 141 << 30,
            ..Device::default()
        };
        build.record(FIRST, Device::KIND, name, &[device.bytes()]);
        let names = Names::new(&mut build);
        let mut next = BinaryHeap::new();
        let threads = (0..threads).map(|number| {
            let stream = 0x5500_0000_0000 + u64::from(number) * 0x4e0;
            let tid = FIRST + number;
            let known = StreamNumber { stream, at: ticks(1_000), context: 1, tid: 0 };
            build.record(tid, StreamNumber::KIND, 13 + number, &[known.bytes()]);
            next.push(Reverse((1_000_000 + i64::from(number) * 1_000, number as usize)));
            Thread { tid, stream, busy: 0, last: 0, room: spool::ALIGN as usize }
        });
        let threads: Vec<_> = threads.collect();
        Process {
            build,
            random: Random::new(seed),
            threads,
            next,
            running: BinaryHeap::new(),
            records: vec![Operation::Fill(Fill::default()); RUNNING],
            correlation: 0,
            events: 0,
            stalls: 0,
            read: 0,
            names,
        }
    }

    /// The thread whose turn it is makes its next call.
    fn step(&mut self) {
        let Some(Reverse((now, number))) = self.next.pop() else { return };
        self.readings(now);
        self.deliver(now);
        self.make_room(number);
        let end = match self.random.within(0, 1_000) {
            0 if self.random.within(0, STALL) < 300 => self.stall(number, now),
            0..930 => self.launch(number, now),
            930..970 => self.copy(number, now),
            970..980 => self.fill(number, now),
            _ => self.wait(number, now),
        };
        let pause = PACE / 2 + self.random.within(0, PACE);
        self.next.push(Reverse((end + pause, number)));
    }

    /// Records of both clocks up to a time.
    fn readings(&mut self, now: i64) {
        while self.read <= now {
            let clock = Clock { ticks: ticks(self.read), ns: self.read };
            self.build.record(FIRST, Clock::KIND, 0, &[clock.bytes()]);
            self.read += READING;
        }
    }

    /// Ends a thread's chunk if it is full.
    fn make_room(&mut self, number: usize) {
        let thread = &mut self.threads[number];
        if self.build.used(thread.tid) + 512 > thread.room {
            self.build.end_chunk(thread.tid);
            thread.room = LARGEST.min(thread.room * 4);
            thread.last = 0;
        }
    }

    /// A call of the driver within one of the runtime, as briefly as it can be recorded; when it ends.
    fn call(&mut self, number: usize, names: [u32; 2], start: i64, length: i64, record: Call) -> i64 {
        let thread = &mut self.threads[number];
        let (entered, returned) = (ticks(start + 300), ticks(start + length - 200));
        let (gap, duration) = (entered - thread.last, returned - entered);
        let brief = (thread.last > 0 && gap < 1 << 24 && duration < 1 << 24 && record.bytes == 0).then_some(
            BriefCall {
                function: names[0],
                gap: gap as u32,
                duration: duration as u32,
                flags: record.flags & call::HAS_STREAM,
            },
        );
        match (brief, record.correlation, record.fact) {
            (None, ..) => {
                let whole = Call { start: entered, end: returned, ..record };
                self.build.record(thread.tid, Call::KIND, names[0], &[whole.bytes()]);
            }
            (Some(brief), 0, 0) => self.build.brief(thread.tid, brief),
            (Some(brief), 0, fact) => self.build.brief_with(thread.tid, fact, brief),
            (Some(brief), id, _) => self.build.brief_behind(thread.tid, NumberedCall::head(id), brief),
        }
        thread.last = ticks(start + length);
        let (back, tail) = ((returned - ticks(start)) as u32, (thread.last - returned) as u32);
        if duration < 1 << 23 {
            self.build.outer(thread.tid, OuterCall { function: names[1], back, tail });
        } else {
            let whole = Call { start: ticks(start), end: thread.last, ..Call::default() };
            self.build.record(thread.tid, Call::KIND, names[1], &[whole.bytes()]);
        }
        self.events += 2;
        start + length
    }

    /// When the next operation of a thread's stream runs, ns.
    fn runs(&mut self, number: usize, issued: i64, length: i64) -> (i64, i64) {
        let thread = &mut self.threads[number];
        let start = thread.busy.max(issued + 2_000);
        thread.busy = start + length;
        (start, start + length)
    }

    fn operation(&mut self, end: i64, operation: Operation) {
        self.records[self.correlation as usize % RUNNING] = operation;
        self.running.push(Reverse((end, self.correlation)));
        self.events += 1;
    }

    /// A launch of about 4 µs and its kernel; one in 100 has the number that CUPTI told.
    fn launch(&mut self, number: usize, now: i64) -> i64 {
        let length = self.random.within(3_000, 5_000);
        self.correlation += 1;
        let grid_x = 1 + self.random.skewed(64) as u32;
        let is_told = self.random.chance(1);
        let record = Call {
            flags: call::HAS_STREAM,
            stream: self.threads[number].stream,
            fact: if is_told { 0 } else { grid_fact([grid_x, 1, 1, 128, 1, 1]) },
            correlation: if is_told { self.correlation } else { 0 },
            ..Call::default()
        };
        let returns = self.call(number, self.names.launch, now, length, record);
        let takes = self.random.within(1_500, 9_000);
        let (start, end) = self.runs(number, now + 300, takes);
        let name = self.names.kernels[self.random.skewed(300)];
        let kernel = Kernel {
            start,
            end,
            correlation: self.correlation,
            context: 1,
            stream: 13 + number as u32,
            grid_x,
            grid_y: 1,
            grid_z: 1,
            block_x: 128,
            block_y: 1,
            block_z: 1,
            registers: 16 + name % 48,
            ..Kernel::default()
        };
        self.operation(end, Operation::Kernel(name, kernel));
        returns
    }

    fn copy(&mut self, number: usize, now: i64) -> i64 {
        self.correlation += 1;
        let bytes = 4_096 << self.random.within(0, 6);
        let kinds = 2 << call::SOURCE_SHIFT | 3 << call::TARGET_SHIFT;
        let flags = call::HAS_STREAM | kinds | 1;
        let record = Call { flags, bytes, stream: self.threads[number].stream, ..Call::default() };
        let length = self.random.within(4_000, 8_000);
        let returns = self.call(number, self.names.copy, now, length, record);
        let (start, end) = self.runs(number, now + 300, 1_500 + bytes as i64 / 25);
        let copy = Copy {
            start,
            end,
            bytes,
            correlation: self.correlation,
            context: 1,
            stream: 13 + number as u32,
            direction: 1,
            kinds: 2 | 3 << 16,
            ..Copy::default()
        };
        self.operation(end, Operation::Copy(copy));
        returns
    }

    fn fill(&mut self, number: usize, now: i64) -> i64 {
        self.correlation += 1;
        let bytes = 1_024;
        let flags = call::HAS_STREAM | 3 << call::TARGET_SHIFT;
        let record = Call { flags, bytes, stream: self.threads[number].stream, ..Call::default() };
        let length = self.random.within(3_000, 5_000);
        let returns = self.call(number, self.names.fill, now, length, record);
        let (start, end) = self.runs(number, now + 300, 1_300);
        let (correlation, stream) = (self.correlation, 13 + number as u32);
        let fill = Fill { start, end, bytes, correlation, context: 1, stream, memory: 3, ..Fill::default() };
        self.operation(end, Operation::Fill(fill));
        returns
    }

    /// A synchronization with the thread's stream.
    fn wait(&mut self, number: usize, now: i64) -> i64 {
        let length = (self.threads[number].busy - now).max(0) + 3_000;
        let record = Call { flags: call::HAS_STREAM, stream: self.threads[number].stream, ..Call::default() };
        self.call(number, self.names.wait, now, length, record)
    }

    /// A launch that waits for a mutex that the next thread's launch holds.
    fn stall(&mut self, number: usize, now: i64) -> i64 {
        let holder = self.threads[(number + 1) % self.threads.len()].tid;
        let function = self.names.launch[0];
        let until = now + STALLED - 3_000;
        let wait = Wait {
            start: ticks(now + 500),
            end: ticks(until),
            lock: 0x7f00_2000,
            kind: Lock::Mutex as u32,
            mode: Mode::Exclusive as u32,
            holders: 1,
            holder,
            holder_function: function,
            holder_since: ticks(now - 1_000),
            releaser: holder,
            releaser_function: function,
            releaser_since: ticks(until - 1_000),
            function,
            since: ticks(now + 300),
        };
        let tid = self.threads[number].tid;
        self.build.record(tid, Wait::KIND, self.names.library, &[wait.bytes()]);
        let record = Call { flags: call::HAS_STREAM, stream: self.threads[number].stream, ..Call::default() };
        self.correlation += 1;
        self.stalls += 1;
        self.events += 1;
        let returns = self.call(number, self.names.launch, now, STALLED, record);
        let (start, end) = self.runs(number, returns - 1_000, 2_500);
        let (correlation, stream) = (self.correlation, 13 + number as u32);
        let kernel = Kernel { start, end, correlation, context: 1, stream, grid_x: 1, ..Kernel::default() };
        self.operation(end, Operation::Kernel(self.names.kernels[0], kernel));
        returns
    }

    /// CUPTI's thread writes the operations that ended before a time.
    fn deliver(&mut self, now: i64) {
        // CUPTI's own thread.
        let tid = FIRST + 1_000_000;
        while let Some(Reverse((end, number))) = self.running.peek().copied()
            && end < now
        {
            self.running.pop();
            if self.build.used(tid) + 512 > LARGEST {
                self.build.end_chunk(tid);
            }
            match &self.records[number as usize % RUNNING] {
                Operation::Kernel(name, kernel) => {
                    self.build.record(tid, Kernel::KIND, *name, &[kernel.bytes()]);
                }
                Operation::Copy(copy) => self.build.record(tid, Copy::KIND, 0, &[copy.bytes()]),
                Operation::Fill(fill) => self.build.record(tid, Fill::KIND, 0, &[fill.bytes()]),
            }
        }
    }
}
