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
    event: Template<'a, Field>,
    /// By category.
    args: [Template<'a, Arg>; Category::COUNT],
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
    /// Scans the event whose `{` comes next.
    pub fn scan(scanner: &mut Scanner<'a>, templates: &mut Templates<'a>) -> Result<Event<'a>, Stop> {
        let mut event = Event::default();
        let mut read = 0;
        scanner.expect(b'{')?;
        while let Some(field) = templates.event.next(scanner, read, Field::of)? {
            read += 1;
            if matches!(field, Field::Args) && scanner.peek()? == b'{' {
                event.args = Args::scan(scanner, &mut templates.args[event.category as usize])?;
                continue;
            }
            if let Some(value) = scanner.scalar_or_skip()? {
                event.set(field, value);
            }
            if matches!(event.phase, b's' | b'f') {
                // Half of a file's events are flow arrows, and no table holds them.
                scanner.close()?;
                return Ok(event);
            }
        }
        Ok(event)
    }

    #[inline]
    fn set(&mut self, field: Field, value: Scalar<'a>) {
        match field {
            Field::Phase => self.phase = text(value).bytes.first().copied().unwrap_or(0),
            Field::Category => self.category = Category::from_name(text(value).bytes),
            Field::Name => self.name = text(value),
            Field::Pid => self.pid = value.integer(),
            Field::Tid => self.tid = thread(value),
            Field::Start => self.start = value.microseconds(),
            Field::Duration => self.duration = value.microseconds(),
            Field::Args | Field::Other => {}
        }
    }
}

impl<'a> Args<'a> {
    fn scan(scanner: &mut Scanner<'a>, template: &mut Template<'a, Arg>) -> Result<Args<'a>, Stop> {
        let mut args = Args::default();
        let mut read = 0;
        scanner.expect(b'{')?;
        while let Some(arg) = template.next(scanner, read, Arg::of)? {
            read += 1;
            match arg {
                Arg::Grid => args.grid = triple(scanner)?,
                Arg::Block => args.block = triple(scanner)?,
                Arg::Members => args.members = ranks(scanner)?,
                Arg::Other => scanner.skip()?,
                _ => {
                    if let Some(value) = scanner.scalar_or_skip()? {
                        args.set(arg, value);
                    }
                }
            }
        }
        Ok(args)
    }

    #[inline]
    fn set(&mut self, arg: Arg, value: Scalar<'a>) {
        match arg {
            Arg::Correlation => self.correlation = value.integer(),
            Arg::External => self.external = value.integer(),
            Arg::Device => self.device = value.integer(),
            Arg::Context => self.context = value.integer(),
            Arg::Stream => self.stream = value.integer(),
            Arg::Bytes => self.bytes = value.integer(),
            Arg::Registers => self.registers = small(value),
            Arg::Shared => self.shared = small(value),
            Arg::GraphNode => self.graph_node = value.integer(),
            Arg::Elements => self.elements = value.integer(),
            Arg::Element => self.element = text(value).bytes,
            Arg::Group => self.group = text(value),
            Arg::Event => self.event = value.integer(),
            Arg::SyncKind => self.sync_kind = text(value).bytes,
            Arg::CallStack => self.call_stack = text(value),
            Arg::Sequence => self.sequence = value.integer(),
            Arg::Forward => self.forward = value.integer(),
            Arg::Label => self.label = text(value),
            Arg::Grid | Arg::Block | Arg::Members | Arg::Other => {}
        }
    }
}

fn text(value: Scalar<'_>) -> Raw<'_> {
    match value {
        Scalar::Text(raw) => raw,
        Scalar::Word(bytes) => Raw { bytes, escaped: false },
    }
}

/// A thread id: a number, a number in quotes, or `stream 7` as written in 2021.
fn thread(value: Scalar<'_>) -> Option<i64> {
    let digits = match value {
        Scalar::Text(raw) => raw.bytes.strip_prefix(b"stream ").unwrap_or(raw.bytes),
        Scalar::Word(word) => word,
    };
    Scalar::Word(digits).integer()
}

fn small(value: Scalar<'_>) -> u32 {
    value.integer().and_then(|value| u32::try_from(value).ok()).unwrap_or(0)
}

/// The ranks of a communicator as they are written: an array, or a text of one.
fn ranks<'a>(scanner: &mut Scanner<'a>) -> Result<&'a [u8], Stop> {
    if scanner.peek()? == b'[' {
        let start = scanner.at();
        scanner.skip()?;
        return Ok(scanner.since(start));
    }
    scanner.scalar_or_skip().map(|value| value.map_or(&[][..], |value| text(value).bytes))
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
        let value = scanner.scalar_or_skip()?;
        if let (Some(size), Some(value)) = (sizes.get_mut(at), value) {
            *size = small(value);
        }
        at += 1;
    }
    Ok(sizes)
}
