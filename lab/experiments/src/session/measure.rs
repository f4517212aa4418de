//! The runs of one variant, and the rows that they make: medians of rounds, or the best round.

use super::{Failure, Run, Want};
use crate::experiment::{Column, Experiment, Reading, Variant, Varied};
use crate::results::{Figure, Row};
use trace::Trace;
use workload::Outcome;

/// The rows of a variant, and the rest that its runs gave.
pub(super) struct Measured {
    pub rows: Vec<Row>,
    pub trace: Option<Trace>,
    pub notes: Vec<String>,
}

/// How often a variant runs, and what counts.
pub(super) struct Times {
    pub warm_ups: u32,
    pub rounds: u32,
    /// Whether the best round counts instead of the median.
    pub best: bool,
    /// Whether it runs once more for a trace.
    pub trace: bool,
    /// Whether it runs on a model, where one run is enough.
    pub simulated: bool,
}

/// Runs a variant.
pub(super) fn measure(
    experiment: &Experiment,
    variant: &Variant,
    times: &Times,
    execute: &mut dyn FnMut(Want) -> Result<Run, Failure>,
) -> Result<Measured, Failure> {
    let want = Want { timed: variant.timed, trace: false, contention: variant.contention };
    for _ in 0..times.warm_ups {
        execute(want)?;
    }
    let (mut readings, mut notes, mut averages) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..times.rounds {
        let run = execute(want)?;
        readings.push((variant.read)(&run.outcome));
        // The simulator always measures calls, at no cost.
        if variant.averages && times.simulated {
            averages = averages_of(experiment, &run.outcome);
        }
        notes.extend(run.notes);
    }
    if variant.averages && !times.simulated {
        averages = averages_of(experiment, &execute(Want { timed: true, ..want })?.outcome);
    }
    let mut rows = rows(experiment, variant, &readings, times.best);
    if let Some(row) = rows.first_mut() {
        row.figures.extend(averages.into_iter().map(|(name, value)| Figure::new(name, value, None)));
    }
    let mut trace = None;
    if times.trace {
        let traced = execute(Want { timed: true, trace: true, ..want })?;
        notes.extend(traced.notes);
        trace = traced.trace;
    }
    Ok(Measured { rows, trace, notes })
}

/// The rows of a variant: the medians of its rounds, or the best round.
pub(super) fn rows(
    experiment: &Experiment,
    variant: &Variant,
    rounds: &[Vec<Reading>],
    best: bool,
) -> Vec<Row> {
    let rounds: Vec<&[Reading]> = rounds.iter().map(Vec::as_slice).collect();
    rows_of(experiment, &variant.varied, &rounds, best)
}

fn rows_of(experiment: &Experiment, varied: &Varied, rounds: &[&[Reading]], best: bool) -> Vec<Row> {
    let row = |(at, reading): (usize, &Reading)| {
        let of_rounds: Vec<&Reading> = rounds.iter().filter_map(|round| round.get(at)).collect();
        let chosen = if best { best_of(experiment, &of_rounds) } else { None };
        let figures = reading.figures.iter().enumerate();
        let each: Vec<&[Reading]> = of_rounds.iter().map(|reading| reading.each.as_slice()).collect();
        Row {
            varied: varied.iter().chain(&reading.also).cloned().collect(),
            figures: figures.map(|(at, (name, _))| figure(name, at, &of_rounds, chosen)).collect(),
            max_error: of_rounds.iter().filter_map(|reading| reading.max_error).reduce(f64::max),
            each: rows_of(experiment, &[], &each, best),
        }
    };
    rounds.first().copied().unwrap_or_default().iter().enumerate().map(row).collect()
}

/// The round whose first figure is best.
fn best_of<'a>(experiment: &Experiment, rounds: &[&'a Reading]) -> Option<&'a Reading> {
    let first = |reading: &&Reading| reading.figures.first().map_or(f64::NAN, |(_, value)| *value);
    let (name, _) = rounds.first()?.figures.first()?;
    let more = experiment.column(name).unit().more_is_better();
    let better =
        |a: &&'a Reading, b: &&'a Reading| if more { first(a) > first(b) } else { first(a) < first(b) };
    rounds.iter().copied().reduce(|best, round| if better(&round, &best) { round } else { best })
}

/// The median of the rounds, or the value of the chosen round; and half of the rounds' range if there are several.
fn figure(name: &'static str, at: usize, rounds: &[&Reading], chosen: Option<&Reading>) -> Figure {
    let mut values: Vec<f64> =
        rounds.iter().filter_map(|round| round.figures.get(at)).map(|(_, value)| *value).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let median = match values.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => values[middle],
        _ => (values[middle - 1] + values[middle]) / 2.0,
    };
    let value = chosen.and_then(|round| round.figures.get(at)).map_or(median, |(_, value)| *value);
    let range = values.last().unwrap_or(&0.0) - values.first().unwrap_or(&0.0);
    Figure::new(name, value, (values.len() > 1).then_some(range / 2.0))
}

/// The mean times of an outcome's calls, those of all threads together, as the experiment's columns name them.
fn averages_of(experiment: &Experiment, outcome: &Outcome) -> Vec<(&'static str, f64)> {
    let calls = || outcome.threads.iter().flat_map(|thread| &thread.calls);
    let average = |column: &Column| {
        let times = calls().filter(|times| times.name == column.title);
        let (count, ns) = times.fold((0, 0), |(count, ns), times| (count + times.count, ns + times.total_ns));
        (count > 0).then(|| (column.name, ns as f64 / 1e6 / count as f64))
    };
    experiment.call_times().filter_map(average).collect()
}
