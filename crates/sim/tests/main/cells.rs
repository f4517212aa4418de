//! Every cell of `tests/data/cells.txt`, what was measured, against what the model gives.

use crate::support::{Row, check, run};
use experiments::catalogue::{architectures, hidden_sync, multi_gpu, overlap};
use experiments::{HostMemory, Layout, Submit, Word};

/// How far a model may be from what was measured, as a part of it.
const WITHIN: f64 = 0.15;

/// A line of the file.
struct Cell {
    model: &'static str,
    experiment: &'static str,
    words: Vec<&'static str>,
    at: u32,
    measured: (f64, f64),
}

impl Cell {
    fn of(line: &'static str) -> Cell {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [model, experiment, case, at, low, high] = fields[..] else { panic!("{line}: six fields") };
        Cell {
            model,
            experiment,
            words: case.split(',').collect(),
            at: at.parse().unwrap(),
            measured: (low.parse().unwrap(), high.parse().unwrap()),
        }
    }

    fn says(&self, word: &str) -> bool {
        self.words.contains(&word)
    }

    /// The one of a parameter's values that the case names.
    fn one<W: Word>(&self) -> Option<W> {
        W::ALL.iter().copied().find(|one| self.says(one.name()))
    }

    fn connections(&self) -> Option<u32> {
        self.words.iter().find_map(|word| word.strip_suffix("-connections")?.parse().ok())
    }

    fn row(&self) -> Row {
        let simulated = match self.experiment {
            "architectures" => self.architectures(),
            "overlap" => self.overlap(),
            "hidden-sync" => self.hidden_sync(),
            "multi-gpu" => self.multi_gpu(),
            other => panic!("{other}: no such experiment"),
        };
        let what = format!("{} {} {}", self.experiment, self.words.join(","), self.at);
        Row { what, measured: self.measured, simulated, within: WITHIN }
    }

    /// Iterations a second, as the seed counts them.
    fn architectures(&self) -> f64 {
        let case = architectures::Case {
            layout: self.one().unwrap(),
            workers: self.at,
            memory: self.one().unwrap(),
            sync: self.says("sync"),
            submit: self.one().unwrap_or(Submit::Launches),
            connections: self.connections(),
            // As many as the rates need to settle.
            iterations: 20,
            ..Default::default()
        };
        let outcome = run(&case.workload(), self.model);
        let elapsed: u64 = outcome.threads.iter().map(|thread| thread.elapsed_ns).sum();
        let workers = f64::from(self.at);
        1e9 / elapsed as f64 * case.iterations as f64 * workers * workers
    }

    /// Milliseconds a pass.
    fn overlap(&self) -> f64 {
        let (order, memory) = (self.one().unwrap(), self.one::<HostMemory>().unwrap());
        let case = overlap::Case { order, memory, rounds: self.at, bytes: 64 << 20, ..Default::default() };
        let outcome = run(&case.workload(), self.model);
        outcome.threads[0].elapsed_ns as f64 / case.passes as f64 / 1e6
    }

    /// Microseconds that the host is blocked, or until the result is ready.
    fn hidden_sync(&self) -> f64 {
        let (operation, scalar) = (self.one().unwrap(), self.one().unwrap());
        let case = hidden_sync::Case { operation, scalar, length: self.at, ..Default::default() };
        let outcome = run(&case.workload(), self.model);
        let thread = &outcome.threads[0];
        let wait = thread.calls.iter().find(|call| call.name == "cuStreamSynchronize").unwrap();
        let waited = if self.says("held") { wait.total_ns } else { 0 };
        (thread.elapsed_ns - waited) as f64 / 1e3 / case.times as f64
    }

    /// Microseconds of each of what the workers do; of starvation, of the first worker's.
    fn multi_gpu(&self) -> f64 {
        let load: multi_gpu::Load = self.one().unwrap();
        let times = if load == multi_gpu::Load::Products { 2_000 } else { 200 };
        let gpus = sim::Model::load(self.model).unwrap().device.count;
        let (layout, sync): (Layout, bool) = (self.one().unwrap(), self.says("sync"));
        let case =
            multi_gpu::Case { layout, workers: self.at, gpus, load, sync, times, ..Default::default() };
        let mut threads = run(&case.workload(), self.model).threads;
        if load == multi_gpu::Load::Starvation {
            threads.truncate(1);
        }
        let elapsed: u64 = threads.iter().map(|thread| thread.elapsed_ns).sum();
        elapsed as f64 / 1e3 / threads.len() as f64 / case.times as f64
    }
}

/// Checks the cells of an experiment.
fn reproduced(experiment: &str) {
    let lines = include_str!("../data/cells.txt").lines().filter(|line| !line.starts_with('#'));
    let cells = lines.map(Cell::of).filter(|cell| cell.experiment == experiment);
    let rows: Vec<Row> = cells.map(|cell| cell.row()).collect();
    assert!(!rows.is_empty());
    check(&rows);
}

#[test]
fn cells_of_architectures() {
    reproduced("architectures");
}

#[test]
fn cells_of_overlap() {
    reproduced("overlap");
}

#[test]
fn cells_of_hidden_sync() {
    reproduced("hidden-sync");
}

#[test]
fn cells_of_multi_gpu() {
    reproduced("multi-gpu");
}
