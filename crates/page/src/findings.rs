//! The findings: each is a sentence and a line with its cause; unfolded, also its evidence, its examples and the fix.

use crate::document::Section;
use crate::html::Html;
use crate::timeline::Rows;
use explain::{About, Confidence, Explanation, Finding, Nature};
use report::explanation::{Applied, Overlapped, Words, gain as gain_text, overview, words};
use report::units;

/// Findings on the first screen. A choice: two lines each leave room for the timeline.
const TOP: usize = 5;

/// The findings of a trace: two lines each, which unfold. Those after the first are folded; so are the small ones, unless
/// `all`.
pub(crate) fn section(explanation: &Explanation, rows: &Rows, all: bool) -> Section {
    let overview = overview(explanation, all);
    let of = |small: bool| {
        let findings = explanation.findings.iter().zip(&overview.small);
        findings.filter(move |(_, is_small)| **is_small == small).map(|(finding, _)| finding)
    };
    let mut body = Html::new();
    for finding in of(false).take(TOP) {
        body.push(&card(finding, explanation, rows));
    }
    let rest: Vec<&Finding> = of(false).skip(TOP).collect();
    let more = units::counted(rest.len() as u64, "more finding", "more findings");
    body.push(&folded("rest", (!rest.is_empty()).then_some(more), rest.into_iter(), explanation, rows));
    body.push(&folded("smaller", overview.folded.clone(), of(true), explanation, rows));
    if explanation.findings.is_empty() {
        for line in &overview.conclusion {
            body.leaf("p", &[("class", "none")], line);
        }
    }
    Section { id: "findings", title: String::from("Findings"), body, script: "findings", data: Vec::new() }
}

/// How much of the slow calls' time findings explain, and how copies and kernels overlapped.
pub(crate) fn coverage(explanation: &Explanation, all: bool) -> Section {
    let overview = overview(explanation, all);
    let mut body = Html::new();
    body.push(&conclusion(explanation, &overview.conclusion));
    for told in &overview.overlaps {
        body.push(&overlap(told));
    }
    Section { id: "coverage", title: String::from("Coverage"), body, ..Section::default() }
}

fn folded<'a>(
    class: &str,
    summary: Option<String>,
    findings: impl Iterator<Item = &'a Finding>,
    explanation: &Explanation,
    rows: &Rows,
) -> Html {
    let mut html = Html::new();
    if let Some(summary) = summary {
        html.open("details", &[("class", class)]).leaf("summary", &[], &summary);
        for finding in findings {
            html.push(&card(finding, explanation, rows));
        }
        html.close("details");
    }
    html
}

fn card(finding: &Finding, explanation: &Explanation, rows: &Rows) -> Html {
    let words = words(finding, &explanation.trace);
    let heading = format!("{}-sentence", finding.id);
    let kind = match (About::of(finding.cause).nature, finding.confidence) {
        (Nature::Unknown, _) => "finding unexplained",
        (Nature::Asked, _) => "finding wanted",
        (_, Confidence::Certain) => "finding certain",
        (_, Confidence::Likely | Confidence::Possible) => "finding unsure",
    };
    let mut html = Html::new();
    html.open("article", &[("class", kind), ("id", &finding.id), ("aria-labelledby", &heading)]);
    html.open("details", &[]).open("summary", &[]);
    html.push(&sentence(finding, &words, &heading)).push(&brief(finding, &words));
    html.close("summary").open("div", &[("class", "all")]);
    html.push(&weight(finding));
    html.push(&fields(&words)).push(&examples(finding, &words, rows)).push(&fixes(finding, explanation));
    html.close("div").close("details");
    if let Some(example) = words.examples.first() {
        html.push(&link(finding, 0, example, rows, "show"));
    }
    html.close("article");
    html
}

/// The second line: the cause, what was waited for, and where.
fn brief(finding: &Finding, words: &Words) -> Html {
    let mut html = Html::new();
    html.open("span", &[("class", "brief")]);
    html.leaf("span", &[("class", "verdict")], &words.verdict);
    if let Some(field) = words.fields.iter().find(|field| field.label == "waits for") {
        html.text(" ").text(field.label).text(" ").text(&field.text);
    }
    let place =
        words.fields.iter().find(|field| field.label == "where").and_then(|field| field.places.first());
    if let Some(place) = place.filter(|_| !finding.places.is_empty()) {
        html.text(" ").leaf("code", &[], place);
    }
    html.close("span");
    html
}

/// The number, and a bar for its part of the waiter's time. The bar is a picture, so that it prints.
fn weight(finding: &Finding) -> Html {
    let mut html = Html::new();
    html.open("div", &[("class", "weight")]);
    let lost = units::duration(finding.lost_ns);
    let (number, unit) = lost.split_once(' ').unwrap_or((&lost, ""));
    html.open("p", &[("class", "number")]).text(number).text(" ");
    html.leaf("small", &[], unit).close("p");
    let (part, whose) = match (finding.is_of_account && finding.cost_ns > 0, finding.waiter.threads) {
        (true, _) => (finding.cost_share, "the GPU's"),
        (false, 0 | 1) => (finding.share, "its"),
        (false, _) => (finding.share, "their"),
    };
    html.push(&bar(part));
    html.leaf("p", &[("class", "share")], &format!("{} of {whose} time", units::percent(part)));
    html.close("div");
    html
}

