//! Workloads that cannot run: `tests/data/errors/NAME.toml` in, the error in `NAME.txt` out. One case is one test of that
//! name. `UPDATE_EXPECT=1` rewrites the expected files.

use libtest_mimic::{Arguments, Trial};
use std::path::{Path, PathBuf};
use workload::Workload;

fn main() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/errors");
    let files = std::fs::read_dir(&data).unwrap().map(|file| file.unwrap().path());
    let mut cases: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    cases.sort();
    let tests = cases.into_iter().map(case).collect();
    libtest_mimic::run(&Arguments::from_args(), tests).exit();
}

/// The test of one case.
fn case(path: PathBuf) -> Trial {
    let name = path.file_stem().unwrap().to_str().unwrap().replace('-', "_");
    Trial::test(name, move || {
        let file = path.file_name().unwrap().to_str().unwrap();
        let error = Workload::from_toml(&std::fs::read(&path).unwrap(), file).expect_err("it is accepted");
        let line = format!("{error}\n");
        assert_eq!(line.lines().count(), 1, "{line}");
        expect_test::expect_file![path.with_extension("txt")].assert_eq(&line);
        Ok(())
    })
}
