//! Bad input gets one line that says what, where and what to do, exit status 2, and leaves nothing
//! behind.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const ONE_CALL: &str = r#"{"schemaVersion": 1, "traceEvents": [
{"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 1, "tid": 2, "ts": 5, "dur": 900, "args": {"correlation": 1}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 2, "ts": 1000, "dur": 5, "args": {"correlation": 2}}
]}"#;

fn holdup(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    command.args(arguments).stdin(Stdio::null()).output().expect("the program starts")
}

fn piped(bytes: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    command.args(["explain", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    // A command that refuses at once reads no further.
    let _ = child.stdin.take().expect("piped").write_all(bytes);
    child.wait_with_output().expect("the program ends")
}

/// The one line of a refusal.
fn refusal(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    said
}

/// Every command refuses the file with a line that names it and holds `words`; `import` writes
/// nothing.
fn refused(file: &Path, words: &str) {
    let name = file.to_str().expect("UTF-8");
    let before = entries(file.parent().expect("in a directory"));
    let out = file.with_file_name("out.holdup");
    let out = out.to_str().expect("UTF-8");
    for arguments in [&["explain", name] as &[&str], &["stats", name], &["import", name, "-o", out]] {
        let said = refusal(&holdup(arguments));
        assert!(said.starts_with("holdup: ") && said.contains(name), "{said}");
        assert!(said.contains(words), "wanted {words:?}: {said}");
    }
    assert_eq!(entries(file.parent().expect("in a directory")), before, "something was left behind");
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> = std::fs::read_dir(directory)
        .expect("readable")
        .map(|entry| entry.expect("readable").path())
        .collect();
    entries.sort();
    entries
}

fn file(directory: &TempDir, bytes: &[u8]) -> PathBuf {
    let path = directory.path().join("input");
    std::fs::write(&path, bytes).expect("can write");
    path
}

fn directory() -> TempDir {
    tempfile::tempdir().expect("can create")
}

/// An empty SQLite database, as the library writes it: a page that says so.
fn empty_database() -> Vec<u8> {
    let mut page = vec![0u8; 4096];
    page[..16].copy_from_slice(b"SQLite format 3\0");
    // Page size, versions 1, payload fractions, one page, schema format 4, UTF-8.
    page[16..24].copy_from_slice(&[0x10, 0, 1, 1, 0, 64, 32, 32]);
    page[28..32].copy_from_slice(&1u32.to_be_bytes());
    page[44..48].copy_from_slice(&4u32.to_be_bytes());
    page[56..60].copy_from_slice(&1u32.to_be_bytes());
    // An empty leaf of a table's tree; cells start at the end of the page.
    page[100] = 13;
    page[105..107].copy_from_slice(&4096u16.to_be_bytes());
    page
}

#[test]
fn a_spool_of_another_version_is_no_all_clear() {
    let directory = directory();
    let spool = directory.path().join("spool");
    std::fs::create_dir(&spool).expect("can create");
    std::fs::write(spool.join("7-0.spool"), b"holdup\x001").expect("can write");
    refused(&spool, "the version that recorded it");
}

#[test]
fn whatever_is_no_trace_is_refused_with_a_remedy() {
    let directory = directory();
    let holdup = directory.path().join("whole.holdup");
    let (trace, whole) = (file(&directory, ONE_CALL.as_bytes()), holdup.to_str().expect("UTF-8"));
    assert!(self::holdup(&["import", trace.to_str().expect("UTF-8"), "-o", whole]).status.success());
    let archive = std::fs::read(&holdup).expect("readable");
    std::fs::remove_file(&holdup).expect("can remove");
    let cases: &[(&[u8], &str)] = &[
        (b"", "empty"),
        (b"  \n\n", "white space"),
        (b"\x7fELF\x02\x01\x01\0\0\0", "holdup record -- PROGRAM"),
        (&[0; 5000], "zero bytes"),
        (b"{\"schemaVersion\": 1, \"traceEv", "before any trace event"),
        (b"{\"name\": \"no trace\", \"list\": [1, 2]}", "without trace events"),
        (b"{\"traceEvents\" [", "byte 15"),
        (b"<?xml version=\"1.0\"?><nvvp/>", "XML"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
        (b"holdup\x001\0\0\0\0", "the version that recorded it"),
        (b"==1234== Profiling application\n", "nvprof --print-gpu-trace"),
        (b"==1234== Profiling result:\n   Start  Duration  Name\n", "without a readable row"),
        (b"Dear diary,\nnothing was traced.\n", "not a trace that holdup reads"),
        (&[0x1f, 0x8b, 8, 0], "gzip"),
        (&empty_database(), "without CUDA tables"),
        (&empty_database()[..1000], "SQLite"),
        (&archive[..archive.len() / 2], "archive"),
        (b"PK\x03\x04 not really", "archive"),
    ];
    for (bytes, words) in cases {
        refused(&file(&directory, bytes), words);
    }
}

#[test]
fn a_range_that_is_not_there_is_refused_with_names_that_are() {
    let directory = directory();
    let refused = |range: &str, name: &str| {
        let out = directory.path().join("out");
        let out = out.to_str().expect("UTF-8");
        let commands = [
            &["explain", name] as &[&str],
            &["stats", name],
            &["calls", name],
            &["ops", name],
            &["where", "cuda", name],
            &["import", name, "-o", out],
            &["export", name, "--format", "chrome", "-o", out],
        ];
        let said = commands.map(|arguments| {
            let output = holdup(&[arguments, &["--range", range]].concat());
            assert!(!Path::new(out).exists(), "{arguments:?}");
            refusal(&output)
        });
        assert!(said.iter().all(|line| *line == said[0]), "{said:?}");
        said[0].clone()
    };
    let ranges = r#"{"traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "forward", "pid": 1, "tid": 2, "ts": 0, "dur": 50},
{"ph": "X", "cat": "user_annotation", "name": "backward", "pid": 1, "tid": 2, "ts": 60, "dur": 50},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaMalloc", "pid": 1, "tid": 2, "ts": 5, "dur": 9, "args": {"correlation": 1}}
]}"#;
    let path = file(&directory, ranges.as_bytes());
    let said = refused("foward", path.to_str().expect("UTF-8"));
    assert!(said.contains("no range matches `foward`: try forward, backward"), "{said}");
    assert!(holdup(&["calls", path.to_str().expect("UTF-8"), "--range", "FORW"]).status.success());
    let path = file(&directory, ONE_CALL.as_bytes());
    assert!(refused("step", path.to_str().expect("UTF-8")).contains("the trace has no ranges"));
}

#[test]
fn what_cannot_be_opened_is_refused() {
    let directory = directory();
    refused(&directory.path().join("missing"), "No such file");
    let folder = directory.path().join("folder");
    std::fs::create_dir(&folder).expect("can create");
    refused(&folder, "directory");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let closed = file(&directory, ONE_CALL.as_bytes());
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o0)).expect("can close");
        // The superuser may read it all the same.
        if std::fs::File::open(&closed).is_err() {
            refused(&closed, "Permission denied");
        }
    }
}

