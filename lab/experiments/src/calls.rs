//! The mean time of each call, by its name: what a profiler's summary says of a run, for every row.

use crate::results::{Results, Row, Unit};
use crate::{Cell, charts};
use report::plot::{Chart, Lines, Plot, Point, Series};
use workload::Outcome;

/// The figures that are mean times of calls, with the driver's names for these.
const CALLS: [(&str, &str); 5] = [
    ("launch_ms", "cuLaunchKernel"),
    ("graph_launch_ms", "cuGraphLaunch"),
    ("copy_in_ms", "cuMemcpyHtoDAsync"),
    ("copy_out_ms", "cuMemcpyDtoHAsync"),
    ("synchronize_ms", "cuStreamSynchronize"),
];

/// The call whose mean time a figure is.
pub(crate) fn call_of(figure: &str) -> Option<&'static str> {
    CALLS.iter().find(|(name, _)| *name == figure).map(|(_, call)| *call)
}

/// The figures of an outcome whose calls were timed: those of all threads together.
pub(crate) fn averages(outcome: &Outcome) -> Vec<(&'static str, f64)> {
    let average = |(figure, call): (&'static str, &str)| {
        let calls =
            outcome.threads.iter().flat_map(|thread| &thread.calls).filter(|times| times.name == call);
        let (count, ns) = calls.fold((0, 0), |(count, ns), times| (count + times.count, ns + times.total_ns));
        (count > 0).then(|| (figure, ns as f64 / 1e6 / count as f64))
    };
    CALLS.into_iter().filter_map(average).collect()
}

/// The figures that rows have.
pub(crate) fn figures(results: &Results) -> Vec<&'static str> {
    let names = CALLS.iter().map(|(name, _)| *name);
    names.filter(|name| results.rows.iter().any(|row| row.figure(name).is_some())).collect()
}

impl Results {
    /// How the mean time of each call changes with what varies, as times what it is with the fewest; of experiments that
    /// measure it.
    pub fn calls_plot(&self) -> Option<Plot> {
        let shown = self.experiment.averages?;
        let crate::View::Across(column, _) = self.experiment.view else { return None };
        let mut series = Vec::new();
        for figure in figures(self) {
            let rows = self.rows.iter().filter(|row| shown(row) && is_plain(row));
            let Chart::Lines(lines) = charts::lines(self, rows, figure, (column, ""), &[]) else { continue };
            series.extend(lines.series.into_iter().filter_map(|line| relative(figure, line)));
        }
        let (x, y) = (column.to_owned(), format!("mean time of a call, times that with the fewest {column}"));
        let title = format!("{}: mean times of calls", self.experiment.name);
        let chart = Chart::Lines(Lines { x, y, series });
        matches!(&chart, Chart::Lines(lines) if !lines.series.is_empty()).then(|| Plot {
            title,
            subtitle: self.place(),
            chart,
        })
    }
}

/// Whether a row is of what the driver does unless told otherwise: others would be lines upon lines.
fn is_plain(row: &Row) -> bool {
    matches!(row.cell("connections"), None | Some(Cell::Default))
}

/// A line as times its first point.
fn relative(figure: &str, line: Series) -> Option<Series> {
    let first = line.points.first().map(|point| point.y).filter(|first| *first > 0.0)?;
    let name = match line.name.split_once(", ") {
        Some((_, rest)) => format!("{}, {rest}", call_of(figure)?),
        None => call_of(figure)?.to_owned(),
    };
    let points = line.points.iter().map(|point| Point { y: point.y / first, spread: 0.0, ..*point });
    Some(Series { name, points: points.collect() })
}

/// `a cuLaunchKernel takes 3.2 µs on average with 1 and 13.2 µs with 16`
pub(crate) fn change(fewest: &Row, most: &Row) -> Option<String> {
    let both = |(figure, call): &(&'static str, &'static str)| {
        let (before, after) = (fewest.figure(figure)?.value, most.figure(figure)?.value);
        Some(format!("{call} {} and {}", Unit::Milliseconds.text(before), Unit::Milliseconds.text(after)))
    };
    let all: Vec<String> = CALLS.iter().filter_map(both).collect();
    (!all.is_empty()).then(|| all.join(", "))
}
