//! Measures the time of listings of a million rows: `cargo bench -p holdup-report`

use report::listing::{Format, Order, calls, ops};
use std::io::{self, Write};
use std::time::Instant;
use trace::{Api, Call, Op, OpKind, Selection, Thread, Trace};

/// A writer that only counts bytes, like a pipe with a fast reader.
struct Counter(usize);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn million() -> Trace {
    let mut trace = Trace::default();
    let thread = trace.threads.push(Thread { tid: 7, ..Thread::default() });
    let launch = trace.strings.intern("cudaLaunchKernel");
    let kernels: Vec<_> =
        (0..200).map(|at| trace.strings.intern(&format!("void kernel_{at}<float, 4>(int)"))).collect();
    for at in 0..1_000_000i64 {
        let (start, correlation) = (at * 7_919, at + 1);
        let (api, name) = (Api::Runtime, launch);
        trace.calls.push(Call {
            start,
            end: start + 5_123,
            thread,
            api,
            name,
            correlation,
            ..Call::default()
        });
        trace.ops.push(Op {
            start: start + 9_000,
            end: start + 12_345,
            kind: OpKind::Kernel,
            name: kernels[at as usize % kernels.len()],
            correlation,
            grid_x: 1_024,
            block_x: 128,
            registers: 32,
            ..Op::default()
        });
    }
    trace.join();
    trace
}

fn main() {
    let trace = million();
    let all = Selection::default();
    for format in [Format::Text(None), Format::Csv, Format::Json] {
        let (started, mut bytes) = (Instant::now(), Counter(0));
        calls(&trace, &all, Order::default(), format, &mut bytes).expect("takes all");
        println!("calls {format:?}: {:?}, {} bytes", started.elapsed(), bytes.0);
        let (started, mut bytes) = (Instant::now(), Counter(0));
        ops(&trace, &all, Order::default(), format, &mut bytes).expect("takes all");
        println!("ops {format:?}: {:?}, {} bytes", started.elapsed(), bytes.0);
    }
    let started = Instant::now();
    report::stats::build(&trace, "a", &report::stats::Options::default());
    println!("stats: {:?}", started.elapsed());
}
