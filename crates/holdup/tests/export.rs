//! `holdup export` as a shell sees it: what appears, what is refused, and that nothing is left half-written.

#[path = "support/folder.rs"]
mod folder;

use folder::entries;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

fn holdup(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    command.args(arguments).stdin(Stdio::null()).output().expect("the program starts")
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn example() -> String {
    examples().join("pytorch-d2h-stall-operators.json.gz").to_str().expect("UTF-8").to_owned()
}

fn directory() -> TempDir {
    tempfile::tempdir().expect("can create")
}

fn within(directory: &TempDir, name: &str) -> String {
    directory.path().join(name).to_str().expect("UTF-8").to_owned()
}

fn succeeds(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Exit status 2, nothing on standard output, one line on standard error with these words.
fn refuses(output: &Output, words: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(said.starts_with("holdup: ") && said.lines().count() == 1, "{said}");
    assert!(said.contains(words), "wanted {words:?}: {said}");
}

#[test]
fn every_format_appears_whole() {
    let directory = directory();
    for format in ["perfetto", "chrome", "parquet", "csv"] {
        let out = within(&directory, format);
        let output = holdup(&["export", &example(), "--format", format, "-o", &out]);
        succeeds(&output);
        assert!(String::from_utf8_lossy(&output.stdout).starts_with(&out), "says what was written");
    }
    assert_eq!(entries(directory.path()), ["chrome", "csv", "parquet", "perfetto"]);
    let chrome = std::fs::read(within(&directory, "chrome")).expect("is there");
    let chrome: serde_json::Value = serde_json::from_slice(&chrome).expect("JSON");
    assert!(chrome["traceEvents"].as_array().expect("events").len() > 1000);
    for (format, extension) in [("parquet", ".parquet"), ("csv", ".csv")] {
        let names = entries(&directory.path().join(format));
        assert_eq!(names.len(), 20, "{names:?}");
        assert!(names.iter().all(|name| name == "meta.json" || name.ends_with(extension)), "{names:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_directory_may_be_read_like_any_new_one() {
    use std::os::unix::fs::PermissionsExt;
    let directory = directory();
    let (ours, plain) = (within(&directory, "ours"), within(&directory, "plain"));
    succeeds(&holdup(&["export", &example(), "--format", "csv", "-o", &ours]));
    std::fs::create_dir(&plain).expect("can create");
    let mode = |path: &str| std::fs::metadata(path).expect("is there").permissions().mode();
    assert_eq!(mode(&ours), mode(&plain));
}

#[test]
fn what_cannot_be_read_or_written_leaves_nothing() {
    let directory = directory();
    let out = within(&directory, "out");
    for format in ["perfetto", "chrome", "parquet", "csv"] {
        refuses(&holdup(&["export", "/nonexistent", "--format", format, "-o", &out]), "No such file");
        refuses(
            &holdup(&["export", &example(), "--format", format, "-o", "/nonexistent/out"]),
            "/nonexistent/out",
        );
        assert!(entries(directory.path()).is_empty());
    }
    refuses(&holdup(&["export", &example(), "--format", "csv", "-o", "-"]), "name a directory");
    refuses(&holdup(&["export", &example(), "--format", "parquet", "-o", "-"]), "name a directory");
    refuses(
        &holdup(&["export", &example(), "--format", "csv", "-o", &out, "--from", "2s", "--to", "1s"]),
        "--from",
    );
    let wrong = holdup(&["export", &example(), "--format", "pdf", "-o", &out]);
    assert_eq!(wrong.status.code(), Some(2));
    let old = holdup(&["export", &example(), "--to", "csv", "-o", &out]);
    assert_eq!(old.status.code(), Some(2));
    let error = String::from_utf8_lossy(&old.stderr);
    assert!(error.contains("--to is a time: write --format csv"), "{error}");
    assert!(entries(directory.path()).is_empty());
}

#[test]
fn what_exists_is_replaced_on_demand_only() {
    let directory = directory();
    let file = within(&directory, "file");
    std::fs::write(&file, "mine").expect("can write");
    refuses(&holdup(&["export", &example(), "--format", "chrome", "-o", &file]), "--force");
    assert_eq!(std::fs::read(&file).expect("is there"), b"mine");
    succeeds(&holdup(&["export", &example(), "--format", "chrome", "-o", &file, "--force"]));
    assert!(std::fs::read(&file).expect("is there").starts_with(b"{"));

    let tables = within(&directory, "tables");
    let slash = format!("{tables}/");
    succeeds(&holdup(&["export", &example(), "--format", "csv", "-o", &slash]));
    refuses(&holdup(&["export", &example(), "--format", "parquet", "-o", &tables]), "--force");
    succeeds(&holdup(&["export", &example(), "--format", "parquet", "-o", &tables, "--force"]));
    assert!(entries(Path::new(&tables)).contains(&"calls.parquet".to_owned()));
    assert!(!entries(Path::new(&tables)).contains(&"calls.csv".to_owned()), "the old export is gone");

    std::fs::write(Path::new(&tables).join("thesis.txt"), "mine").expect("can write");
    refuses(
        &holdup(&["export", &example(), "--format", "csv", "-o", &tables, "--force"]),
        "holds other files",
    );
    refuses(&holdup(&["export", &example(), "--format", "csv", "-o", &file, "--force"]), "holds other files");
    assert!(Path::new(&tables).join("thesis.txt").is_file());
    assert_eq!(entries(directory.path()), ["file", "tables"], "nothing is left behind");
}

#[test]
fn one_file_may_go_to_standard_output() {
    let directory = directory();
    for format in ["perfetto", "chrome"] {
        let file = within(&directory, format);
        succeeds(&holdup(&["export", &example(), "--format", format, "-o", &file]));
        let output = holdup(&["export", &example(), "--format", format, "-o", "-"]);
        succeeds(&output);
        assert_eq!(output.stdout, std::fs::read(&file).expect("is there"), "{format}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said() {
    let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has it");
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    let output = command.args(["export", &example(), "--format", "chrome", "-o", "-"]).stdout(full).output();
    let output = output.expect("the program starts");
    refuses(&output, "free some space");
}

#[test]
fn a_part_is_exported() {
    let directory = directory();
    let calls = |more: &[&str]| {
        let out = within(&directory, "out");
        succeeds(&holdup(
            &[&["export", &example(), "--format", "csv", "-o", &out, "--force"], more].concat(),
        ));
        std::fs::read_to_string(Path::new(&out).join("calls.csv")).expect("is there").lines().count() - 1
    };
    let all = calls(&[]);
    assert!((1..all).contains(&calls(&["--name", "LaunchKernel"])));
    assert!((1..all).contains(&calls(&["--from", "0.1s", "--to", "200ms"])));
}

/// Threads that a thread waited for are not left out with the others: neither from what is exported of it, nor from its part
/// of the trace.
#[test]
fn a_part_is_explained_by_the_whole() {
    let directory = directory();
    let (recorded, part) = (examples().join("recorded-d2h-stall.holdup"), within(&directory, "part.holdup"));
    let [recorded, out] = [recorded.display().to_string(), within(&directory, "out")];
    succeeds(&holdup(&["export", &recorded, "--format", "csv", "-o", &out, "--thread", "2250"]));
    succeeds(&holdup(&["import", &recorded, "-o", &part, "--thread", "2250"]));
    let findings = std::fs::read_to_string(Path::new(&out).join("findings.csv")).expect("is there");
    let first = findings.lines().nth(1).expect("a finding");
    assert!(first.starts_with("H1,driver-lock,") && first.contains(",cudaMemcpyAsync,"), "{first}");
    let explained = holdup(&["explain", &part]);
    let explained = String::from_utf8_lossy(&explained.stdout);
    assert!(explained.contains("waits for  thread 2249 in cudaMemcpyAsync"), "{explained}");
}

#[test]
fn an_export_is_no_trace() {
    let directory = directory();
    let (chrome, tables) = (within(&directory, "chrome.json"), within(&directory, "tables"));
    succeeds(&holdup(&["export", &example(), "--format", "chrome", "-o", &chrome]));
    succeeds(&holdup(&["export", &example(), "--format", "parquet", "-o", &tables]));
    refuses(&holdup(&["explain", &chrome]), "name the trace it was made from");
    refuses(&holdup(&["explain", &tables]), "not a file");
}

/// Writes a trace of threads that wait for the GIL, with their states and samples: no example has these.
fn write_host_trace(path: &Path) {
    use trace::*;
    let mut trace = Trace::default();
    let process = trace.processes.push(Process { pid: 9, ..Process::default() });
    let threads = [11, 12].map(|tid| trace.threads.push(Thread { process, tid, ..Thread::default() }));
    let names = ["main", "step", "libapp.so"].map(|name| trace.strings.intern(name));
    let mut stack = StackId::NONE;
    for function in [names[0], names[1]] {
        let frame = trace.frames.push(Frame { function, module: names[2], ..Frame::default() });
        stack = trace.stacks.push(Stack { frame, caller: stack });
    }
    for at in 0..50 {
        let (start, [thread, holder]) = (at * 1_000, threads);
        let (kind, layer) = (LockKind::Gil, LockLayer::Interpreter);
        let wait = Wait { start, end: start + 900, thread, kind, layer, lock: 64, ..Wait::default() };
        trace.waits.push(Wait { holder, releaser: holder, handoff: at, stack, ..wait });
        let running = at * 10;
        trace.states.push(State { start, end: start + 1_000, thread, running, ..State::default() });
        let stack = if at % 3 == 0 { StackId::NONE } else { stack };
        trace.samples.push(Sample { at: start, thread: holder, stack, state: ThreadState::Running });
    }
    write(&trace, std::fs::File::create(path).expect("can create")).expect("can write");
}

/// Perfetto's own package opens the export of every example and finds in it what holdup lists.
/// `HOLDUP_TEST_PERFETTO` names a Python that has the package `perfetto`; `.ci/run` makes one.
#[test]
fn perfetto_sees_what_the_trace_has() {
    let Some(python) = std::env::var_os("HOLDUP_TEST_PERFETTO") else {
        eprintln!(
            "not checked with Perfetto's own package: HOLDUP_TEST_PERFETTO names no Python that has it"
        );
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../export/tests/check_perfetto.py");
    let mut traces: Vec<_> = std::fs::read_dir(examples())
        .expect("readable")
        .map(|entry| entry.expect("readable").path())
        .collect();
    traces.retain(|path| {
        path.to_str().is_some_and(|path| path.ends_with(".holdup") || path.ends_with(".json.gz"))
    });
    traces.sort();
    let directory = directory();
    for trace in &mut traces {
        // A large example has the same again and again.
        if std::fs::metadata(&trace).expect("it is there").len() > 1_000_000 {
            let part = within(&directory, "part.holdup");
            succeeds(&holdup(&["import", trace.to_str().expect("UTF-8"), "-o", &part, "--to", "300ms"]));
            *trace = PathBuf::from(part);
        }
    }
    traces.push(directory.path().join("host.holdup"));
    write_host_trace(traces.last().expect("one"));
    let output = Command::new(python)
        .arg(script)
        .arg(env!("CARGO_BIN_EXE_holdup"))
        .args(&traces)
        .output()
        .expect("Python starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.lines().count(), traces.len());
}
