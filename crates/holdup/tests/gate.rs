//! `holdup diff --gate` on simulated programs: the same program passes, whatever it runs on, and what is planted is red.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

const BASE: &str = include_str!("data/gate/steps.toml");
const MODELS: [&str; 3] = ["h200", "p100", "k20c"];
const LAUNCH: &str = "  { launch";

/// What is planted into the loop, where, and the gate and cause that must be red.
const PLANTS: [(&str, &str, &str); 4] = [
    ("  { synchronize = \"s\" },\n", "synchronizations", "explicit-sync"),
    ("  { copy = [\"pageable\", \"x\"], stream = \"s\" },\n", "pageable-copies", "pageable-staging"),
    ("  { allocate = \"temporary\" }, { free = \"temporary\" },\n", "allocations", "allocation"),
    ("  { sleep = \"20 ms\" },\n", "gpu-idle", "not-recorded"),
];

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_holdup")).args(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

/// Runs a workload on a model; returns its trace.
fn simulated(directory: &TempDir, name: &str, model: &str, workload: &str) -> PathBuf {
    let [file, trace] = ["toml", "holdup"].map(|end| directory.path().join(format!("{name}-{model}.{end}")));
    std::fs::write(&file, workload).expect("can write");
    let on = format!("sim:{model}");
    let output = run(&["lab", "run", path(&file), "--on", &on, "--trace", path(&trace)]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    trace
}

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn gate(before: &Path, after: &Path, more: &[&str]) -> (Option<i32>, serde_json::Value) {
    let output = run(&[&["diff", path(before), path(after), "--gate", "--format", "json"], more].concat());
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    (output.status.code(), json["gate"].clone())
}

/// The gates in a state.
fn in_state(gate: &serde_json::Value, state: &str) -> Vec<String> {
    let gates = gate["gates"].as_array().expect("a list").iter();
    gates
        .filter(|gate| gate["state"] == state)
        .map(|gate| gate["gate"].as_str().expect("text").to_owned())
        .collect()
}

#[test]
fn the_same_program_passes_with_other_numbers_of_steps_and_on_other_gpus() {
    let directory = tempfile::tempdir().expect("can create");
    let longer = BASE.replace("repeat = 60", "repeat = 90");
    let traces = MODELS.map(|model| {
        [("base", BASE), ("longer", &longer)]
            .map(|(name, workload)| simulated(&directory, name, model, workload))
    });
    for [base, longer] in &traces {
        for (before, after) in [(base, base), (base, longer), (longer, base)] {
            let (status, gate) = gate(before, after, &[]);
            assert_eq!((status, in_state(&gate, "passed").len()), (Some(0), 6), "{gate:#}");
        }
    }
    for (before, after) in [(0, 1), (1, 0), (2, 0)] {
        let (status, gate) = gate(&traces[before][0], &traces[after][0], &["--fail-over", "5%"]);
        assert_eq!(status, Some(0), "{gate:#}");
        assert_eq!(in_state(&gate, "inconclusive"), ["gpu-idle", "gpu-held-back", "time"], "{gate:#}");
    }
}

#[test]
fn what_is_planted_is_red() {
    let directory = tempfile::tempdir().expect("can create");
    for model in MODELS {
        let base = simulated(&directory, "base", model, BASE);
        for (plant, expected, cause) in PLANTS {
            let workload = BASE.replacen(LAUNCH, &format!("{plant}{LAUNCH}"), 1);
            let planted = simulated(&directory, expected, model, &workload);
            let (status, gate) = gate(&base, &planted, &[]);
            let red = in_state(&gate, "exceeded");
            assert!(status == Some(1) && red.iter().any(|gate| gate == expected), "{model}: {gate:#}");
            let gates = gate["gates"].as_array().expect("a list");
            let reds = gates.iter().find(|gate| gate["gate"] == expected).map(|gate| gate["reds"].clone());
            let causes: Vec<serde_json::Value> = reds
                .iter()
                .flat_map(|reds| reds.as_array().cloned().unwrap_or_default())
                .map(|red| red["cause"].clone())
                .collect();
            assert!(causes.contains(&cause.into()), "{model} {expected}: {causes:?}");
            let (status, _) = self::gate(&planted, &base, &[]);
            assert_eq!(status, Some(0), "{model}: without {expected} it is better");
        }
    }
}

#[test]
fn what_is_within_the_spread_is_inconclusive() {
    let directory = tempfile::tempdir().expect("can create");
    let base = simulated(&directory, "base", "h200", BASE);
    let workload = BASE.replacen(LAUNCH, &format!("{}{LAUNCH}", PLANTS[0].0), 1);
    let planted = simulated(&directory, "planted", "h200", &workload);
    let more = ["--before", path(&base), "--before", path(&planted), "--after", path(&planted)];
    let (status, gate) = gate(&base, &planted, &more);
    assert_eq!(status, Some(0), "{gate:#}");
    let output = run(&[&["diff", path(&base), path(&planted), "--gate"], &more[..]].concat());
    let said = text(&output.stderr);
    assert!(
        said.contains(
            "synchronizations: inconclusive: beyond the limit, and within the spread: 33.33 to 66.67 before, "
        ),
        "{said}"
    );
}

/// `--format junit` and `sarif` are judged without `--gate`, and only what is red has a result.
#[test]
fn forms_for_ci_have_the_reasons() {
    let directory = tempfile::tempdir().expect("can create");
    let base = simulated(&directory, "base", "h200", BASE);
    let workload = BASE.replacen(LAUNCH, &format!("{}{LAUNCH}", PLANTS[0].0), 1);
    let planted = simulated(&directory, "planted", "h200", &workload);
    for (after, red) in [(&base, false), (&planted, true)] {
        let [junit, sarif] =
            ["junit", "sarif"].map(|form| run(&["diff", path(&base), path(after), "--format", form]));
        assert_eq!([junit.status.code(), sarif.status.code()], [Some(i32::from(red)); 2]);
        assert_eq!(
            text(&junit.stdout).contains("<failure type=\"explicit-sync\" message=\"synchronizations: "),
            red
        );
        let sarif: serde_json::Value = serde_json::from_slice(&sarif.stdout).expect("JSON");
        let results = sarif["runs"][0]["results"].as_array().expect("a list");
        assert_eq!(results.iter().any(|result| result["ruleId"] == "explicit-sync"), red, "{sarif:#}");
        assert_eq!(results.is_empty(), !red);
    }
}
