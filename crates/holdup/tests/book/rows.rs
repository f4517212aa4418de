//! Tables of pages have a row for each command, experiment, model and change that the program knows, and other lists in the repository each
//! cause.

use crate::page::root;
use crate::stage::Stage;
use explain::{About, Bound, Cause, Family};
use serde_json::{Value, json};

/// Names that the program has, and no page has in a row of its table: `PAGE: NAME`.
pub fn missing() -> Vec<String> {
    let mut missing = Vec::new();
    let mut compare = |page: &str, form: &str, names: Vec<String>| {
        let text = text(page);
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

/// Names that the program has and a list of the repository lacks: `FILE: NAME`.
pub fn unlisted() -> Vec<String> {
    let (account, schemas) = (text("docs/account.md"), text("crates/holdup/tests/schemas.py"));
    let of_account = Cause::ALL.iter().filter(|cause| About::of(**cause).is_of_account());
    let unnamed = of_account.map(|cause| cause.id()).filter(|id| !account.contains(&format!("`{id}`")));
    let mut unlisted: Vec<String> = unnamed.map(|id| format!("docs/account.md: {id}")).collect();
    let unchecked = commands().into_iter().filter(|name| prints_json(name));
    let unchecked = unchecked.filter(|name| !schemas.contains(&format!("\"{name}\"")));
    unlisted.extend(unchecked.map(|name| format!("crates/holdup/tests/schemas.py: {name}")));

    let schema: Value = serde_json::from_str(&text("docs/schema/explain.json")).expect("JSON");
    let causes: Vec<_> = Cause::ALL.iter().map(|cause| cause.id()).collect();
    let bounds: Vec<_> = Bound::ALL.iter().map(|bound| bound.id()).collect();
    for (place, names) in [
        ("/$defs/finding/properties/cause/enum", causes),
        ("/properties/verdict/properties/bound/enum", bounds),
    ] {
        if schema.pointer(place) != Some(&json!(names)) {
            unlisted.push(format!("docs/schema/explain.json: {place} is not {names:?}"));
        }
    }
    let python = text("python/src/holdup/_html.py");
    for family in Family::ALL {
        let (_, rest) = python.split_once(&format!("\"{}\": (", family.id())).expect("a family of causes");
        let (listed, _) = rest.split_once(')').expect("an end");
        let own = Cause::ALL.iter().filter(|cause| About::of(**cause).family == *family);
        let missing = own.map(|cause| cause.id()).filter(|id| !listed.contains(&format!("\"{id}\"")));
        unlisted.extend(missing.map(|id| format!("python/src/holdup/_html.py, {}: {id}", family.id())));
    }
    unlisted
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Whether a command's `--format` can be `json`.
fn prints_json(command: &str) -> bool {
    let help = Stage::new().run(&format!("holdup {command} --help")).output;
    let Some((_, after)) = help.split_once("--format <") else { return false };
    let words = after.split(|c: char| !c.is_ascii_alphanumeric()).take_while(|word| *word != "help");
    words.into_iter().any(|word| word == "json")
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
