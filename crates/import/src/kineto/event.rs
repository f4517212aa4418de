//! One event of `traceEvents`, as written.

use super::template::Template;
use crate::json::{Raw, Scalar, Scanner, Stop};
use trace::Ns;

/// The category of an event. Kineto's current names and those of 2021.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Category {
    Runtime,
    Driver,
    Kernel,
    Copy,
    Memset,
    Operator,
    User,
    Python,
    Overhead,
    Sync,
    GpuAnnotation,
    Marker,
    #[default]
    Other,
}

impl Category {
    const COUNT: usize = Category::Other as usize + 1;

    fn from_name(name: &[u8]) -> Category {
        match name {
            b"cuda_runtime" | b"Runtime" => Category::Runtime,
            b"cuda_driver" => Category::Driver,
            b"kernel" | b"Kernel" => Category::Kernel,
            b"gpu_memcpy" | b"Memcpy" => Category::Copy,
            b"gpu_memset" | b"Memset" => Category::Memset,
            b"cpu_op" | b"Operator" => Category::Operator,
            b"user_annotation" => Category::User,
            b"python_function" => Category::Python,
            b"overhead" => Category::Overhead,
            b"cuda_sync" => Category::Sync,
            b"gpu_user_annotation" => Category::GpuAnnotation,
            b"Trace" => Category::Marker,
            _ => Category::Other,
        }
    }
}

/// The fields of an event that any table needs. Integers that are absent or unreadable are `None`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Event<'a> {
    /// `X` complete, `M` metadata, `s`/`f` flow …
    pub phase: u8,
    pub category: Category,
    pub name: Raw<'a>,
    pub pid: Option<i64>,
    pub tid: Option<i64>,
    /// Start, ns from `baseTimeNanoseconds`.
    pub start: Option<Ns>,
    pub duration: Option<Ns>,
    pub args: Args<'a>,
}

/// The fields of an event's `args`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Args<'a> {
    pub correlation: Option<i64>,
    pub external: Option<i64>,
    pub device: Option<i64>,
    pub context: Option<i64>,
    pub stream: Option<i64>,
    pub bytes: Option<i64>,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub registers: u32,
    pub shared: u32,
    pub graph_node: Option<i64>,
    /// Of a collective: elements that the rank contributes, and their type.
    pub elements: Option<i64>,
    pub element: &'a [u8],
    /// Its communicator's name and ranks.
    pub group: Raw<'a>,
    pub members: &'a [u8],
    pub event: Option<i64>,
    pub sync_kind: &'a [u8],
    pub call_stack: Raw<'a>,
    /// An operator's number for autograd; if `forward` is not 0, the number of the operator whose backward it is.
    pub sequence: Option<i64>,
    /// PyTorch's number of the thread that ran the forward.
    pub forward: Option<i64>,
    /// `name` or `labels` of a metadata event.
    pub label: Raw<'a>,
}

/// The layouts of a block's last events.
#[derive(Default)]
pub(super) struct Templates<'a> {
    /// The last begins that differed.
    begins: Vec<EventStart<'a>>,
    event: Template<'a, Field>,
    /// By category.
    args: [Template<'a, Arg>; Category::COUNT],
}

/// How events of a kind begin: from their `{` through the values that make them of that kind.
struct EventStart<'a> {
    text: &'a [u8],
    /// Number of its keys.
    keys: usize,
    phase: u8,
    category: Category,
}

/// Kinds of events that a file has many of.
const MOST_BEGINS: usize = 12;

