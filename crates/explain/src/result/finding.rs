//! A finding: names, enums and numbers. The report adds words and units.

use crate::facts::call_tree::TreeRow;
use crate::result::fix::{Fix, Form};
use crate::result::framework::Framework;
use crate::result::place::Place;
use crate::result::sentence::Sentence;
use serde::Serialize;
use trace::{CopyKind, MemoryKind, Ns};
use waits::{Cause, Confidence, Evidence, named};

/// Time that one thread lost to one cause, in calls of one kind or in waits outside calls.
#[derive(Clone, Debug)]
pub struct Finding {
    /// `H1`, `H2` … in order.
    pub id: String,
    /// The cause.
    pub cause: Cause,
    /// Whether the account alone found it: its time is in no slow call and no sum of [`crate::Explanation`].
    pub is_of_account: bool,
    /// GPU time lost at this root, ns: idle, each moment once. Without records of the GPUs, or where they cannot say, the
    /// host time `lost_ns`.
    pub cost_ns: Ns,
    /// `cost_ns` as a part of the time of all GPUs without start-up, 0 to 1; where it is host time, `share`.
    pub cost_share: f64,
    /// Part of the time of what the program repeats that it would gain if what this finds did not exist, less what other findings cost that
    /// are mended by themselves; `None` where nobody predicted that. The caller that predicts it fills this in.
    pub removal: Option<f64>,
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
    /// Number of short calls of the same cause whose cost to the GPUs it has besides, where they cost more than the slow ones lost; else 0.
    pub short_calls: u64,
    /// Number of calls, of those that `count` and `short_calls` have, that are of other functions than the waiter's call.
    pub other_calls: u64,
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

impl Finding {
    /// The lines that apply one of the finding's fixes in its framework, if there are any. Fortran without lines of its own has those of
    /// C++: it calls the same functions.
    pub fn form(&self, fix: &Fix) -> Option<&'static Form> {
        let of = |framework| fix.forms.iter().find(|form| form.fits(framework));
        let is_fortran = self.framework == Some(Framework::Fortran);
        of(self.framework).or_else(|| of(Some(Framework::Cuda)).filter(|_| is_fortran))
    }

    /// Where to apply one of the finding's fixes: at the calls that the fix changes, the holder's or else the waiter's.
    pub fn place_of(&self, fix: &Fix) -> Option<&Place> {
        let holder = self.holder.iter().filter(|holder| fix.at.is(&holder.call));
        let any = self.holder.iter().flat_map(|holder| &holder.places);
        holder.flat_map(|holder| &holder.places).chain(&self.places).chain(any).next()
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

/// One wait.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Example {
    /// Start of the waiting call, or of the wait outside calls, ns from the trace's start.
    pub start_ns: Ns,
    /// Time it lost to this cause, ns.
    pub duration_ns: Ns,
}
