//! Reads chunks on all processors, each without the others: what a first look shows, then the operations of GPUs. What
//! depends on the chunks before it (rows of streams, all other records) is left to be done in their order, so that the
//! result is the same however many processors there are.

use super::texts::Texts;
use super::{Process, Times};
use crate::cupti;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use spool::{ApiCall, Chunk, Clock, Copy, DeviceIdentity, Fill, Graph, Kernel, Record, Switched, Text};
use std::mem::take;
use trace::{Op, OpKind, Ops, StreamId};

/// Chunks that are read and not yet added, for each processor: enough to keep all of them busy, and little memory.
const AHEAD: usize = 2;

/// How many chunks are read before the first of them is added.
pub(super) fn batch() -> usize {
    AHEAD * rayon::current_num_threads()
}

/// What a first look at a chunk shows.
pub(super) struct Survey<'a> {
    /// The records that others refer to.
    pub references: Vec<Record<'a>>,
    /// Whether CUPTI recorded calls.
    pub has_calls: bool,
    /// Damaged bytes.
    pub damaged: u64,
}

impl<'a> Survey<'a> {
    fn of(chunk: &Chunk<'a>) -> Survey<'a> {
        let mut survey = Survey { references: Vec::new(), has_calls: false, damaged: 0 };
        for record in chunk.records() {
            match record {
                Ok(record) => match record.head.kind {
                    Text::KIND | Clock::KIND | Switched::KIND | DeviceIdentity::KIND => {
                        survey.references.push(record);
                    }
                    ApiCall::KIND => survey.has_calls = true,
                    _ => {}
                },
                Err(damage) => survey.damaged = damage.bytes,
            }
        }
        survey
    }
}

/// The operations of a chunk, and what is left to be done for it.
struct Decoded<'a> {
    rest: Vec<Rest<'a>>,
    /// Their streams are numbered as they appear in the chunk.
    ops: Ops,
    /// The operations that are graphs: their names are numbered as they appear.
    graphs: Vec<(usize, usize)>,
    /// The devices of contexts.
    devices: Vec<(u32, u32)>,
    times: Times,
    truncated: u64,
}

/// What must be done in the order of a process's records.
enum Rest<'a> {
    /// The first operation of a stream: device, context, stream.
    Stream([u32; 3]),
    /// The first operation of a graph: CUPTI's number.
    Graph(u32),
    Record(Record<'a>),
}

struct Decoder<'a, 't> {
    texts: &'t Texts,
    decoded: Decoded<'a>,
    streams: FxHashMap<[u32; 3], usize>,
    graphs: FxHashMap<u32, usize>,
    /// The last operation's stream, and its number.
    last: Option<([u32; 3], StreamId)>,
}

/// The fields that all operations have in common.
macro_rules! common {
    ($record:ident) => {
        ($record.start, $record.end, $record.correlation, [$record.device, $record.context, $record.stream])
    };
}

