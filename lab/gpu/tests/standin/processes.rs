//! Processes and threads among one another.

use crate::driver::Standin;
use std::time::Duration;
use workload::{Affinity, Kernel, Loading, Memory, Repeat, Schedule, StreamKind, Workload};

#[track_caller]
pub fn ran(workload: &Workload, standin: &Standin) -> gpu::Run {
    gpu::run(workload, &standin.options()).unwrap_or_else(|error| panic!("{error}"))
}

/// Processes of one thread, `t0`, `t1` …, whose bodies `fill` fills.
pub fn processes(count: usize, fill: impl Fn(usize, &mut workload::Thread, workload::StreamId)) -> Workload {
    let mut workload = Workload::new("processes");
    for number in 0..count {
        let process = workload.process(format!("p{number}"));
        let context = process.primary(0);
        let stream = process.stream("s", context, StreamKind::NonBlocking);
        fill(number, process.thread(format!("t{number}"), context), stream);
    }
    workload
}

#[test]
fn processes_take_turns_at_a_barrier() {
    let mut workload = Workload::new("turns");
    let barrier = workload.barrier("b", 2);
    for (name, first) in [("a", true), ("b", false)] {
        let process = workload.process(name);
        let context = process.primary(0);
        let stream = process.stream("s", context, StreamKind::NonBlocking);
        let thread = process.thread(name, context);
        let mut body = thread.body();
        if first {
            body.launch(Kernel::Empty, 1, 1, stream).meet(barrier).meet(barrier);
        } else {
            body.meet(barrier).launch(Kernel::Empty, 1, 1, stream).meet(barrier);
        }
        thread.repeat = Repeat::Times(20);
    }
    let standin = Standin::new();
    ran(&workload, &standin);
    let log = standin.log();
    let launches: Vec<_> = log.iter().filter(|(_, _, call)| call.starts_with("cuLaunchKernel")).collect();
    let turns: String = launches.iter().map(|(_, thread, _)| thread.as_str()).collect();
    assert_eq!(turns, "ab".repeat(20));
    assert_ne!(launches[0].0, launches[1].0, "they are two processes");
}

#[test]
fn threads_share_a_process_and_have_their_own_contexts() {
    let mut workload = Workload::new("contexts");
    let process = workload.process("p");
    for (number, own) in [(0, false), (1, true), (2, true)] {
        let context = if own { process.own_context(1) } else { process.primary(0) };
        let stream = process.stream(format!("s{number}"), context, StreamKind::NonBlocking);
        let buffer = process.buffer(format!("b{number}"), context, Memory::Device, 64);
        let thread = process.thread(format!("t{number}"), context);
        thread.before().allocate(buffer);
        // The stand-in refuses kernels, streams and buffers of another context.
        thread.body().fill_on(buffer, 1, stream).launch(Kernel::Empty, 1, 1, stream).synchronize_context();
        thread.after().free(buffer);
    }
    let standin = Standin::new();
    let run = ran(&workload, &standin);
    assert_eq!(run.devices.iter().map(|device| device.ordinal).collect::<Vec<_>>(), [0, 1]);
    let log = standin.log();
    let contexts = log
        .iter()
        .filter(|(_, _, call)| call.starts_with("cuCtxCreate") || call.starts_with("cuDevicePrimary"));
    let contexts: Vec<_> = contexts.map(|(_, _, call)| call.as_str()).collect();
    assert_eq!(contexts, ["cuDevicePrimaryCtxRetain 0", "cuCtxCreate_v2 0 1", "cuCtxCreate_v2 0 1"]);
}

#[test]
fn streams_and_events_belong_to_their_declared_context() {
    let mut workload = Workload::new("contexts");
    let process = workload.process("p");
    let [near, far] = [process.primary(0), process.primary(1)];
    let (stream, event) = (process.stream("s", far, StreamKind::NonBlocking), process.event("e", far));
    // The first to use them is of another context.
    process.thread("near", near).body().synchronize(stream).synchronize_event(event);
    // The stand-in refuses launches into a stream of another context than the current one, and records of such an event.
    process.thread("far", far).body().launch(Kernel::Empty, 1, 1, stream).record(event, stream);
    ran(&workload, &Standin::new());
}

#[test]
fn threads_repeat_as_long_as_they_should() {
    let lasting = Duration::from_millis(30);
    let workload = processes(4, |number, thread, stream| {
        thread.body().launch(Kernel::Empty, 1, 1, stream);
        match number {
            0 => thread.repeat = Repeat::lasting(lasting),
            1 => thread.repeat = Repeat::WhileOthers,
            2 => thread.delay_ns = 20_000_000,
            _ => thread.repeat = Repeat::Times(5),
        }
    });
    let run = ran(&workload, &Standin::new());
    let [lasts, while_others, late, five] = &run.outcome.threads[..] else { panic!("four threads") };
    let lasting = lasting.as_nanos() as u64;
    assert!(lasts.elapsed_ns >= lasting && lasts.rounds > 1, "{lasts:?}");
    // On a busy machine one thread begins later than the other.
    assert!(while_others.elapsed_ns >= lasting / 3 && while_others.rounds > 1, "{while_others:?}");
    assert_eq!((late.rounds, five.rounds), (1, 5));
}

