//! `holdup explain` on each recorded trace in `examples/`, to the letter. One trace is one test of that name;
//! `UPDATE_EXPECT=1` rewrites the expected texts.

use libtest_mimic::{Arguments, Trial};
use std::path::Path;
use std::process::Command;

/// The suffixes of traces.
const SUFFIXES: [&str; 2] = [".json.gz", ".holdup"];

fn main() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let files = std::fs::read_dir(examples).expect("examples/ is there");
    let files = files.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut tests: Vec<_> = files.filter_map(test).collect();
    assert!(tests.len() >= 18, "examples are missing");
    tests.sort_by(|a, b| a.name().cmp(b.name()));
    libtest_mimic::run(&Arguments::from_args(), tests).exit();
}

fn test(file: String) -> Option<Trial> {
    let name = SUFFIXES.iter().find_map(|suffix| file.strip_suffix(suffix))?.to_owned();
    Some(Trial::test(name.replace('-', "_"), move || {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut holdup = Command::new(env!("CARGO_BIN_EXE_holdup"));
        holdup.args(["explain", &file]).current_dir(manifest.join("../../examples"));
        let output = holdup.output().expect("the program starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("output is UTF-8");
        expect_test::expect_file![manifest.join(format!("tests/data/examples/{name}.txt"))].assert_eq(&text);
        Ok(())
    }))
}
