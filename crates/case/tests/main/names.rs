//! No file of a case has a name of the program.

use crate::support::{case, example, explained, texts, traced};
use case::{Case, Wanted};
use std::collections::BTreeSet;
use trace::{Frame, Process, Range, RangeKind, Stack, State, Tally, Trace};
use workload::{Kernel, Memory, Repeat, StreamKind, Workload};

/// Texts of a recorded program that are its own: of its processes, threads, command line and machine, and what its stacks have outside of
/// packages and libraries.
fn own(trace: &Trace) -> BTreeSet<String> {
    let mut own = BTreeSet::new();
    let mut add = |text: &str| _ = own.insert(text.to_owned());
    let text = |sym| trace.text(sym);
    trace.processes.name.iter().chain(&trace.threads.name).for_each(|name| add(text(*name)));
    trace.meta.command.split_whitespace().for_each(&mut add);
    add(&trace.meta.host);
    for at in 0..trace.frames.len() {
        let [file, module, function] =
            [trace.frames.file[at], trace.frames.module[at], trace.frames.function[at]].map(text);
        let is_own = |path: &str| {
            path.starts_with("/tmp/") || path.starts_with("/home/") || path.starts_with("/root/")
        };
        if is_own(file) || file.is_empty() && is_own(module) {
            [file, module, function].into_iter().for_each(&mut add);
            file.rsplit('/').next().into_iter().for_each(&mut add);
        }
    }
    // Folders of the machine.
    for path in trace.frames.file.iter().chain(&trace.frames.module).map(|path| text(*path)) {
        if let Some((folder, _)) = path.split_once("site-packages/") {
            add(folder);
        }
    }
    let is_cuda = |text: &str| text.starts_with("cuda") || text.starts_with("libcudart_static");
    own.retain(|text| text.len() >= 4 && !is_cuda(text) && !text.starts_with("python") && text != "<module>");
    own
}

/// Whether a text has another one, not as a part of a longer name.
fn has(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}

#[test]
fn no_file_has_a_name_of_the_recorded_program() {
    for name in [
        "recorded-d2h-stall.holdup",
        "recorded-norm-hidden-sync.holdup",
        "recorded-launch-convoy.holdup",
        "recorded-staggered-copies.holdup",
        "pytorch-d2h-stall-operators.json.gz",
        "pytorch-hidden-sync.json.gz",
    ] {
        let trace = example(name);
        let made = case(&trace).unwrap_or_else(|problem| panic!("{name}: {problem:?}"));
        for secret in own(&trace) {
            let found = texts(&made).into_iter().find(|text| has(text, &secret));
            assert_eq!(found, None, "{name}: `{secret}` is in a file");
        }
    }
    let recorded = own(&example("recorded-d2h-stall.holdup"));
    assert!(recorded.iter().any(|text| text.contains("d2h_stall.py")), "the example has names: {recorded:?}");
}

/// A simulated trace with a row in every table that has texts.
fn full() -> Trace {
    let mut workload = Workload::new("w");
    let process = workload.process("p");
    let context = process.primary(0);
    let stream = process.stream("s", context, StreamKind::NonBlocking);
    let [device, host] = [Memory::Device, Memory::Pageable]
        .map(|memory| process.buffer(format!("{memory:?}"), context, memory, 64 << 20));
    let copier = process.thread("a", context);
    copier.before().allocate(device).allocate(host);
    copier.body().copy(device, host, 64 << 20, stream);
    copier.after().free(host).free(device);
    copier.repeat = Repeat::Times(10);
    let launcher = process.thread("b", context);
    launcher.body().launch(Kernel::Empty, 1, 32, stream);
    launcher.repeat = Repeat::WhileOthers;
    let mut trace = traced(&workload, "h200");
    let text = trace.strings.intern("text");
    let thread = trace.threads.ids().next().expect("there are two");
    let frame = trace.frames.push(Frame { function: text, file: text, line: 12, module: text });
    let stack = trace.stacks.push(Stack { frame, ..Stack::default() });
    trace.calls.stack.fill(stack);
    trace.waits.library.fill(text);
    trace.ops.communicator.fill(text);
    trace.devices.uuid.fill(text);
    let (start, end) = trace.span().expect("it ran");
    for kind in [RangeKind::User, RangeKind::Operator, RangeKind::Python] {
        trace.ranges.push(Range { start, end, thread, kind, name: text, domain: text, stack });
    }
    trace.tallies.push(Tally { thread, name: text, count: 3, ..Tally::default() });
    trace.states.push(State { start, end, thread, call: text, ..State::default() });
    trace.processes.push(Process { pid: 9, name: text, ..Process::default() });
    trace
}

#[test]
fn whatever_column_a_secret_is_in_it_is_in_no_file() {
    let mut trace = full();
    let mut columns = BTreeSet::new();
    trace.reword(&mut |word, strings| {
        // What CUDA's functions are called, and the device, is no secret; the latter stays as it is.
        if (word.table, word.column) == ("calls", "name") || word.table == "devices" && word.column == "name"
        {
            return strings.intern(word.text);
        }
        columns.insert((word.table, word.column));
        strings.intern(&format!("/home/ann/SECRET {} {} {}.py", word.table, word.column, word.sym.index()))
    });
    assert!(columns.len() >= 13, "{columns:?}");
    let meta = &mut trace.meta;
    (meta.command, meta.host) = (String::from("SECRET --key"), String::from("SECRET.example"));
    meta.notes.push(String::from("a SECRET remark"));
    meta.libraries.insert(String::from("SECRET"), String::from("1.0"));
    meta.left_out.insert(String::from("SECRET records"), 3);
    meta.lost.reasons.insert(String::from("SECRET reasons"), 0);
    (meta.source_version, meta.driver) = (String::from("SECRET version"), String::from("SECRET driver"));
    let made = case(&trace).unwrap_or_else(|problem| panic!("no case: {problem:?}"));
    for text in texts(&made) {
        assert!(!text.contains("SECRET") && !text.contains("ann"), "{text}");
    }
    let replaced = made.replaced.expect("names are replaced");
    assert!(replaced.len() >= 10 && replaced.values().all(|count| *count > 0), "{replaced:?}");
}

#[test]
fn names_stay_if_that_is_wanted() {
    let trace = example("recorded-d2h-stall.holdup");
    let wanted = Wanted { names: true, ..Wanted::default() };
    let made =
        Case::of(trace, &wanted, &explained, &mut |_| {}).unwrap_or_else(|problem| panic!("{problem:?}"));
    let report = texts(&made).concat();
    assert!(report.contains("d2h_stall.py") && report.contains("Nothing was replaced (--names)"), "{report}");
}

#[test]
fn findings_that_are_not_there_are_said() {
    let trace = example("recorded-d2h-stall.holdup");
    let wanted = Wanted { finding: 99, ..Wanted::default() };
    let problem = Case::of(trace, &wanted, &explained, &mut |_| {}).err();
    assert!(matches!(problem, Some(case::NoCase::Fewer(count)) if count > 1), "{problem:?}");
    assert_eq!(case(&Trace::default()).err(), Some(case::NoCase::Nothing));
}