impl<'a> Templates<'a> {
    /// Takes the begin of an event, if it is that of a known kind.
    fn begin(&self, scanner: &mut Scanner<'a>) -> Option<&EventStart<'a>> {
        self.begins.iter().find(|begin| scanner.take_text(begin.text))
    }

    /// Keeps how an event of which `keys` were read begins.
    fn keep(&mut self, event: &Event<'a>, text: &'a [u8], keys: usize) {
        if self.begins.len() == MOST_BEGINS {
            self.begins.pop();
        }
        self.begins.push(EventStart { text, keys, phase: event.phase, category: event.category });
    }
}

/// The meaning of an event's key.
#[derive(Clone, Copy)]
enum Field {
    Phase,
    Category,
    Name,
    Pid,
    Tid,
    Start,
    Duration,
    Args,
    Other,
}

impl Field {
    fn of(key: &[u8]) -> Field {
        match key {
            b"ph" => Field::Phase,
            b"cat" => Field::Category,
            b"name" => Field::Name,
            b"pid" => Field::Pid,
            b"tid" => Field::Tid,
            b"ts" => Field::Start,
            b"dur" => Field::Duration,
            b"args" => Field::Args,
            _ => Field::Other,
        }
    }
}

/// The meaning of a key in an event's `args`.
#[derive(Clone, Copy)]
enum Arg {
    Correlation,
    External,
    Device,
    Context,
    Stream,
    Bytes,
    Grid,
    Block,
    Registers,
    Shared,
    GraphNode,
    Elements,
    Element,
    Group,
    Members,
    Event,
    SyncKind,
    CallStack,
    Sequence,
    Forward,
    Label,
    Other,
}

impl Arg {
    fn of(key: &[u8]) -> Arg {
        match key {
            b"correlation" => Arg::Correlation,
            b"External id" | b"external id" => Arg::External,
            b"device" => Arg::Device,
            b"context" => Arg::Context,
            b"stream" => Arg::Stream,
            b"bytes" => Arg::Bytes,
            b"grid" => Arg::Grid,
            b"block" => Arg::Block,
            b"registers per thread" => Arg::Registers,
            b"shared memory" => Arg::Shared,
            b"graph node id" => Arg::GraphNode,
            b"In msg nelems" => Arg::Elements,
            b"dtype" => Arg::Element,
            b"Process Group Name" => Arg::Group,
            b"Process Group Ranks" => Arg::Members,
            b"event_id" | b"wait_on_cuda_event_record_corr_id" => Arg::Event,
            b"cuda_sync_kind" => Arg::SyncKind,
            b"Call stack" => Arg::CallStack,
            b"Sequence number" => Arg::Sequence,
            b"Fwd thread id" => Arg::Forward,
            b"name" | b"labels" => Arg::Label,
            _ => Arg::Other,
        }
    }
}

impl<'a> Event<'a> {
    /// Scans the event whose `{` comes next. `None` for a flow arrow: half of a file's events are, and no table holds them.
    pub fn scan(scanner: &mut Scanner<'a>, templates: &mut Templates<'a>) -> Result<Option<Event<'a>>, Stop> {
        let start = scanner.at();
        let known = templates.begin(scanner);
        if known.is_some_and(|begin| is_arrow(begin.phase)) {
            return scanner.close_object().map(|()| None);
        }
        let (mut event, mut read) = (Event::default(), 0);
        match known {
            Some(begin) => (read, event.phase, event.category) = (begin.keys, begin.phase, begin.category),
            None => scanner.expect(b'{')?,
        }
        while let Some(field) = templates.event.next(scanner, read, Field::of)? {
            read += 1;
            if matches!(field, Field::Args) && scanner.peek()? == b'{' {
                event.args.scan(scanner, &mut templates.args[event.category as usize])?;
                continue;
            }
            event.read(field, scanner)?;
            let is_begin = match field {
                Field::Phase => read == 1 && is_arrow(event.phase),
                Field::Category => read == 2 && event.phase != 0,
                _ => false,
            };
            if is_begin {
                templates.keep(&event, scanner.since(start), read);
            }
            if is_arrow(event.phase) {
                return scanner.close_object().map(|()| None);
            }
        }
        Ok(Some(event))
    }

    #[inline]
    fn read(&mut self, field: Field, scanner: &mut Scanner<'a>) -> Result<(), Stop> {
        match field {
            Field::Phase => self.phase = text(scanner)?.bytes.first().copied().unwrap_or(0),
            Field::Category => self.category = Category::from_name(text(scanner)?.bytes),
            Field::Name => self.name = text(scanner)?,
            Field::Pid => self.pid = scanner.integer()?,
            Field::Tid => self.tid = thread(scanner)?,
            Field::Start => self.start = scanner.microseconds()?,
            Field::Duration => self.duration = scanner.microseconds()?,
            Field::Args | Field::Other => scanner.skip()?,
        }
        Ok(())
    }
}

