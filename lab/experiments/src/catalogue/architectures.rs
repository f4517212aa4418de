//! The same operations issued from threads, from processes, and from both with MPS (seed 000). How fast is each?
//!
//! Each worker copies 352 Ki integers to the GPU, launches 220 small kernels that add 0 … 219 to the first of them, from one of
//! two buffers into the other in turn, and copies the result back. Iterations per second are n² × iterations over the sum of
//! the n workers' times, as the seed computes them.

use super::processes::spread;
use crate::experiment::{
    Bench, Cell, Column, Experiment, HostMemory, Kind, Layout, Near, Parameter, Plan, Reading, Settings,
    Submit, Take, Unit, Values, Variant, View, Waiting, Word, max_error,
};
use crate::results::{Results, Row, differ, ending, most};
use crate::show::charts;
use workload::{Kernel, Number, Outcome, Process, Repeat, Steps, StreamKind, Workload};

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "architectures",
    about: "the same operations from threads, from processes, and from both with MPS",
    question: "How many iterations (copy in, 220 small kernels, copy back) per second do workers reach as threads of one \
               process, as processes, and as either with MPS? What do pinned memory, a synchronization before the copy \
               back, connections and graphs change?",
    parameters: &[
        Parameter::words::<Layout>(
            "variant",
            "threads, processes or contexts, without or with MPS; unless this, submit or connections is set, pinned memory also \
             runs contexts, contexts-mps, threads with 16 and 32 connections and with a graph, and threads-mps with 32",
            "threads,processes,threads-mps,processes-mps,processes-threads-mps",
        ),
        Parameter::numbers("workers", "number of workers", (1, 256), "1,2,4,8,16,32").or_named("threads"),
        Parameter::many(
            "memory",
            "the host memory of the copies",
            Kind::Words(HostMemory::kept),
            "pinned,pageable",
        ),
        Parameter::many(
            "sync",
            "with pageable memory: synchronize the stream before the copy back",
            Kind::Flags,
            "no,yes",
        ),
        Parameter::words::<Submit>("submit", "one call per kernel, or one graph for all", "launches"),
        Parameter::many("connections", "CUDA_DEVICE_MAX_CONNECTIONS", Kind::Connections, "default"),
        Parameter::many(
            "schedule",
            "how threads wait for the GPU: cudaDeviceScheduleAuto, -Spin, -Yield or -BlockingSync",
            Kind::Words(Waiting::names),
            "auto",
        )
        .measured(),
        Parameter::many(
            "affinity",
            "the processors that threads run on: any, or those of the GPU's NUMA node",
            Kind::Words(Near::names),
            "any",
        )
        .measured(),
        Parameter::one(
            "per-process",
            "threads of a process in processes-threads-mps",
            Kind::Numbers(2, 64),
            "2",
        ),
        Parameter::one("launches", "launches per iteration; an even number", Kind::Numbers(2, 10_000), "220"),
        Parameter::one(
            "length",
            "integers in a copy, in either direction; a multiple of 256",
            Kind::Numbers(256, 1 << 30),
            "360448",
        ),
        Parameter::one("iterations", "iterations per worker", Kind::Numbers(1, 1_000_000), "50"),
        Parameter::one(
            "take",
            "what a row reports of its rounds; best with `--rounds 8` is what a benchmark reports that keeps the best of eight",
            Kind::Words(Take::names),
            "median",
        ),
        Parameter::one(
            "calls",
            "run each variant once more, for the mean time of each call",
            Kind::Flags,
            "yes",
        ),
    ],
    columns: &[
        Column::words("variant"),
        Column::varied("workers", Values::Count),
        Column::words("memory"),
        Column::words("sync"),
        Column::words("submit").usually("launches"),
        Column::varied("connections", Values::Limit).titled("conn."),
        Column::words("schedule").usually("auto"),
        Column::words("affinity").usually("any"),
        Column::measured("per_s", "per second", Unit::PerSecond),
        Column::call_time("launch_ms", "cuLaunchKernel"),
        Column::call_time("graph_launch_ms", "cuGraphLaunch"),
        Column::call_time("copy_in_ms", "cuMemcpyHtoDAsync"),
        Column::call_time("copy_out_ms", "cuMemcpyDtoHAsync"),
        Column::call_time("synchronize_ms", "cuStreamSynchronize"),
    ],
    rounds: 3,
    warm_up: true,
    variants,
    relation: None,
    verdict,
    chart: |results| charts::lines(results, drawn(results), "per_s", ("workers", "iterations/s"), &[]),
    view: View::Across("workers", &[]),
    timelines: None,
    checked: false,
    averages: Some(|row| row.is(&[("variant", "threads".into())])),
};

