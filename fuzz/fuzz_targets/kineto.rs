//! Any bytes as a trace in memory: JSON, gzip, a `.holdup` file or a listing.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(trace) = import::read_bytes(bytes, "fuzz") {
        fuzz::understand(&trace);
    }
});
