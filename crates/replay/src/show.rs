//! Fits and predictions as text, JSON and Markdown, and predictions as a page.

mod page;

pub use self::page::{Asked, predictions_page};

use crate::fit::{Both, Fit, MOST_ERROR};
use crate::predict::{Gain, LEAST, Prediction};
use report::table::{Align, Table};
use report::{Page, units};
use serde::Serialize;

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
pub fn text(fit: &Fit, page: Page) -> String {
    let mut text = format!("\nReplayed on the model {}, with the trace's own costs.\n", fit.model);
    text.push_str(&main(fit).boxed(Some(page.table_columns)));
    text.push_str(&report::paragraph(&verdict(fit), page));
    if !fit.calls.is_empty() {
        text.push_str("\nWhere it differs:\n");
        text.push_str(&differences(fit).boxed(Some(page.table_columns)));
    }
    text
}

fn main(fit: &Fit) -> Table {
    let right = Align::Right;
    let mut table =
        Table::new(&[("recorded", right), ("replayed", right), ("difference", right), ("", Align::Left)]);
    if let Some(ranges) = fit.ranges {
        table.push(cells(ranges, ranges.recorded_ns, String::from("within the chosen ranges")));
    }
    let mut row = |what: String, both: Both| table.push(cells(both, fit.wall.recorded_ns, what));
    row(String::from("wall time"), fit.wall);
    fit.gpus
        .iter()
        .filter(|gpu| gpu.busy != Both::default())
        .for_each(|gpu| row(format!("GPU {} busy", gpu.device), gpu.busy));
    for thread in &fit.threads {
        let name = if thread.name.is_empty() { "thread" } else { &thread.name };
        row(format!("end of {name} ({})", thread.tid), thread.end);
    }
    table
}

fn differences(fit: &Fit) -> Table {
    let right = Align::Right;
    let mut table =
        Table::new(&[("recorded", right), ("replayed", right), ("difference", right), ("", Align::Left)]);
    for call in &fit.calls {
        let what = format!("{} × {}", units::count(call.count), call.call);
        table.push(cells(call.time, fit.wall.recorded_ns, what));
    }
    for row in &fit.idle {
        table.push(cells(row.idle, fit.wall.recorded_ns, format!("GPUs idle: {}", row.cause)));
    }
    table
}

/// Both times, their difference as a part of the trace's time, and what they are of.
fn cells(both: Both, wall_ns: i64, what: String) -> Vec<String> {
    let share = both.difference() as f64 / wall_ns.max(1) as f64;
    vec![units::duration(both.recorded_ns), units::duration(both.replayed_ns), signed(share), what]
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

/// Predictions for people.
pub fn predictions_text(fit: &Fit, predictions: &[Prediction], page: Page) -> String {
    let mut text = format!("\n{}\n", took(fit));
    if predictions.is_empty() {
        text.push_str(&format!("{NONE_FITS}\n"));
        return text;
    }
    let table = predictions_table(predictions);
    text.push_str(&table.boxed(Some(page.table_columns)));
    for line in notes(predictions) {
        text.push_str(&report::paragraph(&line, page));
    }
    text
}

/// Predictions for an issue or a merge request.
pub fn predictions_markdown(fit: &Fit, predictions: &[Prediction], path: &str) -> String {
    let escaped = report::escape_markdown;
    let mut text = format!("# What changes to {} would gain\n\n{}\n\n", escaped(path), took(fit));
    if predictions.is_empty() {
        text.push_str(NONE_FITS);
        text.push('\n');
        return text;
    }
    text.push_str(&predictions_table(predictions).markdown());
    for (at, line) in notes(predictions).iter().enumerate() {
        text.push_str(&format!("{}- {}\n", if at == 0 { "\n" } else { "" }, escaped(line)));
    }
    text
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
fn predictions_table(predictions: &[Prediction]) -> Table {
    let right = Align::Right;
    let columns = [
        ("gain", right),
        ("from … to", right),
        ("it would take", right),
        ("then", Align::Left),
        ("change", Align::Left),
    ];
    let mut table = Table::new(&columns);
    for one in predictions {
        table.push(vec![
            units::whole_percent(one.gain.share),
            range(one.gain),
            units::duration(one.predicted_ns),
            next(one).to_owned(),
            named(one),
        ]);
    }
    table
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
