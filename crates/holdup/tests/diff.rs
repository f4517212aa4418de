//! `holdup diff` as people run it: forms, gates, refusals.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;
use trace::{Api, Call, Context, Device, Ns, Op, OpKind, Process, Range, RangeKind, Stream, Thread, Trace};

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    command.args(arguments).output().expect("the program starts")
}

fn diff(before: &Path, after: &Path, more: &[&str]) -> Output {
    run(&[&["diff", path(before), path(after)], more].concat())
}

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

/// Exit status, and the one line of standard error.
fn ended(output: &Output) -> (Option<i32>, &str) {
    let said = text(&output.stderr);
    assert!(said.lines().count() <= 1, "{said}");
    (output.status.code(), said.trim_end())
}

/// A refusal: status 2 and one line.
fn refuses(output: &Output) -> &str {
    let (code, said) = ended(output);
    assert_eq!((code, text(&output.stdout)), (Some(2), ""), "{said}");
    assert!(said.starts_with("holdup: "), "{said}");
    said
}

/// A program that launches `steps` kernels, each after a pause; with marks, the rounds are steps.
fn program(directory: &TempDir, name: &str, steps: i64, pause: Ns, marked: bool) -> PathBuf {
    let mut trace = Trace::default();
    let process = trace.processes.push(Process { pid: 1, ..Process::default() });
    let thread = trace.threads.push(Thread { process, tid: 2, ..Thread::default() });
    let device = trace.devices.push(Device::default());
    let context = trace.contexts.push(Context { process, device, number: 1 });
    let stream = trace.streams.push(Stream { context, number: 7 });
    let [launch, kernel] = ["cudaLaunchKernel", "saxpy"].map(|name| trace.strings.intern(name));
    let (kind, api, took) = (OpKind::Kernel, Api::Runtime, pause + 1_000_000);
    for step in 0..steps {
        let (begin, correlation) = (step * took, step + 1);
        let (start, end) = (begin + pause, begin + pause + 10_000);
        trace.calls.push(Call { start, end, thread, api, name: launch, correlation, ..Call::default() });
        let (start, end) = (end + 2_000, begin + took - 1_000);
        trace.ops.push(Op { start, end, kind, name: kernel, stream, correlation, ..Op::default() });
        if marked {
            let (kind, name) = (RangeKind::User, trace.strings.intern(&format!("step {step}")));
            trace.ranges.push(Range {
                start: begin,
                end: begin + took,
                thread,
                kind,
                name,
                ..Range::default()
            });
        }
    }
    trace.join();
    let path = directory.path().join(name);
    trace::write(&trace, std::fs::File::create(&path).expect("can create")).expect("can write");
    path
}

fn directory() -> TempDir {
    tempfile::tempdir().expect("can create")
}

