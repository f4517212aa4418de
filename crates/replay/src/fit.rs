//! How well a replay reproduces its trace, and where it does not.

use crate::retime::{covered, union};
use crate::{Recovered, StepOf, retime};
use rustc_hash::FxHashMap;
use serde::Serialize;
use sim::Replayed;
use std::cmp::Reverse;
use trace::{DeviceId, Ns, OpId, RangeId, Selection, Sym, Trace};

/// A replay fits if its time, and the busy time of each GPU, differ by at most this part of the trace's time: beyond it nothing is
/// predicted.
pub const MOST_ERROR: f64 = 0.04;

/// Differences of less than this part of the time are not worth a row.
const LEAST: f64 = 0.001;

/// Most calls and causes that are listed.
const MOST_ROWS: usize = 8;

/// A replay without a change, beside its trace.
#[derive(Clone, Debug, Serialize)]
pub struct Fit {
    /// How much longer the replay takes, as a part of the trace's time; negative if it is shorter.
    pub wall_error: f64,
    /// The greatest difference of that and of the GPUs' busy times, as parts of the trace's time, and of chosen ranges, as a part of
    /// theirs.
    pub error: f64,
    /// Whether that is at most [`MOST_ERROR`].
    pub fits: bool,
    /// The model of the device.
    pub model: String,
    /// From the first call or operation of the trace to the end of the last one.
    pub wall: Both,
    /// The time within chosen ranges, if any are.
    pub ranges: Option<Both>,
    /// Waits that the replay gave up because the threads would have waited for each other for ever.
    pub given_up: u64,
    /// Each GPU: the time in which anything ran.
    pub gpus: Vec<GpuFit>,
    /// GPUs' idle time by cause, for causes that differ, the greatest difference first.
    pub idle: Vec<CauseFit>,
    /// Each thread with calls: when its last one ended, from the start.
    pub threads: Vec<ThreadFit>,
    /// Calls that take longer or less long, the greatest difference first.
    pub calls: Vec<CallFit>,
}

/// A time in the trace and in the replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Both {
    /// In the trace, ns.
    pub recorded_ns: Ns,
    /// In the replay, ns.
    pub replayed_ns: Ns,
}

impl Both {
    /// By how much the replay's is longer, ns.
    pub fn difference(self) -> Ns {
        self.replayed_ns - self.recorded_ns
    }
}

/// One GPU.
#[derive(Clone, Debug, Serialize)]
pub struct GpuFit {
    /// CUDA's number of it.
    pub device: i64,
    /// Its busy time.
    #[serde(flatten)]
    pub busy: Both,
}

/// A cause.
#[derive(Clone, Debug, Serialize)]
pub struct CauseFit {
    /// Its name.
    pub cause: &'static str,
    /// The idle time of all GPUs that it is charged with.
    #[serde(flatten)]
    pub idle: Both,
}

/// One thread.
#[derive(Clone, Debug, Serialize)]
pub struct ThreadFit {
    /// Its process.
    pub pid: i64,
    /// Its id.
    pub tid: i64,
    /// Its name.
    pub name: String,
    /// Its end.
    #[serde(flatten)]
    pub end: Both,
}

/// The calls of one function.
#[derive(Clone, Debug, Serialize)]
pub struct CallFit {
    /// Its name.
    pub call: String,
    /// How many.
    pub count: u64,
    /// The sum of their times.
    #[serde(flatten)]
    pub time: Both,
}

impl Fit {
    /// Compares a replay with its trace.
    pub fn of(trace: &Trace, recovered: &Recovered, replayed: &Replayed) -> Fit {
        let brief = Fit::brief(trace, recovered, replayed);
        let least = (LEAST * brief.wall.recorded_ns as f64) as Ns;
        Fit {
            idle: idle(trace, &retime(trace, recovered, replayed), least),
            threads: threads(trace, recovered, replayed),
            calls: calls(trace, recovered, replayed, least),
            ..brief
        }
    }

    /// Whether a replay fits, without where it differs: no causes, threads and calls.
    pub fn brief(trace: &Trace, recovered: &Recovered, replayed: &Replayed) -> Fit {
        let wall = Both { recorded_ns: recovered.end, replayed_ns: recovered.wall(replayed) };
        let gpus: Vec<GpuFit> =
            trace.devices.ids().map(|device| gpu(trace, recovered, replayed, device)).collect();
        let error = error(wall, &gpus);
        Fit {
            wall_error: share(wall, wall),
            error,
            fits: error <= MOST_ERROR,
            model: recovered.model.name.clone(),
            wall,
            ranges: None,
            given_up: replayed.given_up,
            gpus,
            idle: Vec::new(),
            threads: Vec::new(),
            calls: Vec::new(),
        }
    }
}

impl Fit {
    /// Whether the whole program fits, and the chosen ranges do not.
    pub fn only_ranges_differ(&self) -> bool {
        !self.fits && error(self.wall, &self.gpus) <= MOST_ERROR
    }

