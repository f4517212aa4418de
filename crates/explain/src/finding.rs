//! The parts of an explanation: names, enums and numbers. The report adds words and units.

use crate::{
    Accounts, At, Cause, FailedCalls, Form, Framework, Gains, Overlap, Sentence, Steps, TreeRow, Verdict,
};
use serde::Serialize;
use std::collections::BTreeMap;
use trace::{CopyKind, MemoryKind, Ns};

/// Declares an enum whose values have a name in every output.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $id:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $name {
            /// Every value.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];

            /// The name in every output.
            pub fn id(self) -> &'static str {
                match self {
                    $($name::$variant => $id,)+
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.id())
            }
        }
    };
}
pub(crate) use named;

named! {
    /// The evidence that a finding rests on.
    Evidence {
        /// The wait for the lock was recorded, with its holder where that is known.
        Lock = "lock",
        /// The GPU's own or the tracer's own records prove it.
        Record = "record",
        /// Samples of the thread, and the scheduler's numbers.
        Sample = "sample",
        /// Inferred from overlap in time.
        Timing = "timing",
    }
}

impl Evidence {
    /// The meaning, in one line.
    pub fn meaning(self) -> &'static str {
        match self {
            Evidence::Lock => "the wait for the lock and its holder were recorded",
            Evidence::Record => "the GPU's or the tracer's own records",
            Evidence::Sample => "samples of the thread and the scheduler's numbers",
            Evidence::Timing => "inferred from overlap in time",
        }
    }
}

named! {
    /// The confidence of a finding; the highest first.
    Confidence {
        /// Nothing else fits.
        Certain = "certain",
        /// Fits well.
        Likely = "likely",
        /// Fits, and so does something else.
        Possible = "possible",
    }
}

/// The findings of one trace.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The trace in numbers.
    pub trace: Summary,
    /// Number of calls that match the selection.
    pub chosen_calls: u64,
    /// Host time in calls longer than the threshold, ns; nested calls count once.
    pub slow_call_ns: Ns,
    /// Number of those calls.
    pub slow_calls: u64,
    /// The part of `slow_call_ns` that findings explain, ns.
    pub explained_ns: Ns,
    /// The part of `slow_call_ns` that is the calls' usual cost, ns: no finding counts it.
    pub own_work_ns: Ns,
    /// Host time in recorded waits for locks in calls up to the threshold, where they add up to findings, ns; not part of
    /// `slow_call_ns`.
    pub short_wait_ns: Ns,
    /// Host time in recorded waits for locks outside the trace's calls that findings count, ns; not part of the sums above.
    pub outside_wait_ns: Ns,
    /// The threshold, ns.
    pub min_wait_ns: Ns,
    /// Selected calls that failed, by function and error, most first.
    pub failed_calls: Vec<FailedCalls>,
    /// How the copies and kernels of each GPU overlapped, by device.
    pub overlap: Vec<Overlap>,
    /// Limit of the program.
    pub verdict: Verdict,
    /// Where all of each GPU's and each thread's time went.
    pub accounts: Accounts,
    /// The steps that the program repeats; `None` if none were found.
    pub steps: Option<Steps>,
    /// Findings, most time lost first; `unexplained` ones last. A wait for a call precedes the call's own loss in about the
    /// same time.
    pub findings: Vec<Finding>,
    /// Costs to the GPUs of what is not selected, most first.
    pub unselected: Vec<Unselected>,
    /// Gains of the findings' fixes; the caller that predicts them fills this in.
    pub gains: Gains,
    /// The program's own lines at [`Explanation::applied_places`]; the caller that reads the source fills this in.
    pub source_lines: BTreeMap<Place, String>,
}

/// Cost to the GPUs of calls and threads that are not selected: no finding.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Unselected {
    /// The cause.
    pub cause: Cause,
    /// GPU time lost to it, ns, as a finding's `cost_ns`.
    pub cost_ns: Ns,
    /// `cost_ns` as a part of the time of all GPUs without start-up, 0 to 1.
    pub cost_share: f64,
}

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
    /// Processes with calls or GPU operations.
    pub processes: u64,
    /// Host threads with calls.
    pub threads: u64,
    /// Host calls.
    pub calls: u64,
    /// GPU operations.
    pub ops: u64,
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
    /// Further remarks, one sentence each.
    pub notes: Vec<String>,
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

