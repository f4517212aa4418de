//! Tables of pages have a row for each command, experiment, model and change that the program knows.

use crate::page::root;
use crate::stage::Stage;

/// Names that the program has, and no page has in a row of its table: `PAGE: NAME`.
pub fn missing() -> Vec<String> {
    let mut missing = Vec::new();
    let mut compare = |page: &str, form: &str, names: Vec<String>| {
        let text = std::fs::read_to_string(root().join(page)).expect("the page is there");
        assert!(!names.is_empty(), "{page}: nothing is known that a row could have");
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).map(first_cell).collect();
        let has = |name: &String| rows.iter().any(|cell| cell.contains(&form.replace("NAME", name)));
        missing.extend(names.iter().filter(|name| !has(name)).map(|name| format!("{page}: {name}")));
    };
    compare("docs/commands.md", "`holdup NAME", commands());
    let experiments = experiments::CATALOGUE.iter().map(|one| one.name.to_owned());
    compare("docs/lab.md", "`NAME`", experiments.collect());
    compare("docs/lab.md", "`NAME`", sim::Model::names().map(str::to_owned).collect());
    compare("docs/whatif.md", "`NAME`", replay::FIXES.iter().map(|fix| fix.id.to_owned()).collect());
    missing
}

/// The first cell of a table's row, in which `\|` is no border.
fn first_cell(row: &str) -> &str {
    let inside = row.trim_start_matches('|');
    inside.split_once(" |").map_or(inside, |(cell, _)| cell)
}

/// The commands that `--help` lists, except `help` itself.
fn commands() -> Vec<String> {
    let help = Stage::new().run("holdup --help").output;
    let (_, list) = help.split_once("\nCommands:\n").expect("the help lists commands");
    let lines = list.lines().take_while(|line| !line.is_empty());
    // The text of a command goes on in lines that are indented further.
    let named = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = named.filter_map(|line| line.split_ascii_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}
