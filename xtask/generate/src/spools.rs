//! A made-up spool: what the processes of a recorded program leave behind.

mod full;
mod options;

use crate::random::Random;
pub use options::Options;
use options::STALL;
use spool::{ApiCall, Build, Call, Copy, Kernel, Level, Lock, Mode, Wait, call};
use std::path::Path;

/// Kernel's ids of the host threads.
const THREADS: [u32; 4] = [4711, 4712, 4713, 4714];
/// The thread of CUPTI that writes its records.
const CUPTI: u32 = 4720;
/// How long a stall's copy takes, ns.
const COPY: i64 = 5_000_000;
/// How long a launch of a convoy holds the mutex, ns.
const HELD: i64 = 1_900;

struct Spool {
    build: Build,
    random: Random,
    clock: i64,
    correlation: u32,
    events: u64,
    stalls: u64,
}

/// Makes the directory and one process's file in it; says what is in it.
pub fn generate(directory: &Path, options: &Options) -> std::io::Result<String> {
    let (build, events, stalls) = match options.full {
        0 => calls(options),
        threads => full::generate(options, threads),
    };
    std::fs::create_dir_all(directory)?;
    std::fs::write(directory.join(format!("{}-0{}", THREADS[0], spool::SUFFIX)), build.finish())?;
    Ok(format!("{events} events, {stalls} stalls\n"))
}

/// The file of a process with calls recorded by CUPTI, or of a convoy; the number of events and of stalls in it.
fn calls(options: &Options) -> (Build, u64, u64) {
    let random = Random::new(options.seed);
    let level = if options.convoy > 0 { Level::Light } else { Level::Calls };
    let build = Build::new(THREADS[0], level);
    let mut spool = Spool { build, random, clock: 1_000, correlation: 0, events: 0, stalls: 0 };
    while spool.events < options.events {
        match options.convoy {
            0 if spool.random.within(0, STALL) == 0 => spool.stall(),
            0 => spool.launch(),
            threads => spool.queue(threads),
        }
    }
    (spool.build, spool.events, spool.stalls)
}

impl Spool {
    /// A runtime call around a driver call; its correlation id.
    fn call(&mut self, tid: u32, names: [&str; 2], start: i64, end: i64) -> u32 {
        self.correlation += 1;
        for (runtime, name, start, end) in [(0, names[1], start + 300, end - 200), (1, names[0], start, end)]
        {
            let name = self.build.text(CUPTI, name);
            let call = ApiCall { start, end, correlation: self.correlation, tid, result: 0, runtime };
            self.build.record(CUPTI, ApiCall::KIND, name, &[call.bytes()]);
        }
        self.events += 2;
        self.correlation
    }

    /// A launch of about 4 µs and its kernel.
    fn launch(&mut self) {
        let tid = THREADS[self.random.within(0, THREADS.len() as i64) as usize];
        let (start, length) = (self.clock, self.random.within(3_000, 5_000));
        self.clock += length + 500;
        let names = ["cudaLaunchKernel_v7000", "cuLaunchKernel"];
        let correlation = self.call(tid, names, start, start + length);
        let kernel = format!("kernel_{}", self.random.skewed(300));
        let name = self.build.text(CUPTI, &kernel);
        let (start, stream) = (start + length + 2_000, 7 + tid - THREADS[0]);
        let kernel = Kernel {
            start,
            end: start + 2_500,
            correlation,
            context: 1,
            stream,
            grid_x: 5,
            grid_y: 1,
            grid_z: 1,
            block_x: 64,
            block_y: 1,
            block_z: 1,
            ..Kernel::default()
        };
        self.build.record(CUPTI, Kernel::KIND, name, &[kernel.bytes()]);
        self.events += 1;
    }

    /// A launch that waits for the launch mutex behind those of all other threads.
    fn queue(&mut self, threads: u32) {
        let thread = |turn: u64| THREADS[0] + (turn % u64::from(threads)) as u32;
        let (turn, others) = (self.stalls, u64::from(threads) - 1);
        let (tid, holder) = (thread(turn), thread(turn.saturating_sub(others)));
        let until = self.clock + HELD * others as i64;
        let function = self.build.text(tid, "cuLaunchKernel");
        let wait = Wait {
            start: self.clock + 200,
            end: until,
            lock: 0x7f00_2000,
            kind: Lock::Mutex as u32,
            mode: Mode::Exclusive as u32,
            holders: 1,
            holder,
            holder_function: function,
            holder_since: self.clock - 1_000,
            releaser: thread((turn + others).saturating_sub(1)),
            releaser_function: function,
            releaser_since: until - HELD * others as i64,
            function,
            since: self.clock,
        };
        let library = self.build.text(tid, "libcuda.so.1");
        self.build.record(tid, Wait::KIND, library, &[wait.bytes()]);
        let (stream, flags) = (u64::from(tid), call::HAS_STREAM);
        let call = Call { start: self.clock, end: until + HELD, stream, flags, ..Call::default() };
        self.build.record(tid, Call::KIND, function, &[call.bytes()]);
        self.clock += HELD + self.random.within(0, 100);
        self.events += 2;
        self.stalls += 1;
    }

    /// A pageable copy of one thread, and another's launch that waits for the lock it holds.
    fn stall(&mut self) {
        let [holder, waiter] = [THREADS[0], THREADS[1]];
        let (start, end) = (self.clock, self.clock + COPY);
        let correlation = self.call(holder, ["cudaMemcpyAsync_v3020", "cuMemcpyDtoHAsync_v2"], start, end);
        let copy = Copy {
            start: start + 9_000,
            end: end - 9_000,
            bytes: 8 << 20,
            correlation,
            context: 1,
            stream: 7,
            direction: 2,
            kinds: 3 | 1 << 16,
            ..Copy::default()
        };
        self.build.record(CUPTI, Copy::KIND, 0, &[copy.bytes()]);
        self.call(waiter, ["cudaLaunchKernel_v7000", "cuLaunchKernel"], start + 50_000, end + 2_000);
        let library = self.build.text(waiter, "libcuda.so.1");
        let wait = Wait {
            start: start + 51_000,
            end: end - 300,
            lock: 0x7f00_1000,
            kind: Lock::Rwlock as u32,
            mode: Mode::Exclusive as u32,
            holders: 1,
            holder,
            holder_function: self.build.text(holder, "cuMemcpyDtoHAsync"),
            holder_since: start + 200,
            releaser: holder,
            releaser_function: self.build.text(holder, "cuMemcpyDtoHAsync"),
            releaser_since: start + 200,
            function: self.build.text(waiter, "cuLaunchKernel"),
            since: start + 50_200,
        };
        self.build.record(waiter, Wait::KIND, library, &[wait.bytes()]);
        self.clock = end + 10_000;
        self.events += 2;
        self.stalls += 1;
    }
}
