//! One worker per GPU, in threads of one process or in processes (seed 004). Do GPUs run at the same time?

use super::onset;
use super::processes::spread;
use super::slowdown::{HELD_UP, takes_longer};
use crate::experiment::{
    AUTOMATIC, Bench, Column, Experiment, Kind, Layout, Parameter, Plan, Reading, Relation, Settings, Unit,
    Values, Variant, View, Word, choices::words, max_error,
};
use crate::results::{Figure, Results, Row, ending};
use crate::show::charts;
use workload::{
    Kernel, Loading, Memory, Outcome, Process, Repeat, Steps, StreamKind, ThreadOutcome, Workload,
};

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "multi-gpu",
    about: "one worker per GPU, in threads and in processes: launches, allocations, modules, starvation",
    question: "Do GPUs run at the same time when one process drives them from threads, as they do with one process each? Do \
               allocations and module loads? Does a thread with long kernels starve beside threads with short ones?",
    parameters: &[
        Parameter::many("variant", "threads of one process, or processes", Kind::Words(layouts), "threads,processes"),
        Parameter::numbers(
            "workers",
            "number of workers, distributed over the GPUs in turn; automatic is 1, 2, 4 … up to the number of GPUs",
            (1, 256),
            AUTOMATIC,
        )
        .or_named("threads"),
        Parameter::words::<Load>("load", "what each worker does", "products,allocations,modules,starvation"),
        Parameter::many(
            "sync",
            "synchronize after each kernel, or after each free into a pool",
            Kind::Flags,
            "no,yes",
        ),
        Parameter::one(
            "times",
            "kernels per worker; of allocations a tenth, of modules and long kernels a hundredth",
            Kind::Numbers(1, 10_000_000),
            "10000",
        ),
        Parameter::one("cycles", "cycles of a long kernel", Kind::Numbers(1, 1 << 40), "2000000"),
        Parameter::many(
            "loading",
            "CUDA_MODULE_LOADING: when the driver loads kernels",
            Kind::Words(loadings),
            "default",
        )
        .measured(),
        Parameter::one(
            "runs",
            "runs of the program, one row each; on a model whose GPUs share a lock, they share it from a random run on",
            Kind::Numbers(1, 100),
            "1",
        ),
        Parameter::one("seed", "seed of the random run", Kind::Numbers(0, u64::MAX), "1"),
    ],
    columns: &[
        Column::words("variant"),
        Column::words("load"),
        Column::varied("workers", Values::Count),
        Column::varied("gpus", Values::Count),
        Column::words("sync"),
        Column::words("loading").usually("default"),
        Column::varied("run", Values::Ordinal),
        Column::varied("worker", Values::Count),
        Column::varied("gpu", Values::Count),
        Column::measured("ms", "time", Unit::Milliseconds),
        Column::measured("slowest_ms", "slowest", Unit::Milliseconds),
        Column::measured("gflop_per_s", "computed", Unit::Flops),
        Column::measured("launch_share", "in launches", Unit::Share),
        Column::measured("slowdown", "slowdown", Unit::Times),
    ],
    rounds: 3,
    warm_up: true,
    variants,
    relation: Some(Relation {
        base: ("workers", "1"),
        but: &["workers", "gpus"],
        name: "slowdown",
        figure: slowdown,
    }),
    verdict,
    chart: |results| {
        charts::lines(
            results,
            &results.rows,
            "slowdown",
            ("workers", "times as long as with one worker"),
            &["gpus"],
        )
    },
    view: View::Across("workers", &["gpus"]),
    timelines: None,
    checked: true,
    averages: None,
};

fn layouts() -> Vec<&'static str> {
    vec![Layout::Threads.name(), Layout::Processes.name()]
}

