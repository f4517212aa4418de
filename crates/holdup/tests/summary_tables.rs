//! Summary tables of profilers as inputs of commands: `explain` judges them, all others refuse them in one line.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn table(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../summary/tests/tables/{name}.txt"))
}

fn holdup(arguments: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    // A command that refuses at once reads no further.
    let _ = child.stdin.take().expect("piped").write_all(input);
    child.wait_with_output().expect("the program ends")
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("output is UTF-8")
}

/// The one line of a refusal.
fn refusal(arguments: &[&str], input: &[u8]) -> String {
    let output = holdup(arguments, input);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    said
}

#[test]
fn tables_are_read_from_a_file_and_from_standard_input() {
    let path = table("julia-norm-waits");
    let name = path.to_str().expect("UTF-8");
    let of_file = printed(&holdup(&["explain", name], b""));
    let piped = printed(&holdup(&["explain", "-"], &std::fs::read(&path).unwrap()));
    for text in [of_file, piped] {
        assert!(text.contains("hidden-sync (likely)") && text.contains("2 × cudaMemcpyAsync"), "{text}");
        assert!(text.contains("holdup record -- julia PROGRAM.jl"), "{text}");
    }
    let unknown = printed(&holdup(&["explain", table("julia-norm-alone").to_str().unwrap()], b""));
    assert!(unknown.contains("cannot be told from this table"), "{unknown}");
}

#[test]
fn json_is_one_object_or_an_array_with_traces() {
    let tables = [table("nvprof-launch-queue"), table("torch-loader")].map(|path| path.display().to_string());
    let one: serde_json::Value =
        serde_json::from_str(&printed(&holdup(&["explain", &tables[0], "--format", "json"], b"")))
            .expect("JSON");
    assert_eq!(one["tables"][0]["verdict"]["id"], "queue-full");
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/pytorch-d2h-stall.json.gz");
    let arguments = ["explain", &tables[1], trace.to_str().unwrap(), "--format", "json"];
    let all: serde_json::Value = serde_json::from_str(&printed(&holdup(&arguments, b""))).expect("JSON");
    assert_eq!(
        (&all[0]["schema"], &all[1]["schema"]),
        (&"holdup/summary/1".into(), &"holdup/explain/1".into())
    );
}

#[test]
fn other_commands_say_that_explain_reads_it() {
    for name in
        ["julia-norm-waits", "nvprof-launch-queue", "nvprof-first-malloc", "nsys-malloc-free", "torch-loader"]
    {
        let path = table(name);
        let path = path.to_str().expect("UTF-8");
        for command in [&["stats", path] as &[&str], &["calls", path], &["whatif", path], &["view", path]] {
            let said = refusal(command, b"");
            assert!(
                said.contains("summary table") && said.contains("`holdup explain` reads its sums"),
                "{said}"
            );
        }
    }
}

#[test]
fn options_of_traces_are_refused() {
    let path = table("nsys-malloc-free");
    let path = path.to_str().expect("UTF-8");
    let cases: [(&[&str], &str); 3] = [
        (&["--format", "html"], "makes no page"),
        (&["--name", "cudaMalloc"], "no calls to select"),
        (&["--from", "0s"], "no calls to select"),
    ];
    for (options, words) in cases {
        let said = refusal(&[&["explain", path], options].concat(), b"");
        assert!(said.contains(words), "{said}");
    }
    let said = refusal(&["explain", path, "--fail-over", "1ms"], b"");
    assert!(said.contains("no findings for --fail-over"), "{said}");
}

#[test]
fn a_table_without_rows_is_refused_with_its_line() {
    let text = b"$ nvprof ./a.out\n\n            Type  Time(%)      Time     Calls       Avg       Min       Max  Name\n";
    let said = refusal(&["explain", "-"], text);
    assert!(said.starts_with("holdup: -: line 3: "), "{said}");
}

/// A text with a listing and a summary is the trace.
#[test]
fn a_listing_comes_first() {
    let listing = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../import/tests/data/printed/nvprof-merged-text/input.txt");
    let both =
        [std::fs::read(listing).unwrap(), std::fs::read(table("nvprof-launch-queue")).unwrap()].concat();
    let text = printed(&holdup(&["explain", "-"], &both));
    assert!(!text.contains("summary table"), "{text}");
}
