//! Replays of traces that the simulator made: it knows what the program asked for, so a replay can only differ by what the trace
//! does not say.

use crate::support::{expect, fit};
use experiments::{Cell, Experiment, Runner, Settings, Variant};
use sim::{Model, Options};
use std::sync::Arc;
use trace::Trace;
use workload::Workload;

/// Experiments with settings that stay fast, and models that run them.
const CASES: &[(&str, &[&str], &str)] = &[
    ("architectures", &["threads=1,4,16", "iterations=3"], "h200"),
    ("architectures", &["threads=4", "iterations=3"], "p100"),
    ("hidden-sync", &["times=2"], "h200"),
    ("interference", &["time=5ms", "bytes=8MiB", "effect=launches"], "h200"),
    ("launch-stall", &["time=50ms"], "h200"),
    ("launch-stall", &["time=50ms"], "p100"),
    ("multi-gpu", &["times=100", "threads=1,4"], "h200x8"),
    ("overlap", &[], "h200"),
    ("overlap", &[], "k20c"),
    ("overlap", &[], "c2050"),
    ("overlap", &[], "c1060"),
    ("stagger", &[], "h200"),
    ("stagger", &[], "p100"),
    ("stagger", &[], "p100-nvprof"),
];

fn traced(workload: &Workload, model: &Model) -> Trace {
    let options = Options { trace: true, ..Options::default() };
    sim::run(workload, model, options).unwrap().1.unwrap()
}

/// The variants of an experiment that a model runs, with their names.
fn variants(experiment: &Experiment, set: &[&str], model: &Model) -> Vec<(String, Workload)> {
    let set: Vec<String> = set.iter().map(|&set| set.to_owned()).collect();
    let settings = Settings::new(experiment.name, experiment.parameters, &set).unwrap();
    let bench = Runner::Sim(Arc::new(model.clone())).bench();
    let plan = (experiment.variants)(&settings, &bench).unwrap();
    let name = |variant: &Variant| {
        let known = variant.varied.iter().filter(|(_, cell)| !matches!(cell, Cell::Default | Cell::Nothing));
        let cells: Vec<String> = known.map(|(column, cell)| format!("{column} {cell}")).collect();
        cells.join(", ")
    };
    plan.variants.into_iter().map(|variant| (name(&variant), variant.workload)).collect()
}

/// A trace whose replay does not fit.
pub fn unfit() -> Trace {
    let model = Model::load("c2050").unwrap();
    let set = ["memory=pinned", "variant=breadth-first"];
    let variants = variants(experiments::experiment("overlap").unwrap(), &set, &model);
    traced(&variants[0].1, &model)
}

/// Variants that do not fit, by words of their name: the greatest difference, in percent of the time, and why.
const LIMITS: &[(&[&str], f64, &str)] = &[
    (&["architectures h200", "variant threads", "workers 16, memory pinned", "connections 16"], 5.5, CONVOY),
    (&["architectures h200", "workers 16, memory pinned", "submit launches, connections 32"], 5.5, CONVOY),
    (&["architectures h200", "workers 16, memory pinned", "submit graph"], 16.5, CONVOY),
    (&["architectures h200", "variant threads,", "workers 16, memory pageable"], 8.0, CONVOY),
    (&["architectures p100", "variant threads-mps, workers 4, memory pageable, sync no"], 5.0, CONVOY),
    (&["architectures", "variant processes,"], 27.0, TURNS),
    (&["architectures", "variant contexts,"], 27.0, TURNS),
    (&["interference h200", "own-context", "call launch"], 5.0, TURNS),
    (&["interference h200", "own-context", "call synchronize"], 9.5, TURNS),
    (&["overlap c2050", "breadth-first"], 50.5, SIGNALS),
];

const CONVOY: &str =
    "Many short calls wait for one lock. The trace has the pairs that waited: in a replay others meet.";
const TURNS: &str = "Contexts take turns on the device. A trace does not say whose turn it is.";
const SIGNALS: &str = "Kernels signal together: the recorded end is not the kernel's own.";

/// The greatest difference that a run may have, in percent.
fn limit(name: &str) -> f64 {
    let of = |(words, ..): &&(&[&str], f64, &str)| words.iter().all(|word| name.contains(word));
    LIMITS.iter().find(of).map_or(100.0 * replay::MOST_ERROR, |(_, limit, _)| *limit)
}

