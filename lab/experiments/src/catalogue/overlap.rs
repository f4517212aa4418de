//! Copies to the GPU, kernels and copies back, one after the other or in streams, issued depth-first or breadth-first
//! (seed 002). What overlaps?

use crate::experiment::{
    Bench, Cell, Column, Experiment, HostMemory, Kind, Parameter, Plan, Reading, Settings, Unit, Values,
    Variant, View, Word, choices::words, max_error,
};
use crate::results::{Results, Row, differ, ending};
use crate::show::charts;
use workload::{
    BufferId, EventId, Kernel, Memory, Outcome, Process, Repeat, Steps, StreamId, StreamKind, Workload,
};

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "overlap",
    about: "copies and kernels one after the other, in streams depth-first, and breadth-first",
    question: "How much time do streams save, in which copies in, kernels and copies back of an array's parts overlap? Does \
               the order of issue matter on this device?",
    parameters: &[
        Parameter::words::<Order>("variant", "the order of issue", "sequential,depth-first,breadth-first"),
        Parameter::many(
            "memory",
            "the host memory of the copies",
            Kind::Words(HostMemory::kept),
            "pinned,pageable",
        ),
        Parameter::numbers(
            "streams",
            "number of streams; the array must divide into as many equal parts",
            (1, 64),
            "4",
        ),
        Parameter::many("bytes", "size of the array", Kind::Sizes(1 << 10, 1 << 34), "16MiB"),
        Parameter::numbers(
            "kernel-rounds",
            "rounds of the kernel; its duration is proportional",
            (1, 1 << 20),
            "1",
        ),
        Parameter::one("passes", "number of passes over the array", Kind::Numbers(1, 1_000_000), "10"),
    ],
    columns: &[
        Column::words("variant"),
        Column::words("memory"),
        Column::varied("streams", Values::Count),
        Column::varied("bytes", Values::Bytes),
        Column::varied("kernel-rounds", Values::Count),
        Column::measured("ms", "time", Unit::Milliseconds),
        Column::measured("events_ms", "by events", Unit::Milliseconds),
    ],
    rounds: 8,
    warm_up: true,
    variants,
    relation: None,
    verdict,
    chart: |results| charts::bars(results, "ms", "ms", &[]),
    view: View::Table,
    // One before the clock starts, and as many between events as are timed.
    timelines: Some(|settings| 2 * settings.number("passes") + 1),
    checked: true,
    averages: None,
};

fn variants(settings: &Settings, _: &Bench) -> Result<Plan, String> {
    let mut plan = Plan::default();
    let passes = settings.number("passes");
    for bytes in settings.numbers("bytes") {
        for rounds in settings.counts("kernel-rounds") {
            for memory in settings.words("memory") {
                for (at, streams) in settings.counts("streams").into_iter().enumerate() {
                    if bytes % (u64::from(streams) * u64::from(BLOCK) * 4) != 0 {
                        return Err(format!(
                            "bytes={bytes}: not divisible among {streams} streams: use a multiple of {} bytes",
                            u64::from(streams) * u64::from(BLOCK) * 4
                        ));
                    }
                    for order in settings.words("variant") {
                        // Sequential passes have no streams.
                        if order != Order::Sequential || at == 0 {
                            plan.variants
                                .push(Case { order, streams, memory, bytes, rounds, passes }.variant());
                        }
                    }
                }
            }
        }
    }
    Ok(plan)
}

/// Threads of a block (seed 002).
const BLOCK: u32 = 256;

words! {
    /// The order of issue.
    Order {
        /// The whole array, with blocking copies.
        Sequential = "sequential",
        /// Stream by stream (the seed's version 1).
        DepthFirst = "depth-first",
        /// All copies in, all kernels, all copies back (the seed's version 2).
        BreadthFirst = "breadth-first",
    }
}

/// Values that a case varies.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The order of issue.
    pub order: Order,
    /// Number of streams, which divides the array.
    pub streams: u32,
    /// Pinned or pageable.
    pub memory: HostMemory,
    /// Bytes of floats, a multiple of 1,024 for each stream. The seed has 16 MiB.
    pub bytes: u64,
    /// Rounds of the kernel; the seed has one.
    pub rounds: u32,
    /// Number of passes.
    pub passes: u64,
}

impl Default for Case {
    fn default() -> Case {
        Case {
            order: Order::Sequential,
            streams: 4,
            memory: HostMemory::Pinned,
            bytes: 16 << 20,
            rounds: 1,
            passes: 10,
        }
    }
}

