//! The events of one block, with its own numbering: several threads scan blocks, which are merged in order
//! ([`super::merge`]).

use super::event::{Args, Category, Event, Templates};
use crate::json::{Raw, Scanner, Stop};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use trace::{Api, CopyKind, MemoryKind, Ns, Op, OpKind, RangeKind, Strings, Sym, SyncKind};

/// How the scan of a block ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// After an event: the next block continues.
    Clean,
    /// Inside the event that starts there.
    Inside(usize),
    /// After the `]` of the event array.
    Array(usize),
    /// At a byte that starts no event, with no event after it.
    Bad(usize),
}

/// A host call or a marked range before its block is merged.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub start: Ns,
    pub end: Ns,
    /// Position in [`Batch::threads`].
    pub thread: u32,
    pub name: Sym,
    /// External id that links calls to operators; 0 for none.
    pub external: i64,
}

/// A call before its block is merged.
#[derive(Clone, Copy)]
pub(super) struct CallDraft {
    pub span: Span,
    pub api: Api,
    pub correlation: i64,
}

/// A range before its block is merged.
#[derive(Clone, Copy)]
pub(super) struct RangeDraft {
    pub span: Span,
    pub kind: RangeKind,
    /// The `Call stack` text, empty for none.
    pub stack: Sym,
    /// An operator's part in autograd.
    pub autograd: Option<Autograd>,
}

/// An operator's part in autograd: an operator and its backward have the same number.
#[derive(Clone, Copy)]
pub(super) struct Autograd {
    pub sequence: i64,
    pub is_backward: bool,
}

/// A stream as an event states it: device, context, stream.
pub(super) type StreamKey = (i64, i64, i64);

/// A synchronization before its block is merged.
#[derive(Clone, Copy)]
pub(super) struct SyncDraft {
    pub start: Ns,
    pub end: Ns,
    pub kind: SyncKind,
    /// Position in [`Batch::streams`].
    pub stream: u32,
    pub event: i64,
    pub correlation: i64,
}

/// A name that metadata gives to a process or thread.
pub(super) enum Label {
    Process(i64, Sym),
    Thread(i64, i64, Sym),
}

/// The events of a block.
#[derive(Default)]
pub(super) struct Batch {
    pub strings: Strings,
    pub threads: Keys<(i64, i64)>,
    pub streams: Keys<StreamKey>,
    pub calls: Vec<CallDraft>,
    pub ranges: Vec<RangeDraft>,
    /// GPU operations; `stream` is filled when merged.
    pub ops: Vec<(u32, Op)>,
    pub syncs: Vec<SyncDraft>,
    pub labels: Vec<Label>,
    /// Flow arrows, which are left out.
    pub arrows: u64,
    pub left_out: BTreeMap<&'static str, u64>,
    pub lost: BTreeMap<&'static str, u64>,
    scratch: String,
}

/// Distinct keys, numbered in order of appearance; the last one is found without a lookup.
#[derive(Default)]
pub(super) struct Keys<K> {
    pub keys: Vec<K>,
    index: FxHashMap<K, u32>,
    last: u32,
}

impl<K: Copy + Eq + std::hash::Hash> Keys<K> {
    /// The number of `key`, which is added if it is new.
    pub fn number(&mut self, key: K) -> u32 {
        if self.keys.get(self.last as usize) == Some(&key) {
            return self.last;
        }
        let keys = &mut self.keys;
        self.last = *self.index.entry(key).or_insert_with(|| {
            keys.push(key);
            keys.len() as u32 - 1
        });
        self.last
    }
}

