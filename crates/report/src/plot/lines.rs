//! Line charts: a value over a number that varies.

use super::canvas::{Anchor, COLOURS, Canvas, GRID, HEAD, LABEL, MARGIN, Paint, SMALL, SOFT, text_width};
use super::chart::{Lines, Point, Series};
use super::scale;

const PLOT_WIDTH: f64 = 560.0;
const PLOT_HEIGHT: f64 = 360.0;
/// Room left of the plot: the numbers and the name of the axis.
const LEFT: f64 = 86.0;
/// Room under the plot: the same.
const BELOW: f64 = 58.0;
/// Height of a line of the legend.
const LEGEND: f64 = 21.0;
const DASHES: [&str; 4] = ["", "8 4", "2 3", "10 3 2 3"];
/// Number of kinds of markers.
const MARKERS: usize = 5;

/// Draws the chart.
pub(super) fn draw(lines: &Lines) -> Canvas {
    let widest = lines.series.iter().map(|series| text_width(&series.name, SMALL)).fold(0.0, f64::max);
    let width = LEFT + PLOT_WIDTH + 24.0 + 46.0 + widest + MARGIN;
    let height = HEAD + PLOT_HEIGHT.max(LEGEND * lines.series.len() as f64) + BELOW;
    let mut canvas = Canvas::new(width, height);
    let axes = Axes::new(lines);
    axes.draw(lines, &mut canvas);
    let order = from_the_top(&lines.series);
    for (place, at) in order.into_iter().enumerate() {
        let (series, look) = (&lines.series[at], LineStyle::of(at));
        look.line(&axes, lines, series, &mut canvas);
        let (x, y) = (LEFT + PLOT_WIDTH + 24.0, HEAD + 12.0 + LEGEND * place as f64);
        canvas.line(&[(x, y), (x + 36.0, y)], look.colour, 2.0, look.dash);
        look.marker(x + 18.0, y, &mut canvas);
        canvas.write(x + 46.0, y + 4.0, Anchor::Start, SMALL, &series.name);
    }
    canvas
}

/// The order of the legend: that of the lines' right ends, from the top.
fn from_the_top(series: &[Series]) -> Vec<usize> {
    let end = |at: &usize| series[*at].points.last().map_or(f64::NEG_INFINITY, |point| point.y);
    let mut order: Vec<usize> = (0..series.len()).collect();
    order.sort_by(|a, b| end(b).total_cmp(&end(a)));
    order
}

/// The positions of numbers on both axes.
struct Axes {
    columns: Vec<f64>,
    ticks: Vec<f64>,
}

impl Axes {
    fn new(lines: &Lines) -> Axes {
        let points = || lines.series.iter().flat_map(|series| &series.points);
        let mut columns: Vec<f64> = points().map(|point| point.x).filter(|x| *x > 0.0).collect();
        columns.sort_by(f64::total_cmp);
        columns.dedup();
        let most = points().map(|point| point.y + point.spread).fold(0.0, f64::max);
        Axes { columns, ticks: scale::ticks(most) }
    }

    fn x(&self, x: f64) -> f64 {
        const INSET: f64 = 24.0;
        let (first, last) =
            (self.columns.first().copied().unwrap_or(1.0), self.columns.last().copied().unwrap_or(1.0));
        let share = if last > first { (x / first).ln() / (last / first).ln() } else { 0.5 };
        LEFT + INSET + share * (PLOT_WIDTH - 2.0 * INSET)
    }

    fn y(&self, y: f64) -> f64 {
        let top = self.ticks.last().copied().unwrap_or(1.0);
        HEAD + PLOT_HEIGHT * (1.0 - y / top)
    }

    fn draw(&self, lines: &Lines, canvas: &mut Canvas) {
        for tick in &self.ticks {
            let y = self.y(*tick);
            canvas.line(&[(LEFT, y), (LEFT + PLOT_WIDTH, y)], GRID, 1.0, "");
            canvas.write(LEFT - 8.0, y + 4.0, Anchor::End, SMALL, &scale::number(*tick));
        }
        let floor = HEAD + PLOT_HEIGHT;
        canvas.line(&[(LEFT, HEAD), (LEFT, floor), (LEFT + PLOT_WIDTH, floor)], SOFT, 1.0, "");
        let mut free = f64::NEG_INFINITY;
        for column in &self.columns {
            let (x, label) = (self.x(*column), scale::number(*column));
            canvas.line(&[(x, floor), (x, floor + 5.0)], SOFT, 1.0, "");
            // Numbers that are close together have marks but no labels.
            if x - text_width(&label, SMALL) / 2.0 >= free {
                canvas.write(x, floor + 20.0, Anchor::Middle, SMALL, &label);
                free = x + text_width(&label, SMALL) / 2.0 + 4.0;
            }
        }
        canvas.write(LEFT + PLOT_WIDTH / 2.0, floor + 42.0, Anchor::Middle, LABEL, &lines.x);
        canvas.write_upwards(MARGIN + 6.0, HEAD + PLOT_HEIGHT / 2.0, Anchor::Middle, LABEL, &lines.y);
    }
}

/// The look of a line: different for the first 35 lines, and without colour for the first 20.
struct LineStyle {
    colour: Paint<'static>,
    dash: &'static str,
    marker: usize,
}

impl LineStyle {
    fn of(at: usize) -> LineStyle {
        LineStyle {
            colour: COLOURS[at % COLOURS.len()],
            dash: DASHES[at % DASHES.len()],
            marker: at % MARKERS,
        }
    }

    fn line(&self, axes: &Axes, lines: &Lines, series: &Series, canvas: &mut Canvas) {
        let place = |point: &Point| (axes.x(point.x), axes.y(point.y));
        let at: Vec<(f64, f64)> = series.points.iter().map(place).collect();
        canvas.line(&at, self.colour, 2.0, self.dash);
        for (point, (x, y)) in series.points.iter().zip(at) {
            if point.spread > 0.0 {
                let (low, high) = ((point.y - point.spread).max(0.0), point.y + point.spread);
                canvas.whisker((x, axes.y(low)), (x, axes.y(high)), self.colour);
            }
            let (value, number) = (scale::measured(point.y), scale::number(point.x));
            let says = format!("{}: {value} {} at {number} {}", series.name, lines.y, lines.x);
            canvas.says(&says, |canvas| self.marker(x, y, canvas));
        }
    }

    fn marker(&self, x: f64, y: f64, canvas: &mut Canvas) {
        let around = |offsets: &[(f64, f64)]| -> Vec<(f64, f64)> {
            offsets.iter().map(|(dx, dy)| (x + dx * 5.0, y + dy * 5.0)).collect()
        };
        match self.marker {
            0 => canvas.circle(x, y, 4.5, self.colour),
            1 => canvas.rect(x - 4.0, y - 4.0, 8.0, 8.0, self.colour),
            2 => canvas.polygon(&around(&[(0.0, -1.1), (1.0, 0.8), (-1.0, 0.8)]), self.colour),
            3 => canvas.polygon(&around(&[(0.0, -1.2), (1.2, 0.0), (0.0, 1.2), (-1.2, 0.0)]), self.colour),
            _ => canvas.polygon(&around(&[(0.0, 1.1), (1.0, -0.8), (-1.0, -0.8)]), self.colour),
        }
    }
}
