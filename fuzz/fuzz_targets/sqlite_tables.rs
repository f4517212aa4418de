//! A valid SQLite file with some of the tables of Nsight Systems or nvprof and any values in them.
#![no_main]

use fuzz::database::Database;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|database: Database| {
    let file = fuzz::temporary_file();
    database.write(file.path()).expect("a valid database");
    fuzz::open(file.path());
});
