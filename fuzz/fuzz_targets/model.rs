//! Any text as a model of a device, and what seed 001's two threads do on it for a while.
#![no_main]

use experiments::catalogue::launch_stall::Case;
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::let_panics_unwind(), |text: &str| {
    if let Ok(model) = sim::Model::parse(text, "fuzz.toml") {
        let options = sim::Options { most_calls: 10_000, ..sim::Options::default() };
        let _ = sim::run(&Case::default().workload(), &model, options);
    }
});
