//! `holdup replay` as people run it: forms and refusals.

mod unfit;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;
use trace::{Api, Call, Clock, Context, Device, Lost, Op, OpKind, Process, Stream, Thread, Trace};

fn replay(trace: &str, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    command.arg("replay").arg(trace).args(more).current_dir(examples).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

/// Output of a command that succeeds.
fn printed(output: &Output) -> &str {
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    text(&output.stdout)
}

/// A refusal: status 2 and one line.
fn refuses(output: &Output) -> &str {
    let line = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""), "{line}");
    assert!(line.starts_with("holdup: ") && line.trim_end().lines().count() == 1, "{line}");
    line
}

/// Whether there is a record of the program's kernel.
#[derive(Clone, Copy)]
enum Kernel {
    Recorded,
    Lost,
    NotRecorded,
}

/// A program that launches one kernel.
fn program(directory: &TempDir, clock: Clock, kernel: Kernel) -> PathBuf {
    let mut trace = Trace::default();
    trace.meta.clock = clock;
    let process = trace.processes.push(Process { pid: 1, ..Process::default() });
    let thread = trace.threads.push(Thread { process, tid: 2, ..Thread::default() });
    let device = trace.devices.push(Device::default());
    let context = trace.contexts.push(Context { process, device, number: 1 });
    let stream = trace.streams.push(Stream { context, number: 7 });
    let [name, saxpy] = ["cudaLaunchKernel", "saxpy"].map(|name| trace.strings.intern(name));
    let (api, correlation) = (Api::Runtime, 1);
    trace.calls.push(Call { end: 5_000, thread, api, name, correlation, ..Call::default() });
    match kernel {
        Kernel::Recorded => {
            let (start, end, kind) = (8_000, 90_000, OpKind::Kernel);
            trace.ops.push(Op { start, end, kind, name: saxpy, stream, correlation, ..Op::default() });
        }
        Kernel::Lost => trace.meta.lost.records(Lost::KERNELS, 1),
        Kernel::NotRecorded => {}
    }
    trace.join();
    let path = directory.path().join("program.holdup");
    trace::write(&trace, std::fs::File::create(&path).expect("can create")).expect("can write");
    path
}

#[test]
fn a_replay_beside_its_trace() {
    for example in
        ["recorded-d2h-stall.holdup", "pytorch-queue-full.json.gz", "recorded-launch-convoy.holdup"]
    {
        let output = replay(example, &[]);
        let name = example.split('.').next().expect("a name");
        let expected = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/replay/{name}.txt"));
        expect_test::expect_file![expected].assert_eq(printed(&output));
    }
}

#[test]
fn a_replay_that_does_not_fit_says_by_how_much_and_where() {
    let directory = tempfile::tempdir().expect("can create");
    let output = replay(&unfit::trace(directory.path()), &[]);
    let printed = printed(&output);
    assert!(
        printed.contains("It does not fit: wall time or a GPU's busy time differs by 37.74 %"),
        "{printed}"
    );
    assert!(printed.contains("Where it differs:"), "{printed}");
}

#[test]
fn json_has_the_same_figures() {
    let output = replay("recorded-d2h-stall.holdup", &["--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(printed(&output)).expect("JSON");
    assert_eq!(
        (&json["schema"], &json["path"]),
        (&"holdup/replay/1".into(), &"recorded-d2h-stall.holdup".into())
    );
    assert_eq!((&json["fits"], &json["model"], &json["given_up"]), (&true.into(), &"h200".into(), &0.into()));
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    let (recorded, replayed) = (number(&json["wall"]["recorded_ns"]), number(&json["wall"]["replayed_ns"]));
    assert!((number(&json["wall_error"]) - (replayed / recorded - 1.0)).abs() < 1e-9);
    assert!(number(&json["error"]) >= number(&json["wall_error"]).abs());
    assert!(number(&json["gpus"][0]["recorded_ns"]) <= recorded);
}

#[test]
fn a_program_with_one_kernel_is_reproduced_exactly() {
    let directory = tempfile::tempdir().expect("can create");
    let path = program(&directory, Clock::Aligned, Kernel::Recorded);
    let output = replay(path.to_str().expect("UTF-8"), &["--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(printed(&output)).expect("JSON");
    assert_eq!(
        (&json["wall"]["recorded_ns"], &json["wall"]["replayed_ns"]),
        (&90_000.into(), &90_000.into())
    );
}

#[test]
fn what_cannot_be_replayed_is_status_2() {
    let directory = tempfile::tempdir().expect("can create");
    for (clock, kernel, why) in [
        (
            Clock::Aligned,
            Kernel::NotRecorded,
            "it has no GPU records, so it does not say how long the GPU works: record at level full",
        ),
        (
            Clock::Aligned,
            Kernel::Lost,
            "its GPU records are lost, so it does not say how long the GPU works: the program ended before \
             they were written",
        ),
        (
            Clock::Separate,
            Kernel::Recorded,
            "the GPU's clock does not fit the host's, so it does not say what waited for what",
        ),
    ] {
        let path = program(&directory, clock, kernel);
        let path = path.to_str().expect("UTF-8");
        assert_eq!(refuses(&replay(path, &[])), format!("holdup: {path}: {why}\n"));
        refuses(&replay(path, &["--format", "json"]));
    }
    assert!(refuses(&replay("/nonexistent", &[])).contains("/nonexistent: No such file"));
}
