//! Reading a `.holdup` file returns what was written, text compared as text.

use crate::support::{Made, one_of_each, traces, written};
use proptest::prelude::*;
use trace::*;

/// Replaces symbols of `from` by symbols of `to`: the number of a symbol is not part of a trace.
fn renumber(columns: &mut [&mut Vec<Sym>], from: &Strings, to: &Strings) {
    for sym in columns.iter_mut().flat_map(|column| column.iter_mut()) {
        let text = from.text(*sym);
        *sym = to.get(text).unwrap_or_else(|| panic!("{text:?} was never written"));
    }
}

/// Gives `read` the symbols of `original`, so that whole tables can be compared.
fn with_symbols_of(original: &Trace, read: &mut Trace) {
    let Trace { strings, processes, threads, devices, calls, ops, waits, .. } = read;
    let Trace { arguments, ranges, frames, states, tallies, .. } = read;
    let columns = &mut [
        &mut processes.name,
        &mut processes.settings,
        &mut threads.name,
        &mut devices.name,
        &mut devices.uuid,
        &mut calls.name,
        &mut ops.name,
        &mut ops.communicator,
        &mut waits.library,
        &mut arguments.kernel,
        &mut ranges.name,
        &mut ranges.domain,
        &mut states.call,
        &mut tallies.name,
        &mut frames.function,
        &mut frames.file,
        &mut frames.module,
    ];
    renumber(columns, strings, &original.strings);
}

fn assert_same(original: &Trace, mut read: Trace) {
    assert_eq!(read.meta, original.meta);
    with_symbols_of(original, &mut read);
    assert_eq!(read.processes, original.processes);
    assert_eq!(read.threads, original.threads);
    assert_eq!(read.devices, original.devices);
    assert_eq!(read.contexts, original.contexts);
    assert_eq!(read.streams, original.streams);
    assert_eq!(read.calls, original.calls);
    assert_eq!(read.ops, original.ops);
    assert_eq!(read.syncs, original.syncs);
    assert_eq!(read.waits, original.waits);
    assert_eq!(read.arguments, original.arguments);
    assert_eq!(read.ranges, original.ranges);
    assert_eq!(read.states, original.states);
    assert_eq!(read.limits, original.limits);
    assert_eq!(read.samples, original.samples);
    assert_eq!(read.tallies, original.tallies);
    assert_eq!(read.frames, original.frames);
    assert_eq!(read.stacks, original.stacks);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Writing what was read gives the same bytes again, whatever the symbols' numbers.
    #[test]
    fn any_trace_survives(Made(trace) in traces()) {
        let bytes = written(&trace);
        let back = read(&bytes).unwrap();
        prop_assert!(written(&back) == bytes);
        assert_same(&trace, back);
    }
}

#[test]
fn an_empty_trace_survives() {
    let trace = Trace::default();
    assert_same(&trace, read(written(&trace)).unwrap());
}

#[test]
fn more_rows_than_a_batch_survive() {
    let mut trace = Trace::default();
    for at in 0..200_000i64 {
        let name = trace.strings.intern(&format!("kernel {}", at % 70_000));
        trace.ops.push(Op { start: at, end: at + 1, name, ..Op::default() });
    }
    assert_same(&trace, read(written(&trace)).unwrap());
}

#[test]
fn every_value_of_every_vocabulary_survives() {
    let mut trace = one_of_each();
    Api::ALL.iter().for_each(|&api| _ = trace.calls.push(Call { api, ..Call::default() }));
    OpKind::ALL.iter().for_each(|&kind| _ = trace.ops.push(Op { kind, ..Op::default() }));
    CopyKind::ALL.iter().for_each(|&copy| _ = trace.ops.push(Op { copy, ..Op::default() }));
    for &memory in MemoryKind::ALL {
        trace.ops.push(Op { src: memory, dst: memory, ..Op::default() });
    }
    SyncKind::ALL.iter().for_each(|&kind| _ = trace.syncs.push(Sync { kind, ..Sync::default() }));
    RangeKind::ALL.iter().for_each(|&kind| _ = trace.ranges.push(Range { kind, ..Range::default() }));
    LockKind::ALL.iter().for_each(|&kind| _ = trace.waits.push(Wait { kind, ..Wait::default() }));
    LockMode::ALL.iter().for_each(|&mode| _ = trace.waits.push(Wait { mode, ..Wait::default() }));
    LockLayer::ALL.iter().for_each(|&layer| _ = trace.waits.push(Wait { layer, ..Wait::default() }));
    ThreadState::ALL.iter().for_each(|&state| _ = trace.states.push(State { state, ..State::default() }));
    ThreadState::ALL.iter().for_each(|&state| _ = trace.samples.push(Sample { state, ..Sample::default() }));
    TallyKind::ALL.iter().for_each(|&kind| _ = trace.tallies.push(Tally { kind, ..Tally::default() }));
    assert_same(&trace, read(written(&trace)).unwrap());
}

#[test]
fn a_name_in_files_means_one_value() {
    macro_rules! check {
        ($($kind:ident)+) => {$(
            for &value in $kind::ALL {
                assert_eq!($kind::from_name(value.name()), value);
            }
            assert_eq!($kind::from_name("of a later version"), $kind::Unknown);
        )+};
    }
    check!(Api OpKind CopyKind MemoryKind SyncKind RangeKind LockKind LockMode LockLayer ThreadState TallyKind);
}
