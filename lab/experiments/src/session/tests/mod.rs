//! Running experiments with invented figures.

mod turns;

use super::measure::rows;
use super::*;
use crate::CATALOGUE;
use crate::experiment::Reading;
use crate::results::Figure;
use std::collections::HashMap;
use trace::Trace;
use workload::{Outcome, ThreadOutcome, Workload};

fn outcome(elapsed_ns: u64) -> Outcome {
    let thread = ThreadOutcome {
        elapsed_ns,
        rounds: 10,
        max_error: Some(0.5),
        between_events_ns: None,
        calls: Vec::new(),
    };
    Outcome { threads: vec![thread] }
}

fn session(bench: Bench, rounds: u32) -> Session {
    let request =
        Request { set: vec![String::from("memory=pinned")], rounds: Some(rounds), ..Request::default() };
    Session::new(crate::experiment("overlap").expect("there"), bench, &request).expect("well set")
}

fn run_of(elapsed_ns: u64) -> Run {
    Run { outcome: outcome(elapsed_ns), trace: None, stopped: None, notes: vec![String::from("a note")] }
}

#[test]
fn a_row_is_the_median_of_its_rounds_with_half_their_range() {
    // The first run of a variant is its warm-up.
    let times = [900, 10, 40, 20, 30, 100].map(|ms| ms * 1_000_000);
    let mut runs: HashMap<String, usize> = HashMap::new();
    let mut execute = |workload: &Workload, _: Want| {
        let run = runs.entry(workload.name.clone()).or_default();
        *run += 1;
        Ok(run_of(times[*run - 1]))
    };
    let quiet = AtomicBool::new(false);
    let results = session(Bench::default(), 5).run(&mut execute, &quiet, &mut |_| {}).expect("runs");
    let samples = vec![1.0, 4.0, 2.0, 3.0, 10.0];
    let expected = Figure { samples, ..Figure::new("ms", 3.0, Some(4.5)) };
    assert_eq!(results.rows.len(), 3);
    assert_eq!(results.rows[0].figures, [expected]);
    assert_eq!(results.rows[0].max_error, Some(0.5));
    assert_eq!(results.notes, ["a note"]);
    assert!(runs.len() == 3 && runs.values().all(|runs| *runs == 6), "{runs:?}");
    let mut execute = |_: &Workload, _: Want| Ok(run_of(1_000_000));
    let results = session(Bench::default(), 1).run(&mut execute, &quiet, &mut |_| {}).expect("runs");
    assert_eq!(results.rows[0].figures[0].spread, None);
    assert!(results.place().ends_with(" · 1 round"));
}

#[test]
fn a_row_can_be_the_best_of_its_rounds() {
    // Figures as in a run: the second of each belongs to its first.
    let reading = |first: (&'static str, f64), second: f64| Reading {
        figures: vec![first, ("gb_per_s", second)],
        ..Reading::default()
    };
    let rounds = |name, values: [f64; 3]| values.map(|value| vec![reading((name, value), -value)]).to_vec();
    // Its `per_s` is better the larger it is, its `longest_ms` the smaller.
    let experiment = crate::experiment("launch-stall").expect("there");
    let settings = Settings::new(experiment.name, experiment.parameters, &[]).expect("defaults");
    let plan = (experiment.variants)(&settings, &Bench::default()).expect("possible");
    let values = |rounds, best| {
        let rows = rows(experiment, &plan.variants[0], rounds, best);
        [&rows[0].figures[0], &rows[0].figures[1]].map(|figure| figure.value)
    };
    let (more, less) = (rounds("per_s", [2.0, 7.0, 3.0]), rounds("longest_ms", [2.0, 7.0, 3.0]));
    assert_eq!(values(&more, false), [3.0, -3.0]);
    assert_eq!(values(&more, true), [7.0, -7.0]);
    assert_eq!(values(&less, true), [2.0, -2.0]);
}

#[test]
fn calls_are_timed_in_a_separate_run() {
    let request = Request {
        set: ["variant=threads", "workers=2", "memory=pinned"].map(str::to_owned).to_vec(),
        rounds: Some(2),
        ..Request::default()
    };
    let architectures = crate::experiment("architectures").expect("there");
    let session = Session::new(architectures, Bench::default(), &request).expect("well set");
    let (mut wants, mut last) = (Vec::new(), None);
    let mut execute = |_: &Workload, want: Want| {
        wants.push(want.timed);
        let times = |count, total_ns| workload::CallTimes {
            name: "cuLaunchKernel",
            count,
            total_ns,
            max_ns: total_ns,
            stalled_ns: 0,
        };
        let thread = |calls| ThreadOutcome {
            elapsed_ns: 1,
            rounds: 1,
            max_error: None,
            between_events_ns: None,
            calls,
        };
        let threads = match want.timed {
            true => vec![thread(vec![times(3, 30_000_000)]), thread(vec![times(1, 2_000_000)])],
            false => vec![thread(Vec::new())],
        };
        Ok(Run { outcome: Outcome { threads }, ..run_of(1) })
    };
    let quiet = AtomicBool::new(false);
    let results = session.run(&mut execute, &quiet, &mut |progress| last = Some(progress.clone()));
    let row = &results.expect("runs").rows[0];
    assert_eq!(row.figure("launch_ms"), Some(&Figure::new("launch_ms", 8.0, None)));
    assert_eq!(row.figure("copy_in_ms"), None);
    assert_eq!(wants, [false, false, false, true], "a warm-up, two rounds and the calls");
    assert_eq!(last.map(|last| (last.done, last.total)), Some((3, 4)));
}

