//! The map of the code: each crate with its files and what each says of itself first.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::path::Path;

/// The files of the crates with the first sentence of each one's own comment, as text.
pub fn text(root: &Path) -> io::Result<String> {
    let mut crates = BTreeMap::<String, Vec<(String, String)>>::new();
    for name in super::sources(root)? {
        let Some((member, file)) = name.split_once("/src/") else { continue };
        let source = std::fs::read_to_string(root.join(&name))?;
        crates.entry(member.to_owned()).or_default().push((file.to_owned(), first_sentence(&source)));
    }
    let mut text = String::new();
    for (member, mut files) in crates {
        files.sort_by_key(|(file, _)| (!matches!(file.as_str(), "lib.rs" | "main.rs"), file.clone()));
        let _ = writeln!(text, "{member}");
        for (file, says) in files {
            let _ = writeln!(text, "  {file:<36} {says}");
        }
    }
    Ok(text)
}

/// The first sentence of a file's own comment.
fn first_sentence(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    let comment = lines.map(str::trim).take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let end = comment.find(". ").map_or(comment.len(), |dot| dot + 1);
    comment[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_it_is_in_its_first_sentence() {
        let source = "//! Costs of roots, and\n//! samples. More is below.\n//!\n//! Else.\nuse a;\n";
        assert_eq!(first_sentence(source), "Costs of roots, and samples.");
        assert_eq!(first_sentence("fn main() {}"), "");
    }
}
