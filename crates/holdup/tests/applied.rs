//! The lines that apply fixes, and the program's own lines above them, in `holdup explain` as people run it.

use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

fn explained(trace: &Path, directory: &Path, form: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    let command = command.args(["explain", "--all"]).args(form).arg(trace).current_dir(directory);
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// How fixes of this id apply.
fn applied(trace: &Path, directory: &Path, id: &str) -> Vec<Value> {
    let explained = explained(trace, directory, &["--format", "json"]);
    let explained: Value = serde_json::from_str(&explained).expect("JSON");
    let findings = explained["findings"].as_array().expect("findings").iter();
    let fixes = findings.flat_map(|finding| finding["fixes"].as_array().expect("fixes"));
    fixes.filter(|fix| fix["id"] == id).map(|fix| fix["applied"].clone()).collect()
}

/// Line 128 of `record.py`, where the example's program filled a stream's queue.
fn source(directory: &Path, line: &str, modified: SystemTime) {
    let mut file = File::create(directory.join("record.py")).expect("a file");
    file.write_all(("\n".repeat(127) + line + "\n").as_bytes()).expect("written");
    file.set_modified(modified).expect("a time");
}

#[test]
fn the_programs_own_line_is_above_the_lines_that_change_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let trace = example("pytorch-queue-full.json.gz");
    let own = |applied: Vec<Value>| {
        let sources =
            applied.into_iter().filter(|one| one["where"]["line"] == 128).map(|one| one["source"].clone());
        let mut sources: Vec<Value> = sources.collect();
        // Several findings of the line have the fix.
        sources.dedup();
        sources
    };
    let read = || own(applied(&trace, directory.path(), "graph"));
    assert_eq!(read(), [Value::Null], "no file");
    let before = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    source(directory.path(), "    y = x + 1", before);
    assert_eq!(read(), ["y = x + 1"]);
    let text = explained(&trace, directory.path(), &[]);
    assert!(text.contains("graph           as in H1\n               record.py:128: y = x + 1\n"), "{text}");
    let page = explained(&trace, directory.path(), &["--format", "html"]);
    assert!(page.contains("record.py:128: y = x + 1</small><pre>graph = torch.cuda.CUDAGraph()"));
    source(directory.path(), "changed", SystemTime::now());
    assert_eq!(read(), [Value::Null], "a file that changed after the recording");
    std::fs::remove_file(directory.path().join("record.py")).expect("removed");
    std::fs::create_dir(directory.path().join("record.py")).expect("a directory in its place");
    assert_eq!(read(), [Value::Null], "a directory");
}

#[test]
fn forms_are_of_the_programs_framework() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let code = |name: &str, id: &str| {
        let all = applied(&example(name), here, id);
        all.first().map(|one| one["code"].as_str().unwrap_or_default().to_owned()).unwrap_or_default()
    };
    let torch = code("recorded-d2h-stall.holdup", "own-stream");
    assert!(torch.contains("torch.cuda.Stream()"), "{torch}");
    let profiled = code("pytorch-d2h-stall.json.gz", "pinned-reused");
    assert!(profiled.contains("pin_memory=True"), "{profiled}");
    let cuda = code("recorded-staggered-copies.holdup", "pinned-reused");
    assert!(cuda.contains("cudaMallocHost"), "{cuda}");
}

#[test]
fn the_first_screen_has_no_code() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    let trace = example("recorded-d2h-stall.holdup");
    let output = command.arg("explain").arg(&trace).output().expect("the program starts");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("torch.cuda"));
    assert!(explained(&trace, here, &[]).contains("with torch.cuda.stream(stream):"));
}
