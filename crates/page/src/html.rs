//! Writes HTML in which text stays text.

use report::visible;
use std::fmt::Write;

/// Number of characters of one text that are shown; of a longer text, both ends are shown. A choice: three kernel names
/// of a template-heavy library fit, a megabyte does not.
const LONGEST: usize = 1_000;

/// A text that is safe to show anywhere: of limited length, with control and direction-changing characters escaped.
pub fn shown(text: &str) -> String {
    // If it escaped first, it would write a megabyte to keep a thousand characters of it.
    report::elide(&visible(&report::elide(text, LONGEST)), LONGEST)
}

/// A piece of HTML under construction. Tags and attribute names are the program's own; all other text is escaped when it
/// is added.
#[derive(Clone, Debug, Default)]
pub struct Html(String);

impl Html {
    /// Returns an empty piece.
    pub fn new() -> Html {
        Html::default()
    }

    /// Adds `<tag name="value" …>`.
    pub fn open(&mut self, tag: &'static str, attributes: &[(&'static str, &str)]) -> &mut Html {
        self.0.push('<');
        self.0.push_str(tag);
        for (name, value) in attributes {
            let _ = write!(self.0, " {name}=\"");
            self.escape(value);
            self.0.push('"');
        }
        self.0.push('>');
        self
    }

    /// Adds `</tag>`.
    pub fn close(&mut self, tag: &'static str) -> &mut Html {
        let _ = write!(self.0, "</{tag}>");
        self
    }

    /// Adds text.
    pub fn text(&mut self, text: &str) -> &mut Html {
        self.escape(&shown(text));
        self
    }

    /// Adds an element that contains only text.
    pub fn leaf(&mut self, tag: &'static str, attributes: &[(&'static str, &str)], text: &str) -> &mut Html {
        self.open(tag, attributes).text(text).close(tag)
    }

    /// Adds lines of code as they are: only within a line is a control character escaped.
    pub fn code(&mut self, code: &str) -> &mut Html {
        self.open("pre", &[]);
        for (number, line) in code.trim_end().lines().enumerate() {
            if number > 0 {
                self.0.push('\n');
            }
            self.text(line);
        }
        self.close("pre")
    }

    /// Adds another piece.
    pub fn push(&mut self, piece: &Html) -> &mut Html {
        self.0.push_str(&piece.0);
        self
    }

    /// Adds a plot, which escapes its own text.
    pub fn plot(&mut self, plot: &report::plot::Plot) -> &mut Html {
        self.open("figure", &[("class", "plot")]);
        self.0.push_str(&report::plot::svg_inline(plot));
        self.close("figure")
    }

    /// Adds base64, which has no character with a meaning in HTML.
    pub(crate) fn base64(&mut self, encoded: &str) -> &mut Html {
        self.0.push_str(encoded);
        self
    }

    /// The HTML so far.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn escape(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                c => self.0.push(c),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_keeps_its_lines() {
        let mut html = Html::new();
        html.code("with a:\n    b < c\u{7}\n\nd()\n");
        assert_eq!(html.as_str(), "<pre>with a:\n    b &lt; c\\u{7}\n\nd()</pre>");
    }

    #[test]
    fn text_stays_text() {
        let mut html = Html::new();
        html.leaf(
            "p",
            &[("title", "\"><script>alert(1)</script>")],
            "</p><img src=x onerror='a'>&\u{202e}\n",
        );
        assert_eq!(
            html.as_str(),
            "<p title=\"&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;\">&lt;/p&gt;&lt;img src=x \
             onerror=&#39;a&#39;&gt;&amp;\\u{202e}\\n</p>"
        );
    }

    #[test]
    fn a_megabyte_is_cut_in_the_middle() {
        for text in ["x".repeat(1 << 20), "\u{1b}".repeat(1 << 20), "核".repeat(1 << 20)] {
            let shown = shown(&text);
            assert!(shown.chars().count() <= LONGEST && shown.contains('…'));
        }
    }
}
