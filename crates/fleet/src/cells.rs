//! The rows of digests. All kinds of rows share few columns: a column costs some 100 bytes in each group of rows, and each
//! trace has its own group.

/// Subject of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The trace itself, one row.
    Trace,
    /// A trace that cannot be read, one row.
    Error,
    /// A remark about the trace.
    Note,
    /// Where most of the GPUs' time goes, one row.
    Verdict,
    /// A GPU's time.
    Gpu,
    /// A part of a GPU's time.
    Account,
    /// A finding.
    Finding,
    /// A step.
    Step,
    /// Cause of which a slow step had more time than the median step.
    SlowStep,
    /// How late a rank was at collectives whose ranks are all in the trace.
    Rank,
    /// Activity of a rank that was late.
    RankCause,
    /// A rank's kernel of a collective.
    Collective,
    /// Activity of a GPU before a collective, since the one before.
    Before,
    /// The part of a kernel of a collective that is idle time in the account: it waited for a rank of the same trace.
    Waited,
}

impl Kind {
    /// The name in files.
    pub fn id(self) -> &'static str {
        match self {
            Kind::Trace => "trace",
            Kind::Error => "error",
            Kind::Note => "note",
            Kind::Verdict => "verdict",
            Kind::Gpu => "gpu",
            Kind::Account => "account",
            Kind::Finding => "finding",
            Kind::Step => "step",
            Kind::SlowStep => "slow-step",
            Kind::Rank => "rank",
            Kind::RankCause => "rank-cause",
            Kind::Collective => "collective",
            Kind::Before => "before",
            Kind::Waited => "waited",
        }
    }
}

/// A row; what it has no value for is null in files.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Subject of the row.
    pub kind: Kind,
    /// CUDA device index.
    pub device: Option<i64>,
    /// Number among the rows of its kind and device, from 0.
    pub n: i64,
    /// Start, ns from the trace's time 0.
    pub begin: Option<i64>,
    /// End, ns from the trace's time 0.
    pub end: Option<i64>,
    /// A time, ns.
    pub ns: Option<i64>,
    /// Another time, ns.
    pub ns2: Option<i64>,
    /// A number of events.
    pub count: Option<i64>,
    /// Bytes.
    pub bytes: Option<i64>,
    /// A cause's name.
    pub cause: Option<&'static str>,
    /// Where in the source: `file:line function`.
    pub place: Option<String>,
    /// A name: of a call, a collective, a step.
    pub name: Option<String>,
    /// The communicator of a collective.
    pub comm: Option<String>,
    /// Anything else, as a sentence or JSON.
    pub detail: Option<String>,
}

impl Row {
    /// A row without values.
    pub fn new(kind: Kind, n: usize) -> Row {
        Row {
            kind,
            device: None,
            n: i64::try_from(n).unwrap_or(i64::MAX),
            begin: None,
            end: None,
            ns: None,
            ns2: None,
            count: None,
            bytes: None,
            cause: None,
            place: None,
            name: None,
            comm: None,
            detail: None,
        }
    }
}

/// A column of digests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Whether it has texts; otherwise 64-bit integers.
    pub is_text: bool,
    /// Content of the column, with its unit.
    pub about: &'static str,
}

const fn text(name: &'static str, about: &'static str) -> Column {
    Column { name, is_text: true, about }
}

const fn number(name: &'static str, about: &'static str) -> Column {
    Column { name, is_text: false, about }
}

/// The columns of every file, in order.
pub const COLUMNS: [Column; 18] = [
    text("run", "the run: --run, or the folder of the trace"),
    number("rank", "the rank; null if it is unknown"),
    text("host", "the machine that it ran on, where the trace states it"),
    text("trace", "the trace's path or address"),
    text("kind", "what the row is about"),
    number("device", "CUDA device index"),
    number("n", "number among the rows of its kind and device, from 0"),
    number("begin_ns", "start, ns from the trace's time 0"),
    number("end_ns", "end, ns from the trace's time 0"),
    number("ns", "a time, ns"),
    number("ns2", "another time, ns"),
    number("count", "a number of events"),
    number("bytes", "bytes"),
    text("cause", "a cause's name"),
    text("place", "where in the source: file:line function"),
    text("name", "a name: of a call, a collective, a step"),
    text("comm", "the communicator of a collective"),
    text("detail", "anything else, as a sentence or JSON"),
];
