//! Threads released one after another, each with a shorter kernel than the one before (seed 000's second program). When
//! does each return?

use super::processes::spread;
use crate::experiment::{
    Bench, Column, Experiment, HostMemory, Kind, Parameter, Plan, Reading, Settings, Unit, Values, Variant,
    View, Waiting, Word,
};
use crate::results::{Results, Row};
use crate::show::charts;
use std::time::Duration;
use workload::{Kernel, Memory, Outcome, Process, StreamKind, ThreadOutcome, Workload};

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "stagger",
    about: "threads released one after another, each with a shorter kernel: when each returns",
    question: "Threads copy in, run a kernel and copy back, released one after another; the first kernel is the longest. \
               Does each thread return with its own kernel, or in the order of issue? Does pinned memory change that, and \
               what do frees wait for?",
    parameters: &[
        Parameter::many(
            "memory",
            "the host memory of the copies",
            Kind::Words(HostMemory::kept),
            "pageable,pinned",
        ),
        Parameter::many(
            "sync",
            "with pageable memory: synchronize the stream before the copy back",
            Kind::Flags,
            "no,yes",
        ),
        Parameter::many("fork", "one process for each worker instead of one thread", Kind::Flags, "no"),
        Parameter::many(
            "blocking",
            "streams that synchronize with the legacy default stream (cudaStreamDefault)",
            Kind::Flags,
            "no",
        ),
        Parameter::many(
            "schedule",
            "how threads wait for the GPU: cudaDeviceScheduleAuto, -Spin, -Yield or -BlockingSync",
            Kind::Words(Waiting::names),
            "auto",
        )
        .measured(),
        Parameter::one("threads", "number of threads", Kind::Numbers(1, 8), "4"),
        Parameter::one(
            "cycles",
            "cycles of a kernel: thread t's takes (8 - t) times as many",
            Kind::Numbers(1, 1 << 40),
            "1000000000",
        ),
        Parameter::one("apart", "time between the releases of two threads", Kind::Durations, "10ms"),
    ],
    columns: &[
        Column::words("variant"),
        Column::words("memory"),
        Column::words("sync"),
        Column::words("fork"),
        Column::words("blocking"),
        Column::words("schedule").usually("auto"),
        Column::varied("thread", Values::Ordinal),
        Column::varied("kernel", Values::Count),
        Column::measured("ms", "time", Unit::Milliseconds),
        Column::measured("free_ms", "in frees", Unit::Milliseconds),
        Column::measured("iterations_per_s", "iterations", Unit::PerSecond),
    ],
    rounds: 1,
    warm_up: false,
    variants,
    relation: None,
    verdict,
    chart: |results| charts::bars(results, "ms", "ms from the first release to the result", &["kernel"]),
    view: View::Listings,
    timelines: Some(|_| 1),
    checked: false,
    averages: None,
};

fn variants(settings: &Settings, _: &Bench) -> Result<Plan, String> {
    let case = Case {
        threads: settings.number("threads") as u32,
        cycles: settings.number("cycles"),
        apart: settings.duration("apart"),
        ..Case::default()
    };
    let mut plan = Plan::default();
    for memory in settings.words("memory") {
        let syncs = if memory == HostMemory::Pinned { vec![false] } else { settings.flags("sync") };
        for (sync, fork) in each_with(&syncs, &settings.flags("fork")) {
            for (blocking, schedule) in each_with(&settings.flags("blocking"), &settings.words("schedule")) {
                let case = Case { memory, sync, fork, blocking, schedule, ..case.clone() };
                plan.variants.push(case.variant(settings));
            }
        }
    }
    Ok(plan)
}

/// Each of the first with each of the second.
fn each_with<A: Copy, B: Copy>(first: &[A], second: &[B]) -> Vec<(A, B)> {
    first.iter().flat_map(|a| second.iter().map(|b| (*a, *b))).collect()
}

/// Bytes of a copy, in either direction (seed 000: 352 Ki integers).
const BYTES: u64 = 352 * 1024 * 4;

/// Values that a case varies.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Pinned or pageable.
    pub memory: HostMemory,
    /// Whether the stream is synchronized before the copy back; with pinned memory it is always synchronized after it.
    pub sync: bool,
    /// Whether each worker is a process, not a thread.
    pub fork: bool,
    /// Whether the streams synchronize with the legacy default stream.
    pub blocking: bool,
    /// How threads wait for the GPU.
    pub schedule: Waiting,
    /// Number of threads, at most 8: a ninth kernel would have no length.
    pub threads: u32,
    /// Thread t's kernel takes (8 - t) times as many cycles.
    pub cycles: u64,
    /// Time between the releases of two threads.
    pub apart: Duration,
}

