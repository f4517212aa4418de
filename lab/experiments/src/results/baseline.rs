//! Results compared with those of an earlier run, which may have another driver or device.

use super::figure::Figure;
use super::judged::{is_shown, words};
use super::row::Row;
use crate::experiment::{Cell, Results, Unit, View, label};
use prove::judge::{Judgement, Verdict};

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
    /// Values that the row varies.
    pub varied: Vec<(&'static str, Cell)>,
    /// The figure's name.
    pub figure: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Its earlier value.
    pub before: f64,
    /// Its value now.
    pub now: f64,
    /// Change that the rounds of both runs show; `None` if they are too few.
    pub judged: Option<Judgement>,
    /// Whether it changed, as the rounds show. If they are too few, by more than the spreads of both together and by more than
    /// 2 %; by more than half if a run had only one round.
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
    let unit = results.experiment.column(figure.name).unit();
    let judged = figure.since(before, unit.sense());
    let beyond_spread = judged.as_ref().map_or_else(|| figure.differs(before, ONE_ROUND), is_shown);
    Some(Change {
        varied: row.varied.clone(),
        figure: figure.name,
        unit,
        judged,
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

    /// Change that the rounds show: `a gain of 12.0 % (10.1 % to 13.9 %)`; nothing if they are too few.
    pub fn gain(&self) -> Option<String> {
        self.judged.as_ref().map(words)
    }

    /// `better`, `worse` or nothing.
    pub fn word(&self) -> &'static str {
        let is_better = match &self.judged {
            Some(judged) => judged.verdict == Verdict::Faster,
            None => (self.now > self.before) == self.more_is_better(),
        };
        match (self.beyond_spread, is_better) {
            (false, _) => "",
            (true, true) => "better",
            (true, false) => "worse",
        }
    }
}

impl Comparison {
    /// Whether the rounds of any row could be judged.
    pub(crate) fn has_gains(&self) -> bool {
        self.changes.iter().any(|change| change.judged.is_some())
    }

    /// The changes, in one to three sentences.
    pub fn verdict(&self) -> String {
        let count = |word: &str| self.changes.iter().filter(|change| change.word() == word).count();
        let (better, worse) = (count("better"), count("worse"));
        let rows = report::units::counted(self.changes.len() as u64, "row", "rows");
        let mut text = match (better, worse) {
            (0, 0) if self.has_gains() => format!("Against {}: no difference shown in {rows}.", self.device),
            (0, 0) => format!("Against {}: none of {rows} differs by more than the spread.", self.device),
            _ => format!("Against {}: of {rows}, {better} are better and {worse} worse.", self.device),
        };
        let unsteady =
            |change: &&Change| change.judged.is_some_and(|judged| judged.verdict == Verdict::Unsteady);
        let unsteady = self.changes.iter().filter(unsteady).count();
        if unsteady > 0 {
            let rows = report::units::counted(unsteady as u64, "row", "rows");
            text.push_str(&format!(" The machine was not steady in {rows}."));
        }
        let most = self.changes.iter().filter(|change| change.beyond_spread);
        let most = most.max_by(|a, b| a.ratio().ln().abs().total_cmp(&b.ratio().ln().abs()));
        if let Some(most) = most {
            let (now, before) = (most.unit.text(most.now), most.unit.text(most.before));
            let gain = most.gain().map(|gain| format!("; {gain}")).unwrap_or_default();
            text.push_str(&format!(
                " The largest change: {}, {now} instead of {before}{gain}.",
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
        of_figure(Figure::new("ms", ms, (rounds > 1).then_some(spread)), rounds)
    }

    fn of_figure(figure: Figure, rounds: u32) -> Results {
        let experiment = experiment("overlap").expect("there");
        let figures = vec![figure];
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

    /// The comparison of two runs whose rounds took these times, the earlier one read from its file.
    fn of_rounds(before: &[f64], now: &[f64]) -> (Results, Comparison) {
        let run = |ms: &[f64]| of_figure(Figure::of_rounds("ms", ms.to_vec()), ms.len() as u32);
        let (before, now) = (run(before), run(now));
        let before = Results::read(&crate::json(&before, None).to_string()).expect("own JSON");
        let comparison = Comparison::new(&now, &before);
        (now, comparison)
    }

    const BEFORE: [f64; 8] = [10.0, 10.1, 9.9, 10.0, 10.05, 9.95, 10.1, 10.0];

    #[test]
    fn rounds_of_two_runs_are_judged() {
        let times = |factor: f64| [10.05, 9.95, 10.0, 10.1, 9.9, 10.0, 10.0, 10.1].map(|ms| ms * factor);
        // A loss, a gain of less than the ranges of both together, the same again, and less than rounds show.
        let cases = [(1.2, "worse"), (0.985, "better"), (1.0, ""), (1.002, "")];
        for (factor, word) in cases {
            let (now, comparison) = of_rounds(&BEFORE, &times(factor));
            let change = &comparison.changes[0];
            assert_eq!((change.word(), change.beyond_spread), (word, !word.is_empty()), "{factor}");
            let gain = change.gain().expect("eight rounds");
            let page = report::document::Form::Text(report::Page::default());
            let (text, json) = (
                crate::document(&now, Some(&comparison), page).to_string(),
                crate::json(&now, Some(&comparison)),
            );
            match word {
                "" => {
                    assert!(gain.starts_with("no difference shown: at most "), "{gain}");
                    assert!(
                        text.contains("Against GPU, driver 1.2: no difference shown in 1 row."),
                        "{text}"
                    );
                }
                _ => assert!(text.contains("│ 95 %") && text.contains(&gain), "{text}"),
            }
            let row = &json["baseline"]["rows"][0];
            let share = row["gain"]["share"].as_f64().expect("a gain");
            assert!((1.0 - share - factor).abs() < 0.005, "{row}");
            assert!(
                row["gain"]["low"].as_f64() < Some(share) && row["gain"]["high"].as_f64() > Some(share),
                "{row}"
            );
            assert!(
                ["faster", "slower", "no-difference"].contains(&row["verdict"].as_str().expect("one")),
                "{row}"
            );
        }
    }

    #[test]
    fn too_few_rounds_of_either_run_are_not_judged() {
        for (before, now) in [(&BEFORE[..3], &BEFORE[..]), (&BEFORE[..], &BEFORE[..3]), (&[], &BEFORE[..])] {
            let (now, comparison) = of_rounds(before, now);
            assert_eq!(comparison.changes.first().and_then(Change::gain), None);
            let json = crate::json(&now, Some(&comparison));
            assert!(!json.to_string().contains("\"gain\":"), "{json}");
            let form = report::document::Form::Text(report::Page::default());
            let text = crate::document(&now, Some(&comparison), form).to_string();
            assert!(!text.contains("│ 95 %"));
        }
    }

    #[test]
    fn a_machine_that_becomes_slower_has_no_verdict() {
        let slower = |factor: f64| [1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2, 2.4].map(|ms| ms * factor);
        let (now, comparison) = of_rounds(&slower(1.0), &slower(1.1));
        let gain = comparison.changes[0].gain().expect("eight rounds");
        assert!(gain.starts_with("not certain, the machine is not steady: -10.0 %"), "{gain}");
        assert_eq!(comparison.changes[0].word(), "");
        let verdict =
            "Against GPU, driver 1.2: no difference shown in 1 row. The machine was not steady in 1 row.";
        assert_eq!(comparison.verdict(), verdict);
        assert_eq!(crate::json(&now, Some(&comparison))["baseline"]["rows"][0]["verdict"], "unsteady");
    }
}
