//! Workloads that cannot be run: one line each. And results that must be the same again.

use crate::support::traced;
use experiments::Layout;
use experiments::catalogue::{architectures, launch_stall};
use sim::{Error, Model, Options};
use std::io::Cursor;
use std::time::Duration;
use workload::{Kernel, Memory, Repeat, StreamKind, Workload};

fn refused(workload: &Workload, model: &str) -> String {
    let error = sim::run(workload, &Model::load(model).unwrap(), Options::default()).err().unwrap();
    error.to_string()
}

#[test]
fn a_missing_device_is_refused() {
    let mut workload = Workload::new("far");
    let process = workload.process("main");
    let context = process.primary(3);
    process.thread("A", context);
    let said = "process main uses device 3, but the model h200 has 1 device, 0: choose another model";
    assert_eq!(refused(&workload, "h200"), said);
    assert!(sim::run(&workload, &Model::load("h200x8").unwrap(), Options::default()).is_ok());
}

/// A kernel of so many cycles between two events; `waits` before the time is asked for.
fn between_events(cycles: u64, waits: bool) -> Workload {
    let mut workload = Workload::new("between");
    let process = workload.process("main");
    let context = process.primary(0);
    let stream = process.stream("s", context, StreamKind::NonBlocking);
    let [start, end] = ["start", "end"].map(|name| process.timing_event(name, context));
    let thread = process.thread("A", context);
    let mut body = thread.body();
    body.record(start, stream).launch(Kernel::Delay { cycles }, 1, 1, stream).record(end, stream);
    if waits {
        body.synchronize_event(end);
    }
    body.elapsed(start, end);
    workload
}

#[test]
fn the_time_between_incomplete_events_is_refused() {
    let said = "thread A of process main: asks for the time between events before both have completed: synchronize first";
    assert_eq!(refused(&between_events(1_000_000_000, false), "h200"), said);
    let measured = |cycles| {
        let workload = between_events(cycles, true);
        let (outcome, _) = sim::run(&workload, &Model::load("h200").unwrap(), Options::default()).unwrap();
        outcome.threads[0].between_events_ns.unwrap()
    };
    let clock = Model::load("h200").unwrap().device.clock_mhz;
    let (one, two) = (measured(1_000_000_000), measured(2_000_000_000));
    let own = 1_000_000_000_000 / clock;
    assert!((two - one).abs_diff(own) <= 1, "the kernel's own time, whatever else there is: {one} and {two}");
    assert!(one > 1_000_000_000_000 / clock);
}

#[test]
fn too_much_memory_is_refused() {
    let mut workload = Workload::new("large");
    let process = workload.process("main");
    let context = process.primary(0);
    let half = process.buffer("half", context, Memory::Device, 3 << 30);
    let other = process.buffer("other half", context, Memory::Device, 3 << 30);
    process.thread("A", context).body().allocate(half).free(half).allocate(half).allocate(other);
    let said = "thread A of process main is out of memory: 3221225472 bytes for buffer other half, 1073545216 free on device 0";
    assert_eq!(refused(&workload, "c1060"), said);
}

#[test]
fn an_invalid_workload_is_refused() {
    let mut workload = Workload::new("wrong");
    let process = workload.process("main");
    let context = process.primary(0);
    let buffer = process.buffer("lost", context, Memory::Device, 64);
    process.thread("A", context).body().free(buffer);
    let said = refused(&workload, "h200");
    assert!(said.starts_with("workload \"wrong\", ") && said.contains("lost"), "{said}");
}

#[test]
fn missing_mps_is_refused() {
    let case = architectures::Case { layout: Layout::ProcessesMps, workers: 2, ..Default::default() };
    assert_eq!(
        refused(&case.workload(), "c2050"),
        "the model c2050 has no MPS: choose another model, or run without MPS"
    );
}

#[test]
fn too_many_calls_are_refused() {
    let case = launch_stall::Case { time: Duration::from_secs(1), ..Default::default() };
    let options = Options { most_calls: 1000, ..Options::default() };
    let error = sim::run(&case.workload(), &Model::load("h200").unwrap(), options).err().unwrap();
    assert_eq!(error, Error::TooLong { most: 1000 });
}

