//! `holdup lab calibrate` without a GPU: models of simulated machines, and what uses them.

use crate::command::{holdup, printed};
use crate::{directory, entries, refusal};
use std::path::Path;

/// A recording whose replay fits.
fn recording() -> String {
    format!("{}/../../examples/recorded-d2h-stall.holdup", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_model_is_written_once() {
    let directory = directory();
    let file = directory.path().join("mine.toml");
    let arguments = format!("lab calibrate --on sim:k20c -o {}", file.display());
    let said = printed(&arguments);
    let expected = format!("{}: a model of Tesla K20c: ", file.display());
    assert!(
        said.starts_with(&expected) && said.ends_with(" measured, the others assumed from k20c\n"),
        "{said}"
    );
    let text = std::fs::read_to_string(&file).expect("written");
    assert!(text.contains("\nname = \"mine\"\n") && text.contains(" # assumed: from k20c\n"), "{text}");
    assert!(refusal(&arguments).contains("already exists"));
    std::fs::write(&file, "other").expect("can write");
    printed(&format!("{arguments} --force"));
    assert_eq!(std::fs::read_to_string(&file).expect("written"), text);
    assert_eq!(entries(directory.path()), std::slice::from_ref(&file));
}

#[test]
fn without_a_gpu_nothing_is_written() {
    let directory = directory();
    let file = directory.path().join("mine.toml");
    let problem = refusal(&format!("lab calibrate -o {}", file.display()));
    assert!(problem.contains("CUDA driver not found") && problem.contains("--on sim:h200"), "{problem}");
    assert_eq!(entries(directory.path()), Vec::<std::path::PathBuf>::new());
    assert!(refusal("lab calibrate -o /nowhere/mine.toml").contains("/nowhere/mine.toml: cannot be written"));
}

/// The wall time that an experiment's first row has on a model, ms.
fn measured(on: &str) -> f64 {
    let text = printed(&format!("lab run overlap --on sim:{on} --set memory=pinned --format json"));
    let results: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    results["rows"][0]["ms"].as_f64().expect("a time")
}

#[test]
fn a_calibrated_model_runs_experiments() {
    let directory = directory();
    let file = directory.path().join("mine.toml");
    printed(&format!("lab calibrate --on sim:p100 -o {}", file.display()));
    let (expected, found) = (measured("p100"), measured(&file.display().to_string()));
    assert!((found / expected - 1.0).abs() < 0.01, "{found} ms instead of {expected}");
    let other = measured("h200");
    assert!((other / expected - 1.0).abs() > 0.1, "{other} ms on another model");
    let devices = printed(&format!("devices --on sim:{}", file.display()));
    assert!(devices.contains("measured by `holdup lab calibrate`"), "{devices}");
}

#[test]
fn replays_and_predictions_take_the_model() {
    let directory = directory();
    let file = directory.path().join("mine.toml");
    printed(&format!("lab calibrate --on sim:h200 -o {}", file.display()));
    let replayed = printed(&format!("replay {} --model {}", recording(), file.display()));
    assert!(replayed.contains("Replayed on the model mine,"), "{replayed}");
    let named = printed(&format!("replay {} --model v100", recording()));
    assert!(named.contains("Replayed on the model v100,"), "{named}");
    // The time of a copy of pinned memory is the model's: on a slow bus the change gains nothing.
    let slow = directory.path().join("slow.toml");
    let text = std::fs::read_to_string(&file).expect("written");
    let rates = |line: &str| match line.starts_with("pinned_mb_s = ") {
        true => String::from("pinned_mb_s = 100"),
        false => line.to_owned(),
    };
    std::fs::write(&slow, text.lines().map(rates).collect::<Vec<_>>().join("\n")).expect("can write");
    let gain = |model: &Path| {
        let model = model.display();
        let arguments = format!("whatif {} --fix pinned-reused --format json --model {model}", recording());
        let json: serde_json::Value = serde_json::from_str(&printed(&arguments)).expect("JSON");
        json["fixes"][0]["gain"]["share"].as_f64()
    };
    let (fast, slow) = (gain(&file).expect("a gain"), gain(&slow).expect("a gain"));
    assert!(fast > 0.2 && slow < fast - 0.1, "{fast} with a fast bus, {slow} with a slow one");
}

#[test]
fn what_is_no_model_is_refused() {
    let directory = directory();
    let file = directory.path().join("bad.toml");
    let (path, bad) = (recording(), file.display());
    for (text, words) in [
        ("name = 3", "bad.toml: line 1: invalid type: integer `3`"),
        (
            "base = \"h200\"\nname = \"x\"\n[copies]\nlatency_ns = -1\n",
            "copies.latency_ns must not be negative",
        ),
        ("base = \"h900\"", "unknown base: expected one of a4000x10, c1060,"),
        ("[calls\n", "bad.toml: line 1: "),
    ] {
        std::fs::write(&file, text).expect("can write");
        for command in ["replay", "whatif"] {
            let problem = refusal(&format!("{command} {path} --model {bad}"));
            let remedy = "correct it, or write it with `holdup lab calibrate`";
            let is_said = problem.starts_with("holdup: --model ") && problem.contains(words);
            assert!(is_said && problem.trim_end().ends_with(remedy), "{command}, {text:?}: {problem}");
        }
        let problem = refusal(&format!("lab run overlap --on sim:{bad}"));
        assert!(problem.starts_with("holdup: --on sim:") && problem.contains(words), "{text:?}: {problem}");
    }
    for command in ["replay", "whatif"] {
        let problem = refusal(&format!("{command} {path} --model h900"));
        assert!(problem.contains("--model h900: unknown model: expected one of c1060,"), "{problem}");
        assert!(problem.contains("or the path of a file"), "{problem}");
    }
    assert_eq!(holdup(&format!("replay {path} --model h200")).status.code(), Some(0));
}
