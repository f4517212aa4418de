//! Cutting a text into blocks must never change what is read from it.

use super::{Text, import_in_blocks};
use proptest::prelude::*;
use std::fmt::Write;
use trace::Trace;

/// Everything that a reader of the trace can see.
fn dump(trace: &Trace) -> String {
    let mut out = format!("{:?}\n", trace.meta);
    for call in trace.calls.ids().map(|id| trace.calls.row(id)) {
        let stack = call.range.some().map(|range| trace.ranges.row(range));
        writeln!(out, "{} {call:?} {stack:?}", trace.text(call.name)).unwrap();
    }
    for op in trace.ops.ids().map(|id| trace.ops.row(id)) {
        writeln!(out, "{} {op:?}", trace.text(op.name)).unwrap();
    }
    for range in trace.ranges.ids().map(|id| trace.ranges.row(id)) {
        writeln!(out, "{} {range:?}", trace.text(range.name)).unwrap();
    }
    // Symbols are numbered in the order of blocks; their texts are compared above.
    strip_symbols(&out)
}

fn strip_symbols(text: &str) -> String {
    let mut parts = text.split("Sym(");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| out + part.split_once(')').map_or(part, |(_, rest)| rest))
}

fn read(text: &str, block_size: usize) -> String {
    match import_in_blocks(Text::Whole(text.as_bytes()), block_size, &mut |_| {}) {
        Ok(trace) => dump(&trace),
        Err(problem) => problem.to_string(),
    }
}

fn stream(text: &str, block_size: usize) -> String {
    match import_in_blocks(Text::Stream(&mut text.as_bytes()), block_size, &mut |_| {}) {
        Ok(trace) => dump(&trace),
        Err(problem) => problem.to_string(),
    }
}

/// Texts that look like the border between two events, and others.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,12}",
        Just("},\n  {\"ph\": \"X\", \"cat\": \"kernel\"".to_owned()),
        Just("}]}, {\"".to_owned()),
        Just("\\\" },{ \\\"".to_owned()),
        ".{0,20}",
    ]
}

prop_compose! {
    fn event()(
        category in prop::sample::select(vec!["cuda_runtime", "kernel", "gpu_memcpy", "cpu_op", "ac2g", "other"]),
        name in name(),
        tid in 1i64..4,
        start in 0u32..1_000_000,
        duration in 0u32..1000,
        correlation in 0i64..20,
        list in any::<bool>(),
    ) -> serde_json::Value {
        let nested = if list { serde_json::json!([{"a": 1}, {"b": [{"c": name}, {"ph": "X"}]}]) } else { 0.into() };
        serde_json::json!({
            "ph": "X", "cat": category, "name": name, "pid": 7, "tid": tid,
            "ts": start as f64 / 8.0, "dur": duration,
            "args": {"correlation": correlation, "External id": correlation, "stream": tid, "nested": nested}
        })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn blocks_of_any_size_read_the_same(
        events in prop::collection::vec(event(), 0..40),
        pretty in any::<bool>(),
        block in 20usize..2000,
        cut in prop::option::of(0.0..1.0f64),
    ) {
        let whole = serde_json::json!({"schemaVersion": 1, "traceEvents": events, "traceName": "t"});
        let mut text = match pretty {
            true => serde_json::to_string_pretty(&whole).unwrap(),
            false => whole.to_string(),
        };
        if let Some(cut) = cut {
            // A text that ends anywhere, also inside a character's bytes.
            let mut end = (text.len() as f64 * cut) as usize;
            while !text.is_char_boundary(end) { end -= 1; }
            text.truncate(end);
        }
        let expected = read(&text, usize::MAX / 4);
        prop_assert_eq!(read(&text, block), expected.clone());
        prop_assert_eq!(stream(&text, block), expected);
    }
}

#[test]
fn a_collective_has_its_communicator_and_bytes() {
    let kernel = |ranks: &str, more: &str| {
        format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 7, "ts": 5, "dur": 9, "args": {{"stream": 7,
            "Process Group Name": "tp", "Process Group Ranks": {ranks}, "In msg nelems": 1024{more}}}}}"#
        )
    };
    let events = [
        kernel("[0, 8]", r#", "dtype": "BFloat16""#),
        kernel(r#""[0, 8]""#, r#", "dtype": "Float""#),
        kernel("null", r#", "dtype": "unheard of""#),
        kernel("{}", ""),
    ];
    let text = format!(r#"{{"schemaVersion": 1, "traceEvents": [{}]}}"#, events.join(",\n"));
    let trace = import_in_blocks(Text::Whole(text.as_bytes()), 64, &mut |_| {}).expect("a trace");
    let found: Vec<_> = trace
        .ops
        .ids()
        .map(|op| trace.ops.row(op))
        .map(|op| (trace.text(op.communicator), op.bytes))
        .collect();
    assert_eq!(found, [("tp [0, 8]", 2048), ("tp [0, 8]", 4096), ("tp null", 0), ("tp", 0)]);
}
