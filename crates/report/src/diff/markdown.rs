//! A comparison for an issue or a merge request.

use super::lines::{Section, folded, sections, spread};
use super::{Comparison, gate, remarks};
use crate::escape;
use crate::table::{Align, Table};
use crate::units;
use explain::Summary;

/// A comparison as headings and tables; with `all` also the changes that are noise.
pub fn markdown(comparison: &Comparison, all: bool) -> String {
    let mut text = gate::markdown(&comparison.diff);
    text.push_str("# What changed\n\n");
    for (name, traces) in [("before", &comparison.before), ("after", &comparison.after)] {
        traces.iter().for_each(|trace| text.push_str(&format!("- {name}: {}\n", facts(trace))));
    }
    text.push('\n');
    for remark in remarks(comparison) {
        text.push_str(&format!("> {}\n\n", escape::markdown(&remark)));
    }
    let counts = (comparison.before.len(), comparison.after.len());
    for (at, section) in sections(&comparison.diff, all).iter().enumerate() {
        if at > 0 {
            text.push_str(&format!("## {}\n\n", escape::markdown(&section.title)));
        }
        text.push_str(&table(section));
        if at == 0 {
            for line in &section.lines {
                if let Some(spread) = spread(&line.change, counts) {
                    text.push_str(&format!("\n{}: {spread}\n", escape::markdown(&line.of)));
                }
            }
        }
        text.push('\n');
    }
    if !comparison.diff.has_changes() {
        text.push_str("no change beyond noise\n");
    }
    text
}

fn facts(trace: &Summary) -> String {
    let time = units::duration(trace.selected_ns.unwrap_or(trace.duration_ns));
    let (calls, ops) = (units::count(trace.calls), units::count(trace.ops));
    escape::markdown(&format!("{} · {time} · {calls} calls · {ops} GPU ops", trace.path)).to_string()
}

fn table(section: &Section) -> String {
    let mut text = String::new();
    if !section.lines.is_empty() {
        let mut table = Table::new(&[
            ("Cause", Align::Left),
            ("Where", Align::Left),
            ("Before", Align::Right),
            ("After", Align::Right),
            ("Change", Align::Right),
            ("Share", Align::Right),
        ]);
        for line in &section.lines {
            let mut row = vec![line.cause.clone(), line.of.clone()];
            row.extend(line.figures());
            table.push(row);
        }
        table.drop_empty_columns();
        text.push_str(&table.markdown());
    }
    if let Some(folded) = folded(section.folded) {
        text.push_str(&format!("\n{folded}\n"));
    }
    text
}
