//! The rows of GPUs: when each worked, on what, and why it was idle in between.

use super::labels::{BoxStyle, Labels};
use super::lanes::{Builder, Kind, Lane, Row, Window, one};
use super::levels::Block;
use explain::{Accounts, IdleReason};
use report::units;
use rustc_hash::FxHashMap;
use trace::{DeviceId, OpKind, Sym, Trace};

/// Purpose of an operation, as a bit.
const COMPUTE: u8 = 1;
const COMMUNICATION: u8 = 2;
const MEMORY: u8 = 4;

/// The names of sets of kinds, by their bits.
const NAMES: [&str; 8] = [
    "idle",
    "compute",
    "communication",
    "compute + communication",
    "copies and fills",
    "compute + copies",
    "communication + copies",
    "compute + communication + copies",
];

impl Builder<'_, '_> {
    /// Adds a row for each GPU; returns their devices, in the order of the rows.
    pub(super) fn gpus(&mut self) -> Vec<DeviceId> {
        let gpus = used(self.trace, self.window);
        for (row, device) in (0..).zip(&gpus) {
            let lane = busy(self.trace, *device, self.window, row, self.labels);
            let share = share(&self.explanation.accounts, self.trace.devices.ordinal[device.index()]);
            let name = format!("GPU {}", self.trace.devices.ordinal[device.index()]);
            let note = share.map_or(String::new(), |share| format!("busy {}", units::percent(share)));
            self.lanes.rows.push(Row { note, busy: share, ..Row::of(name, String::from("GPUs"), "gpu") });
            self.lanes.lanes.push(lane);
        }
        gpus
    }

    /// Adds the idle time of the GPUs, where its causes are known, below their work.
    pub(super) fn idle(&mut self, gpus: &[DeviceId]) {
        let accounts = &self.explanation.accounts;
        for (row, device) in (0..).zip(gpus).filter(|_| accounts.refused.is_none()) {
            let rows = &self.lanes.row_of_thread;
            let lane = idle(accounts, *device, self.window, row, self.labels, rows);
            self.lanes.lanes.push(lane);
        }
    }
}

/// The devices that have operations in the window, by number.
fn used(trace: &Trace, window: Window) -> Vec<DeviceId> {
    let mut used = vec![false; trace.devices.len()];
    for at in 0..trace.ops.len() {
        if let Some(device) = trace.device_of_stream(trace.ops.stream[at]).some()
            && window.place(trace.ops.start[at], trace.ops.end[at]).is_some()
        {
            used[device.index()] = true;
        }
    }
    let mut devices: Vec<DeviceId> = trace.devices.ids().filter(|device| used[device.index()]).collect();
    devices.sort_by_key(|device| trace.devices.ordinal[device.index()]);
    devices
}

/// The time in which a GPU worked: intervals that do not overlap, each with the kinds of work in it.
fn busy(trace: &Trace, device: DeviceId, window: Window, row: u32, labels: &mut Labels<'_>) -> Lane {
    let mut edges: Vec<(u64, bool, u8)> = Vec::new();
    // A program launches few kernels often: each name is read once.
    let mut known = FxHashMap::<Sym, bool>::default();
    let mut communicates =
        |name: Sym| *known.entry(name).or_insert_with(|| explain::communicates(trace.text(name)));
    for at in 0..trace.ops.len() {
        if trace.device_of_stream(trace.ops.stream[at]) != device {
            continue;
        }
        let Some((start, end)) = window.place(trace.ops.start[at], trace.ops.end[at]) else { continue };
        let kind = match trace.ops.kind[at] {
            OpKind::Copy | OpKind::Memset => MEMORY,
            OpKind::Kernel if communicates(trace.ops.name[at]) => COMMUNICATION,
            OpKind::Kernel | OpKind::Graph | OpKind::Unknown => COMPUTE,
        };
        if start < end {
            edges.extend([(start, true, kind), (end, false, kind)]);
        }
    }
    edges.sort_unstable();
    let mut running = [0u32; 3];
    let (mut since, mut boxes) = (0, Vec::<Block>::new());
    let mut set_before = 0;
    for (at, starts, kind) in edges {
        let set = set_of(running);
        if set != 0 && since < at {
            extend(
                &mut boxes,
                (since, at),
                labels.busy(NAMES[usize::from(set)], look(set)),
                set == set_before,
            );
            set_before = set;
        }
        since = at;
        let count = &mut running[kind.trailing_zeros() as usize];
        *count = if starts { *count + 1 } else { count.saturating_sub(1) };
    }
    Lane { row, kind: Kind::Busy, depth: 0, boxes }
}

