//! The trace of a run on GPUs: its processes are recorded as any program is.

use record::{Environment, Recording};
use std::ffi::OsString;
use trace::{Meta, ThreadId, Trace};
use workload::Workload;

/// Most bytes that a run may record; some ten million calls.
const MAX_SIZE: u64 = 1 << 30;

/// Makes ready to record a run.
///
/// # Errors
/// There is no capture library, or no place for a spool.
pub fn prepare() -> Result<Recording, record::Error> {
    Recording::prepare(&record::Options {
        level: spool::Level::Full,
        // Every stack would be holdup's own.
        stacks_ns: None,
        locks: Vec::new(),
        max_size: MAX_SIZE,
        spool_parent: std::env::temp_dir(),
    })
}

/// The variables for the processes.
pub fn variables(recording: &Recording) -> Vec<(String, Option<OsString>)> {
    let variables = recording.environment.variables.iter();
    variables.map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

/// What was recorded of a run.
///
/// # Errors
/// A line that says why it cannot be read.
pub fn read(recording: Recording, workload: &Workload, run: &gpu::Run) -> Result<Trace, String> {
    let Recording { spool, environment: Environment { notes, .. } } = recording;
    let mut trace = import::open(spool.path(), &mut |_| {}).map_err(|error| error.to_string())?;
    name_as_in(workload, run, &mut trace);
    let Meta { command, notes: said, .. } = &mut trace.meta;
    *command = format!("workload {}", workload.name);
    said.extend(notes);
    said.extend(run.partial.map(|partial| format!("the run was {partial}")));
    Ok(trace)
}

/// Gives processes and threads the names that the workload has for them.
fn name_as_in(workload: &Workload, run: &gpu::Run, trace: &mut Trace) {
    for (process, started) in workload.processes.iter().zip(&run.processes) {
        let Some(row) = trace.processes.pid.iter().position(|pid| *pid == i64::from(started.pid)) else {
            continue;
        };
        trace.processes.name[row] = trace.strings.intern(&process.name);
        for (thread, tid) in process.threads.iter().zip(&started.tids) {
            let is_it = |id: &ThreadId| {
                let known = trace.threads.row(*id);
                known.process.index() == row && known.tid == *tid
            };
            if let Some(id) = trace.threads.ids().find(is_it) {
                trace.threads.name[id.index()] = trace.strings.intern(&thread.name);
            }
        }
    }
}
