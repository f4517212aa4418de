//! Judgements of summary tables in words, compared with `tests/data/summary/NAME.txt`. `UPDATE_EXPECT=1` rewrites the files.

use report::document::Form;
use report::summary_table::{Judged, document, json};
use std::path::{Path, PathBuf};

fn tables() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../summary/tests/tables");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("tables").map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "txt"));
    paths.sort();
    paths
}

fn judged(path: &Path) -> Judged {
    let summaries = summary::read(&std::fs::read(path).unwrap()).unwrap();
    Judged::new(path.file_name().unwrap().to_string_lossy().into_owned(), summaries)
}

fn expected(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/summary").join(name);
    expect_test::expect_file![path].assert_eq(text);
}

#[test]
fn tables_are_judged_in_words() {
    for path in tables() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        expected(&name, &document(&judged(&path), Form::Text(report::Page::default()), false).to_string());
    }
}

#[test]
fn one_table_in_every_form() {
    let path = tables().into_iter().find(|path| path.ends_with("julia-norm-waits.txt")).unwrap();
    let judged = judged(&path);
    expected("julia-norm-waits.md", &document(&judged, Form::Markdown, true).to_string());
    expected("julia-norm-waits.json", &json(&judged));
}

/// A name of a table is no escape sequence and no Markdown.
#[test]
fn names_reach_the_output_escaped() {
    let text = "│ Time (%) │ Total time │ Calls │ Time distribution │ Name │\n│ 99.00% │ 5 ms │ 1 │ │ cuda\u{7}|*x* │\n";
    let judged = Judged::new(String::from("a"), summary::read(text.as_bytes()).unwrap());
    let text = document(&judged, Form::Text(report::Page::default()), true).to_string();
    assert!(!text.contains('\u{7}'), "{text}");
}
