//! `docs/seeds.md`: every command prints what the page says that it prints.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A row of a table: its number, its command, and what must be in the command's output.
struct Row {
    number: u32,
    command: String,
    prints: Vec<String>,
}

fn rows(page: &str) -> Vec<Row> {
    // A bar within a cell is escaped.
    let cells = |line: &str| -> Vec<String> {
        let line = line.replace("\\|", "\u{1}");
        line.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
    };
    let row = |line: &str| {
        let cells = cells(line);
        let number = cells.get(1)?.parse().ok()?;
        let command = cells.get(4)?.trim_matches('`').to_owned();
        let prints = cells.get(5)?.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        Some(Row { number, command, prints })
    };
    page.lines().filter_map(row).collect()
}

/// Text without the frames of tables, and with one space where there are several.
fn plain(text: &str) -> String {
    let framed = |c: char| if ('\u{2500}'..='\u{257f}').contains(&c) { ' ' } else { c };
    text.chars().map(framed).collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a text is a figure or a sentence, and not a word that is printed whatever comes out.
fn says(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit()) || text.split(' ').count() >= 4
}

fn run(command: &str, folder: &Path) -> String {
    let built = Path::new(env!("CARGO_BIN_EXE_holdup")).parent().expect("it lies in a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(root())
        .env("PATH", format!("{}:{path}", built.display()))
        .env("T", folder)
        .output()
        .expect("sh runs");
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    plain(&String::from_utf8_lossy(&output.stdout))
}

#[test]
fn every_ask_of_the_seeds_is_answered_as_the_page_says() {
    let page = std::fs::read_to_string(root().join("docs/seeds.md")).expect("docs/seeds.md is there");
    let rows = rows(&page);
    assert!(rows.iter().map(|row| row.number).eq(1..=125), "each question and each wish has its row");
    let folder = tempfile::tempdir().expect("can create");
    let (mut printed, mut missing) = (BTreeMap::new(), Vec::new());
    for row in &rows {
        assert!(
            row.prints.iter().any(|text| says(text)),
            "row {}: no figure and no sentence of its command",
            row.number
        );
        let output = printed.entry(row.command.as_str()).or_insert_with(|| run(&row.command, folder.path()));
        let absent = row.prints.iter().filter(|wanted| !output.contains(&plain(wanted)));
        missing.extend(absent.map(|wanted| format!("{}: {}: {wanted}", row.number, row.command)));
    }
    assert!(missing.is_empty(), "not printed:\n{}", missing.join("\n"));
}
