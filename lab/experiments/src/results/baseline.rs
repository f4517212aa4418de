//! Results compared with those of an earlier run, which may have another driver or device.

use super::{Figure, Results, Row};
use crate::experiment::{Cell, Unit, View, label};

/// The rows that two runs have in common, and how they differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The earlier run's device.
    pub device: String,
    /// In the order of the later run's rows.
    pub changes: Vec<Change>,
    /// Number of rows that the earlier run does not have.
    pub added: usize,
    /// Number of rows that the later run does not have.
    pub gone: usize,
}

/// A row's most important figure, before and now.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What the row varies.
    pub varied: Vec<(&'static str, Cell)>,
    /// The figure's name.
    pub figure: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Its earlier value.
    pub before: f64,
    /// Its value now.
    pub now: f64,
    /// Whether it changed by more than the spreads of both together and by more than 2 %; by more than half if a run had only
    /// one round.
    pub beyond_spread: bool,
}

impl Comparison {
    /// Compares with an earlier run of the same experiment.
    pub fn new(results: &Results, earlier: &Results) -> Comparison {
        let mut taken = vec![false; earlier.rows.len()];
        let (mut changes, mut added) = (Vec::new(), 0);
        for row in &results.rows {
            let same = |old: &Row| row.varied.iter().all(|(name, cell)| old.cell(name) == Some(cell));
            let at = earlier.rows.iter().position(same);
            at.inspect(|at| taken[*at] = true);
            // A matrix is about slowdowns, which do not depend on the device's own speed.
            let relation =
                results.experiment.relation.as_ref().filter(|_| results.experiment.view == View::Matrix);
            let relative = relation.and_then(|relation| row.figure(relation.name));
            let figure = relative.or(row.figures.first());
            match at.zip(figure).and_then(|(at, figure)| change(results, row, figure, &earlier.rows[at])) {
                Some(change) => changes.push(change),
                None => added += 1,
            }
        }
        let gone = taken.iter().filter(|taken| !**taken).count();
        Comparison { device: earlier.bench.title(), changes, added, gone }
    }
}

/// The least relative difference that counts between figures of two runs of which one has only one round.
const ONE_ROUND: f64 = 0.5;

/// The change of a row's figure.
fn change(results: &Results, row: &Row, figure: &Figure, old: &Row) -> Option<Change> {
    let before = old.figure(figure.name).filter(|before| !before.value.is_nan())?;
    let beyond_spread = figure.differs(before, ONE_ROUND);
    Some(Change {
        varied: row.varied.clone(),
        figure: figure.name,
        unit: results.experiment.column(figure.name).unit(),
        before: before.value,
        now: figure.value,
        beyond_spread,
    })
}

impl Change {
    /// The value now over the earlier one.
    pub fn ratio(&self) -> f64 {
        self.now / self.before
    }

    /// Whether more is better.
    fn more_is_better(&self) -> bool {
        self.unit.more_is_better()
    }

    /// `better`, `worse` or nothing.
    pub fn word(&self) -> &'static str {
        match (self.beyond_spread, (self.now > self.before) == self.more_is_better()) {
            (false, _) => "",
            (true, true) => "better",
            (true, false) => "worse",
        }
    }
}

impl Comparison {
    /// The changes, in one to three sentences.
    pub fn verdict(&self) -> String {
        let count = |word: &str| self.changes.iter().filter(|change| change.word() == word).count();
        let (better, worse) = (count("better"), count("worse"));
        let rows = report::units::counted(self.changes.len() as u64, "row", "rows");
        let mut text = match (better, worse) {
            (0, 0) => format!("Against {}: none of {rows} differs by more than the spread.", self.device),
            _ => format!("Against {}: of {rows}, {better} are better and {worse} worse.", self.device),
        };
        let most = self.changes.iter().filter(|change| change.beyond_spread);
        let most = most.max_by(|a, b| a.ratio().ln().abs().total_cmp(&b.ratio().ln().abs()));
        if let Some(most) = most {
            let (now, before) = (most.unit.text(most.now), most.unit.text(most.before));
            text.push_str(&format!(
                " The largest change: {}, {now} instead of {before}.",
                label(&most.varied)
            ));
        }
        if self.added + self.gone > 0 {
            text.push_str(&format!(" {} rows are new, {} are gone.", self.added, self.gone));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bench, Settings, experiment};

    fn results(ms: f64, spread: f64, rounds: u32) -> Results {
        let experiment = experiment("overlap").expect("there");
        let figures = vec![Figure { name: "ms", value: ms, spread: (rounds > 1).then_some(spread) }];
        Results {
            experiment,
            bench: Bench { name: String::from("GPU"), driver: Some(String::from("1.2")), ..Bench::default() },
            settings: Settings::new(experiment.name, experiment.parameters, &[]).expect("defaults"),
            rounds,
            rows: vec![Row {
                varied: vec![("variant", "sequential".into())],
                figures,
                max_error: None,
                each: Vec::new(),
            }],
            left_out: Vec::new(),
            notes: Vec::new(),
            partial: None,
            traced: false,
            traces: Vec::new(),
        }
    }

    /// The word for a change from one time to another.
    fn word(before: Results, now: Results) -> &'static str {
        let before = Results::read(&crate::json(&before, None).to_string()).expect("own JSON");
        let comparison = Comparison::new(&now, &before);
        assert_eq!(comparison.device, "GPU, driver 1.2");
        assert_eq!((comparison.changes.len(), comparison.added, comparison.gone), (1, 0, 0));
        comparison.changes[0].word()
    }

    #[test]
    fn changes_exceed_the_spread_of_both_runs() {
        let cases = [
            ((10.0, 0.1), (12.0, 0.1), 3, "worse"),
            ((10.0, 0.1), (8.0, 0.1), 3, "better"),
            ((10.0, 1.0), (12.0, 1.5), 3, ""),
            ((10.0, 0.0), (10.1, 0.0), 3, ""),
            ((10.0, 0.0), (14.0, 0.0), 1, ""),
            ((10.0, 0.0), (16.0, 0.0), 1, "worse"),
        ];
        for (before, now, rounds, expected) in cases {
            let (before, now) = (results(before.0, before.1, rounds), results(now.0, now.1, rounds));
            assert_eq!(word(before, now), expected);
        }
    }
}
