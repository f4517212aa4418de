//! Checks that every fuzz target makes of a trace from its input.

pub mod database;

use std::io::Cursor;
use std::path::Path;
use trace::Trace;

/// Explains the trace and checks what must hold of any trace.
pub fn understand(trace: &Trace) {
    let explanation = explain::explain(trace, &explain::Options::default());
    assert!(explanation.explained_ns >= 0);
    assert!(explanation.explained_ns <= explanation.slow_call_ns);
    for finding in &explanation.findings {
        assert!(finding.lost_ns >= 0 && finding.max_ns <= finding.lost_ns, "{finding:?}");
        assert!(finding.share.is_finite() && finding.count > 0, "{finding:?}");
    }
    // Writing takes a hundred times as long as all the rest: one trace in sixteen is enough.
    if (trace.calls.len() + trace.ops.len() + trace.ranges.len()) % 16 == 1 {
        survives(trace);
    }
}

/// Any trace can be written to a `.holdup` file and read again.
fn survives(trace: &Trace) {
    let mut bytes = Cursor::new(Vec::new());
    trace::write(trace, &mut bytes).expect("any trace can be written");
    let back = trace::read(bytes.into_inner()).expect("what was written can be read");
    assert_eq!((&back.calls.start, &back.ops.end), (&trace.calls.start, &trace.ops.end));
}

/// Lets panics unwind, printed but not fatal: `trace::read` turns those of the Parquet reader into
/// errors. One that leaves a fuzz target still ends the run.
pub fn let_panics_unwind() {
    std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
}

/// Opens the file as `holdup` would; understands it if it is a trace at all.
pub fn open(path: &Path) {
    if let Ok(trace) = import::open(path, &mut |_| {}) {
        understand(&trace);
    }
}

/// An empty temporary file, in memory where the system has such a place.
pub fn temporary_file() -> tempfile::NamedTempFile {
    let in_memory = tempfile::NamedTempFile::new_in("/dev/shm");
    in_memory.or_else(|_| tempfile::NamedTempFile::new()).expect("a temporary file")
}
