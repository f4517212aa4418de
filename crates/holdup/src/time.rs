//! Times and durations on the command line.

use crate::failure::Failure;
use trace::{Ns, Selection};

/// Parses `1.5s`, `200ms`, `900us`; a bare number is seconds.
pub fn parse(text: &str) -> Result<Ns, String> {
    let ns = quantity::duration_or_seconds(text).and_then(|ns| Ns::try_from(ns).ok());
    ns.ok_or_else(|| {
        String::from("not a time: write it like 1.5s, 200ms, 900us or 50ns (a bare number is seconds)")
    })
}

/// Parses the end of the selected time; `--to` once was a format.
pub fn parse_end(text: &str) -> Result<Ns, String> {
    let formats = ["perfetto", "chrome", "parquet", "csv"];
    parse(text).map_err(|problem| match formats.contains(&text) {
        true => format!("--to is a time: write --format {text}"),
        false => problem,
    })
}

/// Refuses a time span that ends before it starts.
pub fn check(selection: &Selection) -> Result<(), Failure> {
    match (selection.from, selection.to) {
        (Some(from), Some(to)) if from > to => {
            Err(Failure::Message(String::from("--from is later than --to: swap them")))
        }
        _ => Ok(()),
    }
}
