//! `holdup diff --gate` on simulated programs: the same program passes, whatever it runs on, and what is planted is red.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;
use trace::{
    Api, Call, Context, Device, Frame, Ns, Op, OpKind, Process, Range, RangeKind, Stack, StackId, Stream,
    Thread, Trace,
};

const BASE: &str = include_str!("data/gate/steps.toml");
const MODELS: [&str; 3] = ["h200", "p100", "k20c"];
const LAUNCH: &str = "  { launch";

/// Lines planted into the loop, and the gate and cause that must be red.
const PLANTS: [(&str, &str, &str); 4] = [
    ("  { synchronize = \"s\" },\n", "synchronizations", "explicit-sync"),
    ("  { copy = [\"pageable\", \"x\"], stream = \"s\" },\n", "pageable-copies", "pageable-staging"),
    ("  { allocate = \"temporary\" }, { free = \"temporary\" },\n", "allocations", "allocation"),
    ("  { sleep = \"20 ms\" },\n", "gpu-idle", "not-recorded"),
];

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_holdup")).args(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

/// Runs a workload on a model; returns its trace.
fn simulated(directory: &TempDir, name: &str, model: &str, workload: &str) -> PathBuf {
    let [file, trace] = ["toml", "holdup"].map(|end| directory.path().join(format!("{name}-{model}.{end}")));
    std::fs::write(&file, workload).expect("can write");
    let on = format!("sim:{model}");
    let output = run(&["lab", "run", path(&file), "--on", &on, "--trace", path(&trace)]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    trace
}

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn gate(before: &Path, after: &Path, more: &[&str]) -> (Option<i32>, serde_json::Value) {
    let output = run(&[&["diff", path(before), path(after), "--gate", "--format", "json"], more].concat());
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    (output.status.code(), json["gate"].clone())
}

/// The gates in a state.
fn in_state(gate: &serde_json::Value, state: &str) -> Vec<String> {
    let gates = gate["gates"].as_array().expect("a list").iter();
    gates
        .filter(|gate| gate["state"] == state)
        .map(|gate| gate["gate"].as_str().expect("text").to_owned())
        .collect()
}

#[test]
fn the_same_program_passes_with_other_numbers_of_steps_and_on_other_gpus() {
    let directory = tempfile::tempdir().expect("can create");
    let longer = BASE.replace("repeat = 60", "repeat = 90");
    let traces = MODELS.map(|model| {
        [("base", BASE), ("longer", &longer)]
            .map(|(name, workload)| simulated(&directory, name, model, workload))
    });
    for [base, longer] in &traces {
        for (before, after) in [(base, base), (base, longer), (longer, base)] {
            let (status, gate) = gate(before, after, &[]);
            assert_eq!((status, in_state(&gate, "passed").len()), (Some(0), 6), "{gate:#}");
        }
    }
    for (before, after) in [(0, 1), (1, 0), (2, 0)] {
        let (status, gate) = gate(&traces[before][0], &traces[after][0], &["--fail-over", "5%"]);
        assert_eq!(status, Some(0), "{gate:#}");
        assert_eq!(in_state(&gate, "inconclusive"), ["gpu-idle", "gpu-held-back", "time"], "{gate:#}");
    }
}

#[test]
fn what_is_planted_is_red() {
    let directory = tempfile::tempdir().expect("can create");
    for model in MODELS {
        let base = simulated(&directory, "base", model, BASE);
        for (plant, expected, cause) in PLANTS {
            let workload = BASE.replacen(LAUNCH, &format!("{plant}{LAUNCH}"), 1);
            let planted = simulated(&directory, expected, model, &workload);
            let (status, gate) = gate(&base, &planted, &[]);
            let red = in_state(&gate, "exceeded");
            assert!(status == Some(1) && red.iter().any(|gate| gate == expected), "{model}: {gate:#}");
            let gates = gate["gates"].as_array().expect("a list");
            let reds = gates.iter().find(|gate| gate["gate"] == expected).map(|gate| gate["reds"].clone());
            let causes: Vec<serde_json::Value> = reds
                .iter()
                .flat_map(|reds| reds.as_array().cloned().unwrap_or_default())
                .map(|red| red["cause"].clone())
                .collect();
            assert!(causes.contains(&cause.into()), "{model} {expected}: {causes:?}");
            let (status, _) = self::gate(&planted, &base, &[]);
            assert_eq!(status, Some(0), "{model}: without {expected} it is better");
        }
    }
}

#[test]
fn what_is_within_the_spread_is_inconclusive() {
    let directory = tempfile::tempdir().expect("can create");
    let base = simulated(&directory, "base", "h200", BASE);
    let workload = BASE.replacen(LAUNCH, &format!("{}{LAUNCH}", PLANTS[0].0), 1);
    let planted = simulated(&directory, "planted", "h200", &workload);
    let more = ["--before", path(&base), "--before", path(&planted), "--after", path(&planted)];
    let (status, gate) = gate(&base, &planted, &more);
    assert_eq!(status, Some(0), "{gate:#}");
    let output = run(&[&["diff", path(&base), path(&planted), "--gate"], &more[..]].concat());
    let said = text(&output.stderr);
    assert!(
        said.contains(
            "synchronizations: inconclusive: beyond the limit, and within the spread: 33.33 to 66.67 before, "
        ),
        "{said}"
    );
}

/// A program of 40 steps at lines that `moved` shifts: each launches a kernel of 1 ms and waits for it, after a wait in line 30 if it is
/// `planted`, and after a pause of `slow` ns in one of them.
fn steps(directory: &TempDir, name: &str, moved: u32, planted: bool, slow: Ns) -> PathBuf {
    let mut trace = Trace::default();
    let process = trace.processes.push(Process { pid: 1, ..Process::default() });
    let thread = trace.threads.push(Thread { process, tid: 2, ..Thread::default() });
    let device = trace.devices.push(Device::default());
    let context = trace.contexts.push(Context { process, device, number: 1 });
    let stream = trace.streams.push(Stream { context, number: 7 });
    let names = ["cudaLaunchKernel", "cudaStreamSynchronize", "saxpy", "train.py", "step"];
    let [launch, wait, kernel, file, function] = names.map(|name| trace.strings.intern(name));
    let [at_plant, at_wait] = [30, 40 + moved].map(|line| {
        let frame = trace.frames.push(Frame { function, file, line, ..Frame::default() });
        trace.stacks.push(Stack { frame, caller: StackId::NONE })
    });
    let api = Api::Runtime;
    let mut now = 0;
    for step in 0..40 {
        let begin = now;
        now += if step == 20 { slow } else { 0 };
        let correlation = step + 1;
        trace.calls.push(Call {
            start: now,
            end: now + 10_000,
            thread,
            api,
            name: launch,
            correlation,
            ..Call::default()
        });
        let (start, end) = (now + 15_000, now + 1_015_000);
        trace.ops.push(Op {
            start,
            end,
            kind: OpKind::Kernel,
            name: kernel,
            stream,
            correlation,
            ..Op::default()
        });
        now += 20_000;
        for stack in [at_plant, at_wait].into_iter().skip(usize::from(!planted)) {
            let done = if stack == at_plant { now + 500_000 } else { end + 5_000 };
            trace.calls.push(Call {
                start: now,
                end: done,
                thread,
                api,
                name: wait,
                stack,
                ..Call::default()
            });
            now = done + 1_000;
        }
        let (kind, name) = (RangeKind::User, trace.strings.intern(&format!("step {step}")));
        trace.ranges.push(Range { start: begin, end: now, thread, kind, name, ..Range::default() });
    }
    trace.join();
    let path = directory.path().join(name);
    trace::write(&trace, std::fs::File::create(&path).expect("can create")).expect("can write");
    path
}

#[test]
fn a_reason_has_the_planted_line_and_not_one_that_moved() {
    let directory = tempfile::tempdir().expect("can create");
    let base = steps(&directory, "base.holdup", 0, false, 0);
    let moved = steps(&directory, "moved.holdup", 2, false, 0);
    let planted = steps(&directory, "planted.holdup", 2, true, 0);
    let (status, passed) = gate(&base, &moved, &[]);
    assert_eq!((status, in_state(&passed, "passed").len()), (Some(0), 8), "{passed:#}");
    let (status, red) = gate(&base, &planted, &[]);
    assert_eq!(
        (status, in_state(&red, "exceeded")),
        (Some(1), vec![String::from("synchronizations")]),
        "{red:#}"
    );
    let output = run(&["diff", path(&base), path(&planted), "--format", "sarif"]);
    let why = "synchronizations: 2.00 per step, 1.00 before: explicit-sync, +1.00 at train.py:30 in step, in cudaStreamSynchronize";
    assert_eq!(text(&output.stderr), format!("holdup: {}: {why}\n", path(&planted)));
    let sarif: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let result = &sarif["runs"][0]["results"][0];
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(
        (&place["artifactLocation"]["uri"], &place["region"]["startLine"]),
        (&"train.py".into(), &30.into())
    );
    assert_eq!((&result["message"]["text"], &result["level"]), (&why.into(), &"error".into()));
}

#[test]
fn one_slow_step_is_no_regression() {
    let directory = tempfile::tempdir().expect("can create");
    let base = steps(&directory, "base.holdup", 0, false, 0);
    let slow = steps(&directory, "slow.holdup", 0, false, 200_000_000);
    let (status, gate) = gate(&base, &slow, &["--fail-over", "5%"]);
    assert_eq!(status, Some(0), "{gate:#}");
    assert_eq!(in_state(&gate, "passed").len(), 9, "{gate:#}");
}

/// `--format junit` and `sarif` are judged without `--gate`, and only what is red has a result.
#[test]
fn forms_for_ci_have_the_reasons() {
    let directory = tempfile::tempdir().expect("can create");
    let base = simulated(&directory, "base", "h200", BASE);
    let workload = BASE.replacen(LAUNCH, &format!("{}{LAUNCH}", PLANTS[0].0), 1);
    let planted = simulated(&directory, "planted", "h200", &workload);
    for (after, red) in [(&base, false), (&planted, true)] {
        let [junit, sarif] =
            ["junit", "sarif"].map(|form| run(&["diff", path(&base), path(after), "--format", form]));
        assert_eq!([junit.status.code(), sarif.status.code()], [Some(i32::from(red)); 2]);
        assert_eq!(
            text(&junit.stdout).contains("<failure type=\"explicit-sync\" message=\"synchronizations: "),
            red
        );
        let sarif: serde_json::Value = serde_json::from_slice(&sarif.stdout).expect("JSON");
        let results = sarif["runs"][0]["results"].as_array().expect("a list");
        assert_eq!(results.iter().any(|result| result["ruleId"] == "explicit-sync"), red, "{sarif:#}");
        assert_eq!(results.is_empty(), !red);
    }
}
