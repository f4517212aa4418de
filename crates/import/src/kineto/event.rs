//! One event of `traceEvents`, as written.

use crate::json::{Raw, Scalar, Scanner, Stop};
use trace::Ns;

/// The fields of an event that any table needs. Integers that are absent or unreadable are `None`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Event<'a> {
    /// `X` complete, `M` metadata, `s`/`f` flow …
    pub phase: u8,
    pub category: &'a [u8],
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
    pub event: Option<i64>,
    pub sync_kind: &'a [u8],
    pub call_stack: Raw<'a>,
    /// `name` or `labels` of a metadata event.
    pub label: Raw<'a>,
}

impl<'a> Event<'a> {
    /// Scans the event whose `{` comes next.
    pub fn scan(scanner: &mut Scanner<'a>) -> Result<Event<'a>, Stop> {
        let mut event = Event::default();
        let mut first = true;
        scanner.expect(b'{')?;
        while let Some(key) = scanner.key(&mut first)? {
            if key == b"args" && scanner.peek()? == b'{' {
                event.args = Args::scan(scanner)?;
                continue;
            }
            if let Some(value) = scanner.scalar_or_skip()? {
                event.set(key, value);
            }
            if matches!(event.phase, b's' | b'f') {
                // Flow arrows are half of a file's events, and no table holds them.
                scanner.close()?;
                return Ok(event);
            }
        }
        Ok(event)
    }

    #[inline]
    fn set(&mut self, key: &[u8], value: Scalar<'a>) {
        match key {
            b"ph" => self.phase = text(value).bytes.first().copied().unwrap_or(0),
            b"cat" => self.category = text(value).bytes,
            b"name" => self.name = text(value),
            b"pid" => self.pid = value.integer(),
            b"tid" => self.tid = thread(value),
            b"ts" => self.start = value.microseconds(),
            b"dur" => self.duration = value.microseconds(),
            _ => {}
        }
    }
}

impl<'a> Args<'a> {
    fn scan(scanner: &mut Scanner<'a>) -> Result<Args<'a>, Stop> {
        let mut args = Args::default();
        let mut first = true;
        scanner.expect(b'{')?;
        while let Some(key) = scanner.key(&mut first)? {
            match key {
                b"grid" => args.grid = triple(scanner)?,
                b"block" => args.block = triple(scanner)?,
                _ => {
                    if let Some(value) = scanner.scalar_or_skip()? {
                        args.set(key, value);
                    }
                }
            }
        }
        Ok(args)
    }

    #[inline]
    fn set(&mut self, key: &[u8], value: Scalar<'a>) {
        match key {
            b"correlation" => self.correlation = value.integer(),
            b"External id" | b"external id" => self.external = value.integer(),
            b"device" => self.device = value.integer(),
            b"context" => self.context = value.integer(),
            b"stream" => self.stream = value.integer(),
            b"bytes" => self.bytes = value.integer(),
            b"registers per thread" => self.registers = small(value),
            b"shared memory" => self.shared = small(value),
            b"graph node id" => self.graph_node = value.integer(),
            b"event_id" | b"wait_on_cuda_event_record_corr_id" => self.event = value.integer(),
            b"cuda_sync_kind" => self.sync_kind = text(value).bytes,
            b"Call stack" => self.call_stack = text(value),
            b"name" | b"labels" => self.label = text(value),
            _ => {}
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
