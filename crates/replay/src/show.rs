//! Fits and predictions as text, JSON and Markdown, and predictions as a page.

mod page;

pub use self::page::{Forecast, predictions_page};

use crate::fit::{Both, Fit, MOST_ERROR};
use crate::predict::{Gain, LEAST, Prediction};
use report::document::{Document, Form, Paragraph, Table, Width};
use report::{Page, units};
use serde::Serialize;

/// The widest range of a change without effect: the floor of both sides and what a replay differs by at most. A choice.
const MOST_OF_NONE: f64 = 0.1;

/// Says that there is no prediction.
const NONE_FITS: &str = "No change that holdup knows fits this trace.";

/// The fit as one JSON object: `docs/schema/replay.json`.
pub fn json(fit: &Fit, path: &str) -> String {
    #[derive(Serialize)]
    struct Body<'a> {
        path: &'a str,
        #[serde(flatten)]
        fit: &'a Fit,
    }
    report::json("holdup/replay/1", &Body { path, fit })
}

/// The fit for people.
pub fn document(fit: &Fit, page: Page) -> Document {
    let mut document = Document::new(Form::Text(page));
    document.gap();
    let title = format!("Replayed on the model {}, with the trace's own costs.", fit.model);
    document.push(Paragraph::new(title).fit(report::document::Fit::Stay));
    document.push(table(&main(fit)));
    document.push(Paragraph::new(verdict(fit)));
    if !fit.calls.is_empty() {
        document.gap();
        document.push(Paragraph::new("Where it differs:"));
        document.push(table(&differences(fit)));
    }
    document
}

/// A time that was recorded and replayed.
struct Row {
    both: Both,
    /// Time that the difference is a part of, ns.
    of_ns: i64,
    what: String,
}

fn main(fit: &Fit) -> Vec<Row> {
    let ranges = fit.ranges.map(|both| {
        let what = String::from("within the chosen ranges");
        Row { both, of_ns: both.recorded_ns, what }
    });
    let row = |what: String, both: Both| Row { both, of_ns: fit.wall.recorded_ns, what };
    let wall = row(String::from("wall time"), fit.wall);
    let gpus = fit.gpus.iter().filter(|gpu| gpu.busy != Both::default());
    let gpus = gpus.map(|gpu| row(format!("GPU {} busy", gpu.device), gpu.busy));
    let threads = fit.threads.iter().map(|thread| {
        let name = if thread.name.is_empty() { "thread" } else { &thread.name };
        row(format!("end of {name} ({})", thread.tid), thread.end)
    });
    ranges.into_iter().chain([wall]).chain(gpus).chain(threads).collect()
}

fn differences(fit: &Fit) -> Vec<Row> {
    let row = |both: Both, what: String| Row { both, of_ns: fit.wall.recorded_ns, what };
    let calls = fit.calls.iter().map(|of| row(of.time, format!("{} × {}", units::count(of.count), of.call)));
    let idle = fit.idle.iter().map(|of| row(of.idle, format!("GPUs idle: {}", of.cause)));
    calls.chain(idle).collect()
}

/// Both times, their difference as a part of the whole, and what they are of.
fn table(rows: &[Row]) -> Table {
    Table::of(rows)
        .right("recorded", |row| units::duration(row.both.recorded_ns))
        .right("replayed", |row| units::duration(row.both.replayed_ns))
        .right("difference", |row| signed(row.both.difference() as f64 / row.of_ns.max(1) as f64))
        .left("", |row| row.what.clone())
        .table()
        .wide(Width::Terminal)
}

/// A difference in percent, with two decimals.
fn signed(share: f64) -> String {
    // No negative zero.
    format!("{:+.2} %", (10_000.0 * share).round() / 100.0 + 0.0)
}

/// Whether it fits, in a sentence.
fn verdict(fit: &Fit) -> String {
    let (error, most) = (units::percent_two_decimals(fit.error), units::percent(MOST_ERROR));
    let mut text = match fit.fits {
        true => format!(
            "It fits: wall time and GPUs' busy times differ by at most {error} ({most} is the limit)."
        ),
        false => {
            format!(
                "It does not fit: wall time or a GPU's busy time differs by {error} ({most} is the limit)."
            )
        }
    };
    if fit.given_up > 0 {
        let waits = units::counted(fit.given_up, "wait was given up", "waits were given up");
        text.push_str(&format!(" {waits}: threads would have waited for each other for ever."));
    }
    text
}

