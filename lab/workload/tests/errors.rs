//! Workloads that cannot be run, as text: `tests/data/errors/NAME.toml` in, what is wrong out.
//!
//! `HOLDUP_UPDATE=1` rewrites the expected files.

use std::path::Path;

use workload::Workload;

#[test]
fn every_impossible_workload_is_refused_in_one_line() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/errors");
    let update = std::env::var_os("HOLDUP_UPDATE").is_some();
    let entries = std::fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().path());
    let mut cases: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|ext| ext == "toml")).collect();
    cases.sort();
    assert!(cases.len() > 80, "cases are missing from {}", data.display());
    let mut wrong = Vec::new();
    for case in cases {
        let file = case.file_name().unwrap().to_str().unwrap();
        let said = match Workload::from_toml(&std::fs::read(&case).unwrap(), file) {
            Ok(_) => format!("{file} was accepted\n"),
            Err(error) => format!("{error}\n"),
        };
        assert_eq!(said.lines().count(), 1, "{said}");
        let expected = case.with_extension("txt");
        if update {
            std::fs::write(&expected, &said).unwrap();
        }
        if std::fs::read_to_string(&expected).unwrap_or_default() != said || said.ends_with("accepted\n") {
            wrong.push(said);
        }
    }
    assert!(wrong.is_empty(), "differ from what is expected:\n{}", wrong.concat());
}
