//! `holdup record` from end to end, on the stand-in for the driver that the capture library is
//! tested with: no GPU is needed.
#![cfg(target_os = "linux")]

#[allow(dead_code, reason = "the capture library's own tests use the rest")]
#[path = "../../capture/tests/standin/compile.rs"]
mod compile;

use compile::{Binding, built, library};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// `holdup record` in a directory, with what comes after it.
fn record(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    command.arg("record").args(arguments).current_dir(directory).stdin(Stdio::null());
    command.env("HOLDUP_CAPTURE_LIB", library()).env("STANDIN_FACTS", directory.join("facts"));
    command.env("LD_LIBRARY_PATH", built().folder(Binding::Lazy)).env_remove("LD_PRELOAD");
    command.output().expect("the program starts")
}

fn directory() -> TempDir {
    tempfile::tempdir().expect("can create")
}

fn waits() -> String {
    built().looking_up("waits").display().to_string()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("output is UTF-8")
}

fn explained(file: &Path) -> serde_json::Value {
    let output = Command::new(env!("CARGO_BIN_EXE_holdup"))
        .args(["explain", "--format", "json"])
        .arg(file)
        .output()
        .expect("the program starts");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn a_recording_names_who_held_the_lock() {
    let directory = directory();
    let output = record(directory.path(), &[&waits(), "reader-behind-writer"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stderr);
    assert!(said.contains("driver-lock · certain") && said.contains("waits-look-up.holdup"), "{said}");
    let explanation = explained(&directory.path().join("waits-look-up.holdup"));
    let findings = explanation["findings"].as_array().expect("a list");
    let lock = findings.iter().find(|finding| finding["cause"] == "driver-lock").expect("a lock is blamed");
    assert_eq!((&lock["evidence"], &lock["waiter"]["call"]), (&"lock".into(), &"cuLaunchKernel".into()));
    assert_eq!(lock["holder"]["call"], "cuMemcpyDtoHAsync_v2");
    // Without a GPU there is no CUPTI.
    let notes = explanation["trace"]["notes"].to_string();
    assert!(notes.contains("level light") && notes.contains("libcupti"), "{notes}");
}

/// Columns of a listing of a trace, row by row.
fn listed(file: &Path, what: &str, columns: &[&str]) -> serde_json::Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    let output = command.args([what, "--format", "json"]).arg(file).output().expect("the program starts");
    let row = |line: &str| {
        let row: serde_json::Value = serde_json::from_str(line).expect("JSON");
        columns.iter().map(|column| row[column].clone()).collect::<serde_json::Value>()
    };
    text(&output.stdout).lines().map(row).collect()
}

/// Records a program that finds the stand-ins for CUPTI, on a driver of a release of CUDA: what was said.
fn record_with_cupti(directory: &Path, cuda: &str, level: &str) -> String {
    let folder = built().folder(Binding::Lazy).join("inner").display().to_string();
    let settings = format!(r#"STANDIN_CUDA={cuda} LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$0" exec "$@""#);
    let program = ["sh", "-c", &settings, &folder, &waits(), "uncontended"];
    // A call that the machine makes slow has a stack, and a remark of its own.
    let options = ["--level", level, "--stacks", "off", "-o", "made.holdup"];
    let output = record(directory, &[&options[..], &program[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stderr).to_owned()
}

#[test]
fn every_cupti_gives_the_same_records() {
    // That of CUDA 12 cannot leave out the calls that are not worth a record. That of CUDA 13 can; it comes
    // first, but does not start on a driver of CUDA 12.
    for cuda in ["12", "13"] {
        let directory = directory();
        let said = record_with_cupti(directory.path(), cuda, "calls");
        assert!(
            said.contains("GPU records by /") && said.contains(&format!("/libcupti.so.{cuda}\n")),
            "{said}"
        );
        let file = directory.path().join("made.holdup");
        assert_eq!(listed(&file, "calls", &["name", "op"]), json!([["cudaLaunchKernel", "standin_kernel"]]));
        let operations = json!([
            ["kernel", null, null, null, null],
            ["memcpy", 4096, "DtoH", "device", "pageable"],
            ["memset", 512, null, null, "device"],
        ]);
        assert_eq!(listed(&file, "ops", &["kind", "bytes", "copy", "src", "dst"]), operations);
        // Three that CUPTI dropped, and the kernel that has no times.
        assert_eq!(explained(&file)["trace"]["lost_records"], 4);
    }
}

#[test]
fn a_cupti_that_does_not_start_is_said_and_waits_are_recorded() {
    let directory = directory();
    let said = record_with_cupti(directory.path(), "11", "full");
    assert!(
        said.contains("level light") && said.contains("cuptiActivityEnable failed with code 14"),
        "{said}"
    );
}

#[test]
fn no_recording_takes_the_place_of_another() {
    let directory = directory();
    for _ in 0..2 {
        let output = record(directory.path(), &["--quiet", "--", &waits(), "uncontended"]);
        assert_eq!(text(&output.stderr), "");
    }
    for name in ["waits-look-up.holdup", "waits-look-up-2.holdup"] {
        assert!(directory.path().join(name).is_file(), "{name}");
    }
    let output = record(directory.path(), &["-o", "waits-look-up.holdup", &waits(), "uncontended"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stderr).lines().count(), 1);
}

#[test]
fn a_program_keeps_its_output_and_its_exit_status() {
    let directory = directory();
    let output = record(directory.path(), &["sh", "-c", "echo said; echo warned >&2; exit 7"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(7), "said\n"));
    let said = text(&output.stderr);
    assert!(said.starts_with("warned\n") && said.contains("no process of the program used CUDA"), "{said}");
    assert_eq!(std::fs::read_dir(directory.path()).expect("is there").count(), 0, "nothing is left behind");
}

#[test]
fn a_program_that_cannot_be_started_is_said_in_one_line() {
    let directory = directory();
    for (program, status) in [("no-such-program", 127), ("/etc/passwd", 126)] {
        let output = record(directory.path(), &[program]);
        assert_eq!(output.status.code(), Some(status), "{program}");
        assert_eq!(text(&output.stderr).lines().count(), 1, "{}", text(&output.stderr));
    }
}

#[test]
fn a_killed_program_leaves_what_it_did() {
    let directory = directory();
    let program = built().looking_up("endings").display().to_string();
    let output = record(directory.path(), &["-o", "killed.holdup", "--", &program, "aborts"]);
    assert_eq!(output.status.code(), None, "{}", text(&output.stderr));
    let notes = explained(&directory.path().join("killed.holdup"))["trace"]["notes"].to_string();
    assert!(notes.contains("did not end normally") && notes.contains("signal 6"), "{notes}");
}

#[test]
fn what_there_was_no_room_for_is_counted_and_when_it_ran_out_is_said() {
    let directory = directory();
    let program = built().looking_up("calls").display().to_string();
    let arguments = ["--quiet", "--max-size", "1MB", "-o", "full.holdup", "--", &program, "cost"];
    let output = record(directory.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    // Also where no findings are wanted.
    let said = text(&output.stderr);
    assert!(
        said.lines().count() == 1 && said.contains("records lost (") && said.contains("no room"),
        "{said}"
    );
    let trace = &explained(&directory.path().join("full.holdup"))["trace"];
    // A million calls and the launch before them.
    let [recorded, lost] =
        [&trace["calls"], &trace["lost_records"]].map(|count| count.as_u64().expect("a number"));
    assert!(recorded > 1000 && lost > 1000 && recorded + lost >= 1_000_001, "{recorded} and {lost}");
    assert!(trace["notes"].to_string().contains("holdup record --max-size makes it larger"), "{trace}");
}

/// The spool file of a program that nobody gathers what it recorded from.
fn spool_file(directory: &Path, program: &str, scenario: &str) -> PathBuf {
    let mut command = Command::new(built().looking_up(program));
    command.arg(scenario).stdin(Stdio::null()).stdout(Stdio::null());
    command.env("LD_PRELOAD", library()).env("LD_LIBRARY_PATH", built().folder(Binding::Lazy));
    command.env("STANDIN_FACTS", directory.join("facts")).env(spool::VAR_DIRECTORY, directory);
    command.env(spool::VAR_LEVEL, "light").env(spool::VAR_STACKS, "off");
    assert!(command.status().expect("the program starts").success());
    let mut files = directory.read_dir().expect("it is there").map(|entry| entry.expect("an entry").path());
    let is_spool = |path: &PathBuf| path.display().to_string().ends_with(spool::SUFFIX);
    files.find(is_spool).expect("the program left a file")
}

#[test]
fn a_corrupted_segment_costs_what_lies_behind_and_no_more() {
    let directory = directory();
    let file = spool_file(directory.path(), "threads", "full");
    let whole = std::fs::read(&file).expect("it can be read");
    let explain = |bytes: &[u8]| {
        std::fs::write(&file, bytes).expect("it can be written");
        let trace = explained(directory.path())["trace"].clone();
        (trace["calls"].as_u64().expect("a number"), trace)
    };
    // The main thread's launch, and 4,000 of each of eight threads, a segment each.
    let (all, _) = explain(&whole);
    assert_eq!(all, 32_001);
    let magic = spool::CHUNK_MAGIC.to_ne_bytes();
    let last = (0..whole.len()).step_by(spool::ALIGN as usize).rfind(|at| whole[*at..].starts_with(&magic));
    let last = last.expect("a segment");
    let damaged = json!({ "damaged places in the spool": 1 });

    // In the middle of its records: some 2,000 come before.
    let mut broken = whole.clone();
    broken[last + spool::CHUNK_HEADER + 16_000..][..1000].fill(0);
    let (kept, trace) = explain(&broken);
    assert!((all - 3000..all - 1000).contains(&kept), "{kept}");
    assert_eq!(trace["lost_reasons"], damaged);
    assert!(trace["notes"].to_string().contains("damaged bytes were skipped"), "{trace}");

    let mut beheaded = whole.clone();
    beheaded[last..last + magic.len()].fill(0xff);
    let (kept, trace) = explain(&beheaded);
    assert_eq!((kept, &trace["lost_reasons"]), (all - 4000, &damaged));
}

#[test]
fn doctor_says_what_is_missing() {
    let output = Command::new(env!("CARGO_BIN_EXE_holdup"))
        .args(["doctor", "--format", "json"])
        .env("HOLDUP_CAPTURE_LIB", library())
        .output()
        .expect("the program starts");
    let checks: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let checks = checks["checks"].as_array().expect("a list");
    assert_eq!(checks[0]["state"], "ok", "{}", checks[0]);
    let missing = checks.iter().any(|check| check["state"] == "missing");
    assert_eq!(output.status.code(), Some(missing.into()));
    for check in checks.iter().filter(|check| check["state"] != "ok") {
        assert!(check["remedy"].is_string(), "{check}");
    }
}

/// A program of Python that computes in one thread, sleeps in another, and calls the driver in between.
const THREADS: &str = r#"
import ctypes, threading, time
cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0

def compute():
    until = time.thread_time() + 0.7
    while time.thread_time() < until:
        sum(range(2000))

def rest():
    time.sleep(0.7)

threads = [threading.Thread(target=work) for work in (compute, rest)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
    cuda.cuStreamSynchronize(None)
"#;

/// Output of a Python program, and its recording.
fn recorded_python(program: &str, options: &[&str]) -> (String, trace::Trace) {
    let directory = directory();
    std::fs::write(directory.path().join("program.py"), program).expect("a file");
    let arguments = [&["-o", "recorded.holdup"], options, &["python3", "program.py"]].concat();
    let output = record(directory.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let trace = import::open(&directory.path().join("recorded.holdup"), &mut |_| {}).expect("a trace");
    (text(&output.stdout).to_owned(), trace)
}

#[test]
fn threads_are_seen_outside_of_calls() {
    let (_, trace) = recorded_python(THREADS, &[]);
    let sum = |thread: trace::ThreadId, part: fn(&trace::State) -> i64| -> i64 {
        let rows = trace.states.ids().map(|id| trace.states.row(id));
        rows.filter(|row| row.thread == thread).map(|row| part(&row)).sum()
    };
    // The threads by what their samples say that they do.
    let thread_at = |function: &str| {
        let samples = trace.samples.ids().map(|id| trace.samples.row(id));
        let at = |stack: trace::StackId| {
            let stacks = std::iter::successors(stack.some(), |at| trace.stacks.caller[at.index()].some());
            let mut functions =
                stacks.map(|at| trace.frames.function[trace.stacks.frame[at.index()].index()]);
            functions.any(|name| trace.text(name) == function)
        };
        let found: Vec<_> = samples.filter(|sample| at(sample.stack)).map(|sample| sample.thread).collect();
        assert!(found.len() >= 5 && found.iter().all(|thread| *thread == found[0]), "{function}: {found:?}");
        found[0]
    };
    let (computes, rests) = (thread_at("compute"), thread_at("rest"));
    // On a busy machine, the watcher finds the process late.
    assert!(sum(computes, |row| row.running) > 100_000_000, "of 700 ms");
    let rested = sum(rests, |row| row.end - row.start - row.running - row.runnable);
    assert!(rested > 100_000_000 && sum(rests, |row| row.running) < rested / 4, "{rested} of 700 ms");
    assert!(!trace.limits.is_empty() && trace.processes.len() == 1);
}

/// Threads that live for a few milliseconds, less than there is between two looks; it prints how long they ran.
const BRIEF: &str = r#"
import ctypes, threading, time

cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
ran = []

def work():
    cuda.cuStreamSynchronize(None)
    while time.thread_time() < 0.004:
        pass
    ran.append(time.thread_time_ns())

cuda.cuStreamSynchronize(None)
time.sleep(0.1)
for _ in range(40):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
print(sum(ran))
"#;

#[test]
fn what_a_thread_did_between_the_last_look_and_its_end_is_known() {
    let (printed, trace) = recorded_python(BRIEF, &[]);
    let ran: i64 = printed.trim().parse().expect("a time");
    let is_main = |row: &trace::State| trace.threads.tid[row.thread.index()] == trace.processes.pid[0];
    let rows = trace.states.ids().map(|id| trace.states.row(id));
    let mut rows: Vec<_> = rows.filter(|row| !is_main(row)).collect();
    let found: i64 = rows.iter().map(|row| row.running).sum();
    // Beginning and ending a thread is counted, too, by the kernel alone. On a busy machine, the watcher finds the process late.
    assert!(found >= ran * 95 / 100 && found < ran + 40 * 2_000_000, "{found}, {ran}");
    let threads: std::collections::BTreeSet<_> = rows.iter().map(|row| row.thread).collect();
    // The system may use an id again.
    assert!(threads.len() > 20 && threads.len() <= 40, "{}", threads.len());
    rows.sort_by_key(|row| (row.thread, row.start));
    for (row, next) in rows.iter().zip(rows.iter().skip(1)).filter(|(row, next)| row.thread == next.thread) {
        assert!(row.end <= next.start, "{row:?} {next:?}");
    }
}

#[test]
fn without_samples_states_remain() {
    let (_, trace) = recorded_python(THREADS, &["--sample-rate", "0"]);
    assert!(trace.samples.is_empty() && !trace.states.is_empty());
}

#[test]
fn what_was_seen_outlives_a_killed_recorder() {
    let directory = directory();
    std::fs::write(directory.path().join("threads.py"), THREADS).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    command.args(["record", "--spool-dir", ".", "python3", "threads.py"]).current_dir(directory.path());
    command.env("HOLDUP_CAPTURE_LIB", library()).env("LD_LIBRARY_PATH", built().folder(Binding::Lazy));
    command.env_remove("LD_PRELOAD").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut recorder = command.spawn().expect("the program starts");
    let began = std::time::Instant::now();
    // The folder of the spool, once there are some looks in it.
    let spool = loop {
        let folders = directory.path().read_dir().expect("a folder").flatten().map(|entry| entry.path());
        let is_watched = |folder: &PathBuf| {
            let files = folder.read_dir().into_iter().flatten().flatten();
            let has_chunk =
                |entry: std::fs::DirEntry| entry.metadata().is_ok_and(|file| file.len() > 64 << 10);
            files
                .into_iter()
                .any(|entry| entry.path().extension() == Some("watch".as_ref()) && has_chunk(entry))
        };
        if let Some(folder) = folders.into_iter().find(is_watched) {
            break folder;
        }
        assert!(began.elapsed().as_secs() < 30, "nothing is watched");
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    std::thread::sleep(std::time::Duration::from_millis(200));
    recorder.kill().expect("our child");
    recorder.wait().expect("our child");
    let trace = import::open(&spool, &mut |_| {}).expect("a spool");
    let notes = &trace.meta.notes;
    assert!(notes.iter().any(|note| note.contains("the recorder was killed")), "{notes:?}");
    assert!(!trace.states.is_empty() && !trace.samples.is_empty());
}

/// The sizes of the fills of a recording, in words, by phase of the program `long`, and its notes.
fn phases(file: &Path) -> (Vec<usize>, String) {
    let mut counts = vec![0; 5];
    let trace = import::open(file, &mut |_| {}).expect("it was recorded");
    for bytes in trace.arguments.bytes.iter().filter(|bytes| **bytes > 0) {
        counts[*bytes as usize / 4 - 1] += 1;
    }
    (counts, explained(file)["trace"]["notes"].to_string())
}

fn long(directory: &Path, options: &[&str], scenario: &str) -> Output {
    let program = built().looking_up("long").display().to_string();
    let last = ["-o", "long.holdup", "--level", "light", "--", &program, scenario];
    let output = record(directory, &[options, &last].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "done\n");
    output
}

#[test]
fn a_signal_switches_recording_off_and_on() {
    let directory = directory();
    let file = directory.path().join("long.holdup");
    long(directory.path(), &["--quiet"], "signals");
    let (counts, notes) = phases(&file);
    assert_eq!(counts, [10, 0, 10, 0, 10], "{notes}");
    assert!(notes.contains("recorded completely: 0.000 s to ") && notes.contains("a part of"), "{notes}");
}

#[test]
fn recording_begins_at_a_signal() {
    let directory = directory();
    let output = long(directory.path(), &["--after", "signal"], "signals");
    assert!(
        text(&output.stderr).contains("holdup: recording is off: `kill -USR2 "),
        "{}",
        text(&output.stderr)
    );
    let (counts, notes) = phases(&directory.path().join("long.holdup"));
    assert_eq!(counts, [0, 10, 0, 10, 0], "{notes}");
    assert!(notes.contains("after the program was started"), "{notes}");
}

#[test]
fn a_program_opens_windows_with_files_of_their_own() {
    let directory = directory();
    let program = built().looking_up("long").display().to_string();
    let arguments = ["--after", "program", "--level", "light", "--", &program, "windows"];
    let output = record(directory.path(), &arguments);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "done\n"), "{}", text(&output.stderr));
    for (window, expected) in [(0, [10, 0, 0, 0, 0]), (2, [0, 0, 10, 0, 0]), (4, [0, 0, 0, 0, 10])] {
        let (counts, notes) = phases(&directory.path().join(format!("window{window}.holdup")));
        assert_eq!(counts, expected, "{notes}");
    }
    // Windows that are all of the recording need no file of the whole.
    assert!(!directory.path().join("long-look-up.holdup").exists());
}

#[test]
fn windows_of_a_program_that_is_recorded_are_cut_from_its_recording() {
    let directory = directory();
    std::fs::write(directory.path().join("window2.holdup"), "not ours").expect("can write");
    long(directory.path(), &["--quiet"], "windows");
    let counts = |name: &str| phases(&directory.path().join(name)).0;
    assert_eq!(counts("long.holdup"), [10; 5]);
    assert_eq!(counts("window0.holdup"), [10, 0, 0, 0, 0]);
    // No file is replaced.
    assert_eq!(counts("window2-2.holdup"), [0, 0, 10, 0, 0]);
}

#[test]
fn recording_begins_later_and_ends_earlier_than_the_program() {
    let directory = directory();
    long(directory.path(), &["--quiet", "--after", "400ms", "--for", "300ms"], "lasts");
    let explanation = explained(&directory.path().join("long.holdup"));
    let trace = &explanation["trace"];
    // The program calls each millisecond for one and a half seconds.
    let (calls, ns) =
        (trace["calls"].as_u64().expect("a number"), trace["duration_ns"].as_u64().expect("a number"));
    assert!((2..400).contains(&calls), "{calls}");
    assert!((1..=400_000_000).contains(&ns), "{trace}");
    let notes = trace["notes"].to_string();
    let began = notes.split("the trace's time begins 0.").nth(1).and_then(|rest| rest.get(..3));
    assert!(began.and_then(|ms| ms.parse::<u32>().ok()).is_some_and(|ms| ms >= 390), "{notes}");
}

#[test]
fn the_last_records_are_kept_and_from_when_on_they_are_complete_is_said() {
    let directory = directory();
    let program = built().looking_up("calls").display().to_string();
    let arguments = [
        "--quiet",
        "--keep",
        "last",
        "--max-size",
        "1MB",
        "-o",
        "last.holdup",
        "--level",
        "light",
        "--",
        &program,
        "cost",
    ];
    let output = record(directory.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    // That is what was asked for.
    assert_eq!(text(&output.stderr), "");
    let trace = &explained(&directory.path().join("last.holdup"))["trace"];
    let overwritten = &trace["left_out"]["overwritten by later records (--keep last)"];
    let [recorded, overwritten, lost] =
        [&trace["calls"], overwritten, &trace["lost_records"]].map(|count| count.as_u64().expect("a number"));
    assert!(recorded > 1000 && recorded + overwritten >= 1_000_001, "{recorded} and {overwritten}");
    assert_eq!(lost, 0);
    let notes = trace["notes"].to_string();
    assert!(notes.contains("records were overwritten by later ones: the last "), "{notes}");
}

#[test]
fn a_signal_that_a_group_got_is_the_programs() {
    let directory = directory();
    // It went to holdup, too.
    let script = r#"trap 'echo got it' USR2; kill -USR2 0; sleep 0.3; "$0" alone"#;
    let program = built().looking_up("long").display().to_string();
    // In a group of its own, without the test.
    let mut command = Command::new("setsid");
    command.args(["--wait", env!("CARGO_BIN_EXE_holdup"), "record", "--quiet", "--level", "light"]);
    command.args(["-o", "group.holdup", "sh", "-c", script, &program]).current_dir(directory.path());
    command.env("HOLDUP_CAPTURE_LIB", library()).env("STANDIN_FACTS", directory.path().join("facts"));
    command.env("LD_LIBRARY_PATH", built().folder(Binding::Lazy)).env_remove("LD_PRELOAD");
    let output = command.stdin(Stdio::null()).output().expect("the program starts");
    assert_eq!(text(&output.stdout), "got it\ndone\n", "{}", text(&output.stderr));
    let notes = explained(&directory.path().join("group.holdup"))["trace"]["notes"].to_string();
    assert!(!notes.contains("recorded completely"), "{notes}");
}
