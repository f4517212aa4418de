//! Reads chunks on all processors, each without the others: what a first look shows, then the operations of GPUs. What
//! depends on the chunks before it (rows of streams, all other records) is left to be done in their order, so that the
//! result is the same however many processors there are.

use super::state::Process;
use super::state::texts::Texts;
use super::state::times::Times;
use super::state::unread::UnreadCounts;
use crate::cupti;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use spool::{
    Chunk, Copy, Deferred, Fill, Graph, Home, Kernel, Kind, Operation, Plain, Record, Reference, Step,
    Watched,
};
use std::mem::take;
use trace::{Op, OpKind, Ops, StreamId};

/// Chunks that are read and not yet added, for each processor: enough to keep all of them busy, and little memory.
const AHEAD: usize = 2;

/// How many chunks are read before the first of them is added.
pub(super) fn batch() -> usize {
    AHEAD * rayon::current_num_threads()
}

/// Results of a first look at a chunk.
pub(super) struct Survey<'a> {
    /// The records that others refer to.
    pub references: Vec<(Reference, Record<'a>)>,
    /// Whether CUPTI recorded calls.
    pub has_calls: bool,
    /// Damaged bytes.
    pub damaged: u64,
}

impl<'a> Survey<'a> {
    fn of(chunk: &Chunk<'a>, file: Home) -> Survey<'a> {
        let mut survey = Survey { references: Vec::new(), has_calls: false, damaged: 0 };
        for record in chunk.records() {
            match record {
                Ok(record) => survey.record(record, file),
                Err(damage) => survey.damaged = damage.bytes,
            }
        }
        survey
    }

    fn record(&mut self, record: Record<'a>, file: Home) {
        match record.kind().filter(|kind| kind.is_in(file)).map(Kind::step) {
            Some(Step::Reference(kind)) => self.references.push((kind, record)),
            Some(Step::Plain(Plain::ApiCall)) => self.has_calls = true,
            // The second look counts what nobody reads.
            Some(
                Step::Plain(_)
                | Step::CallMade(_)
                | Step::Operation(_)
                | Step::Deferred(_)
                | Step::Watched(_),
            )
            | None => {}
        }
    }
}

/// The operations of a chunk, and what is left to be done for it.
struct DecodedChunk<'a> {
    rest: Vec<Rest<'a>>,
    /// Their streams are numbered as they appear in the chunk.
    ops: Ops,
    /// The operations that are graphs: their names are numbered as they appear.
    graphs: Vec<(usize, usize)>,
    /// The devices of contexts.
    devices: Vec<(u32, u32)>,
    times: Times,
    /// Whether it has records of operations.
    has_operations: bool,
    unread: UnreadCounts,
}

