//! The matrix: how much slower are one thread's launches, copies and allocations while another thread repeats a call, on the
//! same stream, another stream, another context, another GPU?

use crate::experiment::{
    Bench, Column, Experiment, Kind, Parameter, Place, Plan, Reading, Relation, Settings, Unit, Variant,
    View, Word, choices::words,
};
use crate::results::{Figure, Results, Row};
use report::plot::{Chart, Heat, Shade};
use std::time::Duration;
use workload::{
    BufferId, ContextId, EventId, Kernel, Memory, Outcome, Process, Repeat, Steps, StreamId, StreamKind,
    Workload,
};

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "interference",
    about: "the matrix: how much each call of one thread slows another thread's launches, copies and allocations",
    question: "Thread A repeats a call. How many times as long as beside an idle A do thread B's launches, copies and \
               allocations take, on the same stream, on its own stream, in its own context, on another GPU?",
    parameters: &[
        Parameter::words::<Repeated>("call", "what A repeats; idle always runs as well", ALL_CALLS),
        Parameter::words::<Effect>("effect", "what B does", "launches,copies,allocations"),
        Parameter::words::<Place>(
            "variant",
            "where B does it",
            "same-stream,own-stream,own-context,other-gpu",
        ),
        Parameter::one(
            "bytes",
            "size of what A copies, allocates or registers",
            Kind::Sizes(4096, 1 << 34),
            "64MiB",
        ),
        Parameter::one("time", "time that both threads run for", Kind::Durations, "100ms"),
    ],
    columns: &[
        Column::words("variant"),
        Column::words("call"),
        Column::words("effect"),
        Column::measured("per_s", "per second", Unit::PerSecond),
        Column::measured("stalled_share", "in stalls", Unit::Share),
        Column::measured("longest_ms", "longest", Unit::Milliseconds),
        Column::measured("slowdown", "slowdown", Unit::Times),
    ],
    rounds: 3,
    warm_up: false,
    variants,
    relation: Some(Relation { base: ("call", "idle"), but: &["call"], name: "slowdown", figure: slowdown }),
    verdict,
    chart: |results| Chart::Heat(heat(results)),
    view: View::Matrix,
    timelines: None,
    checked: false,
    averages: None,
};

const ALL_CALLS: &str = "idle,launch,allocate,allocate-busy,allocate-pool,allocate-pinned,register,copy-in-pinned,\
copy-in-pageable,copy-out-pinned,copy-out-pageable,copy-out-fresh,copy-device,load-module,create-stream,create-event,\
synchronize-stream,synchronize-event,synchronize-context";

fn variants(settings: &Settings, bench: &Bench) -> Result<Plan, String> {
    let mut plan = Plan::default();
    let mut calls: Vec<Repeated> = settings.words("call");
    calls.retain(|call| *call != Repeated::Idle);
    calls.insert(0, Repeated::Idle);
    let (bytes, time) = (settings.number("bytes"), settings.duration("time"));
    let mut places: Vec<Place> = settings.words("variant");
    if bench.gpus < 2 && places.contains(&Place::OtherGpu) {
        places.retain(|place| *place != Place::OtherGpu);
        plan.left_out.push(String::from("other-gpu: the machine has one GPU"));
    }
    for effect in settings.words("effect") {
        for &place in &places {
            for &repeated in &calls {
                let case = Case { repeated, effect, place, bytes, time };
                plan.variants.extend(case.is_one().then(|| case.variant()));
            }
        }
    }
    Ok(plan)
}

/// Bytes of B's copy: few, so that the time is what it waits.
const SMALL: u64 = 64 << 10;
/// Bytes of B's allocation.
const ALLOCATED: u64 = 1 << 20;
/// Cycles of a kernel that A waits for: about 100 µs.
const SHORT: u64 = 200_000;
/// Cycles of a kernel that runs while A frees: about 10 ms.
const LONG: u64 = 20_000_000;