    /// Compares the time within these ranges, too: a part of the program, which has to fit like the whole.
    pub fn within(
        self,
        ranges: &[RangeId],
        trace: &Trace,
        recovered: &Recovered,
        replayed: &Replayed,
    ) -> Fit {
        let of = &trace.ranges;
        let recorded = ranges.iter().map(|range| (of.start[range.index()], of.end[range.index()]));
        let both = Both {
            recorded_ns: union(recorded.collect()),
            replayed_ns: covered(trace, recovered, replayed, ranges),
        };
        let error = self.error.max(both.difference().abs() as f64 / both.recorded_ns.max(1) as f64);
        Fit { ranges: Some(both), error, fits: error <= MOST_ERROR, ..self }
    }

    /// The time that changes are judged by: that within chosen ranges, or all.
    pub fn judged(&self) -> Both {
        self.ranges.unwrap_or(self.wall)
    }
}

/// A difference, as a part of the wall time.
fn share(both: Both, wall: Both) -> f64 {
    both.difference() as f64 / wall.recorded_ns.max(1) as f64
}

/// The greatest difference of the whole program.
fn error(wall: Both, gpus: &[GpuFit]) -> f64 {
    let all = gpus.iter().map(|gpu| gpu.busy).chain([wall]);
    all.map(|both| share(both, wall).abs()).fold(0.0, f64::max)
}

fn gpu(trace: &Trace, recovered: &Recovered, replayed: &Replayed, device: DeviceId) -> GpuFit {
    let ops = &trace.ops;
    let of = |op: &OpId| trace.device_of_stream(ops.stream[op.index()]) == device;
    let rows: Vec<OpId> = ops.ids().filter(of).collect();
    let recorded = rows.iter().map(|op| (ops.start[op.index()], ops.end[op.index()]));
    let spans = recovered.spans(trace);
    let replayed = rows.iter().map(|op| recovered.times(trace, replayed, *op, &spans));
    GpuFit {
        device: trace.devices.ordinal[device.index()],
        busy: Both { recorded_ns: union(recorded.collect()), replayed_ns: union(replayed.collect()) },
    }
}

fn idle(trace: &Trace, new: &Trace, least: Ns) -> Vec<CauseFit> {
    let mut causes: FxHashMap<&'static str, Both> = FxHashMap::default();
    for gpu in explain::accounts(trace, &Selection::default()).gpus {
        gpu.idle.iter().for_each(|part| causes.entry(part.cause.id()).or_default().recorded_ns += part.ns);
    }
    for gpu in explain::accounts(new, &Selection::default()).gpus {
        gpu.idle.iter().for_each(|part| causes.entry(part.cause.id()).or_default().replayed_ns += part.ns);
    }
    let mut rows: Vec<CauseFit> = causes.into_iter().map(|(cause, idle)| CauseFit { cause, idle }).collect();
    rows.retain(|row| row.idle.difference().abs() > least);
    rows.sort_by_key(|row| (Reverse(row.idle.difference().abs()), row.cause));
    rows.truncate(MOST_ROWS);
    rows
}

fn threads(trace: &Trace, recovered: &Recovered, replayed: &Replayed) -> Vec<ThreadFit> {
    let thread = |(row, thread): (usize, &Option<trace::ThreadId>)| {
        let of = trace.threads.row((*thread)?);
        let end = Both {
            recorded_ns: recovered.begins[row].last().copied().unwrap_or(0),
            replayed_ns: replayed.steps[row].last().copied().unwrap_or(0),
        };
        let pid = of.process.some().map_or(0, |process| trace.processes.pid[process.index()]);
        Some(ThreadFit { pid, tid: of.tid, name: trace.text(of.name).to_owned(), end })
    };
    recovered.threads.iter().enumerate().filter_map(thread).collect()
}

fn calls(trace: &Trace, recovered: &Recovered, replayed: &Replayed, least: Ns) -> Vec<CallFit> {
    let mut sums: FxHashMap<Sym, (u64, Both)> = FxHashMap::default();
    for (row, steps) in recovered.steps.iter().enumerate() {
        for (at, step) in steps.iter().enumerate() {
            let StepOf::Call(call) = *step else { continue };
            let (count, sum) = sums.entry(trace.calls.name[call.index()]).or_default();
            *count += 1;
            sum.recorded_ns += trace.calls.end[call.index()] - trace.calls.start[call.index()];
            sum.replayed_ns += replayed.steps[row][at + 1] - replayed.steps[row][at];
        }
    }
    let mut rows: Vec<(Sym, u64, Both)> =
        sums.into_iter().map(|(name, (count, time))| (name, count, time)).collect();
    rows.retain(|(_, _, time)| time.difference().abs() > least);
    rows.sort_by_key(|(name, _, time)| (Reverse(time.difference().abs()), *name));
    rows.truncate(MOST_ROWS);
    rows.into_iter()
        .map(|(name, count, time)| CallFit { call: trace.text(name).to_owned(), count, time })
        .collect()
}
