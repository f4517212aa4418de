//! Seed 003: a norm whose scalar goes to the host against one that stays on the device, and the division by it.

use crate::experiment::{
    Bench, Column, Experiment, Kind, Parameter, Plan, Reading, Settings, Unit, Values, Variant, View, Word,
    choices::words, max_error,
};
use crate::results::{Figure, Results, Row, differ, ending};
use crate::show::charts;
use workload::{BufferId, Kernel, Memory, Outcome, Repeat, Steps, StreamId, StreamKind, Workload};

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "hidden-sync",
    about: "a norm whose scalar goes to the host, compared with one that stays on the device",
    question: "How long does a norm, or a normalization, block the host if the host fetches the scalar, and how long if the \
               scalar stays on the device? When is the result ready?",
    parameters: &[
        Parameter::words::<Scalar>("variant", "where the norm goes", "host-scalar,both-ways,device-scalar"),
        Parameter::words::<Library>(
            "library",
            "what computes the norm: the lab's own kernels, or cuBLAS",
            "none,cublas",
        ),
        Parameter::words::<Operation>("operation", "what is computed", "norm,normalize"),
        Parameter::words::<Iteration>(
            "iteration",
            "the first iteration of a process, or later ones",
            "later,first",
        ),
        Parameter::numbers("length", "floats in the vector", (1, (1 << 31) - 1), "1024,268435456"),
        Parameter::one("times", "number of later iterations", Kind::Numbers(1, 1_000_000), "20"),
    ],
    columns: &[
        Column::words("variant"),
        Column::words("library"),
        Column::words("operation"),
        Column::varied("length", Values::Floats),
        Column::words("iteration"),
        Column::measured("host_ms", "host blocked", Unit::Milliseconds),
        Column::measured("ms", "time", Unit::Milliseconds),
    ],
    rounds: 8,
    warm_up: true,
    variants,
    relation: None,
    verdict,
    chart: |results| charts::bars(results, "host_ms", "ms that the host is blocked", &[]),
    view: View::Table,
    timelines: None,
    checked: false,
    averages: None,
};

fn variants(settings: &Settings, bench: &Bench) -> Result<Plan, String> {
    let mut plan = Plan::default();
    let times = settings.number("times");
    for library in settings.words("library") {
        if library == Library::Cublas && bench.simulated {
            plan.left_out.push(String::from("cublas: models have no cuBLAS"));
            continue;
        }
        for operation in settings.words("operation") {
            for length in settings.counts("length") {
                for iteration in settings.words("iteration") {
                    for scalar in settings.words("variant") {
                        let case = Case { library, operation, scalar, length, iteration, times };
                        // cuBLAS passes its parameters with the launch.
                        if (library, scalar) != (Library::Cublas, Scalar::BothWays) {
                            plan.variants.push(case.variant());
                        }
                    }
                }
            }
        }
    }
    Ok(plan)
}

/// Threads of a block.
const BLOCK: u32 = 256;
/// The most blocks of the first stage: the second stage is one block.
const BLOCKS: u32 = 1024;
/// The most elements whose result is checked.
const CHECKED: u32 = 1024;

words! {
    /// Library that computes the norm.
    Library {
        /// The lab's own two kernels.
        None = "none",
        /// cuBLAS, with the pointer mode of where the scalar goes.
        Cublas = "cublas",
    }
}

words! {
    /// Result that is computed.
    Operation {
        /// The 2-norm of a vector.
        Norm = "norm",
        /// The vector divided by its 2-norm.
        Normalize = "normalize",
    }
}

words! {
    /// Where the norm goes.
    Scalar {
        /// To the host, as cuBLAS does in host pointer mode, and Julia's `norm` and `.item()` do.
        Host = "host-scalar",
        /// The same after a copy of a parameter to the device: the two copies per norm in seed 003's profiles.
        BothWays = "both-ways",
        /// It stays on the device (device pointer mode).
        Device = "device-scalar",
    }
}

words! {
    /// Which iterations of a process.
    Iteration {
        /// The first, which uses everything for the first time.
        First = "first",
        /// Iterations after the first.
        Later = "later",
    }
}

/// Values that a case varies.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Library that computes the norm.
    pub library: Library,
    /// Result that is computed.
    pub operation: Operation,
    /// Where the norm goes.
    pub scalar: Scalar,
    /// Floats in the vector.
    pub length: u32,
    /// The first iteration of the process, or later ones.
    pub iteration: Iteration,
    /// The number of later iterations. After each, the stream is synchronized.
    pub times: u64,
}

impl Default for Case {
    fn default() -> Case {
        Case {
            library: Library::None,
            operation: Operation::Norm,
            scalar: Scalar::Host,
            length: 1 << 28,
            iteration: Iteration::Later,
            times: 20,
        }
    }
}