/// Work that must be done in the order of a process's records.
enum Rest<'a> {
    /// The first operation of a stream: device, context, stream.
    Stream([u32; 3]),
    /// The first operation of a graph: CUPTI's number.
    Graph(u32),
    Plain(Plain, Record<'a>),
    Deferred(Deferred, Record<'a>),
    Watched(Watched, Record<'a>),
}

struct Decoder<'a, 't> {
    texts: &'t Texts,
    file: Home,
    decoded: DecodedChunk<'a>,
    streams: FxHashMap<[u32; 3], usize>,
    graphs: FxHashMap<u32, usize>,
    /// The last operation's stream, and its number.
    last: Option<([u32; 3], StreamId)>,
}

/// The fields that all operations have: start, end, correlation id; device, context and stream.
type Common = (i64, i64, u32, [u32; 3]);

impl<'a> Decoder<'a, '_> {
    /// Reads a record, or leaves it to others; counts one that nobody reads.
    fn record(&mut self, record: Record<'a>) {
        match record.kind() {
            None => self.decoded.unread.unknown += 1,
            Some(kind) if !kind.is_in(self.file) => self.decoded.unread.misplaced += 1,
            Some(kind) => {
                let is_read = self.step(kind.step(), record).is_some();
                self.decoded.unread.short += u64::from(!is_read);
            }
        }
    }

    /// `None` if the record is too short for its kind.
    fn step(&mut self, step: Step, record: Record<'a>) -> Option<()> {
        match step {
            // The first look found them.
            Step::Reference(_) => {}
            // They are read later, from all chunks.
            Step::CallMade(kind) => _ = record.call(kind, 0, 0)?,
            Step::Operation(kind) => {
                self.decoded.has_operations = true;
                self.operation(kind, &record)?;
            }
            Step::Plain(kind) => self.decoded.rest.push(Rest::Plain(kind, record)),
            Step::Deferred(kind) => self.decoded.rest.push(Rest::Deferred(kind, record)),
            Step::Watched(kind) => self.decoded.rest.push(Rest::Watched(kind, record)),
        }
        Some(())
    }

    fn operation(&mut self, kind: Operation, record: &Record<'a>) -> Option<()> {
        match kind {
            Operation::Kernel => self.kernel(record.head.tag, Kernel::read(record.body)?),
            Operation::Copy => self.copy(Copy::read(record.body)?),
            Operation::Fill => self.fill(Fill::read(record.body)?),
            Operation::Graph => self.graph(Graph::read(record.body)?),
        }
        Some(())
    }

    fn kernel(&mut self, name: u32, kernel: Kernel) {
        let Kernel {
            start,
            end,
            correlation,
            device,
            context,
            stream,
            grid_x,
            grid_y,
            grid_z,
            block_x,
            block_y,
            block_z,
            registers,
            static_shared,
            dynamic_shared,
            zero: _,
            graph_node,
        } = kernel;
        let Some(op) = self.op((start, end, correlation, [device, context, stream])) else { return };
        let (kind, name) = (OpKind::Kernel, self.texts.get(name));
        let graph_node = graph_node.cast_signed();
        self.decoded.ops.push(Op {
            kind,
            name,
            grid_x,
            grid_y,
            grid_z,
            block_x,
            block_y,
            block_z,
            registers,
            static_shared,
            dynamic_shared,
            graph_node,
            ..op
        });
    }

    fn copy(&mut self, copy: Copy) {
        let Copy { start, end, bytes, correlation, device, context, stream, direction, kinds, graph_node } =
            copy;
        let Some(op) = self.op((start, end, correlation, [device, context, stream])) else { return };
        let copy = self.valid(cupti::known_copy(direction));
        let [src, dst] = [kinds & 0xffff, kinds >> 16].map(|kind| self.valid(cupti::known_memory(kind)));
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        let (kind, graph_node) = (OpKind::Copy, graph_node.cast_signed());
        self.decoded.ops.push(Op { kind, bytes, copy, src, dst, graph_node, ..op });
    }

    fn fill(&mut self, fill: Fill) {
        let Fill { start, end, bytes, correlation, device, context, stream, memory, zero: _, graph_node } =
            fill;
        let Some(op) = self.op((start, end, correlation, [device, context, stream])) else { return };
        let dst = self.valid(cupti::known_memory(memory));
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        let (kind, graph_node) = (OpKind::Memset, graph_node.cast_signed());
        self.decoded.ops.push(Op { kind, bytes, dst, graph_node, ..op });
    }

    fn graph(&mut self, graph: Graph) {
        let Graph { start, end, correlation, device, context, stream, graph, zero: _ } = graph;
        // Its name is that of the graph, even if its times are invalid.
        let next = self.graphs.len();
        let number = *self.graphs.entry(graph).or_insert(next);
        if number == next {
            self.decoded.rest.push(Rest::Graph(graph));
        }
        let Some(op) = self.op((start, end, correlation, [device, context, stream])) else { return };
        self.decoded.graphs.push((self.decoded.ops.len(), number));
        self.decoded.ops.push(Op { kind: OpKind::Graph, ..op });
    }

    /// A value, unknown where its number is none that holdup knows: these are counted.
    fn valid<T: Default>(&mut self, value: Option<T>) -> T {
        self.decoded.unread.invalid += u64::from(value.is_none());
        value.unwrap_or_default()
    }

    /// Operation with the fields that all have in common; `None` if the times are invalid.
    fn op(&mut self, (start, end, correlation, stream): Common) -> Option<Op> {
        let (start, end) = self.decoded.times.check(start, end)?;
        let stream = match self.last {
            Some((last, number)) if last == stream => number,
            _ => self.stream(stream),
        };
        Some(Op { start, end, stream, correlation: correlation.into(), ..Op::default() })
    }

    fn stream(&mut self, stream: [u32; 3]) -> StreamId {
        let next = self.streams.len();
        let number = *self.streams.entry(stream).or_insert(next);
        if number == next {
            self.decoded.rest.push(Rest::Stream(stream));
        }
        let [device, context, _] = stream;
        if self.last.is_none_or(|([last_device, last_context, _], _)| {
            (last_device, last_context) != (device, context)
        }) {
            self.decoded.devices.push((context, device));
        }
        let number = StreamId::new(number);
        self.last = Some((stream, number));
        number
    }
}

impl<'a> DecodedChunk<'a> {
    /// Reads a chunk of a file; `ops` is empty and has memory to use.
    fn of(chunk: &Chunk<'a>, file: Home, texts: &Texts, ops: Ops) -> DecodedChunk<'a> {
        let decoded = DecodedChunk {
            rest: Vec::new(),
            ops,
            graphs: Vec::new(),
            devices: Vec::new(),
            times: Times::default(),
            has_operations: false,
            unread: UnreadCounts::default(),
        };
        let (streams, graphs) = (FxHashMap::default(), FxHashMap::default());
        let mut decoder = Decoder { texts, file, decoded, streams, graphs, last: None };
        chunk.records().flatten().for_each(|record| decoder.record(record));
        decoder.decoded
    }
}

impl Process<'_, '_> {
    /// Looks at all chunks, and reads the records that others refer to.
    pub(super) fn survey<'c>(&mut self, chunks: &[Chunk<'c>]) -> Vec<Survey<'c>> {
        let file = self.file;
        let surveys: Vec<Survey<'_>> = chunks.par_iter().map(|chunk| Survey::of(chunk, file)).collect();
        let mut unread = UnreadCounts::default();
        for (kind, record) in surveys.iter().flat_map(|survey| &survey.references) {
            unread.short += u64::from(self.reference(*kind, record).is_none());
        }
        self.add_unread(unread);
        surveys
    }

    /// Reads all records but the calls of wrappers.
    pub(super) fn records(&mut self, chunks: &[Chunk<'_>]) {
        let size = batch();
        // Memory is used again: to get it anew from the system costs as much as to fill it.
        let mut spare = vec![Ops::default(); size];
        for (batch, first) in chunks.chunks(size).zip((0..).step_by(size)) {
            let (file, texts) = (self.file, &self.texts);
            let read = batch.par_iter().zip(spare.par_iter_mut());
            let decode = |(chunk, ops)| DecodedChunk::of(chunk, file, texts, take(ops));
            let decoded: Vec<_> = read.map(decode).collect();
            for (at, (decoded, chunk)) in decoded.into_iter().zip(batch).enumerate() {
                self.chunk = first + at;
                spare[at] = self.add(chunk.tid(), decoded);
            }
            self.all.trace.ops.extend(&spare.iter().collect::<Vec<_>>());
            spare.par_iter_mut().for_each(Ops::clear);
        }
        self.add_remarks();
        self.add_settings();
    }

    /// Reads the other records of a chunk; returns its operations.
    fn add(&mut self, tid: u32, decoded: DecodedChunk<'_>) -> Ops {
        let DecodedChunk { rest, mut ops, graphs, devices, times, has_operations, mut unread } = decoded;
        if has_operations {
            self.cupti.insert(tid);
        }
        let (mut streams, mut names) = (Vec::new(), Vec::new());
        for rest in rest {
            let read = match rest {
                Rest::Stream([device, context, stream]) => {
                    streams.push(self.stream(device, context, stream));
                    Some(())
                }
                Rest::Graph(number) => {
                    names.push(self.all.trace.strings.intern(&format!("graph {number}")));
                    Some(())
                }
                Rest::Plain(kind, record) => self.plain(kind, tid, &record),
                Rest::Deferred(kind, record) => self.keep(kind, tid, &record),
                Rest::Watched(kind, record) => self.watched(kind, &record),
            };
            unread.short += u64::from(read.is_none());
        }
        ops.stream.iter_mut().for_each(|stream| *stream = streams[*stream]);
        graphs.into_iter().for_each(|(row, name)| ops.name[row] = names[name]);
        self.device_of.extend(devices);
        self.add_times(times);
        self.add_unread(unread);
        ops
    }
}

#[cfg(test)]
mod tests;
