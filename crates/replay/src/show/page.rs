//! Predictions as a page: a table, and for each prediction the accounts and the timelines before and after.

use super::{NONE_FITS, earlier, named, next, range, took};
use crate::fit::Fit;
use crate::predict::{Change, Gain, LEAST, Prediction, Predictor};
use crate::{Error, predict};
use explain::{Explanation, Loss, Options};
use page::before_after::{self, BeforeAfter, Explained};
use page::html::Html;
use page::{Page, Section};
use report::units;
use std::path::Path;
use trace::Trace;

/// Predictions with a timeline: those that gain most, and those that lose most. Choices: more make the page large, and few look at more.
const BEST: usize = 3;
const WORST: usize = 2;

/// Least part of the time that the axis of gains has on both sides of zero.
const LEAST_AXIS: f64 = 0.05;

/// A prediction and the changes that it is of.
pub struct Forecast<'a> {
    /// Prediction of their gain.
    pub prediction: Prediction,
    /// The changes.
    pub changes: Vec<Change<'a>>,
}

impl<'a> Forecast<'a> {
    /// A prediction of a search, whose changes are fixes.
    pub fn found(prediction: Prediction) -> Forecast<'a> {
        let changes = prediction.id.split(',').filter_map(predict::fix).map(Change::Fix).collect();
        Forecast { prediction, changes }
    }
}

