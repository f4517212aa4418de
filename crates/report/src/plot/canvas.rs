//! An SVG document being written.

use super::Plot;
use crate::escape::visible;
use crate::layout;
use std::fmt::Write;

/// Height of the title and the subtitle together.
pub(super) const HEAD: f64 = 58.0;
/// Space around everything.
pub(super) const MARGIN: f64 = 18.0;
/// Colours that people with any colour vision tell apart (Okabe and Ito), dark ones first.
pub(super) const COLOURS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#000000", "#cc79a7", "#e69f00", "#56b4e9"];
/// Lines of the frame and the grid.
pub(super) const GRID: &str = "#d9d9d9";

/// Which end of a text its position is.
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
    pub(super) fill: &'static str,
}

const TITLE: Font = Font { size: 17.0, bold: true, fill: "#111111" };
pub(super) const LABEL: Font = Font { size: 13.0, bold: false, fill: "#111111" };
pub(super) const SMALL: Font = Font { size: 12.0, bold: false, fill: "#444444" };

/// The document.
pub(super) struct Canvas {
    text: String,
}

impl Canvas {
    /// An empty picture under the plot's title, as wide as both need.
    pub(super) fn new(plot: &Plot, width: f64, height: f64) -> Canvas {
        let titles = text_width(&plot.title, TITLE).max(text_width(&plot.subtitle, SMALL));
        let width = width.max(titles + 2.0 * MARGIN);
        let mut canvas = Canvas { text: String::new() };
        let _ = writeln!(
            canvas.text,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\">"
        );
        let _ = writeln!(canvas.text, "<title>{}</title>", escaped(&plot.title));
        canvas.rect(0.0, 0.0, width, height, "#ffffff");
        canvas.write(MARGIN, 28.0, Anchor::Start, TITLE, &plot.title);
        canvas.write(MARGIN, 47.0, Anchor::Start, SMALL, &plot.subtitle);
        canvas
    }

    /// A text; `y` is its base line.
    pub(super) fn write(&mut self, x: f64, y: f64, anchor: Anchor, font: Font, text: &str) {
        self.written(x, y, anchor, font, "", text);
    }

    /// A text that runs upwards.
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
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{}\" fill=\"{}\"{weight}{more}>{}</text>",
            font.size,
            font.fill,
            escaped(text)
        );
    }

    /// A filled rectangle.
    pub(super) fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, fill: &str) {
        let _ = writeln!(
            self.text,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{fill}\"/>"
        );
    }

    /// A line through the points; `dash` as in `stroke-dasharray`.
    pub(super) fn line(&mut self, points: &[(f64, f64)], stroke: &str, width: f64, dash: &str) {
        let at: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let dash = if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") };
        let _ = writeln!(
            self.text,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"{width}\"{dash}/>",
            at.join(" ")
        );
    }

    /// A filled shape.
    pub(super) fn polygon(&mut self, points: &[(f64, f64)], fill: &str) {
        let at: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(self.text, "<polygon points=\"{}\" fill=\"{fill}\"/>", at.join(" "));
    }

    /// A filled circle.
    pub(super) fn circle(&mut self, x: f64, y: f64, radius: f64, fill: &str) {
        let _ =
            writeln!(self.text, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"{fill}\"/>");
    }

    /// A whisker: how far measurements lay to either side.
    pub(super) fn whisker(&mut self, from: (f64, f64), to: (f64, f64), stroke: &str) {
        let upright = (from.0 - to.0).abs() < f64::EPSILON;
        let (dx, dy) = if upright { (4.0, 0.0) } else { (0.0, 4.0) };
        self.line(&[from, to], stroke, 1.5, "");
        for (x, y) in [from, to] {
            self.line(&[(x - dx, y - dy), (x + dx, y + dy)], stroke, 1.5, "");
        }
    }

    /// The document.
    pub(super) fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}

/// About how wide a text comes out: fonts differ, so a little more than most need.
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
