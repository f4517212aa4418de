//! One thread repeats a copy to the host; how much time do another thread's launches of a small kernel lose (seed 001)?

use crate::experiment::{
    Bench, Cell, Column, Experiment, HostMemory, Kind, Parameter, Place, Plan, Reading, Settings, Unit,
    Variant, View, Word, choices::words,
};
use crate::results::{Results, Row, ending};
use crate::show::charts;
use std::time::Duration;
use workload::{
    BufferId, ContextId, Kernel, Memory, Outcome, Process, Repeat, StreamId, StreamKind, Thread, Workload,
};

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "launch-stall",
    about: "a thread that copies to the host, and the time that another thread's launches lose",
    question: "Thread A repeats a copy of a large buffer to the host, thread B launches a small kernel. How much of B's time \
               goes into launches longer than 1 ms, by the stream and the memory that A copies to? And how much if a \
               stream's queue is full?",
    parameters: &[
        Parameter::words::<Beside>("beside", "what thread A does", "idle,copy,item,full-queue"),
        Parameter::many(
            "variant",
            "the stream of the copies: that of the launches, or another",
            Kind::Words(streams),
            "same-stream,own-stream",
        ),
        Parameter::words::<HostMemory>(
            "memory",
            "the host memory that A copies to",
            "fresh,pageable,pinned,staged",
        ),
        Parameter::one(
            "bytes",
            "size of a copy; a staged copy has whole pieces of 8 MiB",
            Kind::Sizes(8 << 20, 1 << 36),
            "256MiB",
        ),
        Parameter::one("time", "time that B launches for", Kind::Durations, "1s"),
        Parameter::one("between", "time that B computes between two launches", Kind::Durations, "6us"),
        Parameter::one("pause", "time that A computes between two copies", Kind::Durations, "50us"),
        Parameter::one(
            "cycles",
            "cycles of a kernel that fills the queue",
            Kind::Numbers(1, 1 << 40),
            "4000000",
        ),
    ],
    columns: &[
        Column::words("variant"),
        Column::words("beside"),
        Column::words("memory"),
        Column::measured("per_s", "per second", Unit::PerSecond),
        Column::measured("stalled_share", "in stalls", Unit::Share),
        Column::measured("longest_ms", "longest", Unit::Milliseconds),
        Column::measured("gb_per_s", "copied", Unit::Throughput),
    ],
    rounds: 3,
    warm_up: false,
    variants,
    relation: None,
    verdict,
    chart: |results| charts::bars(results, "per_s", "launches/s of thread B", &[]),
    view: View::Table,
    timelines: None,
    checked: false,
    averages: None,
};

fn streams() -> Vec<&'static str> {
    vec![Place::SameStream.name(), Place::OwnStream.name()]
}

fn variants(settings: &Settings, _: &Bench) -> Result<Plan, String> {
    let mut plan = Plan::default();
    let case = Case {
        bytes: settings.number("bytes"),
        time: settings.duration("time"),
        between: settings.duration("between"),
        pause: settings.duration("pause"),
        cycles: settings.number("cycles"),
        ..Case::default()
    };
    for beside in settings.words("beside") {
        let (memories, places): (Vec<HostMemory>, Vec<Place>) = match beside {
            Beside::Copy => (settings.words("memory"), settings.words("variant")),
            Beside::Idle | Beside::Item => (vec![HostMemory::Pageable], settings.words("variant")),
            Beside::FullQueue => (vec![HostMemory::Pageable], vec![Place::OwnStream]),
        };
        for memory in memories {
            for &place in &places {
                // A thread that stages copies has its own stream.
                if memory != HostMemory::Staged || place == Place::OwnStream {
                    plan.variants.push(Case { beside, memory, place, ..case.clone() }.variant());
                }
            }
        }
    }
    Ok(plan)
}

/// Floats of the small kernel (seed 001).
const SMALL: u32 = 1024;
/// Bytes of a piece of a staged copy: section 8 of the H200 measurements used 2 to 8 MiB.
const PIECE: u64 = 8 << 20;

words! {
    /// Activity of the other thread.
    Beside {
        /// Nothing.
        Idle = "idle",
        /// Copies a large buffer to the host.
        Copy = "copy",
        /// Fetches one number, as `.item()` does.
        Item = "item",
        /// No other thread runs, but kernels take longer than their launches: the stream's queue fills.
        FullQueue = "full-queue",
    }
}

/// Values that a case varies.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Activity of thread A.
    pub beside: Beside,
    /// [`Place::SameStream`]: the default stream for both threads; [`Place::OwnStream`]: a stream for each.
    pub place: Place,
    /// Where A copies to.
    pub memory: HostMemory,
    /// How much A copies; of a staged copy whole pieces only.
    pub bytes: u64,
    /// How long B launches.
    pub time: Duration,
    /// Time that B computes between two launches: a framework takes longer than the launch itself. 6 µs make the some
    /// 100,000 launches a second that PyTorch reached on an H200 beside an idle thread.
    pub between: Duration,
    /// Time that A computes between two copies. With little or none (2 to 20 µs), an H200 lets B into a stream whose copies
    /// follow each other only by chance: 1 to 11 launches/s, one of which waited for 2.8 s. With 50 µs it is 44/s, as
    /// PyTorch's own work between two copies made it 35/s; with 100 µs already 173/s.
    pub pause: Duration,
    /// Cycles of a kernel of [`Beside::FullQueue`].
    pub cycles: u64,
}

