//! A tool's command and its words for each class.

use super::case::{Classes, read_toml};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Lines of a screen.
const LINES: usize = 25;

/// A tool, from its file in `proving/tools`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tool {
    /// Program and arguments; `{input}` is the case's file.
    pub command: Vec<String>,
    /// Number of paragraphs before the statement.
    #[serde(default)]
    pub header: usize,
    /// Words for classes of causes.
    pub cause: BTreeMap<String, Vec<String>>,
    /// Words for classes of fixes.
    pub fix: BTreeMap<String, Vec<String>>,
}

/// A tool's first 25 lines on a case.
pub(super) struct Screen {
    /// The lines as they are printed.
    pub text: String,
    /// The first sentence after the header, on one line.
    pub statement: String,
}

impl Tool {
    pub fn read(path: &Path, classes: &Classes) -> Result<Tool, String> {
        let tool: Tool = read_toml(path)?;
        let causes = tool.cause.keys().find(|class| !classes.cause.contains_key(*class));
        let fixes = tool.fix.keys().find(|class| !classes.fix.contains_key(*class));
        if let Some(class) = causes.or(fixes) {
            return Err(format!("{}: no class `{class}` in classes.toml", path.display()));
        }
        if tool.command.is_empty() {
            return Err(format!("{}: no command", path.display()));
        }
        Ok(tool)
    }

    /// The screen of an answer. A refusal has one paragraph, and no header.
    pub fn screen(&self, answer: &str) -> Screen {
        let lines: Vec<&str> = answer.lines().take(LINES).collect();
        let paragraphs: Vec<&[&str]> =
            lines.split(|line| line.trim().is_empty()).filter(|one| !one.is_empty()).collect();
        let first = paragraphs.get(self.header).or(paragraphs.last());
        Screen {
            text: lines.join("\n"),
            statement: first.map_or_else(String::new, |paragraph| sentence(paragraph)),
        }
    }
}

/// The first line of a paragraph with the lines that continue it, which are indented further.
fn sentence(paragraph: &[&str]) -> String {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let Some((first, rest)) = paragraph.split_first() else { return String::new() };
    let further = rest.iter().take_while(|line| indent(line) > indent(first));
    let words: Vec<&str> = std::iter::once(first).chain(further).map(|line| line.trim()).collect();
    words.join(" ")
}

/// Whether a text has one of the words; the parts between `…` follow each other.
pub(super) fn has(text: &str, words: &[String]) -> bool {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    words.iter().any(|word| {
        let mut rest = text.as_str();
        word.to_lowercase().split('…').all(|part| match rest.find(part.trim()) {
            Some(at) => {
                rest = &rest[at + part.trim().len()..];
                true
            }
            None => false,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_the_first_sentence_after_the_header() {
        let tool = Tool { command: Vec::new(), header: 1, cause: BTreeMap::new(), fix: BTreeMap::new() };
        let screen = tool
            .screen("trace.json   3 calls\n    facts\n\n40 %: files are\n    written.\nGPU 0 was idle.\n");
        assert_eq!(screen.statement, "40 %: files are written.");
        assert_eq!(tool.screen("holdup: empty.json: empty\n").statement, "holdup: empty.json: empty");
        assert_eq!(tool.screen("").statement, "");
    }

    #[test]
    fn words_are_found_across_lines_and_in_their_order() {
        let has = |word: &str| has("Files are\n   written (run.py:7)", &[word.to_owned()]);
        assert!(has("files are written"));
        assert!(has("files … RUN.PY:7"));
        assert!(!has("run.py:7 … files"));
    }
}
