//! Builds traces from arbitrary numbers; takes `.holdup` archives apart and puts them together.

use proptest::prelude::*;
use std::io::{Cursor, Read, Write};
use trace::*;

/// A source of choices: the given numbers, then zeros forever.
pub struct Dice {
    numbers: std::vec::IntoIter<u64>,
    texts: Vec<Sym>,
}

impl Dice {
    fn roll(&mut self) -> u64 {
        self.numbers.next().unwrap_or(0)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.roll() % bound.max(1) as u64) as usize
    }

    fn number(&mut self) -> i64 {
        self.roll() as i64
    }

    fn small(&mut self) -> u32 {
        self.roll() as u32
    }

    fn text(&mut self) -> Sym {
        let at = self.below(self.texts.len());
        self.texts[at]
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// A row number below `rows`, or none.
    fn row<Id>(&mut self, rows: usize, none: Id, new: fn(usize) -> Id) -> Id {
        match self.below(rows + 1) {
            0 => none,
            at => new(at - 1),
        }
    }

    /// A time within ±2⁶⁰ ns and one not before it.
    fn interval(&mut self) -> (Ns, Ns) {
        const FAR: i64 = 1 << 60;
        let (a, b) = (self.number() % (FAR + 1), self.number() % (FAR + 1));
        (a.min(b), a.max(b))
    }
}

/// Texts that break careless writers.
const HOSTILE: &[&str] = &[
    "",
    " ",
    "\0",
    "a\0b",
    "\n",
    "\r\n",
    "\t",
    "\"",
    "\\",
    "'",
    "`",
    ",",
    ";",
    "null",
    "NaN",
    "\u{feff}",
    "\u{202e}abc",
    "é",
    "e\u{301}",
    "火",
    "😀",
    "\u{10ffff}",
    "{\"a\":1}",
    "../../etc/passwd",
    "</script>",
    "\u{1b}[31m",
];

/// Any text, hostile or not.
fn text() -> impl Strategy<Value = String> {
    let any_chars = prop::collection::vec(any::<char>(), 0..20).prop_map(String::from_iter);
    prop_oneof![any_chars, prop::sample::select(HOSTILE).prop_map(str::to_owned), Just("x".repeat(70_000))]
}

fn counts() -> impl Strategy<Value = std::collections::BTreeMap<String, u64>> {
    prop::collection::btree_map(text(), any::<u64>(), 0..4)
}

/// Any meta of this version.
fn meta() -> impl Strategy<Value = Meta> {
    let source = (text(), text());
    let clock = prop::sample::select(vec![Clock::Aligned, Clock::Separate]);
    let lost = (any::<[u64; 3]>(), counts(), any::<bool>()).prop_map(|(numbers, reasons, truncated)| Lost {
        unmatched_calls: numbers[0],
        unmatched_ops: numbers[1],
        records: numbers[2],
        reasons,
        truncated,
    });
    let texts = prop::collection::vec(text(), 5);
    let gpu_clock = any::<Option<[i64; 3]>>()
        .prop_map(|bounds| bounds.map(|[early, late, wrong]| GpuClock { early, late, wrong }));
    let clock = (clock, gpu_clock);
    let notes = prop::collection::vec(text(), 0..4);
    (source, clock, lost, texts, any::<Option<i64>>(), counts(), notes).prop_map(
        |(source, clock, lost, mut texts, epoch_unix_ns, left_out, notes)| Meta {
            libraries: texts.iter().map(|text| (text.clone(), text.clone())).collect(),
            locks_watched: notes.len() % 2 == 1,
            recorded: epoch_unix_ns.map(|at| (at, Ns::MAX)).into_iter().collect(),
            threads_inferred: notes.len() % 3 == 1,
            schema_version: SCHEMA_VERSION,
            source: source.0,
            source_title: source.1,
            source_version: texts.pop().unwrap_or_default(),
            command: texts.pop().unwrap_or_default(),
            host: texts.pop().unwrap_or_default(),
            rank: epoch_unix_ns,
            world_size: epoch_unix_ns.map(i64::wrapping_neg),
            driver: texts.pop().unwrap_or_default(),
            runtime: texts.pop().unwrap_or_default(),
            epoch_unix_ns,
            clock: clock.0,
            gpu_clock: clock.1,
            lost,
            left_out,
            notes,
        },
    )
}

