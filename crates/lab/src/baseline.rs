//! Results beside those of an earlier run, of another driver or device perhaps.

use crate::experiment::label;
use crate::results::{Figure, Results, Row};
use crate::{Cell, Unit, View};
use serde_json::Value;

/// What an earlier run measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline {
    /// Its device, with the driver where that is known.
    pub device: String,
    rows: Vec<serde_json::Map<String, Value>>,
    /// Whether its spread is known: one round tells nothing of it, unless it was simulated.
    spread: bool,
}

/// Rows that two runs have both, and how they differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The earlier run's device.
    pub device: String,
    /// In the order of the later run's rows.
    pub changes: Vec<Change>,
    /// Rows that the earlier run lacks.
    pub added: usize,
    /// Rows that the later run lacks.
    pub gone: usize,
}

/// A row's most important figure, before and now.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What the row varies.
    pub varied: Vec<(&'static str, Cell)>,
    /// The figure's name.
    pub figure: &'static str,
    /// What it was.
    pub before: f64,
    /// What it is.
    pub now: f64,
    /// Whether it changed by more than the rounds of both differ, and by more than 2 %; by more than half of it where a
    /// run had one round alone.
    pub beyond_spread: bool,
}

impl Baseline {
    /// Reads what [`crate::json`] wrote.
    ///
    /// # Errors
    /// What is wrong with the text, in a line.
    pub fn read(text: &str, results: &str) -> Result<Baseline, String> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| format!("not JSON: {error}; {REMEDY}"))?;
        let rows = value.get("rows").and_then(Value::as_array);
        let (Some(name), Some(rows)) = (value.get("experiment").and_then(Value::as_str), rows) else {
            return Err(format!("no results of an experiment; {REMEDY}"));
        };
        if name != results {
            return Err(format!("results of {name}, not of {results}; name another file"));
        }
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let device = text("device").unwrap_or("unknown device");
        let driver = text("driver").map(|driver| format!(", driver {driver}")).unwrap_or_default();
        let rows = rows.iter().filter_map(Value::as_object).cloned().collect();
        let simulated = value.get("simulated") == Some(&Value::Bool(true));
        let spread = simulated || value.get("rounds").and_then(Value::as_u64) > Some(1);
        Ok(Baseline { device: format!("{device}{driver}"), rows, spread })
    }

    /// What changed since.
    pub fn compare(&self, results: &Results) -> Comparison {
        let mut taken = vec![false; self.rows.len()];
        let (mut changes, mut added) = (Vec::new(), 0);
        let spread = self.spread && (results.bench.simulated || results.rounds > 1);
        let least = if spread { 0.02 } else { 0.5 };
        for row in &results.rows {
            let at = self.rows.iter().position(|old| is_same(row, old));
            at.inspect(|at| taken[*at] = true);
            // What slows down is what matters in a matrix, whatever the device's own speed.
            let relative = row.figure("slowdown").filter(|_| results.experiment.view == View::Matrix);
            let figure = relative.or(row.figures.first());
            match at.zip(figure).and_then(|(at, figure)| change(row, figure, &self.rows[at], least)) {
                Some(change) => changes.push(change),
                None => added += 1,
            }
        }
        let gone = taken.iter().filter(|taken| !**taken).count();
        Comparison { device: self.device.clone(), changes, added, gone }
    }
}

const REMEDY: &str = "give what holdup lab run NAME --format json wrote";

/// Whether an earlier row varied the same.
fn is_same(row: &Row, old: &serde_json::Map<String, Value>) -> bool {
    row.varied.iter().all(|(name, cell)| old.get(*name) == Some(&Value::from(cell.clone())))
}

/// What became of a row's figure; a difference of less than the part `least` of it is none.
fn change(row: &Row, figure: &Figure, old: &serde_json::Map<String, Value>, least: f64) -> Option<Change> {
    let before = old.get(figure.name)?.as_f64()?;
    let is_first = row.figures.first().is_some_and(|first| first.name == figure.name);
    let spread = if is_first { String::from("spread") } else { format!("{}_spread", figure.name) };
    let spread = old.get(&spread).and_then(Value::as_f64).unwrap_or(0.0) + figure.spread;
    let apart = (figure.value - before).abs();
    let beyond_spread = apart > spread && apart > least * before.abs().min(figure.value.abs());
    Some(Change { varied: row.varied.clone(), figure: figure.name, before, now: figure.value, beyond_spread })
}

impl Change {
    /// How many times as much it is now.
    pub fn ratio(&self) -> f64 {
        self.now / self.before
    }

    /// Whether more is better.
    fn more_is_better(&self) -> bool {
        matches!(Unit::of(self.figure), Unit::PerSecond | Unit::Throughput)
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
    /// What changed, in a sentence.
    pub fn verdict(&self) -> String {
        let count = |word: &str| self.changes.iter().filter(|change| change.word() == word).count();
        let (better, worse) = (count("better"), count("worse"));
        let rows = report::units::counted(self.changes.len() as u64, "row", "rows");
        let mut text = match (better, worse) {
            (0, 0) => format!("Against {}: none of {rows} differs by more than the rounds do.", self.device),
            _ => format!("Against {}: of {rows} {better} are better and {worse} worse.", self.device),
        };
        let most = self.changes.iter().filter(|change| change.beyond_spread);
        let most = most.max_by(|a, b| a.ratio().ln().abs().total_cmp(&b.ratio().ln().abs()));
        if let Some(most) = most {
            let unit = Unit::of(most.figure);
            let (now, before) = (unit.text(most.now), unit.text(most.before));
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
    use crate::experiment::Bench;
    use crate::{Settings, experiment};

    fn results(ms: f64, spread: f64, rounds: u32) -> Results {
        let experiment = experiment("overlap").expect("there");
        let figures = vec![Figure { name: "ms", value: ms, spread }];
        Results {
            experiment,
            bench: Bench { name: String::from("GPU"), driver: Some(String::from("1.2")), ..Bench::default() },
            settings: Settings::new(experiment.name, experiment.parameters, &[]).expect("defaults"),
            rounds,
            rows: vec![Row { varied: vec![("variant", "sequential".into())], figures, max_error: None }],
            left_out: Vec::new(),
            notes: Vec::new(),
            partial: None,
            traced: false,
            traces: Vec::new(),
        }
    }

    /// What a change from one time to another is called.
    fn word(before: Results, now: Results) -> &'static str {
        let baseline = Baseline::read(&crate::json(&before, None).to_string(), "overlap").expect("own JSON");
        assert_eq!(baseline.device, "GPU, driver 1.2");
        let comparison = baseline.compare(&now);
        assert_eq!((comparison.changes.len(), comparison.added, comparison.gone), (1, 0, 0));
        comparison.changes[0].word()
    }

    #[test]
    fn only_what_exceeds_the_spread_of_both_runs_is_a_change() {
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
