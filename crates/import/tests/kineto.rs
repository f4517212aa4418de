//! Faults in Kineto's files, and gzip; `cases.rs` has their layouts since 2020.

mod dump;

use dump::read;
use flate2::{Compression, write::GzEncoder};
use std::io::Write as _;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A trace of `count` calls, 10 µs apart.
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
    assert!(!trace.meta.notes.is_empty(), "the damage is noted");
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
fn zero_bytes_after_a_trace_are_an_early_end() {
    let mut text = calls(10).into_bytes();
    text.truncate(text.len() - 2);
    text.resize(text.len() + 100_000, 0);
    let trace = import::read_bytes(&text, "sparse").unwrap();
    assert_eq!(trace.calls.len(), 10);
    assert!(trace.meta.lost.truncated);
}
