//! Waits for events and streams, and for those of the same name that come after them.

use crate::support::run;
use sim::{Model, Options};
use std::time::Duration;
use workload::{Repeat, Workload};

/// A delay of a second on an H200.
const SECOND: &str = r#"{ launch = "delay", cycles = 1980000000, grid = 1, block = 1, stream = "a" }"#;

/// How long a thread's body of these steps takes, s.
fn seconds(steps: &str) -> f64 {
    let text = format!(
        r#"name = "order"
[[process]]
name = "main"
[process.streams]
a = "non-blocking"
b = "non-blocking"
[process.events]
e = "plain"
f = "plain"
[[process.thread]]
name = "A"
body = [{steps}]
"#
    )
    .replace("SECOND", SECOND);
    let workload =
        Workload::from_toml(text.as_bytes(), "order.toml").unwrap_or_else(|error| panic!("{error}"));
    run(&workload, "h200").threads[0].elapsed_ns as f64 / 1e9
}

#[test]
fn an_event_includes_what_its_stream_waits_for() {
    const ORDERED: &str = r#"SECOND, { record = "e", stream = "a" }, { wait = "e", stream = "b" }, "#;
    let behind = [
        r#"{ synchronize = "b" }"#,
        r#"{ record = "f", stream = "b" }, { synchronize-event = "f" }"#,
        r#"{ launch = "empty", stream = "b", grid = 1, block = 1 }, { synchronize = "b" }"#,
        // Once more, by way of a third event and stream.
        r#"{ record = "f", stream = "b" }, { wait = "f", stream = "b" }, { synchronize = "b" }"#,
    ];
    for steps in behind {
        let took = seconds(&format!("{ORDERED}{steps}"));
        assert!((1.0..1.01).contains(&took), "{steps}: {took} s");
    }
    let took = seconds(ORDERED);
    assert!(took < 0.01, "nothing waits: {took} s");
}

#[test]
fn one_thread_of_a_process_at_a_time_has_its_lock() {
    let mut workload = Workload::new("turns");
    for (name, threads) in [("several", 3), ("alone", 1)] {
        let process = workload.process(name);
        let context = process.primary(0);
        for thread in 0..threads {
            let thread = process.thread(format!("{name} {thread}"), context);
            thread.body().hold(Duration::from_micros(10)).work(Duration::from_micros(15));
            thread.repeat = Repeat::Times(2);
        }
    }
    let mut model = Model::load("h200").expect("built in");
    model.host.handoff_ns = 1_000;
    let (outcome, _) = sim::run(&workload, &model, Options::default()).expect("it runs");
    let ends: Vec<u64> = outcome.threads.iter().map(|thread| thread.elapsed_ns).collect();
    // The first thread works until 25 µs, and the others have the lock until 32: from then on each sleeps for it.
    assert_eq!(ends, [58_000, 69_000, 80_000, 50_000]);
}

#[test]
fn a_recreated_stream_or_event_has_no_history() {
    const STREAM: &str =
        r#"{ create-stream = "a" }, SECOND, { destroy-stream = "a" }, { create-stream = "a" }, "#;
    const EVENT: &str = r#"{ create-event = "e" }, SECOND, { record = "e", stream = "a" }, { destroy-event = "e" },
        { create-event = "e" }, "#;
    let cases = [
        (STREAM, r#"{ synchronize = "a" }"#, 0.0),
        (STREAM, r#"{ launch = "empty", stream = "a", grid = 1, block = 1 }, { synchronize = "a" }"#, 0.0),
        (STREAM, r#""synchronize-context""#, 1.0),
        (EVENT, r#"{ synchronize-event = "e" }"#, 0.0),
        (EVENT, r#"{ synchronize = "a" }"#, 1.0),
    ];
    for (before, steps, expected) in cases {
        let took = seconds(&format!("{before}{steps}"));
        assert!((expected..expected + 0.01).contains(&took), "{before}{steps}: {took} s");
    }
}
