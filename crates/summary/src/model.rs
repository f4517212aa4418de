//! The sums of one profile, without the layout of the table that had them.

use trace::Ns;

waits::named! {
    /// Profiler that printed a table.
    Tool {
        /// PyTorch's profiler: `key_averages().table()`.
        Torch = "torch",
        /// nvprof's summary.
        Nvprof = "nvprof",
        /// `nsys stats`, or `nsys profile --stats=true`.
        Nsys = "nsys",
        /// `CUDA.@profile` of Julia's CUDA.jl.
        Julia = "julia",
    }
}

/// The sums of one profile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary {
    /// The profiler.
    pub tool: Tool,
    /// Number of the line with its first titles, from 1.
    pub line: usize,
    /// Time that was profiled, ns, where the tool states it.
    pub span_ns: Option<Ns>,
    /// Time of the host's threads, ns, where the tool states it: the footer of PyTorch's table.
    pub host_ns: Option<Ns>,
    /// Time of the GPU's work, ns, where the tool states it.
    pub device_ns: Option<Ns>,
    /// Calls of CUDA's APIs.
    pub calls: Vec<Row>,
    /// Calls of the operating system.
    pub os: Vec<Row>,
    /// Operators and ranges of the program: PyTorch's alone.
    pub operators: Vec<Operator>,
    /// Work of the GPU.
    pub work: Vec<Work>,
    /// Whether the text has a table of calls, even an empty one.
    pub has_calls: bool,
    /// Whether the text has a table of the GPU's work, or columns of its times, even if it is empty.
    pub has_work: bool,
    /// Number of rows that could not be read.
    pub unread: u64,
    /// Whether somebody or the tool left rows out (`...`).
    pub is_cut: bool,
}

impl Summary {
    /// A summary without rows.
    pub fn new(tool: Tool, line: usize) -> Summary {
        Summary {
            tool,
            line,
            span_ns: None,
            host_ns: None,
            device_ns: None,
            calls: Vec::new(),
            os: Vec::new(),
            operators: Vec::new(),
            work: Vec::new(),
            has_calls: false,
            has_work: false,
            unread: 0,
            is_cut: false,
        }
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.os.is_empty() && self.operators.is_empty() && self.work.is_empty()
    }
}

/// All calls or operations of one name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The name, as far as the table has it.
    pub name: String,
    /// Number of calls or operations.
    pub count: u64,
    /// Their time in all, ns.
    pub total_ns: Ns,
    /// The longest, ns, where the table has it.
    pub max_ns: Option<Ns>,
}

/// All operations of one name on the GPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Work {
    /// Their sum.
    pub row: Row,
    /// Kind of the operations.
    pub kind: WorkKind,
}

/// Kind of work of a GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkKind {
    /// A kernel.
    Kernel,
    /// A copy between memories; `memory` is that of the host.
    Copy {
        /// The host's memory, where the table states it.
        memory: Memory,
    },
    /// A fill.
    Fill,
    /// Pages of unified memory that migrate, or groups of faults for them. Kernels may run meanwhile.
    Migration,
}

/// Memory of the host in a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// Pageable memory.
    Pageable,
    /// Pinned memory.
    Pinned,
    /// The copy stays on GPUs.
    None,
    /// The table does not state it.
    Unknown,
}

/// An operator or a range of the program, with the operators and calls within it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operator {
    /// The name, as far as the table has it.
    pub name: String,
    /// How often it ran.
    pub count: u64,
    /// Its own time on the host, without that of what it calls, ns.
    pub self_ns: Ns,
    /// Its time on the host, ns.
    pub total_ns: Ns,
    /// Time of the GPU's work that it issued itself, ns; `None` if the table has no such column.
    pub device_ns: Option<Ns>,
}
