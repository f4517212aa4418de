//! Bars: one value per name.

use super::canvas::{Anchor, COLOURS, Canvas, GRID, HEAD, INK, LABEL, MARGIN, SMALL, SOFT, text_width};
use super::chart::Bars;
use super::scale;

const PLOT_WIDTH: f64 = 460.0;
/// Distance from one bar to the next.
const PITCH: f64 = 26.0;
const THICK: f64 = 17.0;
/// Room under the bars: the numbers and the name of the axis.
const BELOW: f64 = 56.0;

/// Draws the chart.
pub(super) fn draw(bars: &Bars) -> Canvas {
    let widest = |texts: &mut dyn Iterator<Item = &String>| {
        texts.map(|text| text_width(text, SMALL)).fold(0.0, f64::max)
    };
    let left = MARGIN + widest(&mut bars.bars.iter().map(|bar| &bar.name)) + 10.0;
    let right = 12.0 + widest(&mut bars.bars.iter().map(|bar| &bar.text)) + MARGIN;
    let floor = HEAD + PITCH * bars.bars.len() as f64;
    let mut canvas = Canvas::new(left + PLOT_WIDTH + right, floor + BELOW);

    let most = bars.bars.iter().map(|bar| bar.value + bar.spread).fold(0.0, f64::max);
    let ticks = scale::ticks(most);
    let top = ticks.last().copied().unwrap_or(1.0);
    let x = |value: f64| left + PLOT_WIDTH * (value / top).clamp(0.0, 1.0);
    for tick in &ticks {
        canvas.line(&[(x(*tick), HEAD), (x(*tick), floor)], GRID, 1.0, "");
        canvas.write(x(*tick), floor + 18.0, Anchor::Middle, SMALL, &scale::number(*tick));
    }
    for (at, bar) in bars.bars.iter().enumerate() {
        let middle = HEAD + PITCH * (at as f64 + 0.5);
        canvas.rect(left, middle - THICK / 2.0, x(bar.value) - left, THICK, COLOURS[0]);
        let mut end = x(bar.value);
        if bar.spread > 0.0 {
            let low = x((bar.value - bar.spread).max(0.0));
            end = x(bar.value + bar.spread);
            canvas.whisker((low, middle), (end, middle), INK);
        }
        canvas.write(left - 8.0, middle + 4.0, Anchor::End, SMALL, &bar.name);
        canvas.write(end + 7.0, middle + 4.0, Anchor::Start, SMALL, &bar.text);
    }
    canvas.line(&[(left, HEAD), (left, floor), (left + PLOT_WIDTH, floor)], SOFT, 1.0, "");
    canvas.write(left + PLOT_WIDTH / 2.0, floor + 42.0, Anchor::Middle, LABEL, &bars.value);
    canvas
}
