//! `holdup digest`: a bad trace is a row, and a repeated command replaces its files.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const ONE_CALL: &str = r#"{"schemaVersion": 1, "distributedInfo": {"rank": 3, "world_size": 8}, "traceEvents": [
{"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 1, "tid": 2, "ts": 5, "dur": 900, "args": {"correlation": 1}}
]}"#;

fn holdup(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    command.current_dir(folder).args(arguments).stdin(Stdio::null());
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    holdup(folder, arguments).output().expect("the program starts")
}

/// The one line of a refusal.
fn refusal(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(output.stdout.is_empty() && said.lines().count() == 1, "{said}");
    said
}

/// The files of a folder, with what they hold.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(files(&path)),
            path => found.push((path.clone(), std::fs::read(path).expect("readable"))),
        }
    }
    found.sort();
    found
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("can create");
    let run = folder.path().join("monday");
    std::fs::create_dir(&run).expect("can create");
    std::fs::write(run.join("rank3.json"), ONE_CALL).expect("can write");
    std::fs::write(run.join("rank4.json"), "{").expect("can write");
    folder
}

#[test]
fn a_trace_that_cannot_be_read_is_a_row_and_a_repeated_command_replaces_its_files() {
    let folder = folder();
    let traces = ["digest", "monday/rank3.json", "monday/rank4.json", "-o", "digests"];
    let first = run(folder.path(), &traces);
    let (said, errors) = (
        String::from_utf8_lossy(&first.stdout).into_owned(),
        String::from_utf8_lossy(&first.stderr).into_owned(),
    );
    assert!(first.status.success() && said.starts_with("digests: 1 trace digested"), "{said}{errors}");
    assert!(said.contains("1 trace cannot be read: the digests have the errors"), "{said}");
    assert!(errors.starts_with("holdup: monday/rank4.json: ") && errors.lines().count() == 1, "{errors}");
    let made = files(&folder.path().join("digests"));
    assert_eq!(made.len(), 2);
    assert!(made.iter().all(|(path, bytes)| path.parent().unwrap().ends_with("run=monday") && bytes.starts_with(b"PAR1")));
    assert!(run(folder.path(), &traces).status.success());
    assert_eq!(files(&folder.path().join("digests")), made);
    // A list, as workers give it: the path, the trace's address, and what is wrong with it.
    let list = "monday/rank3.json\ts3://bucket/tuesday/rank3.json\ngone\ts3://bucket/tuesday/rank5.json\tno such object\n";
    std::fs::write(folder.path().join("list"), list).expect("can write");
    let listed = run(folder.path(), &["digest", "--list", "list", "-o", "others", "--format", "json"]);
    let printed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(printed.contains("\"unreadable\": 1") && printed.contains("run=tuesday/digests-"), "{printed}");
    // Only traces that cannot be read: the row is there, and the status says so.
    let none = run(folder.path(), &["digest", "monday/rank4.json", "-o", "none"]);
    assert_eq!((none.status.code(), files(&folder.path().join("none")).len()), (Some(2), 2));
}

#[test]
fn what_cannot_be_done_is_refused_before_the_work() {
    let folder = folder();
    let several = ["digest", "monday/rank3.json", "monday/rank4.json", "--rank", "1", "-o", "digests"];
    assert!(refusal(&run(folder.path(), &several)).contains("--rank is the rank of one trace"));
    std::fs::write(folder.path().join("empty"), "\n").expect("can write");
    let said = refusal(&run(folder.path(), &["digest", "--list", "empty", "-o", "digests"]));
    assert!(said.starts_with("holdup: empty: no traces to digest"), "{said}");
    assert!(refusal(&run(folder.path(), &["digest", "--list", "gone", "-o", "digests"])).contains("gone: "));
    assert!(
        refusal(&run(folder.path(), &["digest", "monday/rank3.json", "-o", "empty/x"])).contains("empty/x: ")
    );
    let said = refusal(&run(folder.path(), &["digest", "monday/rank3.json", "-o", "s3://bucket/x"]));
    assert!(said.contains("holdup.fleet.digest in Python"), "{said}");
    assert!(!folder.path().join("digests").exists());
}
