//! The account as a table: where the time of each GPU and of each group of threads went.

use super::top::{Titled, Top};
use crate::bars::behind;
use crate::document::Table;
use crate::escape::visible;
use crate::groups::{groups, united};
use crate::layout::elide;
use crate::place::of_part;
use crate::units;
use explain::{Accounts, Cause, HeldBack, WaitPart};
use trace::Ns;

/// Smallest part of an account that gets a row, as a divisor.
const SMALL: Ns = 1000;

/// Widest name of threads, columns: with it, the table fits 80 of them with most causes.
const OF: usize = 20;

/// A part of an account.
struct Row {
    /// `GPU 0`, `4 threads worker`
    of: String,
    ns: Ns,
    share: f64,
    cause: &'static str,
    place: String,
}

/// The parts of the accounts of GPUs and of groups of threads.
pub(super) fn parts(accounts: &Accounts, top: Top) -> Option<Titled> {
    Titled::of("Where the time of GPUs and threads went", top.split(&rows(accounts), |row| row.ns), table)
}

/// Waits of the operations of each stream once they were ready; none if no start was later than starts are.
pub(super) fn waits(accounts: &Accounts, top: Top) -> Option<Titled> {
    let several = accounts.streams.iter().any(|stream| stream.pid != accounts.streams[0].pid);
    let mut rows = Vec::new();
    for stream in &accounts.streams {
        let process = if several { format!(" of {}", stream.pid) } else { String::new() };
        let of = format!("GPU {} stream {}{process}", stream.device, stream.stream);
        let parts = stream.waiting.iter();
        rows.extend(
            parts.filter_map(|part| row(&of, stream.waiting_ns, part.ns, part.cause.id(), String::new())),
        );
    }
    let is_late = |part: &WaitPart| part.cause != Cause::LaunchLatency;
    let is_any_late = accounts.streams.iter().flat_map(|stream| &stream.waiting).any(is_late);
    let rows = top.split(&rows, |row| row.ns);
    Titled::of("What operations waited for once they were ready", rows, table).filter(|_| is_any_late)
}

fn table(rows: &[Row]) -> Table {
    Table::of(rows)
        .left("Of", |row| row.of.clone())
        .right("Share", |row| units::percent(row.share))
        .right("Time", |row| units::duration(row.ns))
        .left("Cause", |row| row.cause)
        .left("Where", |row| row.place.clone())
        .table()
}

fn rows(accounts: &Accounts) -> Vec<Row> {
    let mut rows = Vec::new();
    for gpu in accounts.gpus.iter().filter(|_| accounts.refused.is_none()) {
        let of = format!("GPU {}", gpu.device);
        rows.extend(row(&of, gpu.span_ns, gpu.busy_ns, "busy", String::new()));
        rows.extend(
            gpu.idle.iter().filter_map(|part| row(&of, gpu.span_ns, part.ns, part.cause.id(), of_part(part))),
        );
        let of = format!("{of}, held back");
        let held = |held: &HeldBack| row(&of, gpu.span_ns, held.part.ns, held.part.cause.id(), behind(held));
        rows.extend(gpu.held_back.iter().filter_map(held));
    }
    for (name, threads) in groups(&accounts.threads) {
        let of = match threads.as_slice() {
            [only] if name.is_empty() || name == only.tid.to_string() => format!("thread {}", only.tid),
            [only] => fitting("", &name, &format!(" ({})", only.tid)),
            several => fitting(&format!("{} threads ", several.len()), &name, ""),
        };
        let span: Ns = threads.iter().map(|thread| thread.span_ns).sum();
        let parts = united(&threads);
        rows.extend(parts.iter().filter_map(|part| row(&of, span, part.ns, part.cause.id(), of_part(part))));
    }
    rows
}

/// A name between other words, cut in its middle where there is no room for all of it.
fn fitting(before: &str, name: &str, after: &str) -> String {
    let room = OF.saturating_sub(before.len() + after.len());
    format!("{before}{}{after}", elide(&visible(&elide(name, room)), room))
}

fn row(of: &str, span: Ns, ns: Ns, cause: &'static str, place: String) -> Option<Row> {
    let share = ns as f64 / span.max(1) as f64;
    (ns > 0 && ns >= span / SMALL).then(|| Row { of: of.to_owned(), ns, share, cause, place })
}
