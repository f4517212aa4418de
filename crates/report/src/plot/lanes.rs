//! Lanes: what happened when, in panels one below the other on one scale of time.

use super::canvas::{Anchor, Canvas, Font, GRID, HEAD, INK, LABEL, MARGIN, Paint, SMALL, SOFT, text_width};
use super::chart::{Lanes, Panel, Span, SpanStyle};
use super::scale;
use crate::units;

const PLOT_WIDTH: f64 = 820.0;
/// Distance from one lane to the next.
const PITCH: f64 = 20.0;
const THICK: f64 = 16.0;
/// Room above a panel's lanes: its name.
const HEADING: f64 = 26.0;
/// Room between two panels.
const GAP: f64 = 12.0;
/// Room under the panels: the numbers, the axis' name and the legend.
const BELOW: f64 = 84.0;
/// Least width of a box.
const NARROWEST: f64 = 0.8;
const HEADLINE: Font = Font { size: 13.0, bold: true, fill: INK };
const INSIDE: Font = Font { size: 10.5, bold: false, fill: INK };

impl SpanStyle {
    const ALL: [SpanStyle; 5] =
        [SpanStyle::Host, SpanStyle::In, SpanStyle::Kernel, SpanStyle::Out, SpanStyle::Other];

    /// The name in the legend.
    fn name(self) -> &'static str {
        match self {
            SpanStyle::Host => "host call",
            SpanStyle::In => "copy in",
            SpanStyle::Kernel => "kernel",
            SpanStyle::Out => "copy out",
            SpanStyle::Other => "other copy or fill",
        }
    }

    fn paint(self) -> Paint<'static> {
        match self {
            SpanStyle::Host => Paint::new("b-host", "#d3d7dd"),
            SpanStyle::In => Paint::new("b-in", "#b4d6f3"),
            SpanStyle::Kernel => Paint::new("b-kernel", "#9fdcc5"),
            SpanStyle::Out => Paint::new("b-out", "#f8d891"),
            SpanStyle::Other => Paint::new("b-other", "#e8c2da"),
        }
    }
}

/// Draws the chart.
pub(super) fn draw(lanes: &Lanes) -> Canvas {
    let names = lanes.panels.iter().flat_map(|panel| &panel.lanes).map(|lane| text_width(&lane.name, SMALL));
    let left = MARGIN + names.fold(0.0, f64::max) + 10.0;
    let heights = lanes.panels.iter().map(|panel| HEADING + PITCH * panel.lanes.len() as f64);
    let floor = HEAD + heights.sum::<f64>() + GAP * lanes.panels.len().saturating_sub(1) as f64;
    let mut canvas = Canvas::new(left + PLOT_WIDTH + MARGIN + 20.0, floor + BELOW);
    let axis = Axis::new(lanes, left);
    let mut y = HEAD;
    for panel in &lanes.panels {
        let bottom = y + HEADING + PITCH * panel.lanes.len() as f64;
        axis.grid(y + HEADING, bottom, &mut canvas);
        draw_panel(panel, &axis, y, &mut canvas);
        y = bottom + GAP;
    }
    axis.draw(floor, &mut canvas);
    legend(lanes, left, floor + 68.0, &mut canvas);
    canvas
}

/// The scale of time that all panels share.
struct Axis {
    left: f64,
    ticks: Vec<f64>,
    /// The unit: its length in ns, and its name.
    unit: (f64, &'static str),
}

impl Axis {
    fn new(lanes: &Lanes, left: f64) -> Axis {
        let spans = lanes.panels.iter().flat_map(|panel| &panel.lanes).flat_map(|lane| &lane.spans);
        let most = spans.map(|span| span.end_ns).max().unwrap_or(0).max(1) as f64;
        let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
        let unit = units.into_iter().find(|(size, _)| most >= 2.0 * size).unwrap_or((1.0, "ns"));
        let mut ticks = scale::ticks(most / unit.0);
        // The axis ends with the last event, not with a round number.
        ticks.retain(|tick| *tick <= most / unit.0);
        ticks.push(most / unit.0);
        Axis { left, ticks, unit }
    }

    fn x(&self, ns: f64) -> f64 {
        let most = self.ticks.last().copied().unwrap_or(1.0) * self.unit.0;
        self.left + PLOT_WIDTH * (ns / most).clamp(0.0, 1.0)
    }

    /// The round ticks: all except the end of the axis.
    fn round(&self) -> &[f64] {
        &self.ticks[..self.ticks.len() - 1]
    }

    fn grid(&self, top: f64, bottom: f64, canvas: &mut Canvas) {
        for tick in self.round() {
            let x = self.x(tick * self.unit.0);
            canvas.line(&[(x, top), (x, bottom)], GRID, 1.0, "");
        }
    }

    fn draw(&self, floor: f64, canvas: &mut Canvas) {
        canvas.line(&[(self.left, floor), (self.left + PLOT_WIDTH, floor)], SOFT, 1.0, "");
        for tick in self.round() {
            let x = self.x(tick * self.unit.0);
            canvas.line(&[(x, floor), (x, floor + 5.0)], SOFT, 1.0, "");
            canvas.write(x, floor + 20.0, Anchor::Middle, SMALL, &scale::number(*tick));
        }
        canvas.write(self.left + PLOT_WIDTH / 2.0, floor + 40.0, Anchor::Middle, LABEL, self.unit.1);
    }
}

fn draw_panel(panel: &Panel, axis: &Axis, top: f64, canvas: &mut Canvas) {
    canvas.write(axis.left, top + 17.0, Anchor::Start, HEADLINE, &panel.name);
    canvas.write(axis.left + PLOT_WIDTH, top + 17.0, Anchor::End, SMALL, &panel.note);
    for (at, lane) in panel.lanes.iter().enumerate() {
        let y = top + HEADING + PITCH * at as f64;
        canvas.write(axis.left - 8.0, y + 14.0, Anchor::End, SMALL, &lane.name);
        for span in &lane.spans {
            draw_span(span, axis, y + (PITCH - THICK) / 2.0, canvas);
        }
    }
}

fn draw_span(span: &Span, axis: &Axis, y: f64, canvas: &mut Canvas) {
    let (x, end) = (axis.x(span.start_ns as f64), axis.x(span.end_ns as f64));
    // A narrow gap between neighbours.
    let width = (end - x - 0.6).max(NARROWEST);
    let says = format!("{}, {}", span.text, units::duration(span.end_ns - span.start_ns));
    canvas.says(&says, |canvas| {
        canvas.rect(x, y, width, THICK, span.look.paint());
        if text_width(&span.label, INSIDE) + 4.0 <= width {
            canvas.write(x + width / 2.0, y + 12.0, Anchor::Middle, INSIDE, &span.label);
        }
    });
}

/// Draws the legend: the looks that occur.
fn legend(lanes: &Lanes, left: f64, y: f64, canvas: &mut Canvas) {
    let spans = || lanes.panels.iter().flat_map(|panel| &panel.lanes).flat_map(|lane| &lane.spans);
    let mut x = left;
    for look in SpanStyle::ALL.into_iter().filter(|look| spans().any(|span| span.look == *look)) {
        canvas.rect(x, y - 10.0, 22.0, 12.0, look.paint());
        canvas.write(x + 29.0, y, Anchor::Start, SMALL, look.name());
        x += 29.0 + text_width(look.name(), SMALL) + 18.0;
    }
}
