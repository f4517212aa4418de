//! All tests by one command: of Rust, of the page in a browser, and of the Python package.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Result of one kind of tests.
enum Outcome {
    Passed(Duration),
    Failed(Duration),
    /// It was not run, for this reason.
    Missing(String),
}

/// Runs all tests; whether none failed. With `all`, one that cannot be run has failed.
pub fn run(root: &Path, all: bool) -> bool {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let program = target.join("debug/holdup");
    let rust = step(root, "cargo", &["test", "--workspace"], None);
    let page = match lacks_for_page() {
        Some(missing) => Outcome::Missing(missing),
        None => step(root, "crates/page/web/test", &[], Some(&program)),
    };
    let python = match has("python3") {
        false => {
            Outcome::Missing(String::from("python3 is missing; on Debian: apt-get install python3-venv"))
        }
        true => step(root, "python/test", &[&program.to_string_lossy()], None),
    };
    let outcomes = [("Rust", rust), ("the page", page), ("Python", python)];
    println!();
    outcomes.iter().for_each(|(of, outcome)| println!("tests of {of:<10} {}", line(outcome)));
    outcomes.iter().all(|(_, outcome)| match outcome {
        Outcome::Passed(_) => true,
        Outcome::Failed(_) => false,
        Outcome::Missing(_) => !all,
    })
}

fn line(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Passed(took) => format!("passed in {} s", took.as_secs()),
        Outcome::Failed(took) => format!("FAILED after {} s", took.as_secs()),
        Outcome::Missing(why) => format!("not run: {why}"),
    }
}

/// Runs a command in the project's folder; `HOLDUP` names the program to it.
fn step(root: &Path, command: &str, arguments: &[&str], program: Option<&Path>) -> Outcome {
    println!("\n== {command} {}", arguments.join(" "));
    let start = Instant::now();
    // A path is one from the project's folder.
    let path = if command.contains('/') { root.join(command) } else { PathBuf::from(command) };
    let mut child = Command::new(path);
    child.args(arguments).current_dir(root);
    if let Some(program) = program {
        child.env("HOLDUP", program);
    }
    match child.status() {
        Ok(status) if status.success() => Outcome::Passed(start.elapsed()),
        Ok(_) => Outcome::Failed(start.elapsed()),
        Err(error) => Outcome::Missing(format!("{command}: {error}")),
    }
}

/// Programs that the page's tests lack; `None` if all are there.
fn lacks_for_page() -> Option<String> {
    let chromium = std::env::var("CHROMIUM").unwrap_or_else(|_| String::from("/usr/bin/chromium"));
    let missing: Vec<&str> = ["node", "npm", &chromium].into_iter().filter(|name| !has(name)).collect();
    if missing.is_empty() {
        return None;
    }
    let programs = missing.join(" and ");
    Some(format!("no {programs}; on Debian: apt-get install nodejs npm chromium"))
}

/// Whether a program can be started.
fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}
