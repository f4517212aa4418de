//! Host-side and device-side summary tables, in the manner of CUDA.jl's `@profile`.
//!
//! With a time window, only time inside it counts: events that reach out of it are cut. (Copies
//! in the table of copies are not, as half a copy has no size.)

mod accounts;
mod build;
mod document;
mod first_calls;
mod intervals;
mod ranges;
mod short;
mod tables;
mod top;

pub use build::build;
pub use document::{copies_title, device_title, document, host_title};
pub use top::Top;

use explain::{Accounts, FailedCalls, Overlap, Summary};
use serde::Serialize;
use trace::Ns;

/// A trace summed up.
#[derive(Clone, Debug, Serialize)]
pub struct Stats {
    /// The trace in numbers.
    pub trace: Summary,
    /// Length of the selected time: the trace's, or the part of the window inside it, ns.
    pub window_ns: Ns,
    /// Host side: calls into CUDA, then other kinds of calls the trace has; several times with
    /// per-thread tables.
    pub host: Vec<Host>,
    /// Device side: one entry a GPU.
    pub devices: Vec<Device>,
    /// Where all of each GPU's and each thread's time went.
    pub accounts: Accounts,
    /// How copies and kernels overlapped, one entry a GPU. Threads and names choose nothing in it.
    pub overlap: Vec<Overlap>,
    /// GPU operations by name, all GPUs together, most time first.
    pub ops: Vec<Row>,
    /// Copies by direction and memory, most time first.
    pub copies: Vec<Copies>,
    /// First calls of a name that were longer than the later ones, most time lost first.
    pub first_calls: Vec<FirstCall>,
    /// Calls that failed, by function and error, most first.
    pub failed_calls: Vec<FailedCalls>,
    /// Ranges that the program marked (NVTX, `record_function`), most time first.
    pub ranges: Vec<RangeRow>,
    /// Calls and waits that the trace counts and does not list, most time first.
    pub short: Vec<Short>,
}

/// Calls of a function, or waits for a kind of lock, that are counted.
#[derive(Clone, Debug, Serialize)]
pub struct Short {
    /// `call` or `wait`.
    pub kind: &'static str,
    /// The function, or the kind of lock.
    pub name: String,
    /// How many.
    pub count: u64,
    /// Threads that made them.
    pub threads: u64,
    /// The sum of their times, ns; of calls an estimate, since few of them are timed.
    pub total_ns: Ns,
}

/// The first call of a name in a process, beside the later ones.
#[derive(Clone, Debug, Serialize)]
pub struct FirstCall {
    /// Name of the call.
    pub name: String,
    /// The process.
    pub pid: i64,
    /// Duration of the first call, ns.
    pub first_ns: Ns,
    /// Number of later calls.
    pub later: u64,
    /// Median duration of the later calls, ns.
    pub median_ns: Ns,
}

/// Ranges of one name.
#[derive(Clone, Debug, Serialize)]
pub struct RangeRow {
    /// Name of the range.
    pub name: String,
    /// Number of ranges.
    pub count: u64,
    /// Sum of their durations, ns.
    pub total_ns: Ns,
    /// Mean duration, ns.
    pub mean_ns: f64,
    /// Calls that their threads made within, of CUDA and libraries.
    pub calls: u64,
    /// GPU operations that these calls asked for.
    pub ops: u64,
    /// Time of these operations, added up, ns.
    pub gpu_ns: Ns,
}

/// Calls of one kind, of all threads or of one.
#[derive(Clone, Debug, Serialize)]
pub struct Host {
    /// Kind of the calls: `cuda`, `os` or `library`.
    pub calls: &'static str,
    /// The one thread this is about; `None` when about all.
    pub thread: Option<String>,
    /// Number of threads that made such calls.
    pub threads: u64,
    /// Time threads spent in these calls, nested ones counted once, ns.
    pub total_ns: Ns,
    /// `total_ns` as a part of all these threads' time in the window, 0 to 1.
    pub share: f64,
    /// Calls by name, most time first. Nested calls have rows of their own, so rows can sum to
    /// more than the total.
    pub rows: Vec<Row>,
}

/// How busy a GPU was.
#[derive(Clone, Debug, Serialize)]
pub struct Device {
    /// CUDA device index; `None` when the trace does not say.
    pub ordinal: Option<i64>,
    /// Marketing name.
    pub name: String,
    /// Operations.
    pub ops: u64,
    /// Time with at least one operation running, ns.
    pub busy_ns: Ns,
    /// `busy_ns` as a part of the window, 0 to 1.
    pub share: f64,
}

/// Events of one name.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Name of call or kernel; `[copy device to pageable memory]` for copies.
    pub name: String,
    /// Number of events.
    pub count: u64,
    /// Sum of their durations, ns.
    pub total_ns: Ns,
    /// `total_ns` as a part of the time all threads (or GPUs) had, 0 to 1.
    pub share: f64,
    /// Mean duration, ns.
    pub mean_ns: f64,
    /// Standard deviation of the sample, ns; 0 for a single event.
    pub deviation_ns: f64,
    /// Shortest, ns.
    pub min_ns: Ns,
    /// Longest, ns.
    pub max_ns: Ns,
}

/// Copies of one direction between the same kinds of memory.
#[derive(Clone, Debug, Serialize)]
pub struct Copies {
    /// Direction in CUPTI's words (`DtoH`).
    pub direction: &'static str,
    /// Memory read.
    pub source: &'static str,
    /// Memory written.
    pub destination: &'static str,
    /// Number of copies.
    pub count: u64,
    /// Bytes moved.
    pub bytes: i64,
    /// Sum of durations, ns.
    pub total_ns: Ns,
    /// Bytes over time, GB/s.
    pub mean_gb_per_s: f64,
    /// Of the fastest copy, GB/s.
    pub max_gb_per_s: f64,
}

/// Events to sum up, and the division of the host table.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Which events.
    pub selection: trace::Selection,
    /// A host table for each thread instead of one for all.
    pub per_thread: bool,
}

/// The tables as one JSON object: `docs/schema/stats.json`.
pub fn json(stats: &Stats) -> String {
    crate::json("holdup/stats/1", stats)
}
