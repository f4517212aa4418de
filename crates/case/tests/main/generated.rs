//! Reproductions of any program can be read and run, and end.

use crate::support::traced;
use case::{Case, NoCase, Wanted};
use explain::Options;
use proptest::collection::vec;
use proptest::prelude::*;
use sim::{Model, Options as Limits};
use std::time::Duration;
use workload::{Kernel, Memory, Repeat, Steps, StreamKind, Workload};

/// A step of a thread; numbers choose among its streams and sizes.
#[derive(Clone, Copy, Debug)]
enum Action {
    Launch(usize, u64),
    CopyIn(usize, bool),
    CopyOut(usize, bool),
    Fill(usize),
    Synchronize(usize),
    SynchronizeContext,
    Event(usize, usize),
    WaitOfHost(usize),
    Allocation,
    Pool(usize),
    Stream,
    Graph(usize),
    Query(usize),
    Work(u64),
    Sleep(u64),
    Hold(u64),
    Module,
}

fn action() -> impl Strategy<Value = Action> {
    let stream = || 0..3_usize;
    prop_oneof![
        4 => (stream(), 0..200_000_u64).prop_map(|(stream, cycles)| Action::Launch(stream, cycles)),
        1 => (stream(), any::<bool>()).prop_map(|(stream, pinned)| Action::CopyIn(stream, pinned)),
        1 => (stream(), any::<bool>()).prop_map(|(stream, pinned)| Action::CopyOut(stream, pinned)),
        1 => stream().prop_map(Action::Fill),
        1 => stream().prop_map(Action::Synchronize),
        1 => Just(Action::SynchronizeContext),
        1 => (stream(), stream()).prop_map(|(from, to)| Action::Event(from, to)),
        1 => stream().prop_map(Action::WaitOfHost),
        1 => Just(Action::Allocation),
        1 => stream().prop_map(Action::Pool),
        1 => Just(Action::Stream),
        1 => stream().prop_map(Action::Graph),
        1 => stream().prop_map(Action::Query),
        1 => (0..50_000_u64).prop_map(Action::Work),
        1 => (0..50_000_u64).prop_map(Action::Sleep),
        1 => (0..50_000_u64).prop_map(Action::Hold),
        1 => Just(Action::Module),
    ]
}

/// The actions of a thread, how often it does them, and its GPU.
type Script = (Vec<Action>, u64, u32);

fn script() -> impl Strategy<Value = Script> {
    (vec(action(), 1..12), 1..30_u64, 0..3_u32)
}

fn workload(processes: &[Vec<Script>]) -> Workload {
    const BYTES: u64 = 1 << 20;
    let mut workload = Workload::new("made up");
    for (number, scripts) in processes.iter().enumerate() {
        let process = workload.process(format!("p{number}"));
        for (row, (actions, times, device)) in scripts.iter().enumerate() {
            let context = process.primary(*device);
            let kinds = [StreamKind::NonBlocking, StreamKind::Blocking];
            let mut streams: Vec<_> =
                (0..2).map(|at| process.stream(format!("{row}-s{at}"), context, kinds[at])).collect();
            streams.push(process.default_stream(context));
            let made = process.stream(format!("{row}-made"), context, StreamKind::NonBlocking);
            let event = process.event(format!("{row}-e"), context);
            let graph = process.graph(format!("{row}-g"));
            let buffer = |memory: Memory| (format!("{row}-{memory:?}"), memory);
            let memories = [Memory::Device, Memory::Pinned, Memory::Pageable, Memory::Managed, Memory::Pool];
            let [device, pinned, pageable, managed, pool] =
                memories.map(buffer).map(|(name, memory)| process.buffer(name, context, memory, BYTES));
            let capturing = streams[0];
            let thread = process.thread(format!("t{row}"), context);
            thread.before().allocate(device).allocate(pinned).allocate(pageable);
            thread.before().capture(graph, capturing, |steps| {
                steps.launch(Kernel::Delay { cycles: 30_000 }, 4, 64, capturing).launch(
                    Kernel::Empty,
                    1,
                    32,
                    capturing,
                );
            });
            thread.repeat = Repeat::Times(*times);
            let host = |is_pinned: bool| if is_pinned { pinned } else { pageable };
            let mut body: Steps<'_> = thread.body();
            for action in actions {
                _ = match *action {
                    Action::Launch(stream, cycles) => {
                        body.launch(Kernel::Delay { cycles }, 8, 128, streams[stream])
                    }
                    Action::CopyIn(stream, pinned) => {
                        body.copy(host(pinned), device, BYTES / 2, streams[stream])
                    }
                    Action::CopyOut(stream, pinned) => {
                        body.copy(device, host(pinned), BYTES, streams[stream])
                    }
                    Action::Fill(stream) => body.fill_on(device, 0, streams[stream]),
                    Action::Synchronize(stream) => body.synchronize(streams[stream]),
                    Action::SynchronizeContext => body.synchronize_context(),
                    Action::Event(from, to) => body.record(event, streams[from]).wait(event, streams[to]),
                    Action::WaitOfHost(stream) => {
                        let launched = body.record(event, streams[stream]).launch(
                            Kernel::Delay { cycles: 9_000 },
                            1,
                            32,
                            streams[stream],
                        );
                        launched.synchronize_event(event)
                    }
                    Action::Allocation => body.allocate(managed).free(managed),
                    Action::Pool(stream) => {
                        body.allocate_on(pool, streams[stream]).free_on(pool, streams[stream])
                    }
                    Action::Stream => body.create_stream(made).destroy_stream(made),
                    Action::Graph(stream) => body.launch_graph(graph, streams[stream]),
                    Action::Query(stream) => body.query(streams[stream]),
                    Action::Work(ns) => body.work(Duration::from_nanos(ns)),
                    Action::Sleep(ns) => body.sleep(Duration::from_nanos(ns)),
                    Action::Hold(ns) => body.hold(Duration::from_nanos(ns)),
                    Action::Module => body.load_module(),
                };
            }
            let mut after = thread.after();
            after.synchronize_context().free(pageable).free(pinned).free(device);
        }
    }
    workload
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_reproduction_can_be_read_and_ends(processes in vec(vec(script(), 1..4), 1..3)) {
        let workload = workload(&processes);
        prop_assert_eq!(workload.check(), Ok(()));
        let trace = traced(&workload, "h200x8");
        let explained = |trace: &trace::Trace| explain::explain_each(trace, &Options::default());
        let count = explained(&trace).0.findings.len();
        for finding in 1..=count.min(3) {
            let wanted = Wanted { finding, ..Wanted::default() };
            let made = match Case::of(trace.clone(), &wanted, &explained, &mut |_| {}) {
                Ok(made) => made,
                // Nothing of a simulated trace rests on names.
                Err(NoCase::Nothing | NoCase::Fewer(_) | NoCase::Lost) => return Err(TestCaseError::fail("no case")),
            };
            let Ok(reproduction) = &made.reproduction else { continue };
            prop_assert_eq!(&reproduction.shown.error, &None);
            let text = case::show::toml(&made, reproduction);
            let read = Workload::from_toml(text.as_bytes(), "reproduction.toml");
            prop_assert_eq!(read.as_ref(), Ok(&reproduction.workload));
            let mut model = Model::load(&reproduction.model).expect("a built-in model");
            model.device.count = model.device.count.max(reproduction.gpus);
            prop_assert!(sim::run(&reproduction.workload, &model, Limits::default()).is_ok());
        }
    }
}
