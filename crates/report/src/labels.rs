//! Labels of threads and GPU operations in tables and listings.

use trace::{CopyKind, MemoryKind, OpId, OpKind, Selected, Selection, Sym, ThreadId, Trace};

/// A label for every thread: its id, its name if it has one, and its process if there are several.
pub(crate) fn threads(trace: &Trace) -> Vec<String> {
    let label = |id: ThreadId| {
        let thread = trace.threads.row(id);
        let process = thread.process.some().filter(|_| trace.processes.len() > 1);
        let process = process.map(|process| format!("{}/", trace.processes.pid[process.index()]));
        let name = crate::escape::visible(trace.text(thread.name));
        let name = if name.is_empty() { String::new() } else { format!(" {name}") };
        format!("{}{}{name}", process.unwrap_or_default(), thread.tid)
    };
    trace.threads.ids().map(label).collect()
}

/// The key by which GPU operations are one row of a table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OpName {
    /// A kernel of that name.
    Kernel(Sym),
    /// A copy of that direction between those kinds of memory.
    Copy(CopyKind, MemoryKind, MemoryKind),
    /// A fill of that kind of memory.
    Memset(MemoryKind),
}

impl OpName {
    pub(crate) fn of(trace: &Trace, at: usize) -> OpName {
        let ops = &trace.ops;
        match ops.kind[at] {
            OpKind::Copy => OpName::Copy(ops.copy[at], ops.src[at], ops.dst[at]),
            OpKind::Memset => OpName::Memset(ops.dst[at]),
            OpKind::Kernel | OpKind::Graph | OpKind::Unknown => OpName::Kernel(ops.name[at]),
        }
    }

    /// The kernel's name as in the trace; copies in CUDA.jl's words (`[copy device to pageable memory]`).
    pub(crate) fn text(self, trace: &Trace) -> String {
        match self {
            OpName::Kernel(name) if name.is_empty() => String::from("[unnamed]"),
            OpName::Kernel(name) => trace.text(name).to_owned(),
            OpName::Copy(kind, src, dst) => copy(kind, src, dst),
            OpName::Memset(MemoryKind::Unknown) => String::from("[set memory]"),
            OpName::Memset(dst) => format!("[set {dst} memory]"),
        }
    }
}

/// The name of a GPU operation in every output: a kernel's name as in the trace, else what is copied or set
/// (`[copy device to pageable memory]`).
pub fn op_name(trace: &Trace, op: OpId) -> String {
    OpName::of(trace, op.index()).text(trace)
}

fn copy(kind: CopyKind, src: MemoryKind, dst: MemoryKind) -> String {
    use CopyKind::{PtoP, UnifiedDtoD, UnifiedDtoH, UnifiedHtoD};
    match (kind, src, dst) {
        (UnifiedHtoD, ..) => String::from("[migrate unified memory to device]"),
        (UnifiedDtoH, ..) => String::from("[migrate unified memory to host]"),
        (UnifiedDtoD, ..) => String::from("[migrate unified memory between devices]"),
        (PtoP, ..) => String::from("[copy between devices]"),
        (CopyKind::Unknown, MemoryKind::Unknown, MemoryKind::Unknown) => String::from("[copy]"),
        (_, MemoryKind::Unknown, _) | (_, _, MemoryKind::Unknown) => format!("[copy {kind}]"),
        _ => format!("[copy {src} to {dst} memory]"),
    }
}

/// The selected events of a trace.
pub(crate) struct Chosen<'a> {
    trace: &'a Trace,
    selected: Selected,
    /// Part of a name, in lower case.
    name: Option<String>,
}

impl<'a> Chosen<'a> {
    pub(crate) fn new(trace: &'a Trace, selection: &Selection) -> Chosen<'a> {
        let name = selection.name.as_ref().map(|name| name.to_ascii_lowercase());
        Chosen { trace, selected: selection.of(trace), name }
    }

    pub(crate) fn call(&self, at: usize) -> bool {
        let calls = &self.trace.calls;
        self.selected.time(calls.start[at], calls.end[at])
            && self.selected.caller(calls.thread[at], calls.start[at])
            && self.selected.name(calls.name[at])
    }

    /// Whether an operation is selected. Its thread is that of the call that issued it. A copy has no own name: it has the
    /// one that tables use.
    pub(crate) fn op(&self, at: usize) -> bool {
        let ops = &self.trace.ops;
        let caller = ops.call[at].some();
        let (thread, called) = self.trace.caller(caller);
        self.selected.time(ops.start[at], ops.end[at])
            && self.selected.caller(thread, called)
            && self.op_name(at)
    }

    /// Whether a range is selected: by its thread and time, and by the selected ranges that contain it.
    pub(crate) fn range(&self, at: usize) -> bool {
        let ranges = &self.trace.ranges;
        let (thread, start, end) = (ranges.thread[at], ranges.start[at], ranges.end[at]);
        self.selected.time(start, end) && self.selected.range(thread, start, end)
    }

    /// Whether a count is selected, which has no time.
    pub(crate) fn tally(&self, at: usize) -> bool {
        let tallies = &self.trace.tallies;
        self.selected.always()
            && self.selected.thread(tallies.thread[at])
            && self.selected.name(tallies.name[at])
    }

    fn op_name(&self, at: usize) -> bool {
        match (&self.name, OpName::of(self.trace, at)) {
            (None, _) => true,
            (Some(_), OpName::Kernel(name)) => self.selected.name(name),
            (Some(wanted), other) => other.text(self.trace).to_ascii_lowercase().contains(wanted.as_str()),
        }
    }
}
