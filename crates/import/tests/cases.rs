//! `data/KIND/NAME/` has an input and `expected.txt`, all tables of the trace that it becomes or the error. One case is one
//! test, `kind_name`; `UPDATE_EXPECT=1` rewrites what is expected.

mod dump;

use libtest_mimic::{Arguments, Trial};
use std::path::{Path, PathBuf};

/// Kinds of cases, and the name of their inputs.
const KINDS: [(&str, &str); 2] = [("kineto", "trace.json"), ("printed", "input.txt")];

fn main() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut tests = Vec::new();
    for (kind, input) in KINDS {
        let folder = std::fs::read_dir(data.join(kind)).unwrap();
        tests.extend(folder.map(|case| test(kind, case.unwrap().path(), input)));
    }
    tests.sort_by(|a, b| a.name().cmp(b.name()));
    libtest_mimic::run(&Arguments::from_args(), tests).exit();
}

fn test(kind: &str, case: PathBuf, input: &'static str) -> Trial {
    let name = format!("{kind}_{}", case.file_name().unwrap().to_str().unwrap()).replace('-', "_");
    Trial::test(name, move || {
        let read = dump::read(&std::fs::read(case.join(input)).unwrap());
        expect_test::expect_file![case.join("expected.txt")].assert_eq(&read);
        Ok(())
    })
}
