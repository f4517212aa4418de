//! The accounts of GPUs and threads as bars of a terminal.

use crate::bars::{Bar, BarPart, bars};
use crate::layout::{elide, width};
use crate::page::Page;
use crate::style::Role;
use crate::units;
use explain::Accounts;

/// Bars of GPUs and of threads that are drawn; the others are only counted.
const GPUS: usize = 3;
pub(crate) const THREADS: usize = 3;

/// Fewest and most columns of names. Most: a number of threads and the longest name that Linux gives a thread.
const NAME: usize = 18;
const MOST_NAME: usize = 28;

/// Columns of a name and a bar together: where names are longer, bars are shorter, so that as many parts fit.
const NAME_AND_BAR: usize = 42;

/// Columns between name, bar and parts.
const SPACE: usize = 2;

/// Smallest part of a GPU's time for which it was held back that is worth a word, 0 to 1.
const LEAST_HELD: f64 = 0.01;

/// Characters that fill the parts of a bar, in turn.
const FILLS: [char; 4] = ['█', '▒', '░', '·'];

/// Shares of a part of time from nothing to all of it.
const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A bar for each of the first GPUs, with its busy time over time, and for the first threads; an empty line after them.
pub(crate) fn text(accounts: &Accounts, page: Page) -> String {
    with_threads(accounts, page, THREADS, true)
}