impl Case {
    /// The workload of one thread: a vector of ones, whose norm is the root of its length.
    pub fn workload(&self) -> Workload {
        let names = [self.library.name(), self.operation.name(), self.scalar.name()];
        let mut workload = Workload::new(format!("hidden-sync-{}", names.join("-")));
        let process = workload.process("main");
        let context = process.primary(0);
        let stream = process.stream("stream", context, StreamKind::NonBlocking);
        let mut buffer =
            |name, memory, floats: u32| process.buffer(name, context, memory, u64::from(floats) * 4);
        let work = Work {
            stream,
            vector: buffer("vector", Memory::Device, self.length),
            partial: buffer("partial", Memory::Device, BLOCKS),
            norm: buffer("norm", Memory::Device, 1),
            fetched: buffer("fetched", Memory::Pageable, 1),
            parameter: buffer("parameter", Memory::Pageable, 1),
            parameter_there: buffer("parameter there", Memory::Device, 1),
            checked: buffer("checked", Memory::Pageable, self.length.min(CHECKED)),
        };
        let thread = process.thread("main", context);
        thread.repeat = match self.iteration {
            Iteration::First => Repeat::Times(1),
            Iteration::Later => Repeat::Times(self.times),
        };
        let mut before = thread.before();
        for buffer in work.buffers() {
            before.allocate(buffer);
        }
        before.fill_on(work.vector, 1.0, stream).fill(work.parameter, 1.0).synchronize(stream);
        if self.iteration == Iteration::Later {
            self.once(&work, &mut before);
        }
        self.once(&work, &mut thread.body());
        self.check(&work, &mut thread.after());
        for buffer in work.buffers() {
            thread.after().free(buffer);
        }
        workload
    }

    fn variant(self) -> Variant {
        let right = self.right();
        Variant {
            varied: vec![
                ("variant", self.scalar.name().into()),
                ("library", self.library.name().into()),
                ("operation", self.operation.name().into()),
                ("length", self.length.into()),
                ("iteration", self.iteration.name().into()),
            ],
            workload: self.workload(),
            timed: true,
            averages: false,
            contention: None,
            read: Box::new(move |outcome| vec![read(outcome, right)]),
        }
    }

    fn once(&self, work: &Work, steps: &mut Steps<'_>) {
        let &Work { stream, vector, norm, fetched, .. } = work;
        let by = match self.scalar {
            Scalar::Host | Scalar::BothWays => fetched,
            Scalar::Device => norm,
        };
        match self.library {
            Library::None => self.own_kernels(work, steps),
            Library::Cublas => drop(steps.blas_norm(vector, by, self.length, stream)),
        }
        if self.operation == Operation::Normalize {
            let scale = Kernel::Scale { buffer: vector, length: self.length, by };
            steps.launch(scale, self.length.div_ceil(BLOCK), BLOCK, stream);
        }
        steps.synchronize(stream);
    }

    fn own_kernels(&self, work: &Work, steps: &mut Steps<'_>) {
        let blocks = self.length.div_ceil(BLOCK).min(BLOCKS);
        let &Work { stream, vector, partial, norm, fetched, .. } = work;
        if self.scalar == Scalar::BothWays {
            steps.copy(work.parameter, work.parameter_there, 4, stream);
        }
        let first = Kernel::NormPartial { from: vector, partial, length: self.length };
        steps.launch(first, blocks, BLOCK, stream);
        steps.launch(Kernel::NormFinal { partial, to: norm, length: blocks }, 1, BLOCK, stream);
        if self.scalar != Scalar::Device {
            steps.copy(norm, fetched, 4, stream);
        }
    }

    /// The norm is the root of the length; normalized, each element is one over it.
    fn right(&self) -> f32 {
        let root = (self.length as f32).sqrt();
        match self.operation {
            Operation::Norm => root,
            Operation::Normalize => 1.0 / root,
        }
    }

    fn check(&self, work: &Work, steps: &mut Steps<'_>) {
        match self.operation {
            Operation::Norm => {
                // cuBLAS wrote it to the host itself.
                if (self.library, self.scalar) != (Library::Cublas, Scalar::Host) {
                    steps.copy(work.norm, work.fetched, 4, work.stream).synchronize(work.stream);
                }
                steps.check(work.fetched, 4, self.right());
            }
            Operation::Normalize => {
                let bytes = u64::from(self.length.min(CHECKED)) * 4;
                steps.copy(work.vector, work.checked, bytes, work.stream).synchronize(work.stream);
                steps.check(work.checked, bytes, self.right());
            }
        }
    }
}

struct Work {
    stream: StreamId,
    vector: BufferId,
    partial: BufferId,
    norm: BufferId,
    fetched: BufferId,
    checked: BufferId,
    parameter: BufferId,
    parameter_there: BufferId,
}

impl Work {
    fn buffers(&self) -> [BufferId; 7] {
        let &Work { vector, partial, norm, fetched, checked, parameter, parameter_there, .. } = self;
        [vector, partial, norm, fetched, checked, parameter, parameter_there]
    }
}