fn variants(settings: &Settings, _: &Bench) -> Result<Plan, String> {
    let mut plan = Plan::default();
    let iterations = settings.number("iterations");
    let threads_per_process = settings.number("per-process") as u32;
    let launches = settings.number("launches") as u32;
    if !launches.is_multiple_of(2) {
        return Err(format!(
            "launches={launches}: odd, but each pair of launches uses two buffers in turn: use an even number"
        ));
    }
    let length = settings.number("length") as u32;
    if !length.is_multiple_of(SMALLEST) {
        return Err(format!(
            "length={length}: kernels use a sixty-fourth of it, four integers at a time: use a multiple of {SMALLEST}"
        ));
    }
    let mut uneven = Vec::new();
    for Line { layout, memory, sync, submit, connections, schedule, affinity } in lines(settings) {
        for workers in settings.counts("workers") {
            if layout == Layout::ProcessesThreadsMps && workers % threads_per_process != 0 {
                uneven.push(workers);
                continue;
            }
            let case = Case {
                layout,
                workers,
                memory,
                sync,
                submit,
                connections,
                schedule,
                affinity,
                launches,
                length,
                iterations,
                threads_per_process,
            };
            plan.variants.push(case.variant(settings));
        }
    }
    uneven.dedup();
    if !uneven.is_empty() {
        let uneven: Vec<String> = uneven.iter().map(u32::to_string).collect();
        plan.left_out.push(format!(
            "processes-threads-mps with workers={}: not a multiple of per-process={threads_per_process}",
            uneven.join(",")
        ));
    }
    Ok(plan)
}

/// A line of the plot: everything except the number of workers.
struct Line {
    layout: Layout,
    memory: HostMemory,
    sync: bool,
    submit: Submit,
    connections: Option<u32>,
    schedule: Waiting,
    affinity: Near,
}

/// Every combination that the seed compares; and, if the settings choose none, those that explain the differences.
fn lines(settings: &Settings) -> Vec<Line> {
    let mut lines = Vec::new();
    for layout in settings.words("variant") {
        for (memory, sync) in memories(settings) {
            for submit in settings.words("submit") {
                for connections in settings.optional("connections") {
                    for schedule in settings.words("schedule") {
                        for affinity in settings.words("affinity") {
                            lines.push(Line {
                                layout,
                                memory,
                                sync,
                                submit,
                                connections,
                                schedule,
                                affinity,
                            });
                        }
                    }
                }
            }
        }
    }
    let pinned = settings.words::<HostMemory>("memory").contains(&HostMemory::Pinned);
    let compared = ["variant", "submit", "connections", "schedule", "affinity"];
    if pinned && !compared.iter().any(|name| settings.is_set(name)) {
        let explains = |(layout, submit, connections)| Line {
            layout,
            memory: HostMemory::Pinned,
            sync: false,
            submit,
            connections,
            schedule: Waiting::Auto,
            affinity: Near::Any,
        };
        lines.extend(EXPLAINS.map(explains));
    }
    lines
}

/// Combinations that show what differences come from: hardware connections, the context's launch mutex (which a graph acquires
/// once per iteration), and the context itself.
const EXPLAINS: [(Layout, Submit, Option<u32>); 6] = [
    (Layout::Threads, Submit::Launches, Some(16)),
    (Layout::Threads, Submit::Launches, Some(32)),
    (Layout::Threads, Submit::Graph, Some(32)),
    (Layout::ThreadsMps, Submit::Launches, Some(32)),
    (Layout::Contexts, Submit::Launches, None),
    (Layout::ContextsMps, Submit::Launches, None),
];

/// Pinned memory is one case, because its stream is always synchronized after the copy back.
fn memories(settings: &Settings) -> Vec<(HostMemory, bool)> {
    let mut cases = Vec::new();
    for memory in settings.words("memory") {
        match memory {
            HostMemory::Pinned => cases.push((memory, false)),
            _ => cases.extend(settings.flags("sync").into_iter().map(|sync| (memory, sync))),
        }
    }
    cases
}

/// Parts of the integers, one of which the kernels use (seed 000).
const PARTS: u32 = 64;
/// The least number of integers: kernels use four at a time.
const SMALLEST: u32 = 4 * PARTS;
/// Blocks and threads of a launch.
const GRID: (u32, u32) = (5, 64);
/// Rounds of `__sad` that make a kernel as long as the seed's.
const ROUNDS: u32 = 3072;

