//! Links lead to files and headings that are there, every page of the book is in its summary, and guides to the source name files that are
//! there.

use crate::page::{Page, root};
use pulldown_cmark::{Event, Parser};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// The links of pages that lead nowhere, and those that leave the book.
pub fn broken(pages: &[Page]) -> Vec<String> {
    let by_name: BTreeMap<&str, &Page> = pages.iter().map(|page| (page.name.as_str(), page)).collect();
    let mut broken = Vec::new();
    for page in pages {
        for link in page.links.iter().filter(|link| !link.contains("://") && !link.starts_with("mailto:")) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { page.name.clone() } else { joined(&page.name, path) };
            let is_there = root().join(&target).exists();
            let has_anchor = anchor.is_empty()
                || by_name
                    .get(target.as_str())
                    .is_some_and(|page| page.anchors.iter().any(|known| known == anchor));
            // A book is its folder: the site that is made of it has nothing else, and no page of the name README.
            let leaves = page.name.starts_with("docs/")
                && (!target.starts_with("docs/")
                    || target.ends_with("README.md") && page.name != "docs/SUMMARY.md");
            if !is_there || !has_anchor || leaves {
                broken.push(format!("{}: {link}{}", page.name, if leaves { " leaves the book" } else { "" }));
            }
        }
    }
    broken
}

/// Pages that the summary lacks, and those that it names twice.
pub fn missing(pages: &[Page]) -> Vec<String> {
    let summary = pages.iter().find(|page| page.name == "docs/SUMMARY.md").expect("the book has a summary");
    let listed: Vec<String> = summary.links.iter().map(|link| joined(&summary.name, link)).collect();
    let in_book = pages.iter().filter(|page| page.name.starts_with("docs/") && page.name != summary.name);
    let wanted = in_book.filter(|page| listed.iter().filter(|listed| **listed == page.name).count() != 1);
    wanted.map(|page| page.name.clone()).collect()
}

/// The path that a link of a page names, from the root.
fn joined(page: &str, link: &str) -> String {
    let mut path = PathBuf::new();
    for part in Path::new(page).parent().expect("a page is in a folder").join(link).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            part => path.push(part),
        }
    }
    path.to_str().expect("UTF-8").to_owned()
}

/// Files that a guide to the source names and that are not there, and names that its file does not have: `IDENT` of `FILE`.
pub fn lost(guide: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(guide)).expect("the guide is there");
    let files = files();
    let (mut lost, mut span, mut between) = (Vec::new(), String::new(), String::new());
    for event in Parser::new(&text) {
        match event {
            Event::Code(code) if is_path(&code) => {
                let path = code.trim_end_matches('/');
                let named: Vec<&String> = files.iter().filter(|file| is_named(file, path)).collect();
                let is_of = [" of ", " in "].contains(&between.as_str()) && is_identifier(&span);
                let has = |file: &&String| {
                    std::fs::read_to_string(root().join(file)).is_ok_and(|text| text.contains(&span))
                };
                if named.is_empty() {
                    lost.push(format!("{guide}: {path}"));
                } else if is_of && !named.iter().any(has) {
                    lost.push(format!("{guide}: {span} of {path}"));
                }
                (span, between) = (String::new(), String::new());
            }
            Event::Code(code) => (span, between) = (code.to_string(), String::new()),
            Event::Text(text) => between.push_str(&text),
            Event::SoftBreak => between.push(' '),
            _ => between.clear(),
        }
    }
    lost
}

/// Whether a word in a guide is a path within the repository, without a placeholder.
fn is_path(word: &str) -> bool {
    let ends = [".rs", ".md", ".py", ".sh", ".txt", ".toml", ".json"]
        .iter()
        .any(|end| word.ends_with(end) && word != *end);
    let is_folder = ["crates/", "lab/", "docs/", "fuzz/", "python/", "src/", "xtask/"]
        .iter()
        .any(|start| word.starts_with(start));
    let has_placeholder = ["NAME", "CASE", "*", "{", " "].iter().any(|part| word.contains(part));
    (ends || is_folder) && !has_placeholder
}

/// Whether a path, or the end of one, is that of a file or of a folder above it.
fn is_named(file: &str, path: &str) -> bool {
    format!("/{file}/").contains(&format!("/{path}/"))
}

fn is_identifier(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && !word.is_empty()
}

/// Every file of the repository, from its root, without what is built.
fn files() -> Vec<String> {
    const BUILT: [&str; 4] = ["target", "node_modules", "corpus", ".git"];
    let (mut files, mut folders) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).expect("a folder").flatten() {
            let name = entry.file_name();
            let path = folder.join(&name);
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !BUILT.iter().any(|built| name == *built) => folders.push(path),
                Ok(kind) if kind.is_file() => files.push(path.to_string_lossy().into_owned()),
                Ok(_) | Err(_) => {}
            }
        }
    }
    files
}