#[test]
fn an_interruption_keeps_earlier_rows_as_partial_results() {
    let (quiet, bench) = (AtomicBool::new(false), Bench { simulated: true, ..Bench::default() });
    let mut runs = 0;
    let mut execute = |_: &Workload, _: Want| {
        runs += 1;
        let mut run = run_of(1_000_000);
        run.stopped = (runs == 3).then(|| String::from("interrupted"));
        Ok(run)
    };
    let results = session(bench, 1).run(&mut execute, &quiet, &mut |_| {}).expect("runs");
    let partial = results.partial.as_ref().expect("not all");
    assert_eq!((results.rows.len(), partial.missing, partial.of), (2, 1, 3));
    assert_eq!(crate::json(&results, None)["partial"], true);
    assert!(
        crate::document(&results, None, report::document::Form::Text(report::Page::default()))
            .to_string()
            .contains("PARTIAL: interrupted; the results")
    );
}

#[test]
fn an_interrupted_resumed_run_has_the_rows_of_both() {
    let (quiet, bench) = (AtomicBool::new(false), Bench { simulated: true, ..Bench::default() });
    let all = session(bench.clone(), 1).run(&mut |_, _| Ok(run_of(1_000_000)), &quiet, &mut |_| {});
    let mut earlier = all.expect("runs");
    let (last, expected) = (earlier.rows.split_off(2), earlier.rows.len());
    earlier.rows = last;
    let mut runs = 0;
    let mut execute = |_: &Workload, _: Want| {
        runs += 1;
        if runs == 2 { Err(Failure::Stopped(String::from("interrupted"))) } else { Ok(run_of(2_000_000)) }
    };
    let resumed = session(bench, 1).resume(earlier).unwrap_or_else(|problem| panic!("{problem}"));
    assert_eq!(resumed.labels().len(), expected);
    let mut steps = Vec::new();
    let results = resumed.run(&mut execute, &quiet, &mut |progress| steps.push(progress.clone()));
    let results = results.expect("something");
    let times: Vec<f64> = results.rows.iter().map(|row| row.value("ms")).collect();
    assert_eq!(times, [0.2, 0.1]);
    let partial = results.partial.expect("not all");
    assert_eq!((partial.missing, partial.of), (1, 3));
    assert_eq!(steps.iter().map(|step| (step.done, step.total)).collect::<Vec<_>>(), [(0, 2), (1, 2)]);
}

#[test]
fn an_interruption_before_the_first_measurement_is_an_error() {
    let interrupted = AtomicBool::new(true);
    let mut execute = |_: &Workload, _: Want| Ok(run_of(1));
    let why = session(Bench::default(), 1).run(&mut execute, &interrupted, &mut |_| {}).err();
    assert_eq!(why.as_deref(), Some("interrupted before the first measurement"));
}

#[test]
fn impossible_variants_are_skipped_and_failures_end_the_run() {
    let quiet = AtomicBool::new(false);
    let simulated = || Bench { simulated: true, ..Bench::default() };
    let mut runs = 0;
    let mut execute = |_: &Workload, _: Want| {
        runs += 1;
        if runs > 1 { Err(Failure::Impossible(String::from("no streams"))) } else { Ok(run_of(1)) }
    };
    let results = session(simulated(), 1).run(&mut execute, &quiet, &mut |_| {}).expect("runs");
    assert_eq!(results.left_out, ["depth-first, breadth-first (2 variants): no streams"]);
    let mut execute = |_: &Workload, _: Want| Err(Failure::Failed(String::from("out of memory")));
    let failure = session(simulated(), 1).run(&mut execute, &quiet, &mut |_| {}).err();
    let expected = "overlap, variant=sequential,memory=pinned,streams=none,bytes=16777216,kernel-rounds=1: out of memory";
    assert_eq!(failure.as_deref(), Some(expected));
    let mut runs = 0;
    let mut execute = |_: &Workload, _: Want| {
        runs += 1;
        if runs > 2 { Err(Failure::Failed(String::from("the GPU is lost"))) } else { Ok(run_of(1)) }
    };
    let results = session(simulated(), 1).run(&mut execute, &quiet, &mut |_| {}).expect("something");
    let partial = results.partial.map(|partial| partial.to_string()).unwrap_or_default();
    assert!(partial.contains("the GPU is lost; the results are partial: 1 of 3 variants"), "{partial}");
    let mut execute = |_: &Workload, _: Want| Err(Failure::Impossible(String::from("no MPS")));
    let failure = session(simulated(), 1).run(&mut execute, &quiet, &mut |_| {}).err();
    let expected = "no variant can run here: sequential, depth-first, breadth-first (3 variants): no MPS";
    assert_eq!(failure.as_deref(), Some(expected));
}