/// Why an event is not a row of any table.
enum Skip {
    /// No table holds events of its kind.
    LeftOut(&'static str),
    /// A table holds events of its kind, but it lacks a field that the table needs.
    Lost(&'static str),
}

/// Name of flow arrows where they are counted.
pub(super) const ARROWS: &str = "flow arrows";

const NO_TIME: Skip = Skip::Lost("event without readable time");
const NO_THREAD: Skip = Skip::Lost("host event without thread");

impl Batch {
    /// Scans events until the block ends, the array ends, or no further event can be read.
    pub fn scan(&mut self, text: &[u8]) -> End {
        let mut scanner = Scanner::new(text);
        let mut templates = Templates::default();
        loop {
            let start = match self.next_event(&mut scanner) {
                Ok(Some(start)) => start,
                Ok(None) => return End::Array(scanner.at()),
                Err(Stop::End) => return End::Clean,
                Err(Stop::Bad) => scanner.at(),
            };
            let mut event = scanner.clone();
            match Event::scan(&mut event, &mut templates) {
                Ok(read) => {
                    scanner = event;
                    match read {
                        Some(read) => self.event(&read),
                        None => self.arrows += 1,
                    }
                }
                Err(Stop::End) => return End::Inside(start),
                Err(Stop::Bad) => {
                    // Continue at the next text that looks like the start of an event.
                    scanner.jump(event.at().max(start + 1));
                    if !scanner.resync() {
                        return End::Bad(start);
                    }
                    self.lose("malformed event");
                }
            }
        }
    }

    /// Moves to the next event's `{`; `None` after the array's `]`.
    fn next_event(&self, scanner: &mut Scanner<'_>) -> Result<Option<usize>, Stop> {
        loop {
            match scanner.peek()? {
                b',' => scanner.jump(scanner.at() + 1),
                b'{' => return Ok(Some(scanner.at())),
                b']' => {
                    scanner.jump(scanner.at() + 1);
                    return Ok(None);
                }
                _ => return Err(Stop::Bad),
            }
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        match self.row(event) {
            Ok(()) => {}
            Err(Skip::LeftOut(what)) => *self.left_out.entry(what).or_default() += 1,
            Err(Skip::Lost(why)) => self.lose(why),
        }
    }

    fn lose(&mut self, why: &'static str) {
        *self.lost.entry(why).or_default() += 1;
    }

    fn row(&mut self, event: &Event<'_>) -> Result<(), Skip> {
        match event.phase {
            b'X' => self.complete(event),
            b'M' => self.metadata(event),
            b't' => Err(Skip::LeftOut(ARROWS)),
            b'i' | b'I' | b'n' => Err(Skip::LeftOut("instant events")),
            b'C' => Err(Skip::LeftOut("counter samples")),
            b'B' | b'E' | b'b' | b'e' => Err(Skip::LeftOut("begin/end events")),
            _ => Err(Skip::LeftOut("events of other phases")),
        }
    }

    /// An event with a duration.
    fn complete(&mut self, event: &Event<'_>) -> Result<(), Skip> {
        match event.category {
            Category::Runtime => self.call(event, Api::Runtime),
            Category::Driver => self.call(event, Api::Driver),
            Category::Kernel => self.op(event, OpKind::Kernel),
            Category::Copy => self.op(event, OpKind::Copy),
            Category::Memset => self.op(event, OpKind::Memset),
            Category::Operator => self.range(event, RangeKind::Operator),
            Category::User => self.range(event, RangeKind::User),
            Category::Python => self.range(event, RangeKind::Python),
            Category::Overhead => self.overhead(event),
            Category::Sync => self.sync(event),
            Category::GpuAnnotation => Err(Skip::LeftOut("GPU-side annotations")),
            Category::Marker => Err(Skip::LeftOut("trace markers")),
            Category::Other => Err(Skip::LeftOut("events of other categories")),
        }
    }

    fn call(&mut self, event: &Event<'_>, api: Api) -> Result<(), Skip> {
        let span = self.span(event)?;
        let api = if event.name.bytes.starts_with(b"hip") { Api::Hip } else { api };
        let correlation = event.args.correlation.unwrap_or(0);
        self.calls.push(CallDraft { span, api, correlation });
        Ok(())
    }

    fn range(&mut self, event: &Event<'_>, kind: RangeKind) -> Result<(), Skip> {
        // A few roots of Python stacks belong to no thread: pid 0, tid 0.
        if kind == RangeKind::Python && (event.pid, event.tid) == (Some(0), Some(0)) {
            return Err(Skip::LeftOut("Python functions without a thread"));
        }
        let span = self.span(event)?;
        let stack = match kind {
            RangeKind::Python => span.name,
            _ => self.text(event.args.call_stack),
        };
        let autograd = event.args.sequence.filter(|sequence| *sequence >= 0).map(|sequence| {
            let is_backward = event.args.forward.is_some_and(|thread| thread != 0);
            Autograd { sequence, is_backward }
        });
        self.ranges.push(RangeDraft { span, kind, stack, autograd });
        Ok(())
    }

    /// Adds the tracer's own work. Today it names no thread (pid −1, tid 0); later versions may name one.
    fn overhead(&mut self, event: &Event<'_>) -> Result<(), Skip> {
        let (start, end) = times(event)?;
        let process = event.pid.unwrap_or(-1);
        let thread = self.threads.number((process, event.tid.unwrap_or(0)));
        let name = self.text(event.name);
        let span = Span { start, end, thread, name, external: 0 };
        self.ranges.push(RangeDraft { span, kind: RangeKind::Overhead, stack: Sym::EMPTY, autograd: None });
        Ok(())
    }

    fn span(&mut self, event: &Event<'_>) -> Result<Span, Skip> {
        let (start, end) = times(event)?;
        let (Some(pid), Some(tid)) = (event.pid, event.tid) else { return Err(NO_THREAD) };
        let thread = self.threads.number((pid, tid));
        let name = self.text(event.name);
        Ok(Span { start, end, thread, name, external: event.args.external.unwrap_or(0) })
    }

    /// The communicator and the bytes of a collective's kernel.
    fn exchange(&mut self, event: &Event<'_>, op: &mut Op) {
        let Args { elements, element, group, members, .. } = event.args;
        if let (Some(elements), Some(size)) = (elements, bytes_of(element)) {
            op.bytes = elements.max(0).saturating_mul(size);
        }
        if !group.bytes.is_empty() {
            let name = if group.escaped { group.unescape(&mut self.scratch).as_bytes() } else { group.bytes };
            let text = [name, b" ", members].concat();
            op.communicator = self.strings.intern_bytes(text.trim_ascii_end());
        }
    }

    fn op(&mut self, event: &Event<'_>, kind: OpKind) -> Result<(), Skip> {
        let (start, end) = times(event)?;
        let Args { correlation, bytes, graph_node, registers, shared, .. } = event.args;
        let mut op = Op {
            start,
            end,
            kind,
            correlation: correlation.unwrap_or(0),
            bytes: bytes.unwrap_or(0).max(0),
            registers,
            dynamic_shared: shared,
            graph_node: graph_node.unwrap_or(0),
            ..Op::default()
        };
        [op.grid_x, op.grid_y, op.grid_z] = event.args.grid;
        [op.block_x, op.block_y, op.block_z] = event.args.block;
        match kind {
            OpKind::Kernel => {
                op.name = self.text(event.name);
                self.exchange(event, &mut op);
            }
            OpKind::Copy => (op.copy, op.src, op.dst) = copy_of(event.name.bytes),
            _ => op.dst = memory_in(event.name.bytes).1,
        }
        let stream = self.streams.number(stream_of(event));
        self.ops.push((stream, op));
        Ok(())
    }

    fn sync(&mut self, event: &Event<'_>) -> Result<(), Skip> {
        let (start, end) = times(event)?;
        let kind = match event.args.sync_kind {
            b"Event Sync" => SyncKind::Event,
            b"Stream Wait Event" => SyncKind::StreamWaitEvent,
            b"Stream Sync" => SyncKind::Stream,
            b"Context Sync" => SyncKind::Context,
            _ => SyncKind::Unknown,
        };
        let stream = self.streams.number(stream_of(event));
        let correlation = event.args.correlation.unwrap_or(0);
        let waited = event.args.event.unwrap_or(0).max(0);
        self.syncs.push(SyncDraft { start, end, kind, stream, event: waited, correlation });
        Ok(())
    }

    fn metadata(&mut self, event: &Event<'_>) -> Result<(), Skip> {
        let label = self.text(event.args.label);
        match (event.name.bytes, event.pid, event.tid) {
            (b"process_name" | b"process_labels", Some(pid), _) => {
                self.labels.push(Label::Process(pid, label))
            }
            (b"thread_name", Some(pid), Some(tid)) => self.labels.push(Label::Thread(pid, tid, label)),
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, raw: Raw<'_>) -> Sym {
        if raw.bytes.is_empty() {
            Sym::EMPTY
        } else if raw.escaped {
            self.strings.intern(raw.unescape(&mut self.scratch))
        } else {
            self.strings.intern_bytes(raw.bytes)
        }
    }
}

/// Start and end of an event, ns: not long before the epoch, and small enough that the difference of any two fits an
/// `i64`.
fn times(event: &Event<'_>) -> Result<(Ns, Ns), Skip> {
    const EARLIEST: Ns = -(1 << 50);
    const LATEST: Ns = 1 << 61;
    let start = event.start.filter(|start| *start >= EARLIEST).ok_or(NO_TIME)?;
    let duration = event.duration.unwrap_or(0);
    if duration < 0 {
        return Err(Skip::Lost("event that ends before it starts"));
    }
    let end = start + duration;
    if end < LATEST { Ok((start, end)) } else { Err(NO_TIME) }
}

/// The size of an element by the name of its type, as PyTorch's profiler writes it.
fn bytes_of(element: &[u8]) -> Option<i64> {
    Some(match element {
        b"Byte" | b"Char" | b"Bool" | b"uint8" | b"int8" | b"bool" => 1,
        b"Half" | b"BFloat16" | b"Short" | b"float16" | b"bfloat16" | b"int16" => 2,
        b"Float" | b"Int" | b"float32" | b"int32" => 4,
        b"Double" | b"Long" | b"ComplexFloat" | b"float64" | b"int64" | b"complex64" => 8,
        b"ComplexDouble" | b"complex128" => 16,
        other if other.starts_with(b"Float8") || other.starts_with(b"float8") => 1,
        _ => return None,
    })
}

/// Device, context and stream of a GPU event: from its args, or else from its row in the viewer.
fn stream_of(event: &Event<'_>) -> StreamKey {
    let device = event.args.device.or(event.pid).unwrap_or(0);
    let stream = event.args.stream.or(event.tid).unwrap_or(0);
    (device, event.args.context.unwrap_or(0), stream)
}

/// Direction and memory kinds of `Memcpy DtoH (Device -> Pageable)`.
fn copy_of(name: &[u8]) -> (CopyKind, MemoryKind, MemoryKind) {
    let direction = name.split(|byte| *byte == b' ').nth(1).unwrap_or(b"");
    let copy = std::str::from_utf8(direction).map_or(CopyKind::Unknown, CopyKind::from_name);
    let (src, dst) = memory_in(name);
    (copy, src, dst)
}

/// Memory kinds within the parentheses: `(Pageable -> Device)`, or `(Device)` for a fill.
fn memory_in(name: &[u8]) -> (MemoryKind, MemoryKind) {
    let inside = std::str::from_utf8(name).ok().and_then(|name| name.split_once('(')?.1.split_once(')'));
    let Some((inside, _)) = inside else { return Default::default() };
    let (src, dst) = inside.split_once(" -> ").unwrap_or((inside, inside));
    let kind = |word: &str| MemoryKind::from_name(&word.trim().to_ascii_lowercase());
    (kind(src), kind(dst))
}