/// Time that one thread lost to one cause, in calls of one kind or in waits outside calls.
#[derive(Clone, Debug)]
pub struct Finding {
    /// `H1`, `H2` … in order.
    pub id: String,
    /// The cause.
    pub cause: Cause,
    /// Whether the account alone found it: its time is in no slow call and no sum of [`Explanation`].
    pub is_of_account: bool,
    /// GPU time lost at this root, ns: idle, each moment once. Without records of the GPUs, or where they cannot say, the
    /// host time `lost_ns`.
    pub cost_ns: Ns,
    /// `cost_ns` as a part of the time of all GPUs without start-up, 0 to 1; where it is host time, `share`.
    pub cost_share: f64,
    /// Whether it costs once or again and again.
    pub phase: Phase,
    /// The threads that waited for each other, in the longest stretch: the root first, each next one waited for the one before.
    /// Empty if none waited for another.
    pub chain: Vec<ChainLink>,
    /// Host time lost by the waiter, ns.
    pub lost_ns: Ns,
    /// `lost_ns` as a part of the waiter thread's time, 0 to 1: the selected time from its first call or wait to its last.
    /// For a thread without calls it is the part of the whole recording, for several threads of their times together.
    pub share: f64,
    /// Number of calls that lost time, or of waits outside calls.
    pub count: u64,
    /// The pauses between two calls that have most of the time, if they have half of it.
    pub pauses: Option<Pauses>,
    /// Most time lost in one of them, ns.
    pub max_ns: Ns,
    /// The thread that lost most, and in which call.
    pub waiter: Party,
    /// Every thread that lost time, once with each call, most first.
    pub threads: Vec<Waiter>,
    /// The thread and call that it waited for, where one is known.
    pub holder: Option<Party>,
    /// Other parties that fit as well.
    pub or: Vec<Party>,
    /// The evidence that it rests on.
    pub evidence: Evidence,
    /// The confidence.
    pub confidence: Confidence,
    /// The evidence with its figures.
    pub because: Sentence,
    /// The mechanism in one sentence.
    pub why: &'static str,
    /// Where the waiter's calls were made, most time first.
    pub places: Vec<Place>,
    /// The name of the known work at the first place (`torch.save`); empty if there is none.
    pub work: &'static str,
    /// Functions with at least half of the samples below the first place: the deepest with a line, then the deepest one, or
    /// the deepest library, without.
    pub inner: Vec<Place>,
    /// The stacks of these samples as a tree.
    pub tree: Vec<TreeRow>,
    /// The longest waits.
    pub examples: Vec<Example>,
    /// The framework that its calls were made with; `None` if the trace does not show it.
    pub framework: Option<Framework>,
    /// How to fix it.
    pub fixes: Vec<Fix>,
}

named! {
    /// When a finding costs.
    Phase {
        /// In few stretches, such as a start or a first use.
        Once = "once",
        /// Again and again.
        Recurring = "recurring",
    }
}

/// Pauses of threads between calls of two functions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pauses {
    /// Their number.
    pub count: u64,
    /// Their time, ns.
    pub ns: Ns,
    /// The function that was called before.
    pub after: String,
    /// The function that was called next.
    pub before: String,
}

/// A thread that lost time in calls of one function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Waiter {
    /// Process id.
    pub pid: i64,
    /// Thread id, as the source gives it.
    pub tid: i64,
    /// The thread's name; its id where it has none.
    pub thread: String,
    /// The function; empty outside calls.
    pub call: String,
}

/// A thread of a chain of waits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChainLink {
    /// Process id.
    pub pid: i64,
    /// Thread id, as the source gives it.
    pub tid: i64,
    /// The thread's name; its id where it has none.
    pub thread: String,
    /// Cause for which it waited; of the root, the cause of its own time.
    pub cause: Cause,
    /// The call it was in, if any.
    pub call: Option<String>,
    /// Where the root was.
    #[serde(rename = "where")]
    pub place: Option<Place>,
}

/// A thread, or several similar ones, in calls of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Party {
    /// Process id.
    pub pid: i64,
    /// Thread id, as the source gives it.
    pub tid: i64,
    /// The thread's name; its id where it has none.
    pub thread: String,
    /// Number of threads; if several, `pid`, `tid` and `thread` are those of the one that lost or held most.
    pub threads: u64,
    /// The call (`cudaMemcpyAsync`); empty if the thread held or awaited a lock outside the trace's calls.
    pub call: String,
    /// Work of the call, or the wait of the thread outside calls.
    pub detail: Detail,
    /// Where the calls were made, most time first.
    pub places: Vec<Place>,
}

/// The work of a [`Party`].
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Detail {
    /// Only the call's name is known.
    #[default]
    None,
    /// It copied.
    Copies {
        /// The direction.
        kind: CopyKind,
        /// The kind of the host's memory; also unknown if neither side is host memory.
        host: MemoryKind,
        /// Bytes of the smallest copy.
        least: i64,
        /// Bytes of the largest.
        most: i64,
        /// The stream's number, if all went into one stream.
        stream: Option<i64>,
    },
    /// It launched kernels.
    Launches {
        /// The kernels.
        kernels: Kernels,
        /// The stream's number, if all went into one stream.
        stream: Option<i64>,
    },
    /// It waited for a lock of this library outside the trace's calls.
    Lock {
        /// The library without its path; empty if it has no name.
        library: String,
    },
}

/// The kernels of some launches.
#[derive(Clone, Debug, PartialEq)]
pub enum Kernels {
    /// Not recorded.
    Unknown,
    /// All launches were of this kernel.
    One(String),
    /// This many different kernels.
    Several(u64),
}

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// Source file, or library.
    pub file: String,
    /// Line from 1; 0 when unknown.
    pub line: u32,
    /// Function or operator.
    pub function: String,
}

/// One wait.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Example {
    /// Start of the waiting call, or of the wait outside calls, ns from the trace's start.
    pub start_ns: Ns,
    /// Time it lost to this cause, ns.
    pub duration_ns: Ns,
}

/// A remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Fix {
    /// The id (`own-stream`).
    pub id: &'static str,
    /// Text of the change to make.
    pub text: &'static str,
    /// When it is safe.
    pub safety: &'static str,
    /// The change of `holdup whatif` that predicts what it gains; `None` if no change does.
    #[serde(skip)]
    pub change: Option<&'static str>,
    /// Which calls it changes.
    #[serde(skip)]
    pub at: At,
    /// The lines that apply it, for each framework.
    #[serde(skip)]
    pub forms: &'static [Form],
}
