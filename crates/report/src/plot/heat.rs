//! Heat maps: one value per pair of names.

use super::canvas::{Anchor, Canvas, Font, HEAD, LABEL, MARGIN, Paint, SMALL, SOFT, text_width};
use super::chart::{Heat, Shade};
use super::scale;

const CELL: (f64, f64) = (64.0, 24.0);
/// Room between two groups of columns.
const GAP: f64 = 10.0;
/// Room above the cells: the groups' headings and the columns' names in up to two lines.
const HEADINGS: f64 = 58.0;
/// Room under the cells: the scale.
const BELOW: f64 = 74.0;
/// Steps of the drawn scale.
const STEPS: usize = 40;
const SCALE: (f64, f64) = (280.0, 14.0);
/// The colours of the scale, from the lightest to the darkest; between them it gets steadily darker.
const COLOURS: [(f64, f64, f64); 3] = [(255.0, 255.0, 255.0), (250.0, 164.0, 80.0), (110.0, 10.0, 30.0)];
const DARK: Font = Font { size: 12.0, bold: false, fill: Paint::new("", "#111111") };
const LIGHT: Font = Font { size: 12.0, bold: false, fill: Paint::new("", "#ffffff") };

/// Draws the chart.
pub(super) fn draw(heat: &Heat) -> Canvas {
    let names = heat.rows.iter().map(|(name, _)| text_width(name, SMALL)).fold(0.0, f64::max);
    let (left, top) = (MARGIN + names + 10.0, HEAD + HEADINGS);
    let floor = top + CELL.1 * heat.rows.len() as f64;
    let columns = columns(heat, left);
    let right = columns.last().map_or(left, |x| x + CELL.0);
    let width = right.max(left + SCALE.0) + MARGIN;
    let mut canvas = Canvas::new(width, floor + BELOW);
    headings(heat, &columns, &mut canvas);
    let y = |row: usize| top + CELL.1 * row as f64;
    for (row, (name, _)) in heat.rows.iter().enumerate() {
        canvas.write(left - 8.0, y(row) + 16.0, Anchor::End, SMALL, name);
    }
    // The cells' colours and the numbers on them are one group, so that a dark page inverts them together.
    canvas.begin("heat");
    for (row, (name, cells)) in heat.rows.iter().enumerate() {
        for (at, (cell, x)) in cells.iter().zip(&columns).enumerate() {
            let says = format!("{name}: {}", says(heat, at, cell.as_ref()));
            canvas.says(&says, |canvas| draw_cell(heat, cell.as_ref(), *x, y(row), canvas));
        }
    }
    draw_scale(left, floor + 16.0, &mut canvas);
    canvas.end();
    name_scale(heat, left, floor + 46.0, &mut canvas);
    canvas
}

/// The left edges of the columns.
fn columns(heat: &Heat, left: f64) -> Vec<f64> {
    let place = |at| left + CELL.0 * at as f64 + GAP * group_of(heat, at) as f64;
    (0..heat.columns.len()).map(place).collect()
}

/// The index of a column's group.
fn group_of(heat: &Heat, column: usize) -> usize {
    let ends = heat.groups.iter().scan(0, |end, (_, size)| {
        *end += size;
        Some(*end)
    });
    ends.take_while(|end| *end <= column).count().min(heat.groups.len().saturating_sub(1))
}

/// `copies, own-stream: 302 times as long`
fn says(heat: &Heat, column: usize, cell: Option<&Shade>) -> String {
    let group = heat.groups.get(group_of(heat, column)).map_or("", |(name, _)| name);
    let name = heat.columns.get(column).map_or("", String::as_str);
    match cell {
        Some(shade) => format!("{group}, {name}: {} {}", shade.text, heat.value),
        None => format!("{group}, {name}: not measured"),
    }
}

fn headings(heat: &Heat, columns: &[f64], canvas: &mut Canvas) {
    let mut first = 0;
    for (name, size) in &heat.groups {
        if let (Some(from), Some(to)) = (columns.get(first), columns.get(first + size - 1)) {
            let (from, to) = (*from, to + CELL.0);
            canvas.write((from + to) / 2.0, HEAD + 16.0, Anchor::Middle, LABEL, name);
            canvas.line(&[(from + 2.0, HEAD + 22.0), (to - 2.0, HEAD + 22.0)], SOFT, 1.0, "");
        }
        first += size;
    }
    for (name, x) in heat.columns.iter().zip(columns) {
        for (at, line) in name.splitn(2, [' ', '-']).enumerate() {
            canvas.write(x + CELL.0 / 2.0, HEAD + 38.0 + 14.0 * at as f64, Anchor::Middle, SMALL, line);
        }
    }
}

fn draw_cell(heat: &Heat, cell: Option<&Shade>, x: f64, y: f64, canvas: &mut Canvas) {
    let (width, height) = (CELL.0 - 1.0, CELL.1 - 1.0);
    let Some(shade) = cell else {
        canvas.write(x + CELL.0 / 2.0, y + 16.0, Anchor::Middle, DARK, "–");
        return;
    };
    let share = share(heat, shade.value);
    canvas.rect(x, y, width, height, Paint::new("", "#d9d9d9"));
    canvas.rect(x + 0.5, y + 0.5, width - 1.0, height - 1.0, Paint::new("", &colour(share)));
    let font = if share > 0.6 { LIGHT } else { DARK };
    canvas.write(x + CELL.0 / 2.0, y + 16.0, Anchor::Middle, font, &shade.text);
}

fn draw_scale(x: f64, y: f64, canvas: &mut Canvas) {
    let step = SCALE.0 / STEPS as f64;
    for at in 0..STEPS {
        let share = at as f64 / (STEPS - 1) as f64;
        canvas.rect(x + step * at as f64, y, step + 0.5, SCALE.1, Paint::new("", &colour(share)));
    }
}

fn name_scale(heat: &Heat, x: f64, y: f64, canvas: &mut Canvas) {
    canvas.write(x, y, Anchor::Start, SMALL, &scale::number(heat.range.0));
    canvas.write(x + SCALE.0, y, Anchor::End, SMALL, &scale::number(heat.range.1));
    canvas.write(x + SCALE.0 / 2.0, y, Anchor::Middle, SMALL, &heat.value);
}

/// The position of a value on the scale, 0 to 1.
fn share(heat: &Heat, value: f64) -> f64 {
    let (low, high) = heat.range;
    let share = (value / low).ln() / (high / low).ln();
    if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
}

fn colour(share: f64) -> String {
    let (from, to, part) = match share {
        share if share < 0.5 => (COLOURS[0], COLOURS[1], share * 2.0),
        share => (COLOURS[1], COLOURS[2], share * 2.0 - 1.0),
    };
    let mix = |from: f64, to: f64| (from + (to - from) * part).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
}
