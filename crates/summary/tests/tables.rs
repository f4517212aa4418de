//! Tables as people paste them, rebuilt from public threads with names and figures of their own, and what is known to be true of each.

use std::path::{Path, PathBuf};
use summary::{judge, read};

/// The truth about a table, beside it.
struct Truth {
    tool: String,
    truth: String,
    /// Causes of further readings.
    also: Vec<String>,
}

fn truth(path: &Path) -> Truth {
    let text = std::fs::read_to_string(path.with_extension("toml")).expect("a truth beside each table");
    assert!(text.starts_with("# "), "{}: the first line names the source", path.display());
    let table: toml::Table = text.parse().expect("TOML");
    let word = |key: &str| table[key].as_str().expect("a word").to_owned();
    let also = table.get("also").and_then(toml::Value::as_array).into_iter().flatten();
    let also = also.map(|cause| cause.as_str().expect("a word").to_owned()).collect();
    Truth { tool: word("tool"), truth: word("truth"), also }
}

fn tables() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tables");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("the tables").map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "txt"));
    paths.sort();
    paths
}

/// Judges each table, and compares the verdict on the last profile of its text with the truth.
#[test]
fn verdicts_are_true() {
    let (mut wrong, mut all) = (Vec::new(), 0);
    for path in tables() {
        let truth = truth(&path);
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let summaries = read(&std::fs::read(&path).unwrap());
        let Some(summary) = summaries.as_ref().ok().and_then(|all| all.last()) else {
            wrong.push(format!("{name}: {summaries:?}"));
            continue;
        };
        assert_eq!(summary.tool.id(), truth.tool, "{name}");
        let judgement = judge(summary);
        let found = judgement.verdict.id();
        all += 1;
        let causes: Vec<&str> =
            judgement.readings.iter().filter_map(|it| it.cause).map(|it| it.id()).collect();
        let missing = truth.also.iter().find(|also| !causes.contains(&also.as_str()));
        wrong.extend(missing.map(|missing| format!("{name}: no {missing} in {causes:?}")));
        if found != truth.truth {
            wrong.push(format!("{name}: {found} instead of {}", truth.truth));
        }
    }
    assert!(wrong.is_empty(), "{} of {all} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
