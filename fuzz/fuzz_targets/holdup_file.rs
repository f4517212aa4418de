//! Any bytes as a `.holdup` archive.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::let_panics_unwind(), |bytes: &[u8]| {
    if let Ok(trace) = trace::read(bytes) {
        fuzz::understand(&trace);
    }
});
