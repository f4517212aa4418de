//! Plots: a line chart, bars, a heat map or lanes of time as SVG, and bars and a matrix for a terminal.
//!
//! Every plot is readable without colour: lines differ in marker and dash, a heat map's cells contain their numbers and get
//! steadily darker, bars are beside their names, and a box in a lane has a label if there is room, and a tooltip.

mod bars;
mod canvas;
mod chart;
mod heat;
mod lanes;
mod lines;
mod scale;
mod terminal;

pub use chart::{
    Bar, Bars, Chart, Heat, Lane, Lanes, Lines, Panel, Plot, Point, Series, Shade, Span, SpanStyle,
};
pub use terminal::{bar, bars, matrix};

/// The plot as a complete SVG document.
pub fn svg(plot: &Plot) -> String {
    draw(&plot.chart).file(plot)
}

/// The plot as an SVG element of a page. The page has the title and the background, and may set the colour of each class:
/// `ink`, `soft`, `grid`, `s0` to `s6`, `b-host`, `b-in`, `b-kernel`, `b-out`, `b-other`, and the group `heat`.
pub fn svg_inline(plot: &Plot) -> String {
    draw(&plot.chart).inline(plot)
}

fn draw(chart: &Chart) -> canvas::Canvas {
    match chart {
        Chart::Lines(lines) => lines::draw(lines),
        Chart::Bars(bars) => bars::draw(bars),
        Chart::Heat(heat) => heat::draw(heat),
        Chart::Lanes(lanes) => lanes::draw(lanes),
    }
}
