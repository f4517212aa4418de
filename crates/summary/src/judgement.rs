//! Conclusions from sums, as data: `report` gives them words.

use explain::{Bound, Cause, Confidence, Fix};
use trace::Ns;

/// Conclusions from one summary.
#[derive(Clone, PartialEq, Debug)]
pub struct Judgement {
    /// The most important reading in one word.
    pub verdict: Verdict,
    /// Time that shares are parts of, ns: the span, or else the sum of the calls, or of PyTorch's host time.
    pub whole_ns: Ns,
    /// Each part of the time that something can be said of, the largest first.
    pub readings: Vec<Reading>,
    /// Facts that the table does not have.
    pub limits: Vec<Limit>,
    /// Steps that show more, in their order.
    pub next: Vec<Step>,
}

/// The verdict on a summary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Most time fits this cause.
    Cause(Cause),
    /// Most time is work that was asked for: nothing is lost.
    Busy(Bound),
    /// The sums allow several reasons.
    CannotTell,
}

impl Verdict {
    /// Its name in JSON: that of the cause, `busy`, or `cannot-tell`.
    pub fn id(self) -> &'static str {
        match self {
            Verdict::Cause(cause) => cause.id(),
            Verdict::Busy(_) => "busy",
            Verdict::CannotTell => "cannot-tell",
        }
    }
}

waits::named! {
    /// Relation of sums that a reading states.
    Sight {
        /// Calls of copies last longer than the copies, by no more than the kernels last.
        CopiesWait = "copies-wait",
        /// Calls of copies last as long as the copies.
        CopiesRun = "copies-run",
        /// Many copies, each of its usual cost.
        SmallCopies = "small-copies",
        /// More launches than a queue holds, each longer than its usual cost, and kernels that last as long.
        FullQueue = "full-queue",
        /// Fewer launches than a queue holds last as long as their kernels, or longer.
        BlockedLaunches = "blocked-launches",
        /// Many launches, each of its usual cost.
        Launches = "launches",
        /// One call takes most of the time of all of its name.
        FirstCall = "first-call",
        /// Calls that make or load what lasts for the whole process.
        SetUp = "set-up",
        /// Calls that end what lasted for the whole process.
        TearDown = "tear-down",
        /// Calls that wait for the GPU last as long as its work.
        Waits = "waits",
        /// Calls that ask again and again whether the GPU is done.
        Polls = "polls",
        /// Calls that a wait for the GPU and a cost of their own explain alike.
        Alike = "alike",
        /// Calls last longer than the work of the GPU that they could wait for.
        Unlike = "unlike",
        /// Calls that allocate, free or pin memory.
        Memory = "memory",
        /// Calls that free memory last as long as work that they may wait for.
        FreesWait = "frees-wait",
        /// Operators that hand a number to the host.
        ReadBack = "read-back",
        /// The next batch of a data loader.
        Loader = "loader",
        /// The host's own work in operators and in the program.
        HostWork = "host-work",
        /// Time that the profiler's or the driver's own records state.
        Overhead = "overhead",
        /// Kernels that communicate with other GPUs.
        Collectives = "collectives",
        /// Pages of unified memory that migrate.
        Pages = "pages",
        /// Time in which neither a call nor work of the GPU is in the table.
        Outside = "outside",
        /// Work of the GPU for nearly all of the time.
        GpuBusy = "gpu-busy",
    }
}

/// A part of the time, with the sums that it is concluded from.
#[derive(Clone, PartialEq, Debug)]
pub struct Reading {
    /// Relation of the sums.
    pub sight: Sight,
    /// The largest row that it is about; empty if it is about none.
    pub name: String,
    /// Number of names that it is about.
    pub names: usize,
    /// Number of calls or operations.
    pub count: u64,
    /// Their time, ns.
    pub time_ns: Ns,
    /// The longest of them, ns.
    pub max_ns: Option<Ns>,
    /// Kernels of the table: number and time, ns.
    pub kernels: Option<(u64, Ns)>,
    /// Copies of the table on the device, ns.
    pub copies_ns: Option<Ns>,
    /// Time for which calls and work must have been at once, because both fit into the span, ns.
    pub together_ns: Option<Ns>,
    /// Cause that fits; `None` if nothing is lost.
    pub cause: Option<Cause>,
    /// Limit of the program by this reading, where nothing is lost.
    pub bound: Option<Bound>,
    /// Confidence in the cause: *possible*, except where the sums allow nothing else.
    pub confidence: Option<Confidence>,
    /// Fixes for the cause.
    pub fixes: Vec<Fix>,
}

impl Reading {
    /// Whether its cause says that nothing can be told.
    pub fn is_untold(&self) -> bool {
        matches!(self.cause, Some(Cause::Unexplained | Cause::NotRecorded))
    }
}

waits::named! {
    /// Fact that a table does not have.
    Limit {
        /// When a call or an operation was.
        Order = "order",
        /// Which thread made a call, and on which stream an operation was.
        Threads = "threads",
        /// Where in the source a call is.
        Place = "place",
        /// How long the program ran: shares are of the calls, or of the work.
        Span = "span",
        /// Sums of nested operators count time several times.
        Nested = "nested",
        /// The GPU's work.
        Work = "work",
        /// The calls.
        Calls = "calls",
        /// Rows were left out, or could not be read.
        Rows = "rows",
        /// Threads that sleep on purpose are in the operating system's sums.
        Sleepers = "sleepers",
    }
}

waits::named! {
    /// Step that shows more than the table.
    Step {
        /// Profile the same code again in the same process: what happens once is gone.
        Again = "again",
        /// Record a trace of the program.
        Trace = "trace",
    }
}