#[test]
fn endless_workloads_are_refused() {
    let sleeping = |times, ns| {
        let mut workload = Workload::new("long");
        let process = workload.process("main");
        let context = process.primary(0);
        process.thread("A", context).body().repeat(times, |steps| {
            steps.sleep(Duration::from_nanos(ns));
        });
        let options = Options { most_calls: 1_000_000, ..Options::default() };
        sim::run(&workload, &Model::load("h200").unwrap(), options).err()
    };
    assert_eq!(sleeping(10, 1_000_000_000), None);
    assert_eq!(sleeping(1 << 30, 1), Some(Error::TooLong { most: 1_000_000 }));
    assert_eq!(sleeping(1000, u64::MAX / 2000), Some(Error::TooLate));
}

#[test]
fn too_many_operations_in_flight_are_refused() {
    let mut workload = Workload::new("graphs");
    let process = workload.process("main");
    let context = process.primary(0);
    let stream = process.stream("s", context, StreamKind::NonBlocking);
    let graph = process.graph("g");
    let thread = process.thread("A", context);
    thread.before().capture(graph, stream, |steps| {
        steps.repeat(900_000, |steps| {
            steps.launch(Kernel::Delay { cycles: 1_980_000 }, 1, 1, stream);
        });
    });
    thread.body().repeat(1000, |steps| {
        steps.launch_graph(graph, stream);
    });
    let run = |options| sim::run(&workload, &Model::load("h200").unwrap(), options).err();
    assert_eq!(run(Options::default()), Some(Error::TooMuch { most: 2_000_000 }));
    let options = Options { most_calls: 1_000_000, ..Options::default() };
    assert_eq!(run(options), Some(Error::TooLong { most: 1_000_000 }));
}

#[test]
fn texts_that_are_no_models_are_refused() {
    let said = |text: &str| Model::parse(text, "mine.toml").unwrap_err().to_string();
    assert_eq!(said("name = \n"), "mine.toml: line 1: string values must be quoted, expected literal string");
    assert_eq!(
        said("base = \"h300\"\n"),
        "mine.toml: unknown base: expected one of a4000x10, c1060, c2050, h100, h200, h200x8, k20c, p100, p100-nvprof, p40, v100"
    );
    assert_eq!(
        said("base = \"h200\"\n[device]\nclock_mhz = 0\n"),
        "mine.toml: device.clock_mhz must be more than 0"
    );
    assert_eq!(
        said("base = \"h200\"\n[calls.launch]\nbefore_ns = -500000\n"),
        "mine.toml: calls.launch.before_ns must not be negative"
    );
    assert_eq!(
        said("base = \"h200\"\n[kernels]\nadd_round_cycles = nan\n"),
        "mine.toml: kernels.add_round_cycles must not be negative"
    );
    assert_eq!(
        said("base = \"h200\"\n[device]\nissue_ns = 9_000_000_000_000_000_000\n"),
        "mine.toml: device.issue_ns must be less than a minute, 60000000000"
    );
    assert_eq!(
        said("base = \"h200\"\n[device]\ncount = 4000000000\n"),
        "mine.toml: device.count must be at most 1024"
    );
    let unknown = said("base = \"h200\"\n[device]\nclock = 0\n");
    assert!(unknown.starts_with("mine.toml: unknown field `clock`"), "{unknown}");
    let missing = Model::load("no-such-model").unwrap_err().to_string();
    assert!(missing.starts_with("no-such-model: unknown model: expected one of c1060, "), "{missing}");
}

#[test]
fn a_model_may_be_a_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, "base = \"h200\"\nname = \"mine\"\n[device]\ncount = 2\n").unwrap();
    let model = Model::load(file.path().to_str().unwrap()).unwrap();
    assert_eq!((model.name.as_str(), model.device.count), ("mine", 2));
}

