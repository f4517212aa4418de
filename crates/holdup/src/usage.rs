//! Reads the command line. What is wrong with it is one line, as all other errors are.

use crate::args::CommandLine;
use crate::failure::Failure;
use clap::Parser;
use clap::error::ErrorKind;

/// The command line; prints the help or the version that it asks for, and ends.
pub fn read() -> Result<CommandLine, Failure> {
    CommandLine::try_parse().map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
        _ => Failure::Message(line(&error.to_string())),
    })
}

/// Problem, from the first paragraph of clap's text, and remedy, from the others.
fn line(text: &str) -> String {
    let mut paragraphs = text.split("\n\n").map(|paragraph| {
        let words: Vec<&str> = paragraph.split_whitespace().collect();
        words.join(" ")
    });
    let first = paragraphs.next().unwrap_or_default();
    let what = first.strip_prefix("error: ").unwrap_or(&first).to_owned();
    let tells = |paragraph: String| match paragraph.split_once(": ") {
        Some(("Usage", usage)) => Some(format!("; usage: {usage}")),
        Some(("tip", tip)) if tip.contains("similar") => Some(format!("; {tip}")),
        _ => None,
    };
    let help: String = paragraphs.filter_map(tells).collect();
    what + if help.is_empty() { "; see --help" } else { &help }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_command_line_have_one_line() {
        for (arguments, expected) in [
            (
                "replay --range x",
                "unexpected argument '--range' found; usage: holdup replay [OPTIONS] <TRACE>",
            ),
            (
                "replay",
                "the following required arguments were not provided: <TRACE>; usage: holdup replay <TRACE>",
            ),
            (
                "explain a --format foo",
                "invalid value 'foo' for '--format <FORMAT>' [possible values: text, json, markdown, html]; see --help",
            ),
            ("stats a --to soon", "invalid value 'soon' for '--to <TIME>'"),
            ("explains a", "unrecognized subcommand 'explains'; some similar subcommands exist: "),
        ] {
            let words = ["holdup"].into_iter().chain(arguments.split(' '));
            let error = CommandLine::try_parse_from(words).err().expect("an error");
            let line = line(&error.to_string());
            assert!(line.starts_with(expected) && !line.contains('\n'), "{line}");
        }
    }
}
