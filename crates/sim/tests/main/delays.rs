//! Waits of operations, as `explain` finds them and as the simulator knows them: each operation of each variant of all
//! experiments, on four generations.

use crate::support::variants;
use experiments::{CATALOGUE, Experiment};
use explain::Cause;
use sim::{Delay, Delays, Model};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use trace::Trace;
use waits::{Index, Waits};

/// One device of each generation: one kernel at a time, kernels that signal together, Hyper-Q, and a new one.
const MODELS: [&str; 4] = ["c1060", "c2050", "k20c", "h200"];

/// Least part of the time of waits with a cause that must have the right one, and of that time with the right operation that it waited for.
const LEAST: f64 = 0.97;

/// Least part of the time of waits that must have the right cause, with or without one, where [`LEAST`] is not reached, and why: an operation
/// that is issued by a call that has not returned may have been ready later than it seems, so that a few microseconds have no cause.
const LEAST_OF_ALL: &[(&str, f64)] = &[("hidden-sync h200", 0.85)];

/// Settings of each experiment that make it short and leave all of its variants.
const SETTINGS: [(&str, &[&str]); 8] = [
    ("architectures", &["workers=1,4,16", "iterations=2", "launches=40"]),
    ("hidden-sync", &["times=3"]),
    ("host-work", &["times=3"]),
    ("interference", &["time=3ms"]),
    ("launch-stall", &["time=20ms", "bytes=16MiB"]),
    ("multi-gpu", &["times=50"]),
    ("overlap", &["passes=2"]),
    ("stagger", &[]),
];

fn cause(delay: Delay) -> Cause {
    match delay {
        Delay::ConnectionAliasing => Cause::ConnectionAliasing,
        Delay::CopyEngineBusy => Cause::CopyEngineBusy,
        Delay::IssueOrder => Cause::IssueOrder,
        Delay::TimeSlicing => Cause::TimeSlicing,
        Delay::GpuFull => Cause::GpuFull,
        Delay::Dependency => Cause::Dependency,
        Delay::DefaultStream => Cause::DefaultStream,
        Delay::LaunchLatency => Cause::LaunchLatency,
    }
}

/// The time of waits by cause, ns: as the simulator knows it, as it was found, and what both have for the same operation.
#[derive(Clone, Default)]
struct Compared {
    causes: BTreeMap<Cause, [i64; 3]>,
    /// The waits of operations as the simulator knows them, ns.
    known: i64,
    /// The waits that have a cause, ns.
    found: i64,
    right: i64,
    /// The part of `right` in which it waited for one of the right operations, or for none, ns.
    right_behind: i64,
    /// The same by cause, ns.
    behind: BTreeMap<Cause, i64>,
}

impl Compared {
    fn of(trace: &Trace, delays: &[Delays]) -> Compared {
        let mut found = vec![BTreeMap::<Cause, i64>::new(); trace.ops.len()];
        let mut behind = found.clone();
        let empty = BTreeSet::new();
        for wait in Waits::of(&Index::of(trace)).parts() {
            let (at, ns) = (wait.op.index(), wait.end - wait.start);
            *found[at].entry(wait.cause).or_default() += ns;
            let known = delays[at].behind.iter().find(|(delay, _)| cause(**delay) == wait.cause);
            let known = known.map_or(&empty, |(_, known)| known);
            let is_right =
                if known.is_empty() { wait.behind.is_none() } else { known.contains(&wait.behind) };
            *behind[at].entry(wait.cause).or_default() += if is_right { ns } else { 0 };
        }
        let mut compared = Compared::default();
        for ((delays, found), behind) in delays.iter().zip(found).zip(behind) {
            let known: BTreeMap<Cause, i64> =
                delays.ns.iter().map(|(delay, ns)| (cause(*delay), *ns)).collect();
            compared.known += delays.total();
            compared.found += found.values().sum::<i64>();
            for cause in
                Cause::ALL.iter().filter(|cause| known.contains_key(cause) || found.contains_key(cause))
            {
                let ns = |of: &BTreeMap<Cause, i64>| of.get(cause).copied().unwrap_or(0);
                let both = ns(&known).min(ns(&found));
                compared.right += both;
                compared.right_behind += both.min(ns(&behind));
                *compared.behind.entry(*cause).or_default() += both.min(ns(&behind));
                let sums = compared.causes.entry(*cause).or_default();
                [ns(&known), ns(&found), both].into_iter().zip(sums).for_each(|(ns, sum)| *sum += ns);
            }
        }
        compared
    }