#[test]
fn every_model_has_its_name_and_a_description() {
    for name in Model::names() {
        let model = Model::load(name).unwrap();
        assert_eq!(model.name, name);
        assert!(!model.about.is_empty());
    }
}

#[test]
fn models_are_listed_by_the_age_of_their_devices() {
    let names: Vec<&str> = Model::names().collect();
    let ages = names.iter().map(|name| Model::load(name).unwrap().device.compute);
    assert!(ages.is_sorted(), "{names:?}");
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/models")).unwrap();
    let models = files.filter(|file| file.as_ref().unwrap().path().extension().is_some());
    assert_eq!(names.len(), models.count(), "a file of models/ is missing");
}

#[test]
fn two_runs_are_equal_to_the_byte() {
    let stall = launch_stall::Case { time: Duration::from_millis(50), ..Default::default() };
    let workers = architectures::Case { workers: 16, iterations: 3, ..Default::default() };
    for workload in [stall.workload(), workers.workload()] {
        let bytes = || {
            let mut file = Cursor::new(Vec::new());
            trace::write(&traced(&workload, "h200"), &mut file).unwrap();
            file.into_inner()
        };
        assert!(bytes() == bytes());
    }
}

#[test]
fn a_trace_is_complete_or_counts_what_it_lost() {
    let case = architectures::Case { workers: 2, iterations: 2, ..Default::default() };
    let trace = traced(&case.workload(), "h200");
    // Three iterations each, one of them before the body: 220 launches, 2 copies.
    assert_eq!(trace.ops.len(), 2 * 3 * 222);
    assert!(trace.ops.ids().all(|op| trace.calls.end[trace.ops.call[op].index()] > 0));
    let options = Options { trace: true, most_rows: 1000, ..Options::default() };
    let model = Model::load("h200").unwrap();
    let cut = sim::run(&case.workload(), &model, options).unwrap().1.unwrap();
    assert_eq!(cut.calls.len() + cut.ops.len() + cut.waits.len() + cut.syncs.len(), 1000);
    assert!(cut.meta.lost.records > 0 && cut.meta.lost.truncated);
}

/// The clock cycles of a kernel of about 1 ms.
const KERNEL: u64 = 1_980_000;

#[test]
fn a_full_queue_delays_launches() {
    let mut workload = Workload::new("full");
    let process = workload.process("main");
    let context = process.primary(0);
    let stream = process.stream("s", context, StreamKind::NonBlocking);
    let thread = process.thread("A", context);
    thread.body().repeat(1100, |steps| {
        steps.launch(Kernel::Delay { cycles: KERNEL }, 1, 1, stream);
    });
    thread.repeat = Repeat::Times(1);
    let trace = traced(&workload, "h200");
    let findings = explain::explain(&trace, &explain::Options::default()).findings;
    let full = findings.iter().find(|finding| finding.cause == explain::Cause::QueueFull).unwrap();
    let model = Model::load("h200").unwrap();
    let launch = &model.calls.launch;
    let launches_ns = 1022 * (launch.before_ns + launch.held_ns + launch.after_ns) as u64;
    let ended = launches_ns * model.device.clock_mhz / 1000 / KERNEL;
    assert_eq!(full.count, 1100 - 1022 - ended, "of those that end during the first launches none waits");
}

#[test]
fn more_clients_than_an_mps_server_accepts_are_refused() {
    let case = |workers| architectures::Case {
        layout: Layout::ProcessesMps,
        workers,
        iterations: 1,
        ..Default::default()
    };
    assert_eq!(
        refused(&case(17).workload(), "p100"),
        "an MPS server of the model p100 accepts 16 client contexts on a device, not 17: run several threads in each process"
    );
    // As many as it accepts, and processes of several threads.
    let runs = |case: architectures::Case| {
        sim::run(&case.workload(), &Model::load("p100").unwrap(), Options::default()).is_ok()
    };
    assert!(runs(case(16)));
    assert!(runs(architectures::Case {
        layout: Layout::ProcessesThreadsMps,
        threads_per_process: 2,
        ..case(32)
    }));
}