/// Reads how long the calls before the synchronization took, when the synchronization returned, and the relative error.
fn read(outcome: &Outcome, right: f32) -> Reading {
    let Some(thread) = outcome.threads.first() else { return Reading::default() };
    let waits = thread.calls.iter().filter(|call| call.name.starts_with("cuStreamSynchronize"));
    let waited: u64 = waits.map(|call| call.total_ns).sum();
    let each = |ns: u64| ns as f64 / 1e6 / thread.rounds.max(1) as f64;
    let figures =
        vec![("host_ms", each(thread.elapsed_ns.saturating_sub(waited))), ("ms", each(thread.elapsed_ns))];
    let max_error = max_error(outcome).map(|error| error / f64::from(right));
    Reading { figures, max_error, ..Reading::default() }
}

fn verdict(results: &Results) -> Vec<String> {
    let pairs = results.pairs("variant", Scalar::Host.name().into(), Scalar::Device.name().into());
    // First uses have their own sentence.
    let pairs = pairs.filter(|(host, _)| !is_first(host));
    let mut sentences: Vec<String> = pairs.map(|(host, device)| held(host, device)).collect();
    let ways = results.pairs("variant", Scalar::Host.name().into(), Scalar::BothWays.name().into());
    sentences.extend(ways.filter(|(host, _)| !is_first(host)).filter_map(|(out, both)| also_in(out, both)));
    let times = results.pairs("iteration", Iteration::First.name().into(), Iteration::Later.name().into());
    let ratio = |(first, later): &(&Row, &Row)| first.value("host_ms") / later.value("host_ms");
    let most = times.max_by(|one, other| ratio(one).total_cmp(&ratio(other)));
    sentences.extend(most.and_then(|(first, later)| first_time(first, later)));
    sentences
}

fn is_first(row: &Row) -> bool {
    row.is(&[("iteration", Iteration::First.name().into())])
}

/// `norm of 1,024 floats by cuBLAS`
fn what(row: &Row) -> String {
    let floats = report::units::counted(row.number("length").unwrap_or(0), "float", "floats");
    let by = if row.is(&[("library", Library::Cublas.name().into())]) { " by cuBLAS" } else { "" };
    format!("{} of {floats}{by}", row.text("operation"))
}

/// Returns how much a copy in before the copy out adds, if it adds anything.
fn also_in(out: &Row, both: &Row) -> Option<String> {
    let (alone, with) = (out.figure("host_ms")?, both.figure("host_ms")?);
    let text = |figure: &Figure| Unit::Milliseconds.text(figure.value);
    let is_longer = differ(alone, with) && with.value > alone.value;
    is_longer.then(|| {
        format!(
            "{}: with a copy to the device as well, the calls block the thread for {} instead of {}{}.",
            what(out),
            text(with),
            text(alone),
            judged(out, both, "host_ms")
        )
    })
}

/// Returns how much longer the first iteration takes than later ones, if it does.
fn first_time(first: &Row, later: &Row) -> Option<String> {
    let (one, others) = (first.figure("host_ms")?, later.figure("host_ms")?);
    let is_longer = differ(one, others) && one.value > others.value;
    is_longer.then(|| {
        format!(
            "First uses cost most in the {} with {}: the first iteration blocks the thread for {}, later ones for {}: {} as long{}.",
            what(first),
            first.text("variant"),
            Unit::Milliseconds.text(one.value),
            Unit::Milliseconds.text(others.value),
            Unit::Times.text(one.value / others.value),
            judged(first, later, "host_ms")
        )
    })
}

/// Change from one row to another that the rounds show, as the end of a sentence.
fn judged(before: &Row, after: &Row, figure: &str) -> String {
    ending(before, after, (figure, Unit::Milliseconds))
}

fn held(host: &Row, device: &Row) -> String {
    let text = |row: &Row, figure| Unit::Milliseconds.text(row.value(figure));
    let what = what(host);
    let changes = |figure| {
        let both = host.figure(figure).zip(device.figure(figure));
        both.is_some_and(|(host, device)| differ(host, device))
    };
    let sooner = 1.0 - device.value("ms") / host.value("ms");
    // An interval has more than equal times in it.
    let is_judged = |figure| !judged(host, device, figure).is_empty();
    let result = match (changes("ms"), sooner > 0.0) {
        (false, _) if is_judged("ms") => {
            format!("the result arrives after {} instead of {}", text(device, "ms"), text(host, "ms"))
        }
        (false, _) => String::from("the result arrives no sooner"),
        (true, true) => format!("the result arrives {} sooner", Unit::Share.text(sooner)),
        (true, false) => format!("the result arrives {} later", Unit::Share.text(-sooner)),
    };
    let held = match changes("host_ms") {
        true => format!(
            "the copy of the scalar to the host blocks the thread for {} instead of {}, {} as long",
            text(host, "host_ms"),
            text(device, "host_ms"),
            Unit::Times.text(host.value("host_ms") / device.value("host_ms"))
        ),
        false => format!(
            "the calls block the thread {} ({} and {})",
            if is_judged("host_ms") { "either way" } else { "equally long either way" },
            text(host, "host_ms"),
            text(device, "host_ms")
        ),
    };
    let of = |name, figure| judged(host, device, figure).replacen("; ", &format!("; {name}: "), 1);
    let (blocked, arrives) = (of("the thread", "host_ms"), of("the result", "ms"));
    format!("{what}: {held}; {result} if the scalar stays on the device{blocked}{arrives}.")
}
