//! The outcome of a run, from the messages of its processes.

use super::host_trace::host_trace;
use super::messages::Messages;
use super::options::Options;
use super::partial::Partial;
use crate::Device;
use crate::driver::Function;
use crate::segment::Segment;
use crate::wire::ThreadReport;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use workload::{CallTimes, Outcome, ThreadOutcome, Workload};

/// The result of a run.
pub struct Run {
    /// The outcome of the threads; of a partial run, so far.
    pub outcome: Outcome,
    /// Why the run is partial, if it is.
    pub partial: Option<Partial>,
    /// The processes, in the workload's order.
    pub processes: Vec<ProcessIds>,
    /// The trace of the host's calls, if it was requested.
    pub trace: Option<trace::Trace>,
    /// The devices with contexts, by ordinal.
    pub devices: Vec<Device>,
    /// Remarks on the figures, one line each.
    pub notes: Vec<String>,
}

/// The ids of a process of a workload in the operating system.
pub struct ProcessIds {
    /// Its number.
    pub pid: u32,
    /// The ids of its threads, in the workload's order; none if it was killed.
    pub tids: Vec<i64>,
    /// How long the calls took that created its contexts, ns, in their order; none if it was killed.
    pub contexts_ns: Vec<u64>,
}

/// The result of a run, from the messages and the progress of each thread.
pub fn put_together(
    workload: &Workload,
    options: &Options,
    heard: Vec<Messages>,
    segment: &Segment,
    stopped: i64,
    partial: Option<Partial>,
    mut notes: Vec<String>,
) -> Run {
    let mut threads = Vec::new();
    for (process, heard) in workload.processes.iter().zip(&heard) {
        let none = Vec::new();
        let reports = heard.report.as_ref().map_or(&none, |report| &report.threads);
        for row in 0..process.threads.len() {
            threads.push(thread_outcome(segment, threads.len(), reports.get(row), stopped));
        }
        if partial.is_some() && heard.report.is_none() {
            notes.push(format!(
                "process \"{}\" did not stop and was killed, its calls are lost",
                process.name
            ));
        }
    }
    for note in heard.iter().filter_map(|heard| heard.report.as_ref()).flat_map(|report| &report.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    let mut devices = BTreeMap::new();
    let reports = heard.iter().filter_map(|heard| heard.report.as_ref());
    reports
        .flat_map(|report| &report.devices)
        .for_each(|device| drop(devices.insert(device.ordinal, device.clone())));
    let devices: Vec<_> = devices.into_values().collect();
    let trace = options.trace.then(|| host_trace(workload, &heard, &devices, partial));
    let processes = heard.iter().map(started).collect();
    Run { outcome: Outcome { threads }, partial, processes, trace, devices, notes }
}

fn started(heard: &Messages) -> ProcessIds {
    let threads = heard.report.iter().flat_map(|report| &report.threads);
    let contexts_ns = heard.report.as_ref().map(|report| report.contexts_ns.clone()).unwrap_or_default();
    ProcessIds { pid: heard.pid, tids: threads.map(|thread| thread.tid).collect(), contexts_ns }
}

fn thread_outcome(
    segment: &Segment,
    number: usize,
    report: Option<&ThreadReport>,
    stopped: i64,
) -> ThreadOutcome {
    let progress = segment.progress(number);
    let (began, ended) = (progress.began.load(Relaxed), progress.ended.load(Relaxed));
    let elapsed = match (began, ended) {
        (0, _) => 0,
        (began, 0) => stopped - began,
        (began, ended) => ended - began,
    };
    ThreadOutcome {
        elapsed_ns: elapsed.unsigned_abs(),
        rounds: progress.rounds.load(Relaxed),
        between_events_ns: report.and_then(|report| report.between_events_ns),
        max_error: report.and_then(|report| report.max_error).map(f64::from_bits),
        calls: report.map_or(Vec::new(), |report| report.times.iter().filter_map(call_times).collect()),
    }
}

fn call_times(times: &crate::wire::Times) -> Option<CallTimes> {
    let name = Function::ALL.get(usize::from(times.function))?.name();
    let crate::wire::Times { count, total_ns, max_ns, stalled_ns, .. } = *times;
    Some(CallTimes { name, count, total_ns, max_ns, stalled_ns })
}
