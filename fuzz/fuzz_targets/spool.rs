//! Any bytes as one process's file of a spool: what a dying process may have left.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::let_panics_unwind(), |bytes: &[u8]| {
    // The magic number is stored last by a process and checked first by the reader.
    let mut file = bytes.to_vec();
    file.resize(file.len().max(8), 0);
    file[..8].copy_from_slice(b"holdup\x004");
    if let Ok(trace) = import::read_bytes(&file, "fuzz") {
        fuzz::understand(&trace);
    }
});