/// Predictions as one JSON object: `docs/schema/whatif.json`.
pub fn predictions_json(fit: &Fit, predictions: &[Prediction], path: &str) -> String {
    #[derive(Serialize)]
    struct Body<'a> {
        path: &'a str,
        replay: &'a Fit,
        fixes: &'a [Prediction],
    }
    report::json("holdup/whatif/1", &Body { path, replay: fit, fixes: predictions })
}

/// The predictions of a program.
pub struct Shown<'a> {
    /// In the order in which they are shown.
    pub predictions: &'a [Prediction],
    /// Whether each was asked for by its name: then none is left out of the table.
    pub were_asked: bool,
}

/// Predictions for people; Markdown has the path above them.
pub fn predictions(fit: &Fit, shown: &Shown<'_>, path: &str, form: Form) -> Document {
    let Shown { predictions, were_asked } = *shown;
    let mut document = Document::new(form);
    document.gap();
    if document.is_markdown() {
        document.push(Paragraph::heading(1, format!("What changes to {path} would gain")));
    }
    document.push(Paragraph::new(took(fit)));
    if predictions.is_empty() {
        document.push(Paragraph::new(NONE_FITS));
    } else {
        let (with, without): (Vec<&Prediction>, Vec<&Prediction>) =
            predictions.iter().partition(|one| were_asked || has_effect(one));
        match with.is_empty() {
            true => document.push(predictions_table(&without)),
            false => document.push(predictions_table(&with)),
        }
        document.extend(notes(predictions).into_iter().map(Paragraph::item));
        if !with.is_empty() && !without.is_empty() {
            let names: Vec<String> = without.into_iter().map(named).collect();
            document.push(Paragraph::item(format!("Without effect: {}.", names.join(", "))));
        }
    }
    document
}

/// Whether a change may gain or lose something that its range does not have anyway, for the program or a thread.
fn has_effect(one: &Prediction) -> bool {
    let Gain { share, low, high, once } = one.gain;
    let is_small = |share: f64| share.abs() < LEAST;
    !is_small(share) || !is_small(once) || one.thread.is_some() || high - low > MOST_OF_NONE
}

/// How long the program took, and how well the replay fits.
fn took(fit: &Fit) -> String {
    let (took, error) = (units::duration(fit.judged().recorded_ns), units::percent_two_decimals(fit.error));
    match fit.ranges {
        None => format!("The program took {took}; its replay differs by at most {error}."),
        Some(_) => format!("The chosen ranges took {took}; their replay differs by at most {error}."),
    }
}

/// A row for each prediction.
fn predictions_table(predictions: &[&Prediction]) -> Table {
    Table::of(predictions)
        .right("gain", |one| units::whole_percent(one.gain.share))
        .right("from … to", |one| range(one.gain))
        .right("it would take", |one| units::duration(one.predicted_ns))
        .left("then", |one| next(one).to_owned())
        .left("change", |one| named(one))
        .table()
        .wide(Width::Terminal)
}

/// The changes of a prediction.
fn named(one: &Prediction) -> String {
    one.id.replace(',', " + ")
}

/// Cause that costs the GPUs most afterwards.
fn next(one: &Prediction) -> &'static str {
    one.next.unwrap_or("busy")
}

/// Lines about single changes: threads that would be done earlier, and when a change that gains is safe.
fn notes(predictions: &[Prediction]) -> Vec<String> {
    let single = || predictions.iter().filter(|one| !one.id.contains(','));
    let threads = single().filter_map(|one| Some(format!("{}: {}", one.id, earlier(one)?)));
    let once = single().filter(|one| one.gain.once >= LEAST).map(|one| {
        let share = units::whole_percent(one.gain.once);
        format!("{}: takes {share} of the time once, at the program's start and end", one.id)
    });
    let safe = single().filter(|one| one.gain.share >= LEAST && !one.safety.is_empty());
    threads.chain(once).chain(safe.map(|one| format!("{}: {}", one.id, one.safety))).collect()
}

/// The thread that would be done earlier than the program.
fn earlier(one: &Prediction) -> Option<String> {
    let thread = one.thread.as_ref()?;
    let (tid, share) = (thread.tid, units::whole_percent(thread.share));
    Some(format!(
        "thread {tid} would be done earlier by {share} of the time; other threads take as long as before"
    ))
}

/// `25 % … 60 %`
fn range(gain: Gain) -> String {
    format!("{} … {}", units::whole_percent(gain.low), units::whole_percent(gain.high))
}
