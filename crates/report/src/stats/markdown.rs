//! Summary tables for an issue or a merge request.

use super::Stats;
use super::text::{copies, copies_title, device_title, first_calls, host_title, ranges, table};
use crate::escape;
use crate::header;
use crate::overlap;

/// The summary tables under headings.
pub fn markdown(stats: &Stats) -> String {
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
        text.push_str(&table(&host.rows, None).markdown());
    }
    for device in &stats.devices {
        text.push_str(&format!("\n## {}\n", escape::markdown(&device_title(device, stats))));
    }
    if !stats.ops.is_empty() {
        text.push_str(&format!("\n{}", table(&stats.ops, None).markdown()));
    }
    if !stats.copies.is_empty() {
        text.push_str(&format!("\n## {}\n\n", copies_title(&stats.copies)));
        text.push_str(&copies(&stats.copies).markdown());
    }
    for told in stats.overlap.iter().filter(|told| told.possible_ns > 0) {
        text.push_str(&format!("\n## {}", overlap::markdown(told, true)));
    }
    for (title, table) in [first_calls(&stats.first_calls), ranges(&stats.ranges)].into_iter().flatten() {
        text.push_str(&format!("\n## {title}\n\n{}", table.markdown()));
    }
    text
}
