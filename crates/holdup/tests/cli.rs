//! The program as a shell sees it: exit status, standard output, one line on standard error.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;
use trace::{Api, Call, Op, OpKind, Process, ProcessId, Thread, ThreadId, Trace};

fn holdup(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    command.args(arguments).stdin(Stdio::null()).env_remove("NO_COLOR");
    command
}

fn run(arguments: &[&str]) -> Output {
    holdup(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("output is UTF-8")
}

/// A program with `calls` launches of 2 µs, as a file.
fn sample(directory: &TempDir, calls: i64) -> PathBuf {
    let mut trace = Trace::default();
    let process = trace.processes.push(Process { pid: 42, ..Process::default() });
    assert_eq!(process, ProcessId::new(0));
    let thread = trace.threads.push(Thread { process, tid: 7, ..Thread::default() });
    assert_eq!(thread, ThreadId::new(0));
    let (launch, kernel) = (trace.strings.intern("cudaLaunchKernel"), trace.strings.intern("saxpy"));
    for at in 0..calls {
        let (start, correlation) = (at * 10_000, at + 1);
        let end = start + 2_000;
        let api = Api::Runtime;
        trace.calls.push(Call { start, end, thread, api, name: launch, correlation, ..Call::default() });
        trace.ops.push(Op {
            start: end,
            end: end + 5_000,
            kind: OpKind::Kernel,
            name: kernel,
            ..Op::default()
        });
    }
    let path = directory.path().join("sample.holdup");
    trace::write(&trace, std::fs::File::create(&path).expect("can create")).expect("can write");
    path
}

fn directory() -> TempDir {
    tempfile::tempdir().expect("can create")
}

/// Exit status 2, nothing on standard output, one line on standard error.
fn refuses(output: &Output) -> &str {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(text(&output.stdout), "");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("holdup: "), "{said}");
    said
}

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn wrong_usage_is_status_2() {
    let cases: [&[&str]; 8] = [
        &[],
        &["explain"],
        &["frobnicate"],
        &["explain", "x", "--format", "pdf"],
        &["explain", "x", "--min-wait", "soon"],
        &["calls", "x", "--from", "-1s"],
        &["where", "x"],
        &["import", "x"],
    ];
    for arguments in cases {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
    }
    refuses(&run(&["stats", "x", "--from", "2s", "--to", "1s"]));
}

#[test]
fn a_choice_of_nothing_is_no_all_clear() {
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/pytorch-d2h-stall.json.gz");
    let problem = "nothing in the trace, which lasts 1.25 s, matches the selection: change --from, ";
    for verb in [
        &["explain"][..],
        &["explain", "--fail-over", "1ms"],
        &["stats"],
        &["calls"],
        &["ops"],
        &["where", "launch"],
    ] {
        let output = run(&[verb, &[trace, "--from", "2s"]].concat());
        let said = refuses(&output);
        assert!(said.contains(problem), "{verb:?}: {said}");
        let all = run(&[verb, &[trace, "--from", "1s"]].concat());
        assert_ne!(all.status.code(), Some(2), "{verb:?}: {}", text(&all.stderr));
    }
    for (choice, problem) in [
        (["--thread", "nobody"], "no thread matches `nobody`: try "),
        (["--name", "cudaLunch"], "no call, operation or range matches `cudaLunch`: try cudaLaunchKernel, "),
    ] {
        for verb in ["explain", "calls", "stats"] {
            let output = run(&[verb, trace, choice[0], choice[1]]);
            let said = refuses(&output);
            assert!(said.contains(problem), "{said}");
        }
    }
}

