//! How the mean time of each call changes over the rows: what a profiler's summary says, for every row.

use super::charts;
use crate::experiment::{Cell, Column, View};
use crate::results::{Results, Row};
use report::plot::{Chart, Lines, Plot, Point, Series};

/// The columns of calls' mean times that rows have.
pub(super) fn figures(results: &Results) -> Vec<&'static Column> {
    let is_measured = |column: &&Column| results.rows.iter().any(|row| row.figure(column.name).is_some());
    results.experiment.call_times().filter(is_measured).collect()
}

impl Results {
    /// The mean time of each call over the varied column, relative to its time at the column's least value; nothing if the
    /// experiment does not measure it.
    pub fn calls_plot(&self) -> Option<Plot> {
        let shown = self.experiment.averages?;
        let View::Across(column, _) = self.experiment.view else { return None };
        let mut series = Vec::new();
        for figure in figures(self) {
            let rows = self.rows.iter().filter(|row| shown(row) && is_plain(row));
            let Chart::Lines(lines) = charts::lines(self, rows, figure.name, (column, ""), &[]) else {
                continue;
            };
            series.extend(lines.series.into_iter().filter_map(|line| relative(figure, line)));
        }
        let (x, y) =
            (column.to_owned(), format!("mean time of a call, relative to that with the fewest {column}"));
        let title = format!("{}: mean times of calls", self.experiment.name);
        let chart = Chart::Lines(Lines { x, y, series });
        matches!(&chart, Chart::Lines(lines) if !lines.series.is_empty()).then(|| Plot {
            title,
            subtitle: self.place(),
            chart,
        })
    }
}

/// Whether a row has the driver's default connections: lines of others would crowd the plot.
fn is_plain(row: &Row) -> bool {
    matches!(row.cell("connections"), None | Some(Cell::Default))
}

/// A line relative to its first point.
fn relative(figure: &Column, line: Series) -> Option<Series> {
    let first = line.points.first().map(|point| point.y).filter(|first| *first > 0.0)?;
    let name = match line.name.split_once(", ") {
        Some((_, rest)) => format!("{}, {rest}", figure.title),
        None => figure.title.to_owned(),
    };
    let points = line.points.iter().map(|point| Point { y: point.y / first, spread: 0.0, ..*point });
    Some(Series { name, points: points.collect() })
}

/// `cuLaunchKernel 3.2 µs and 13.2 µs, cuGraphLaunch …`: of every call, the mean times of two rows.
pub(crate) fn change(results: &Results, fewest: &Row, most: &Row) -> Option<String> {
    let both = |column: &Column| {
        let (before, after) = (fewest.figure(column.name)?.value, most.figure(column.name)?.value);
        Some(format!("{} {} and {}", column.title, column.unit().text(before), column.unit().text(after)))
    };
    let all: Vec<String> = results.experiment.call_times().filter_map(both).collect();
    (!all.is_empty()).then(|| all.join(", "))
}
