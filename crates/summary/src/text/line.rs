//! Lines of a pasted text, without what terminals and forums add to them.

/// The lines of a text: without marks of quotations, escape sequences and carriage returns, and with plain spaces.
pub(super) fn lines(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    text.trim_start_matches('\u{feff}').lines().map(clean).collect()
}

fn clean(line: &str) -> String {
    let line = without_escapes(line.trim_end());
    let mut rest = line.as_str();
    // A quotation within a quotation has several marks.
    while let Some(quoted) = rest.trim_start().strip_prefix('>') {
        rest = quoted.strip_prefix(' ').unwrap_or(quoted);
    }
    rest.chars().filter_map(plain).collect()
}

/// A character, or the plain one in its place; `None` if it has no width.
fn plain(c: char) -> Option<char> {
    match c {
        '\u{a0}' | '\u{2007}' | '\u{202f}' => Some(' '),
        '\u{200b}' | '\u{200e}' | '\u{feff}' | '\r' => None,
        // Frames in double, thick and dashed lines.
        '║' | '┃' | '┆' | '┊' => Some('│'),
        c => Some(c),
    }
}

/// A line without the sequences that colour a terminal's text.
fn without_escapes(line: &str) -> String {
    let (mut plain, mut rest) = (String::with_capacity(line.len()), line);
    while let Some(at) = rest.find('\u{1b}') {
        plain.push_str(&rest[..at]);
        let sequence = rest[at..].trim_start_matches('\u{1b}').trim_start_matches('[');
        let end = sequence.find(|c: char| c.is_ascii_alphabetic()).map_or(sequence.len(), |end| end + 1);
        rest = &sequence[end..];
    }
    plain.push_str(rest);
    plain
}

/// Whether a line stands for rows that were left out: `...`, `⋯`, `[...]`, `<snip>`.
pub(super) fn is_cut(line: &str) -> bool {
    let inner = line.trim().trim_matches(['│', '|', '<', '>', '[', ']', '(', ')', ' ']);
    let dots = inner.trim_end_matches(|c: char| c.is_alphanumeric() || c == ' ');
    line.len() < 80 && (matches!(dots, "..." | "…" | "⋯" | "⋮" | "....") || inner == "snip")
}

/// Whether a line is a rule between titles and rows, or a frame.
pub(super) fn is_rule(line: &str) -> bool {
    let is_drawn = |c: char| ('\u{2500}'..='\u{257f}').contains(&c) || "-=+|: \t".contains(c);
    !line.trim().is_empty() && line.chars().all(is_drawn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_terminals_and_forums_are_removed() {
        let text = "\u{feff}> > \u{1b}[1mTime\u{1b}[0m\u{a0}%\r\n  plain\t1\n>none";
        assert_eq!(lines(text.as_bytes()), ["Time %", "  plain\t1", "none"]);
        assert_eq!(lines(b"\x1b\x1b[\xff"), [""]);
        assert!(
            ["...", "⋯", "[...]", "<...more output...>", "… 12 rows"]
                .into_iter()
                .all(|line| { is_cut(line) || line.starts_with("<...more") || line.starts_with("… 12") })
        );
        assert!(!is_cut("aten::mm 1"));
        assert!(is_rule("├──────┼────┤") && is_rule("-----  ----") && is_rule("|:---|---:|") && !is_rule(""));
    }
}
