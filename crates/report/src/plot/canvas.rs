//! The SVG document that plots write to.

use super::chart::Plot;
use crate::escape::visible;
use crate::layout;
use std::fmt::Write;

/// Height of the title and the subtitle together.
pub(super) const HEAD: f64 = 58.0;
/// Room above a picture without a title: half of a number's height and some air.
const ABOVE: f64 = 14.0;
/// Space around everything.
pub(super) const MARGIN: f64 = 18.0;

/// A colour: used as it is in a file; in a page, the page's style may replace it by its class.
#[derive(Clone, Copy)]
pub(super) struct Paint<'a> {
    class: &'static str,
    colour: &'a str,
}

impl<'a> Paint<'a> {
    pub(super) const fn new(class: &'static str, colour: &'a str) -> Paint<'a> {
        Paint { class, colour }
    }

    /// ` class="ink" fill="#111111"`, or `stroke`; pages cannot replace a colour without a class.
    fn attributes(self, what: &str) -> String {
        let class = if self.class.is_empty() { String::new() } else { format!(" class=\"{}\"", self.class) };
        format!("{class} {what}=\"{}\"", self.colour)
    }
}

/// Colours that people with any colour vision can distinguish (Okabe and Ito), dark ones first.
pub(super) const COLOURS: [Paint<'static>; 7] = [
    Paint::new("s0", "#0072b2"),
    Paint::new("s1", "#d55e00"),
    Paint::new("s2", "#009e73"),
    Paint::new("s3", "#000000"),
    Paint::new("s4", "#cc79a7"),
    Paint::new("s5", "#e69f00"),
    Paint::new("s6", "#56b4e9"),
];
/// Text and marks.
pub(super) const INK: Paint<'static> = Paint::new("ink", "#111111");
/// Less important text, and axes.
pub(super) const SOFT: Paint<'static> = Paint::new("soft", "#444444");
/// Lines of the frame and the grid.
pub(super) const GRID: Paint<'static> = Paint::new("grid", "#d9d9d9");

/// The part of a text that is at its position.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A text's size and colour.
#[derive(Clone, Copy)]
pub(super) struct Font {
    pub(super) size: f64,
    pub(super) bold: bool,
    pub(super) fill: Paint<'static>,
}

const TITLE: Font = Font { size: 17.0, bold: true, fill: INK };
pub(super) const LABEL: Font = Font { size: 13.0, bold: false, fill: INK };
pub(super) const SMALL: Font = Font { size: 12.0, bold: false, fill: SOFT };

/// The document.
pub(super) struct Canvas {
    width: f64,
    height: f64,
    text: String,
}

impl Canvas {
    /// An empty picture. The room above [`HEAD`] is for the plot's title.
    pub(super) fn new(width: f64, height: f64) -> Canvas {
        Canvas { width, height, text: String::new() }
    }

    /// The document on its own: the plot's title above it, on white.
    pub(super) fn file(self, plot: &Plot) -> String {
        let titles = text_width(&plot.title, TITLE).max(text_width(&plot.subtitle, SMALL));
        let width = self.width.max(titles + 2.0 * MARGIN);
        let mut file = Canvas::new(width, self.height);
        file.rect(0.0, 0.0, width, self.height, Paint::new("", "#ffffff"));
        file.write(MARGIN, 28.0, Anchor::Start, TITLE, &plot.title);
        file.write(MARGIN, 47.0, Anchor::Start, SMALL, &plot.subtitle);
        file.text.push_str(&self.text);
        file.document(plot, 0.0)
    }

    /// The document for a page, which has its own title and background: neither is drawn.
    pub(super) fn inline(self, plot: &Plot) -> String {
        self.document(plot, HEAD - ABOVE)
    }

    /// The part of the document below `top`.
    fn document(&self, plot: &Plot, top: f64) -> String {
        let (width, height) = (self.width, self.height - top);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 {top:.0} {width:.0} {height:.0}\" role=\"img\" \
             font-family=\"system-ui, 'DejaVu Sans', sans-serif\">\n<title>{}</title>\n{}</svg>\n",
            escaped(&plot.title),
            self.text
        )
    }

    /// Writes a text; `y` is its base line.
    pub(super) fn write(&mut self, x: f64, y: f64, anchor: Anchor, font: Font, text: &str) {
        self.written(x, y, anchor, font, "", text);
    }

    /// Writes a text that runs upwards.
    pub(super) fn write_upwards(&mut self, x: f64, y: f64, anchor: Anchor, font: Font, text: &str) {
        let turned = format!(" transform=\"rotate(-90 {x:.1} {y:.1})\"");
        self.written(x, y, anchor, font, &turned, text);
    }

    fn written(&mut self, x: f64, y: f64, anchor: Anchor, font: Font, more: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let weight = if font.bold { " font-weight=\"600\"" } else { "" };
        let _ = writeln!(
            self.text,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{}\"{}{weight}{more}>{}</text>",
            font.size,
            font.fill.attributes("fill"),
            escaped(text)
        );
    }

    /// Draws a filled rectangle.
    pub(super) fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, fill: Paint<'_>) {
        let _ = writeln!(
            self.text,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"{}/>",
            fill.attributes("fill")
        );
    }

    /// Draws something with a tooltip.
    pub(super) fn says(&mut self, text: &str, draw: impl FnOnce(&mut Canvas)) {
        let _ = writeln!(self.text, "<g><title>{}</title>", escaped(text));
        draw(self);
        self.end();
    }

    /// Draws a line through the points; `dash` as in `stroke-dasharray`.
    pub(super) fn line(&mut self, points: &[(f64, f64)], stroke: Paint<'_>, width: f64, dash: &str) {
        let at: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let dash = if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") };
        let _ = writeln!(
            self.text,
            "<polyline points=\"{}\" fill=\"none\"{} stroke-width=\"{width}\"{dash}/>",
            at.join(" "),
            stroke.attributes("stroke")
        );
    }

    /// Draws a filled shape.
    pub(super) fn polygon(&mut self, points: &[(f64, f64)], fill: Paint<'_>) {
        let at: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(self.text, "<polygon points=\"{}\"{}/>", at.join(" "), fill.attributes("fill"));
    }

    /// Draws a filled circle.
    pub(super) fn circle(&mut self, x: f64, y: f64, radius: f64, fill: Paint<'_>) {
        let _ = writeln!(
            self.text,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"{}/>",
            fill.attributes("fill")
        );
    }

    /// Draws a whisker: the spread of the measurements to either side.
    pub(super) fn whisker(&mut self, from: (f64, f64), to: (f64, f64), stroke: Paint<'_>) {
        let upright = (from.0 - to.0).abs() < f64::EPSILON;
        let (dx, dy) = if upright { (4.0, 0.0) } else { (0.0, 4.0) };
        self.line(&[from, to], stroke, 1.5, "");
        for (x, y) in [from, to] {
            self.line(&[(x - dx, y - dy), (x + dx, y + dy)], stroke, 1.5, "");
        }
    }

    /// Begins a group, which a page's style can address by its class.
    pub(super) fn begin(&mut self, class: &'static str) {
        let _ = writeln!(self.text, "<g class=\"{class}\">");
    }

    /// Ends the group.
    pub(super) fn end(&mut self) {
        self.text.push_str("</g>\n");
    }
}

/// The approximate width of a text: a little more than most fonts need.
pub(super) fn text_width(text: &str, font: Font) -> f64 {
    layout::width(text) as f64 * font.size * 0.6
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            c => safe.push(c),
        }
    }
    safe
}