#[test]
fn a_trace_does_not_differ_from_itself() {
    let directory = directory();
    let trace = program(&directory, "a.holdup", 9, 500_000, true);
    let output = diff(&trace, &trace, &["--fail-over", "0%"]);
    assert_eq!(ended(&output), (Some(0), ""));
    assert!(
        text(&output.stdout).contains("\nno change beyond noise\n\nGate passed\n"),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn a_longer_step_exceeds_a_limit() {
    let directory = directory();
    // Fewer, longer steps: the program takes less time, and a step takes a fifth more.
    let before = program(&directory, "a.holdup", 20, 500_000, true);
    let after = program(&directory, "b.holdup", 10, 800_000, true);
    let output = diff(&before, &after, &["--fail-over", "5%"]);
    let why = "time: a step (step) took 1.80 ms, 20 % more than 1.50 ms before, over the limit of 1.60 ms";
    assert_eq!(ended(&output), (Some(1), &*format!("holdup: {}: {why}", path(&after))));
    assert!(text(&output.stdout).contains("median step (step)"), "{}", text(&output.stdout));
    for (limit, code) in [("19.9%", 1), ("20%", 0), ("299us", 1), ("300us", 0)] {
        assert_eq!(diff(&before, &after, &["--fail-over", limit]).status.code(), Some(code), "{limit}");
    }
    assert_eq!(diff(&after, &before, &["--fail-over", "0%"]).status.code(), Some(0), "faster");
}

#[test]
fn without_steps_the_programs_time_counts() {
    let directory = directory();
    let before = program(&directory, "a.holdup", 4, 500_000, false);
    let after = program(&directory, "b.holdup", 4, 800_000, false);
    assert_eq!(ended(&diff(&before, &after, &["--fail-over", "5%"])), (Some(0), ""), "900 µs of a program");
    let output = diff(&before, &after, &["--fail-over", "5%+500us"]);
    let (code, said) = ended(&output);
    assert!(
        code == Some(1) && said.contains(": the program took 6.40 ms, 16 % more than 5.50 ms before, "),
        "{said}"
    );
}

#[test]
fn what_lies_within_the_spread_passes() {
    let directory = directory();
    let [fast, slow, middle] = [("f", 400_000), ("s", 900_000), ("m", 800_000)]
        .map(|(name, pause)| program(&directory, name, 9, pause, true));
    let alone = diff(&fast, &middle, &["--fail-over", "5%"]);
    assert_eq!(alone.status.code(), Some(1));
    let output =
        diff(&fast, &middle, &["--before", path(&slow), "--after", path(&middle), "--fail-over", "5%"]);
    let why = "time: inconclusive: beyond the limit, and within the spread: 1.40 ms to 1.90 ms before, 1.80 ms to 1.80 ms after";
    assert_eq!(ended(&output), (Some(0), &*format!("holdup: {}: {why}", path(&middle))));
    assert!(
        text(&output.stdout).contains("1.40 ms to 1.90 ms before, 1.80 ms to 1.80 ms"),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn every_form_has_the_change() {
    let directory = directory();
    let before = program(&directory, "a.holdup", 9, 500_000, true);
    let after = program(&directory, "b.holdup", 9, 800_000, true);
    let markdown = diff(&before, &after, &["--format", "markdown"]);
    assert!(
        text(&markdown.stdout).contains("| 1.50 ms | 1.80 ms | +300 µs | +20 % |"),
        "{}",
        text(&markdown.stdout)
    );
    let json = diff(&before, &after, &["--format", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(
        (&json["schema"], &json["steps"]["median"]["change_ns"]),
        (&"holdup/diff/1".into(), &300_000.into())
    );
    let rows = json["gpus"][0]["rows"].as_array().expect("a list");
    let sum: i64 = rows.iter().map(|row| row["change_ns"].as_i64().expect("a number")).sum();
    assert_eq!(json["gpus"][0]["span"]["change_ns"], sum);
}

#[test]
fn nothing_to_compare_is_status_2() {
    let directory = directory();
    let trace = program(&directory, "a.holdup", 9, 500_000, true);
    let said = |output: &Output| refuses(output).to_owned();
    let nothing = said(&diff(&trace, &trace, &["--from", "2s", "--fail-over", "5%"]));
    assert!(
        nothing.contains("a.holdup: nothing in the trace, which lasts ")
            && nothing.contains(" matches the selection: "),
        "{nothing}"
    );
    let empty = directory.path().join("empty.json");
    std::fs::write(&empty, r#"{"schemaVersion": 1, "traceEvents": []}"#).expect("can write");
    let empty = said(&diff(&trace, &empty, &[]));
    assert!(empty.contains("empty.json: no calls and no GPU operations to compare: record "), "{empty}");
    let missing = said(&diff(&trace, Path::new("/nonexistent"), &[]));
    assert!(missing.contains("/nonexistent: No such file"), "{missing}");
    let twice = said(&run(&["diff", "-", "-"]));
    assert!(twice.contains("standard input is only one of the traces: name files"), "{twice}");
    for limit in ["5", "%", "soon"] {
        let output = diff(&trace, &trace, &["--fail-over", limit]);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("not a limit: write it like 5%"), "{}", text(&output.stderr));
    }
}

/// Traces of different tools are compared, with a note of what one side lacks.
#[test]
fn traces_of_different_tools_are_compared() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let [kineto, recorded] =
        ["pytorch-d2h-stall.json.gz", "recorded-d2h-stall.holdup"].map(|name| examples.join(name));
    let output = diff(&kineto, &recorded, &[]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0));
    assert!(said.contains("recorded by different tools: Kineto before, holdup after"), "{said}");
    assert!(said.contains("the traces before have no waits for locks"), "{said}");
}