fn variants(settings: &Settings, bench: &Bench) -> Result<Plan, String> {
    let mut plan = Plan::default();
    let gpus = bench.gpus.max(1);
    let workers = match settings.counts("workers") {
        set if set.is_empty() => powers(gpus),
        set => set,
    };
    for load in settings.words("load") {
        // Allocations and module loads leave no operation to wait for; starvation shows in a wait.
        let syncs = match load {
            Load::Products | Load::Pool => settings.flags("sync"),
            Load::Allocations | Load::Modules => vec![false],
            Load::Starvation => vec![true],
        };
        for sync in syncs {
            for layout in settings.words("variant") {
                for &workers in &workers {
                    for loading in settings.words("loading") {
                        let times = load.times(settings.number("times"));
                        let cycles = settings.number("cycles");
                        let case = Case { layout, workers, gpus, load, sync, loading, times, cycles };
                        plan.variants.extend(case.runs(settings));
                    }
                }
            }
        }
    }
    if bench.gpus < 2 && settings.counts("workers").is_empty() {
        plan.left_out.push(String::from(
            "more than one worker: the machine has one GPU (`--set workers=1,2` puts two workers on it)",
        ));
    }
    Ok(plan)
}

fn loadings() -> Vec<&'static str> {
    When::names()
}

/// 1, 2, 4 … up to `most`, and `most`.
fn powers(most: u32) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..32).map(|power| 1 << power).take_while(|number| *number < most).collect();
    numbers.push(most);
    numbers
}

/// Rows and columns of the factors (seed 004: 320 × 320 by 320 × 640).
const ROWS: u32 = 320;
const INNER: u32 = 320;
const COLUMNS: u32 = 640;
/// Blocks: the product's 32 × 32 tiles.
const TILES: u32 = (ROWS / 32) * (COLUMNS / 32);
/// Bytes of an allocation.
const ALLOCATION: u64 = 1 << 20;

words! {
    /// Calls of each worker.
    Load {
        /// Launches matrix products.
        Products = "products",
        /// Allocates and frees device memory.
        Allocations = "allocations",
        /// Allocates from the device's pool and frees into it. By default a pool keeps freed memory until the stream is
        /// synchronized.
        Pool = "pool",
        /// Loads and unloads a module.
        Modules = "modules",
        /// The first worker launches long kernels, the others launch products: does the first starve?
        Starvation = "starvation",
    }
}

words! {
    /// When the driver loads kernels.
    When {
        /// `CUDA_MODULE_LOADING` is unset: lazily since CUDA 11.7, or 12.2 on Windows.
        Default = "default",
        /// At their first use.
        Lazy = "lazy",
        /// With their module.
        Eager = "eager",
    }
}

impl When {
    fn loading(self) -> Option<Loading> {
        match self {
            When::Default => None,
            When::Lazy => Some(Loading::Lazy),
            When::Eager => Some(Loading::Eager),
        }
    }
}

impl Load {
    /// The number of repetitions of a worker that would compute `times` products: the other loads take longer.
    fn times(self, times: u64) -> u64 {
        match self {
            Load::Products => times,
            Load::Allocations | Load::Pool => (times / 10).max(1),
            Load::Modules | Load::Starvation => (times / 100).max(1),
        }
    }
}

/// Values that a case varies.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// [`Layout::Threads`] or [`Layout::Processes`].
    pub layout: Layout,
    /// Number of workers, distributed over the GPUs in turn.
    pub workers: u32,
    /// Number of GPUs.
    pub gpus: u32,
    /// Calls of each worker.
    pub load: Load,
    /// Whether a worker synchronizes after each kernel; if not, after the last.
    pub sync: bool,
    /// When the driver loads kernels.
    pub loading: When,
    /// Kernels, allocations, module loads or long kernels of a worker.
    pub times: u64,
    /// Cycles of a long kernel.
    pub cycles: u64,
}

impl Default for Case {
    fn default() -> Case {
        Case {
            layout: Layout::Threads,
            workers: 1,
            gpus: 1,
            load: Load::Products,
            sync: false,
            loading: When::Default,
            times: 10_000,
            cycles: 2_000_000,
        }
    }
}