impl Default for Case {
    fn default() -> Case {
        Case {
            beside: Beside::Copy,
            place: Place::SameStream,
            memory: HostMemory::Fresh,
            bytes: 256 << 20,
            time: Duration::from_secs(1),
            between: Duration::from_micros(6),
            pause: Duration::from_micros(50),
            cycles: 4_000_000,
        }
    }
}

impl Case {
    fn variant(self) -> Variant {
        let memory = match self.beside {
            Beside::Copy | Beside::Item => self.memory.name().into(),
            Beside::Idle | Beside::FullQueue => Cell::Nothing,
        };
        Variant {
            varied: vec![
                ("variant", self.place.name().into()),
                ("beside", self.beside.name().into()),
                ("memory", memory),
            ],
            workload: self.workload(),
            timed: true,
            averages: false,
            contention: None,
            read: Box::new(move |outcome| vec![self.read(outcome)]),
        }
    }

    /// B's launches, and the throughput of A's copies at that time.
    fn read(&self, outcome: &Outcome) -> Reading {
        let Some((b, others)) = outcome.threads.split_last() else { return Reading::default() };
        let elapsed = b.elapsed_ns.max(1) as f64;
        let stalled: u64 = b.calls.iter().map(|call| call.stalled_ns).sum();
        let longest = b.calls.iter().map(|call| call.max_ns).max().unwrap_or(0);
        let mut figures = vec![
            ("per_s", b.rounds as f64 * 1e9 / elapsed),
            ("stalled_share", stalled as f64 / elapsed),
            ("longest_ms", longest as f64 / 1e6),
        ];
        if let (Beside::Copy, Some(a)) = (self.beside, others.first()) {
            let bytes =
                if self.memory == HostMemory::Staged { self.bytes / PIECE * PIECE } else { self.bytes };
            figures.push(("gb_per_s", (bytes * a.rounds) as f64 / a.elapsed_ns.max(1) as f64));
        }
        Reading { figures, ..Reading::default() }
    }

    /// The workload. B, the thread that launches, is the last.
    pub fn workload(&self) -> Workload {
        let mut workload = Workload::new("launch-stall");
        let process = workload.process("main");
        let context = process.primary(0);
        let mut stream = |name: &str| match self.place {
            Place::SameStream => process.default_stream(context),
            _ => process.stream(name, context, StreamKind::NonBlocking),
        };
        let [copies, launches] = [stream("A"), stream("B")];
        match (self.beside, self.memory) {
            (Beside::Copy, HostMemory::Staged) => self.staging_copier(process, context, copies),
            (Beside::Copy, _) => self.copier(process, context, copies, self.bytes),
            (Beside::Item, _) => self.copier(process, context, copies, 4),
            (Beside::Idle | Beside::FullQueue, _) => {}
        }
        self.launcher(process, context, launches);
        workload
    }

    /// Thread A, with the copy and the wait for it that PyTorch's `copy_` makes.
    fn copier(&self, process: &mut Process, context: ContextId, stream: StreamId, bytes: u64) {
        let source = process.buffer("source", context, Memory::Device, bytes);
        let destination = process.buffer("destination", context, self.memory.memory(), bytes);
        let copier = process.thread("A", context);
        copier.repeat = Repeat::WhileOthers;
        copier.before().allocate(source).fill_on(source, 1.0, stream).synchronize(stream);
        let fresh = self.memory == HostMemory::Fresh;
        match fresh {
            true => copier.body().allocate(destination),
            false => copier.before().allocate(destination),
        };
        copier.body().copy(source, destination, bytes, stream).synchronize(stream);
        match fresh {
            true => copier.body().free(destination),
            false => copier.after().free(destination),
        };
        copier.body().work(self.pause);
        copier.after().free(source);
    }

    /// Thread A where it stages a copy: piece by piece through two pinned buffers in turn, from which it fills the pageable
    /// destination itself.
    fn staging_copier(&self, process: &mut Process, context: ContextId, stream: StreamId) {
        let pieces = self.bytes / PIECE;
        let all = |process: &mut Process, what: &str, memory| -> Vec<BufferId> {
            (0..pieces).map(|at| process.buffer(format!("{what} {at}"), context, memory, PIECE)).collect()
        };
        let (sources, destinations) =
            (all(process, "source", Memory::Device), all(process, "destination", Memory::Pageable));
        let pinned = [0, 1].map(|at| process.buffer(format!("pinned {at}"), context, Memory::Pinned, PIECE));
        let copied = [0, 1].map(|at| process.event(format!("copied {at}"), context));
        let copier = process.thread("A", context);
        copier.repeat = Repeat::WhileOthers;
        for buffer in sources.iter().chain(&destinations).chain(&pinned) {
            copier.before().allocate(*buffer);
            copier.after().free(*buffer);
        }
        let fetch = |copier: &mut Thread, at: usize| {
            copier.body().copy(sources[at], pinned[at % 2], PIECE, stream).record(copied[at % 2], stream);
        };
        for at in 0..sources.len() {
            if at == 0 {
                fetch(copier, 0);
            }
            if at + 1 < sources.len() {
                fetch(copier, at + 1);
            }
            copier.body().synchronize_event(copied[at % 2]);
            copier.body().copy_blocking(pinned[at % 2], destinations[at], PIECE);
        }
    }

