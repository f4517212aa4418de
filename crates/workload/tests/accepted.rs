//! Workloads as text that can be run: those of `tests/data/accepted/` and of the manual.

use std::path::Path;

use workload::{Affinity, BarrierId, Call, Context, Loading, Number, Repeat, Schedule, Step, Workload};

fn accepted(name: &str) -> Workload {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/accepted").join(name);
    Workload::from_toml(&std::fs::read(path).unwrap(), name).unwrap()
}

#[test]
fn every_step_and_kernel_is_read() {
    let workload = accepted("everything.toml");
    let names: Vec<_> = workload.processes.iter().map(|process| process.name.as_str()).collect();
    assert_eq!(names, ["main", "worker-0", "worker-1", "worker-2"]);
    assert_eq!(workload.barriers[0].parties, 2);
    assert_eq!(workload.connections, Some(32));
    assert_eq!((workload.schedule, workload.affinity), (Schedule::Yield, Affinity::Node));
    assert_eq!(workload.loading, Some(Loading::Lazy));

    let main = &workload.processes[0];
    let threads: Vec<_> = main.threads.iter().map(|thread| (thread.name.as_str(), thread.delay_ns)).collect();
    assert_eq!(threads, [("A", 10_000_000), ("B", 0), ("own-0", 1_000_000), ("own-1", 6_000_000)]);
    assert_eq!(main.threads[2].repeat, Repeat::WhileOthers);
    let streams: Vec<_> = main.streams.iter().map(|stream| stream.name.as_str()).collect();
    assert_eq!(streams, ["d", "s", "t", "far", "made", "own-0.s", "own-1.s"]);
    let copy_bytes = |step: &Step| match step {
        Step::Call(Call::Copy { bytes, offset, stream, .. }) => (*bytes, *offset, stream.is_some()),
        other => panic!("{other:?}"),
    };
    assert_eq!(copy_bytes(&main.threads[0].body[2]), (1 << 20, Number::Is(0), false));
    let Step::Loop { times: 4, steps } = &main.threads[0].body[4] else {
        panic!("{:?}", main.threads[0].body[4])
    };
    assert_eq!(copy_bytes(&steps[0]), (256 << 10, Number::Index { first: 0, each: 256 << 10 }, true));
    assert_eq!(main.threads[0].before[0], Step::Call(Call::Meet { barrier: BarrierId(0) }));

    for (device, worker) in (0..).zip(&workload.processes[1..]) {
        assert_eq!(worker.contexts, [Context { device, primary: false }]);
        assert_eq!(worker.threads[0].repeat, Repeat::For(10_000_000));
    }
}

/// The manual's blocks of a kind.
fn blocks(kind: &str) -> Vec<String> {
    let manual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/workload.md");
    let manual = std::fs::read_to_string(manual).unwrap();
    let start = format!("```{kind}\n");
    manual.split(&start).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// Its full examples; other blocks are parts.
fn examples() -> Vec<String> {
    let mut blocks = blocks("toml");
    blocks.retain(|block| block.starts_with("name = "));
    blocks
}

#[test]
fn the_manual_shows_valid_workloads() {
    let examples = examples();
    assert_eq!(examples.len(), 2);
    for text in examples {
        let workload = Workload::from_toml(text.as_bytes(), "docs/workload.md").unwrap();
        let again = workload.to_toml();
        assert_eq!(Workload::from_toml(again.as_bytes(), "again").unwrap(), workload, "{again}");
    }
}

#[test]
fn the_manual_shows_the_error_of_a_mistake() {
    let copy = "copy = [\"device\", \"host\"]";
    let mistaken = examples()[0].replace(copy, &format!("{copy}, bytes = \"512 MB\""));
    let said = Workload::from_toml(mistaken.as_bytes(), "stall.toml").unwrap_err().to_string();
    assert_eq!(blocks("text"), [said + "\n"]);
}
