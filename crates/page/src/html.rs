//! HTML, written so that text stays text.

use report::visible;
use std::fmt::Write;

/// Characters of one text that are shown; both ends of a longer one. A choice: three kernel names of a
/// template-heavy library fit, a megabyte does not.
const LONGEST: usize = 1_000;

/// A text as it may be shown anywhere: no control or direction-changing characters, and not endless.
pub fn shown(text: &str) -> String {
    // Escaping first would write a megabyte to keep a thousand characters of it.
    report::elide(&visible(&report::elide(text, LONGEST)), LONGEST)
}

/// A piece of HTML under construction. Tags and attribute names are the program's own; everything else is
/// escaped on its way in.
#[derive(Clone, Debug, Default)]
pub struct Html(String);

impl Html {
    /// Nothing yet.
    pub fn new() -> Html {
        Html::default()
    }

    /// `<tag name="value" …>`
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

    /// `</tag>`
    pub fn close(&mut self, tag: &'static str) -> &mut Html {
        let _ = write!(self.0, "</{tag}>");
        self
    }

    /// Text.
    pub fn text(&mut self, text: &str) -> &mut Html {
        self.escape(&shown(text));
        self
    }

    /// An element with nothing but text in it.
    pub fn leaf(&mut self, tag: &'static str, attributes: &[(&'static str, &str)], text: &str) -> &mut Html {
        self.open(tag, attributes).text(text).close(tag)
    }

    /// Another piece.
    pub fn push(&mut self, piece: &Html) -> &mut Html {
        self.0.push_str(&piece.0);
        self
    }

    /// A plot, which escapes its own text.
    pub fn plot(&mut self, plot: &report::plot::Plot) -> &mut Html {
        self.open("figure", &[("class", "plot")]);
        self.0.push_str(&report::plot::svg_inline(plot));
        self.close("figure")
    }

    /// Base64, which has no character that HTML knows.
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
