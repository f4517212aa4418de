//! The page of one trace.

use crate::document::Page;
use crate::html::Html;
use crate::{account, findings, tables, timeline};
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

/// The page of a trace: its account, its findings, its timeline, and tables. The first three fit a screen. `explanation` and `losses` are the result of
/// [`explain::explain_each`] for `trace`; the page names the trace by the explanation's path.
pub fn of_trace(trace: &Trace, explanation: &Explanation, losses: &[Loss], options: &Options) -> Page {
    let path = &explanation.trace.path;
    let name = Path::new(path).file_name().map_or(path.as_str().into(), |name| name.to_string_lossy());
    let (timeline, rows) = timeline::section(trace, explanation, losses, &options.selection, timeline::ROOM);
    let mut sections =
        vec![account::section(explanation), findings::section(explanation, &rows, options.all), timeline];
    sections.push(findings::coverage(explanation, options.all));
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
    html.push(&remarks(&overview.remarks));
    html
}

/// The remarks; of several, all but the first are folded.
fn remarks(all: &[String]) -> Html {
    let mut html = Html::new();
    let Some((first, rest)) = all.split_first() else { return html };
    if rest.is_empty() {
        html.leaf("p", &[("class", "remark")], first);
        return html;
    }
    let more = report::units::counted(rest.len() as u64, "more remark", "more remarks");
    html.open("details", &[("class", "remarks-of-trace")]).open("summary", &[]);
    html.leaf("span", &[("class", "remark")], first)
        .leaf("span", &[("class", "count")], &more)
        .close("summary");
    for remark in rest {
        html.leaf("p", &[("class", "remark")], remark);
    }
    html.close("details");
    html
}
