//! Reads the listings that profilers print: nvprof's `--print-gpu-trace` and `--print-api-trace`, separate or merged,
//! as text or CSV, and the trace reports of `nsys stats` as CSV. Output of the program between them is skipped.
//!
//! nvprof's listing rounds to five digits and names no threads; except for kernels, it does not name the call of an
//! operation. Threads are inferred from calls that overlap ([`threads`]); what is not named stays unknown. Its `KB`,
//! `MB` and `GB/s` are powers of 1024 (1.3750MB are 352 × 1024 × 4 bytes), in some old releases powers of 1000; a size
//! and a rate in the same row show which. nsys counts in powers of 1000.

mod amount;
mod columns;
mod lines;
mod number;
mod ops;
mod rows;
mod threads;

use crate::Problem;
use crate::finish::finish;
use crate::importer::{Fit, Form, Importer, Input, Progress, Seen};
use crate::refusal::{self, RECOGNIZED, is_text};
use columns::Table;
use lines::{Lines, Piece};
use rows::Reader;
use trace::Trace;

pub(crate) static IMPORTER: Importer = Importer { forms: FORMS, sniff, read };

const FORMS: &[Form] = &[
    Form {
        name: "output of nvprof",
        made_by: "`nvprof --print-gpu-trace --print-api-trace … 2> trace.txt`, with or without `--csv`; a copy from a terminal or a forum works too",
    },
    Form {
        name: "output of `nsys stats`",
        made_by: "`nsys stats --format csv --report cuda_api_trace,cuda_gpu_trace,nvtx_pushpop_trace report.nsys-rep > trace.csv`",
    },
];

/// Recognizes a text that begins like a listing; any other text may have one after the program's output.
fn sniff(seen: &Seen<'_>) -> Fit {
    match seen {
        Seen::Head(head) if is_text(head) && begins(head) => Fit::Yes,
        Seen::Head(head) if is_text(head) => Fit::Maybe,
        Seen::Head(_) | Seen::Folder(_) | Seen::Database(_) => Fit::No,
    }
}

fn read(input: Input<'_>, progress: &mut dyn FnMut(Progress)) -> Result<Trace, Problem> {
    let text = input.whole();
    match import(&text.bytes, progress) {
        Ok(mut trace) => {
            trace.meta.lost.truncated |= text.truncated;
            Ok(trace)
        }
        Err(problem) if text.bytes.len() <= LONGEST_SUMMARY => {
            Err(Problem::NoEvents { problem: Box::new(problem), text: text.bytes.into_owned() })
        }
        Err(problem) => Err(problem),
    }
}

/// Length of the longest text whose sums are worth to look for, bytes: a summary has one row per name.
const LONGEST_SUMMARY: usize = 16 << 20;

/// Whether a text begins like one of these listings: cheap, and never true for JSON.
fn begins(head: &[u8]) -> bool {
    let mut lines = Lines::new(head);
    while let Some(piece) = lines.next(None) {
        match piece {
            Piece::Banner(..) | Piece::Titles(_) | Piece::Summary | Piece::TextOfNsys => return true,
            Piece::Other | Piece::Cut | Piece::Row(_) | Piece::NoRow => {}
        }
    }
    false
}

/// Reads the events of a text.
fn import(text: &[u8], progress: &mut dyn FnMut(Progress)) -> Result<Trace, Problem> {
    let total = text.len() as u64;
    let (mut lines, mut reader) = (Lines::new(text), Reader::default());
    let mut table: Option<Box<Table>> = None;
    let mut found = Found::default();
    for at in 0u64.. {
        let Some(piece) = lines.next(table.as_deref_mut()) else { break };
        if at.is_multiple_of(1 << 13) {
            progress(Progress { done: total - lines.left() as u64, total: Some(total) });
        }
        match piece {
            Piece::Banner(process, text) => {
                found.nvprof = true;
                table = table.filter(|_| !text.ends_with("result:"));
                reader.banner(process, &text);
            }
            Piece::Titles(titles) => {
                found.tables = true;
                table = Some(titles);
            }
            Piece::Other => table = None,
            Piece::Summary => (table, found.summary) = (None, true),
            Piece::TextOfNsys => (table, found.text_of_nsys) = (None, true),
            Piece::Cut if table.is_some() => reader.cut(),
            Piece::Cut => {}
            Piece::Row(cells) => {
                if let Some(table) = table.as_deref() {
                    reader.row(table, &cells);
                }
            }
            Piece::NoRow => reader.no_row(),
        }
    }
    let mut trace = reader.done();
    if trace.span().is_none() {
        return Err(found.problem(&text[..text.len().min(RECOGNIZED)]));
    }
    finish(&mut trace);
    Ok(trace)
}

/// Contents that a text has instead of events.
#[derive(Default)]
struct Found {
    nvprof: bool,
    tables: bool,
    summary: bool,
    text_of_nsys: bool,
}

impl Found {
    fn problem(&self, text: &[u8]) -> Problem {
        let of_text = refusal::text(text);
        if self.summary && !self.nvprof && !matches!(of_text, Problem::Unknown) {
            return of_text;
        }
        let (what, what_to_do) = match () {
            () if self.tables => ("a listing without a readable row", "print it again"),
            () if self.text_of_nsys => (
                "tables of nsys stats laid out as text",
                "print them with `--format csv --report cuda_api_trace,cuda_gpu_trace`",
            ),
            () if self.summary && self.nvprof => (
                "a summary table of nvprof, without events",
                "`holdup explain` reads its sums; `nvprof --print-gpu-trace --print-api-trace` prints events",
            ),
            () if self.nvprof => (
                "nvprof's summary or messages, without events",
                "print them with `nvprof --print-gpu-trace --print-api-trace`, or write a file with `nvprof -o FILE`",
            ),
            () if self.summary => (
                "a summary table, without events",
                "`holdup explain` reads its sums; `nsys stats --format csv --report cuda_api_trace,cuda_gpu_trace` prints events",
            ),
            () => return of_text,
        };
        Problem::NotATrace { what: what.to_owned(), what_to_do }
    }
}