    /// Thread B.
    fn launcher(&self, process: &mut Process, context: ContextId, stream: StreamId) {
        let small = process.buffer("small", context, Memory::Device, u64::from(SMALL) * 4);
        let (kernel, grid, block) = match self.beside {
            Beside::FullQueue => (Kernel::Delay { cycles: self.cycles }, 1, 1),
            _ => {
                let kernel = Kernel::Increment { buffer: small, offset: 0.into(), length: SMALL, rounds: 1 };
                (kernel, SMALL / 256, 256)
            }
        };
        let first = match &kernel {
            Kernel::Delay { .. } => Kernel::Delay { cycles: 1 },
            other => other.clone(),
        };
        let launcher = process.thread("B", context);
        launcher.repeat = Repeat::lasting(self.time);
        launcher.before().allocate(small).fill_on(small, 0.0, stream);
        launcher.before().launch(first, grid, block, stream).synchronize(stream);
        launcher.body().launch(kernel, grid, block, stream).work(self.between);
        launcher.after().synchronize(stream).free(small);
    }
}

fn verdict(results: &Results) -> Vec<String> {
    let mut sentences = Vec::new();
    let idle = results.rows.iter().find(|row| row.is(&[("beside", "idle".into())]));
    if let Some(idle) = idle {
        sentences.push(format!("Alone, B launches {}.", Unit::PerSecond.text(idle.value("per_s"))));
    }
    let copies = || results.rows.iter().filter(|row| row.is(&[("beside", "copy".into())]));
    let stalling: Vec<&Row> = copies().filter(|row| row.value("stalled_share") >= STALLS).collect();
    let stalls = |row: &&Row| {
        let (share, per_s) = (row.value("stalled_share").min(1.0), row.value("per_s"));
        let (share, per_s) = (Unit::Share.text(share), Unit::PerSecond.text(per_s));
        format!("{} memory, {}: {share} of B's time, {per_s}", row.text("memory"), row.text("variant"))
    };
    match stalling.is_empty() {
        false => {
            let list: Vec<String> = stalling.iter().map(stalls).collect();
            sentences.push(format!("A's copies delay B's launches by over 1 ms each: {}.", list.join("; ")));
        }
        true if copies().next().is_some() => {
            sentences.push(String::from("No copy of A delays B's launches for 20 % of its time or more."));
        }
        true => {}
    }
    sentences.extend(cures(results, &stalling));
    if let Some(row) = results.rows.iter().find(|row| row.is(&[("beside", "full-queue".into())])) {
        let share = row.value("stalled_share").min(1.0);
        let waiting = Unit::Share.text(share);
        sentences.push(match share >= STALLS {
            true => format!(
                "The queue of a stream whose kernels take longer than their launches fills: launches that wait take {waiting} of \
                 the time."
            ),
            false => format!("B's kernels hardly fill the queue of its stream: launches that wait take {waiting} of its time."),
        });
    }
    sentences
}

/// The least share of B's time in stalls that counts: with one stream per thread, stalls on an H200 took up to 12 %.
const STALLS: f64 = 0.2;

/// Returns how much other streams and other memory improve the worst case.
fn cures(results: &Results, stalling: &[&Row]) -> Vec<String> {
    let worst = stalling.iter().copied().min_by(|a, b| a.value("per_s").total_cmp(&b.value("per_s")));
    let Some(worst) = worst else { return Vec::new() };
    let times = |row: &Row| Unit::Times.text(row.value("per_s") / worst.value("per_s"));
    let judged = |row: &Row| ending(worst, row, ("per_s", Unit::PerSecond));
    let own = results.pairs("variant", "same-stream".into(), "own-stream".into());
    let own = own.filter(|(row, _)| std::ptr::eq(*row, worst)).map(|(_, row)| row).next();
    let mut sentences: Vec<String> = own
        .map(|row| {
            format!(
                "With one stream per thread, B launches {} as many kernels as in the worst case{}.",
                times(row),
                judged(row)
            )
        })
        .into_iter()
        .collect();
    let same = &[("variant", worst.text("variant").as_str().into()), ("memory", "pinned".into())];
    if let Some(row) = results.rows.iter().find(|row| row.is(same)) {
        let (times, judged) = (times(row), judged(row));
        sentences
            .push(format!("With copies into pinned memory in the same stream, {times} as many{judged}."));
    }
    sentences
}
