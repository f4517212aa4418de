//! The page of one trace.

use crate::document::Page;
use crate::html::Html;
use crate::{findings, tables, timeline};
use explain::{Explanation, Loss};
use report::explanation::overview;
use std::path::Path;
use trace::{Selection, Trace};

/// Options of the page of a trace.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The selection that timeline and tables show.
    pub selection: Selection,
    /// Whether findings below 0.1 % of the slow time are shown in full too.
    pub all: bool,
}

/// The page of a trace: its findings, its timeline, and tables. `explanation` and `losses` are the result of
/// [`explain::explain_each`] for `trace`; the page names the trace by the explanation's path.
pub fn of_trace(trace: &Trace, explanation: &Explanation, losses: &[Loss], options: &Options) -> Page {
    let path = &explanation.trace.path;
    let name = Path::new(path).file_name().map_or(path.as_str().into(), |name| name.to_string_lossy());
    let (timeline, rows) = timeline::section(trace, explanation, losses, &options.selection, timeline::ROOM);
    let mut sections = vec![findings::section(explanation, options.all), timeline];
    sections.extend(tables::sections(trace, explanation, losses, &options.selection, &rows));
    Page { title: format!("{name} · holdup"), head: head(explanation, &name), sections }
}

fn head(explanation: &Explanation, name: &str) -> Html {
    let overview = overview(explanation, false);
    let mut html = Html::new();
    html.leaf("p", &[("class", "brand")], "holdup");
    html.open("h1", &[]).text("What holds up ").leaf("span", &[("class", "name")], name).close("h1");
    html.open("ul", &[("class", "facts")]);
    for fact in &overview.facts {
        html.leaf("li", &[], fact);
    }
    html.close("ul");
    for remark in &overview.remarks {
        html.leaf("p", &[("class", "remark")], remark);
    }
    html
}
