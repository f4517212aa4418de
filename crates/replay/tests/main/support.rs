//! Replays a trace.

use replay::{Fit, Recovered, recover};
use sim::Replayed;
use std::path::Path;
use trace::{Context, Device, Process, Stream, StreamId, Thread, ThreadId, Trace};

/// Recovers the steps of a trace, and replays them.
pub fn replayed(trace: &Trace) -> (Recovered, Replayed) {
    let recovered = recover(trace).unwrap();
    let replayed = recovered.replay().unwrap();
    (recovered, replayed)
}

pub fn fit(trace: &Trace) -> Fit {
    let (recovered, replayed) = replayed(trace);
    Fit::of(trace, &recovered, &replayed)
}

/// Compares fits with `tests/data/FILE`: one line each, with the difference of the wall time and the greatest difference, both in
/// percent of the trace's time.
pub fn expect(file: &str, fits: &[(String, Fit)]) {
    let width = fits.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, fit) in fits {
        let (wall, error) = (100.0 * fit.wall_error, 100.0 * fit.error);
        let fits = if fit.fits { "fits" } else { "does not fit" };
        text.push_str(&format!("{name:width$} {wall:+7.2} {error:6.2}  {fits}"));
        if fit.given_up > 0 {
            text.push_str(&format!(", {} given up", fit.given_up));
        }
        text.push('\n');
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(file);
    expect_test::expect_file![path].assert_eq(&text);
}

/// Adds a thread to another one's process, and a stream beside that one's. Streams of their device run beside each other.
pub fn add_beside(trace: &mut Trace, thread: ThreadId, stream: StreamId) -> (ThreadId, StreamId) {
    let process = trace.threads.process[thread.index()];
    let context = trace.streams.context[stream.index()];
    let device = trace.contexts.device[context.index()];
    trace.devices.compute_major[device.index()] = 9;
    let stream = trace.streams.push(Stream { context, number: 8 });
    (trace.threads.push(Thread { process, tid: 1 + trace.threads.len() as i64, ..Thread::default() }), stream)
}

/// Adds a process of this number with one thread, and a device of its own with one stream.
pub fn add_process(trace: &mut Trace, pid: i64) -> (ThreadId, StreamId) {
    let device = trace.devices.push(Device { ordinal: pid - 1, multiprocessors: 132, ..Device::default() });
    let process = trace.processes.push(Process { pid, ..Process::default() });
    let context = trace.contexts.push(Context { process, device, number: 1 });
    let stream = trace.streams.push(Stream { context, number: 7 });
    (trace.threads.push(Thread { process, tid: pid, ..Thread::default() }), stream)
}