/// A trace that a failing property can show.
pub struct Made(pub Trace);

impl std::fmt::Debug for Made {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let texts: Vec<&str> = self.0.strings.iter().map(|(_, text)| text).collect();
        let Trace { meta, calls, ops, ranges, stacks, waits, states, .. } = &self.0;
        write!(
            f,
            "{meta:#?}\n{texts:?}\n{calls:#?}\n{ops:#?}\n{ranges:#?}\n{stacks:#?}\n{waits:#?}\n{states:#?}"
        )
    }
}

/// Any trace whose references are valid.
pub fn traces() -> impl Strategy<Value = Made> {
    let numbers = prop::collection::vec(any::<u64>(), 0..1500);
    (meta(), prop::collection::vec(text(), 0..12), numbers).prop_map(|(meta, texts, numbers)| {
        let mut trace = Trace { meta, ..Trace::default() };
        let texts = texts.iter().map(String::as_str).chain(HOSTILE.iter().copied());
        let texts = texts.map(|text| trace.strings.intern(text)).collect();
        fill(&mut trace, &mut Dice { numbers: numbers.into_iter(), texts });
        Made(trace)
    })
}

fn fill(trace: &mut Trace, dice: &mut Dice) {
    const MOST: usize = 9;
    (0..dice.below(MOST)).for_each(|_| place(trace, dice));
    (0..dice.below(MOST)).for_each(|_| hardware(trace, dice));
    (0..dice.below(MOST)).for_each(|_| range(trace, dice));
    (0..dice.below(MOST)).for_each(|_| call(trace, dice));
    (0..dice.below(MOST)).for_each(|_| op(trace, dice));
    (0..dice.below(MOST)).for_each(|_| sync(trace, dice));
    (0..dice.below(MOST)).for_each(|_| wait(trace, dice));
    (0..dice.below(MOST)).for_each(|_| argument(trace, dice));
    (0..dice.below(MOST)).for_each(|_| state(trace, dice));
    (0..dice.below(MOST)).for_each(|_| limit(trace, dice));
    (0..dice.below(MOST)).for_each(|_| sample(trace, dice));
    (0..dice.below(MOST)).for_each(|_| tally(trace, dice));
    trace.fit();
}

fn place(trace: &mut Trace, dice: &mut Dice) {
    trace.frames.push(Frame {
        function: dice.text(),
        file: dice.text(),
        line: dice.small(),
        module: dice.text(),
    });
    let frame = dice.row(trace.frames.len(), FrameId::NONE, FrameId::new);
    let caller = dice.row(trace.stacks.len(), StackId::NONE, StackId::new);
    trace.stacks.push(Stack { frame, caller });
}

fn hardware(trace: &mut Trace, dice: &mut Dice) {
    let parent = dice.row(trace.processes.len(), ProcessId::NONE, ProcessId::new);
    trace.processes.push(Process { pid: dice.number(), name: dice.text(), parent, settings: dice.text() });
    let process = dice.row(trace.processes.len(), ProcessId::NONE, ProcessId::new);
    trace.threads.push(Thread {
        process,
        tid: dice.number(),
        name: dice.text(),
        role: dice.of(ThreadRole::ALL),
    });
    trace.devices.push(Device {
        ordinal: dice.number(),
        name: dice.text(),
        compute_major: dice.small(),
        compute_minor: dice.small(),
        multiprocessors: dice.small(),
        copy_engines: dice.small(),
        memory_bytes: dice.number(),
        uuid: dice.text(),
    });
    let device = dice.row(trace.devices.len(), DeviceId::NONE, DeviceId::new);
    trace.contexts.push(Context { process, device, number: dice.number() });
    let context = dice.row(trace.contexts.len(), ContextId::NONE, ContextId::new);
    trace.streams.push(Stream { context, number: dice.number() });
}

fn range(trace: &mut Trace, dice: &mut Dice) {
    let (start, end) = dice.interval();
    let thread = dice.row(trace.threads.len(), ThreadId::NONE, ThreadId::new);
    let stack = dice.row(trace.stacks.len(), StackId::NONE, StackId::new);
    let (kind, name, domain) = (dice.of(RangeKind::ALL), dice.text(), dice.text());
    trace.ranges.push(Range { start, end, thread, kind, name, domain, stack });
}