fn set_of(running: [u32; 3]) -> u8 {
    running.iter().enumerate().map(|(bit, count)| u8::from(*count > 0) << bit).sum()
}

/// Work that overlaps looks like the kind that a GPU is bought for.
fn look(set: u8) -> BoxStyle {
    match set {
        set if set & COMPUTE != 0 => BoxStyle::Kernel,
        set if set & COMMUNICATION != 0 => BoxStyle::Communication,
        _ => BoxStyle::Copy,
    }
}

/// Adds an interval, or makes the last one longer if it ends there and is of the same kinds.
fn extend(boxes: &mut Vec<Block>, (start, end): (u64, u64), label: u32, is_same: bool) {
    match boxes.last_mut().filter(|last| is_same && last.end == start) {
        Some(last) => *last = one((last.start, end), label, 0),
        None => boxes.push(one((start, end), label, 0)),
    }
}

/// The idle time of a GPU by cause. `row_of_thread` has the rows of threads.
fn idle(
    accounts: &Accounts,
    device: DeviceId,
    window: Window,
    row: u32,
    labels: &mut Labels<'_>,
    row_of_thread: &[Option<u32>],
) -> Lane {
    let mut numbers: Vec<Option<u32>> = vec![None; accounts.idle.reasons.len()];
    let mut boxes = Vec::new();
    for part in accounts.idle.parts.iter().filter(|part| part.device == device) {
        let Some((start, end)) = window.place(part.start, part.end).filter(|(start, end)| start < end) else {
            continue;
        };
        let (Some(number), Some(reason)) =
            (numbers.get_mut(part.reason as usize), accounts.idle.reasons.get(part.reason as usize))
        else {
            continue;
        };
        let label = *number.get_or_insert_with(|| {
            let rows = reason.threads.iter().filter_map(|thread| row_of_thread[thread.index()]).collect();
            labels.idle(reason.cause, text(reason), rows)
        });
        boxes.push(one((start, end), label, 0));
    }
    Lane { row, kind: Kind::Idle, depth: 0, boxes }
}

/// `host-code · train.py:42 in step`, `own-work · cudaLaunchKernel`
fn text(reason: &IdleReason) -> String {
    let place = reason.place.as_ref().map_or_else(|| reason.call.clone(), report::explanation::place_text);
    if place.is_empty() { reason.cause.id().to_owned() } else { format!("{} · {place}", reason.cause.id()) }
}

/// The part of its account's time in which a GPU worked, 0 to 1.
fn share(accounts: &Accounts, ordinal: i64) -> Option<f64> {
    let gpu = accounts.gpus.iter().find(|gpu| gpu.device == ordinal)?;
    Some(gpu.busy_ns as f64 / gpu.span_ns.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Context, Device, Op, Stream};

    /// Kernels at 0 to 100, a collective at 50 to 120, copies at 120 to 200 and at 300 to 400.
    fn trace() -> Trace {
        let mut trace = Trace::default();
        let device = trace.devices.push(Device::default());
        let context = trace.contexts.push(Context { device, ..Context::default() });
        let stream = trace.streams.push(Stream { context, number: 7 });
        let gemm = trace.strings.intern("gemm");
        let nccl = trace.strings.intern("ncclDevKernel_AllReduce_Sum_f32_RING_LL");
        let (kernel, copy) = (OpKind::Kernel, OpKind::Copy);
        for (kind, name, start, end) in [
            (kernel, gemm, 0, 60),
            (kernel, gemm, 60, 100),
            (kernel, nccl, 50, 120),
            (copy, Default::default(), 120, 200),
            (copy, Default::default(), 300, 400),
        ] {
            trace.ops.push(Op { kind, name, start, end, stream, ..Op::default() });
        }
        trace
    }

    #[test]
    fn busy_time_is_divided_by_what_ran_and_touching_operations_are_one() {
        let trace = trace();
        let window = Window { start: 0, end: 1_000 };
        let mut labels = Labels::new(&trace);
        let [device] = used(&trace, window)[..] else { panic!("one device") };
        let lane = busy(&trace, device, window, 0, &mut labels);
        let labels = labels.all();
        let told: Vec<_> = lane
            .boxes
            .iter()
            .map(|block| (block.start, block.end, &*labels[block.label as usize].text))
            .collect();
        let expected = [
            (0, 50, "compute"),
            (50, 100, "compute + communication"),
            (100, 120, "communication"),
            (120, 200, "copies and fills"),
            (300, 400, "copies and fills"),
        ];
        assert_eq!(told, expected);
    }
}
