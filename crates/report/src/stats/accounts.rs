//! The account as a table: where the time of each GPU and of each group of threads went.

use super::text::{Further, Top, Weight, more};
use crate::account::{behind, place};
use crate::escape::visible;
use crate::layout::elide;
use crate::table::{Align, Table};
use crate::units;
use explain::{AccountPart, Accounts, Cause, HeldBack, ThreadAccount, WaitPart, without_numbers};
use std::collections::BTreeMap;
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

impl Weight for Row {
    fn weight(&self) -> Ns {
        self.ns
    }
}

pub(super) fn table(accounts: &Accounts, top: Top) -> Option<Further> {
    let rows = rows(accounts);
    let (rows, others) = top.split(&rows);
    let mut table = Table::new(&[
        ("Of", Align::Left),
        ("Share", Align::Right),
        ("Time", Align::Right),
        ("Cause", Align::Left),
        ("Where", Align::Left),
    ]);
    for row in rows {
        table.push(vec![
            row.of.clone(),
            units::percent(row.share),
            units::duration(row.ns),
            row.cause.to_owned(),
            visible(&row.place).into_owned(),
        ]);
    }
    (!rows.is_empty()).then(|| ("Where the time of GPUs and threads went", table, more(others)))
}

/// Waits of the operations of each stream once they were ready; none if no start was later than starts are.
pub(super) fn waits(accounts: &Accounts, top: Top) -> Option<Further> {
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
    if !accounts.streams.iter().flat_map(|stream| &stream.waiting).any(is_late) {
        return None;
    }
    let (rows, others) = top.split(&rows);
    let columns =
        [("Of", Align::Left), ("Share", Align::Right), ("Time", Align::Right), ("Cause", Align::Left)];
    let mut table = Table::new(&columns);
    for row in rows {
        let (share, time) = (units::percent(row.share), units::duration(row.ns));
        table.push(vec![row.of.clone(), share, time, row.cause.to_owned()]);
    }
    Some(("What operations waited for once they were ready", table, more(others)))
}

fn rows(accounts: &Accounts) -> Vec<Row> {
    let mut rows = Vec::new();
    for gpu in accounts.gpus.iter().filter(|_| accounts.refused.is_none()) {
        let of = format!("GPU {}", gpu.device);
        rows.extend(row(&of, gpu.span_ns, gpu.busy_ns, "busy", String::new()));
        rows.extend(
            gpu.idle.iter().filter_map(|part| row(&of, gpu.span_ns, part.ns, part.cause.id(), place(part))),
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
        rows.extend(parts.iter().filter_map(|part| row(&of, span, part.ns, part.cause.id(), place(part))));
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

/// Fewest threads whose names differ in numbers alone that are one group: those of a pool.
const POOL: usize = 4;

/// Fewest threads without a name that are not listed one by one, as those of a server that has one for each request. A choice.
const UNNAMED: usize = 64;

/// The threads of each process and name, first those that call CUDA; of few threads without a name each by itself. The name of a
/// pool has `#` for each number.
pub(crate) fn groups(threads: &[ThreadAccount]) -> Vec<(String, Vec<&ThreadAccount>)> {
    let mut pools = BTreeMap::<_, usize>::new();
    let key = |thread: &ThreadAccount| (thread.calls == 0, thread.pid, without_numbers(&thread.name));
    threads.iter().for_each(|thread| *pools.entry(key(thread)).or_default() += 1);
    let mut groups = BTreeMap::<_, Vec<_>>::new();
    for thread in threads {
        let (has_no_calls, pid, pool) = key(thread);
        let is_named = pool.contains(char::is_alphabetic);
        let alike = pools.get(&key(thread)).copied().unwrap_or_default();
        let name = if is_named && alike >= POOL { pool } else { thread.name.clone() };
        let alone = (thread.name.is_empty() && alike < UNNAMED).then_some(thread.tid);
        groups.entry((has_no_calls, pid, name, alone)).or_default().push(thread);
    }
    let named = groups.into_iter().map(|((_, _, name, _), threads)| {
        // Threads of one name keep it.
        let is_one = threads.windows(2).all(|pair| pair[0].name == pair[1].name);
        (if is_one { threads[0].name.clone() } else { name }, threads)
    });
    named.collect()
}

/// The parts of several accounts by cause, most time first; places, calls and finding are those of the largest.
pub(crate) fn united(threads: &[&ThreadAccount]) -> Vec<AccountPart> {
    let mut parts = BTreeMap::<_, (Ns, AccountPart)>::new();
    for part in threads.iter().flat_map(|thread| &thread.parts) {
        let (largest, sum) =
            parts.entry(part.cause).or_insert_with(|| (0, AccountPart { ns: 0, ..part.clone() }));
        if part.ns > *largest {
            (*largest, *sum) = (part.ns, AccountPart { ns: sum.ns, ..part.clone() });
        }
        sum.ns += part.ns;
    }
    let mut parts: Vec<AccountPart> = parts.into_values().map(|(_, part)| part).collect();
    parts.sort_by_key(|part| (std::cmp::Reverse(part.ns), part.cause));
    parts
}
