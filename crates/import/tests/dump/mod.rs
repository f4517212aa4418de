//! A trace as text: all tables with the names that their rows refer to, one line per row.

use std::fmt::Write as _;
use trace::{StackId, ThreadId, Trace};

/// Text of the trace that the bytes hold, or the reason why they hold none.
pub fn read(bytes: &[u8]) -> String {
    match import::read_bytes(bytes, "trace") {
        Ok(trace) => dump(&trace),
        Err(error) => format!("error: {error}\n"),
    }
}

/// All tables with the names that their rows refer to, one line per row.
fn dump(trace: &Trace) -> String {
    let mut out = String::new();
    let meta = &trace.meta;
    let known = [&meta.source_version, &meta.driver, &meta.runtime].map(String::as_str).join(" | ");
    writeln!(out, "{} | {known} | epoch {:?} | {:?}", meta.source, meta.epoch_unix_ns, meta.clock).unwrap();
    if !meta.libraries.is_empty() {
        writeln!(out, "libraries {:?}", meta.libraries).unwrap();
    }
    writeln!(out, "{:?}", meta.lost).unwrap();
    writeln!(out, "left out {:?}, notes {:?}", meta.left_out, meta.notes).unwrap();
    for device in trace.devices.ids().map(|id| trace.devices.row(id)) {
        let name = trace.text(device.name);
        writeln!(out, "device {} {name} {}.{}", device.ordinal, device.compute_major, device.compute_minor)
            .unwrap();
    }
    for range in trace.ranges.ids().map(|id| trace.ranges.row(id)) {
        let (kind, name) = (range.kind, trace.text(range.name));
        write!(out, "range {}..{} {} {kind} {name:?}", range.start, range.end, thread(trace, range.thread))
            .unwrap();
        writeln!(out, "{}", stack(trace, range.stack)).unwrap();
    }
    for call in trace.calls.ids().map(|id| trace.calls.row(id)) {
        let (thread, name) = (thread(trace, call.thread), trace.text(call.name));
        write!(
            out,
            "call {}..{} {thread} {} {name:?} corr {}",
            call.start, call.end, call.api, call.correlation
        )
        .unwrap();
        let operator = call.range.some().map_or("", |range| trace.text(trace.ranges.row(range).name));
        writeln!(out, " in {operator:?}").unwrap();
    }
    for op in trace.ops.ids().map(|id| trace.ops.row(id)) {
        let stream = trace.streams.row(op.stream);
        let context = trace.contexts.row(stream.context);
        let process = context.process.some().map_or(-1, |process| trace.processes.row(process).pid);
        let device = trace.devices.row(context.device).ordinal;
        let place =
            format!("process {process} device {device} context {} stream {}", context.number, stream.number);
        let call = op.call.some().map_or("no call", |call| trace.text(trace.calls.row(call).name));
        write!(out, "op {}..{} {place} {} {:?} by {call}", op.start, op.end, op.kind, trace.text(op.name))
            .unwrap();
        write!(out, " | {} {} > {} {} B", op.copy, op.src, op.dst, op.bytes).unwrap();
        let grid = [op.grid_x, op.grid_y, op.grid_z];
        let block = [op.block_x, op.block_y, op.block_z];
        writeln!(out, " | {grid:?} {block:?} {} regs, {} B shared", op.registers, op.dynamic_shared).unwrap();
    }
    for sync in trace.syncs.ids().map(|id| trace.syncs.row(id)) {
        let call = sync.call.some().map_or("no call", |call| trace.text(trace.calls.row(call).name));
        writeln!(out, "sync {}..{} {} by {call}", sync.start, sync.end, sync.kind).unwrap();
    }
    out
}

fn thread(trace: &Trace, thread: ThreadId) -> String {
    let Some(thread) = thread.some().map(|thread| trace.threads.row(thread)) else { return "-".to_owned() };
    let process = trace.processes.row(thread.process);
    format!("{}({})/{}({})", process.pid, trace.text(process.name), thread.tid, trace.text(thread.name))
}

/// ` at inner < outer`, with files and lines.
fn stack(trace: &Trace, stack: StackId) -> String {
    let stacks = std::iter::successors(stack.some(), |stack| trace.stacks.row(*stack).caller.some());
    let frames = stacks.map(|stack| trace.frames.row(trace.stacks.row(stack).frame));
    let place = |frame: trace::Frame| {
        format!("{}:{} {}", trace.text(frame.file), frame.line, trace.text(frame.function))
    };
    let places: Vec<_> = frames.map(place).collect();
    if places.is_empty() { String::new() } else { format!(" at {}", places.join(" < ")) }
}
