//! The made-up trace is valid, repeatable, and holds what its summary says.

use super::{Options, Summary, write};
use serde_json::Value;

const OPTIONS: Options = Options { size: 0, seed: 1, stacks: true, dense: false };

fn trace(options: &Options, steps: u64) -> (Vec<u8>, Summary) {
    let mut text = Vec::new();
    let summary = write(options, steps, &mut text).unwrap();
    (text, summary)
}

fn events(text: &[u8]) -> Vec<Value> {
    let mut trace: Value = serde_json::from_slice(text).unwrap();
    let Value::Array(events) = trace["traceEvents"].take() else { panic!("no events") };
    events
}

fn of<'a>(events: &'a [Value], category: &'a str) -> impl Iterator<Item = &'a Value> {
    events.iter().filter(move |event| event["cat"] == category)
}

/// Microseconds with three decimals, exact where it matters here: durations.
fn duration(event: &Value) -> i64 {
    (event["dur"].as_f64().unwrap() * 1000.0).round() as i64
}

#[test]
fn repeats_to_the_byte_and_changes_with_the_seed() {
    let (first, _) = trace(&OPTIONS, 10);
    assert!(first == trace(&OPTIONS, 10).0);
    assert!(first != trace(&Options { seed: 2, ..OPTIONS }, 10).0);
}

#[test]
fn counts_what_it_writes() {
    let (text, summary) = trace(&OPTIONS, 70);
    let events = events(&text);
    assert_eq!(summary.bytes, text.len() as u64);
    for (category, count) in summary.counts.rows() {
        assert_eq!(of(&events, category).count() as u64, count, "{category}");
        assert!(count > 0, "{category}");
    }
}

#[test]
fn a_dense_trace_has_the_same_calls_in_fewer_bytes() {
    let (text, full) = trace(&Options { stacks: false, ..OPTIONS }, 70);
    let (dense, made) = trace(&Options { stacks: false, dense: true, ..OPTIONS }, 70);
    assert!(5 * dense.len() < 2 * text.len(), "{} of {}", dense.len(), text.len());
    let of_cuda =
        |summary: &Summary| [summary.counts.cuda_runtime, summary.counts.kernel, summary.counts.gpu_memcpy];
    assert_eq!(of_cuda(&made), of_cuda(&full));
    assert_eq!((made.counts.cpu_op, made.counts.ac2g), (0, 0));
    assert_eq!(of(&events(&dense), "kernel").count() as u64, made.counts.kernel);
}

#[test]
fn the_only_long_calls_are_the_planted_ones() {
    let (text, summary) = trace(&OPTIONS, 200);
    let events = events(&text);
    let long: Vec<&Value> = of(&events, "cuda_runtime").filter(|call| duration(call) >= 100_000).collect();
    let total = |name: &str, tid: u64| {
        let calls = long.iter().filter(|call| call["name"] == name && call["tid"] == tid);
        calls.map(|call| duration(call)).sum::<i64>()
    };
    assert_eq!(summary.planted.count, 4);
    assert_eq!(long.len(), 8);
    assert_eq!(total("cudaLaunchKernel", 48_213), summary.planted.waited);
    assert_eq!(total("cudaMemcpyAsync", 48_402), summary.planted.copying);
}

#[test]
fn work_in_a_stream_follows_its_call_and_never_overlaps() {
    let (text, _) = trace(&OPTIONS, 200);
    let events = events(&text);
    let start = |event: &Value| (event["ts"].as_f64().unwrap() * 1000.0).round() as i64;
    let calls: std::collections::HashMap<u64, i64> = of(&events, "cuda_runtime")
        .map(|call| (call["args"]["correlation"].as_u64().unwrap(), start(call)))
        .collect();
    let gpu = ["kernel", "gpu_memcpy", "gpu_memset"];
    let mut ops: Vec<&Value> = gpu.into_iter().flat_map(|category| of(&events, category)).collect();
    ops.sort_by_key(|op| (op["tid"].as_u64(), start(op)));
    for op in &ops {
        assert!(calls[&op["args"]["correlation"].as_u64().unwrap()] < start(op));
    }
    // A double holds times of this size to half a microsecond.
    let apart = |pair: &[&Value]| start(pair[0]) + duration(pair[0]) <= start(pair[1]) + 1_000;
    assert!(ops.windows(2).filter(|pair| pair[0]["tid"] == pair[1]["tid"]).all(apart));
}