impl Case {
    /// The workload. One body is all `times` repetitions of a worker; of [`Load::Starvation`] only the first worker's count.
    pub fn workload(&self) -> Workload {
        let mut workload = Workload::new(format!("multi-gpu-{}", self.load.name()));
        workload.loading = self.loading.loading();
        let threads = if self.layout == Layout::Processes { 1 } else { self.workers };
        spread(&mut workload, self.workers, threads, |process, number| self.worker(process, number));
        workload
    }

    /// One variant, or one for each run.
    fn runs(self, settings: &Settings) -> Vec<Variant> {
        let runs = settings.number("runs");
        if runs == 1 {
            return vec![self.variant(settings, None)];
        }
        let contentions = onset::contentions(settings.number("seed"), runs);
        let run = |(number, contention)| self.clone().variant(settings, Some((number, contention)));
        (1..).zip(contentions).map(run).collect()
    }

    fn variant(self, settings: &Settings, run: Option<(u64, u32)>) -> Variant {
        let mut varied = vec![
            ("variant", self.layout.name().into()),
            ("load", self.load.name().into()),
            ("workers", self.workers.into()),
            ("gpus", self.gpus.min(self.workers).into()),
            ("sync", self.sync.into()),
        ];
        varied.extend(settings.is_set("loading").then(|| ("loading", self.loading.name().into())));
        varied.extend(run.map(|(number, _)| ("run", number.into())));
        Variant {
            varied,
            workload: self.workload(),
            // The launch of a long kernel may wait for a lock that another thread holds.
            timed: self.load == Load::Starvation,
            averages: false,
            contention: run.map(|(_, contention)| contention),
            read: Box::new(move |outcome| vec![self.read(outcome)]),
        }
    }

    /// The mean time of one repetition, of all workers and of the slowest; of starvation, of the first worker.
    fn read(&self, outcome: &Outcome) -> Reading {
        let each = |at: usize| outcome.threads[at].elapsed_ns as f64 / 1e6 / self.times as f64;
        let of: Vec<f64> = match self.load {
            Load::Starvation => vec![each(0)],
            _ => (0..outcome.threads.len()).map(each).collect(),
        };
        let mean = of.iter().sum::<f64>() / of.len() as f64;
        let slowest = of.iter().copied().fold(0.0, f64::max);
        let mut figures = vec![("ms", mean), ("slowest_ms", slowest)];
        figures.extend((self.load == Load::Products).then(|| ("gflop_per_s", gflop_per_s(mean))));
        if let Some(first) = outcome.threads.first().filter(|_| self.load == Load::Starvation) {
            let launches = first.calls.iter().filter(|call| call.name == "cuLaunchKernel");
            let spent: u64 = launches.map(|call| call.total_ns).sum();
            figures.push(("launch_share", spent as f64 / first.elapsed_ns.max(1) as f64));
        }
        let each = if self.load == Load::Products { self.each(outcome) } else { Vec::new() };
        Reading { figures, max_error: max_error(outcome), each, ..Reading::default() }
    }

    /// The speed of each worker, and whether its result was right.
    fn each(&self, outcome: &Outcome) -> Vec<Reading> {
        let one = |(number, thread): (u32, &ThreadOutcome)| {
            let ms = thread.elapsed_ns as f64 / 1e6 / self.times as f64;
            Reading {
                also: vec![("worker", number.into()), ("gpu", (number % self.gpus).into())],
                figures: vec![("ms", ms), ("gflop_per_s", gflop_per_s(ms))],
                max_error: thread.max_error,
                ..Reading::default()
            }
        };
        (0..).zip(&outcome.threads).map(one).collect()
    }

