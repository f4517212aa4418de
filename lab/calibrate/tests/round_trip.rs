//! Calibrating a simulated machine finds the model that it was simulated on: every value that was measured, within
//! [`PART`] of it or [`LEAST_NS`]. Where a measurement finds a sum, and divides it as the built-in model of the nearest device
//! does, the sum counts.
//!
//! The machines are built-in models, and machines with other values than any: a value that was only assumed would not fit.

use calibrate::{Calibrated, Simulated, calibrate};
use sim::Model;
use std::collections::BTreeMap;
use toml::Value;

/// The largest error of a measured value, as a part of it.
const PART: f64 = 0.03;

/// The largest error of a short time, ns: a lock is handed over in that.
const LEAST_NS: f64 = 100.0;

fn calibrated(model: &Model) -> Calibrated {
    calibrate(&Simulated::new(model.clone()), "mine", &mut |_| {}).expect("a model runs every workload")
}

/// The numbers of a model, by the field's path.
fn numbers(model: &Model) -> BTreeMap<String, f64> {
    let mut numbers = BTreeMap::new();
    flatten("", &Value::try_from(model).expect("a model is a table"), &mut numbers);
    numbers
}

fn flatten(path: &str, value: &Value, numbers: &mut BTreeMap<String, f64>) {
    match value {
        Value::Integer(number) => drop(numbers.insert(path.to_owned(), *number as f64)),
        Value::Float(number) => drop(numbers.insert(path.to_owned(), *number)),
        Value::Table(table) => table.iter().for_each(|(key, value)| {
            let dot = if path.is_empty() { "" } else { "." };
            flatten(&format!("{path}{dot}{key}"), value, numbers);
        }),
        _ => {}
    }
}

/// The sum that a measured field is a part of: the field itself, if it is none.
fn sum_of<'p>(path: &'p str, origin: &str) -> Vec<&'p str> {
    let is_part = origin.contains("as in ");
    let siblings: &[&str] = match path {
        "device.latency_ns" | "device.notice_ns" => &["device.latency_ns", "device.notice_ns"],
        _ => &[],
    };
    if is_part && !siblings.is_empty() {
        return siblings.to_vec();
    }
    vec![path]
}

/// Each measured value that is too far from the truth.
fn wrong(truth: &Model, found: &Calibrated) -> Vec<String> {
    let (is, finds) = (numbers(truth), numbers(&found.model));
    let mut wrong = Vec::new();
    for (path, origin) in found.origins.iter().filter(|(_, origin)| origin.starts_with("measured")) {
        let (table, key) = path.rsplit_once('.').expect("every field is in a table");
        let parts = ["before_ns", "held_ns", "after_ns"];
        let whole = parts.map(|part| format!("{table}.{part}"));
        let paths: Vec<&str> = match origin.contains("its parts as in ") && parts.contains(&key) {
            true => whole.iter().map(String::as_str).collect(),
            false => sum_of(path, origin),
        };
        let sum = |of: &BTreeMap<String, f64>| paths.iter().filter_map(|path| of.get(*path)).sum::<f64>();
        // A model without such a field has that of both directions, or of streams.
        let like = match path.as_str() {
            "copies.to_device.latency_ns" | "copies.to_host.latency_ns" => is.get("copies.latency_ns"),
            other if other.starts_with("calls.stream_destroy.") && truth.calls.stream_destroy.is_none() => {
                let whole: f64 = parts.iter().map(|part| is[&format!("calls.stream.{part}")]).sum();
                let one = is.get(&format!("calls.stream.{key}")).copied();
                let truth = if paths.len() > 1 { Some(whole) } else { one };
                wrong.extend(apart(path, truth.unwrap_or_default(), sum(&finds)));
                continue;
            }
            _ => None,
        };
        let truth = match (is.contains_key(path), like) {
            (false, Some(like)) => *like,
            _ => sum(&is),
        };
        wrong.extend(apart(path, truth, sum(&finds)));
    }
    wrong
}

fn apart(path: &str, truth: f64, found: f64) -> Option<String> {
    let least = if path.ends_with("_ns") { LEAST_NS } else { 0.0 };
    let most = (truth * PART).max(least);
    ((truth - found).abs() > most).then(|| format!("{path}: {found} instead of {truth}"))
}
#[test]
fn compare() {
    for name in ["h200", "k20c", "p100", "c1060", "c2050", "v100", "p40", "a4000x10", "h200x8", "p100-nvprof"]
    {
        let model = Model::load(name).unwrap();
        let found = calibrated(&model);
        println!("{name} {:#?} {:?}", wrong(&model, &found), found.model.notes);
    }
}