/// Values that a case varies.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Threads, processes or contexts.
    pub layout: Layout,
    /// Number of workers.
    pub workers: u32,
    /// Threads of a process in [`Layout::ProcessesThreadsMps`]; `workers` is a multiple of it.
    pub threads_per_process: u32,
    /// Pinned or pageable.
    pub memory: HostMemory,
    /// Whether the stream is synchronized before the copy back; with pinned memory it is always synchronized after it.
    pub sync: bool,
    /// Launches, or one graph per iteration.
    pub submit: Submit,
    /// `CUDA_DEVICE_MAX_CONNECTIONS`.
    pub connections: Option<u32>,
    /// How threads wait for the GPU.
    pub schedule: Waiting,
    /// The processors that threads run on.
    pub affinity: Near,
    /// Launches per iteration, an even number. The seed has 220.
    pub launches: u32,
    /// Integers in a copy, in either direction; a multiple of 256. The seed has 352 × 1024.
    pub length: u32,
    /// Iterations of each worker.
    pub iterations: u64,
}

impl Default for Case {
    fn default() -> Case {
        Case {
            layout: Layout::Threads,
            workers: 1,
            threads_per_process: 2,
            memory: HostMemory::Pinned,
            sync: false,
            submit: Submit::Launches,
            connections: None,
            schedule: Waiting::Auto,
            affinity: Near::Any,
            launches: 220,
            length: 352 * 1024,
            iterations: 50,
        }
    }
}

impl Case {
    /// The workload.
    pub fn workload(&self) -> Workload {
        let mut workload = Workload::new(format!("architectures-{}", self.layout.name()));
        workload.mps = self.layout.mps();
        workload.connections = self.connections;
        workload.schedule = self.schedule.schedule();
        workload.affinity = self.affinity.affinity();
        let threads = match self.layout {
            Layout::Processes | Layout::ProcessesMps => 1,
            Layout::ProcessesThreadsMps => self.threads_per_process,
            _ => self.workers,
        };
        spread(&mut workload, self.workers, threads, |process, number| self.worker(process, number));
        workload
    }

    fn variant(self, settings: &Settings) -> Variant {
        let iterations = self.iterations;
        let mut varied = vec![
            ("variant", self.layout.name().into()),
            ("workers", self.workers.into()),
            ("memory", self.memory.name().into()),
            ("sync", self.sync.into()),
            ("submit", self.submit.name().into()),
            ("connections", self.connections.into()),
        ];
        varied.extend(settings.is_set("schedule").then(|| ("schedule", self.schedule.name().into())));
        varied.extend(settings.is_set("affinity").then(|| ("affinity", self.affinity.name().into())));
        Variant {
            varied,
            workload: self.workload(),
            timed: false,
            averages: settings.flags("calls") == [true],
            contention: None,
            read: Box::new(move |outcome| vec![read(outcome, iterations)]),
        }
    }

    fn worker(&self, process: &mut Process, number: u32) {
        let bytes = u64::from(self.length) * 4;
        let context = match self.layout.own_contexts() {
            true => process.own_context(0),
            false => process.primary(0),
        };
        let stream = process.stream(format!("stream {number}"), context, StreamKind::NonBlocking);
        let mut buffer =
            |what: &str, memory| process.buffer(format!("{what} {number}"), context, memory, bytes);
        let work = Work {
            stream,
            input: buffer("input", self.memory.memory()),
            output: buffer("output", self.memory.memory()),
            first: buffer("first", workload::Memory::Device),
            second: buffer("second", workload::Memory::Device),
            bytes,
            worked: self.length / PARTS,
        };
        let graph = (self.submit == Submit::Graph).then(|| process.graph(format!("iteration {number}")));
        let worker = process.thread(format!("worker {number}"), context);
        worker.repeat = Repeat::Times(self.iterations);
        let mut before = worker.before();
        before.allocate(work.input).allocate(work.output).allocate(work.first).allocate(work.second);
        before.fill(work.input, 0);
        if let Some(graph) = graph {
            before.capture(graph, stream, |steps| self.captured(&work, steps));
        }
        // First uses are not part of any iteration.
        self.iteration(&work, graph, &mut before);
        self.iteration(&work, graph, &mut worker.body());
        worker.after().free(work.first).free(work.second).free(work.input).free(work.output);
    }

    fn iteration(&self, work: &Work, graph: Option<workload::GraphId>, steps: &mut Steps<'_>) {
        match graph {
            Some(graph) if self.copies_captured() => {
                steps.launch_graph(graph, work.stream);
            }
            Some(graph) => {
                work.copy_in(steps);
                steps.launch_graph(graph, work.stream);
                self.copy_out(work, steps);
            }
            None => {
                work.copy_in(steps);
                work.kernels(self.launches, steps);
                self.copy_out(work, steps);
            }
        }
        if self.memory == HostMemory::Pinned {
            steps.synchronize(work.stream);
        }
        // The sum of 0 … launches - 2: the last kernel's result stays on the device.
        let sum = (self.launches as i32 - 1) * (self.launches as i32 - 2) / 2;
        steps.check(work.output, u64::from(work.worked) * 4, sum);
    }