    fn worker(&self, process: &mut Process, number: u32) {
        let context = process.primary(number % self.gpus);
        let stream = process.stream(format!("stream {number}"), context, StreamKind::NonBlocking);
        let mut buffer =
            |what: &str, memory, bytes| process.buffer(format!("{what} {number}"), context, memory, bytes);
        let matrix = |rows: u32, columns: u32| u64::from(rows) * u64::from(columns) * 4;
        let a = buffer("a", Memory::Device, matrix(ROWS, INNER));
        let b = buffer("b", Memory::Device, matrix(INNER, COLUMNS));
        let c = buffer("c", Memory::Device, matrix(ROWS, COLUMNS));
        let result = buffer("result", Memory::Pageable, matrix(ROWS, COLUMNS));
        let memory = if self.load == Load::Pool { Memory::Pool } else { Memory::Device };
        let extra = buffer("extra", memory, ALLOCATION);
        let product = Kernel::MatrixProduct { a, b, c, rows: ROWS, inner: INNER, columns: COLUMNS };
        let starved = self.load == Load::Starvation && number == 0;

        let worker = process.thread(format!("worker {number}"), context);
        worker.before().allocate(a).allocate(b).allocate(c).allocate(result);
        worker.before().fill_on(a, 1.0, stream).fill_on(b, 0.5, stream);
        worker.before().launch(product.clone(), TILES, 1024, stream).synchronize(stream);
        if starved {
            worker.before().launch(Kernel::Delay { cycles: 1 }, 1, 1, stream).synchronize(stream);
        }
        let once = |steps: &mut Steps<'_>| match self.load {
            Load::Starvation if starved => {
                steps.launch(Kernel::Delay { cycles: self.cycles }, 1, 1, stream);
            }
            Load::Products | Load::Starvation => {
                steps.launch(product.clone(), TILES, 1024, stream);
            }
            Load::Allocations => {
                steps.allocate(extra).free(extra);
            }
            Load::Pool => {
                steps.allocate_on(extra, stream).free_on(extra, stream);
            }
            Load::Modules => {
                steps.load_module();
            }
        };
        let times = if self.load == Load::Starvation && !starved {
            worker.repeat = Repeat::WhileOthers;
            10
        } else {
            self.times
        };
        worker.body().repeat(times, |steps| {
            once(steps);
            if self.sync {
                steps.synchronize(stream);
            }
        });
        worker.body().synchronize(stream);
        let bytes = matrix(ROWS, COLUMNS);
        worker.after().copy(c, result, bytes, stream).synchronize(stream);
        worker.after().check(result, bytes, INNER as f32 * 0.5);
        worker.after().free(a).free(b).free(c).free(result);
    }
}

/// The speed of a product that takes `ms`: a multiplication and an addition for each element of the product and each of a
/// row (131,072,000 operations, as NVIDIA's sample counts).
fn gflop_per_s(ms: f64) -> f64 {
    let operations = 2.0 * f64::from(ROWS) * f64::from(INNER) * f64::from(COLUMNS);
    operations / 1e6 / ms
}

/// The time of a row over that with one worker.
fn slowdown(row: &Row, one: &Row) -> Option<Figure> {
    Some(row.figure("ms")?.over("slowdown", one.figure("ms")?))
}

fn verdict(results: &Results) -> Vec<String> {
    let pairs: Vec<(&Row, &Row)> = results
        .rows
        .iter()
        .filter(|row| row.number("workers") == Some(1))
        .filter_map(|one| Some((one, widest(results, one)?)))
        .collect();
    let pairs = match results.settings.number("runs") {
        0 | 1 => pairs,
        _ => return onset::verdict(&pairs, results.bench.simulated),
    };
    let loading = loading(results);
    let (held, free): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|(one, all)| takes_longer(all, one));
    let mut sentences: Vec<String> = held.iter().map(|(one, all)| holding_up(one, all)).collect();
    for (is_said, words) in FREE {
        let alike =
            free.iter().filter(|(_, all)| is_said(all.figure("slowdown").and_then(|figure| figure.interval)));
        let list: Vec<String> = alike.map(|(one, all)| briefly(one, all)).collect();
        if !list.is_empty() {
            sentences.push(format!("{words} in {}.", list.join("; ")));
        }
    }
    sentences.extend(loading);
    sentences
}

