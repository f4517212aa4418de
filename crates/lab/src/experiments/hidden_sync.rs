//! Seed 003: a norm whose scalar goes to the host against one that stays on the device, and the division by it.

use crate::experiment::{Bench, Experiment, Plan, Reading, Variant, View, max_error};
use crate::parameters::{Kind, Parameter, Settings};
use crate::results::{Results, Row, Unit, differ};
use crate::{Word, charts, words::words};
use workload::{BufferId, Kernel, Memory, Outcome, Repeat, Steps, StreamId, StreamKind, Workload};

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "hidden-sync",
    about: "a norm whose scalar goes to the host, against one that stays on the device",
    question: "How long is the host held by a norm, or by a normalization, whose scalar it fetches, and how long where the \
               scalar stays on the device? When is the result there?",
    parameters: &[
        Parameter::words::<Scalar>("variant", "where the norm goes", "host-scalar,device-scalar"),
        Parameter::words::<Operation>("operation", "what is computed", "norm,normalize"),
        Parameter::numbers("length", "floats of the vector", (1, 1 << 31), "1024,268435456"),
        Parameter::one("times", "how often it is computed", Kind::Numbers(1, 1_000_000), "20"),
    ],
    rounds: 5,
    warm_up: true,
    variants,
    relation: None,
    verdict,
    chart: |results| charts::bars(results, "host_ms", "ms that the host is held", &[]),
    view: View::Table,
    timelines: None,
    checked: false,
    averages: None,
};

fn variants(settings: &Settings, _: &Bench) -> Result<Plan, String> {
    let mut plan = Plan::default();
    let times = settings.number("times");
    for operation in settings.words("operation") {
        for length in settings.counts("length") {
            for scalar in settings.words("variant") {
                plan.variants.push(Case { operation, scalar, length, times }.variant());
            }
        }
    }
    Ok(plan)
}

/// Threads of a block.
const BLOCK: u32 = 256;
/// Blocks of the first stage at most: the second stage is one block.
const BLOCKS: u32 = 1024;
/// Elements whose result is checked at most.
const CHECKED: u32 = 1024;

words! {
    /// What is computed.
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
        /// It stays on the device (device pointer mode).
        Device = "device-scalar",
    }
}

/// What a case varies.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// What is computed.
    pub operation: Operation,
    /// Where the norm goes.
    pub scalar: Scalar,
    /// Floats.
    pub length: u32,
    /// How often; after each time the stream is synchronized.
    pub times: u64,
}

impl Default for Case {
    fn default() -> Case {
        Case { operation: Operation::Norm, scalar: Scalar::Host, length: 1 << 28, times: 20 }
    }
}

impl Case {
    /// What the one thread asks for: a vector of ones, whose norm is the root of its length.
    pub fn workload(&self) -> Workload {
        let mut workload =
            Workload::new(format!("hidden-sync-{}-{}", self.operation.name(), self.scalar.name()));
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
            checked: buffer("checked", Memory::Pageable, self.length.min(CHECKED)),
        };
        let thread = process.thread("main", context);
        thread.repeat = Repeat::Times(self.times);
        let mut before = thread.before();
        for buffer in [work.vector, work.partial, work.norm, work.fetched, work.checked] {
            before.allocate(buffer);
        }
        before.fill_on(work.vector, 1.0, stream);
        self.once(&work, &mut before);
        self.once(&work, &mut thread.body());
        self.check(&work, &mut thread.after());
        for buffer in [work.vector, work.partial, work.norm, work.fetched, work.checked] {
            thread.after().free(buffer);
        }
        workload
    }

    fn variant(self) -> Variant {
        Variant {
            varied: vec![
                ("variant", self.scalar.name().into()),
                ("operation", self.operation.name().into()),
                ("length", self.length.into()),
            ],
            workload: self.workload(),
            timed: true,
            averages: false,
            contention: None,
            read: Box::new(|outcome| vec![read(outcome)]),
        }
    }

    fn once(&self, work: &Work, steps: &mut Steps<'_>) {
        let blocks = self.length.div_ceil(BLOCK).min(BLOCKS);
        let &Work { stream, vector, partial, norm, fetched, .. } = work;
        steps.launch(
            Kernel::NormPartial { from: vector, partial, length: self.length },
            blocks,
            BLOCK,
            stream,
        );
        steps.launch(Kernel::NormFinal { partial, to: norm, length: blocks }, 1, BLOCK, stream);
        let by = match self.scalar {
            Scalar::Host => {
                steps.copy(norm, fetched, 4, stream);
                fetched
            }
            Scalar::Device => norm,
        };
        if self.operation == Operation::Normalize {
            let scale = Kernel::Scale { buffer: vector, length: self.length, by };
            steps.launch(scale, self.length.div_ceil(BLOCK), BLOCK, stream);
        }
        steps.synchronize(stream);
    }

    /// The norm is the root of the length; normalized, each element is one over it.
    fn check(&self, work: &Work, steps: &mut Steps<'_>) {
        let root = (self.length as f32).sqrt();
        match self.operation {
            Operation::Norm => {
                steps.copy(work.norm, work.fetched, 4, work.stream).synchronize(work.stream);
                steps.check(work.fetched, 4, root);
            }
            Operation::Normalize => {
                let bytes = u64::from(self.length.min(CHECKED)) * 4;
                steps.copy(work.vector, work.checked, bytes, work.stream).synchronize(work.stream);
                steps.check(work.checked, bytes, 1.0 / root);
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
}

/// How long the calls before the synchronization took, and when it returned.
fn read(outcome: &Outcome) -> Reading {
    let Some(thread) = outcome.threads.first() else { return Reading::default() };
    let waits = thread.calls.iter().filter(|call| call.name.starts_with("cuStreamSynchronize"));
    let waited: u64 = waits.map(|call| call.total_ns).sum();
    let each = |ns: u64| ns as f64 / 1e6 / thread.rounds.max(1) as f64;
    let figures =
        vec![("host_ms", each(thread.elapsed_ns.saturating_sub(waited))), ("ms", each(thread.elapsed_ns))];
    Reading { figures, max_error: max_error(outcome), ..Reading::default() }
}

fn verdict(results: &Results) -> Vec<String> {
    let pairs = results.pairs("variant", Scalar::Host.name().into(), Scalar::Device.name().into());
    pairs.map(|(host, device)| held(host, device)).collect()
}

fn held(host: &Row, device: &Row) -> String {
    let text = |row: &Row, figure| Unit::Milliseconds.text(row.value(figure));
    let floats = report::units::counted(host.number("length").unwrap_or(0), "float", "floats");
    let what = format!("{} of {floats}", host.text("operation"));
    let changes = |figure| {
        let both = host.figure(figure).zip(device.figure(figure));
        both.is_some_and(|(host, device)| differ(host, device))
    };
    let sooner = 1.0 - device.value("ms") / host.value("ms");
    let result = match (changes("ms"), sooner > 0.0) {
        (false, _) => String::from("the result comes no sooner"),
        (true, true) => format!("the result comes {} sooner", Unit::Share.text(sooner)),
        (true, false) => format!("the result comes {} later", Unit::Share.text(-sooner)),
    };
    let held = match changes("host_ms") {
        true => format!(
            "the scalar's way to the host holds the thread for {} instead of {}, {} as long",
            text(host, "host_ms"),
            text(device, "host_ms"),
            Unit::Times.text(host.value("host_ms") / device.value("host_ms"))
        ),
        false => format!(
            "the thread is held for as long either way ({} and {})",
            text(host, "host_ms"),
            text(device, "host_ms")
        ),
    };
    format!("{what}: {held}; {result} where it stays on the device.")
}
