//! How doc comments begin: with a noun or a verb, as `docs/style.md` wants it.

use std::io;
use std::path::Path;

/// Words with which a doc comment names nothing, without an "ever" at their end.
const HEADLESS: [&str; 6] = ["That", "Those", "What", "Who", "Whom", "Whose"];

/// The doc comments that begin so, one per line: `FILE:LINE: COMMENT`.
pub fn headless(root: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for name in super::sources(root)? {
        let text = std::fs::read_to_string(root.join(&name))?;
        found.extend(of_file(&text).map(|(line, comment)| format!("{name}:{line}: {comment}")));
    }
    Ok(found)
}

/// The paragraphs of doc comments in a file that begin so, with their lines.
fn of_file(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().map(str::trim);
    let before = std::iter::once("").chain(text.lines().map(str::trim));
    lines.zip(before).enumerate().filter_map(|(at, (line, before))| {
        let comment = doc(line)?;
        let begins = doc(before).is_none_or(|before| before.is_empty() || before.starts_with('#'));
        (begins && is_headless(comment)).then_some((at + 1, line))
    })
}

/// The text of a line that is a doc comment.
fn doc(line: &str) -> Option<&str> {
    let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
    (!text.starts_with('/')).then(|| text.trim())
}

fn is_headless(comment: &str) -> bool {
    let end = comment.find(|next: char| !next.is_alphanumeric()).unwrap_or(comment.len());
    let word = &comment[..end];
    comment.starts_with("As [`") || HEADLESS.contains(&word.strip_suffix("ever").unwrap_or(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_begins_with_a_noun_or_a_verb() {
        let file = "/// What it is.\nfn a() {}\n\n/// Calls of a thread.\n/// What else.\n///\n/// Who waits.\n/// # Errors\n/// What failed.\n//// What\n// What\n";
        assert_eq!(of_file(file).map(|(line, _)| line).collect::<Vec<_>>(), [1, 7, 9]);
        assert!(is_headless("As [`Groups::add`], for waits.") && is_headless("Those: two."));
        assert!(is_headless("Whatever it is."));
        assert!(!is_headless("As long as") && !is_headless("Whole rows") && !is_headless("Whatsoever"));
    }
}
