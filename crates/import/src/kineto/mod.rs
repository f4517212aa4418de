//! Reads Kineto's JSON, which PyTorch's profiler has written since 2020.
//!
//! A file may have gigabytes, so it is cut into blocks that several threads scan at once. The place of a cut is a guess
//! (`},` then `{` then `"` may also be inside a string). Blocks are merged in order; if one ends inside an event, the
//! next is scanned again from there.

mod batch;
mod event;
mod header;
mod merge;
mod python;
mod stack;
mod supply;
mod template;
#[cfg(test)]
mod tests;

use supply::Text;

use crate::Problem;
use crate::importer::{Fit, Form, Importer, Input, Progress, Seen};
use crate::json::{Scanner, Stop};
use crate::refusal::{self, RECOGNIZED};
use batch::{Batch, End};
use header::{Header, Top};
use merge::Merge;
use std::collections::BTreeMap;
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use supply::{BLOCK, Block, STREAM_BLOCK, Supply};
use trace::Trace;

/// The longest event that is read, bytes: an event without an end must not fill the memory.
const LONGEST_EVENT: usize = 64 << 20;

/// The longest text before the events of a stream, bytes.
const LONGEST_HEADER: usize = 64 << 20;

pub(crate) static IMPORTER: Importer = Importer { forms: FORMS, sniff, read };

const FORMS: &[Form] = &[Form {
    name: "JSON of PyTorch's profiler and other users of Kineto, since 2020",
    made_by: "`torch.profiler.profile(…).export_chrome_trace(\"trace.json.gz\")`; `with_stack=True` adds source places",
}];

/// Recognizes JSON: no other format is JSON.
fn sniff(seen: &Seen<'_>) -> Fit {
    let Seen::Head(head) = seen else { return Fit::No };
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
    matches!(first, Some(b'{' | b'[')).into()
}

fn read(input: Input<'_>, progress: &mut dyn FnMut(Progress)) -> Result<Trace, Problem> {
    match input {
        Input::Bytes(bytes) => import(Text::Whole(bytes), progress),
        Input::Stream(stream) => import(Text::Stream(stream), progress),
        Input::Folder(_) | Input::Database(_) => Err(Problem::Unknown),
    }
}

/// Reads a Kineto trace. A truncated text is read up to its end.
pub(crate) fn import(text: Text<'_>, progress: &mut dyn FnMut(Progress)) -> Result<Trace, Problem> {
    let block_size = match text {
        Text::Whole(_) => BLOCK,
        Text::Stream(_) => STREAM_BLOCK,
    };
    import_in_blocks(text, block_size, progress)
}

fn import_in_blocks(
    text: Text<'_>,
    block_size: usize,
    progress: &mut dyn FnMut(Progress),
) -> Result<Trace, Problem> {
    let total = match &text {
        Text::Whole(bytes) => Some(bytes.len() as u64),
        Text::Stream(_) => None,
    };
    let mut supply = Supply::new(text, block_size);
    let mut header = Header::default();
    let view = supply.view(RECOGNIZED);
    let head = view[..view.len().min(RECOGNIZED)].to_vec();
    let before = read_header(&mut supply, &mut header)?;
    if header.is_export {
        return Err(own_export());
    }
    let mut events = Events { total, done: before as u64, ..Events::default() };
    let footer = events.read(&mut supply, progress);
    let truncated = match footer {
        Some(footer) => read_footer(&footer, &mut supply, &mut header),
        None => true,
    };
    let damage = supply.damage();
    if events.merge.is_empty() && !header.is_kineto {
        return Err(not_a_trace(damage, &head));
    }
    let mut trace = events.merge.finish(header);
    trace.meta.lost.truncated = truncated;
    if let Some(damage) = damage {
        trace.meta.notes.push(format!("the input is damaged: {damage}"));
    }
    Ok(trace)
}

fn not_a_trace(damage: Option<std::io::Error>, head: &[u8]) -> Problem {
    match damage {
        Some(error) => Problem::Gzip { at: 0, reason: error.to_string() },
        None => refusal::json(head, contains_event(head)),
    }
}

/// Whether a text that begins with `head` has events, of whichever tool: each event states its phase.
fn contains_event(head: &[u8]) -> bool {
    head.windows(4).any(|window| window == b"\"ph\"")
}

/// The problem of holdup's own export: it is for viewers and lacks locks, memory kinds and losses.
fn own_export() -> Problem {
    Problem::NotATrace {
        what: "written by `holdup export --format chrome`, which is for viewers".to_owned(),
        what_to_do: "name the trace it was made from",
    }
}