    /// Whether the graph contains the copies. Copies of pageable memory block the host and cannot be captured.
    fn copies_captured(&self) -> bool {
        self.memory == HostMemory::Pinned
    }

    fn captured(&self, work: &Work, steps: &mut Steps<'_>) {
        if self.copies_captured() {
            work.copy_in(steps);
        }
        work.kernels(self.launches, steps);
        if self.copies_captured() {
            steps.copy(work.second, work.output, work.bytes, work.stream);
        }
    }

    fn copy_out(&self, work: &Work, steps: &mut Steps<'_>) {
        if self.sync {
            steps.synchronize(work.stream);
        }
        steps.copy(work.second, work.output, work.bytes, work.stream);
    }
}

/// The objects that one worker uses.
struct Work {
    stream: workload::StreamId,
    input: workload::BufferId,
    output: workload::BufferId,
    first: workload::BufferId,
    second: workload::BufferId,
    bytes: u64,
    /// Integers that the kernels use.
    worked: u32,
}

impl Work {
    fn copy_in(&self, steps: &mut Steps<'_>) {
        steps.copy(self.input, self.first, self.bytes, self.stream);
    }

    fn kernels(&self, launches: u32, steps: &mut Steps<'_>) {
        let add =
            |from, to, value| Kernel::AddConstant { from, to, value, length: self.worked, rounds: ROUNDS };
        steps.repeat(u64::from(launches / 2), |steps| {
            steps.launch(add(self.first, self.second, Number::index(0, 2)), GRID.0, GRID.1, self.stream);
            steps.launch(add(self.second, self.first, Number::index(1, 2)), GRID.0, GRID.1, self.stream);
        });
    }
}

/// The rows of the plot. Of pageable memory only threads, which question A is about.
fn drawn(results: &Results) -> impl Iterator<Item = &Row> {
    let pinned = |row: &Row| row.is(&[("memory", "pinned".into())]);
    let both = results.rows.iter().any(pinned);
    results.rows.iter().filter(move |row| !both || pinned(row) || row.is(&[("variant", "threads".into())]))
}

/// Reads iterations per second as the seed computes them: n² × iterations over the sum of the workers' times.
fn read(outcome: &Outcome, iterations: u64) -> Reading {
    let workers = outcome.threads.len() as f64;
    let elapsed: u64 = outcome.threads.iter().map(|thread| thread.elapsed_ns).sum();
    let per_s = iterations as f64 * workers * workers * 1e9 / elapsed as f64;
    Reading { figures: vec![("per_s", per_s)], max_error: max_error(outcome), ..Reading::default() }
}

fn verdict(results: &Results) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(best) = most(&results.rows, "per_s") {
        sentences.push(format!("The fastest: {}, with {}.", described(best), per_s(best)));
    }
    sentences.extend(question_a(results));
    sentences.extend(question_b(results));
    sentences.extend(plateau(results));
    sentences.extend(graphs(results));
    sentences.extend(calls(results));
    sentences
}

/// Returns how the mean times of calls change with the number of threads.
fn calls(results: &Results) -> Option<String> {
    let is_thread = |row: &&Row| row.is(&[("variant", "threads".into())]);
    let first = results.rows.iter().find(is_thread)?;
    let alike = || results.rows.iter().filter(|row| row.is_like(first, &["workers"]));
    let fewest = alike().min_by_key(|row| row.number("workers"))?;
    let most = alike().max_by_key(|row| row.number("workers"))?;
    if fewest.number("workers") == most.number("workers") {
        return None;
    }
    Some(format!(
        "Mean time of a call with {} and {} threads: {} ({}).",
        fewest.text("workers"),
        most.text("workers"),
        crate::show::call_times::change(results, fewest, most)?,
        conditions(first)
    ))
}

/// The first pair of those with the most workers: pinned memory comes before pageable.
fn widest<'a>(pairs: impl Iterator<Item = (&'a Row, &'a Row)>) -> Option<(&'a Row, &'a Row)> {
    let workers = |pair: &(&Row, &Row)| pair.0.number("workers");
    pairs.reduce(|most, pair| if workers(&pair) > workers(&most) { pair } else { most })
}

