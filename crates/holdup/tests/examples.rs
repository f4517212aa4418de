//! Figures of the recorded traces in `examples/`, counted from the files by hand; `example_texts.rs` has their texts.

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

/// The suffixes of traces.
const SUFFIXES: [&str; 2] = [".json.gz", ".holdup"];

/// The file of an example.
fn file(name: &str) -> String {
    let mut files = SUFFIXES.iter().map(|suffix| format!("{name}{suffix}"));
    files.find(|file| examples().join(file).is_file()).unwrap_or_else(|| panic!("no example {name}"))
}

fn explained(name: &str) -> Value {
    explained_with(name, &[])
}

fn explained_with(name: &str, more: &[&str]) -> Value {
    let file = file(name);
    let arguments = [&["explain", "--all", "--format", "json", &file], more].concat();
    serde_json::from_str(&holdup(&arguments)).expect("one JSON object")
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

/// Recorded by `holdup record`: the lock itself is the evidence, and both threads have their lines.
#[test]
fn a_recorded_stall_names_the_lock_and_both_lines() {
    let explanation = explained("recorded-d2h-stall");
    let first = &explanation["findings"][0];
    assert_eq!((&first["cause"], &first["evidence"]), (&"driver-lock".into(), &"lock".into()));
    assert_eq!(first["confidence"], "certain");
    assert!(first["share"].as_f64().expect("a number") >= 0.9, "{}", first["share"]);
    let line = |party: &Value| (party["where"][0]["line"].clone(), party["where"][0]["function"].clone());
    assert_eq!(line(first), (34.into(), "launch_worker".into()));
    assert_eq!(line(&first["holder"]), (21.into(), "d2h_worker".into()));
    assert!(first["holder"]["detail"].as_str().expect("text").starts_with("DtoH pageable 268435456 B"));
    for control in ["recorded-d2h-own-streams", "recorded-d2h-pinned"] {
        for finding in explained(control)["findings"].as_array().expect("a list") {
            let accused =
                finding["cause"] == "driver-lock" && finding["waiter"]["call"] == "cudaLaunchKernel";
            assert!(!accused || finding["share"].as_f64() < Some(0.02), "{control}: {finding}");
        }
    }
}

#[test]
fn most_slow_time_of_every_example_has_a_cause() {
    for entry in std::fs::read_dir(examples()).expect("examples/ is there") {
        let file = entry.expect("readable").file_name().into_string().expect("UTF-8");
        let Some(name) = SUFFIXES.iter().find_map(|suffix| file.strip_suffix(suffix)) else { continue };
        let explanation = explained_with(name, &["--from", "0s"]);
        let number = |key: &str| explanation[key].as_f64().expect("a number");
        let known = number("explained_ns") + number("own_work_ns");
        assert!(known >= 0.9 * number("slow_call_ns"), "{name}");
    }
}

/// The first cause, or that of most host time lost, as recorded on purpose. Most of these waits are for a GPU that works, and cost
/// it nothing.
#[test]
fn situations_made_for_a_cause_show_it() {
    for (name, cause) in [
        ("pytorch-d2h-stall-operators", "driver-lock"),
        ("pytorch-free-waits", "implicit-device-sync"),
        ("pytorch-hidden-sync", "hidden-sync"),
        ("pytorch-queue-full", "queue-full"),
        ("pytorch-pinning-stall", "driver-lock"),
        ("pytorch-staggered-copies", "hidden-sync"),
        ("recorded-staggered-copies", "hidden-sync"),
    ] {
        let explanation = explained(name);
        let findings = explanation["findings"].as_array().expect("a list");
        let most = findings.iter().max_by_key(|finding| finding["lost_ns"].as_i64()).expect("a finding");
        assert!([&findings[0], most].iter().any(|finding| finding["cause"] == cause), "{name}");
    }
    for name in ["pytorch-staggered-copies", "recorded-staggered-copies"] {
        let staggered = explained(name);
        let findings = staggered["findings"].as_array().expect("a list");
        let long = |finding: &&Value| finding["lost_ns"].as_i64().expect("a number") > 10_000_000;
        let in_order = findings.iter().filter(long).filter(|finding| finding["cause"] == "pageable-order");
        let waits: i64 = in_order.filter_map(|finding| finding["count"].as_i64()).sum();
        assert_eq!(waits, 3, "{name}: each copy but the first waits for the one before it");
    }
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
