//! Fitting text into columns: its width, eliding, wrapping with a hanging indent.

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::UnicodeWidthChar;
use unicode_width::UnicodeWidthStr;

/// Columns a terminal needs for `text`.
pub(crate) fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.width() }
}

/// `text` in at most `columns`, its middle replaced by `…`: both ends of a kernel's name matter.
pub fn elide(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let keep = columns.saturating_sub(1);
    let front = take(text.chars(), keep.div_ceil(2));
    let mut back: Vec<char> = take(text.chars().rev(), keep / 2).chars().collect();
    back.reverse();
    format!("{front}…{}", back.into_iter().collect::<String>())
}

/// `text` in at most `columns`, `…` for its end: a place begins with what matters.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    format!("{}…", take(text.chars(), columns.saturating_sub(1)).trim_end())
}

fn take(chars: impl Iterator<Item = char>, columns: usize) -> String {
    let mut left = columns;
    let fits = |c: &char| {
        let needed = c.width().unwrap_or(0);
        let fits = needed <= left;
        left = left.saturating_sub(needed);
        fits
    };
    chars.take_while(fits).collect()
}

/// Breaks `text` at spaces into lines of at most `columns`; a longer word is cut, a number stays with its unit.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let options = Options::new(columns.max(8))
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    let text = glued(text);
    let lines = textwrap::wrap(&text, options);
    lines.iter().map(|line| line.replace(GLUE, " ")).collect()
}

/// `text` without its last clauses, as far as it has more than so many lines of `columns`.
pub(crate) fn shorten(text: &str, columns: usize, lines: usize) -> String {
    let end = if text.ends_with('.') { "." } else { "" };
    let mut kept = text.trim_end_matches('.');
    while wrap(&format!("{kept}{end}"), columns).len() > lines {
        let Some((first, _)) = kept.rsplit_once(", ") else { break };
        kept = first;
    }
    format!("{kept}{end}")
}

/// A space at which no line ends.
const GLUE: char = '\u{a0}';

/// `text` with one space between words, none at which a line may end between a number and its unit, and between what there
/// are so many of (`8 × cudaMalloc`).
fn glued(text: &str) -> String {
    const UNITS: [&str; 14] =
        ["%", "×", "ns", "µs", "ms", "s", "B", "KiB", "MiB", "GiB", "TiB", "kB/s", "MB/s", "GB/s"];
    let mut glued = String::with_capacity(text.len());
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let is_unit = UNITS.contains(&word.trim_end_matches([')', ',', ';', '.']));
        let after_number = glued.ends_with(|last: char| last.is_ascii_digit());
        if is_unit && after_number || glued.ends_with("\u{a0}×") {
            glued.push(GLUE);
        } else if !glued.is_empty() {
            glued.push(' ');
        }
        glued.push_str(word);
    }
    glued
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elides_in_the_middle() {
        assert_eq!(elide("abcdefghij", 10), "abcdefghij");
        assert_eq!(elide("abcdefghij", 7), "abc…hij");
        assert_eq!(elide("核核核核核", 6), "核…核");
        assert_eq!(elide("abc", 0), "…");
    }

    #[test]
    fn clauses_are_left_out() {
        let text = "it took 7 s: imports 4 s, first uses 2 s, a lock 1 s.";
        assert_eq!(shorten(text, 30, 2), text);
        assert_eq!(shorten(text, 24, 2), "it took 7 s: imports 4 s, first uses 2 s.");
        assert_eq!(shorten(text, 12, 1), "it took 7 s: imports 4 s.");
    }

    #[test]
    fn cuts_at_the_end() {
        assert_eq!(cut("train.py:31 step", 16), "train.py:31 step");
        assert_eq!(cut("train.py:31 step", 13), "train.py:31…");
        assert_eq!(cut("核核核核核", 6), "核核…");
    }

    #[test]
    fn wraps_at_spaces_and_cuts_long_words() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("a abcdefghijklmnop z", 8), ["a", "abcdefgh", "ijklmnop", "z"]);
        assert_eq!(wrap("", 8), [""]);
        assert_eq!(wrap("waits 53.8 ms, long", 10), ["waits", "53.8 ms,", "long"]);
        assert_eq!(wrap("lost in 8 × cuInit", 10), ["lost in", "8 × cuInit"]);
    }
}
