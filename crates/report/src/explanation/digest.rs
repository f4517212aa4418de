//! A short explanation: only the first findings.

use super::phrases;
use super::size::by_size;
use super::text::{briefly, first_lines};
use crate::header;
use crate::layout::wrap;
use crate::page::Page;
use crate::{escape::visible, units};
use explain::Explanation;

/// The header, the verdict, the first `most` findings, and the command that shows the rest.
pub fn digest(explanation: &Explanation, page: Page, most: usize) -> String {
    let (large, small) = by_size(explanation, false);
    let mut text = first_lines(explanation, page, header::brief);
    text.push_str(&briefly(explanation, &large[..most.min(large.len())], page));
    let rest = large.len().saturating_sub(most) + small.len();
    let more = format!("holdup explain {}", visible(&explanation.trace.path));
    let more = match rest {
        0 => more,
        _ => format!("{} more: {more}", units::counted(rest as u64, "finding", "findings")),
    };
    let remarks = header::remarks(&explanation.trace);
    let lines = phrases::conclusion(explanation).into_iter().chain(remarks).chain([more]);
    for line in lines.flat_map(|line| wrap(&line, page.columns)) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}