/// The page of predictions from the trace of that name.
///
/// # Errors
/// The errors of [`Predictor::predict`].
pub fn predictions_page(
    predictor: &Predictor<'_>,
    asked: &[Forecast<'_>],
    fit: &Fit,
    name: &str,
) -> Result<Page, Error> {
    let file = Path::new(name).file_name().map_or(name.into(), |file| file.to_string_lossy());
    let selected = best(asked);
    let mut sections = vec![table(asked, selected)];
    if !asked.is_empty() {
        sections.extend(before_and_after(predictor, asked)?);
    }
    Ok(Page { title: format!("{file}: what if · holdup"), head: head(fit, &file), sections })
}

/// The prediction that is selected at first.
fn best(asked: &[Forecast<'_>]) -> usize {
    let gain = |at: &usize| asked[*at].prediction.gain.share;
    // Of equal ones, the first.
    (0..asked.len()).rev().max_by(|a, b| gain(a).total_cmp(&gain(b))).unwrap_or(0)
}

/// Which predictions have a timeline.
fn drawn(asked: &[Forecast<'_>]) -> Vec<bool> {
    let gain = |at: usize| asked[at].prediction.gain.share;
    let mut order: Vec<usize> = (0..asked.len()).collect();
    order.sort_by(|a, b| gain(*b).total_cmp(&gain(*a)));
    let worst = order.iter().rev().take(WORST).filter(|at| gain(**at) <= -LEAST);
    let mut drawn = vec![false; asked.len()];
    order.iter().take(BEST).chain(worst).for_each(|at| drawn[*at] = true);
    drawn
}

/// The accounts and timelines of all predictions.
fn before_and_after(predictor: &Predictor<'_>, asked: &[Forecast<'_>]) -> Result<Vec<Section>, Error> {
    let explained = |changes: &[Change<'_>]| -> Result<Option<(Trace, Explanation, Vec<Loss>)>, Error> {
        let Some(trace) = predictor.trace(changes)? else { return Ok(None) };
        let (explanation, losses) = explain::explain_each(&trace, &Options::default());
        Ok(Some((trace, explanation, losses)))
    };
    // Before is what was recorded, and so what `holdup explain` prints; only after is replayed.
    let trace = predictor.recorded();
    let (explanation, losses) = explain::explain_each(trace, &Options::default());
    let drawn = drawn(asked);
    let timelines = drawn.iter().filter(|is_drawn| **is_drawn).count();
    let before = Explained { trace, explanation: &explanation, losses: &losses };
    let mut both = BeforeAfter::new(before, timelines);
    for (one, is_drawn) in asked.iter().zip(drawn) {
        // Without a change, before and after are the same.
        let changed = explained(&one.changes)?;
        let after = changed.as_ref().map_or(before, |(trace, explanation, losses)| Explained {
            trace,
            explanation,
            losses,
        });
        let instead = format!(
            "No timeline: the page has those of the {BEST} predictions that gain most and of up to {WORST} that lose. To see this one: {}.",
            command(one)
        );
        both.push(&before_after::Change {
            name: &named(&one.prediction),
            summary: &summary(&one.prediction),
            after,
            instead: (!is_drawn).then_some(&instead),
        });
    }
    Ok(both.sections())
}

/// The command that predicts only these changes.
fn command(one: &Forecast<'_>) -> String {
    let is_fix = |change: &&Change<'_>| match change {
        Change::Fix(_) => true,
        Change::Faster(_) => false,
        Change::Removed(removed) => removed.is_fix(),
    };
    let fixes: Vec<&str> = one.changes.iter().filter(is_fix).map(Change::id).collect();
    let imagined = one.changes.iter().filter(|change| !is_fix(change)).filter_map(|change| match change {
        Change::Fix(_) => None,
        Change::Faster(faster) => Some(format!(" --faster '{}'", faster.text())),
        Change::Removed(removed) => Some(format!(" --{}", removed.text())),
    });
    let mut command = String::from("holdup whatif --format html");
    if !fixes.is_empty() {
        command.push_str(&format!(" --fix {}", fixes.join(",")));
    }
    command.extend(imagined);
    command
}

/// `1,901 ms before, 1,282 ms after: a gain of 33 %.`
fn summary(one: &Prediction) -> String {
    let (before, after) = (units::duration(one.before_ns), units::duration(one.predicted_ns));
    let result = match one.gain.share {
        share if share >= LEAST => format!("a gain of {}", units::whole_percent(share)),
        share if share <= -LEAST => format!("a loss of {}", units::whole_percent(-share)),
        _ => String::from("no gain"),
    };
    format!("The program takes {before} before and {after} after: {result}.")
}

fn head(fit: &Fit, name: &str) -> Html {
    let mut html = Html::new();
    html.leaf("p", &[("class", "brand")], "holdup what if");
    html.open("h1", &[]).text("What changes to ").leaf("span", &[("class", "name")], name);
    html.text(" would gain").close("h1");
    html.open("ul", &[("class", "facts")]);
    html.leaf("li", &[], &took(fit)).leaf("li", &[], &format!("model {}", fit.model));
    html.close("ul");
    html
}

/// The table of predictions, of which one is selected.
fn table(asked: &[Forecast<'_>], selected: usize) -> Section {
    let mut body = Html::new();
    if asked.is_empty() {
        body.leaf("p", &[("class", "none")], NONE_FITS);
    } else {
        body.leaf(
            "p",
            &[("class", "lede")],
            "A gain is a part of the program's time; a line is its range. Select a prediction to see its accounts and timelines.",
        );
        let axis = Axis::of(asked);
        body.open("div", &[("class", "predictions"), ("role", "group"), ("aria-label", "Predictions")]);
        body.open("table", &[]).head([
            ("Change", "text"),
            ("Gain", "number"),
            ("", "range"),
            ("From … to", "number"),
            ("It would take", "number"),
            ("Then", "text"),
        ]);
        for (at, one) in asked.iter().enumerate() {
            body.push(&row(&one.prediction, at, at == selected, &axis));
        }
        body.close("tbody").close("table").close("div");
    }
    let title = String::from("Predictions");
    Section { id: "predictions", title, body, script: "predictions", data: Vec::new() }
}

fn row(one: &Prediction, at: usize, is_selected: bool, axis: &Axis) -> Html {
    let is_loss = one.gain.share <= -LEAST;
    let mut html = Html::new();
    html.open("tr", &[("class", if is_loss { "loss" } else { "" })]).open("td", &[("class", "what")]);
    html.push(&before_after::choice(at, is_selected, &named(one)));
    if is_loss {
        html.text(" ").leaf("span", &[("class", "mark")], "loss");
    }
    for note in earlier(one).into_iter().chain((!one.safety.is_empty()).then(|| one.safety.clone())) {
        html.leaf("small", &[], &note);
    }
    html.close("td");
    html.leaf("td", &[("class", "number gain")], &units::whole_percent(one.gain.share));
    html.open("td", &[("class", "range")]).push(&axis.drawn(one.gain)).close("td");
    html.leaf("td", &[("class", "number")], &range(one.gain));
    html.leaf("td", &[("class", "number takes")], &units::duration(one.predicted_ns));
    html.leaf("td", &[("class", "text then")], next(one)).close("tr");
    html
}

/// The scale of all gains: from the least to the most, with zero.
struct Axis {
    from: f64,
    to: f64,
}

impl Axis {
    fn of(asked: &[Forecast<'_>]) -> Axis {
        let gains = || asked.iter().map(|one| one.prediction.gain);
        Axis {
            from: gains().map(|gain| gain.low).fold(-LEAST_AXIS, f64::min),
            to: gains().map(|gain| gain.high).fold(LEAST_AXIS, f64::max),
        }
    }

    /// The part of the width left of a share.
    fn at(&self, share: f64) -> f64 {
        ((share - self.from) / (self.to - self.from)).clamp(0.0, 1.0)
    }

    /// A bar from zero to the gain, and a line over its range.
    fn drawn(&self, gain: Gain) -> Html {
        let percent = |part: f64| format!("{:.2}%", 100.0 * part);
        let [zero, share, low, high] = [0.0, gain.share, gain.low, gain.high].map(|share| self.at(share));
        let label = format!(
            "{}, from {} to {}",
            units::whole_percent(gain.share),
            units::whole_percent(gain.low),
            units::whole_percent(gain.high)
        );
        let class = if gain.share <= -LEAST { "interval loss" } else { "interval" };
        let mut html = Html::new();
        html.open("svg", &[("class", class), ("role", "img"), ("aria-label", &label)]);
        let (left, wide) = (percent(zero.min(share)), percent((zero - share).abs()));
        html.open("rect", &[("x", &left), ("y", "4"), ("width", &wide), ("height", "12")]).close("rect");
        let mut line = |class: &str, x: [f64; 2], y: [&str; 2]| {
            let [x1, x2] = x.map(percent);
            html.open("line", &[("class", class), ("x1", &x1), ("x2", &x2), ("y1", y[0]), ("y2", y[1])])
                .close("line");
        };
        line("zero", [zero, zero], ["0", "20"]);
        line("reach", [low, high], ["10", "10"]);
        line("reach", [low, low], ["6", "14"]);
        line("reach", [high, high], ["6", "14"]);
        html.close("svg");
        html
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(gains: &[f64]) -> Vec<Forecast<'static>> {
        let one = |share: &f64| Forecast {
            prediction: Prediction {
                id: format!("fix {share}"),
                changes: 1,
                predicted_ns: 1,
                before_ns: 1,
                gain: Gain { share: *share, low: share - 0.01, high: share + 0.01, once: 0.0 },
                thread: None,
                next: None,
                safety: String::new(),
            },
            changes: Vec::new(),
        };
        gains.iter().map(one).collect()
    }

    #[test]
    fn the_best_and_those_that_lose_have_timelines() {
        let gains = [-0.2, 0.3, 0.0, 0.1, -0.1, 0.2, -0.3, 0.05];
        assert_eq!(drawn(&asked(&gains)), [true, true, false, true, false, true, true, false]);
        // Less than half a percent is no loss.
        assert_eq!(drawn(&asked(&[0.3, 0.2, 0.1, 0.0, -0.004])), [true, true, true, false, false]);
        assert_eq!(drawn(&asked(&[-0.5])), [true]);
    }

    #[test]
    fn the_best_one_is_selected_and_of_equal_ones_the_first() {
        assert_eq!(best(&asked(&[0.0, 0.2, 0.2, -0.1])), 1);
        assert_eq!(best(&asked(&[-0.2, -0.1])), 1);
    }

    #[test]
    fn all_ranges_are_on_one_axis_with_zero() {
        let all = asked(&[0.4, -0.2]);
        let axis = Axis::of(&all);
        assert!((axis.at(0.0) - 0.21 / 0.62).abs() < 1e-9);
        let drawn = axis.drawn(all[1].prediction.gain);
        assert!(drawn.as_str().contains("class=\"interval loss\""), "{}", drawn.as_str());
        assert!(drawn.as_str().contains("aria-label=\"-20 %, from -21 % to -19 %\""), "{}", drawn.as_str());
        assert!(drawn.as_str().contains("<rect x=\"1.61%\" y=\"4\" width=\"32.26%\""), "{}", drawn.as_str());
    }

    #[test]
    fn the_command_of_a_prediction_is_complete() {
        let faster = "call:cudaMemcpy*=2x".parse().unwrap();
        let changes = ["own-stream", "no-gil"].iter().filter_map(|id| predict::fix(id)).map(Change::Fix);
        let changes = changes.chain([Change::Faster(&faster)]).collect();
        let one = Forecast { prediction: asked(&[0.0]).remove(0).prediction, changes };
        let expected = "holdup whatif --format html --fix own-stream,no-gil --faster 'call:cudaMemcpy*=2x'";
        assert_eq!(command(&one), expected);
    }
}