/// A bar for a part of 1; parts above 1 fill it.
pub(crate) fn bar(part: f64) -> Html {
    let width = format!("{:.2}", (part.clamp(0.0, 1.0) * 100.0).max(0.5));
    let mut html = Html::new();
    html.open(
        "svg",
        &[
            ("class", "bar"),
            ("viewBox", "0 0 100 6"),
            ("preserveAspectRatio", "none"),
            ("aria-hidden", "true"),
        ],
    );
    html.open("rect", &[("class", "whole"), ("width", "100"), ("height", "6")]).close("rect");
    html.open("rect", &[("class", "part"), ("width", &width), ("height", "6")]).close("rect");
    html.close("svg");
    html
}

/// The sentence, with its amount in bold.
fn sentence(finding: &Finding, words: &Words, heading: &str) -> Html {
    let mut html = Html::new();
    html.open("h3", &[("id", heading)]);
    html.leaf("span", &[("class", "id")], &finding.id).text(" ");
    // The first occurrence: a thread may have an amount as its name.
    match words.sentence.split_once(&words.amount) {
        Some((before, after)) => html.text(before).leaf("b", &[], &words.amount).text(after),
        None => html.text(&words.sentence),
    };
    html.close("h3");
    html
}

fn fields(words: &Words) -> Html {
    let mut html = Html::new();
    html.open("dl", &[]);
    for field in &words.fields {
        html.leaf("dt", &[], field.label).open("dd", &[]);
        html.text(&field.text);
        for place in &field.places {
            html.leaf("code", &[("class", "place")], place);
        }
        html.close("dd");
    }
    if !words.tree.is_empty() {
        html.leaf("dt", &[], "stacks").open("dd", &[]).code(&words.tree.join("\n")).close("dd");
    }
    html.close("dl");
    html
}

/// The longest waits, each a link to its place in the timeline.
fn examples(finding: &Finding, words: &Words, rows: &Rows) -> Html {
    let mut html = Html::new();
    html.open("p", &[("class", "examples")]).leaf("span", &[], "longest").text(" ");
    for (at, example) in words.examples.iter().enumerate() {
        html.push(&link(finding, at, example, rows, "")).text(" ");
    }
    html.close("p");
    html
}

/// A link to an example in the timeline, which says what it is unless it has a `label`. What the account alone found has no
/// arrow there: the GPU's idle time shows it.
fn link(finding: &Finding, at: usize, example: &str, rows: &Rows, label: &str) -> Html {
    let place = &finding.examples[at];
    let (data, target) = match finding.is_of_account {
        false => ("data-example", format!("{}.{at}", finding.id)),
        true => {
            let until = place.start_ns.saturating_add(place.duration_ns);
            ("data-time", rows.time(place.start_ns, until).unwrap_or_default())
        }
    };
    let says = format!("{}: show {example} in the timeline", finding.id);
    let mut attributes = vec![("href", "#timeline"), (data, &*target), ("aria-label", &*says)];
    if !label.is_empty() {
        attributes.push(("class", "show"));
    }
    let mut html = Html::new();
    html.leaf("a", &attributes, if label.is_empty() { example } else { label });
    html
}

fn fixes(finding: &Finding, explanation: &Explanation) -> Html {
    let mut html = Html::new();
    if finding.fixes.is_empty() {
        return html;
    }
    html.open("div", &[("class", "fixes")]).leaf("h4", &[], "fix").open("ul", &[]);
    for fix in &finding.fixes {
        html.open("li", &[]).leaf("code", &[], fix.id).text(" ").text(fix.text);
        if let Some(gain) = explanation.gains.of(fix) {
            html.text(" – ").leaf("b", &[], &gain_text(gain));
        }
        if !fix.safety.is_empty() {
            html.leaf("small", &[], fix.safety);
        }
        if let Some(applied) = Applied::of(explanation, finding, fix) {
            if let Some(at) = applied.heading() {
                html.leaf("small", &[], &at);
            }
            html.code(applied.form.code);
        }
        html.close("li");
    }
    html.close("ul").close("div");
    html
}

/// The overlap on a GPU, and the causes of lost overlap.
fn overlap(told: &Overlapped) -> Html {
    let mut html = Html::new();
    html.open("div", &[("class", "overlap")]).leaf("p", &[], &told.sentence).open("dl", &[]);
    for (amount, why) in &told.lost {
        html.leaf("dt", &[], amount).leaf("dd", &[], why);
    }
    html.close("dl").close("div");
    html
}

/// The explained and the unexplained time.
fn conclusion(explanation: &Explanation, lines: &[String]) -> Html {
    let mut html = Html::new();
    html.open("div", &[("class", "conclusion")]);
    if explanation.slow_call_ns > 0 {
        html.push(&bar(explanation.explained_ns as f64 / explanation.slow_call_ns as f64));
    }
    for line in lines {
        html.leaf("p", &[], line);
    }
    html.close("div");
    html
}
