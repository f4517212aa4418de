//! Exports for viewers: small timelines compared exactly, examples by their counts, and traces with arbitrary values.

mod read;
#[path = "../../explain/tests/timeline/mod.rs"]
mod timeline;

use explain::Options;
use export::Export;
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use trace::*;

/// Both exports of a trace, and its losses.
struct Drawn {
    perfetto: read::Opened,
    chrome: String,
    losses: Vec<explain::Loss>,
}

fn draw(trace: &Trace) -> Drawn {
    let (explanation, losses) = explain::explain_each(trace, &Options::default());
    for overlap in &explanation.overlap {
        assert!(overlap.explained_ns() <= overlap.missed_ns(), "more overlap lost than was possible");
    }
    check_accounts(&explanation.accounts);
    let export = Export { trace, explanation: &explanation, losses: &losses };
    let (mut perfetto, mut chrome) = (Vec::new(), Vec::new());
    export::perfetto(&export, &mut perfetto, &mut |_| {}).expect("memory takes all");
    export::chrome(&export, &mut chrome, &mut |_| {}).expect("memory takes all");
    let chrome = String::from_utf8(chrome).expect("JSON is UTF-8");
    Drawn { perfetto: read::open(&perfetto), chrome, losses }
}

/// Checks that the parts of every account add up to its time.
fn check_accounts(accounts: &explain::Accounts) {
    let sum = |parts: &[explain::AccountPart]| parts.iter().map(|part| part.ns).sum::<Ns>();
    for gpu in &accounts.gpus {
        assert_eq!(gpu.busy_ns + sum(&gpu.idle), gpu.span_ns, "GPU {}", gpu.device);
    }
    for thread in &accounts.threads {
        assert_eq!(sum(&thread.parts), thread.span_ns, "thread {}", thread.tid);
    }
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn cases(data: &Path) -> Vec<PathBuf> {
    let mut cases: Vec<_> = std::fs::read_dir(data).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    cases
}

fn timeline_of(case: &Path) -> Trace {
    timeline::parse(&std::fs::read_to_string(case.join("trace.txt")).unwrap()).0
}

#[test]
fn small_timelines_are_drawn_as_expected() {
    let cases = cases(&crates().join("export/tests/data"));
    assert!(cases.len() >= 4, "cases are missing");
    for case in cases {
        let drawn = draw(&timeline_of(&case));
        for (file, text) in [("perfetto.txt", drawn.perfetto.text()), ("chrome.json", drawn.chrome)] {
            expect_test::expect_file![case.join(file)].assert_eq(&text);
        }
        let trace = timeline_of(&case);
        if !trace.samples.is_empty() {
            for (file, text) in [("speedscope.json", speedscope(&trace)), ("folded.txt", folded(&trace))] {
                expect_test::expect_file![case.join(file)].assert_eq(&text);
            }
        }
    }
}

fn speedscope(trace: &Trace) -> String {
    let mut written = Vec::new();
    export::speedscope(trace, &mut written).expect("memory takes all");
    let version = concat!("holdup ", env!("CARGO_PKG_VERSION"));
    String::from_utf8(written).expect("JSON is UTF-8").replace(version, "holdup")
}

fn folded(trace: &Trace) -> String {
    let mut written = Vec::new();
    export::folded(trace, &mut written).expect("memory takes all");
    String::from_utf8(written).expect("text is UTF-8")
}

/// Checks that each sample of a thread is in one flame, with frames of the dictionary.
fn check_flames(trace: &Trace) {
    let document: Value = serde_json::from_str(&speedscope(trace)).expect("valid JSON");
    let frames = document["shared"]["frames"].as_array().expect("frames").len() as u64;
    let mut samples = 0;
    for profile in document["profiles"].as_array().expect("profiles") {
        let stacks = profile["samples"].as_array().expect("stacks");
        assert_eq!(stacks.len(), profile["weights"].as_array().expect("weights").len());
        let numbers = stacks.iter().flat_map(|stack| stack.as_array().expect("frames"));
        assert!(numbers.map(|number| number.as_u64().expect("a number")).all(|number| number < frames));
        assert!(stacks.iter().all(|stack| !stack.as_array().expect("frames").is_empty()));
        samples += stacks.len() as u64;
    }
    assert_eq!(samples, trace.samples.thread.iter().filter(|thread| thread.is_some()).count() as u64);
    let folded = folded(trace);
    let count = |line: &str| line.rsplit(' ').next().expect("a count").parse::<u64>().expect("a number");
    assert_eq!(folded.lines().map(count).sum::<u64>(), samples);
}

/// Counts of complete events by category, and of arrows' ends.
fn counts(events: &[Value]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for event in events {
        let phase = event["ph"].as_str().expect("a phase");
        let category = event["cat"].as_str().unwrap_or_default();
        let key = if phase == "X" { category.to_owned() } else { format!("{phase} {category}") };
        *counts.entry(key).or_default() += 1;
    }
    counts
}

/// Number of operations of devices that both copy from or to the host and compute: these have one row per engine.
fn on_engines(trace: &Trace) -> usize {
    let ops = &trace.ops;
    let of = |device: DeviceId| {
        let on = |at: &usize| trace.device_of_stream(ops.stream[*at]) == device;
        let copies = |at: usize| ops.copy[at].to_device() || ops.copy[at].to_host();
        let own: Vec<usize> = (0..ops.len()).filter(on).collect();
        let copying = own.iter().any(|at| ops.kind[*at] == OpKind::Copy && copies(*at));
        let computing = own.iter().any(|at| ops.kind[*at] != OpKind::Copy);
        if copying && computing { own.len() } else { 0 }
    };
    trace.devices.ids().map(of).sum()
}

/// The threads that a wait for a lock that is not CUDA's was for: its holder and its releaser.
fn parties(wait: &Wait) -> usize {
    let known = |thread: &ThreadId| thread.is_some() && *thread != wait.thread;
    let one = wait.holder == wait.releaser;
    let drawn = !wait.layer.is_cuda() && wait.end > wait.start;
    let parties = [wait.holder, wait.releaser].iter().filter(|thread| known(thread)).count();
    if drawn { if one { parties / 2 } else { parties } } else { 0 }
}

/// Checks what must hold for any trace: both exports draw every call, operation, range, wait and state once, and an
/// operation again on its engine; arrows have two ends; all samples are there.
fn check(trace: &Trace) -> Drawn {
    let drawn = draw(trace);
    let opened = &drawn.perfetto;
    let chrome: Value = serde_json::from_str(&drawn.chrome).expect("valid JSON");
    let counts = counts(chrome["traceEvents"].as_array().expect("events"));
    let of = |categories: &[&str]| {
        let shown: usize = categories.iter().map(|category| opened.of(category).count()).sum();
        let in_chrome: usize =
            categories.iter().map(|category| counts.get(*category).copied().unwrap_or(0)).sum();
        assert_eq!(shown, in_chrome, "{categories:?}");
        shown
    };
    assert_eq!(of(&["call"]), trace.calls.len());
    assert_eq!(of(&["kernel", "memcpy", "memset", "operation"]), trace.ops.len());
    assert_eq!(of(&["engine"]), on_engines(trace));
    assert_eq!(of(&["operator", "user", "python", "overhead", "range"]), trace.ranges.len());
    assert_eq!(of(&["wait"]), trace.waits.len());
    let waits: Vec<Wait> = trace.waits.ids().map(|wait| trace.waits.row(wait)).collect();
    let lock_waits = waits.iter().filter(|wait| wait.layer.is_cuda()).count();
    assert_eq!(of(&["loss"]), drawn.losses.len() - lock_waits);
    let arrows: usize = waits.iter().map(parties).sum();
    assert_eq!(of(&["release"]), arrows);
    assert_eq!(of(&["state"]), trace.states.len());
    assert_eq!(opened.samples.len(), trace.samples.len());
    assert_eq!(counts.get("P sample").copied().unwrap_or(0), trace.samples.len());
    check_stacks(trace, &drawn, &chrome);
    check_flames(trace);
    let mut flows = BTreeMap::<u64, usize>::new();
    for (flow, _) in opened.slices.iter().flat_map(|slice| &slice.flows) {
        *flows.entry(*flow).or_default() += 1;
    }
    assert!(flows.values().all(|ends| *ends == 2), "an arrow without an end");
    let joined = trace.ops.call.iter().filter(|call| call.is_some()).count();
    let blamed = drawn.losses.iter().filter(|loss| loss.holder_call.is_some()).count();
    assert_eq!(flows.len(), joined + blamed + arrows);
    let to_waits = blamed + arrows;
    for (phase, category, wanted) in
        [("s", "call", joined), ("f", "call", joined), ("s", "wait", to_waits), ("f", "wait", to_waits)]
    {
        assert_eq!(counts.get(&format!("{phase} {category}")).copied().unwrap_or(0), wanted);
    }
    for values in opened.counters.values() {
        assert!(values.is_sorted_by(|a, b| a.0 < b.0) && values.iter().all(|(_, value)| *value >= 0.0));
        assert_eq!(values.last().expect("a value").1, 0.0);
    }
    drawn
}

/// Checks that each sample has its stack in both exports, from the outermost frame on.
fn check_stacks(trace: &Trace, drawn: &Drawn, chrome: &Value) {
    let events = chrome["traceEvents"].as_array().expect("events");
    let events = events.iter().filter(|event| event["ph"] == "P");
    for ((sample, shown), event) in trace.samples.ids().zip(&drawn.perfetto.samples).zip(events) {
        let innermost = trace.samples.stack[sample.index()].some();
        let stacks = std::iter::successors(innermost, |stack| trace.stacks.caller[stack.index()].some());
        let frames = stacks.filter_map(|stack| trace.stacks.frame[stack.index()].some());
        let name = |frame: FrameId| trace.text(trace.frames.row(frame).function);
        let mut names: Vec<&str> = frames.map(name).collect();
        let mut of_chrome = Vec::new();
        let mut next = event["sf"].as_i64().map(|number| number.to_string());
        while let Some(number) = next {
            let frame = &chrome["stackFrames"][number.as_str()];
            of_chrome.push(frame["name"].as_str().expect("a name"));
            next = frame["parent"].as_str().map(str::to_owned);
        }
        let begin = |(shown, name): (&&str, &&str)| shown.starts_with(name);
        assert!(of_chrome.len() == names.len() && of_chrome.iter().zip(&names).all(begin), "{of_chrome:?}");
        names.reverse();
        let shown: Vec<&str> = shown.frames.iter().map(|frame| frame.split_once('!').unwrap().1).collect();
        let names: Vec<String> = names.iter().map(|name| name.replace('\0', "\u{2400}")).collect();
        let begin = |(shown, name): (&&str, &String)| shown.starts_with(name.as_str());
        assert!(shown.len() == names.len() && shown.iter().zip(&names).all(begin), "{shown:?}");
    }
}

#[test]
fn every_timeline_of_the_rules_is_drawn_whole() {
    let cases = cases(&crates().join("explain/tests/data"));
    assert!(cases.len() > 50);
    for case in cases {
        check(&timeline_of(&case));
    }
}

#[test]
fn every_example_is_drawn_whole() {
    let is_trace = |path: &PathBuf| {
        let name = path.to_str().expect("UTF-8");
        name.ends_with(".holdup") || name.ends_with(".json.gz")
    };
    let waits_of = |example: &Path| {
        let trace = import::open(example, &mut |_| {}).expect("readable");
        // A large example has the same again and again.
        let is_large = trace.calls.len() > 20_000;
        let part = Selection { to: is_large.then_some(300_000_000), ..Selection::default() };
        let trace = trace.cut(&part);
        assert!(!is_large || trace.calls.len() > 10_000, "{}", example.display());
        check(&trace);
        trace.waits.len()
    };
    let examples: Vec<PathBuf> = cases(&crates().join("../examples")).into_iter().filter(is_trace).collect();
    let waits: usize = std::thread::scope(|scope| {
        let drawn: Vec<_> = examples.iter().map(|example| scope.spawn(move || waits_of(example))).collect();
        drawn.into_iter().map(|example| example.join().expect("its thread's message says why not")).sum()
    });
    assert!(waits > 1000, "{waits} waits: the examples have too few");
}

/// Names that break careless writers.
fn hostile_names() -> Vec<String> {
    let mut names: Vec<String> = [
        "<script>alert(1)</script>",
        "\"]}",
        "'\\\"",
        "\\",
        "\\u0000",
        "a\nb\r\tc",
        "nul\0nul",
        "\x1b[31m\x07\x7f",
        "\u{202e}gpj.exe",
        "\u{feff}bom",
        "=1+1",
        "\u{1f4a5} µ ✓",
        "\u{fffd}",
        "%s%n",
        "",
        " ",
        "{\"ph\":\"X\"}",
        "null",
    ]
    .iter()
    .map(|name| (*name).to_owned())
    .collect();
    names.push("m".repeat(1 << 20));
    names.push(String::from_utf8_lossy(b"\xff\xfe invalid \xc3").into_owned());
    names
}

/// A trace with `name` in every place that has a name.
fn named(name: &str) -> Trace {
    let mut trace = Trace::default();
    let name = trace.strings.intern(name);
    let process = trace.processes.push(Process { pid: 5, name, ..Process::default() });
    let thread = trace.threads.push(Thread { process, tid: 7, name, ..Thread::default() });
    let other = trace.threads.push(Thread { process, tid: 8, name, ..Thread::default() });
    let device = trace.devices.push(Device { name, ..Device::default() });
    let context = trace.contexts.push(Context { process, device, number: 1 });
    let stream = trace.streams.push(Stream { context, number: 7 });
    let frame = trace.frames.push(Frame { function: name, file: name, line: 3, module: name });
    let stack = trace.stacks.push(Stack { frame, caller: StackId::NONE });
    let range = trace.ranges.push(Range {
        end: 2_000_000,
        thread,
        name,
        stack,
        kind: RangeKind::User,
        ..Range::default()
    });
    let of =
        |thread, start| Call { start, end: start + 1_000_000, thread, name, stack, range, ..Call::default() };
    let holder_call = trace.calls.push(of(other, 10));
    let call = trace.calls.push(Call { correlation: 1, ..of(thread, 20) });
    trace.ops.push(Op {
        start: 50,
        end: 90,
        kind: OpKind::Kernel,
        name,
        stream,
        call,
        correlation: 1,
        ..Op::default()
    });
    let wait = Wait {
        start: 30,
        end: 900_000,
        thread,
        call,
        library: name,
        holder: other,
        holder_call,
        ..Wait::default()
    };
    trace.waits.push(wait);
    let layer = LockLayer::Interpreter;
    trace.waits.push(Wait {
        layer,
        stack,
        holder_stack: stack,
        releaser: other,
        releaser_stack: stack,
        ..wait
    });
    trace.states.push(State { end: 9, thread, call: name, object: 5, ..State::default() });
    trace.samples.push(Sample { at: 4, thread, stack, ..Sample::default() });
    trace.meta.command = trace.text(name).to_owned();
    trace.meta.notes.push(trace.text(name).to_owned());
    trace.meta.lost.records(trace.strings.text(name), 2);
    trace
}

#[test]
fn hostile_names_stay_names() {
    for name in hostile_names() {
        let trace = named(&name);
        let drawn = check(&trace);
        let written = name.replace('\0', "\u{2400}");
        let short = &name[..name.len().min(20)];
        for category in ["call", "kernel", "user"] {
            let kernel = category == "kernel" && name.is_empty();
            let expected = if kernel { "[unnamed]" } else { &written };
            assert!(drawn.perfetto.of(category).all(|slice| slice.name == expected), "{short:?}");
        }
        let chrome: Value = serde_json::from_str(&drawn.chrome).expect("valid JSON");
        let events = chrome["traceEvents"].as_array().expect("events");
        assert_eq!(
            events
                .iter()
                .filter(|event| event["cat"] == "call" && event["ph"] == "X" && event["name"] == *name)
                .count(),
            2
        );
        let waits = drawn.perfetto.of("wait");
        let of_library = |slice: &read::Slice| slice.args.contains(&("library".to_owned(), written.clone()));
        assert!(waits.into_iter().all(of_library), "{short:?}");
    }
}

/// Bytes that are not UTF-8 reach an export through an import.
#[test]
fn invalid_utf8_from_a_file_is_exported() {
    let mut json = br#"{"schemaVersion": 1, "traceEvents": [
        {"ph": "X", "cat": "cuda_runtime", "name": ""#
        .to_vec();
    json.extend_from_slice(b"bad\xff\xc3(name");
    json.extend_from_slice(br#"", "pid": 1, "tid": 2, "ts": 5, "dur": 900, "args": {"correlation": 1}}]}"#);
    let drawn = check(&import::read_bytes(&json, "test").expect("readable"));
    let calls: Vec<_> = drawn.perfetto.of("call").collect();
    assert_eq!(calls.len(), 1);
    assert!(calls[0].name.contains('\u{fffd}'), "{}", calls[0].name);
}

#[test]
fn an_export_is_not_read_as_a_trace() {
    let chrome = draw(&named("saxpy")).chrome;
    let error = import::read_bytes(chrome.as_bytes(), "x.json").err().expect("refused").to_string();
    assert!(error.contains("holdup export --format chrome") && error.contains("name the trace"), "{error}");
    let stream = import::read_bytes(&[b" \n", chrome.as_bytes()].concat(), "x.json");
    assert!(stream.is_err());
}

#[test]
fn a_trace_of_nothing_is_drawn() {
    let drawn = check(&Trace::default());
    assert!(drawn.perfetto.slices.is_empty());
}

/// A row number of a table, or none.
fn id<T>(rows: usize, new: fn(usize) -> T, none: T, pick: usize) -> T {
    if rows == 0 || pick % (rows + 1) == rows { none } else { new(pick % (rows + 1)) }
}

/// A random event: kind, start, length, and the rows that it refers to.
type Event = (u8, i64, i64, usize, usize, i64);

/// A trace whose rows refer to random rows or to none.
fn odd_trace(
    pids: &[i64],
    threads: &[(usize, i64)],
    work: &[(usize, usize, i64)],
    events: &[Event],
) -> Trace {
    let mut trace = Trace::default();
    let names =
        ["cudaMemcpyAsync", "cudaLaunchKernel", "cuMemFree", "", "k"].map(|name| trace.strings.intern(name));
    for pid in pids {
        trace.processes.push(Process { pid: *pid, ..Process::default() });
    }
    for (process, tid) in threads {
        let process = id(pids.len(), ProcessId::new, ProcessId::NONE, *process);
        trace.threads.push(Thread { process, tid: *tid, ..Thread::default() });
    }
    for ordinal in 0..2 {
        trace.devices.push(Device { ordinal, ..Device::default() });
    }
    for (process, device, number) in work {
        let process = id(pids.len(), ProcessId::new, ProcessId::NONE, *process);
        let device = id(2, DeviceId::new, DeviceId::NONE, *device);
        let context = trace.contexts.push(Context { process, device, number: 1 });
        let context = if *number == 0 { ContextId::NONE } else { context };
        trace.streams.push(Stream { context, number: *number });
    }
    for event in events {
        odd_event(&mut trace, names[event.3 % names.len()], event);
    }
    trace.fit();
    trace
}

fn odd_event(trace: &mut Trace, name: Sym, &(kind, start, length, a, b, number): &Event) {
    // Long enough to be slow.
    let (start, end) = (start * 10_000, (start + length) * 10_000);
    let thread = id(trace.threads.len(), ThreadId::new, ThreadId::NONE, a);
    let holder = id(trace.threads.len(), ThreadId::new, ThreadId::NONE, b);
    let call = id(trace.calls.len(), CallId::new, CallId::NONE, a);
    let holder_call = id(trace.calls.len(), CallId::new, CallId::NONE, b);
    let stream = id(trace.streams.len(), StreamId::new, StreamId::NONE, b);
    let copy = CopyKind::DtoH;
    match kind {
        0 => _ = trace.calls.push(Call { start, end, thread, name, correlation: number, ..Call::default() }),
        1 => _ = trace.ops.push(Op { start, end, kind: OpKind::Kernel, name, stream, call, ..Op::default() }),
        2 => {
            let kind = OpKind::Copy;
            _ = trace.ops.push(Op { start, end, kind, bytes: number, copy, stream, call, ..Op::default() });
        }
        3 => _ = trace.ranges.push(Range { start, end, thread, name, ..Range::default() }),
        4 => {
            let (running, runnable) = (number % 900_000, a as i64 * 10_000);
            _ = trace.states.push(State {
                start,
                end,
                thread,
                running,
                runnable,
                call: name,
                ..State::default()
            });
        }
        5 => {
            let frame = trace.frames.push(Frame { function: name, ..Frame::default() });
            let frame = if b % 7 == 0 { FrameId::NONE } else { frame };
            let caller = id(trace.stacks.len(), StackId::new, StackId::NONE, a);
            let stack = trace.stacks.push(Stack { frame, caller });
            let stack = if a % 5 == 0 { StackId::NONE } else { stack };
            _ = trace.samples.push(Sample { at: start, thread, stack, ..Sample::default() });
        }
        _ => {
            let library = name;
            _ = trace.waits.push(Wait {
                start,
                end,
                thread,
                call,
                holder,
                holder_call,
                library,
                kind: LockKind::ALL[b % LockKind::ALL.len()],
                layer: LockLayer::ALL[a % LockLayer::ALL.len()],
                handoff: number,
                releaser: id(trace.threads.len(), ThreadId::new, ThreadId::NONE, a / 3),
                ..Wait::default()
            });
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn any_trace_is_drawn_whole(
        pids in prop::collection::vec(prop_oneof![Just(0i64), Just(5), Just(-3), any::<i64>()], 0..4),
        threads in prop::collection::vec((0usize..5, prop_oneof![Just(7i64), Just(0), Just(1_000_000_000), any::<i64>()]), 0..5),
        work in prop::collection::vec((0usize..4, 0usize..4, 0i64..9), 0..5),
        events in prop::collection::vec((0u8..8, -50i64..50, 0i64..60, 0usize..100, 0usize..100, any::<i64>()), 0..60),
    ) {
        check(&odd_trace(&pids, &threads, &work, &events));
    }
}