/// How much longer rows with lazy loading take than the same rows with eager loading.
fn loading(results: &Results) -> Option<String> {
    let of = |when: When| results.rows.iter().filter(move |row| row.text("loading") == when.name());
    let ratio = |lazy: &Row| {
        let eager = of(When::Eager).find(|eager| eager.is_like(lazy, &["loading"]))?;
        Some(lazy.value("ms") / eager.value("ms"))
    };
    let ratios: Vec<f64> = of(When::Lazy).filter_map(ratio).collect();
    let least = ratios.iter().copied().reduce(f64::min)?;
    let most = ratios.iter().copied().reduce(f64::max)?;
    Some(format!(
        "With kernels that are loaded lazily, a row takes {} to {} as long as with kernels that are loaded eagerly.",
        Unit::Times.text(least),
        Unit::Times.text(most)
    ))
}

/// Whether a slowdown has this interval, if it has one.
type Has = fn(Option<[f64; 2]>) -> bool;

/// Beginnings of the sentences on rows that are no delay, by the interval of the slowdown.
const FREE: [(Has, &str); 3] = [
    (|interval| interval.is_none(), "Workers do not delay each other measurably (by less than 10 %)"),
    (
        |interval| interval.is_some_and(|[_, high]| high < HELD_UP),
        "Workers delay each other by less than 10 %, if at all,",
    ),
    (|interval| interval.is_some_and(|[_, high]| high >= HELD_UP), "No delay of 10 % or more is shown"),
];

/// Change from one worker to all that the rounds show, as the end of a sentence.
fn judged(one: &Row, all: &Row) -> String {
    ending(one, all, ("ms", Unit::Milliseconds))
}

/// The row with one worker on each of the most GPUs that is otherwise like `one`.
fn widest<'a>(results: &'a Results, one: &Row) -> Option<&'a Row> {
    let is_alike = |row: &&Row| row.is_like(one, &["workers", "gpus"]);
    let each_its_own = results.rows.iter().filter(|row| row.cell("gpus") == row.cell("workers"));
    each_its_own
        .filter(is_alike)
        .max_by_key(|row| row.number("workers"))
        .filter(|row| row.number("workers") > Some(1))
}

fn holding_up(one: &Row, all: &Row) -> String {
    let what = match (one.text("load").as_str(), one.is(&[("sync", true.into())])) {
        ("products", true) => "a product and its synchronization take",
        ("products", false) => "a product takes",
        ("allocations", _) => "an allocation and its free take",
        ("pool", true) => "an allocation from the pool, its free and a synchronization take",
        ("pool", false) => "an allocation from the pool and its free take",
        ("modules", _) => "loading and unloading a module take",
        _ => "a long kernel, beside short kernels of the other workers, takes",
    };
    let waits = all
        .figure("launch_share")
        .map(|share| format!(", {} of it in launches", Unit::Share.text(share.value)));
    format!(
        "{}: {what} {} with one GPU and {} with {}{}, {} as long: the workers delay each other{}.",
        all.text("variant"),
        Unit::Milliseconds.text(one.value("ms")),
        Unit::Milliseconds.text(all.value("ms")),
        all.text("gpus"),
        waits.unwrap_or_default(),
        Unit::Times.text(all.value("slowdown")),
        judged(one, all)
    )
}

/// `processes with products (91.0 µs with one GPU, 91.1 µs with 10)`
pub(super) fn briefly(one: &Row, all: &Row) -> String {
    let both_ways = ["products", "pool"].contains(&one.text("load").as_str());
    let sync = if both_ways && one.is(&[("sync", true.into())]) { ", synchronizing" } else { "" };
    let loading = match one.text("loading").as_str() {
        "lazy" => ", loaded lazily",
        "eager" => ", loaded eagerly",
        _ => "",
    };
    format!(
        "{} with {}{sync}{loading} ({} with one GPU, {} with {}{})",
        all.text("variant"),
        one.text("load"),
        Unit::Milliseconds.text(one.value("ms")),
        Unit::Milliseconds.text(all.value("ms")),
        all.text("gpus"),
        judged(one, all)
    )
}