    fn add(&mut self, other: &Compared) {
        (self.known, self.found) = (self.known + other.known, self.found + other.found);
        self.right += other.right;
        self.right_behind += other.right_behind;
        other.behind.iter().for_each(|(cause, ns)| *self.behind.entry(*cause).or_default() += ns);
        for (cause, ns) in &other.causes {
            let sums = self.causes.entry(*cause).or_default();
            ns.iter().zip(sums).for_each(|(ns, sum)| *sum += ns);
        }
    }

    /// The parts of the waits that have the right cause: of those that have any, and of all.
    fn shares(&self) -> (f64, f64) {
        let of = |all: i64| self.right as f64 / all.max(1) as f64;
        (of(self.found), of(self.known))
    }

    /// The part of the waits with the right cause that has the right operation, too.
    fn behind_share(&self) -> f64 {
        self.right_behind as f64 / self.right.max(1) as f64
    }

    fn is_wrong(&self, name: &str) -> bool {
        let (of_found, of_known) = self.shares();
        let least_of_all =
            LEAST_OF_ALL.iter().find(|(known, _)| *known == name).map_or(LEAST, |(_, least)| *least);
        of_found < LEAST || of_known < least_of_all || self.behind_share() < LEAST
    }

    /// A line, and the figures of each cause in ms.
    fn line(&self, name: &str) -> String {
        let (of_found, of_known) = self.shares();
        let mut line = format!(
            "{name:40} {:6.2} and {:6.2} %, behind {:6.2} %, of {:.3} ms",
            of_found * 100.0,
            of_known * 100.0,
            self.behind_share() * 100.0,
            self.known as f64 / 1e6
        );
        for (cause, [known, found, both]) in &self.causes {
            let ms = |ns: &i64| *ns as f64 / 1e6;
            let behind = self.behind.get(cause).copied().unwrap_or(0);
            write!(
                line,
                "; {} {:.3} found {:.3} both {:.3} behind {:.3}",
                cause.id(),
                ms(known),
                ms(found),
                ms(both),
                ms(&behind)
            )
            .unwrap();
        }
        line
    }
}

/// Every variant of an experiment on a model.
fn compare(experiment: &Experiment, set: &[&str], model: &Model) -> Vec<Compared> {
    let compared = variants(experiment, set, model).into_iter().filter_map(|variant| {
        let (trace, delays) = sim::run_with_delays(&variant.workload, model).ok()?;
        assert_eq!(delays.len(), trace.ops.len());
        Some(Compared::of(&trace, &delays))
    });
    compared.collect()
}

#[test]
fn waits_of_operations_have_the_causes_that_the_simulator_knows() {
    assert_eq!(CATALOGUE.len(), SETTINGS.len());
    let rows: Vec<(String, Compared)> = std::thread::scope(|scope| {
        let models = MODELS.map(|name| {
            scope.spawn(move || {
                let model = Model::load(name).unwrap();
                let mut rows = Vec::new();
                for (experiment, set) in SETTINGS {
                    let mut all = Compared::default();
                    for compared in compare(experiments::experiment(experiment).unwrap(), set, &model) {
                        all.add(&compared);
                    }
                    rows.push((format!("{experiment} {name}"), all));
                }
                rows
            })
        });
        models.into_iter().flat_map(|model| model.join().unwrap()).collect()
    });
    rows.iter().for_each(|(name, compared)| println!("{}", compared.line(name)));
    let wrong: Vec<&String> =
        rows.iter().filter(|(name, row)| row.is_wrong(name)).map(|(name, _)| name).collect();
    assert!(wrong.is_empty(), "too little of the time of waits has the right cause: {wrong:?}");
}
