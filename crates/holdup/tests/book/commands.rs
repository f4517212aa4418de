//! Every command line of a page is run, and prints what the page shows. What stands within a sentence and has a placeholder, or nothing
//! to work on, is compared with what the command takes.

use crate::page::{Block, Documented, Mark, Page, root};
use crate::samples;
use crate::stage::Stage;
use std::collections::BTreeMap;
use std::fmt::Write;

/// How a command line is tested.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Run,
    Compare,
    /// Its page has a test of its own.
    Elsewhere,
    Never,
}

/// How many command lines of pages are tested in which way.
pub fn counted<'a>(pages: impl Iterator<Item = &'a Page>) -> String {
    let mut counts = [0; 4];
    for page in pages {
        all(page).for_each(|(block, command)| counts[way(page, block, command) as usize] += 1);
    }
    let [run, compared, elsewhere, never] = counts;
    format!(
        "command lines: {run} run, {compared} compared with --help, {elsewhere} run by tests/seeds.rs, {never} not run"
    )
}

/// The command lines of a page that no test runs, by reason.
pub fn not_run(page: &Page) -> String {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (block, command) in all(page) {
        if let Mark::NotRun(reason) = &block.mark {
            by_reason.entry(reason).or_default().push(&command.line);
        }
    }
    let mut text = String::new();
    for (reason, lines) in by_reason {
        writeln!(text, "{}: {}: {reason}", page.name, lines.len()).expect("a string");
        lines.iter().for_each(|line| writeln!(text, "    {line}").expect("a string"));
    }
    text
}

fn all(page: &Page) -> impl Iterator<Item = (&Block, &Documented)> {
    page.blocks.iter().flat_map(|block| block.commands.iter().map(move |command| (block, command)))
}

/// Tests each command line of a page: what is wrong, and with which.
pub fn wrong(page: &Page) -> Vec<String> {
    let stage = Stage::new();
    let mut wrong = Vec::new();
    for (block, command) in all(page) {
        let complaint = match way(page, block, command) {
            Way::Run => run(&stage, page, block, command),
            Way::Compare => compare(&stage, &command.line),
            Way::Never => names_files(&command.line),
            Way::Elsewhere => Ok(()),
        };
        if let Err(complaint) = complaint {
            wrong.push(format!("{}:{}: `{}`: {complaint}", page.name, block.line, command.line));
        }
    }
    wrong
}

fn way(page: &Page, block: &Block, command: &Documented) -> Way {
    match &block.mark {
        Mark::NotRun(_) => Way::Never,
        // tests/seeds.rs knows what each row prints.
        _ if page.name == "docs/seeds.md" && command.inline => Way::Elsewhere,
        _ if command.inline && !is_complete(&command.line) => Way::Compare,
        _ => Way::Run,
    }
}

/// Whether a command line within a sentence names what to work on, and has no placeholder.
fn is_complete(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace().skip(1);
    let verb = words.next().unwrap_or_default();
    let rest: Vec<&str> = words.collect();
    let names_work = match verb {
        "causes" | "completions" | "man" | "devices" => !rest.is_empty(),
        "lab" => rest.len() > 1,
        _ => rest.iter().any(|word| word.contains('.') && !word.starts_with('-')),
    };
    names_work && !line.split_ascii_whitespace().any(is_placeholder)
}

/// `TRACE`, `FILE.toml`, `sim:MODEL`, `[NAME…]`.
fn is_placeholder(word: &str) -> bool {
    let is_upper = |part: &str| part.len() > 1 && part.bytes().all(|byte| byte.is_ascii_uppercase());
    word.contains(['…', '[']) || word.split(['.', ':', '=', '\'']).any(is_upper)
}

/// Runs a command line and compares what it prints.
fn run(stage: &Stage, page: &Page, block: &Block, command: &Documented) -> Result<(), String> {
    if !Stage::can_run(&command.line) {
        return Err("it builds or downloads: put `<!-- not run: REASON -->` before it".to_owned());
    }
    let done = stage.run(&command.line);
    if !done.success {
        return Err(format!("it fails: {}", done.errors));
    }
    if block.mark == Mark::Varies || samples::is_shown(&command.prints, &done.output) {
        return Ok(());
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        return samples::update(page, command, &done.output);
    }
    Err(format!("it prints\n{}", done.output))
}

/// Whether the files of the repository that a command line names are there.
fn names_files(line: &str) -> Result<(), String> {
    let words =
        line.split([' ', '=']).filter(|word| word.starts_with("benches/") || word.starts_with("crates/"));
    match words.into_iter().find(|word| !root().join(word).exists()) {
        Some(missing) => Err(format!("there is no {missing}")),
        None => Ok(()),
    }
}

/// Whether the command exists and has the options of a command line that is not complete.
fn compare(stage: &Stage, line: &str) -> Result<(), String> {
    let words = || line.split_ascii_whitespace().skip(1);
    let is_name = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase());
    let verb: Vec<&str> = words().take_while(is_name).take(2).collect();
    let verb = if verb.first() == Some(&"lab") {
        verb.join(" ")
    } else {
        verb.first().copied().unwrap_or("").to_owned()
    };
    let help = stage.run(&format!("holdup {verb} --help"));
    if !help.success {
        return Err(format!("no such command: {}", help.errors));
    }
    let options = words().take_while(|word| *word != "--").filter(|word| word.starts_with("--"));
    let names = options.map(|option| option.split('=').next().unwrap_or(option));
    match names.into_iter().find(|name| !help.output.contains(name)) {
        Some(name) => Err(format!("`holdup {verb}` has no option {name}")),
        None => Ok(()),
    }
}