impl Case {
    /// The workload of one thread: each pass starts with zeros and ends with every float at `rounds`.
    pub fn workload(&self) -> Workload {
        let mut workload = Workload::new(format!("overlap-{}", self.order.name()));
        let process = workload.process("main");
        let context = process.primary(0);
        let [input, output] =
            ["input", "output"].map(|name| process.buffer(name, context, self.memory.memory(), self.bytes));
        let device = process.buffer("device", context, Memory::Device, self.bytes);
        let streams = self.streams(process, context);
        let done: Vec<EventId> =
            (1..streams.len()).map(|at| process.event(format!("done {at}"), context)).collect();
        let [start, end] = ["start", "end"].map(|name| process.timing_event(name, context));
        let work = Work { input, output, device, streams };
        let thread = process.thread("main", context);
        thread.repeat = Repeat::Times(self.passes);
        thread.before().allocate(input).allocate(output).allocate(device).fill(input, 0.0);
        self.pass(&work, &mut thread.before());
        // Not in the body, because the calls for events take time.
        thread.before().repeat(self.passes, |steps| self.between(&work, (start, end), &done, steps));
        self.pass(&work, &mut thread.body());
        thread.after().check(output, self.bytes, self.rounds as f32);
        thread.after().free(device).free(input).free(output);
        workload
    }

    fn variant(self) -> Variant {
        Variant {
            varied: vec![
                ("variant", self.order.name().into()),
                ("memory", self.memory.name().into()),
                (
                    "streams",
                    if self.order == Order::Sequential { Cell::Nothing } else { self.streams.into() },
                ),
                ("bytes", self.bytes.into()),
                ("kernel-rounds", self.rounds.into()),
            ],
            workload: self.workload(),
            timed: false,
            averages: false,
            contention: None,
            read: Box::new(|outcome| vec![read(outcome)]),
        }
    }

    fn streams(&self, process: &mut Process, context: workload::ContextId) -> Vec<StreamId> {
        match self.order {
            Order::Sequential => vec![process.default_stream(context)],
            _ => (0..self.streams)
                .map(|at| process.stream(format!("stream {at}"), context, StreamKind::NonBlocking))
                .collect(),
        }
    }

    fn pass(&self, work: &Work, steps: &mut Steps<'_>) {
        self.issue(work, steps);
        steps.synchronize_context();
    }

    fn issue(&self, work: &Work, steps: &mut Steps<'_>) {
        let chunk = self.bytes / work.streams.len() as u64;
        let parts = || work.streams.iter().enumerate().map(|(at, stream)| (at as u64 * chunk, *stream));
        let copy_in = |steps: &mut Steps<'_>, (offset, stream)| {
            steps.copy_part(work.input, work.device, offset, chunk, stream);
        };
        let copy_out = |steps: &mut Steps<'_>, (offset, stream)| {
            steps.copy_part(work.device, work.output, offset, chunk, stream);
        };
        let kernel =
            |steps: &mut Steps<'_>, (offset, stream)| self.launch(work, offset, chunk, stream, steps);
        match self.order {
            Order::Sequential => {
                steps.copy_blocking(work.input, work.device, chunk);
                kernel(steps, (0, work.streams[0]));
                steps.copy_blocking(work.device, work.output, chunk);
            }
            Order::DepthFirst => {
                for part in parts() {
                    copy_in(steps, part);
                    kernel(steps, part);
                    copy_out(steps, part);
                }
            }
            Order::BreadthFirst => {
                parts().for_each(|part| copy_in(steps, part));
                parts().for_each(|part| kernel(steps, part));
                parts().for_each(|part| copy_out(steps, part));
            }
        }
    }

    /// A pass between two events of the first stream, which waits for the other streams before the second event.
    fn between(
        &self,
        work: &Work,
        (start, end): (EventId, EventId),
        done: &[EventId],
        steps: &mut Steps<'_>,
    ) {
        let first = work.streams[0];
        steps.record(start, first);
        self.issue(work, steps);
        for (event, stream) in done.iter().zip(&work.streams[1..]) {
            steps.record(*event, *stream).wait(*event, first);
        }
        steps.record(end, first).synchronize_event(end).elapsed(start, end);
    }

    fn launch(&self, work: &Work, offset: u64, chunk: u64, stream: StreamId, steps: &mut Steps<'_>) {
        let length = (chunk / 4) as u32;
        let kernel = Kernel::Increment {
            buffer: work.device,
            offset: (offset / 4).into(),
            length,
            rounds: self.rounds,
        };
        steps.launch(kernel, length.div_ceil(BLOCK), BLOCK, stream);
    }
}

struct Work {
    input: BufferId,
    output: BufferId,
    device: BufferId,
    streams: Vec<StreamId>,
}

fn read(outcome: &Outcome) -> Reading {
    let thread = outcome.threads.first();
    let ms = thread.map_or(f64::NAN, |thread| thread.elapsed_ns as f64 / 1e6 / thread.rounds.max(1) as f64);
    let mut figures = vec![("ms", ms)];
    let events = thread.and_then(|thread| thread.between_events_ns);
    figures.extend(events.map(|ns| ("events_ms", ns as f64 / 1e6)));
    Reading { figures, max_error: max_error(outcome), ..Reading::default() }
}

fn verdict(results: &Results) -> Vec<String> {
    let sequential =
        results.rows.iter().filter(|row| row.is(&[("variant", Order::Sequential.name().into())]));
    let mut sentences: Vec<String> = sequential.filter_map(|row| gains(results, row)).collect();
    let orders = results.pairs("variant", Order::DepthFirst.name().into(), Order::BreadthFirst.name().into());
    sentences.extend(orders.filter_map(|(depth, breadth)| order(results, depth, breadth)));
    // Copies of pageable memory need the host as well as the engines.
    let pinned = results.rows.iter().any(|row| row.is(&[("memory", HostMemory::Pinned.name().into())]));
    sentences.extend(results.bench.copy_engines.filter(|_| pinned).map(engines));
    sentences
}