/// Does a synchronization before the copy back make pageable threads faster?
fn question_a(results: &Results) -> Option<String> {
    let pairs = results.pairs("sync", false.into(), true.into());
    let pageable =
        pairs.filter(|(row, _)| row.is(&[("memory", "pageable".into()), ("variant", "threads".into())]));
    let (without, with) = widest(pageable)?;
    let workers = without.text("workers");
    let (a, b) = (without.figure("per_s")?, with.figure("per_s")?);
    let judged = judged(without, with);
    Some(match differ(a, b) || !judged.is_empty() {
        true => format!(
            "Question A: {workers} threads with pageable memory reach {} with a synchronization before the copy back and {} \
             without: {}{judged}.",
            per_s(with),
            per_s(without),
            ratio(with, without)
        ),
        false => format!(
            "Question A: with {workers} threads and pageable memory, a synchronization before the copy back makes no \
             difference ({} with it, {} without).",
            per_s(with),
            per_s(without)
        ),
    })
}

/// Do threads reach what processes with MPS do?
fn question_b(results: &Results) -> Option<String> {
    let pairs = results.pairs("variant", "threads".into(), "processes-mps".into());
    let (threads, processes) = widest(pairs)?;
    Some(format!(
        "Question B: {} threads reach {}, as many processes with MPS {}: {} ({}){}.",
        threads.text("workers"),
        per_s(threads),
        per_s(processes),
        ratio(threads, processes),
        conditions(threads),
        judged(processes, threads)
    ))
}

/// From which number on do more threads hardly help?
fn plateau(results: &Results) -> Option<String> {
    let first = results.rows.iter().find(|row| row.is(&[("variant", "threads".into())]))?;
    let alike = results.rows.iter().filter(|row| row.is_like(first, &["workers"]));
    let mut line: Vec<&Row> = alike.collect();
    line.sort_by_key(|row| row.number("workers"));
    let pairs: Vec<&[&Row]> = line.windows(2).collect();
    let flat = pairs.iter().rev().take_while(|pair| !gains(pair[0], pair[1])).last()?;
    let (last, next) = (flat[0], flat[1]);
    Some(format!(
        "Threads stop gaining at {}: {} with {}, {} with {} ({}){}.",
        last.text("workers"),
        per_s(last),
        last.text("workers"),
        per_s(next),
        next.text("workers"),
        conditions(first),
        judged(last, next)
    ))
}

/// Whether more workers are faster by at least a tenth of what is possible, and of at most twice the speed.
fn gains(fewer: &Row, more: &Row) -> bool {
    let workers = |row: &Row| row.number("workers").unwrap_or(1) as f64;
    let could = (workers(more) / workers(fewer)).min(2.0);
    let Some((before, after)) = fewer.figure("per_s").zip(more.figure("per_s")) else { return false };
    differ(before, after) && after.value >= before.value * (1.0 + 0.1 * (could - 1.0))
}

fn graphs(results: &Results) -> Option<String> {
    let pairs = results.pairs("submit", "launches".into(), "graph".into());
    let (launches, graph) = widest(pairs)?;
    Some(format!(
        "One graph per iteration instead of {} launches: {} instead of {} ({}){}.",
        results.settings.number("launches"),
        per_s(graph),
        per_s(launches),
        described(graph),
        judged(launches, graph)
    ))
}

fn per_s(row: &Row) -> String {
    Unit::PerSecond.text(row.value("per_s"))
}

/// Change from one row to another that the rounds show, as the end of a sentence.
fn judged(before: &Row, after: &Row) -> String {
    ending(before, after, ("per_s", Unit::PerSecond))
}

fn ratio(a: &Row, b: &Row) -> String {
    format!("{:.2} times as many", a.value("per_s") / b.value("per_s"))
}

/// `16 workers as processes-mps, pinned memory`
fn described(row: &Row) -> String {
    format!("{} workers as {}, {}", row.text("workers"), row.text("variant"), conditions(row))
}

fn conditions(row: &Row) -> String {
    let mut text = format!("{} memory", row.text("memory"));
    if row.is(&[("sync", true.into())]) {
        text.push_str(" with sync");
    }
    if row.is(&[("submit", "graph".into())]) {
        text.push_str(", graph");
    }
    if let Some(Cell::Number(connections)) = row.cell("connections") {
        text.push_str(&format!(", {connections} connections"));
    }
    if let Some(Cell::Text(schedule)) = row.cell("schedule").filter(|cell| **cell != "auto".into()) {
        text.push_str(&format!(", schedule {schedule}"));
    }
    if row.is(&[("affinity", "node".into())]) {
        text.push_str(", near the GPU");
    }
    text
}
