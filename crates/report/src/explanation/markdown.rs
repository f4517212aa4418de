//! Findings for an issue or a merge request.

use super::applied::Applied;
use super::size::by_size;
use super::{gain, phrases};
use crate::escape;
use crate::failed;
use crate::header;
use crate::overlap;
use crate::place::below;
use crate::steps;
use crate::table::{Align, Table};
use crate::units;
use explain::{About, Explanation, Finding, Fix, Nature, Party, Place};

/// An explanation as headings, a table and lists; with `all` the small findings are in full, too.
pub fn markdown(explanation: &Explanation, all: bool) -> String {
    let summary = &explanation.trace;
    let (large, small) = by_size(explanation, all);
    let mut text = format!("# What holds up {}\n\n", escape::markdown(&summary.path));
    text.push_str(&escape::markdown(&header::facts(summary).join(" · ")));
    text.push_str("\n\n");
    let versions = header::versions(summary);
    if !versions.is_empty() {
        text.push_str(&format!("\n{}\n", escape::markdown(&versions.join(" · "))));
    }
    text.push_str(&format!("**{}**\n\n", escape::markdown(&crate::verdict(explanation))));
    for sentence in steps::sentences(explanation.steps.as_ref(), explanation.accounts.refused) {
        text.push_str(&format!("{}\n\n", escape::markdown(&sentence)));
    }
    if !large.is_empty() {
        text.push_str(&overview(&large));
        text.push('\n');
    }
    for finding in &large {
        text.push_str(&section(explanation, finding, all));
        text.push('\n');
    }
    if let Some(folded) = phrases::folded(&small) {
        text.push_str(&format!("{folded}\n\n"));
    }
    for told in explanation.overlap.iter().filter(|overlap| overlap::is_worth_telling(overlap, all)) {
        text.push_str(&format!("## {}\n", overlap::markdown(told, all)));
        text.push('\n');
    }
    let conclusion = phrases::conclusion(explanation).join("; ");
    text.push_str(&format!("**{}**\n", escape::markdown(&conclusion)));
    if let Some(absent) = gain::absent(explanation, &large) {
        text.push_str(&format!("\n{}\n", escape::markdown(&absent)));
    }
    for remark in failed::line(&explanation.failed_calls).into_iter().chain(header::remarks(summary)) {
        text.push_str(&format!("\n> {}\n", escape::markdown(&remark)));
    }
    text
}

fn overview(findings: &[&Finding]) -> String {
    let mut table = Table::new(&[
        ("Finding", Align::Left),
        ("Lost", Align::Right),
        ("Of its time", Align::Right),
        ("Calls", Align::Right),
        ("Longest", Align::Right),
        ("Call", Align::Left),
        ("Cause", Align::Left),
        ("Evidence", Align::Left),
        ("Confidence", Align::Left),
    ]);
    for finding in findings {
        table.push(vec![
            finding.id.clone(),
            units::duration(finding.lost_ns),
            units::percent(finding.share),
            units::count(finding.count),
            units::duration(finding.max_ns),
            phrases::activity(&finding.waiter),
            finding.cause.id().to_owned(),
            finding.evidence.id().to_owned(),
            match About::of(finding.cause).nature {
                Nature::Unknown => String::new(),
                Nature::Lost | Nature::Asked => finding.confidence.id().to_owned(),
            },
        ]);
    }
    table.markdown()
}

fn section(explanation: &Explanation, finding: &Finding, all: bool) -> String {
    let many_processes = explanation.trace.processes > 1;
    let sentence = phrases::sentence(finding, many_processes);
    let mut text = format!("## {}: {}\n\n", finding.id, escape::markdown(&sentence));
    let mut item = |label: &str, words: &str| {
        if !words.is_empty() {
            text.push_str(&format!("- **{label}**: {}\n", escape::markdown(words)));
        }
    };
    let party = |party: &Party| {
        let at = list(&party.places);
        let at = if at.is_empty() { at } else { format!(", at {at}") };
        phrases::party(party, many_processes, usize::MAX) + &at
    };
    item("waits for", &finding.holder.as_ref().map(party).unwrap_or_default());
    finding.or.iter().for_each(|other| item("or", &party(other)));
    item("evidence", &phrases::because(finding));
    item("why", finding.why);
    item("longest", &phrases::examples(finding));
    item("where", &format!("{}{}", list(&finding.places), below(finding)));
    text.push_str(&fixes(explanation, finding, all));
    text
}

/// The fixes; with `all` with the lines that apply them.
fn fixes(explanation: &Explanation, finding: &Finding, all: bool) -> String {
    let item = |fix: &Fix| {
        let safety = match fix.safety {
            "" => String::new(),
            safety => format!("; *{}*", escape::markdown(safety)),
        };
        let gain = explanation.gains.of(fix);
        let gain = gain.map_or_else(String::new, |gain| format!("; **{}**", gain::gain(gain)));
        let applied = Applied::of(explanation, finding, fix).filter(|_| all);
        let lines = applied.map_or_else(String::new, |applied| lines(&applied));
        format!("  - `{}`: {}{gain}{safety}\n{lines}", fix.id, escape::markdown(fix.text))
    };
    match finding.fixes.as_slice() {
        [] => String::new(),
        fixes => format!("- **fix**\n{}", fixes.iter().map(item).collect::<String>()),
    }
}

/// The lines that apply a fix, as a block within an item.
fn lines(applied: &Applied<'_>) -> String {
    let heading = applied.heading().map_or_else(String::new, |at| format!("    {}\n", escape::markdown(&at)));
    let code: String = applied.form.code.lines().map(|line| format!("    {line}\n")).collect();
    format!("\n{heading}\n    ```{}\n{code}    ```\n\n", applied.form.language())
}

fn list(places: &[Place]) -> String {
    places.iter().map(phrases::place).collect::<Vec<_>>().join("; ")
}
