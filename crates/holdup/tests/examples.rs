//! What holdup says of the recorded traces in `examples/`, to the letter, and the figures counted
//! from those traces by hand. `HOLDUP_UPDATE=1` rewrites the expected texts.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn holdup(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    let output = command.args(arguments).current_dir(examples()).output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

fn explained(name: &str) -> Value {
    let json = holdup(&["explain", "--format", "json", &format!("{name}.json.gz")]);
    serde_json::from_str(&json).expect("one JSON object")
}

#[test]
fn the_text_of_every_example_is_as_expected() {
    let expected = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/examples");
    let update = std::env::var_os("HOLDUP_UPDATE").is_some();
    let mut wrong = Vec::new();
    let mut names: Vec<_> = std::fs::read_dir(examples())
        .expect("examples/ is there")
        .filter_map(|entry| {
            entry.ok()?.file_name().into_string().ok()?.strip_suffix(".json.gz").map(str::to_owned)
        })
        .collect();
    names.sort();
    assert!(names.len() >= 11, "examples are missing: {names:?}");
    for name in names {
        let said = holdup(&["explain", &format!("{name}.json.gz")]);
        let file = expected.join(format!("{name}.txt"));
        if update {
            std::fs::write(&file, &said).expect("can write");
        } else if std::fs::read_to_string(&file).unwrap_or_default() != said {
            wrong.push(said);
        }
    }
    assert!(wrong.is_empty(), "HOLDUP_UPDATE=1 accepts:\n{}", wrong.join("\n"));
}

/// The first finding accuses A's pageable copies of B's long launches, with the figures that were
/// counted from the file: `launches` over 1 ms that took `lost_ms` together.
fn accuses_the_copy(name: &str, launches: u64, lost_ms: f64, bytes: &str) {
    let explanation = explained(name);
    let first = &explanation["findings"][0];
    assert_eq!(first["cause"], "driver-lock", "{name}");
    assert_eq!(first["evidence"], "timing", "{name}");
    assert_eq!(first["waiter"]["call"], "cudaLaunchKernel", "{name}");
    assert_eq!(first["holder"]["call"], "cudaMemcpyAsync", "{name}");
    let detail = first["holder"]["detail"].as_str().expect("text");
    assert!(detail.contains("DtoH pageable") && detail.contains(bytes), "{name}: {detail}");
    assert_ne!(first["waiter"]["tid"], first["holder"]["tid"], "{name}");
    assert_eq!(first["count"], launches, "{name}");
    let lost = first["lost_ns"].as_f64().expect("a number") / 1e6;
    assert!((lost - lost_ms).abs() < lost_ms * 0.02, "{name}: {lost} ms, counted {lost_ms}");
}

#[test]
fn stalls_are_counted_as_they_are_in_the_file() {
    accuses_the_copy("pytorch-d2h-stall", 25, 1163.18, "67108864 B");
    accuses_the_copy("pytorch-d2h-stall-reused-buffer", 691, 1158.33, "16777216 B");
}

#[test]
fn nobody_is_accused_where_nobody_waits_for_another() {
    for name in ["pytorch-d2h-own-streams", "pytorch-d2h-pinned", "pytorch-item-hidden-sync"] {
        for finding in explained(name)["findings"].as_array().expect("a list") {
            let share = finding["share"].as_f64().expect("a number");
            assert!(finding["holder"].is_null() || share <= 0.02, "{name}: {finding}");
        }
    }
}

#[test]
fn most_slow_time_of_every_example_has_a_cause() {
    for entry in std::fs::read_dir(examples()).expect("examples/ is there") {
        let file = entry.expect("readable").file_name().into_string().expect("UTF-8");
        let Some(name) = file.strip_suffix(".json.gz") else { continue };
        let explanation = explained(name);
        let number = |key: &str| explanation[key].as_f64().expect("a number");
        assert!(number("explained_ns") >= 0.9 * number("slow_call_ns"), "{name}");
    }
}

/// The first cause, as recorded on purpose.
#[test]
fn situations_made_for_a_cause_show_it_first() {
    for (name, cause) in [
        ("pytorch-d2h-stall-operators", "driver-lock"),
        ("pytorch-free-waits", "implicit-device-sync"),
        ("pytorch-hidden-sync", "hidden-sync"),
        ("pytorch-queue-full", "queue-full"),
        ("pytorch-pinning-stall", "driver-lock"),
        ("pytorch-staggered-copies", "hidden-sync"),
    ] {
        assert_eq!(explained(name)["findings"][0]["cause"], cause, "{name}");
    }
    let staggered = explained("pytorch-staggered-copies");
    let findings = staggered["findings"].as_array().expect("a list");
    let in_order = findings.iter().filter(|finding| finding["cause"] == "pageable-order").count();
    assert_eq!(in_order, 3, "each copy but the first waits for the one before it");
}

#[test]
fn a_trace_survives_the_holdup_file() {
    let directory = tempfile::tempdir().expect("can create");
    let out = directory.path().join("stall.holdup");
    let path = out.to_str().expect("UTF-8");
    holdup(&["import", "pytorch-d2h-stall-operators.json.gz", "-o", path]);
    let findings = |json: &str| serde_json::from_str::<Value>(json).expect("JSON")["findings"].clone();
    let before = holdup(&["explain", "--format", "json", "pytorch-d2h-stall-operators.json.gz"]);
    assert_eq!(findings(&before), findings(&holdup(&["explain", "--format", "json", path])));
    for listing in ["calls", "ops"] {
        let csv = |trace: &str| holdup(&[listing, "--format", "csv", trace]);
        assert_eq!(csv("pytorch-d2h-stall-operators.json.gz"), csv(path));
    }
}