#[test]
fn every_variant_is_a_valid_workload_of_declared_columns() {
    for experiment in CATALOGUE {
        for gpus in [1, 8] {
            let bench = Bench { gpus, ..Bench::default() };
            let settings = Settings::new(experiment.name, experiment.parameters, &[]).expect("defaults");
            let plan = (experiment.variants)(&settings, &bench).expect("possible");
            assert!(!plan.variants.is_empty(), "{}", experiment.name);
            let mut labels: Vec<String> = plan.variants.iter().map(Variant::label).collect();
            for variant in &plan.variants {
                let checked = variant.workload.check();
                assert!(checked.is_ok(), "{} {}: {checked:?}", experiment.name, variant.label());
                assert!(variant.varied.iter().any(|(name, _)| *name == "variant"), "{}", variant.label());
                let declared = |name| experiment.columns.iter().any(|column| column.name == name);
                assert!(variant.varied.iter().all(|(name, _)| declared(*name)), "{}", variant.label());
            }
            labels.sort();
            labels.dedup();
            assert_eq!(labels.len(), plan.variants.len(), "{}: two variants of one name", experiment.name);
        }
    }
}

#[test]
fn variants_are_selected_by_column() {
    let only = only("variant=depth-first, streams=4").expect("well written");
    let request = Request { set: vec![String::from("memory=pinned")], only, ..Request::default() };
    let overlap = crate::experiment("overlap").expect("there");
    let session = Session::new(overlap, Bench::default(), &request).expect("there is one");
    assert_eq!(
        session.labels(),
        ["variant=depth-first,memory=pinned,streams=4,bytes=16777216,kernel-rounds=1"]
    );
    let none = Request { only: super::only("variant=sideways").expect("well written"), ..request };
    let problem = Session::new(overlap, Bench::default(), &none).err().unwrap_or_default();
    assert!(
        problem.starts_with("--variant variant=sideways: no variant matches; the first of 3 is"),
        "{problem}"
    );
    assert!(super::only("depth-first").is_err());
}

#[test]
fn bases_have_no_trace() {
    let only = only("call=allocate,effect=launches").expect("well written");
    let set = vec![String::from("variant=own-stream")];
    let request = Request { set, only, traces: true, ..Request::default() };
    let bench = Bench { simulated: true, ..Bench::default() };
    let matrix = crate::experiment("interference").expect("there");
    let session = Session::new(matrix, bench, &request).expect("there is one");
    let label = "variant=own-stream,call=allocate,effect=launches";
    assert_eq!(session.chosen(), [label]);
    let mut execute =
        |_: &Workload, want: Want| Ok(Run { trace: want.trace.then(Trace::default), ..run_of(1_000_000) });
    let mut last = None;
    let quiet = AtomicBool::new(false);
    let results = session.run(&mut execute, &quiet, &mut |progress| last = Some(progress.clone()));
    let traces = results.expect("runs").traces;
    assert_eq!(traces.iter().map(|(label, _)| label.as_str()).collect::<Vec<_>>(), [label]);
    assert_eq!(last.map(|last| (last.done, last.total)), Some((2, 3)));
}

#[test]
fn bases_of_selected_variants_run_too() {
    let labels = |experiment, set: &str, variant| {
        let only = only(variant).expect("well written");
        let request = Request { set: vec![set.to_owned()], only, ..Request::default() };
        let bench = Bench { gpus: 4, ..Bench::default() };
        let experiment = crate::experiment(experiment).expect("there");
        Session::new(experiment, bench, &request).expect("there is one").labels()
    };
    assert_eq!(
        labels("interference", "variant=own-stream", "call=allocate,effect=launches"),
        ["variant=own-stream,call=idle,effect=launches", "variant=own-stream,call=allocate,effect=launches"]
    );
    let alone = labels("multi-gpu", "variant=threads", "workers=4,load=products,sync=no");
    assert_eq!(alone.len(), 2, "{alone:?}");
    assert!(alone[0].contains("workers=1,gpus=1"), "{alone:?}");
}

#[test]
fn a_model_varies_nothing_that_it_ignores() {
    let request = Request { set: vec![String::from("schedule=spin,blocking")], ..Request::default() };
    let experiment = &crate::catalogue::stagger::EXPERIMENT;
    let labels = |simulated| {
        let session = Session::new(experiment, Bench { simulated, ..Bench::default() }, &request);
        session.expect("possible").labels()
    };
    assert_eq!(labels(true).len() * 2, labels(false).len());
    assert!(labels(false).iter().any(|label| label.contains("spin")), "{:?}", labels(false));
    assert!(!labels(true).iter().any(|label| label.contains("spin")), "{:?}", labels(true));
}
