//! Texts that are written are read again, and no text is too strange.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::steps::{KERNELS, VERBS, all_verbs};
use super::*;
use crate::check;

/// How many rows each list of a made-up process has, so that steps can name them.
const ROWS: u32 = 3;

/// Lists of named rows: any names, told apart by their rows.
fn rows<T: std::fmt::Debug>(
    count: impl Into<proptest::collection::SizeRange>,
    row: impl Strategy<Value = T>,
    named: fn(String, T) -> T,
) -> impl Strategy<Value = Vec<T>> {
    vec((any::<String>(), row), count).prop_map(move |rows| {
        rows.into_iter()
            .enumerate()
            .map(|(number, (name, row))| named(format!("{name}-{number}"), row))
            .collect()
    })
}

fn context() -> impl Strategy<Value = ContextId> {
    (0..ROWS).prop_map(ContextId)
}

fn stream() -> impl Strategy<Value = StreamId> {
    (0..ROWS).prop_map(StreamId)
}

fn buffer() -> impl Strategy<Value = BufferId> {
    (0..ROWS).prop_map(BufferId)
}

fn event() -> impl Strategy<Value = EventId> {
    (0..ROWS).prop_map(EventId)
}

fn graph() -> impl Strategy<Value = GraphId> {
    (0..ROWS).prop_map(GraphId)
}

/// Sizes and times people write, and any others.
fn amount() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), (0..2000u64).prop_map(|k| k << 10), (0..2000u64).prop_map(|ms| ms * 1_000_000)]
}

