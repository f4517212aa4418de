//! Any bytes as a workload; what is accepted is written, read again, and simulated for a while.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use workload::Workload;

static MODEL: LazyLock<sim::Model> = LazyLock::new(|| sim::Model::load("h200x8").expect("comes with it"));

fuzz_target!(init: fuzz::let_panics_unwind(), |bytes: &[u8]| {
    if let Ok(workload) = Workload::from_toml(bytes, "fuzz.toml") {
        let again = Workload::from_toml(workload.to_toml().as_bytes(), "again.toml").expect("own text");
        assert_eq!(again, workload);
        let _ = sim::run(&workload, &MODEL, sim::Options { most_calls: 10_000, ..sim::Options::default() });
    }
});