/// Returns what the device can overlap.
fn engines(count: u32) -> String {
    String::from(match count {
        0 => "The device has no copy engine: copies and kernels wait for each other.",
        1 => "The device has one copy engine: copies overlap kernels, but not copies of the other direction.",
        _ => "The device has copy engines for both directions: copies overlap kernels and each other.",
    })
}

/// Returns what the best order with streams gains over none.
fn gains(results: &Results, sequential: &Row) -> Option<String> {
    let same = |row: &&Row| {
        ["memory", "bytes", "kernel-rounds"].iter().all(|name| row.cell(name) == sequential.cell(name))
    };
    let others =
        results.rows.iter().filter(same).filter(|row| row.text("variant") != sequential.text("variant"));
    let best = others.min_by(|a, b| a.value("ms").total_cmp(&b.value("ms")))?;
    let (before, after) = (sequential.figure("ms")?, best.figure("ms")?);
    let share = Unit::Share.text(after.value / before.value);
    let judged = ending(sequential, best, ("ms", Unit::Milliseconds));
    Some(match (differ(before, after), after.value < before.value) {
        (true, true) => format!(
            "{}: {} streams, {}, take {share} of the sequential time ({} instead of {}){judged}.",
            conditions(results, sequential),
            best.text("streams"),
            best.text("variant"),
            Unit::Milliseconds.text(after.value),
            Unit::Milliseconds.text(before.value)
        ),
        _ => format!(
            "{}: {}: {} at best, {} without{judged}.",
            conditions(results, sequential),
            // An interval has more than nothing in it.
            if judged.is_empty() { "streams gain nothing" } else { "streams show no gain" },
            Unit::Milliseconds.text(after.value),
            Unit::Milliseconds.text(before.value)
        ),
    })
}

/// Returns whether the order of issue matters.
fn order(results: &Results, depth: &Row, breadth: &Row) -> Option<String> {
    let (a, b) = (depth.figure("ms")?, breadth.figure("ms")?);
    let conditions = format!("{}, {} streams", conditions(results, depth), depth.text("streams"));
    if !differ(a, b) {
        let why = why(results, depth, None).map(|why| format!(": {why}")).unwrap_or_default();
        return Some(match ending(depth, breadth, ("ms", Unit::Milliseconds)) {
            judged if judged.is_empty() => format!("{conditions}: the order of issue does not matter{why}."),
            judged => format!("{conditions}: depth-first compared with breadth-first{judged}{why}."),
        });
    }
    let (better, worse) = if a.value < b.value { (depth, breadth) } else { (breadth, depth) };
    let judged = ending(worse, better, ("ms", Unit::Milliseconds));
    let more = Unit::Share.text(worse.value("ms") / better.value("ms") - 1.0);
    let why = why(results, depth, Some(worse)).map(|why| format!(": {why}")).unwrap_or_default();
    Some(format!(
        "{conditions}: issue {}; {} takes {more} longer{judged}{why}.",
        better.text("variant"),
        worse.text("variant")
    ))
}

/// Returns why one order of issue is worse, or why none is, where the device's known properties explain it. They explain nothing
/// about copies of pageable memory, which need the host as well as the engines.
fn why(results: &Results, of: &Row, worse: Option<&Row>) -> Option<&'static str> {
    let bench = &results.bench;
    let own_queues = bench.own_queues.filter(|_| of.is(&[("memory", HostMemory::Pinned.name().into())]))?;
    let worse = worse.and_then(|row| Order::named(&row.text("variant")));
    match (worse, bench.copy_engines?) {
        (None, _) if own_queues => Some(
            "each stream has its own queue (Hyper-Q), so no stream waits for another stream's operations",
        ),
        (Some(Order::DepthFirst), 1) if !own_queues => Some(
            "depth-first issues each copy back before the next copy in, and the one copy engine takes copies in that order, so \
             that a copy in waits for the kernel before it",
        ),
        (Some(Order::BreadthFirst), 2..) if bench.joint_signals == Some(true) => Some(
            "kernels that are issued together signal their ends together, so that the first copy back waits for the last kernel",
        ),
        _ => None,
    }
}

/// The label of a group of rows: `pinned memory`, and what else varies.
fn conditions(results: &Results, row: &Row) -> String {
    let (varying, _) = results.columns();
    let mut text = format!("{} memory", row.text("memory"));
    if varying.contains(&"bytes") {
        text.push_str(&format!(", {}", report::units::bytes(row.number("bytes").unwrap_or(0) as i64)));
    }
    if varying.contains(&"kernel-rounds") {
        let rounds = row.number("kernel-rounds").unwrap_or(0);
        text.push_str(&format!(", kernels of {}", report::units::counted(rounds, "round", "rounds")));
    }
    text
}