#[test]
fn a_delayed_thread_starts_late_and_is_timed_from_then_on() {
    let workload = processes(2, |number, thread, stream| {
        thread.body().launch(Kernel::Empty, 1, 1, stream);
        thread.delay_ns = number as u64 * 50_000_000;
    });
    let standin = Standin::new();
    let options = gpu::Options { trace: true, ..standin.options() };
    let run = gpu::run(&workload, &options).unwrap_or_else(|error| panic!("{error}"));
    let trace = run.trace.expect("it was asked for");
    let launches =
        trace.calls.ids().filter(|call| trace.text(trace.calls.name[call.index()]) == "cuLaunchKernel");
    let starts: Vec<_> = launches.map(|call| trace.calls.start[call.index()]).collect();
    assert!(starts[1] - starts[0] >= 45_000_000, "{starts:?}");
    assert!(run.outcome.threads[1].elapsed_ns < 45_000_000, "{:?}", run.outcome);
}

#[test]
fn connections_are_set_or_left_unset() {
    for (connections, expected) in [(Some(16), "16"), (None, "-")] {
        let mut workload = processes(1, |_, thread, stream| {
            thread.body().synchronize(stream);
        });
        workload.connections = connections;
        let standin = Standin::new();
        ran(&workload, &standin);
        let log = standin.log();
        let (_, _, init) = log.iter().find(|(_, _, call)| call.starts_with("cuInit")).expect("it was called");
        assert_eq!(init.split(' ').nth(1), Some(expected));
    }
}

#[test]
fn pinned_threads_stay_on_their_processors() {
    let workload = processes(2, |_, thread, stream| {
        thread.body().launch(Kernel::Empty, 1, 1, stream);
    });
    let standin = Standin::new();
    let options = gpu::Options { pinned: true, ..standin.options() };
    gpu::run(&workload, &options).unwrap_or_else(|error| panic!("{error}"));
    let placed = standin.log().into_iter().filter(|(_, _, call)| call.starts_with("cuStreamCreate"));
    // The stand-in says whether the thread that creates a stream may be on one processor only.
    let alone: Vec<_> = placed.map(|(_, _, call)| call.rsplit(' ').next().map(str::to_owned)).collect();
    assert_eq!(alone, [Some("1".to_owned()), Some("1".to_owned())]);
}

#[test]
fn contexts_and_processes_have_the_settings_of_the_workload() {
    let mut workload = processes(1, |_, thread, stream| {
        thread.body().synchronize(stream);
    });
    let own = workload.processes[0].own_context(1);
    workload.processes[0].threads[0].context = own;
    workload.processes[0].streams[0].context = own;
    let settings = |workload: &Workload| {
        let standin = Standin::new();
        ran(workload, &standin);
        let log = standin.log().into_iter().map(|(_, _, call)| call);
        let set = ["cuInit", "cuDevicePrimaryCtxSetFlags", "cuCtxCreate"];
        log.filter(|call| set.iter().any(|name| call.starts_with(name))).collect::<Vec<_>>()
    };
    assert_eq!(settings(&workload), ["cuInit - -", "cuCtxCreate_v2 0 1"]);
    for (schedule, flags) in [(Schedule::Spin, 1), (Schedule::Yield, 2), (Schedule::Blocking, 4)] {
        workload.schedule = schedule;
        workload.loading = Some(Loading::Eager);
        let primary = format!("cuDevicePrimaryCtxSetFlags_v2 0 {flags}");
        assert_eq!(
            settings(&workload),
            ["cuInit - - EAGER".to_owned(), primary, format!("cuCtxCreate_v2 {flags} 1")]
        );
    }
    workload.loading = Some(Loading::Lazy);
    assert_eq!(settings(&workload)[0], "cuInit - - LAZY");
}

#[test]
fn a_gpu_without_a_numa_node_is_noted_once() {
    let mut workload = processes(2, |_, thread, stream| {
        thread.body().synchronize(stream);
    });
    assert!(ran(&workload, &Standin::new()).notes.is_empty());
    workload.affinity = Affinity::Node;
    let notes = ran(&workload, &Standin::new()).notes;
    // No machine has the stand-in's bus.
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].starts_with("affinity: threads of GPU 0 run on any processor: "), "{notes:?}");
}
