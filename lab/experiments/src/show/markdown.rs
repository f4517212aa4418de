//! Results as Markdown.

use super::text;
use crate::results::{Comparison, Results};
use report::escape_markdown as escaped;

/// The results with their verdict.
pub fn markdown(results: &Results, comparison: Option<&Comparison>) -> String {
    let experiment = results.experiment;
    let mut text = format!("# {}: {}\n\n", experiment.name, experiment.about);
    let fixed = text::fixed(results).map(|fixed| format!("; {fixed}")).unwrap_or_default();
    text.push_str(&format!(
        "{}{}\n\n> {}\n\n",
        escaped(&results.place()),
        escaped(&fixed),
        experiment.question
    ));
    if let Some(partial) = &results.partial {
        text.push_str(&format!("**PARTIAL: {}**\n\n", escaped(&partial.to_string())));
    }
    for sentence in results.verdict() {
        text.push_str(&format!("- {}\n", escaped(&sentence)));
    }
    if !results.rows.is_empty() {
        text.push_str(&format!("\n{}", text::rows(results)));
    }
    let remarks = results.left_out.iter().map(|line| format!("Not run: {line}."));
    for remark in remarks.chain(results.notes.iter().map(|note| format!("Note: {note}."))) {
        text.push_str(&format!("\n{}\n", escaped(&remark)));
    }
    if let Some(comparison) = comparison {
        text.push_str(&format!("\n{}\n", escaped(&comparison.verdict())));
        if let Some(table) = text::changed(results, comparison) {
            text.push_str(&format!("\n{}", table.markdown()));
        }
    }
    text
}