words! {
    /// Calls that A repeats.
    Repeated {
        /// Nothing: the base that the others are compared with.
        Idle = "idle",
        /// Launches of an empty kernel.
        Launch = "launch",
        /// Device memory allocated and freed, with no operation of A on the device.
        Allocate = "allocate",
        /// The same while a long kernel of A runs.
        AllocateBusy = "allocate-busy",
        /// Memory from the pool, in stream order.
        AllocatePool = "allocate-pool",
        /// Pinned memory allocated and freed.
        AllocatePinned = "allocate-pinned",
        /// Pageable memory registered (page-locked in place) and unregistered.
        Register = "register",
        /// Copies to the device, from pinned memory.
        CopyInPinned = "copy-in-pinned",
        /// From pageable memory.
        CopyInPageable = "copy-in-pageable",
        /// Copies to the host, into pinned memory.
        CopyOutPinned = "copy-out-pinned",
        /// Into pageable memory.
        CopyOutPageable = "copy-out-pageable",
        /// Into memory never touched before.
        CopyOutFresh = "copy-out-fresh",
        /// Copies within the device.
        CopyDevice = "copy-device",
        /// A module loaded and unloaded.
        LoadModule = "load-module",
        /// A stream created and destroyed.
        CreateStream = "create-stream",
        /// An event created and destroyed.
        CreateEvent = "create-event",
        /// A short kernel, and a wait for its stream.
        SynchronizeStream = "synchronize-stream",
        /// A short kernel, and a wait for an event after it.
        SynchronizeEvent = "synchronize-event",
        /// A short kernel, and a wait for the context.
        SynchronizeContext = "synchronize-context",
    }
}

impl Repeated {
    /// Whether it uses a stream, so that the same stream and another one are two cases.
    pub fn in_stream(self) -> bool {
        use Repeated::*;
        !matches!(self, Idle | Allocate | AllocatePinned | Register | LoadModule | CreateStream | CreateEvent)
    }

    /// The memory of the buffers that the calls use; of copies, source and destination.
    fn memories(self) -> &'static [Memory] {
        use Repeated::*;
        match self {
            Allocate | AllocateBusy => &[Memory::Device],
            AllocatePool => &[Memory::Pool],
            AllocatePinned => &[Memory::Pinned],
            Register => &[Memory::Pageable],
            CopyInPinned => &[Memory::Pinned, Memory::Device],
            CopyInPageable => &[Memory::Pageable, Memory::Device],
            CopyOutPinned => &[Memory::Device, Memory::Pinned],
            CopyOutPageable => &[Memory::Device, Memory::Pageable],
            CopyOutFresh => &[Memory::Device, Memory::Fresh],
            CopyDevice => &[Memory::Device, Memory::Device],
            _ => &[],
        }
    }

    /// The number of these buffers that exist all the time; the calls allocate the others.
    fn kept(self) -> usize {
        use Repeated::*;
        match self {
            Allocate | AllocateBusy | AllocatePool | AllocatePinned => 0,
            CopyOutFresh => 1,
            _ => self.memories().len(),
        }
    }
}

words! {
    /// Calls that B makes.
    Effect {
        /// Launches an empty kernel.
        Launches = "launches",
        /// Copies 64 KiB of pinned memory to the device and waits for it.
        Copies = "copies",
        /// Allocates and frees 1 MiB of device memory.
        Allocations = "allocations",
    }
}

impl Effect {
    /// As for [`Repeated::in_stream`].
    pub fn in_stream(self) -> bool {
        self != Effect::Allocations
    }
}

/// Values that a case varies.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Calls that A repeats.
    pub repeated: Repeated,
    /// Calls that B makes.
    pub effect: Effect,
    /// Where B does it.
    pub place: Place,
    /// Bytes that A copies, allocates or registers.
    pub bytes: u64,
    /// The time that both threads run for; B's last call may take longer.
    pub time: Duration,
}

impl Default for Case {
    fn default() -> Case {
        Case {
            repeated: Repeated::Idle,
            effect: Effect::Launches,
            place: Place::OwnStream,
            bytes: 64 << 20,
            time: Duration::from_millis(100),
        }
    }
}

impl Case {
    /// Whether the case differs from every other: without streams there is no same stream.
    pub fn is_one(&self) -> bool {
        let streams =
            self.effect.in_stream() && (self.repeated.in_stream() || self.repeated == Repeated::Idle);
        self.place != Place::SameStream || streams
    }

    /// The workload. B is the last thread.
    pub fn workload(&self) -> Workload {
        let mut workload = Workload::new(format!("interference-{}", self.repeated.name()));
        let process = workload.process("main");
        let a = process.primary(0);
        let b = match self.place {
            Place::SameStream | Place::OwnStream => a,
            Place::OwnContext => process.own_context(0),
            Place::OtherGpu => process.primary(1),
        };
        let first = process.stream("A", a, StreamKind::NonBlocking);
        let second = match self.place {
            Place::SameStream => first,
            _ => process.stream("B", b, StreamKind::NonBlocking),
        };
        if self.repeated != Repeated::Idle {
            self.repeating(process, a, first);
        }
        self.affected(process, b, second);
        workload
    }

    fn variant(self) -> Variant {
        Variant {
            varied: vec![
                ("variant", self.place.name().into()),
                ("call", self.repeated.name().into()),
                ("effect", self.effect.name().into()),
            ],
            workload: self.workload(),
            timed: true,
            averages: false,
            contention: None,
            read: Box::new(|outcome| vec![read(outcome)]),
        }
    }

