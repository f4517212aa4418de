//! Plots in a terminal.

use super::chart::Heat;
use crate::escape::visible;
use crate::layout::{elide, width};
use crate::page::Page;

/// A bar for `value`, if `most` has `columns` columns; a positive value always has a visible bar.
pub fn bar(value: f64, most: f64, columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if value.is_nan() || value <= 0.0 || most.is_nan() || most <= 0.0 {
        return String::new();
    }
    let eighths = ((value / most).min(1.0) * columns as f64 * 8.0).round().max(1.0) as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// One upright bar per value; the largest is as high as a line, and a value that is not finite is blank.
pub fn bars(values: &[f64]) -> String {
    const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().copied().filter(|value| value.is_finite()).fold(0.0, f64::max);
    let bar = |value: &f64| match value / most {
        part if part.is_finite() => EIGHTHS[(part * 8.0).round().clamp(1.0, 8.0) as usize - 1],
        _ => ' ',
    };
    values.iter().map(bar).collect()
}

/// A heat map's numbers: its rows, with the columns under their groups' headings.
pub fn matrix(heat: &Heat, page: Page) -> String {
    let names = heat.rows.iter().map(|(name, _)| width(name)).max().unwrap_or(0).min(24);
    let gaps = heat.groups.len().saturating_sub(1) * GAP;
    let room = page.columns.saturating_sub(names + gaps) / heat.columns.len().max(1);
    let cell = room.clamp(6, 12);
    let firsts = first_columns(heat);
    let line = |name: &str, cells: &[&str]| {
        let mut line = format!("{name:names$}");
        for (at, text) in cells.iter().enumerate() {
            let gap = if at > 0 && firsts.contains(&at) { GAP } else { 0 };
            line.push_str(&format!("{:gap$}{:>cell$}", "", elide(text, cell - 1)));
        }
        format!("{}\n", line.trim_end())
    };
    let mut text = headings(heat, names, cell);
    let half = |name: &'_ str, at: usize| name.splitn(2, [' ', '-']).nth(at).unwrap_or("").to_owned();
    for at in 0..2 {
        let titles: Vec<String> = heat.columns.iter().map(|name| half(name, at)).collect();
        text.push_str(&line("", &titles.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    for (name, cells) in &heat.rows {
        let numbers = cells.iter().map(|shade| shade.as_ref().map_or("–", |shade| &shade.text));
        text.push_str(&line(&elide(&visible(name), names), &numbers.collect::<Vec<_>>()));
    }
    text
}

/// Columns between groups.
const GAP: usize = 2;

fn first_columns(heat: &Heat) -> Vec<usize> {
    let sums = heat.groups.iter().scan(0, |at, (_, size)| {
        let first = *at;
        *at += size;
        Some(first)
    });
    sums.collect()
}

/// The groups' names, each centred over its columns between dashes.
fn headings(heat: &Heat, names: usize, cell: usize) -> String {
    let mut text = " ".repeat(names);
    for (at, (name, size)) in heat.groups.iter().enumerate() {
        let columns = cell * size - 1;
        let name = format!(" {} ", elide(name, columns.saturating_sub(2)));
        let dashes = columns.saturating_sub(width(&name));
        let (left, right) = ("─".repeat(dashes / 2), "─".repeat(dashes - dashes / 2));
        text.push_str(&format!("{:gap$}{left}{name}{right}", "", gap = 1 + if at > 0 { GAP } else { 0 }));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Shade;

    #[test]
    fn bars_are_as_long_as_their_values() {
        assert_eq!(bar(10.0, 10.0, 4), "████");
        assert_eq!(bar(5.0, 10.0, 5), "██▌");
        assert_eq!(bar(0.001, 10.0, 4), "▏");
        assert_eq!((bar(0.0, 10.0, 4), bar(f64::NAN, 1.0, 4), bar(1.0, 0.0, 4)), Default::default());
    }

    #[test]
    fn upright_bars_are_as_high_as_their_values() {
        assert_eq!(bars(&[1.0, 2.0, f64::NAN, 8.0, 0.0]), "▁▂ █▁");
        assert_eq!(bars(&[0.0, f64::NAN]), "  ");
        assert_eq!(bars(&[]), "");
    }

    #[test]
    fn a_matrix_shows_its_numbers_and_what_was_not_measured() {
        let shade = |value: f64| Some(Shade { value, text: format!("{value}×") });
        let heat = Heat {
            value: String::from("times as long"),
            range: (1.0, 100.0),
            groups: vec![(String::from("launches"), 2)],
            columns: vec![String::from("same-stream"), String::from("own-stream")],
            rows: vec![
                (String::from("copy"), vec![shade(30.0), shade(1.0)]),
                (String::from("free"), vec![None, shade(9.0)]),
            ],
        };
        let expected = "     ────── launches ───────\n            same         own\n          stream      stream\n\
                        copy         30×          1×\nfree           –          9×\n";
        assert_eq!(matrix(&heat, Page::default()), expected);
    }
}