#[test]
fn a_trace_without_calls_does_not_pass_the_gate() {
    let directory = directory();
    let empty = directory.path().join("empty.json");
    std::fs::write(&empty, r#"{"schemaVersion": 1, "traceEvents": []}"#).expect("can write");
    let output = run(&["explain", path(&empty), "--fail-over", "1ms"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    let said = text(&output.stderr);
    assert!(said.contains("no calls for --fail-over to judge: record "), "{said}");
}

#[test]
fn help_has_examples() {
    for verb in [
        "record", "explain", "diff", "prove", "view", "stats", "calls", "ops", "where", "import", "export",
        "devices", "doctor",
    ] {
        let output = run(&[verb, "--help"]);
        assert_eq!(output.status.code(), Some(0));
        assert!(text(&output.stdout).contains(&format!("\n  holdup {verb} ")), "{verb}");
        let long = text(&output.stdout).lines().find(|line| line.chars().count() > 100);
        assert_eq!(long, None, "{verb}");
        // What is copied to a shell stays whole on 80 columns.
        let mut examples = text(&output.stdout).lines().filter(|line| line.starts_with("  holdup "));
        assert_eq!(examples.find(|line| line.chars().count() > 80), None, "{verb}");
    }
    assert!(text(&run(&["--version"]).stdout).starts_with("holdup 0."));
}

#[test]
fn unreadable_input_is_status_2_and_one_line() {
    let directory = directory();
    let missing = directory.path().join("missing\nfile.json");
    let empty = directory.path().join("empty.json");
    std::fs::write(&empty, "").expect("can write");
    for verb in [&["explain"][..], &["stats"], &["calls"], &["ops"], &["where", "x"]] {
        for input in [&missing, &empty, &directory.path().to_owned()] {
            let mut arguments = verb.to_vec();
            arguments.push(path(input));
            let output = run(&arguments);
            let said = refuses(&output);
            assert!(said.split(": ").count() >= 4, "the program, where, what and what to do: {said}");
        }
    }
    assert!(refuses(&run(&["stats", path(&missing)])).contains("No such file or directory: check the name"));
}

#[test]
fn one_unreadable_trace_does_not_hide_the_others() {
    let directory = directory();
    let good = sample(&directory, 3);
    let output = run(&["explain", "/nonexistent", path(&good)]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stdout).contains("no call took longer than 100 µs"), "{}", text(&output.stdout));
    assert_eq!(text(&output.stderr).lines().count(), 1);
}

#[test]
fn several_traces_are_one_json_array() {
    let directory = directory();
    let good = sample(&directory, 3);
    let one = run(&["explain", "--format", "json", path(&good)]);
    let one: serde_json::Value = serde_json::from_slice(&one.stdout).expect("JSON");
    assert_eq!(one["trace"]["path"], path(&good));
    let two = run(&["explain", "--format", "json", path(&good), path(&good)]);
    let two: serde_json::Value = serde_json::from_slice(&two.stdout).expect("JSON");
    assert_eq!(two.as_array().map(Vec::len), Some(2));
}

#[test]
fn standard_input_is_a_trace() {
    let directory = directory();
    let input = std::fs::File::open(sample(&directory, 3)).expect("can open");
    let output = holdup(&["stats", "-"]).stdin(input).output().expect("starts");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("standard input   holdup · "));
}

#[test]
fn tables_and_listings() {
    let directory = directory();
    let trace = sample(&directory, 3);
    let trace = path(&trace);
    let stdout = |arguments: &[&str]| {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout).to_owned()
    };
    assert!(stdout(&["stats", trace]).contains("│ saxpy │"));
    assert_eq!(stdout(&["calls", trace, "--format", "csv"]).lines().count(), 1 + 3);
    assert_eq!(stdout(&["calls", trace, "--format", "csv", "--from", "11us"]).lines().count(), 1 + 2);
    assert_eq!(stdout(&["ops", trace, "--format", "json", "--name", "SAX"]).lines().count(), 3);
    assert!(stdout(&["where", "launch", trace]).contains("3 × cudaLaunchKernel took 6.00 µs"));
    assert!(!stdout(&["explain", trace]).contains('\x1b'), "plain when not a terminal");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let directory = directory();
    let trace = sample(&directory, 20_000);
    let mut child = holdup(&["calls", path(&trace)])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut first = [0; 64];
    child.stdout.take().expect("piped").read_exact(&mut first).expect("has output");
    let output = child.wait_with_output().expect("ends");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

#[test]
fn import_writes_whole_files_only() {
    let directory = directory();
    let trace = sample(&directory, 3);
    let out = directory.path().join("out.holdup");
    let import = |input: &str, more: &[&str]| run(&[&["import", input, "-o", path(&out)], more].concat());
    let entries = || std::fs::read_dir(directory.path()).expect("can list").count();

    refuses(&import("/nonexistent", &[]));
    refuses(&import(path(directory.path()), &[]));
    assert_eq!(entries(), 1, "nothing is left behind");

    assert_eq!(import(path(&trace), &[]).status.code(), Some(0));
    let written = std::fs::read(&out).expect("is there");
    assert_eq!(trace::read(&written).expect("reads back").calls.len(), 3);

    let again = import(path(&trace), &[]);
    assert!(refuses(&again).contains("--force"));
    refuses(&import("/nonexistent", &["--force"]));
    assert_eq!(std::fs::read(&out).expect("is there"), written, "a failure changes nothing");
    assert_eq!(import(path(&trace), &["--force"]).status.code(), Some(0));
    assert_eq!(entries(), 2);
    refuses(&run(&["import", path(&trace), "-o", "/nonexistent/out.holdup"]));
}

#[test]
fn every_shell_gets_completions() {
    for (shell, sign) in [
        ("bash", "complete -F _holdup"),
        ("zsh", "#compdef holdup"),
        ("fish", "complete -c holdup"),
        ("elvish", "edit:completion:arg-completer[holdup]"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let output = run(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0));
        let script = text(&output.stdout);
        assert!(script.contains(sign) && script.contains("fail-over"), "{shell}");
    }
    assert_eq!(run(&["completions", "tcsh"]).status.code(), Some(2));
}

#[test]
fn every_command_has_a_manual_page() {
    for (command, sign) in [
        (&["man"][..], ".TH holdup 1"),
        (&["man", "explain"], ".TH holdup-explain 1"),
        (&["man", "lab", "run"], ".TH holdup-lab-run 1"),
    ] {
        let output = run(command);
        assert_eq!(output.status.code(), Some(0));
        assert!(text(&output.stdout).contains(sign), "{}", text(&output.stdout));
    }
    assert!(text(&run(&["man", "explain"]).stdout).contains("fail\\-over"));
    let said = run(&["man", "lab", "walk"]);
    assert!(
        refuses(&said)
            .contains("`holdup lab` has no command `walk`: expected one of list, run, show, calibrate")
    );
}

#[test]
fn listings_sort_and_stop() {
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/pytorch-d2h-stall.json.gz");
    for verb in ["calls", "ops"] {
        let rows = |more: &[&str]| -> Vec<String> {
            let output = run(&[&[verb, trace, "--format", "csv"], more].concat());
            text(&output.stdout).lines().skip(1).map(str::to_owned).collect()
        };
        let duration =
            |row: &String| -> i64 { row.split(',').nth(1).expect("a column").parse().expect("ns") };
        let all = rows(&[]);
        assert_eq!(rows(&["--top", "3"]), all[..3]);
        let longest = rows(&["--sort", "duration", "--top", "3"]);
        assert_eq!(longest.len(), 3);
        assert_eq!(Some(duration(&longest[0])), all.iter().map(duration).max());
        assert!(longest.is_sorted_by_key(|row| -duration(row)));
        let mut sorted = rows(&["--sort", "name"]);
        let mut every = all.clone();
        sorted.sort();
        every.sort();
        assert_eq!(sorted, every);
    }
}

#[test]
fn tables_of_stats_have_as_many_rows_as_asked() {
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/pytorch-d2h-stall.json.gz");
    let output = run(&["stats", trace, "--top", "1"]);
    assert!(text(&output.stdout).contains("\nand "), "{}", text(&output.stdout));
    let all = run(&["stats", trace, "--top", "0"]);
    assert!(!text(&all.stdout).contains("\nand "), "{}", text(&all.stdout));
}