    /// Thread A.
    fn repeating(&self, process: &mut Process, context: ContextId, stream: StreamId) {
        let memories = self.repeated.memories().iter().enumerate();
        let buffers: Vec<BufferId> = memories
            .map(|(at, memory)| process.buffer(format!("A {at}"), context, *memory, self.bytes))
            .collect();
        let made = process.stream("made", context, StreamKind::NonBlocking);
        let event = process.event("event", context);
        let thread = process.thread("A", context);
        // Not until B has finished: on an H200 one launch of B waited for as long as A copied.
        thread.repeat = Repeat::lasting(self.time);
        for buffer in &buffers[..self.repeated.kept()] {
            thread.before().allocate(*buffer);
            thread.after().free(*buffer);
        }
        warm_up(stream, &mut thread.before());
        self.calls(&Things { stream, made, event, buffers }, &mut thread.body());
        thread.after().synchronize(stream);
    }

    /// Adds the calls that A repeats.
    fn calls(&self, things: &Things, steps: &mut Steps<'_>) {
        use Repeated::*;
        let &Things { stream, made, event, ref buffers } = things;
        let delay = |cycles| Kernel::Delay { cycles };
        match self.repeated {
            Idle => steps,
            Launch => steps.launch(Kernel::Empty, 1, 1, stream),
            Allocate | AllocatePinned => steps.allocate(buffers[0]).free(buffers[0]),
            AllocateBusy => steps
                .launch(delay(LONG), 1, 1, stream)
                .allocate(buffers[0])
                .free(buffers[0])
                .synchronize(stream),
            AllocatePool => {
                steps.allocate_on(buffers[0], stream).free_on(buffers[0], stream).synchronize(stream)
            }
            Register => steps.register(buffers[0]).unregister(buffers[0]),
            CopyInPinned | CopyInPageable | CopyOutPinned | CopyOutPageable | CopyDevice => {
                steps.copy(buffers[0], buffers[1], self.bytes, stream).synchronize(stream)
            }
            CopyOutFresh => {
                steps.allocate(buffers[1]).copy(buffers[0], buffers[1], self.bytes, stream);
                steps.synchronize(stream).free(buffers[1])
            }
            LoadModule => steps.load_module(),
            CreateStream => steps.create_stream(made).destroy_stream(made),
            CreateEvent => steps.create_event(event).destroy_event(event),
            SynchronizeStream => steps.launch(delay(SHORT), 1, 1, stream).synchronize(stream),
            SynchronizeEvent => {
                steps.launch(delay(SHORT), 1, 1, stream).record(event, stream).synchronize_event(event)
            }
            SynchronizeContext => steps.launch(delay(SHORT), 1, 1, stream).synchronize_context(),
        };
    }

    /// Thread B.
    fn affected(&self, process: &mut Process, context: ContextId, stream: StreamId) {
        let host = process.buffer("host", context, Memory::Pinned, SMALL);
        let device = process.buffer("device", context, Memory::Device, SMALL);
        let allocated = process.buffer("small", context, Memory::Device, ALLOCATED);
        let thread = process.thread("B", context);
        thread.repeat = Repeat::lasting(self.time);
        thread.before().allocate(host).allocate(device).fill(host, 0);
        warm_up(stream, &mut thread.before());
        match self.effect {
            Effect::Launches => thread.body().launch(Kernel::Empty, 1, 1, stream),
            Effect::Copies => thread.body().copy(host, device, SMALL, stream).synchronize(stream),
            Effect::Allocations => thread.body().allocate(allocated).free(allocated),
        };
        thread.after().synchronize(stream).free(device).free(host);
    }
}

/// The objects that A uses.
struct Things {
    stream: StreamId,
    /// A stream that A may create.
    made: StreamId,
    event: EventId,
    /// Buffers in the memories of [`Repeated::memories`].
    buffers: Vec<BufferId>,
}

/// Uses each kernel once, because a first use loads it.
fn warm_up(stream: StreamId, steps: &mut Steps<'_>) {
    steps.launch(Kernel::Empty, 1, 1, stream).launch(Kernel::Delay { cycles: 1 }, 1, 1, stream);
    steps.synchronize(stream);
}

