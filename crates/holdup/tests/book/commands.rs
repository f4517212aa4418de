//! Every command line of a page is run, and prints what the page shows. What stands within a sentence and has a placeholder, or nothing
//! to work on, is compared with what the command takes.

use crate::page::{Block, Documented, Mark, Page};
use crate::samples;
use crate::stage::Stage;
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

/// The command lines of a page that no test runs, with the reasons, below a count of all.
pub fn listed(page: &Page) -> String {
    let all = || page.blocks.iter().flat_map(|block| block.commands.iter().map(move |command| (block, command)));
    let count = |wanted| all().filter(|(block, command)| way(page, block, command) == wanted).count();
    let counts = [count(Way::Run), count(Way::Compare), count(Way::Elsewhere), count(Way::Never)];
    if counts == [0; 4] {
        return String::new();
    }
    let [run, compared, elsewhere, never] = counts;
    let mut text = format!("{}: {run} run, {compared} compared, {elsewhere} elsewhere, {never} not run\n", page.name);
    for (block, command) in all() {
        if let Mark::NotRun(reason) = &block.mark {
            writeln!(text, "    {}\n        {reason}", command.line).expect("a string");
        }
    }
    text
}

/// Tests each command line of a page: what is wrong, and with which.
pub fn wrong(page: &Page) -> Vec<String> {
    let stage = Stage::new();
    let mut wrong = Vec::new();
    for block in &page.blocks {
        for command in &block.commands {
            let complaint = match way(page, block, command) {
                Way::Run => run(&stage, page, block, command),
                Way::Compare => compare(&stage, &command.line),
                Way::Elsewhere | Way::Never => Ok(()),
            };
            if let Err(complaint) = complaint {
                wrong.push(format!("{}:{}: `{}`: {complaint}", page.name, block.line, command.line));
            }
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

/// Whether a command line within a sentence has no placeholder (`TRACE`, `FILE.toml`, `…`, `[NAME]`) and names what to work on.
fn is_complete(line: &str) -> bool {
    let is_placeholder = |word: &str| {
        let stem = word.trim_matches(['\'', '"', '…', '[', ']']).split(['.', '=', ':']).next_back().unwrap_or(word);
        let stem = if stem.chars().any(char::is_uppercase) { stem } else { word };
        word.contains(['…', '[']) || stem.len() > 1 && stem.chars().all(|c| c.is_ascii_uppercase() || c == '-')
    };
    let mut words = line.split_ascii_whitespace().skip(1);
    let verb = words.next().unwrap_or_default();
    let rest: Vec<&str> = words.collect();
    let begins_upper = |word: &&str| word.split('.').next().is_some_and(is_placeholder);
    let names_work = match verb {
        "causes" | "completions" | "man" | "devices" => !rest.is_empty(),
        "lab" => rest.len() > 1,
        _ => rest.iter().any(|word| word.contains('.') && !word.starts_with('-')),
    };
    names_work && !is_placeholder(verb) && !rest.iter().any(|word| is_placeholder(word) || begins_upper(&word))
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

/// Whether the command exists and has the options of a command line that is not complete.
fn compare(stage: &Stage, line: &str) -> Result<(), String> {
    let words = || line.split_ascii_whitespace().skip(1);
    let is_name = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase());
    let verb: Vec<&str> = words().take_while(is_name).take(2).collect();
    let verb = if verb.first() == Some(&"lab") { verb.join(" ") } else { verb.first().copied().unwrap_or("").to_owned() };
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
