//! `holdup prove` as people run it: forms, verdicts, gates, refusals. The commands print what is measured, so that no test
//! depends on the machine's speed.
#![cfg(unix)]

use expect_test::{Expect, expect};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Measures `v=NUMBER`.
const METRIC: [&str; 2] = ["--metric", "v=([0-9.]+)"];

fn holdup(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    command.current_dir(directory).arg("prove").args(arguments).env_remove("NO_COLOR").stdin(Stdio::null());
    command
}

fn directory() -> TempDir {
    tempfile::tempdir().expect("can create")
}

fn prove(arguments: &[&str]) -> Output {
    holdup(directory().path(), arguments).output().expect("the program starts")
}

/// Compares scripts by the metric.
fn compare(options: &[&str], before: &str, after: &str) -> Output {
    let before = format!("sh -c '{before}'");
    prove(&[&METRIC, options, &["--against", &before, "--", "sh", "-c", after]].concat())
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)))
}

/// A refusal: status 2 and one line.
fn refuses(output: &Output, expected: Expect) {
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    expected.assert_eq(said);
}

/// A script that counts its runs in the file `runs`, as `n`, before the rest.
fn counting(rest: &str) -> String {
    format!("n=$(cat runs 2>/dev/null || echo 0); echo $((n + 1)) >runs; {rest}")
}

