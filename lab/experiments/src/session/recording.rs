//! The trace of a run on GPUs, whose processes are recorded as any program is.

use record::{Environment, Recording};
use std::ffi::OsString;
use trace::{Meta, ThreadId, Trace};
use workload::Workload;

/// The most bytes that a run records, about ten million calls.
const MAX_SIZE: u64 = 1 << 30;

/// Prepares a recording.
///
/// # Errors
/// The capture library is missing, or no spool can be created.
pub fn prepare() -> Result<Recording, record::Error> {
    Recording::prepare(&record::Options {
        level: spool::Level::Full,
        // Every stack would be holdup's own code.
        stacks_ns: None,
        locks: Vec::new(),
        // Nobody watches the processes from outside.
        sample_rate: 0,
        max_size: MAX_SIZE,
        keep_last: false,
        schedule: record::Schedule::default(),
        graph_nodes: false,
        spool_parent: std::env::temp_dir(),
    })
}

/// The environment variables for the processes.
pub fn variables(recording: &Recording) -> Vec<(String, Option<OsString>)> {
    let variables = recording.environment.variables.iter();
    variables.map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

/// Reads the trace of a run.
///
/// # Errors
/// One line that says why it cannot be read.
pub fn read(recording: Recording, workload: &Workload, run: &gpu::Run) -> Result<Trace, String> {
    let Recording { spool, environment: Environment { notes, .. } } = recording;
    let mut trace = import::open(spool.path(), &mut |_| {}).map_err(|error| error.to_string())?;
    name_as_in(workload, run, &mut trace);
    let Meta { command, notes: known, .. } = &mut trace.meta;
    *command = format!("workload {}", workload.name);
    known.extend(notes);
    known.push("a run of the lab records no states and no samples of its threads".to_owned());
    known.extend(run.partial.map(|partial| format!("the run was {partial}")));
    Ok(trace)
}

/// Names processes and threads as the workload does.
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