fn number() -> impl Strategy<Value = Number> {
    prop_oneof![
        amount().prop_map(Number::Is),
        (amount(), amount()).prop_map(|(first, each)| Number::Index { first, each }),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let float = any::<f32>().prop_filter("not a number is not itself", |float| !float.is_nan());
    prop_oneof![any::<i32>().prop_map(Value::Int), float.prop_map(Value::Float)]
}

fn kernel() -> impl Strategy<Value = Kernel> {
    prop_oneof![
        Just(Kernel::Empty),
        any::<u64>().prop_map(|cycles| Kernel::Delay { cycles }),
        (buffer(), buffer(), number(), any::<u32>(), any::<u32>()).prop_map(
            |(from, to, value, length, rounds)| Kernel::AddConstant { from, to, value, length, rounds }
        ),
        (buffer(), number(), any::<u32>(), any::<u32>()).prop_map(|(buffer, offset, length, rounds)| {
            Kernel::Increment { buffer, offset, length, rounds }
        }),
        (buffer(), buffer(), buffer(), any::<[u32; 3]>()).prop_map(|(a, b, c, [rows, inner, columns])| {
            Kernel::MatrixProduct { a, b, c, rows, inner, columns }
        }),
        (buffer(), buffer(), any::<u32>()).prop_map(|(from, partial, length)| Kernel::NormPartial {
            from,
            partial,
            length
        }),
        (buffer(), buffer(), any::<u32>()).prop_map(|(partial, to, length)| Kernel::NormFinal {
            partial,
            to,
            length
        }),
        (buffer(), any::<u32>(), buffer()).prop_map(|(buffer, length, by)| Kernel::Scale {
            buffer,
            length,
            by
        }),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    let memory = prop_oneof![
        (buffer(), option::of(stream())).prop_map(|(buffer, stream)| Call::Allocate { buffer, stream }),
        (buffer(), option::of(stream())).prop_map(|(buffer, stream)| Call::Free { buffer, stream }),
        buffer().prop_map(|buffer| Call::Register { buffer }),
        buffer().prop_map(|buffer| Call::Unregister { buffer }),
        (buffer(), buffer(), number(), amount(), option::of(stream()))
            .prop_map(|(from, to, offset, bytes, stream)| Call::Copy { from, to, offset, bytes, stream }),
        (buffer(), value(), option::of(stream())).prop_map(|(buffer, value, stream)| Call::Fill {
            buffer,
            value,
            stream
        }),
        (buffer(), amount(), value()).prop_map(|(buffer, bytes, value)| Call::Check { buffer, bytes, value }),
        (kernel(), any::<u32>(), any::<u32>(), stream())
            .prop_map(|(kernel, grid, block, stream)| Call::Launch { kernel, grid, block, stream }),
        (graph(), stream()).prop_map(|(graph, stream)| Call::LaunchGraph { graph, stream }),
    ];
    let order =
        prop_oneof![
            (event(), stream()).prop_map(|(event, stream)| Call::RecordEvent { event, stream }),
            (event(), stream()).prop_map(|(event, stream)| Call::WaitEvent { event, stream }),
            event().prop_map(|event| Call::QueryEvent { event }),
            event().prop_map(|event| Call::SynchronizeEvent { event }),
            (event(), event()).prop_map(|(from, to)| Call::Elapsed { from, to }),
            (buffer(), buffer(), [amount(), amount(), amount(), amount()], option::of(amount()), stream())
                .prop_map(|(from, to, [width, height, from_pitch, to_pitch], depth, stream)| {
                    Call::CopyRows { from, to, width, height, depth, from_pitch, to_pitch, stream }
                }),
            (buffer(), buffer(), any::<u32>(), stream())
                .prop_map(|(from, to, length, stream)| Call::BlasNorm { from, to, length, stream }),
            stream().prop_map(|stream| Call::QueryStream { stream }),
            stream().prop_map(|stream| Call::SynchronizeStream { stream }),
            Just(Call::SynchronizeContext),
            stream().prop_map(|stream| Call::CreateStream { stream }),
            stream().prop_map(|stream| Call::DestroyStream { stream }),
            event().prop_map(|event| Call::CreateEvent { event }),
            event().prop_map(|event| Call::DestroyEvent { event }),
            Just(Call::LoadModule),
            amount().prop_map(|ns| Call::Sleep { ns }),
            amount().prop_map(|ns| Call::Work { ns }),
            amount().prop_map(|ns| Call::Hold { ns }),
            (0..ROWS).prop_map(|row| Call::Meet { barrier: BarrierId(row) }),
        ];
    prop_oneof![memory, order]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = call().prop_map(Step::Call).prop_recursive(4, 12, 3, |step| {
        prop_oneof![
            (any::<u64>(), vec(step.clone(), 0..3)).prop_map(|(times, steps)| Step::Loop { times, steps }),
            (graph(), stream(), vec(step, 0..3)).prop_map(|(graph, stream, steps)| Step::Capture {
                graph,
                stream,
                steps
            }),
        ]
    });
    vec(step, 0..4)
}

fn thread() -> impl Strategy<Value = Thread> {
    let repeat = prop_oneof![
        any::<u64>().prop_map(Repeat::Times),
        amount().prop_map(Repeat::For),
        Just(Repeat::WhileOthers)
    ];
    (context(), amount(), steps(), steps(), repeat, steps()).prop_map(
        |(context, delay_ns, before, body, repeat, after)| Thread {
            name: String::new(),
            context,
            delay_ns,
            before,
            body,
            repeat,
            after,
        },
    )
}

fn process() -> impl Strategy<Value = Process> {
    let kind =
        prop_oneof![Just(StreamKind::Default), Just(StreamKind::Blocking), Just(StreamKind::NonBlocking)];
    let memory = prop_oneof![
        Just(Memory::Device),
        Just(Memory::Pool),
        Just(Memory::Managed),
        Just(Memory::Pinned),
        Just(Memory::Pageable),
        Just(Memory::Fresh)
    ];
    let count = ROWS as usize;
    let contexts = vec(any::<(u32, bool)>(), count).prop_map(|contexts| {
        contexts.into_iter().map(|(device, primary)| Context { device, primary }).collect()
    });
    let stream = (context(), kind).prop_map(|(context, kind)| Stream { name: String::new(), context, kind });
    let event = (context(), any::<bool>()).prop_map(|(context, timing)| Event {
        name: String::new(),
        context,
        timing,
    });
    let buffer = (context(), memory, amount()).prop_map(|(context, memory, bytes)| Buffer {
        name: String::new(),
        context,
        memory,
        bytes,
    });
    (
        contexts,
        rows(count, stream, |name, row| Stream { name, ..row }),
        rows(count, event, |name, row| Event { name, ..row }),
        rows(count, buffer, |name, row| Buffer { name, ..row }),
        rows(count, Just(Graph { name: String::new() }), |name, _| Graph { name }),
        rows(1..3, thread(), |name, row| Thread { name, ..row }),
        any::<bool>(),
    )
        .prop_map(|(contexts, streams, events, buffers, graphs, threads, one_context)| {
            let process =
                Process { name: String::new(), contexts, streams, events, buffers, graphs, threads };
            if one_context { in_one_context(process) } else { process }
        })
}

/// The process with everything in its first context, which then is left unsaid if it is a primary one.
fn in_one_context(mut process: Process) -> Process {
    process.contexts.truncate(1);
    process.streams.iter_mut().for_each(|stream| stream.context = ContextId(0));
    process.events.iter_mut().for_each(|event| event.context = ContextId(0));
    process.buffers.iter_mut().for_each(|buffer| buffer.context = ContextId(0));
    process.threads.iter_mut().for_each(|thread| thread.context = ContextId(0));
    process
}

fn settings() -> impl Strategy<Value = (Schedule, Affinity, Option<Loading>)> {
    let schedule = prop_oneof![
        Just(Schedule::Auto),
        Just(Schedule::Spin),
        Just(Schedule::Yield),
        Just(Schedule::Blocking)
    ];
    let affinity = prop_oneof![Just(Affinity::Any), Just(Affinity::Node)];
    let loading = prop_oneof![Just(Loading::Lazy), Just(Loading::Eager)];
    (schedule, affinity, option::of(loading))
}

/// A workload whose names lead to rows, and that makes no sense otherwise.
fn any_workload() -> impl Strategy<Value = Workload> {
    (
        any::<String>(),
        any::<bool>(),
        option::of(any::<u32>()),
        settings(),
        rows(1..3, process(), |name, row| Process { name, ..row }),
        rows(ROWS as usize, Just(Barrier { name: String::new(), parties: 0 }), |name, row| Barrier {
            name,
            ..row
        }),
    )
        .prop_map(|(name, mps, connections, settings, processes, barriers)| {
            let (schedule, affinity, loading) = settings;
            let mut workload =
                Workload { name, mps, connections, schedule, affinity, loading, processes, barriers };
            for (barrier, parties) in check::parties(&workload).into_iter().enumerate() {
                workload.barriers[barrier].parties = parties;
            }
            workload
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn written_workloads_are_read_again(workload in any_workload()) {
        let text = workload.to_toml();
        let again = read(text.as_bytes()).map_err(|fail| TestCaseError::fail(format!("{fail:?} in {text}")))?;
        prop_assert_eq!(again.0, workload, "{}", text);
    }

    #[test]
    fn any_workload_is_accepted_or_refused_in_one_line(mut workload in any_workload(), rows in 0..2usize) {
        // Rows that are named and not there are refused like anything else.
        if let Some(process) = workload.processes.last_mut() {
            process.buffers.truncate(rows);
            process.streams.truncate(rows + 1);
            process.contexts.truncate(rows + 1);
        }
        if let Err(error) = workload.check() {
            prop_assert_eq!(error.to_string().lines().count(), 1, "{}", error);
        }
    }

    #[test]
    fn any_bytes_are_refused_in_one_line(bytes in vec(any::<u8>(), 0..200)) {
        refused_in_one_line(&bytes)?;
    }

    #[test]
    fn any_lines_of_texts_are_accepted_or_refused_in_one_line(
        lines in vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..40),
    ) {
        let texts = texts();
        let lines: Vec<&[u8]> = lines
            .iter()
            .map(|(text, line)| *line.get(&text.get(&texts).split(|byte| *byte == b'\n').collect::<Vec<_>>()))
            .collect();
        refused_in_one_line(&lines.join(&b'\n'))?;
    }

    #[test]
    fn damaged_texts_are_accepted_or_refused_in_one_line(
        text in any::<prop::sample::Index>(),
        changes in vec((any::<prop::sample::Index>(), 0..4usize, "[ -~]{0,3}"), 1..6),
    ) {
        let mut text = text.get(&texts()).clone();
        for (at, removed, added) in changes {
            let at = at.index(text.len() + 1);
            let end = (at + removed).min(text.len());
            text.splice(at..end, added.bytes());
        }
        refused_in_one_line(&text)?;
    }
}

#[test]
fn every_verb_and_kernel_has_a_reader() {
    let verbs = VERBS.iter().map(|(verb, _)| format!("{{ {verb} = \"x\" }}"));
    let kernels = KERNELS.iter().map(|(kernel, _)| format!("{{ launch = {kernel:?} }}"));
    for step in verbs.chain(kernels) {
        let thread = format!("[[process.thread]]\nname = \"A\"\nbody = [{step}]\n");
        let text = format!("name = \"one step\"\n[[process]]\nname = \"main\"\n{thread}");
        // Names and keys are missing; without a reader it panics.
        assert!(Workload::from_toml(text.as_bytes(), "text.toml").is_err(), "{text}");
    }
}

#[test]
fn every_verb_and_kernel_is_generated_tested_and_in_the_manual() {
    let mut runner = TestRunner::deterministic();
    let mut any = || any_workload().new_tree(&mut runner).unwrap().current().to_toml();
    let generated: String = (0..256).map(|_| any()).collect();
    let of = |path: &str| {
        std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
    };
    let texts = [
        ("generated calls", generated),
        ("everything.toml", of("tests/data/accepted/everything.toml")),
        ("docs/workload.md", of("../../docs/workload.md")),
    ];
    for (name, text) in texts {
        let has = |forms: &[String]| forms.iter().any(|form| text.contains(form.as_str()));
        let verbs = all_verbs().into_iter().filter(|verb| {
            // A step that needs no table has a line of its own, and ends a cell of the manual.
            let forms = [format!("{{ {verb} = "), format!("  \"{verb}\",\n"), format!("`\"{verb}\"` |")];
            !has(&forms)
        });
        let kernels = KERNELS.iter().map(|(kernel, _)| *kernel).filter(|kernel| {
            let forms = [format!("launch = \"{kernel}\""), format!("| `{kernel}` |")];
            !has(&forms)
        });
        assert_eq!(verbs.chain(kernels).collect::<Vec<_>>(), [""; 0], "{name}");
    }
}

/// The workloads of the manual and all of the tests.
fn texts() -> Vec<Vec<u8>> {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [here.join("tests/data/errors"), here.join("tests/data/accepted")];
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

fn refused_in_one_line(text: &[u8]) -> Result<(), TestCaseError> {
    match Workload::from_toml(text, "text.toml") {
        // What was accepted can be written and read again.
        Ok(workload) => {
            let again = Workload::from_toml(workload.to_toml().as_bytes(), "again.toml");
            prop_assert_eq!(again.as_ref(), Ok(&workload), "{}", workload.to_toml());
        }
        Err(error) => {
            let error = error.to_string();
            prop_assert_eq!(error.lines().count(), 1, "{}", error);
            prop_assert!(error.starts_with("text.toml:"), "{}", error);
        }
    }
    Ok(())
}
