//! The rows of streams, and of the engines of devices that copy and compute.

use super::labels::{BoxStyle, Moved};
use super::lanes::{Builder, Kind, Row, one};
use super::levels::Block;
use explain::Engine;
use trace::{DeviceId, OpKind, StreamId, Trace};

impl Builder<'_, '_> {
    /// Adds a row for each stream, below those of the engines of its device.
    pub(super) fn streams(&mut self) {
        let trace = self.trace;
        let mut by_stream = vec![Vec::new(); trace.streams.len()];
        let mut engines = Engines::new(trace);
        let mut of_none = Vec::new();
        for id in trace.ops.ids() {
            let op = trace.ops.row(id);
            let Some(place) = self.window.place(op.start, op.end) else { continue };
            let look = match op.kind {
                OpKind::Copy => BoxStyle::Copy,
                OpKind::Memset => BoxStyle::Fill,
                OpKind::Kernel | OpKind::Graph | OpKind::Unknown => BoxStyle::Kernel,
            };
            let moved = Moved { kind: op.copy, src: op.src, dst: op.dst };
            let item = one(place, self.labels.op(op.name, look, moved), op.bytes.max(0) as u64);
            let item = Block { id: id.index() as u32, ..item };
            engines.add(trace.device_of_stream(op.stream), Engine::of(op.kind, op.copy), item);
            match op.stream.some() {
                Some(stream) => by_stream[stream.index()].push(item),
                None => of_none.push(item),
            }
        }
        self.lanes.row_of_stream = vec![None; trace.streams.len()];
        let mut shown: Vec<usize> = (0..by_stream.len()).filter(|at| !by_stream[*at].is_empty()).collect();
        self.limit(&mut shown, |at| (0, by_stream[at].len()));
        shown.sort_by_key(|at| (trace.device_of_stream(StreamId::new(*at)), trace.streams.number[*at]));
        for at in shown {
            let row = self.stream(StreamId::new(at));
            self.engines(engines.take(trace.device_of_stream(StreamId::new(at))), &row.group);
            let row = self.push_row(row);
            self.lanes.row_of_stream[at] = Some(row);
            self.side_by_side(row, Kind::Op, std::mem::take(&mut by_stream[at]));
        }
        if !of_none.is_empty() {
            let group = String::from("GPU");
            let row = self.push_row(Row::of(String::from("no stream"), group, "stream"));
            self.side_by_side(row, Kind::Op, of_none);
        }
    }

    /// Adds rows for a device's engines, above its streams.
    fn engines(&mut self, engines: Vec<(Engine, Vec<Block>)>, group: &str) {
        for (engine, boxes) in engines {
            let name = match engine {
                Engine::CopyIn => "copies in",
                Engine::Compute => "kernels",
                Engine::CopyOut => "copies out",
                Engine::Other => "other copies",
            };
            let note = String::from("all streams");
            let row = self.push_row(Row { note, ..Row::of(name.to_owned(), group.to_owned(), "engine") });
            self.side_by_side(row, Kind::Work, boxes);
        }
    }

    fn stream(&self, id: StreamId) -> Row {
        let trace = self.trace;
        let device: DeviceId = trace.device_of_stream(id);
        let process = trace.process_of_stream(id).some().filter(|_| trace.processes.len() > 1);
        let process = process.map(|process| format!("process {}", trace.processes.pid[process.index()]));
        let group = device.some().map(|device| trace.devices.row(device));
        Row {
            name: format!("stream {}", trace.streams.number[id.index()]),
            note: process.unwrap_or_default(),
            group: group.map_or(String::from("GPU"), |device| match trace.text(device.name) {
                "" => format!("GPU {}", device.ordinal),
                name => format!("GPU {} · {}", device.ordinal, crate::html::shown(name)),
            }),
            ..Row::of(String::new(), String::new(), "stream")
        }
    }
}

/// Boxes by device and engine, for devices with something to overlap.
struct Engines(Vec<Vec<(Engine, Vec<Block>)>>);

impl Engines {
    fn new(trace: &Trace) -> Engines {
        let empty = |used: Vec<Engine>| used.into_iter().map(|engine| (engine, Vec::new())).collect();
        Engines(Engine::used(trace).into_iter().map(empty).collect())
    }

    fn add(&mut self, device: DeviceId, engine: Engine, item: Block) {
        let own =
            device.some().and_then(|device| self.0[device.index()].iter_mut().find(|own| own.0 == engine));
        if let Some((_, boxes)) = own {
            boxes.push(item);
        }
    }

    /// Takes a device's engines that have boxes; empty at the second call.
    fn take(&mut self, device: DeviceId) -> Vec<(Engine, Vec<Block>)> {
        let own = device.some().map(|device| std::mem::take(&mut self.0[device.index()]));
        let mut own = own.unwrap_or_default();
        own.retain(|(_, boxes)| !boxes.is_empty());
        own
    }
}