impl Default for Case {
    fn default() -> Case {
        let apart = Duration::from_millis(10);
        Case {
            memory: HostMemory::Pageable,
            sync: false,
            fork: false,
            blocking: false,
            schedule: Waiting::Auto,
            threads: 4,
            cycles: 1_000_000_000,
            apart,
        }
    }
}

impl Case {
    /// The workload. Bodies end with the frees, which wait for the device.
    pub fn workload(&self) -> Workload {
        let mut workload = Workload::new("stagger");
        workload.schedule = self.schedule.schedule();
        let threads = if self.fork { 1 } else { self.threads };
        spread(&mut workload, self.threads, threads, |process, number| self.thread(process, number));
        if !self.fork {
            workload.processes[0].name = String::from("main");
        }
        workload
    }

    /// `pageable-sync-fork-default-streams-yield`
    fn name(&self) -> String {
        let mut name = self.memory.name().to_owned();
        for (is, part) in [(self.sync, "sync"), (self.fork, "fork"), (self.blocking, "default-streams")] {
            name.push_str(&if is { format!("-{part}") } else { String::new() });
        }
        match self.schedule {
            Waiting::Auto => name,
            schedule => format!("{name}-{}", schedule.name()),
        }
    }

    fn variant(self, settings: &Settings) -> Variant {
        let mut varied = vec![
            ("variant", self.name().as_str().into()),
            ("memory", self.memory.name().into()),
            ("sync", self.sync.into()),
        ];
        varied.extend(settings.is_set("fork").then(|| ("fork", self.fork.into())));
        varied.extend(settings.is_set("blocking").then(|| ("blocking", self.blocking.into())));
        varied.extend(settings.is_set("schedule").then(|| ("schedule", self.schedule.name().into())));
        Variant {
            varied,
            workload: self.workload(),
            timed: true,
            averages: false,
            contention: None,
            read: Box::new(move |outcome| self.read(outcome)),
        }
    }

    /// One row per thread; the first has the iterations per second of all.
    fn read(&self, outcome: &Outcome) -> Vec<Reading> {
        let apart = self.apart.as_nanos() as f64 / 1e6;
        let all =
            outcome.threads.iter().map(|thread| thread.elapsed_ns.saturating_sub(spent(thread, "cuMemFree")));
        let count = outcome.threads.len() as f64;
        let iterations = count * count * 1e9 / all.sum::<u64>() as f64;
        let threads = outcome.threads.iter().enumerate().map(|(number, thread)| {
            let frees = spent(thread, "cuMemFree") as f64 / 1e6;
            let released = number as f64 * apart;
            let result = released + thread.elapsed_ns as f64 / 1e6 - frees;
            let mut figures = vec![("ms", result), ("free_ms", frees)];
            figures.extend((number == 0).then_some(("iterations_per_s", iterations)));
            Reading {
                also: vec![("thread", (number as u64).into()), ("kernel", (8 - number as u64).into())],
                figures,
                ..Reading::default()
            }
        });
        threads.collect()
    }

    fn thread(&self, process: &mut Process, number: u32) {
        let context = process.primary(0);
        let kind = if self.blocking { StreamKind::Blocking } else { StreamKind::NonBlocking };
        let stream = process.stream(format!("stream {number}"), context, kind);
        let mut buffer =
            |what: &str, memory| process.buffer(format!("{what} {number}"), context, memory, BYTES);
        let [input, output] = ["input", "output"].map(|name| buffer(name, self.memory.memory()));
        let [first, second] = ["first", "second"].map(|name| buffer(name, Memory::Device));
        let thread = process.thread(format!("thread {number}"), context);
        thread.delay_ns = u64::from(number) * self.apart.as_nanos() as u64;
        thread.before().allocate(input).allocate(output).fill(input, 0).allocate(first).allocate(second);
        // Loads the kernel.
        thread.before().launch(Kernel::Delay { cycles: 1 }, 1, 1, stream).synchronize(stream);
        let cycles = u64::from(8 - number) * self.cycles;
        let mut body = thread.body();
        body.copy(input, first, BYTES, stream).launch(Kernel::Delay { cycles }, 1, 1, stream);
        if self.sync {
            body.synchronize(stream);
        }
        body.copy(first, output, BYTES, stream);
        if self.memory == HostMemory::Pinned {
            body.synchronize(stream);
        }
        body.free(first).free(second);
        thread.after().free(input).free(output);
    }
}

/// The time that a thread spent in calls whose names begin with `name`, ns.
fn spent(thread: &ThreadOutcome, name: &str) -> u64 {
    thread.calls.iter().filter(|call| call.name.starts_with(name)).map(|call| call.total_ns).sum()
}

