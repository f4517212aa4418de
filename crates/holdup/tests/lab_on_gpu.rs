//! `holdup lab` and `holdup devices` on GPUs: those of the runner's stand-in for the driver, which carries out what it is
//! asked at once, kernels included, so that results are checked and nothing needs a GPU.
#![cfg(target_os = "linux")]

#[allow(dead_code, reason = "the capture library's own tests use the rest")]
#[path = "../../capture/tests/standin/compile.rs"]
mod compile;
#[path = "../../record/tests/support/interruptible.rs"]
mod interruptible;

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The stand-ins of `lab/gpu` for the driver and for cuBLAS, compiled.
fn libraries() -> &'static [PathBuf; 2] {
    static LIBRARIES: OnceLock<[PathBuf; 2]> = OnceLock::new();
    LIBRARIES.get_or_init(|| ["cuda", "cublas"].map(library))
}

fn library(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = format!("lib{name}.so");
    let (path, fresh) = (root.join(&file), root.join(format!("{file}.{}", std::process::id())));
    let source = format!("{}/../../lab/gpu/tests/standin/{name}.c", env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new("cc");
    command.args(["-std=gnu11", "-O3", "-shared", "-fPIC", "-pthread", &source, "-o"]).arg(&fresh).arg("-lm");
    let output = command.output().expect("these tests need a C compiler, cc (Debian: apt install gcc)");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(&fresh, &path).expect("the library gets its name");
    path
}

fn command(arguments: &str) -> Command {
    let [cuda, cublas] = libraries();
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    interruptible::interruptible(&mut command);
    command.env("HOLDUP_LIBCUDA", cuda).env("HOLDUP_LIBCUBLAS", cublas);
    command.args(arguments.split_ascii_whitespace());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn said(output: Output) -> String {
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaint.is_empty(), "{complaint}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn holdup(arguments: &str) -> String {
    said(command(arguments).output().expect("the program starts"))
}

fn json(arguments: &str) -> Value {
    serde_json::from_str(&holdup(&format!("{arguments} --format json"))).expect("JSON")
}

/// The one line of a refusal that prints nothing else.
fn refusal(mut command: Command) -> String {
    let output = command.output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    said
}

#[test]
fn results_are_checked_and_rounds_spread() {
    let results = json("lab run overlap --set bytes=256KiB --set passes=2 --rounds 3");
    assert_eq!((&results["simulated"], &results["rounds"]), (&Value::from(false), &Value::from(3)));
    let rows = results["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 6);
    for row in rows {
        // The stand-in computes with another sine than a GPU, and rounds like one.
        let error = row["max_error"].as_f64().expect("checked");
        assert!(error < 1e-6, "{row}");
        assert!(row["ms"].as_f64() > Some(0.0) && row["spread"].as_f64() >= Some(0.0), "{row}");
    }
    assert!(rows.iter().any(|row| row["spread"].as_f64() > Some(0.0)), "no two rounds differ");
    let text = holdup("lab run overlap --set bytes=256KiB --set passes=2 --rounds 3 --set memory=pinned");
    assert!(text.contains("3 rounds, ± half of their range"), "{text}");
}

/// The samples of each row's first figure.
fn samples(results: &Value) -> Vec<Vec<f64>> {
    let of = |row: &Value| {
        let samples = row["samples"].as_array().into_iter().flatten();
        samples.map(|sample| sample.as_f64().expect("a number")).collect()
    };
    results["rows"].as_array().expect("rows").iter().map(of).collect()
}

#[test]
fn rounds_keep_their_samples_and_are_judged() {
    let directory = directory();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let run = "lab run overlap --set bytes=64KiB --set passes=2 --set memory=pinned";
    holdup(&format!("{run} --rounds 4 --format json -o {}", path("four.json")));
    let mut four: Value =
        serde_json::from_str(&std::fs::read_to_string(path("four.json")).expect("written")).expect("JSON");
    assert!(samples(&four).iter().all(|samples| samples.len() == 4), "{four}");
    let judged = ["a gain of ", "a loss of ", "no difference shown", "not certain, the machine"];
    let is_judged = |text: &str| judged.iter().any(|words| text.contains(words));
    assert!(is_judged(four["verdict"].as_str().expect("a verdict")), "{four}");
    // Another command shows the same, and compares the samples.
    let shown = json(&format!("lab show {}", path("four.json")));
    assert_eq!(shown, four);
    let compared = holdup(&format!("lab show {} --baseline {}", path("four.json"), path("four.json")));
    assert!(compared.contains("4 rounds, ± half of their range, intervals of 95 %"), "{compared}");
    assert!(compared.contains("no difference shown in 3 rows"), "{compared}");
    let three = holdup(&format!("{run} --rounds 3"));
    assert!(!is_judged(&three) && !three.contains("95 %"), "{three}");

    // As an interruption in the third round leaves it.
    for (at, row) in four["rows"].as_array_mut().expect("rows").iter_mut().enumerate() {
        row["samples"].as_array_mut().expect("samples").truncate(if at == 0 { 3 } else { 2 });
    }
    let before = samples(&four);
    std::fs::write(path("part.json"), four.to_string()).expect("can write");
    let whole = json(&format!("{run} --resume {}", path("part.json")));
    let after = samples(&whole);
    assert!(after.iter().all(|samples| samples.len() == 4), "{whole}");
    assert!(before.iter().zip(&after).all(|(before, after)| after.starts_with(before)), "{whole}");
}

/// A test for each run of an experiment: every row has a measurement, and results are right.
macro_rules! experiments {
    ($($name:ident: $arguments:literal,)*) => {
        $(
            #[test]
            fn $name() {
                experiment_runs($arguments);
            }
        )*
    };
}

experiments! {
    architectures_run: "architectures --set variant=threads,processes --set threads=1,2 --set iterations=1 --set launches=2",
    architectures_with_graphs_and_contexts_run: "architectures --set submit=launches,graph --set memory=pinned,pageable \
        --set threads=2 --set iterations=1 --set launches=2 --set variant=threads,contexts --set connections=16",
    stagger_runs: "stagger --set cycles=1000",
    launch_stall_runs: "launch-stall --set time=20ms --set bytes=16MiB --set cycles=1000",
    hidden_sync_runs: "hidden-sync --set length=1024,16384 --set times=3",
    multi_gpu_runs: "multi-gpu --set times=1 --set cycles=1000",
    interference_runs: "interference --set time=5ms --set bytes=64KiB --set effect=launches \
        --set call=idle,allocate,register,copy-out-fresh,load-module",
}

fn experiment_runs(arguments: &str) {
    let results = json(&format!("lab run {arguments} --rounds 1"));
    let rows = results["rows"].as_array().expect("rows");
    assert!(!rows.is_empty() && results["left_out"] == Value::from(Vec::<String>::new()), "{results}");
    for row in rows {
        let measured = row.get("ms").or(row.get("per_s")).and_then(Value::as_f64);
        assert!(measured > Some(0.0), "{row}");
        assert!(row.get("max_error").is_none_or(|error| error.as_f64() < Some(1e-6)), "{row}");
    }
}

#[test]
fn a_run_is_compared_with_an_earlier_one() {
    let directory = directory();
    let file = directory.path().join("before.json");
    let arguments =
        "lab run overlap --set bytes=64KiB --set memory=pinned --variant variant=sequential --rounds 1";
    holdup(&format!("{arguments} --format json -o {}", file.display()));
    let mut before: Value =
        serde_json::from_str(&std::fs::read_to_string(&file).expect("written")).expect("JSON");
    let measured = before["rows"][0]["ms"].as_f64().expect("a time");
    for (times, word) in [(1000.0, "better"), (0.001, "worse")] {
        before["rows"][0]["ms"] = Value::from(measured * times);
        std::fs::write(&file, before.to_string()).expect("can write");
        let text = holdup(&format!("{arguments} --baseline {}", file.display()));
        assert!(text.contains(&format!("│ {word}")) && text.contains("of 1 row"), "{text}");
    }
}

/// The lab's output and the calls of its trace, with a capture library of that path.
fn traced(capture: &Path) -> (String, String) {
    let directory = directory();
    let file = directory.path().join("pinned.holdup");
    let mut command = command(&format!(
        "lab run stagger --set cycles=1000 --variant variant=pinned --trace {}",
        file.display()
    ));
    let output = command.env("HOLDUP_CAPTURE_LIB", capture).env_remove("LD_PRELOAD").output();
    let text = said(output.expect("the program starts"));
    (text, holdup(&format!("calls {}", file.display())))
}

#[test]
fn a_traced_run_is_recorded_as_programs_are() {
    let (text, calls) = traced(compile::library());
    assert!(!text.contains("host's calls only"), "{text}");
    assert!(calls.contains("cuStreamSynchronize") && calls.contains("thread 3"), "{calls}");
    // Which the lab itself does not record.
    assert!(calls.contains("cuModuleLoadData"), "{calls}");
}

#[test]
fn without_the_capture_library_a_trace_has_the_hosts_calls() {
    let (text, calls) = traced(Path::new("/nowhere/libholdup_capture.so"));
    assert!(
        text.contains("the trace has the host's calls only: holdup's capture library is missing"),
        "{text}"
    );
    assert!(calls.contains("cuStreamSynchronize") && calls.contains("thread 3"), "{calls}");
}

#[test]
fn a_workload_of_a_file_runs() {
    let directory = directory();
    let file = directory.path().join("mine.toml");
    let documented = include_str!("../../../docs/workload.md");
    let example = documented.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    std::fs::write(&file, example.expect("docs/workload.md begins with an example")).expect("can write");
    for on in ["gpu", "sim:h200"] {
        let text = holdup(&format!("lab run {} --on {on}", file.display()));
        assert!(text.contains("calls of the bodies") && text.contains("cuLaunchKernel"), "{text}");
        let results = json(&format!("lab run {} --on {on}", file.display()));
        assert!(!results["threads"].as_array().expect("threads").is_empty());
        assert_eq!((&results["partial"], &results["simulated"]), (&false.into(), &(on != "gpu").into()));
    }
    std::fs::write(&file, "name = 3").expect("can write");
    let problem = refusal(command(&format!("lab run {}", file.display())));
    assert!(problem.contains("mine.toml") && problem.contains(":1: "), "{problem}");
}

#[test]
fn devices_are_described_and_measured() {
    let devices = json("devices --measure");
    let devices = devices["devices"].as_array().expect("devices");
    assert_eq!(devices.len(), 2);
    assert!(devices[1]["pinned_bytes_per_s"]["both"].as_u64() > Some(0), "{devices:?}");
    let text = holdup("devices");
    assert!(text.contains("copy engines") && text.contains("connections"), "{text}");
}

#[test]
fn a_gpu_is_calibrated() {
    let directory = directory();
    let file = directory.path().join("mine.toml");
    let arguments = format!("lab calibrate --rounds 1 -o {}", file.display());
    let said = holdup(&arguments);
    assert!(said.contains("mine.toml: a model of Stand-in 0: "), "{said}");
    let model = std::fs::read_to_string(&file).expect("written");
    // What the driver reports, what threads measured, and what the stand-in gives nobody to measure.
    for line in ["title = \"Stand-in 0\" # reported by the device", "slice_ns = 2000000 # assumed: from h200"]
    {
        assert!(model.lines().any(|own| own == line), "{line}: {model}");
    }
    for field in ["calls.context_create", "calls.host_allocate", "calls.capture"] {
        let rule = model.split(&format!("[{field}]\n")).nth(1).and_then(|rest| rest.split("\n[").next());
        assert!(
            rule.is_some_and(|rule| rule.contains("held_ns = ") && rule.contains("# measured: ")),
            "{field}: {model}"
        );
    }
    let devices = holdup(&format!("devices --on sim:{}", file.display()));
    assert!(devices.contains("Stand-in 0"), "{devices}");
}

#[test]
fn a_calibration_that_fails_leaves_no_file() {
    let directory = directory();
    let arguments = format!("lab calibrate --rounds 1 -o {}", directory.path().join("mine.toml").display());
    let mut full = command(&arguments);
    full.env("STANDIN_FAIL", "cuMemAlloc_v2 1 2");
    let problem = refusal(full);
    assert!(
        problem.starts_with("holdup: lab calibrate: ") && problem.contains("CUDA_ERROR_OUT_OF_MEMORY"),
        "{problem}"
    );
    let mut none = command(&arguments);
    none.env("STANDIN_DEVICES", "0");
    let problem = refusal(none);
    assert!(problem.contains("no GPU is visible") && problem.contains("--on sim:h200"), "{problem}");
    assert_eq!(std::fs::read_dir(directory.path()).expect("readable").count(), 0);
}

#[test]
fn errors_of_a_gpu_are_one_line() {
    let mut lost = command("lab run overlap --set bytes=64KiB");
    lost.env("STANDIN_FAIL", "cuLaunchKernel 2 719");
    let problem = refusal(lost);
    let expected = "overlap, variant=sequential,memory=pinned,streams=none,bytes=65536,kernel-rounds=1: process \"main\", thread \"main\"";
    assert!(problem.contains(expected) && problem.contains("CUDA_ERROR_LAUNCH_FAILED"), "{problem}");
    let mut full = command("lab run overlap --set bytes=64KiB");
    full.env("STANDIN_FAIL", "cuMemAlloc_v2 1 2");
    let problem = refusal(full);
    assert!(problem.contains("CUDA_ERROR_OUT_OF_MEMORY") && problem.contains("nvidia-smi"), "{problem}");
    let mut none = command("lab run overlap");
    none.env("STANDIN_DEVICES", "0");
    let problem = refusal(none);
    assert!(problem.contains("no GPU is visible") && problem.contains("--on sim:h200"), "{problem}");
}

#[test]
fn a_hanging_search_for_devices_can_be_interrupted() {
    for on in ["", " --on gpu"] {
        let mut hanging = command(&format!("lab run overlap{on}"));
        let child = hanging.env("STANDIN_FAIL", "cuInit 1 -2").spawn().expect("the program starts");
        // Its process that asks the driver.
        wait_until(|| !children(&child).is_empty());
        interrupt(&child, "-INT");
        let output = child.wait_with_output().expect("the program ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said, "holdup: interrupted while the driver was asked for its devices\n");
        assert_eq!(output.status.code(), Some(2));
    }
}

/// Waits for a condition, half a minute at most.
fn wait_until(mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < Duration::from_secs(30), "it never happens");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The processes that a program has now.
fn children(program: &std::process::Child) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{}/task", program.id())).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// Whether a program has a handler of SIGHUP, signal 1.
fn handles_hangups(program: &std::process::Child) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", program.id())).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 != 0)
}

fn interrupt(child: &std::process::Child, signal: &str) {
    let killed = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(killed.expect("kill is there").success());
}

#[test]
fn a_closed_terminal_ends_a_simulation_like_an_interrupt() {
    let directory = directory();
    let file = directory.path().join("long.toml");
    let text = r#"
        name = "long"
        [[process]]
        name = "p"
        [[process.thread]]
        name = "t"
        repeat = 900000000
        body = ["synchronize-context"]
    "#;
    std::fs::write(&file, text).expect("can write");
    let child = command(&format!("lab run {} --on sim:h200", file.display())).spawn();
    let child = child.expect("the program starts");
    wait_until(|| handles_hangups(&child));
    interrupt(&child, "-HUP");
    let output = child.wait_with_output().expect("the program ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said, "holdup: interrupted; the results are partial\n");
}

#[test]
fn an_interruption_ends_every_process_and_keeps_the_rows() {
    let directory = directory();
    let file = directory.path().join("partial.json");
    // Each variant takes a second or more, whatever the machine.
    let arguments = format!(
        "lab run launch-stall --set beside=idle,item --set time=1s --rounds 1 --format json -o {}",
        file.display()
    );
    let child = command(&arguments).spawn().expect("the program starts");
    // The processes of the search for devices, of the first variant and of the second: the first has been measured then.
    let mut processes = BTreeSet::new();
    wait_until(|| {
        processes.extend(children(&child));
        processes.len() >= 3
    });
    let began = Instant::now();
    interrupt(&child, "-INT");
    let output = child.wait_with_output().expect("the program ends");
    assert!(began.elapsed() < Duration::from_secs(10));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("interrupted; the results are partial: "), "{said}");
    let text = std::fs::read_to_string(&file).expect("written");
    let results: Value = serde_json::from_str(&text).expect("JSON");
    let rows = results["rows"].as_array().expect("rows").len();
    assert!(results["partial"] == true && (1..4).contains(&rows), "{results}");
    let left = std::fs::read_dir(directory.path()).expect("readable").count();
    assert_eq!(left, 1, "something was left behind");
}

fn directory() -> TempDir {
    tempfile::tempdir().expect("can create")
}