#[test]
fn simulated_programs_are_reproduced() {
    let (mut rows, mut wrong) = (Vec::new(), Vec::new());
    for (name, set, model) in CASES {
        let mut model = Model::load(model).unwrap();
        // Start-up would be most of the time, and hide differences.
        model.calls.context_create = sim::Rule::default();
        for (what, workload) in variants(experiments::experiment(name).unwrap(), set, &model) {
            let fit = fit(&traced(&workload, &model));
            let name = format!("{name} {}: {what}", model.name);
            if 100.0 * fit.error > limit(&name) {
                wrong.push((name.clone(), fit.error));
            }
            rows.push((name, fit));
        }
    }
    expect("simulated.txt", &rows);
    assert!(wrong.is_empty(), "further off than they may be: {wrong:#?}");
}

/// A change that the lab has a variant for: the experiment, its settings, the model, the change, and the words in which the variants differ.
struct Changed {
    experiment: &'static str,
    set: &'static [&'static str],
    model: &'static str,
    change: &'static str,
    from: &'static str,
    to: &'static str,
}

/// Changes of which a replay of one variant must say what the other one gains.
const CHANGED: &[Changed] = &[
    Changed {
        experiment: "architectures",
        // Two rounds are launches still.
        set: &["threads=16", "iterations=50", "memory=pinned", "variant=threads", "submit=launches,graph"],
        model: "h200",
        change: "graph",
        from: "submit launches",
        to: "submit graph",
    },
    Changed {
        experiment: "architectures",
        set: &["threads=16", "iterations=20", "memory=pinned", "variant=threads", "connections=default,32"],
        model: "p40",
        change: "more-connections",
        from: "threads",
        to: "connections 32",
    },
    Changed {
        experiment: "architectures",
        set: &["threads=16", "iterations=20", "memory=pageable", "sync=no", "variant=threads,processes-mps"],
        model: "p40",
        change: "process-per-thread,mps",
        from: "variant threads",
        to: "variant processes-mps",
    },
    Changed {
        experiment: "multi-gpu",
        set: &["load=products", "sync=no", "threads=10", "times=1000"],
        model: "a4000x10",
        change: "process-per-gpu",
        from: "variant threads",
        to: "variant processes",
    },
];

/// The largest difference between a prediction and the lab, in points of the time.
const POINTS: f64 = 5.0;

/// From the first kernel that counts to the end of the last operation: what repeats, without start-up.
fn working(trace: &Trace) -> (i64, i64) {
    let start = trace.ops.start.iter().copied().min().unwrap_or(0);
    (start, trace.ops.end.iter().copied().max().unwrap_or(0))
}

#[test]
fn changes_gain_what_they_do_in_the_lab() {
    for Changed { experiment, set, model, change, from, to } in CHANGED {
        let model = Model::load(model).unwrap();
        let variants = variants(experiments::experiment(experiment).unwrap(), set, &model);
        let named = |words: &str| {
            let others = [from, to].into_iter().filter(|other| **other != words && other.len() > words.len());
            let mut of = others.fold(variants.iter().collect::<Vec<_>>(), |of, other| {
                of.into_iter().filter(|(name, _)| !name.contains(other)).collect()
            });
            of.retain(|(name, _)| name.contains(words));
            traced(&of[0].1, &model)
        };
        let (before, after) = (named(from), named(to));
        let (base, fit) = (replay::recover(&before).unwrap(), fit(&before));
        let window = working(&before);
        let predictor = replay::Predictor::new(&before, &base, &fit, &|_| {}).unwrap().in_window(window);
        let predicted = predictor.predict(&replay::fixes(change).unwrap()).unwrap().unwrap().gain;
        let time = |(start, end): (i64, i64)| (end - start) as f64;
        let simulated = 1.0 - time(working(&after)) / time(window);
        println!(
            "{change}: {:.1} % predicted, {:.1} % simulated",
            predicted.share * 100.0,
            simulated * 100.0
        );
        assert!(
            (predicted.share - simulated).abs() * 100.0 <= POINTS,
            "{change}: {predicted:?}, {simulated}"
        );
    }
}