impl<'a> Args<'a> {
    /// Scans the object whose `{` comes next.
    fn scan(&mut self, scanner: &mut Scanner<'a>, template: &mut Template<'a, Arg>) -> Result<(), Stop> {
        let mut read = 0;
        scanner.expect(b'{')?;
        while let Some(arg) = template.next(scanner, read, Arg::of)? {
            read += 1;
            self.read(arg, scanner)?;
        }
        Ok(())
    }

    #[inline]
    fn read(&mut self, arg: Arg, scanner: &mut Scanner<'a>) -> Result<(), Stop> {
        match arg {
            Arg::Correlation => self.correlation = scanner.integer()?,
            Arg::External => self.external = scanner.integer()?,
            Arg::Device => self.device = scanner.integer()?,
            Arg::Context => self.context = scanner.integer()?,
            Arg::Stream => self.stream = scanner.integer()?,
            Arg::Bytes => self.bytes = scanner.integer()?,
            Arg::Grid => self.grid = triple(scanner)?,
            Arg::Block => self.block = triple(scanner)?,
            Arg::Registers => self.registers = small(scanner)?,
            Arg::Shared => self.shared = small(scanner)?,
            Arg::GraphNode => self.graph_node = scanner.integer()?,
            Arg::Elements => self.elements = scanner.integer()?,
            Arg::Element => self.element = text(scanner)?.bytes,
            Arg::Group => self.group = text(scanner)?,
            Arg::Members => self.members = ranks(scanner)?,
            Arg::Event => self.event = scanner.integer()?,
            Arg::SyncKind => self.sync_kind = text(scanner)?.bytes,
            Arg::CallStack => self.call_stack = text(scanner)?,
            Arg::Sequence => self.sequence = scanner.integer()?,
            Arg::Forward => self.forward = scanner.integer()?,
            Arg::Label => self.label = text(scanner)?,
            Arg::Other => scanner.skip()?,
        }
        Ok(())
    }
}

/// Whether events of a phase are flow arrows.
fn is_arrow(phase: u8) -> bool {
    matches!(phase, b's' | b'f')
}

/// The text of a string or word; empty after an object or array.
#[inline]
fn text<'a>(scanner: &mut Scanner<'a>) -> Result<Raw<'a>, Stop> {
    Ok(match scanner.scalar_or_skip()? {
        Some(Scalar::Text(raw)) => raw,
        Some(Scalar::Word(bytes)) => Raw { bytes, escaped: false },
        None => Raw::default(),
    })
}

/// A thread id: a number, a number in quotes, or `stream 7` as written in 2021.
fn thread(scanner: &mut Scanner<'_>) -> Result<Option<i64>, Stop> {
    if scanner.peek()? != b'"' {
        return scanner.integer();
    }
    let raw = text(scanner)?;
    let digits = raw.bytes.strip_prefix(b"stream ").unwrap_or(raw.bytes);
    Ok(Scalar::Word(digits).integer())
}

#[inline]
fn small(scanner: &mut Scanner<'_>) -> Result<u32, Stop> {
    Ok(scanner.integer()?.and_then(|value| u32::try_from(value).ok()).unwrap_or(0))
}

/// The ranks of a communicator as they are written: an array, or a text of one.
fn ranks<'a>(scanner: &mut Scanner<'a>) -> Result<&'a [u8], Stop> {
    if scanner.peek()? == b'[' {
        let start = scanner.at();
        scanner.skip()?;
        return Ok(scanner.since(start));
    }
    Ok(text(scanner)?.bytes)
}

/// `[x, y, z]`, missing ones 0.
fn triple(scanner: &mut Scanner<'_>) -> Result<[u32; 3], Stop> {
    let mut sizes = [0; 3];
    if scanner.peek()? != b'[' {
        scanner.skip()?;
        return Ok(sizes);
    }
    scanner.expect(b'[')?;
    let (mut first, mut at) = (true, 0);
    while scanner.element(&mut first)? {
        let value = small(scanner)?;
        if let Some(size) = sizes.get_mut(at) {
            *size = value;
        }
        at += 1;
    }
    Ok(sizes)
}
