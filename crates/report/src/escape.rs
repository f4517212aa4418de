//! Escapes text from traces: a kernel's name must not move the cursor, forge a line or break a table.

use std::borrow::Cow;
use std::fmt::Write;
use trace::{Strings, Sym};

/// The text with control and direction-changing characters as escape sequences (`\n`, `\u{1b}`).
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(hostile) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            c if hostile(c) => {
                let _ = write!(safe, "\\u{{{:x}}}", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// The text as by [`visible`], with the characters escaped that mean something in Markdown or HTML.
pub fn markdown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 8);
    for c in visible(text).chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            // A mention would notify a user who has the same name as a function.
            '@' => safe.push_str("&#64;"),
            '\\' | '|' | '`' | '*' | '_' | '[' | ']' | '#' | '~' | '$' => {
                safe.push('\\');
                safe.push(c);
            }
            c => safe.push(c),
        }
    }
    safe
}

fn hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// The texts of a trace, each made [`visible`] only once, because many rows may use it.
pub(crate) struct Names<'a> {
    strings: &'a Strings,
    /// By [`Sym::index`]; nearly always all `None`.
    escaped: Vec<Option<Box<str>>>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(strings: &'a Strings) -> Names<'a> {
        let owned = |text| match visible(text) {
            Cow::Owned(safe) => Some(safe.into_boxed_str()),
            Cow::Borrowed(_) => None,
        };
        let mut escaped = Vec::new();
        for (sym, text) in strings.iter() {
            if let Some(safe) = owned(text) {
                escaped.resize(sym.index(), None);
                escaped.push(Some(safe));
            }
        }
        Names { strings, escaped }
    }

    pub(crate) fn text(&self, sym: Sym) -> &str {
        match self.escaped.get(sym.index()) {
            Some(Some(safe)) => safe,
            _ => self.strings.text(sym),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_become_visible() {
        assert_eq!(visible("a\x1b[31mred\nb\u{9b}c\u{202e}d"), "a\\u{1b}[31mred\\nb\\u{9b}c\\u{202e}d");
        assert!(matches!(visible("void kernel<float, 4>(µ)"), Cow::Borrowed(_)));
    }

    #[test]
    fn markdown_is_escaped() {
        assert_eq!(markdown("a|b`c`<img>@me"), "a\\|b\\`c\\`&lt;img&gt;&#64;me");
    }

    #[test]
    fn names_are_escaped_by_symbol() {
        let mut strings = Strings::default();
        let plain = strings.intern("sgemm");
        let hostile = strings.intern("a\nb");
        let last = strings.intern("last");
        let names = Names::new(&strings);
        assert_eq!([plain, hostile, last].map(|sym| names.text(sym)), ["sgemm", "a\\nb", "last"]);
    }
}