/// Reads up to the first event; returns the length of the text before it, bytes.
fn read_header(supply: &mut Supply<'_>, header: &mut Header) -> Result<usize, Problem> {
    let mut size = 1 << 16;
    loop {
        let view = supply.view(size);
        let whole = view.len() < size || size > LONGEST_HEADER;
        let start = if view.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let mut scanner = Scanner::new(view);
        scanner.jump(start);
        *header = Header::default();
        match header.scan(&mut scanner) {
            Ok(Top::Events) => {
                let before = scanner.at();
                supply.advance(before);
                return Ok(before);
            }
            Ok(Top::End) => return Err(refusal::json(&view[..view.len().min(RECOGNIZED)], false)),
            Err(Stop::End) if !whole => size *= 2,
            Err(Stop::End) => {
                let reason = "the text ends before any trace event";
                return Err(Problem::Json { at: view.len() as u64, reason });
            }
            Err(Stop::Bad) => {
                let reason = "unexpected character";
                return Err(Problem::Json { at: scanner.at() as u64, reason });
            }
        }
    }
}

/// Reads the text after the events, from `footer` on; returns whether it is truncated.
fn read_footer(footer: &[u8], supply: &mut Supply<'_>, header: &mut Header) -> bool {
    let mut rest = footer.to_vec();
    while let Some(block) = supply.block() {
        if rest.len() < LONGEST_HEADER {
            rest.extend_from_slice(&block);
        }
    }
    let mut scanner = Scanner::new(&rest);
    match scanner.peek() {
        // A bare event array, or an object truncated right after its events.
        Err(_) => header.is_kineto,
        Ok(_) => header.scan_rest(&mut scanner) == Err(Stop::End),
    }
}

/// Reads blocks of events and merges them in order.
#[derive(Default)]
struct Events {
    merge: Merge,
    /// The beginning of an event that the next block continues.
    tail: Vec<u8>,
    done: u64,
    total: Option<u64>,
}

/// A scanned block.
struct ScannedBlock<'a> {
    block: Block<'a>,
    batch: Batch,
    end: End,
}

fn scan(block: Block<'_>) -> ScannedBlock<'_> {
    let mut batch = Batch::default();
    let end = batch.scan(&block);
    ScannedBlock { block, batch, end }
}

impl Events {
    /// Reads all events; returns the text after their `]`, or `None` if the text ends before it.
    fn read(&mut self, supply: &mut Supply<'_>, progress: &mut dyn FnMut(Progress)) -> Option<Vec<u8>> {
        let workers = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(16));
        if workers == 1 || supply.view(supply.block_size + 1).len() <= supply.block_size {
            return self.read_alone(supply, progress);
        }
        let (jobs, queue) = sync_channel::<(usize, Block<'_>)>(workers * 2);
        let queue = Mutex::new(queue);
        let (results, scanned) = channel();
        std::thread::scope(|scope| {
            for _ in 0..workers {
                let (queue, results) = (&queue, results.clone());
                scope.spawn(move || {
                    loop {
                        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                        let Ok((number, block)) = job else { return };
                        if results.send((number, scan(block))).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(results);
            let (mut asked, mut merged) = (0, 0);
            let mut waiting = BTreeMap::new();
            loop {
                while asked < merged + workers * 2 {
                    let Some(block) = supply.block() else { break };
                    jobs.send((asked, block)).ok()?;
                    asked += 1;
                }
                if merged == asked {
                    return None;
                }
                let next = loop {
                    if let Some(next) = waiting.remove(&merged) {
                        break next;
                    }
                    let (number, result) = scanned.recv().ok()?;
                    waiting.insert(number, result);
                };
                merged += 1;
                let (footer, done) = self.add(next, progress);
                supply.recycle(done);
                if let Some(mut footer) = footer {
                    drop(jobs);
                    // Blocks that are already handed out belong to the footer too.
                    waiting.extend(scanned.iter());
                    waiting.values().for_each(|late| footer.extend_from_slice(&late.block));
                    return Some(footer);
                }
            }
        })
    }

    fn read_alone(&mut self, supply: &mut Supply<'_>, progress: &mut dyn FnMut(Progress)) -> Option<Vec<u8>> {
        while let Some(block) = supply.block() {
            let (footer, done) = self.add(scan(block), progress);
            supply.recycle(done);
            if footer.is_some() {
                return footer;
            }
        }
        None
    }

    /// Merges a block; returns the text after the events if they end in it, and the block.
    fn add<'a>(
        &mut self,
        scanned: ScannedBlock<'a>,
        progress: &mut dyn FnMut(Progress),
    ) -> (Option<Vec<u8>>, Block<'a>) {
        let ScannedBlock { block, mut batch, mut end } = scanned;
        self.done += block.len() as u64;
        progress(Progress { done: self.done, total: self.total });
        let mut joined = std::mem::take(&mut self.tail);
        let text: &[u8] = if joined.is_empty() {
            &block
        } else {
            // The previous block was cut inside an event: this one was scanned from a wrong place.
            joined.extend_from_slice(&block);
            batch = Batch::default();
            end = batch.scan(&joined);
            &joined
        };
        self.merge.add(batch);
        let mut footer = None;
        match end {
            End::Clean => {}
            End::Array(at) => footer = Some(text[at..].to_vec()),
            End::Inside(at) if text.len() - at <= LONGEST_EVENT => self.tail = text[at..].to_vec(),
            End::Inside(_) | End::Bad(_) => self.merge.trace().meta.lost.record("malformed event"),
        }
        (footer, block)
    }
}
