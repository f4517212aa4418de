//! Texts of a digest: of a bounded length.

use explain::Place;

/// Longest text of a cell, characters: a choice. The names of C++ templates have thousands.
pub(crate) const LONGEST: usize = 200;

/// A place as outputs print it, without the folders: `loader.py:31 next_batch`.
pub(crate) fn place_text(place: &Place) -> String {
    let file = place.file.rsplit(['/', '\\']).next().unwrap_or_default();
    let line = if place.line > 0 { format!(":{}", place.line) } else { String::new() };
    elided(format!("{file}{line} {}", place.function).trim())
}

/// A text of a bounded length.
pub(crate) fn elided(text: &str) -> String {
    match text.chars().nth(LONGEST) {
        None => text.to_owned(),
        Some(_) => text.chars().take(LONGEST - 1).chain(['…']).collect(),
    }
}