#[test]
fn text_has_the_gain_its_control_and_what_was_predicted() {
    let output = compare(&["--predicted", "15%"], "echo v=10", "echo v=12");
    assert!(output.status.success(), "{}", text(&output.stderr));
    expect![[r#"
        before     sh -c 'echo v=10'   median 10.00  (10.00 to 10.00)
        after      sh -c 'echo v=12'   median 12.00  (12.00 to 12.00)
        `v=([0-9.]+)`, more is better · 12 rounds · intervals of 95 %

        gain       after is better by 20.0 % (20.0 % to 20.0 %)
        control    before against itself: no difference shown (0 % to 0 %)
        outputs    before and after print the same
        predicted  15.0 %: measured 5.0 points more; the prediction is outside the interval
    "#]]
    .assert_eq(text(&output.stdout));
}

#[test]
fn markdown_has_a_table() {
    let output = compare(&["--format", "markdown", "--less-is-better"], "echo v=10", "echo v=12");
    expect![[r#"
        # Before and after

        |  | Command | Median | Least | Most |
        | --- | --- | ---: | ---: | ---: |
        | before | sh -c 'echo v=10' | 10.00 | 10.00 | 10.00 |
        | after | sh -c 'echo v=12' | 12.00 | 12.00 | 12.00 |

        \`v=(\[0-9.\]+)\`, less is better · 12 rounds · intervals of 95 %

        - gain: after is worse by 20.0 % (20.0 % to 20.0 %)
        - control: before against itself: no difference shown (0 % to 0 %)
        - outputs: before and after print the same
    "#]]
    .assert_eq(text(&output.stdout));
}

#[test]
fn json_has_values_and_commands() {
    let options = ["--format", "json", "--with", "A=2", "--with", "B=x y", "--", "sh", "-c"];
    let proof = json(&prove(&[&METRIC[..], &options, &["echo v=$((10 + ${A:-0}))"]].concat()));
    assert_eq!(proof["schema"], "holdup/prove/1");
    assert_eq!((&proof["verdict"], &proof["rounds"]), (&Value::from("faster"), &Value::from(12)));
    assert!((proof["gain"]["share"].as_f64().expect("a number") - 0.2).abs() < 1e-9);
    assert_eq!(proof["arms"][0]["values"], Value::from(vec![10.0; 12]));
    assert_eq!(proof["arms"][0]["environment"], serde_json::json!({}));
    assert_eq!(proof["arms"][1]["values"], Value::from(vec![12.0; 12]));
    assert_eq!(proof["arms"][1]["environment"], serde_json::json!({"A": "2", "B": "x y"}));
    assert_eq!(proof["outputs_agree"], true, "the metric's line does not count");
    assert_eq!((&proof["predicted"], &proof["partial"]), (&Value::Null, &Value::from(false)));
}

#[test]
fn wall_time_is_measured_in_nanoseconds() {
    let proof = json(&prove(&["--format", "json", "--rounds", "4", "--with", "A=1", "--", "true"]));
    assert_eq!((&proof["metric"], &proof["unit"]), (&Value::from("wall"), &Value::from("ns")));
    assert_eq!((&proof["rounds"], &proof["less_is_better"]), (&Value::from(4), &Value::from(true)));
    let values = proof["arms"][1]["values"].as_array().expect("values");
    assert!(values.iter().all(|value| value.as_f64().is_some_and(|ns| ns > 1_000.0)), "{values:?}");
}

#[test]
fn both_commands_run_by_turns_and_warm_up() {
    let directory = directory();
    let script = "echo $SIDE >>order; echo v=1";
    let mut command =
        holdup(directory.path(), &[&METRIC[..], &["--rounds", "8", "--with", "SIDE=b"]].concat());
    let output =
        command.args(["--", "sh", "-c", script]).env("SIDE", "a").output().expect("the program starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let order = std::fs::read_to_string(directory.path().join("order")).expect("the commands ran");
    assert_eq!(order.replace('\n', ""), "ab abba baab baab abba".replace(' ', ""));
}

/// Otherwise one of them is faster: benches/prove.sh shows it.
#[test]
fn both_commands_get_their_variables_in_the_same_order() {
    let options =
        ["--metric", "SIDE=([0-9])", "--format", "json", "--rounds", "4", "--with", "SIDE=2", "--", "env"];
    // `env` appends variables in this order, which no sort gives.
    let variables = ["ZZ=1", "AA=1", "SIDE=1", env!("CARGO_BIN_EXE_holdup"), "prove"];
    let output = Command::new("env").args(variables).args(options).output().expect("the program starts");
    assert_eq!(json(&output)["outputs_agree"], true, "{}", text(&output.stdout));
}

#[test]
fn a_gain_under_the_limit_is_status_1() {
    let gate = |limit: &str, after: &str| compare(&["--fail-under", limit], "echo v=100", after);
    assert_eq!(gate("3%", "echo v=104").status.code(), Some(0));
    assert_eq!(gate("-2%", "echo v=99").status.code(), Some(0));
    let output = gate("3%", "echo v=102");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("after is better by 2.0 %"));
    expect![[r#"
        holdup: after `sh -c 'echo v=102'`: the gain is 2.0 % and may be as low as 2.0 %, under the limit of 3.0 %
    "#]]
    .assert_eq(text(&output.stderr));
}

#[test]
fn a_machine_that_drifts_is_not_steady() {
    let directory = directory();
    let script = counting("echo v=$((1000 + 20 * n))");
    let options = [&METRIC[..], &["--format", "json", "--with", "A=1", "--", "sh", "-c", &script]].concat();
    let proof = json(&holdup(directory.path(), &options).output().expect("the program starts"));
    assert_eq!((&proof["verdict"], &proof["certain"]), (&Value::from("unsteady"), &Value::from(false)));
    assert!(proof["control"]["low"].as_f64().is_some_and(|low| low > 0.0), "{proof:#}");
    // A gain beyond the drift stays one.
    let script = counting("echo v=$(((1000 + 20 * n) * ${A:-1}))");
    let options = [&METRIC[..], &["--with", "A=3", "--", "sh", "-c", &script]].concat();
    let output = holdup(directory.path(), &options).output().expect("the program starts");
    let said = text(&output.stdout);
    assert!(
        said.contains("likely, not certain") && said.contains("before against itself: its second run"),
        "{said}"
    );
}

#[test]
fn different_outputs_are_reported() {
    let output = compare(&[], "echo same; echo 1; echo v=1", "echo v=1; echo same; echo 2");
    assert!(output.status.success());
    let said = text(&output.stdout);
    assert!(
        said.contains("DIFFERENT: before and after do not print the same; line 2: `1` (before), `2` (after)"),
        "{said}"
    );
    let proof = json(&compare(&["--format", "json"], "echo x; echo v=1", "echo v=1"));
    assert_eq!(proof["outputs_agree"], false);
    assert_eq!(proof["outputs_differ"], serde_json::json!({"line": 1, "first": "x", "other": null}));
}

#[test]
fn outputs_that_vary_by_themselves_are_not_compared() {
    let directory = directory();
    let script = counting("echo run $n; echo v=1");
    for (form, expected) in
        [("text", "cannot be compared: before does not print the same"), ("json", "\"outputs_agree\": null")]
    {
        let options = ["--format", form, "--with", "A=1", "--", "sh", "-c", &script];
        let output = holdup(directory.path(), &[&METRIC[..], &options].concat()).output().expect("it starts");
        assert!(text(&output.stdout).contains(expected), "{}", text(&output.stdout));
    }
}

#[test]
fn a_file_is_written_and_replaced_only_on_request() {
    let directory = directory();
    let output = |more: &[&str]| {
        let options = [
            &METRIC[..],
            more,
            &["-o", "proof.json", "--format", "json", "--with", "A=1", "--", "echo", "v=1"],
        ];
        holdup(directory.path(), &options.concat()).output().expect("the program starts")
    };
    let written = output(&[]);
    assert_eq!((written.status.code(), text(&written.stdout)), (Some(0), ""));
    let file = std::fs::read(directory.path().join("proof.json")).expect("it is there");
    assert_eq!(serde_json::from_slice::<Value>(&file).expect("JSON")["verdict"], "no-difference");
    refuses(
        &output(&[]),
        expect![[r#"
        holdup: proof.json: already exists: name another file, or replace it with --force
    "#]],
    );
    assert!(output(&["--force"]).status.success());
}

#[test]
fn wrong_options_are_refused_before_anything_runs() {
    let directory = directory();
    let touch = ["--", "touch", "ran"];
    let cases: [(&[&str], Expect); 9] = [
        (
            &[],
            expect![[r#"
            holdup: nothing to compare with: name the command before the change with --against, or a variable with --with
        "#]],
        ),
        (
            &["--with", "A"],
            expect![[r#"
            holdup: --with `A`: not a variable: write it like NAME=VALUE
        "#]],
        ),
        (
            &["--against", "a 'b"],
            expect![[r#"
            holdup: --against `a 'b`: a quote is not closed: quote the command as for a shell
        "#]],
        ),
        (
            &["--against", " "],
            expect![[r#"
            holdup: --against ` `: no command: write a program and its arguments
        "#]],
        ),
        (
            &["--against", "no-such-program"],
            expect![[r#"
            holdup: before `no-such-program`: no such program: check the name
        "#]],
        ),
        (
            &["--with", "A=1", "--metric", "("],
            expect![[r#"
            holdup: --metric `(`: not a regular expression: found open group without closing ')'
        "#]],
        ),
        (
            &["--with", "A=1", "--metric", "v=1"],
            expect![[r#"
            holdup: --metric `v=1`: 0 groups: put parentheses around the number, and write other groups as (?:…)
        "#]],
        ),
        (
            &["--with", "A=1", "--metric", "(v)=(1)"],
            expect![[r#"
            holdup: --metric `(v)=(1)`: 2 groups: put parentheses around the number, and write other groups as (?:…)
        "#]],
        ),
        (
            &["--with", "A=1", "-o", "no/such/folder"],
            expect![[r#"
            holdup: no/such/folder: cannot be written: No such file or directory: check the name
        "#]],
        ),
    ];
    for (options, expected) in cases {
        let output = holdup(directory.path(), &[options, &touch].concat()).output().expect("it starts");
        refuses(&output, expected);
    }
    assert!(!directory.path().join("ran").exists());
    refuses(
        &prove(&["--with", "A=1", "--", "no-such-program"]),
        expect![[r#"
        holdup: before `no-such-program`: no such program: check the name
    "#]],
    );
    for wrong in ["--rounds=3", "--precision=1", "--fail-under=0.1", "--predicted=x%", "--timeout=0s"] {
        assert_eq!(prove(&[wrong, "--with", "A=1", "--", "true"]).status.code(), Some(2), "{wrong}");
    }
}

#[test]
fn a_command_that_fails_ends_it_in_one_line() {
    refuses(
        &compare(&[], "echo v=1", "echo first >&2; echo the reason >&2; exit 3"),
        expect![[r#"
        holdup: after `sh -c 'echo first >&2; echo the reason >&2; exit 3'`: ended with exit status 3 (the reason): run it by itself first
    "#]],
    );
    refuses(
        &compare(&[], "kill -KILL $$", "echo v=1"),
        expect![[r#"
        holdup: before `sh -c 'kill -KILL $$'`: ended by signal 9 (SIGKILL): run it by itself first
    "#]],
    );
    refuses(
        &prove(&["--timeout", "50ms", "--with", "A=1", "--", "sleep", "100"]),
        expect![[r#"
        holdup: before `sleep 100`: still ran after 0.05 s: raise --timeout
    "#]],
    );
}

#[test]
fn a_metric_is_a_positive_number_on_both_sides() {
    refuses(
        &compare(&[], "echo v=1", "echo w=1"),
        expect![[r#"
        holdup: after `sh -c 'echo w=1'`: printed nothing that matches `v=([0-9.]+)`: check --metric
    "#]],
    );
    refuses(
        &compare(&[], "echo v=0.0", "echo v=1"),
        expect![[r#"
        holdup: before `sh -c 'echo v=0.0'`: printed 0.0 for `v=([0-9.]+)`: only numbers above 0 have a ratio
    "#]],
    );
    refuses(
        &compare(&[], "echo v=1", "echo v=1.2.3"),
        expect![[r#"
        holdup: after `sh -c 'echo v=1.2.3'`: printed `1.2.3` for `v=([0-9.]+)`, which is not a number: check --metric
    "#]],
    );
}

/// Runs a script that creates `ready` and then goes on for long, in the run of that number, and interrupts it there: with a signal that
/// nobody ignores, as a shell's background does SIGINT.
fn interrupted(run: u32) -> (TempDir, Output) {
    let directory = directory();
    let script = counting(&format!(
        "echo v=1; if [ $n = {run} ]; then sleep 100 & echo $! >child; touch ready; wait; fi"
    ));
    let options = ["--format", "json", "--with", "A=1", "--", "sh", "-c", &script];
    let mut command = holdup(directory.path(), &[&METRIC[..], &options].concat());
    let holdup = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let started = Instant::now();
    while !directory.path().join("ready").exists() {
        assert!(started.elapsed() < Duration::from_secs(60), "the run does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    let sent = Command::new("kill").args(["-TERM", &holdup.id().to_string()]).status();
    assert!(sent.expect("kill is there").success());
    let output = holdup.wait_with_output().expect("it ends");
    let child = std::fs::read_to_string(directory.path().join("child")).expect("its number");
    let alive = Command::new("kill").args(["-0", child.trim()]).stderr(Stdio::null()).status();
    assert!(!alive.expect("kill is there").success(), "a process is left");
    (directory, output)
}

#[test]
fn an_interrupt_prints_what_is_there_and_leaves_no_process() {
    // Two warm-ups, two blocks, and half of a third one.
    let (_directory, output) = interrupted(12);
    let proof = json(&output);
    assert_eq!((&proof["partial"], &proof["rounds"]), (&Value::from(true), &Value::from(4)));
    assert_eq!(output.status.code(), Some(2));
    expect![[r#"
        holdup: interrupted after 4 rounds; the results are partial
    "#]]
    .assert_eq(text(&output.stderr));
    let (_directory, output) = interrupted(6);
    refuses(
        &output,
        expect![[r#"
        holdup: interrupted after 6 runs: too few to judge
    "#]],
    );
}
