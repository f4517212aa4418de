//! `holdup case` as a shell sees it: what is written, what is refused, and that nothing is left half-written.

#[path = "support/folder.rs"]
mod folder;

use folder::entries;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// `holdup` in a directory.
fn holdup(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    command.args(arguments).current_dir(directory).stdin(Stdio::null()).output().expect("the program starts")
}

fn example(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .join(name)
        .to_str()
        .expect("UTF-8")
        .to_owned()
}

fn stall() -> String {
    example("recorded-d2h-stall.holdup")
}

fn directory() -> TempDir {
    tempfile::tempdir().expect("can create")
}

/// Output of a command that succeeds.
fn succeeds(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Exit status 2, nothing on standard output, one line on standard error with these words, and nothing written.
fn refuses(directory: &Path, arguments: &[&str], words: &str) {
    let before = entries(directory);
    let output = holdup(directory, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(said.starts_with("holdup: ") && said.lines().count() == 1, "{said}");
    assert!(said.contains(words), "wanted {words:?}: {said}");
    assert_eq!(entries(directory), before, "{arguments:?}");
}

const FILES: [&str; 3] = ["case.md", "reproduction.toml", "trace.holdup"];

#[test]
fn a_folder_has_the_three_files() {
    let directory = directory();
    let said = succeeds(&holdup(directory.path(), &["case", &stall()]));
    assert!(
        said.ends_with(
            "recorded-d2h-stall-case: case.md, reproduction.toml, trace.holdup; names are replaced\n"
        ),
        "{said}"
    );
    assert_eq!(entries(directory.path()), ["recorded-d2h-stall-case"]);
    let folder = directory.path().join("recorded-d2h-stall-case");
    assert_eq!(entries(&folder), FILES);
    let report = std::fs::read_to_string(folder.join("case.md")).expect("is there");
    for heading in ["Environment", "Finding", "Evidence", "Ruled out", "Reproduce", "Trace", "Privacy"] {
        assert!(report.contains(&format!("\n## {heading}\n")), "{heading}: {report}");
    }
    for arguments in [
        &["lab", "run", "reproduction.toml", "--on", "sim:h200", "--trace", "run.holdup"] as &[&str],
        &["explain", "run.holdup"],
        &["explain", "trace.holdup"],
    ] {
        let said = succeeds(&holdup(&folder, arguments));
        assert!(
            arguments[0] == "lab" || said.contains("calls wait for the driver's lock"),
            "{arguments:?}: {said}"
        );
    }
}

#[test]
fn an_archive_has_the_same_files() {
    let directory = directory();
    succeeds(&holdup(directory.path(), &["case", &stall(), "-o", "folder"]));
    succeeds(&holdup(directory.path(), &["case", &stall(), "-o", "case.zip"]));
    let bytes = std::fs::read(directory.path().join("case.zip")).expect("is there");
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).expect("an archive");
    assert_eq!(archive.len(), FILES.len());
    for name in ["case.md", "reproduction.toml"] {
        let mut text = String::new();
        archive.by_name(name).expect("is in it").read_to_string(&mut text).expect("UTF-8");
        let file = std::fs::read_to_string(directory.path().join("folder").join(name)).expect("is there");
        assert_eq!(text, file, "{name}");
    }
}

#[test]
fn what_is_there_is_only_replaced_if_that_is_wanted() {
    let directory = directory();
    for out in ["folder", "case.zip"] {
        succeeds(&holdup(directory.path(), &["case", &stall(), "-o", out]));
        refuses(directory.path(), &["case", &stall(), "-o", out], "already exists");
        succeeds(&holdup(directory.path(), &["case", &stall(), "-o", out, "--force"]));
    }
    std::fs::write(directory.path().join("folder/mine"), "").expect("can write");
    refuses(directory.path(), &["case", &stall(), "-o", "folder", "--force"], "holds other files");
}

#[test]
fn names_are_only_kept_if_that_is_wanted() {
    let directory = directory();
    let report = |arguments: &[&str]| {
        succeeds(&holdup(
            directory.path(),
            &[&["case", &stall(), "--force", "-o", "case"], arguments].concat(),
        ));
        std::fs::read_to_string(directory.path().join("case/case.md")).expect("is there").replace('\\', "")
    };
    assert!(!report(&[]).contains("d2h_stall.py"));
    assert!(report(&["--names"]).contains("d2h_stall.py"));
}

#[test]
fn bad_input_leaves_nothing_behind() {
    let directory = directory();
    std::fs::write(directory.path().join("no-trace.txt"), "hello").expect("can write");
    refuses(directory.path(), &["case", "none.holdup"], "none.holdup");
    refuses(directory.path(), &["case", "no-trace.txt"], "no-trace.txt");
    refuses(directory.path(), &["case", &stall(), "--finding", "H99"], "no finding H99: it has ");
    refuses(directory.path(), &["case", &stall(), "--finding", "first"], "expected H1, H2");
    refuses(
        directory.path(),
        &["case", &stall(), "-o", "no-folder/case"],
        "no-folder/case: cannot be written",
    );
}

#[test]
fn a_trace_without_findings_gives_no_report() {
    let directory = directory();
    let trace: PathBuf = directory.path().join("quiet.json");
    let one_call = r#"{"schemaVersion": 1, "traceEvents": [
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 2, "ts": 5, "dur": 3, "args": {"correlation": 1}},
{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 9, "dur": 900, "args": {"correlation": 1, "device": 0, "stream": 7}}
]}"#;
    std::fs::write(&trace, one_call).expect("can write");
    let said = succeeds(&holdup(directory.path(), &["case", "quiet.json"]));
    assert_eq!(said, "quiet.json: no findings: nothing to report\n");
    assert_eq!(entries(directory.path()), ["quiet.json"]);
}
