//! The measurements of calls: sums, and a Trace.

use crate::driver::{Standin, assert_is};
use crate::processes::{processes, ran};
use crate::support::every_call;
use workload::Kernel;

#[test]
fn calls_of_bodies_are_counted_when_they_are_timed() {
    let workload = processes(2, |number, thread, stream| {
        thread.before().launch(Kernel::Empty, 1, 1, stream);
        thread
            .body()
            .repeat(7, |steps| {
                steps.launch(Kernel::Empty, 1, 1, stream);
            })
            .synchronize(stream);
        // The stand-in's kernels are carried out when they are launched: one thread's are stalls of 2 ms.
        thread.body().launch(Kernel::Delay { cycles: number as u64 * 2_000_000 }, 1, 1, stream);
        thread.repeat = workload::Repeat::Times(3);
    });
    let standin = Standin::new();
    assert!(ran(&workload, &standin).outcome.threads.iter().all(|thread| thread.calls.is_empty()));
    for trace in [false, true] {
        let options = gpu::Options { timed: true, trace, ..standin.options() };
        let run = gpu::run(&workload, &options).unwrap_or_else(|error| panic!("{error}"));
        for (number, thread) in run.outcome.threads.iter().enumerate() {
            let counts: Vec<_> = thread.calls.iter().map(|call| (call.name, call.count)).collect();
            assert_eq!(counts, [("cuLaunchKernel", 24), ("cuStreamSynchronize", 3)]);
            let launches = &thread.calls[0];
            assert!(
                launches.max_ns <= launches.total_ns && launches.total_ns <= thread.elapsed_ns,
                "{thread:?}"
            );
            let stalls = number as u64 * 3 * 2_000_000;
            assert!(launches.stalled_ns >= stalls && launches.max_ns >= stalls / 3, "{thread:?}");
        }
    }
}

#[test]
fn every_call_is_in_the_trace_with_its_arguments() {
    let standin = Standin::new();
    let mut workload = every_call();
    workload.processes[0].threads[0].repeat = workload::Repeat::Times(1);
    let options = gpu::Options { trace: true, ..standin.options() };
    let run = gpu::run(&workload, &options).unwrap_or_else(|error| panic!("{error}"));
    let trace = stored_and_read(&run.trace.expect("it was asked for"));
    let mut arguments = vec![String::new(); trace.calls.len()];
    for row in trace.arguments.ids().map(|argument| trace.arguments.row(argument)) {
        let stream = row
            .stream
            .some()
            .map_or(String::new(), |row| format!(" stream {}", trace.streams.number[row.index()]));
        let copy = match (row.bytes, row.copy) {
            (0, _) => String::new(),
            (bytes, trace::CopyKind::Unknown) => format!(" {bytes} {}", row.dst),
            (bytes, copy) => format!(" {bytes} {copy} {} to {}", row.src, row.dst),
        };
        arguments[row.call.index()] = copy + &stream;
    }
    let call = |(at, name): (usize, &trace::Sym)| format!("{}{}\n", trace.text(*name), arguments[at]);
    let calls: String = trace.calls.name.iter().enumerate().map(call).collect();
    assert_is("every-call-trace", &calls);
    assert!(trace.calls.start.is_sorted() && trace.calls.start[0] == 0);
    assert_eq!(trace.text(trace.threads.name[0]), "all");
    assert_eq!(trace.text(trace.devices.name[0]), "Stand-in 0");
    assert_eq!(
        (trace.meta.source.as_str(), trace.meta.driver.contains("CUDA 13.0")),
        (trace::Source::HOLDUP.id, true)
    );
}

/// The trace read back from a file, which checks its rows.
fn stored_and_read(trace: &trace::Trace) -> trace::Trace {
    let mut bytes = std::io::Cursor::new(Vec::new());
    trace::write(trace, &mut bytes).expect("it can be written");
    trace::read(bytes.into_inner()).expect("it can be read")
}
