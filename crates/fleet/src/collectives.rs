//! A rank's kernels of collectives, and what its GPU did before each: what it takes to join ranks that are in traces of their
//! own. A rank that is late at a collective did something longer since the one before.

use crate::cells::{Kind, Row};
use crate::text::{elided, place_text};
use explain::{Cause, Explanation, IdlePart, collective, communicates, place_of_stack};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use trace::{CopyKind, DeviceId, MemoryKind, Ns, OpId, OpKind, Times, Trace};

/// How much of the collectives a digest has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Detail {
    /// Every how many collectives of a communicator one is kept.
    pub every: usize,
    /// Idle times shorter than this part of the time since the collective before, in thousandths, have no place.
    pub least: Ns,
}

/// A kernel of a collective.
struct Kernel {
    start: Ns,
    end: Ns,
    kind: &'static str,
    /// Name and ranks where the trace states them, else the stream.
    communicator: String,
    /// Contribution of the rank, bytes; `None` if unknown.
    bytes: Option<i64>,
    /// Number among those of its communicator.
    seq: i64,
}

/// The rows of all GPUs' collectives.
pub(crate) fn rows(trace: &Trace, explanation: &Explanation, detail: Detail) -> Vec<Row> {
    let mut rows = Vec::new();
    for (device, kernels) in kernels(trace) {
        let computes = computes(trace, device);
        let parts: Vec<&IdlePart> =
            explanation.accounts.idle.parts.iter().filter(|part| part.device == device).collect();
        let copies = copies(trace, device);
        let of = GpuCollectives {
            trace,
            explanation,
            device,
            parts: &parts,
            computes: &computes,
            copies: &copies,
            detail,
        };
        of.rows(&kernels, &mut rows);
    }
    rows
}

/// The collectives of each device by end, numbered in their streams.
fn kernels(trace: &Trace) -> BTreeMap<DeviceId, Vec<Kernel>> {
    let kinds: Vec<Option<&'static str>> = trace.strings.iter().map(|(_, text)| collective(text)).collect();
    let mut found = BTreeMap::<DeviceId, Vec<Kernel>>::new();
    for (at, name) in trace.ops.name.iter().enumerate() {
        let stream = trace.ops.stream[at];
        let (Some(kind), Some(device)) = (kinds[name.index()], trace.device_of_stream(stream).some()) else {
            continue;
        };
        let (start, end) = (trace.ops.start[at], trace.ops.end[at]);
        let communicator = match trace.text(trace.ops.communicator[at]) {
            "" => format!("stream {}", trace.streams.number[stream.index()]),
            stated => elided(stated),
        };
        let bytes = Some(trace.ops.bytes[at]).filter(|bytes| *bytes > 0);
        found.entry(device).or_default().push(Kernel { start, end, kind, communicator, bytes, seq: 0 });
    }
    for kernels in found.values_mut() {
        kernels.sort_by(|one, other| {
            (one.end, one.start, &one.communicator).cmp(&(other.end, other.start, &other.communicator))
        });
        let mut next = FxHashMap::<String, i64>::default();
        for kernel in kernels {
            let next = next.entry(kernel.communicator.clone()).or_default();
            kernel.seq = *next;
            *next += 1;
        }
    }
    found
}

/// When a GPU works on something other than communication.
fn computes(trace: &Trace, device: DeviceId) -> Times {
    let exchanges: Vec<bool> = trace.strings.iter().map(|(_, text)| communicates(text)).collect();
    let work = trace.ops.ids().filter(|op| {
        let at = op.index();
        let communicates = match trace.ops.kind[at] {
            OpKind::Kernel => exchanges[trace.ops.name[at].index()],
            OpKind::Copy => trace.ops.copy[at] == CopyKind::PtoP,
            OpKind::Unknown | OpKind::Memset | OpKind::Graph => false,
        };
        !communicates && trace.device_of_stream(trace.ops.stream[at]) == device
    });
    Times::of(work.map(|op| (trace.ops.start[op.index()], trace.ops.end[op.index()])))
}

/// A copy from or to pageable memory.
struct Copy {
    start: Ns,
    end: Ns,
    reason: Reason,
}

/// A GPU's copies of pageable memory, and when it does anything else.
struct Copies {
    /// By start.
    all: Vec<Copy>,
    /// The longest of them, ns.
    longest: Ns,
    others: Times,
}

/// The copies for which a rank may be late: the driver stages them on the host, and the GPU counts as busy meanwhile.
fn copies(trace: &Trace, device: DeviceId) -> Copies {
    let ops = &trace.ops;
    let is_pageable = |at: usize| {
        ops.kind[at] == OpKind::Copy && [ops.src[at], ops.dst[at]].contains(&MemoryKind::Pageable)
    };
    let of_device = || trace.ops.ids().filter(|op| trace.device_of_stream(ops.stream[op.index()]) == device);
    let copy = |op: OpId| {
        let call = ops.call[op.index()].some();
        let place = call.and_then(|call| place_of_stack(trace, trace.calls.stack[call.index()]));
        let name = call.map_or("", |call| trace.text(trace.calls.name[call.index()]));
        let name = (place.is_none() && !name.is_empty()).then(|| elided(name));
        let reason = (Cause::PageableStaging.id(), place.as_ref().map(place_text), name);
        Copy { start: ops.start[op.index()], end: ops.end[op.index()], reason }
    };
    let mut all: Vec<Copy> = of_device().filter(|op| is_pageable(op.index())).map(copy).collect();
    all.sort_by_key(|copy| (copy.start, copy.end));
    let others = match all.is_empty() {
        true => Times::default(),
        false => Times::of(
            of_device()
                .filter(|op| !is_pageable(op.index()))
                .map(|op| (ops.start[op.index()], ops.end[op.index()])),
        ),
    };
    let longest = all.iter().map(|copy| copy.end - copy.start).max().unwrap_or(0);
    Copies { all, longest, others }
}

