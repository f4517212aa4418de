//! Calibrating a simulated machine finds the model that it was simulated on: every value that was measured, within
//! [`PART`] of it or [`LEAST_NS`]. Where a measurement finds a sum, and divides it as the built-in model of the nearest device
//! does, the sum counts.
//!
//! The machines are built-in models, and machines with other values than any: a value that was only assumed would not fit.

use calibrate::{Bench, Calibrated, Facts, Ran, Simulated, calibrate};
use sim::{Model, Use};
use std::collections::BTreeMap;
use toml::Value;
use workload::Workload;

/// The largest error of a measured value, as a part of it.
const PART: f64 = 0.03;

/// The largest error of a short time, ns: a lock is handed over in that.
const LEAST_NS: f64 = 100.0;

fn calibrated(model: &Model) -> Calibrated {
    calibrate(&Simulated::new(model.clone()), "mine", 1, &mut |_| {}).expect("a model runs every workload")
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

/// The parts of a call's time, which the base divides where only their sum was measured.
const PARTS: [&str; 3] = ["before_ns", "held_ns", "after_ns"];

/// The fields whose sum a measurement found: mostly one.
fn measured_together(path: &str, origin: &str) -> Vec<String> {
    let alone = || vec![path.to_owned()];
    let Some((table, key)) = path.rsplit_once('.') else { return alone() };
    match key {
        _ if !origin.contains("its parts as in ") => alone(),
        "latency_ns" | "notice_ns" => {
            ["latency_ns", "notice_ns"].map(|key| format!("{table}.{key}")).to_vec()
        }
        // How long a launch holds its lock was measured by itself.
        "before_ns" | "after_ns" if table == "calls.launch" && !origin.contains("median") => {
            ["before_ns", "after_ns"].map(|key| format!("{table}.{key}")).to_vec()
        }
        _ => PARTS.map(|key| format!("{table}.{key}")).to_vec(),
    }
}

/// The value of a field in a model; if it leaves it out, of the field that counts then.
fn value(numbers: &BTreeMap<String, f64>, path: &str) -> f64 {
    let stands_in = match path {
        "copies.to_device.latency_ns" | "copies.to_host.latency_ns" => "copies.latency_ns".to_owned(),
        "kernels.fill_mb_s" => "kernels.memory_mb_s".to_owned(),
        other => other.replace("stream_destroy", "stream"),
    };
    numbers.get(path).or_else(|| numbers.get(&stands_in)).copied().unwrap_or_default()
}

/// Each measured value that is too far from the truth.
fn wrong(truth: &Model, found: &Calibrated, least_ns: f64) -> Vec<String> {
    let (is, finds) = (numbers(truth), numbers(&found.model));
    let measured = found.origins.iter().filter(|(_, origin)| origin.starts_with("measured"));
    let apart = |(path, origin): (&String, &String)| {
        let paths = measured_together(path, origin);
        let sum = |of: &BTreeMap<String, f64>| paths.iter().map(|path| value(of, path)).sum::<f64>();
        let (truth, found) = (sum(&is), sum(&finds));
        let least = if path.ends_with("_ns") { least_ns } else { 0.0 };
        let is_wrong = (truth - found).abs() > (truth * PART).max(least);
        is_wrong.then(|| format!("{path}: {found} instead of {truth}"))
    };
    measured.filter_map(apart).collect()
}

/// A built-in model whose times and rates are others: times `factor`, by groups that keep what no measurement can separate.
fn unlike(name: &str, factors: [f64; 3]) -> Model {
    let model = Model::load(name).expect("a built-in model");
    let mut table = toml::Table::try_from(&model).expect("a model is a table");
    let mut turn = 0;
    vary("", &mut table, &mut |path, value| {
        let key = path.rsplit('.').next().unwrap_or_default();
        // The parts of a call outside of its locks, and the way there and back, stay in proportion.
        let factor = match key {
            "before_ns" | "after_ns" | "notice_ns" => factors[0],
            "latency_ns" if path.starts_with("device") => factors[0],
            _ => {
                turn += 1;
                factors[turn % factors.len()]
            }
        };
        if VARIED.iter().any(|varied| path.starts_with(varied)) && !KEPT.contains(&path) {
            *value = match &*value {
                Value::Integer(number) => Value::Integer((*number as f64 * factor).round() as i64),
                Value::Float(number) => Value::Float(*number * factor),
                other => other.clone(),
            };
        }
    });
    Model::parse(&toml::to_string(&table).expect("a table is TOML"), name).expect("a model")
}

/// Paths of the values that differ from the built-in model.
const VARIED: [&str; 13] = [
    "calls.",
    "copies.",
    "device.gap_ns",
    "device.graph_gap_ns",
    "device.issue_ns",
    "device.notice_ns",
    "device.signal_ns",
    "device.latency_ns",
    "host.",
    "kernels.add_",
    "kernels.increment_round_ps",
    "kernels.memory_mb_s",
    "kernels.product_flops_per_ns",
];

/// Paths among these whose values stay, because a calibration cannot or need not measure them.
const KEPT: [&str; 6] = [
    "calls.staged_at_once_bytes",
    "copies.between_mb_s",
    "copies.to_device.beside_mb_s",
    "copies.to_host.beside_mb_s",
    "host.processors",
    "host.slice_ns",
];

fn vary(path: &str, table: &mut toml::Table, change: &mut dyn FnMut(&str, &mut Value)) {
    for (key, value) in table.iter_mut() {
        let dot = if path.is_empty() { "" } else { "." };
        let path = format!("{path}{dot}{key}");
        match value {
            Value::Table(inner) => vary(&path, inner, change),
            value => change(&path, value),
        }
    }
}

fn assert_found(model: &Model, least_ns: f64) -> Calibrated {
    let found = calibrated(model);
    let wrong = wrong(model, &found, least_ns);
    assert!(wrong.is_empty(), "{}: {wrong:#?}", model.name);
    found
}

/// Machines that differ from the built-in model that their calibration begins with: a third is 1.7 times as large, or
/// 0.9 times.
fn assert_others_found(name: &str, least_ns: f64) {
    let base = numbers(&Model::load(name).expect("a built-in model"));
    for factors in [[1.4, 0.8, 1.7], [0.6, 1.3, 0.9]] {
        let found = assert_found(&unlike(name, factors), least_ns);
        let numbers = numbers(&found.model);
        let differs = |path: &&String| {
            let (was, is) = (value(&base, path), value(&numbers, path));
            found.origins[*path].starts_with("measured") && (was - is).abs() > 0.05 * was
        };
        let differ = found.origins.keys().filter(differs).count();
        assert!(differ >= 60, "{name}: only {differ} values are not those of the built-in model");
    }
}

#[test]
fn an_h200_is_found() {
    assert_found(&Model::load("h200").expect("built in"), LEAST_NS);
    assert_others_found("h200", LEAST_NS);
}

#[test]
fn a_k20c_is_found() {
    assert_found(&Model::load("k20c").expect("built in"), LEAST_NS);
    assert_others_found("k20c", LEAST_NS);
}

#[test]
fn a_p100_is_found() {
    assert_found(&Model::load("p100").expect("built in"), LEAST_NS);
    // Its threads sleep before they launch in turn. How a launch divides is assumed, and what is assumed wrongly of that counts as
    // the way to the device.
    assert_others_found("p100", 450.0);
}

#[test]
fn other_built_in_models_are_found() {
    for name in ["c1060", "c2050", "p40", "v100", "a4000x10", "h200x8"] {
        assert_found(&Model::load(name).expect("built in"), LEAST_NS);
    }
}

#[test]
fn hardware_queues_and_pending_launches_are_counted() {
    let mut model = Model::load("h200").expect("built in");
    (model.connections.default, model.connections.depth) = (12, 600);
    let found = assert_found(&model, LEAST_NS);
    assert_eq!((found.model.connections.default, found.model.connections.depth), (12, 600));
    model.connections.default = 32;
    assert_eq!(calibrated(&model).model.connections.default, 32);
}

#[test]
fn kernels_that_take_less_than_those_of_the_nearest_model_are_found() {
    let mut model = Model::load("h200").expect("built in");
    let nearest = model.kernels.base_ns;
    (model.kernels.base_ns, model.device.gap_ns, model.device.graph_gap_ns) = (nearest / 2, 900, 0);
    assert_found(&model, LEAST_NS);
    // An empty node takes longer than the model's kernel: how much of that is the gap is not known, and the sum is found.
    (model.kernels.base_ns, model.device.gap_ns, model.device.graph_gap_ns) = (nearest / 2, 1_900, nearest);
    let found = calibrated(&model).model;
    assert_eq!(found.kernels.base_ns, nearest);
    let sum = nearest / 2 + nearest;
    assert!((found.kernels.base_ns + found.device.graph_gap_ns - sum).abs() <= 50, "{:?}", found.device);
}

#[test]
fn calls_that_hold_no_lock_delay_no_launch() {
    let mut model = Model::load("h200").expect("built in");
    model.calls.host_allocate.lock = Use::None;
    model.calls.register.lock = Use::Shared;
    let found = calibrated(&model).model.calls;
    let locks = [&found.host_allocate, &found.host_free, &found.register, &found.unregister];
    let locks = locks.map(|rule| rule.lock);
    assert_eq!(locks, [Use::Shared, Use::Exclusive, Use::Shared, Use::Exclusive]);
}

/// A machine that does not report its clock, and has no memory pools.
struct Silent(Simulated, Facts);

impl Bench for Silent {
    fn facts(&self) -> &Facts {
        &self.1
    }

    fn run(&self, workload: &Workload) -> Result<Ran, String> {
        match workload.name.as_str() {
            "pool" => Err(String::from("no pools")),
            _ => self.0.run(workload),
        }
    }
}

#[test]
fn the_clock_is_measured_and_what_is_not_there_is_assumed() {
    let mut model = Model::load("h200").expect("built in");
    model.device.clock_mhz = 1_230;
    let bench = Simulated::new(model);
    let facts = Facts { clock_mhz: 0, pools: false, ..bench.facts().clone() };
    let found = calibrate(&Silent(bench, facts), "mine", 1, &mut |_| {}).expect("it runs");
    assert!((1_228..=1_232).contains(&found.model.device.clock_mhz), "{}", found.model.device.clock_mhz);
    assert!(!found.origins.contains_key("calls.pool.held_ns"));
    let notes = found.model.notes.join(" ");
    assert!(
        notes.contains("Assumed, from the model h200: ")
            && notes.contains("calls.pool (before_ns, held_ns, after_ns)")
    );
}

#[test]
fn a_failure_says_what_was_measured() {
    let bench = Simulated::new(Model::load("h200").expect("built in"));
    let facts = bench.facts().clone();
    let failure =
        calibrate(&Silent(bench, facts), "mine", 1, &mut |_| {}).err().map(|error| error.to_string());
    assert_eq!(failure.as_deref(), Some("allocations: no pools"));
}

#[test]
fn each_value_of_the_file_states_its_origin() {
    for name in ["h200", "c1060", "p100"] {
        let found = calibrated(&Model::load(name).expect("built in"));
        let text = found.text();
        let model = Model::parse(&text, "mine.toml").expect("a model");
        assert_eq!(model, found.model, "{text}");
        let assumed = format!("# assumed: from {name}");
        let tables = text.split_once("\n[").map_or("", |(_, tables)| tables);
        for line in tables.lines().filter(|line| line.contains(" = ")) {
            let origin = line.rsplit_once(" # ").map_or("", |(_, origin)| origin);
            let known = ["measured: ", "reported by the "].iter().any(|word| origin.starts_with(word));
            assert!(known || line.ends_with(&assumed), "{line}");
        }
        let count = |word: &str| tables.lines().filter(|line| line.contains(word)).count();
        assert!(count("# measured: ") > 80 && count(&assumed) > 20, "{text}");
    }
}

#[test]
fn progress_ends_before_the_last_measurement() {
    let bench = Simulated::new(Model::load("h200").expect("built in"));
    let mut seen = Vec::new();
    calibrate(&bench, "mine", 1, &mut |progress| seen.push(progress.clone())).expect("it runs");
    let numbers: Vec<u64> = seen.iter().map(|progress| progress.done).collect();
    let expected: Vec<u64> = (0..seen.first().map_or(0, |first| first.total)).collect();
    assert!(!seen.is_empty() && numbers == expected, "{seen:?}");
}
