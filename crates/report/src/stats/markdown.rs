//! Summary tables for an issue or a merge request.

use super::Stats;
use super::text::{copies, copies_title, device_title, further, host_title, overlapping, rest, table};
use super::top::Top;
use crate::escape;
use crate::header;
use crate::overlap;

/// The summary tables under headings, each with `top` rows.
pub fn markdown(stats: &Stats, top: Top) -> String {
    let table = |rows| {
        let (shown, others) = top.split(rows);
        let rest = if others.is_empty() { String::new() } else { format!("\n{}", rest(others)) };
        format!("{}{rest}", table(shown, None).markdown())
    };
    let mut text = format!("# {}\n\n", escape::markdown(&stats.trace.path));
    text.push_str(&escape::markdown(&header::facts(&stats.trace).join(" · ")));
    text.push('\n');
    let versions = header::versions(&stats.trace);
    if !versions.is_empty() {
        text.push_str(&format!("\n{}\n", escape::markdown(&versions.join(" · "))));
    }
    for remark in header::remarks(&stats.trace) {
        text.push_str(&format!("\n> {}\n", escape::markdown(&remark)));
    }
    for host in &stats.host {
        text.push_str(&format!("\n## {}\n\n", escape::markdown(&host_title(host, stats))));
        text.push_str(&table(&host.rows));
    }
    for device in &stats.devices {
        text.push_str(&format!("\n## {}\n", escape::markdown(&device_title(device, stats))));
    }
    if !stats.ops.is_empty() {
        if let Some(line) = overlapping(stats) {
            text.push_str(&format!("\n{}\n", escape::markdown(&line)));
        }
        text.push_str(&format!("\n{}", table(&stats.ops)));
    }
    if !stats.copies.is_empty() {
        text.push_str(&format!("\n## {}\n\n", copies_title(&stats.copies)));
        text.push_str(&copies(&stats.copies).markdown());
    }
    for told in stats.overlap.iter().filter(|told| told.possible_ns > 0) {
        text.push_str(&format!("\n## {}", overlap::markdown(told, true)));
    }
    for (title, table, others) in further(stats, top) {
        let gap = if others.is_empty() { "" } else { "\n" };
        text.push_str(&format!("\n## {title}\n\n{}{gap}{others}", table.markdown()));
    }
    text
}
