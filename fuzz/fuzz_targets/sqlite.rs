//! Any bytes as a SQLite file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::Write;

fuzz_target!(|bytes: &[u8]| {
    let mut file = fuzz::temporary_file();
    file.write_all(b"SQLite format 3\0").expect("room for the file");
    file.write_all(bytes.get(16..).unwrap_or_default()).expect("room for the file");
    fuzz::open(file.path());
});
