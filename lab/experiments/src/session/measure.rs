//! The rows that the rounds of a variant make: medians of rounds, or the best round.

use crate::experiment::{Column, Experiment, Reading, Variant, Varied};
use crate::results::{Figure, Row, six_digits};
use workload::Outcome;

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
        let figures = reading.figures.iter();
        let each: Vec<&[Reading]> = of_rounds.iter().map(|reading| reading.each.as_slice()).collect();
        Row {
            varied: varied.iter().chain(&reading.also).cloned().collect(),
            figures: figures.map(|(name, _)| figure(name, &of_rounds, chosen)).collect(),
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

/// The median of the rounds, or the value of the chosen round.
fn figure(name: &'static str, rounds: &[&Reading], chosen: Option<&Reading>) -> Figure {
    let figure = Figure::of_rounds(name, rounds.iter().filter_map(|round| round.value(name)).collect());
    match chosen.and_then(|round| round.value(name)) {
        Some(value) => Figure { value: six_digits(value), ..figure },
        None => figure,
    }
}

/// The rounds of which the rows of an earlier run of a variant were made; none if the rows do not have them.
pub(super) fn rounds_of(experiment: &Experiment, variant: &Variant, rows: &[Row]) -> Vec<Vec<Reading>> {
    let samples = |row: &Row| row.figures.first().map_or(0, |figure| figure.samples.len());
    let count = rows.iter().map(samples).min().unwrap_or(0);
    let round = |at| rows.iter().map(|row| reading(experiment, &variant.varied, row, at)).collect();
    (0..count).map(round).collect()
}

/// Measurements of a row in one round: the figures that have a sample, except one that follows from two rows.
fn reading(experiment: &Experiment, varied: &Varied, row: &Row, round: usize) -> Reading {
    let follows = experiment.relation.as_ref().map(|relation| relation.name);
    let measured = row.figures.iter().filter(|figure| Some(figure.name) != follows);
    let of_variant = |name: &str| varied.iter().any(|(own, _)| *own == name);
    Reading {
        also: row.varied.iter().filter(|(name, _)| !of_variant(name)).cloned().collect(),
        figures: measured.filter_map(|figure| Some((figure.name, *figure.samples.get(round)?))).collect(),
        max_error: row.max_error,
        each: row.each.iter().map(|worker| reading(experiment, &[], worker, round)).collect(),
    }
}

/// The mean times of an outcome's calls, those of all threads together, as the experiment's columns name them.
pub(super) fn averages_of(experiment: &Experiment, outcome: &Outcome) -> Vec<(&'static str, f64)> {
    let calls = || outcome.threads.iter().flat_map(|thread| &thread.calls);
    let average = |column: &Column| {
        let times = calls().filter(|times| times.name == column.title);
        let (count, ns) = times.fold((0, 0), |(count, ns), times| (count + times.count, ns + times.total_ns));
        (count > 0).then(|| (column.name, ns as f64 / 1e6 / count as f64))
    };
    experiment.call_times().filter_map(average).collect()
}