/// One GPU's collectives.
struct GpuCollectives<'a> {
    trace: &'a Trace,
    explanation: &'a Explanation,
    device: DeviceId,
    /// Its idle time, in order.
    parts: &'a [&'a IdlePart],
    computes: &'a Times,
    copies: &'a Copies,
    detail: Detail,
}

impl GpuCollectives<'_> {
    fn rows(&self, kernels: &[Kernel], rows: &mut Vec<Row>) {
        let ordinal = Some(self.trace.devices.ordinal[self.device.index()]);
        let mut before: Option<Ns> = None;
        let every = i64::try_from(self.detail.every).unwrap_or(i64::MAX);
        for (n, kernel) in kernels.iter().filter(|kernel| kernel.seq % every == 0).enumerate() {
            let since = before.map(|before| (before, kernel.start.max(before)));
            let idle = since.map(|since| self.idle(since)).unwrap_or_default();
            let idle_ns: Ns = idle.values().sum();
            rows.push(Row {
                device: ordinal,
                begin: Some(kernel.start),
                end: Some(kernel.end),
                ns: since.map(|(from, to)| to - from - idle_ns),
                ns2: Some(self.computes.part(kernel.start, kernel.end)),
                count: Some(kernel.seq),
                name: Some(kernel.kind.to_owned()),
                bytes: kernel.bytes,
                comm: Some(kernel.communicator.clone()),
                ..Row::new(Kind::Collective, n)
            });
            let waited = self.idle_ns((kernel.start, kernel.end));
            let waited =
                (waited > 0).then(|| Row { device: ordinal, ns: Some(waited), ..Row::new(Kind::Waited, n) });
            rows.extend(waited);
            for ((cause, place, call), ns) in idle {
                rows.push(Row {
                    device: ordinal,
                    ns: Some(ns),
                    cause: Some(cause),
                    place,
                    name: call,
                    ..Row::new(Kind::Before, n)
                });
            }
            before = Some(kernel.end.max(before.unwrap_or(Ns::MIN)));
        }
    }

    /// The idle time within a time, ns.
    fn idle_ns(&self, (from, to): (Ns, Ns)) -> Ns {
        let first = self.parts.partition_point(|part| part.end <= from);
        let within = self.parts[first..].iter().take_while(|part| part.start < to);
        within.map(|part| part.end.min(to) - part.start.max(from)).sum()
    }

    /// Adds the time for which only copies of pageable memory ran.
    fn copying(&self, (from, to): (Ns, Ns), named: &mut BTreeMap<Reason, Ns>) {
        let first = self.copies.all.partition_point(|copy| copy.start < from - self.copies.longest);
        let mut since = from;
        for copy in self.copies.all[first..].iter().take_while(|copy| copy.start < to) {
            let (start, end) = (copy.start.max(since), copy.end.min(to));
            if start < end {
                *named.entry(copy.reason.clone()).or_default() +=
                    end - start - self.copies.others.part(start, end);
                since = end;
            }
        }
    }

    /// The idle time within a time, and that of copies of pageable memory alone, by cause and place or call.
    fn idle(&self, (from, to): (Ns, Ns)) -> BTreeMap<Reason, Ns> {
        let least = (to - from) / 1000 * self.detail.least;
        let mut sums = FxHashMap::<u32, Ns>::default();
        let first = self.parts.partition_point(|part| part.end <= from);
        for part in self.parts[first..].iter().take_while(|part| part.start < to) {
            *sums.entry(part.reason).or_default() += part.end.min(to) - part.start.max(from);
        }
        let mut named = BTreeMap::<Reason, Ns>::new();
        self.copying((from, to), &mut named);
        for (reason, ns) in sums {
            let reason = &self.explanation.accounts.idle.reasons[reason as usize];
            let place = reason.place.as_ref().map(place_text);
            let call = if place.is_none() { &*reason.call } else { "" };
            let call = (!call.is_empty()).then(|| elided(call));
            *named.entry((reason.cause.id(), place, call)).or_default() += ns;
        }
        let mut kept = BTreeMap::<Reason, Ns>::new();
        for ((cause, place, call), ns) in named {
            let reason = if ns < least { (cause, None, None) } else { (cause, place, call) };
            *kept.entry(reason).or_default() += ns;
        }
        kept.retain(|_, ns| *ns > 0);
        kept
    }
}

/// A cause's name, and a place or a call.
type Reason = (&'static str, Option<String>, Option<String>);
