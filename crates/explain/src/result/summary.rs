//! A trace in numbers.

use super::settings::{Setting, settings};
use serde::Serialize;
use std::collections::BTreeMap;
use trace::{Api, Ns, RangeKind, Trace};

/// A trace in numbers.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// Format of the trace: `kineto`, `nsys`, `nvprof`, `holdup`.
    pub source: String,
    /// Display name of the tool that made it: `Nsight Systems`.
    #[serde(skip)]
    pub source_title: String,
    /// Version of that format, as far as it states one.
    pub source_version: String,
    /// The file; the caller that read it fills this in.
    pub path: String,
    /// First start to last end, ns.
    pub duration_ns: Ns,
    /// The part of `duration_ns` that is selected, ns; `None` for all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected_ns: Option<Ns>,
    /// Processes with calls, operators or GPU operations.
    pub processes: u64,
    /// Host threads with calls or operators.
    pub threads: u64,
    /// Host calls.
    pub calls: u64,
    /// GPU operations.
    pub ops: u64,
    /// Further records, by which a statement tells what the trace lacks.
    #[serde(skip)]
    pub contents: Contents,
    /// Launches without a GPU operation.
    pub unmatched_calls: u64,
    /// GPU operations without a call.
    pub unmatched_ops: u64,
    /// Records dropped by the source or unreadable.
    pub lost_records: u64,
    /// Why records could not be read, with counts.
    pub lost_reasons: BTreeMap<String, u64>,
    /// Records that were not imported because no table holds them, with counts.
    pub left_out: BTreeMap<String, u64>,
    /// Whether the input ended early.
    pub truncated: bool,
    /// `aligned` or `separate`.
    pub clock: String,
    /// How well GPU and host times agree, as far as the trace shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_clock: Option<GpuClock>,
    /// Version of the driver: the GPU driver's own (`580.95.05`), or the CUDA it supports (`13.0`).
    pub driver: String,
    /// Version of the CUDA runtime.
    pub runtime: String,
    /// Versions of other libraries by name, as far as the trace records them.
    pub libraries: BTreeMap<String, String>,
    /// Variables of the environment that change what CUDA does, as far as the trace states them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
    /// Further remarks, one sentence each.
    pub notes: Vec<String>,
}

/// Numbers of records other than CUDA calls and GPU operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Contents {
    /// GPUs, with or without operations.
    pub devices: u64,
    /// Ranges of the program, its framework and its operators.
    pub ranges: u64,
    /// Calls of the operating system.
    pub os_calls: u64,
    /// Intervals in which a thread ran, or did not.
    pub thread_states: u64,
    /// Samples of threads.
    pub samples: u64,
    /// Call stacks.
    pub stacks: u64,
}

impl Contents {
    fn of(trace: &Trace) -> Contents {
        let count = |rows: usize| rows as u64;
        Contents {
            devices: count(trace.devices.len()),
            ranges: count(trace.ranges.len()),
            os_calls: count(trace.calls.api.iter().filter(|api| **api == Api::Os).count()),
            thread_states: count(trace.states.len()),
            samples: count(trace.samples.len()),
            stacks: count(trace.stacks.len()),
        }
    }
}

/// How far GPU times can be from the host's, in the second in the middle of those that show it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct GpuClock {
    /// They are too early by at most this, ns.
    pub early_ns: Ns,
    /// They are too late by at most this, ns.
    pub late_ns: Ns,
    /// In some second they are off by at least this, ns.
    pub wrong_ns: Ns,
}

/// Sums up a trace. The caller that read it fills in the path.
pub fn summary(trace: &Trace) -> Summary {
    let mut threads = vec![false; trace.threads.len()];
    let mut processes = vec![false; trace.processes.len()];
    let mut calls = 0;
    for at in 0..trace.calls.len() {
        if trace.calls.api[at] == Api::Os {
            continue;
        }
        calls += 1;
        if let Some(thread) = trace.calls.thread[at].some() {
            threads[thread.index()] = true;
        }
    }
    for (thread, kind) in trace.ranges.thread.iter().zip(&trace.ranges.kind) {
        if let (Some(thread), RangeKind::Operator) = (thread.some(), kind) {
            threads[thread.index()] = true;
        }
    }
    let of_threads = threads.iter().zip(&trace.threads.process).filter(|(used, _)| **used);
    for process in of_threads.filter_map(|(_, process)| process.some()) {
        processes[process.index()] = true;
    }
    for stream in &trace.ops.stream {
        if let Some(process) = trace.process_of_stream(*stream).some() {
            processes[process.index()] = true;
        }
    }
    let count = |used: &[bool]| used.iter().filter(|used| **used).count() as u64;
    let meta = &trace.meta;
    Summary {
        source: meta.source.clone(),
        source_title: meta.source_title().to_owned(),
        source_version: meta.source_version.clone(),
        path: String::new(),
        selected_ns: None,
        duration_ns: trace.span().map_or(0, |(start, end)| meta.recorded_part(start, end)),
        processes: count(&processes),
        threads: count(&threads),
        calls,
        ops: trace.ops.len() as u64,
        contents: Contents::of(trace),
        unmatched_calls: meta.lost.unmatched_calls,
        unmatched_ops: meta.lost.unmatched_ops,
        lost_records: meta.lost.records,
        lost_reasons: meta.lost.reasons.clone(),
        left_out: meta.left_out.clone(),
        truncated: meta.lost.truncated,
        clock: meta.clock.id().to_owned(),
        gpu_clock: meta.gpu_clock.map(|clock| GpuClock {
            early_ns: clock.early,
            late_ns: clock.late,
            wrong_ns: clock.wrong,
        }),
        driver: meta.driver.clone(),
        runtime: meta.runtime.clone(),
        libraries: meta.libraries.clone(),
        settings: settings(trace, &processes),
        notes: meta.notes.clone(),
    }
}