fn call(trace: &mut Trace, dice: &mut Dice) {
    let (start, end) = dice.interval();
    trace.calls.push(Call {
        start,
        end,
        thread: dice.row(trace.threads.len(), ThreadId::NONE, ThreadId::new),
        api: dice.of(Api::ALL),
        name: dice.text(),
        correlation: dice.number(),
        result: dice.small() as i32,
        stack: dice.row(trace.stacks.len(), StackId::NONE, StackId::new),
        range: dice.row(trace.ranges.len(), RangeId::NONE, RangeId::new),
    });
}

fn op(trace: &mut Trace, dice: &mut Dice) {
    let (start, end) = dice.interval();
    trace.ops.push(Op {
        start,
        end,
        kind: dice.of(OpKind::ALL),
        name: dice.text(),
        stream: dice.row(trace.streams.len(), StreamId::NONE, StreamId::new),
        correlation: dice.number(),
        call: dice.row(trace.calls.len(), CallId::NONE, CallId::new),
        bytes: dice.number(),
        copy: dice.of(CopyKind::ALL),
        src: dice.of(MemoryKind::ALL),
        dst: dice.of(MemoryKind::ALL),
        grid_x: dice.small(),
        grid_y: dice.small(),
        grid_z: dice.small(),
        block_x: dice.small(),
        block_y: dice.small(),
        block_z: dice.small(),
        registers: dice.small(),
        static_shared: dice.small(),
        dynamic_shared: dice.small(),
        graph_node: dice.number(),
        communicator: dice.text(),
    });
}

fn sync(trace: &mut Trace, dice: &mut Dice) {
    let (start, end) = dice.interval();
    trace.syncs.push(Sync {
        start,
        end,
        kind: dice.of(SyncKind::ALL),
        process: dice.row(trace.processes.len(), ProcessId::NONE, ProcessId::new),
        stream: dice.row(trace.streams.len(), StreamId::NONE, StreamId::new),
        event: dice.number(),
        correlation: dice.number(),
        call: dice.row(trace.calls.len(), CallId::NONE, CallId::new),
    });
}

fn wait(trace: &mut Trace, dice: &mut Dice) {
    let (start, end) = dice.interval();
    trace.waits.push(Wait {
        start,
        end,
        thread: dice.row(trace.threads.len(), ThreadId::NONE, ThreadId::new),
        call: dice.row(trace.calls.len(), CallId::NONE, CallId::new),
        lock: dice.number(),
        kind: dice.of(LockKind::ALL),
        mode: dice.of(LockMode::ALL),
        library: dice.text(),
        holder: dice.row(trace.threads.len(), ThreadId::NONE, ThreadId::new),
        holder_call: dice.row(trace.calls.len(), CallId::NONE, CallId::new),
        holders: dice.number() as u32,
        releaser: dice.row(trace.threads.len(), ThreadId::NONE, ThreadId::new),
        releaser_call: dice.row(trace.calls.len(), CallId::NONE, CallId::new),
        layer: dice.of(LockLayer::ALL),
        handoff: dice.number(),
        stack: dice.row(trace.stacks.len(), StackId::NONE, StackId::new),
        holder_stack: dice.row(trace.stacks.len(), StackId::NONE, StackId::new),
        releaser_stack: dice.row(trace.stacks.len(), StackId::NONE, StackId::new),
    });
}

fn state(trace: &mut Trace, dice: &mut Dice) {
    let (start, end) = dice.interval();
    trace.states.push(State {
        start,
        end,
        thread: dice.row(trace.threads.len(), ThreadId::NONE, ThreadId::new),
        running: dice.number(),
        runnable: dice.number(),
        state: dice.of(ThreadState::ALL),
        call: dice.text(),
        object: dice.number(),
    });
}

fn limit(trace: &mut Trace, dice: &mut Dice) {
    let (start, end) = dice.interval();
    trace.limits.push(Limit {
        start,
        end,
        process: dice.row(trace.processes.len(), ProcessId::NONE, ProcessId::new),
        processors: dice.small(),
        quota: dice.number() & i64::MAX,
        throttled: i64::from(dice.small()),
    });
}