impl<'a> Decoder<'a, '_> {
    /// Reads an operation; `None` if it is too short for its kind.
    fn record(&mut self, record: Record<'a>) -> Option<()> {
        let (body, tag) = (record.body, record.head.tag);
        match record.head.kind {
            Kernel::KIND => self.kernel(tag, &Kernel::read(body)?),
            Copy::KIND => self.copy(&Copy::read(body)?),
            Fill::KIND => self.fill(&Fill::read(body)?),
            Graph::KIND => self.graph(&Graph::read(body)?),
            Text::KIND | Clock::KIND | Switched::KIND | DeviceIdentity::KIND => {}
            // The calls of wrappers are read later, from all chunks.
            kind if spool::is_call(kind) => {}
            _ => self.decoded.rest.push(Rest::Record(record)),
        }
        Some(())
    }

    fn kernel(&mut self, name: u32, kernel: &Kernel) {
        let Some(op) = self.op(common!(kernel)) else { return };
        self.decoded.ops.push(Op {
            kind: OpKind::Kernel,
            name: self.texts.get(name),
            grid_x: kernel.grid_x,
            grid_y: kernel.grid_y,
            grid_z: kernel.grid_z,
            block_x: kernel.block_x,
            block_y: kernel.block_y,
            block_z: kernel.block_z,
            registers: kernel.registers,
            static_shared: kernel.static_shared,
            dynamic_shared: kernel.dynamic_shared,
            graph_node: kernel.graph_node as i64,
            ..op
        });
    }

    fn copy(&mut self, copy: &Copy) {
        let Some(op) = self.op(common!(copy)) else { return };
        self.decoded.ops.push(Op {
            kind: OpKind::Copy,
            bytes: i64::try_from(copy.bytes).unwrap_or(i64::MAX),
            copy: cupti::copy(copy.direction.into()),
            src: cupti::memory((copy.kinds & 0xffff).into()),
            dst: cupti::memory((copy.kinds >> 16).into()),
            graph_node: copy.graph_node as i64,
            ..op
        });
    }

    fn fill(&mut self, fill: &Fill) {
        let Some(op) = self.op(common!(fill)) else { return };
        self.decoded.ops.push(Op {
            kind: OpKind::Memset,
            bytes: i64::try_from(fill.bytes).unwrap_or(i64::MAX),
            dst: cupti::memory(fill.memory.into()),
            graph_node: fill.graph_node as i64,
            ..op
        });
    }

    fn graph(&mut self, graph: &Graph) {
        // Its name is that of the graph, even if its times are invalid.
        let next = self.graphs.len();
        let number = *self.graphs.entry(graph.graph).or_insert(next);
        if number == next {
            self.decoded.rest.push(Rest::Graph(graph.graph));
        }
        let Some(op) = self.op(common!(graph)) else { return };
        self.decoded.graphs.push((self.decoded.ops.len(), number));
        self.decoded.ops.push(Op { kind: OpKind::Graph, ..op });
    }

    /// What all operations have in common; `None` if the times are invalid.
    fn op(&mut self, (start, end, correlation, stream): (i64, i64, u32, [u32; 3])) -> Option<Op> {
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

impl<'a> Decoded<'a> {
    /// Reads a chunk; `ops` is empty and has memory to use.
    fn of(chunk: &Chunk<'a>, texts: &Texts, ops: Ops) -> Decoded<'a> {
        let decoded = Decoded {
            rest: Vec::new(),
            ops,
            graphs: Vec::new(),
            devices: Vec::new(),
            times: Times::default(),
            truncated: 0,
        };
        let (streams, graphs) = (FxHashMap::default(), FxHashMap::default());
        let mut decoder = Decoder { texts, decoded, streams, graphs, last: None };
        for record in chunk.records().flatten() {
            if decoder.record(record).is_none() {
                decoder.decoded.truncated += 1;
            }
        }
        decoder.decoded
    }
}

impl Process<'_, '_> {
    /// Looks at all chunks, and reads the records that others refer to.
    pub(super) fn survey<'c>(&mut self, chunks: &[Chunk<'c>]) -> Vec<Survey<'c>> {
        let surveys: Vec<Survey<'_>> = chunks.par_iter().map(Survey::of).collect();
        surveys.iter().flat_map(|survey| &survey.references).for_each(|record| self.reference(record));
        surveys
    }

    /// Reads all records but the calls of wrappers.
    pub(super) fn records(&mut self, chunks: &[Chunk<'_>]) {
        let size = batch();
        // Memory is used again: to get it anew from the system costs as much as to fill it.
        let mut spare = vec![Ops::default(); size];
        for (batch, first) in chunks.chunks(size).zip((0..).step_by(size)) {
            let texts = &self.texts;
            let read = batch.par_iter().zip(spare.par_iter_mut());
            let decoded: Vec<_> = read.map(|(chunk, ops)| Decoded::of(chunk, texts, take(ops))).collect();
            for (at, (decoded, chunk)) in decoded.into_iter().zip(batch).enumerate() {
                self.chunk = first + at;
                spare[at] = self.add(chunk.tid(), decoded);
            }
            self.all.trace.ops.extend(&spare.iter().collect::<Vec<_>>());
            spare.par_iter_mut().for_each(Ops::clear);
        }
    }

    /// Reads the other records of a chunk; returns its operations.
    fn add(&mut self, tid: u32, decoded: Decoded<'_>) -> Ops {
        let Decoded { rest, mut ops, graphs, devices, times, truncated } = decoded;
        if !ops.is_empty() || truncated > 0 || times.invalid > 0 {
            self.cupti.insert(tid);
        }
        let (mut streams, mut names) = (Vec::new(), Vec::new());
        for rest in rest {
            match rest {
                Rest::Stream([device, context, stream]) => streams.push(self.stream(device, context, stream)),
                Rest::Graph(number) => {
                    names.push(self.all.trace.strings.intern(&format!("graph {number}")));
                }
                Rest::Record(record) => self.record(tid, &record),
            }
        }
        ops.stream.iter_mut().for_each(|stream| *stream = streams[stream.index()]);
        graphs.into_iter().for_each(|(row, name)| ops.name[row] = names[name]);
        self.device_of.extend(devices);
        self.add_times(times);
        self.all.trace.meta.lost.records("truncated record", truncated);
        ops
    }
}

#[cfg(test)]
mod tests;