fn verdict(results: &Results) -> Vec<String> {
    let mut variants: Vec<String> = results.rows.iter().map(|row| row.text("variant")).collect();
    variants.dedup();
    let sentence = |variant: &String| {
        let rows: Vec<&Row> = results.rows.iter().filter(|row| row.text("variant") == *variant).collect();
        of_variant(variant, &rows, &results.settings)
    };
    variants.iter().filter_map(sentence).collect()
}

fn of_variant(variant: &str, rows: &[&Row], settings: &Settings) -> Option<String> {
    if rows.len() < 2 {
        return None;
    }
    let threads = Returned::all(rows, settings);
    let ends: Vec<f64> = threads.iter().map(|thread| thread.end).collect();
    let highest = ends.iter().copied().fold(0.0, f64::max);
    let late = late(&threads, settings);
    let together = ends.iter().all(|end| *end > 0.98 * highest);
    let first = threads[0].took();
    let how = match () {
        () if late.is_empty() => String::from("each result arrives with its own kernel"),
        // A shorter kernel takes longer than the longest.
        () if late.iter().any(|thread| thread.took() > first + margin(first)) => {
            String::from("later kernels wait: a thread's copies delay the start of other threads' operations")
        }
        () if together => String::from(
            "the results arrive together, with that of the longest kernel: copies complete in the order of issue",
        ),
        () => format!(
            "{} for other threads' operations; the other results arrive with their kernels",
            waiting(&late)
        ),
    };
    let all: Vec<String> = ends.iter().map(|end| Unit::Milliseconds.text(*end)).collect();
    let frees = rows.iter().map(|row| row.value("free_ms")).fold(0.0, f64::max);
    let freed = match frees > 0.02 * highest {
        true => format!("; a free waits for the device, up to {}", Unit::Milliseconds.text(frees)),
        false => String::new(),
    };
    let done = rows[0].figure("iterations_per_s");
    let done = done.map(|figure| format!("; {} iterations/s as n² over the sum of the times", figure.value));
    Some(format!("{variant}: {how} ({}){freed}{}.", all.join(", "), done.unwrap_or_default()))
}

/// When a thread was released and when it had its result, ms from the first release.
struct Returned {
    number: u64,
    /// The length of its kernel, in parts of the first thread's.
    kernel: f64,
    released: f64,
    end: f64,
}

impl Returned {
    fn all(rows: &[&Row], settings: &Settings) -> Vec<Returned> {
        let apart = settings.number("apart") as f64 / 1e6;
        let one = |row: &&Row| {
            let number = row.number("thread").unwrap_or(0);
            let kernel = row.number("kernel").unwrap_or(8) as f64 / 8.0;
            Returned { number, kernel, released: number as f64 * apart, end: row.value("ms") }
        };
        rows.iter().map(one).collect()
    }

    /// Time from its own release to its result.
    fn took(&self) -> f64 {
        self.end - self.released
    }

    /// Whether both ran at the same time.
    fn overlaps(&self, other: &Returned) -> bool {
        self.released < other.end && other.released < self.end
    }
}

/// The threads whose results arrived later than the lengths of their own kernels explain.
fn late<'a>(threads: &'a [Returned], settings: &Settings) -> Vec<&'a Returned> {
    let (first, kernel) = (threads[0].took(), first_kernel(threads, settings));
    let is_late = |thread: &&Returned| {
        let own = first - kernel * (1.0 - thread.kernel);
        let alone = threads.iter().all(|other| other.number == thread.number || !thread.overlaps(other));
        !alone && thread.took() > own + margin(first)
    };
    threads.iter().filter(is_late).collect()
}

/// How much copies vary beside other threads' copies, in a variant whose first thread took `first` ms: a few percent, and at
/// least the millisecond that the copies themselves may take.
fn margin(first: f64) -> f64 {
    (0.02 * first).max(1.0)
}

/// The least duration of the first kernel; the rest of the thread's time is its copies. It is that of its cycles at the
/// highest clock of any GPU so far, or longer if a later thread had its result that much sooner.
fn first_kernel(threads: &[Returned], settings: &Settings) -> f64 {
    // An RTX 4090 boosts to 2.52 GHz (its data sheet).
    const HIGHEST_CLOCK_KHZ: f64 = 3e6;
    let first = threads[0].took();
    let least = 8.0 * settings.number("cycles") as f64 / HIGHEST_CLOCK_KHZ;
    let shorter = threads.iter().filter(|thread| thread.kernel < 1.0);
    let lengths = shorter.map(|thread| (first - thread.took()) / (1.0 - thread.kernel));
    lengths.fold(least, f64::max).min(first)
}

/// `thread 1 waits`, `threads 1, 2 wait`
fn waiting(threads: &[&Returned]) -> String {
    match threads {
        [one] => format!("thread {} waits", one.number),
        several => {
            let numbers: Vec<String> = several.iter().map(|thread| thread.number.to_string()).collect();
            format!("threads {} wait", numbers.join(", "))
        }
    }
}
