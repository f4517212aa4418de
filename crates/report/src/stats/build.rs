//! Summing up a trace.

use super::first_calls::first_calls;
use super::intervals::{Distribution, share, union};
use super::ranges::ranges;
use super::short::short;
use super::{Copies, Device, Host, Options, Row, Stats};
use crate::header;
use crate::labels::{self, Chosen, OpName};
use std::collections::BTreeMap;
use trace::{Api, CopyKind, DeviceId, MemoryKind, Ns, OpKind, Sym, ThreadId, Trace};

/// Sums up the chosen part of `trace`; `path` is what the user called it.
pub fn build(trace: &Trace, path: &str, options: &Options) -> Stats {
    let window = Window::new(trace, options);
    let (devices, ops) = window.devices();
    Stats {
        trace: header::summary(trace, path),
        window_ns: window.length(),
        host: window.host(options.per_thread),
        devices,
        accounts: explain::accounts(trace, &options.selection),
        overlap: explain::overlaps(trace, &options.selection),
        ops,
        copies: window.copies(),
        first_calls: first_calls(trace, &options.selection),
        failed_calls: explain::failed_calls(trace, &options.selection),
        ranges: ranges(trace, &window.chosen, |start, end| window.cut(start, end)),
        short: short(trace, &window.chosen),
    }
}

/// A chosen call.
struct ChosenCall {
    thread: ThreadId,
    /// A row of [`KINDS`].
    kind: usize,
    name: Sym,
    /// Its part inside the window.
    time: (Ns, Ns),
}

/// The chosen part of a trace.
struct Window<'a> {
    trace: &'a Trace,
    chosen: Chosen<'a>,
    from: Ns,
    to: Ns,
}

/// The kinds of host calls that get tables of their own.
const KINDS: [&str; 3] = ["cuda", "os", "library"];

fn kind(api: Api) -> usize {
    match api {
        Api::Runtime | Api::Driver | Api::Hip | Api::Unknown => 0,
        Api::Os => 1,
        Api::Library => 2,
    }
}