fn sample(trace: &mut Trace, dice: &mut Dice) {
    trace.samples.push(Sample {
        at: dice.interval().0,
        thread: dice.row(trace.threads.len(), ThreadId::NONE, ThreadId::new),
        stack: dice.row(trace.stacks.len(), StackId::NONE, StackId::new),
        state: dice.of(ThreadState::ALL),
    });
}

fn tally(trace: &mut Trace, dice: &mut Dice) {
    trace.tallies.push(Tally {
        thread: dice.row(trace.threads.len(), ThreadId::NONE, ThreadId::new),
        kind: dice.of(TallyKind::ALL),
        name: dice.text(),
        count: dice.number() & i64::MAX,
        time: i64::from(dice.small()),
    });
}

fn argument(trace: &mut Trace, dice: &mut Dice) {
    trace.arguments.push(Argument {
        call: dice.row(trace.calls.len(), CallId::NONE, CallId::new),
        bytes: dice.number(),
        copy: dice.of(CopyKind::ALL),
        src: dice.of(MemoryKind::ALL),
        dst: dice.of(MemoryKind::ALL),
        stream: dice.row(trace.streams.len(), StreamId::NONE, StreamId::new),
        kernel: dice.text(),
    });
}

/// A trace with one row in every table, every reference pointing to it.
pub fn one_of_each() -> Trace {
    let mut trace = Trace::default();
    let name = trace.strings.intern("name");
    let process = trace.processes.push(Process { pid: 1, name, ..Process::default() });
    let thread = trace.threads.push(Thread { process, tid: 2, name, ..Thread::default() });
    let device = trace.devices.push(Device { name, ..Device::default() });
    let context = trace.contexts.push(Context { process, device, number: 1 });
    let stream = trace.streams.push(Stream { context, number: 7 });
    let frame = trace.frames.push(Frame { function: name, line: 3, ..Frame::default() });
    let stack = trace.stacks.push(Stack { frame, caller: StackId::NONE });
    let range = trace.ranges.push(Range { end: 9, thread, name, stack, ..Range::default() });
    let call =
        trace.calls.push(Call { end: 9, thread, name, stack, range, correlation: 5, ..Call::default() });
    trace.ops.push(Op { end: 9, stream, call, name, correlation: 5, ..Op::default() });
    trace.syncs.push(Sync { end: 9, process, stream, call, ..Sync::default() });
    trace.waits.push(Wait {
        end: 9,
        thread,
        call,
        holder: thread,
        holder_call: call,
        releaser: thread,
        releaser_call: call,
        layer: LockLayer::Driver,
        handoff: 2,
        stack,
        holder_stack: stack,
        releaser_stack: stack,
        ..Wait::default()
    });
    let state = ThreadState::Blocked;
    trace.states.push(State {
        end: 9,
        thread,
        running: 4,
        runnable: 5,
        state,
        call: name,
        object: 3,
        ..State::default()
    });
    trace.limits.push(Limit {
        end: 9,
        process,
        processors: 4,
        quota: 1_500,
        throttled: 7,
        ..Limit::default()
    });
    trace.samples.push(Sample { at: 5, thread, stack, state });
    trace.tallies.push(Tally { thread, kind: TallyKind::Call, name, count: 8, time: 9 });
    trace.arguments.push(Argument { call, stream, kernel: name, ..Argument::default() });
    trace
}

/// The bytes of the trace's `.holdup` file.
pub fn written(trace: &Trace) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    write(trace, &mut bytes).expect("any valid trace can be written");
    bytes.into_inner()
}

/// The archive's parts, by name.
pub fn parts(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut archive = zip::ZipArchive::new(Cursor::new(archive)).unwrap();
    let count = archive.len();
    let part = |at| {
        let mut file = archive.by_index(at).unwrap();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        (file.name().unwrap().into_owned(), bytes)
    };
    (0..count).map(part).collect()
}

/// An archive of these parts, uncompressed.
pub fn archive<'a>(parts: impl IntoIterator<Item = &'a (String, Vec<u8>)>) -> Vec<u8> {
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        archive.start_file(name.as_str(), stored).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}