/// The bars of [`text`], for at most so many threads; with the busy time over time if that is wanted.
pub(crate) fn with_threads(
    accounts: &Accounts,
    page: Page,
    threads_shown: usize,
    is_over_time: bool,
) -> String {
    let (gpus, threads): (Vec<Bar>, Vec<Bar>) = bars(accounts).into_iter().partition(|bar| bar.is_gpu);
    let mut order: Vec<_> = accounts.gpus.iter().collect();
    order.sort_by_key(|gpu| gpu.device);
    let mut working: Vec<&Bar> = threads.iter().filter(|bar| bar.calls > 0).collect();
    working.sort_by_key(|bar| std::cmp::Reverse(bar.calls));
    let drawn = || gpus.iter().take(GPUS).chain(working.iter().copied().take(threads_shown));
    let widest = drawn().map(|bar| width(&bar.of)).max().unwrap_or_default();
    let columns = widest.clamp(NAME, MOST_NAME);
    let mut text = String::new();
    for (bar, gpu) in gpus.iter().zip(order).take(GPUS) {
        line(&mut text, bar, columns, page);
        if is_over_time {
            let busy: String = gpu.busy_over_time.iter().map(|share| level(*share)).collect();
            text.push_str(format!("{:<columns$}  {busy}", "  busy over time").trim_end());
            text.push('\n');
        }
    }
    working.iter().take(threads_shown).for_each(|bar| line(&mut text, bar, columns, page));
    let others = [
        (gpus.len().saturating_sub(GPUS), "more GPU", "more GPUs"),
        (working.len().saturating_sub(THREADS), "more group of threads", "more groups of threads"),
    ];
    let others = others.into_iter().filter(|(count, ..)| *count > 0);
    let others: Vec<String> =
        others.map(|(count, one, many)| units::counted(count as u64, one, many)).collect();
    if !others.is_empty() {
        text.push_str(&format!("and {} (holdup stats lists them)\n", others.join(", ")));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// `GPU 0  ██████▒▒▒░  997 ms: busy 61 %, host-code 36 %, own-work 1 %`
fn line(text: &mut String, bar: &Bar, columns: usize, page: Page) {
    let mut parts = format!("{}:", bar.span);
    for (at, part) in bar.parts.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        let held = if at == 0 { held(bar) } else { String::new() };
        let next = format!("{comma} {} {}{held}", part.name, part.percent);
        if NAME_AND_BAR + 2 * SPACE + width(&parts) + width(&next) > page.columns {
            break;
        }
        parts.push_str(&next);
    }
    let name = elide(&bar.of, columns);
    let pad = " ".repeat(columns + SPACE - width(&name));
    let drawn = page.style.paint(Role::Strong, &drawn(&bar.parts, NAME_AND_BAR - columns));
    text.push_str(&format!("{name}{pad}{drawn}{:SPACE$}{parts}\n", ""));
}

/// ` (59 % held back)`, of a GPU's busy time; empty if it was not held back.
fn held(bar: &Bar) -> String {
    let share: f64 = bar.held.iter().map(|part| part.share).sum();
    if share < LEAST_HELD { String::new() } else { format!(" ({} held back)", units::percent(share)) }
}

/// The bar itself: each part has the columns whose middle is in it.
fn drawn(parts: &[BarPart], columns: usize) -> String {
    let ends: Vec<f64> = parts
        .iter()
        .scan(0.0, |end, part| {
            *end += part.share;
            Some(*end)
        })
        .collect();
    let fill = |column: usize| {
        let middle = (column as f64 + 0.5) / columns as f64;
        ends.iter().position(|end| middle < *end).map_or(' ', |part| FILLS[part.min(FILLS.len() - 1)])
    };
    (0..columns).map(fill).collect()
}

/// The character for a share from 0 to 1: only nothing is empty, and only all is full.
fn level(share: f64) -> char {
    let highest = LEVELS.len() - 1;
    let level = (share * (highest - 1) as f64).floor() as usize + 1;
    match share {
        share if share <= 0.0 => LEVELS[0],
        share if share >= 1.0 => LEVELS[highest],
        _ => LEVELS[level.min(highest - 1)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use explain::{AccountPart, Cause, ThreadAccount};

    #[test]
    fn a_share_has_a_level() {
        let levels: String = [0.0, 0.001, 0.5, 0.999, 1.0].into_iter().map(level).collect();
        assert_eq!(levels, " ▁▄▇█");
    }

    #[test]
    fn parts_of_a_bar_fill_it() {
        let part = |share| BarPart {
            cause: None,
            name: "",
            share,
            ns: 0,
            percent: String::new(),
            time: String::new(),
            place: String::new(),
            is_held: false,
            finding: None,
        };
        assert_eq!(drawn(&[part(0.5), part(0.25), part(0.25)], 24), "████████████▒▒▒▒▒▒░░░░░░");
        assert_eq!(drawn(&[part(0.5), part(0.25), part(0.25)], 16), "████████▒▒▒▒░░░░");
        assert_eq!(drawn(&[part(0.0), part(1.0)], 24), "▒".repeat(24));
        assert_eq!(drawn(&[], 24), " ".repeat(24));
    }

    #[test]
    fn names_have_the_columns_that_they_need_at_the_cost_of_bars() {
        let thread = |tid: i64, name: &str| ThreadAccount {
            pid: 1,
            tid,
            name: name.to_owned(),
            span_ns: 10_000_000,
            calls: 1,
            launches: 0,
            parts: vec![AccountPart {
                cause: Cause::HostCode,
                ns: 10_000_000,
                places: Vec::new(),
                calls: Vec::new(),
                finding: None,
                spent: Vec::new(),
            }],
        };
        let lines = |names: &[&str]| {
            let threads = (1..).zip(names).map(|(tid, name)| thread(tid, name)).collect();
            text(&Accounts { threads, ..Accounts::default() }, Page { columns: 80, ..Page::default() })
        };
        let full = "█".repeat(23);
        assert_eq!(
            lines(&["python3.8", "python3.8"]),
            format!("2 threads python3.8  {full}  20.0 ms in all: host-code 100 %\n\n")
        );
        let (short, shorter) = ("█".repeat(24), "█".repeat(14));
        assert_eq!(lines(&["a"]), format!("a (1)               {short}  10.0 ms: host-code 100 %\n\n"));
        let long = lines(&["a_name_that_a_program_gave_its_thread", "a"]);
        assert_eq!(
            long,
            format!(
                "a (2)                         {shorter}  10.0 ms: host-code 100 %\n\
                 a_name_that_a_…ts_thread (1)  {shorter}  10.0 ms: host-code 100 %\n\n"
            )
        );
    }
}