#[test]
fn a_huge_hole_is_refused_at_once() {
    let directory = directory();
    let path = file(&directory, b"");
    std::fs::File::options()
        .write(true)
        .open(&path)
        .and_then(|file| file.set_len(5 << 30))
        .expect("sparse files");
    refused(&path, "sparse");
}

#[test]
fn a_cut_trace_is_read_as_far_as_it_goes_and_says_so() {
    let directory = directory();
    let cut = &ONE_CALL[..ONE_CALL.len() - 40];
    let output = holdup(&["explain", file(&directory, cut.as_bytes()).to_str().expect("UTF-8")]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 call ") && said.contains("the input ends early"), "{said}");
    assert!(said.contains("cudaDeviceSynchronize"), "{said}");
}

#[test]
fn standard_input_is_treated_like_a_file() {
    assert!(piped(ONE_CALL.as_bytes()).status.success());
    for (bytes, words) in [
        (b"" as &[u8], "empty"),
        (b"garbage", "not a trace that holdup reads"),
        (&[0x1f, 0x8b, 8, 0], "gzip"),
        (b"SQLite format 3\0", "name the file"),
    ] {
        let said = refusal(&piped(bytes));
        assert!(said.starts_with("holdup: ") && said.contains(words), "wanted {words:?}: {said}");
    }
}