impl<'a> Window<'a> {
    fn new(trace: &'a Trace, options: &Options) -> Window<'a> {
        let (first, last) = trace.span().unwrap_or_default();
        let recorded = trace.meta.recorded.first().zip(trace.meta.recorded.last());
        let recorded = recorded.map(|((from, _), (_, to))| (first.max(*from), last.min(*to)));
        let (first, last) = recorded.unwrap_or((first, last));
        let from = options.selection.from.unwrap_or(first).max(first);
        let to = options.selection.to.unwrap_or(last).min(last);
        Window { trace, chosen: Chosen::new(trace, &options.selection), from, to }
    }

    /// How much of it was recorded, ns.
    fn length(&self) -> Ns {
        self.trace.meta.recorded_part(self.from, self.to)
    }

    /// The part of an event inside the window.
    fn cut(&self, start: Ns, end: Ns) -> (Ns, Ns) {
        (start.max(self.from), end.min(self.to))
    }

    /// The chosen calls.
    fn calls(&self) -> impl Iterator<Item = ChosenCall> {
        let calls = &self.trace.calls;
        (0..calls.len()).filter(|&at| self.chosen.call(at)).map(|at| ChosenCall {
            thread: calls.thread[at],
            kind: kind(calls.api[at]),
            name: calls.name[at],
            time: self.cut(calls.start[at], calls.end[at]),
        })
    }

    fn host(&self, per_thread: bool) -> Vec<Host> {
        let mut threads: BTreeMap<(usize, ThreadId), Calls> = BTreeMap::new();
        for ChosenCall { thread, kind, name, time } in self.calls() {
            threads.entry((kind, thread)).or_default().add(name, time);
        }
        if per_thread {
            let labels = labels::threads(self.trace);
            let label = |thread: ThreadId| match thread.some() {
                Some(thread) => labels[thread.index()].clone(),
                None => String::from("unknown"),
            };
            let mut tables: Vec<Host> = threads
                .into_iter()
                .map(|((kind, thread), calls)| self.table(kind, Some(label(thread)), vec![calls]))
                .collect();
            // Most time first within each kind; the sort is stable and kinds are in order.
            tables.sort_by_key(|table| (KINDS.iter().position(|kind| *kind == table.calls), -table.total_ns));
            return tables;
        }
        let mut kinds: [Vec<Calls>; KINDS.len()] = Default::default();
        for ((kind, _), calls) in threads {
            kinds[kind].push(calls);
        }
        let some = kinds.into_iter().enumerate().filter(|(_, threads)| !threads.is_empty());
        some.map(|(kind, threads)| self.table(kind, None, threads)).collect()
    }

    /// One table over the calls of several threads.
    fn table(&self, kind: usize, thread: Option<String>, threads: Vec<Calls>) -> Host {
        let whole = self.length() as f64 * threads.len() as f64;
        let number = threads.len() as u64;
        let mut total_ns = 0;
        let mut durations = Vec::new();
        for mut calls in threads {
            durations.extend(
                calls.names.iter().zip(&calls.times).map(|(name, (start, end))| (*name, end - start)),
            );
            total_ns += union(&mut calls.times);
        }
        let rows = rows(durations.into_iter(), whole, |name| self.trace.text(*name).to_owned());
        Host { calls: KINDS[kind], thread, threads: number, total_ns, share: share(total_ns, whole), rows }
    }

    /// The chosen operations: row and the part inside the window.
    fn ops(&self) -> impl Iterator<Item = (usize, (Ns, Ns))> {
        let ops = &self.trace.ops;
        let chosen = (0..ops.len()).filter(|&at| self.chosen.op(at));
        chosen.map(|at| (at, self.cut(ops.start[at], ops.end[at])))
    }

    fn devices(&self) -> (Vec<Device>, Vec<Row>) {
        let mut times: BTreeMap<DeviceId, Vec<(Ns, Ns)>> = BTreeMap::new();
        let mut durations = Vec::new();
        for (at, time) in self.ops() {
            times.entry(self.trace.device_of_stream(self.trace.ops.stream[at])).or_default().push(time);
            durations.push((OpName::of(self.trace, at), time.1 - time.0));
        }
        let whole = self.length() as f64 * times.len() as f64;
        let rows = rows(durations.into_iter(), whole, |name| name.text(self.trace));
        let devices = times.into_iter().map(|(device, mut times)| self.device(device, &mut times));
        let mut devices: Vec<Device> = devices.collect();
        devices.sort_by_key(|device| device.ordinal);
        (devices, rows)
    }

    fn device(&self, device: DeviceId, times: &mut [(Ns, Ns)]) -> Device {
        let busy_ns = union(times);
        let row = device.some().map(|device| self.trace.devices.row(device));
        Device {
            ordinal: row.map(|row| row.ordinal),
            name: row.map(|row| self.trace.text(row.name).to_owned()).unwrap_or_default(),
            ops: times.len() as u64,
            busy_ns,
            share: share(busy_ns, self.length() as f64),
        }
    }

    fn copies(&self) -> Vec<Copies> {
        let ops = &self.trace.ops;
        let mut groups: BTreeMap<(CopyKind, MemoryKind, MemoryKind), Copies> = BTreeMap::new();
        for (at, _) in self.ops().filter(|(at, _)| ops.kind[*at] == OpKind::Copy) {
            let key = (ops.copy[at], ops.src[at], ops.dst[at]);
            let group = groups.entry(key).or_insert_with(|| Copies::none(key));
            group.count += 1;
            group.bytes = group.bytes.saturating_add(ops.bytes[at]);
            // A part of a copy has no size of its own, so copies count whole, in the window or not.
            let duration = ops.end[at] - ops.start[at];
            group.total_ns += duration;
            if duration > 0 {
                group.max_gb_per_s = group.max_gb_per_s.max(ops.bytes[at] as f64 / duration as f64);
            }
        }
        let mut copies: Vec<Copies> = groups.into_values().collect();
        for group in copies.iter_mut().filter(|group| group.total_ns > 0) {
            group.mean_gb_per_s = group.bytes as f64 / group.total_ns as f64;
        }
        copies.sort_by_key(|group| -group.total_ns);
        copies
    }
}

impl Copies {
    fn none((direction, source, destination): (CopyKind, MemoryKind, MemoryKind)) -> Copies {
        Copies {
            direction: direction.name(),
            source: source.name(),
            destination: destination.name(),
            count: 0,
            bytes: 0,
            total_ns: 0,
            mean_gb_per_s: 0.0,
            max_gb_per_s: 0.0,
        }
    }
}

/// Calls of one thread.
#[derive(Default)]
struct Calls {
    names: Vec<Sym>,
    times: Vec<(Ns, Ns)>,
}

impl Calls {
    fn add(&mut self, name: Sym, time: (Ns, Ns)) {
        self.names.push(name);
        self.times.push(time);
    }
}

/// Sums durations up by name, most time first.
fn rows<N: Ord + Copy>(
    durations: impl Iterator<Item = (N, Ns)>,
    whole: f64,
    text: impl Fn(&N) -> String,
) -> Vec<Row> {
    let mut by_name: BTreeMap<N, Distribution> = BTreeMap::new();
    for (name, duration) in durations {
        by_name.entry(name).or_insert(Distribution::EMPTY).add(duration);
    }
    let mut rows: Vec<Row> = by_name.iter().map(|(name, times)| times.row(text(name), whole)).collect();
    rows.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)));
    rows
}
