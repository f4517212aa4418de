//! Kineto's layouts since 2020 and what goes wrong with them: `data/kineto/NAME/trace.json` in, all
//! tables out. `HOLDUP_UPDATE=1` rewrites the expected files.

use flate2::{Compression, write::GzEncoder};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use trace::{StackId, ThreadId, Trace};

#[test]
fn every_layout_reads_as_expected() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/kineto");
    let update = std::env::var_os("HOLDUP_UPDATE").is_some();
    let mut cases: Vec<_> = std::fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    assert!(cases.len() >= 20, "cases are missing from {}", data.display());
    let mut wrong = Vec::new();
    for case in cases {
        let bytes = std::fs::read(case.join("trace.json")).unwrap();
        let read = read(&bytes);
        let expected = case.join("expected.txt");
        if update {
            std::fs::write(&expected, &read).unwrap();
        } else if std::fs::read_to_string(&expected).unwrap_or_default() != read {
            wrong.push(format!("{}:\n{read}", case.display()));
        }
    }
    assert!(wrong.is_empty(), "differ from expected.txt:\n{}", wrong.join("\n"));
}

fn read(bytes: &[u8]) -> String {
    match import::read_bytes(bytes, "trace") {
        Ok(trace) => dump(&trace),
        Err(error) => format!("error: {error}\n"),
    }
}

/// All tables with the names that their rows refer to, a line a row.
fn dump(trace: &Trace) -> String {
    let mut out = String::new();
    let meta = &trace.meta;
    let known = [&meta.source_version, &meta.driver, &meta.runtime].map(String::as_str).join(" | ");
    writeln!(out, "{} | {known} | epoch {:?} | {:?}", meta.source.id(), meta.epoch_unix_ns, meta.clock)
        .unwrap();
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

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A trace of so many calls, 10 µs apart.
fn calls(count: usize) -> String {
    let call = |at: usize| {
        let start = at * 10;
        format!(
            r#"{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 2, "ts": {start}.250, "dur": 5, "args": {{"correlation": {at}}}}}"#
        )
    };
    let events: Vec<_> = (1..=count).map(call).collect();
    format!("{{\"schemaVersion\": 1, \"traceEvents\": [\n{}\n]}}", events.join(",\n"))
}

#[test]
fn gzip_reads_like_what_it_holds() {
    let text = calls(2000);
    let whole = read(text.as_bytes());
    assert_eq!(whole.lines().filter(|line| line.starts_with("call ")).count(), 2000);
    assert_eq!(read(&gzip(text.as_bytes())), whole);
    let (front, back) = text.as_bytes().split_at(text.len() / 3);
    assert_eq!(read(&[gzip(front), gzip(back)].concat()), whole, "members one after another");
}

#[test]
fn cut_gzip_is_read_as_far_as_it_goes() {
    let packed = gzip(calls(5000).as_bytes());
    let trace = import::read_bytes(&packed[..packed.len() / 2], "cut").unwrap();
    assert!(trace.meta.lost.truncated);
    assert!((100..5000).contains(&trace.calls.len()), "{}", trace.calls.len());
    assert!(!trace.meta.notes.is_empty(), "the damage is said");
    for short in [2, 10, 18] {
        assert!(import::read_bytes(&packed[..short], "cut").is_err(), "nothing to read in {short} bytes");
    }
}

#[test]
fn gzip_of_anything_else_is_refused() {
    for inner in [b"PK\x03\x04".as_slice(), b"SQLite format 3\0", &gzip(b"{}"), b"\0\0\0\0", b"hello"] {
        let error = import::read_bytes(&gzip(inner), "other").err().expect("no trace");
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn every_cut_of_a_text_is_read_or_refused() {
    let text = calls(20);
    let events = text.find('[').unwrap();
    for end in 1..text.len() {
        match import::read_bytes(&text.as_bytes()[..end], "cut") {
            Ok(trace) => {
                assert!(end > events, "{end}");
                let whole = text[..end].matches("}}").count();
                assert_eq!(trace.calls.len(), whole, "{end}");
                assert!(trace.meta.lost.truncated, "{end}");
            }
            Err(error) => assert!(end <= events, "{end}: {error}"),
        }
    }
}

#[test]
fn nesting_without_end_does_not_end_the_stack() {
    let deep =
        format!(r#"{{"schemaVersion": 1, "traceEvents": [{{"ph": "X", "args": {}"#, "[".repeat(1 << 20));
    let trace = import::read_bytes(deep.as_bytes(), "deep").unwrap();
    assert!(trace.meta.lost.truncated && trace.calls.is_empty());
}

#[test]
fn zero_bytes_behind_a_trace_are_an_early_end() {
    let mut text = calls(10).into_bytes();
    text.truncate(text.len() - 2);
    text.resize(text.len() + 100_000, 0);
    let trace = import::read_bytes(&text, "sparse").unwrap();
    assert_eq!(trace.calls.len(), 10);
    assert!(trace.meta.lost.truncated);
}