/// Reads what B did.
fn read(outcome: &Outcome) -> Reading {
    let Some(b) = outcome.threads.last() else { return Reading::default() };
    let elapsed = b.elapsed_ns.max(1) as f64;
    let stalled: u64 = b.calls.iter().map(|call| call.stalled_ns).sum();
    let longest = b.calls.iter().map(|call| call.max_ns).max().unwrap_or(0);
    let figures = vec![
        ("per_s", b.rounds as f64 * 1e9 / elapsed),
        ("stalled_share", stalled as f64 / elapsed),
        ("longest_ms", longest as f64 / 1e6),
    ];
    Reading { figures, ..Reading::default() }
}

/// B's rate beside an idle A over its rate in this row.
fn slowdown(row: &Row, idle: &Row) -> Option<Figure> {
    Some(idle.figure("per_s")?.over("slowdown", row.figure("per_s")?))
}

/// The least slowdown that counts.
const SLOW: f64 = 2.0;
/// The number of the worst pairs that the verdict names.
const NAMED: usize = 6;

fn verdict(results: &Results) -> Vec<String> {
    let is_idle = |row: &Row| row.is(&[("call", Repeated::Idle.name().into())]);
    // Without the row of an idle A a pair has no slowdown.
    let busy = || results.rows.iter().filter(|row| !is_idle(row) && !row.value("slowdown").is_nan());
    let mut slow: Vec<&Row> = busy().filter(|row| row.value("slowdown") >= SLOW).collect();
    slow.sort_by(|a, b| b.value("slowdown").total_cmp(&a.value("slowdown")));
    let mut sentences = Vec::new();
    if busy().next().is_some() {
        let (count, of) = (slow.len(), busy().count());
        sentences
            .push(format!("In {count} of {of} pairs B takes at least twice as long as beside an idle A."));
    }
    let named: Vec<String> = slow.iter().take(NAMED).map(|row| named(row)).collect();
    if !named.is_empty() {
        sentences.push(format!("The worst: {}.", named.join("; ")));
    }
    for place in Place::ALL {
        let there = || busy().filter(|row| row.is(&[("variant", place.name().into())]));
        let worst = there().map(|row| row.value("slowdown")).fold(0.0, f64::max);
        if there().next().is_some() && worst < SLOW {
            sentences.push(format!(
                "Nothing delays {}: {} at most.",
                where_(*place),
                Unit::Times.text(worst)
            ));
        }
    }
    sentences
}

fn named(row: &Row) -> String {
    format!(
        "{} makes {} {} as long ({}{})",
        row.text("call"),
        row.text("effect"),
        Unit::Times.text(row.value("slowdown")),
        row.text("variant"),
        row.figure("slowdown")
            .and_then(|figure| figure.interval_text(Unit::Times))
            .map_or(String::new(), |ends| format!(", {ends}"))
    )
}

fn where_(place: Place) -> &'static str {
    match place {
        Place::SameStream => "calls in the same stream",
        Place::OwnStream => "calls in another stream",
        Place::OwnContext => "calls in another context",
        Place::OtherGpu => "calls on another GPU",
    }
}

/// One row per call of A, one column per call of B and place.
fn heat(results: &Results) -> Heat {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for row in &results.rows {
        let pair = (row.text("effect"), row.text("variant"));
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    let was_run = |call: &Repeated| results.row(&[("call", call.name().into())]).is_some();
    let calls =
        Repeated::ALL.iter().filter(|call| **call != Repeated::Idle && was_run(call)).map(|call| call.name());
    let mut groups: Vec<(String, usize)> = Vec::new();
    for (effect, _) in &pairs {
        match groups.last_mut() {
            Some((last, size)) if last == effect => *size += 1,
            _ => groups.push((effect.clone(), 1)),
        }
    }
    let cell = |call: &str, (effect, place): &(String, String)| {
        let wanted =
            [("call", call.into()), ("effect", effect.as_str().into()), ("variant", place.as_str().into())];
        let value = results.row(&wanted)?.figure("slowdown")?.value;
        Some(Shade { value, text: times(value) })
    };
    let rows = calls.map(|call| (call.to_owned(), pairs.iter().map(|pair| cell(call, pair)).collect()));
    Heat {
        value: String::from("times as long"),
        range: (1.0, 1000.0),
        groups,
        rows: rows.collect(),
        columns: pairs.iter().map(|(_, place)| column(place).to_owned()).collect(),
    }
}

/// A place's name for a narrow column.
fn column(place: &str) -> &str {
    match Place::named(place) {
        Some(Place::OwnContext) => "own ctx",
        Some(Place::OtherGpu) => "other GPU",
        _ => place,
    }
}

/// A number for a narrow cell.
fn times(value: f64) -> String {
    match value {
        value if value >= 9_999.5 => format!("{:.0}k", value / 1000.0),
        value if value >= 9.95 => format!("{value:.0}"),
        value => format!("{value:.1}"),
    }
}
