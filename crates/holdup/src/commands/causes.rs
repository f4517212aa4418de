//! `holdup causes`

use crate::args::{Causes, Document};
use crate::failure::Failure;
use crate::input;
use crate::output::{self, Color};
use report::causes::{self, Entry};
use report::document::Form;
use std::process::ExitCode;

/// Prints all causes, or the named ones.
pub fn run(arguments: &Causes, color: Color) -> Result<ExitCode, Failure> {
    let entries = match arguments.names.as_slice() {
        [] => Entry::all(),
        names => names.iter().map(|name| named(name)).collect::<Result<Vec<_>, _>>()?.concat(),
    };
    output::print(&match arguments.format {
        Document::Json => causes::json(&entries),
        Document::Markdown => causes::document(&entries, Form::Markdown).to_string(),
        Document::Text => causes::document(&entries, Form::Text(output::page(color))).to_string(),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The entries of a name: `issue-order` is a cause of lost time and of lost overlap.
fn named(name: &str) -> Result<Vec<Entry>, Failure> {
    let all = Entry::all();
    let known: Vec<Entry> = all.iter().copied().filter(|entry| entry.id() == name).collect();
    if known.is_empty() {
        let names = all.iter().map(|entry| entry.id().to_owned()).collect();
        return Err(Failure::Message(input::no_such("cause", name, names)));
    }
    Ok(known)
}
