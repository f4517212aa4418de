//! A short explanation: only the first findings.

use super::text::paragraphs;
use super::{by_size, phrases};
use crate::layout::wrap;
use crate::page::Page;
use crate::{escape::visible, failed, header, units};
use explain::Explanation;

/// The header, the first `most` findings in full, and the command that shows the rest.
pub fn digest(explanation: &Explanation, page: Page, most: usize) -> String {
    let (large, small) = by_size(explanation, false);
    let mut text = header::text(&explanation.trace, page.columns);
    text.push_str(&failed::header(&explanation.failed_calls, page.columns));
    text.push('\n');
    text.push_str(&paragraphs(explanation, &large[..most.min(large.len())], page));
    let rest = large.len().saturating_sub(most) + small.len();
    let more = format!("holdup explain {}", visible(&explanation.trace.path));
    let more = match rest {
        0 => more,
        _ => format!("{} more: {more}", units::counted(rest as u64, "finding", "findings")),
    };
    let lines = phrases::conclusion(explanation).into_iter().chain([more]);
    for line in lines.flat_map(|line| wrap(&line, page.columns)) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}
