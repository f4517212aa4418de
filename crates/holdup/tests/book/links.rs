//! Links lead to files and headings that are there, and every page of the book is in its summary.

use crate::page::{Page, root};
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
