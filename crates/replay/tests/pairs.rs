//! Gain of a change in the simulator, and the gain that is predicted from the trace of the unchanged program alone.
//!
//! `UPDATE_EXPECT=1 cargo test -p holdup-replay --test pairs` rewrites `tests/data/pairs.txt`.

use experiments::catalogue::architectures;
use experiments::catalogue::overlap::{self, Order};
use experiments::{HostMemory, Layout, Submit};
use replay::{Fit, Gain, Predictor};
use sim::{Model, Options};
use std::fmt::Write;
use std::time::Duration;
use trace::Trace;
use workload::{ContextId, Kernel, Memory, Process, Repeat, StreamId, StreamKind, Workload};

/// A program, a change, and the changed program.
struct Pair {
    model: &'static str,
    fix: &'static str,
    what: &'static str,
    before: Workload,
    after: Workload,
}

#[test]
fn predictions_hold_in_the_simulator() {
    let mut text = String::from("change                 predicted  range                simulated\n");
    let mut wrong = Vec::new();
    for Pair { model, fix, what, before, after } in pairs() {
        let model = Model::load(model).unwrap();
        let [before, after] = [before, after].map(|workload| run(&workload, &model));
        let gain = predicted(&before, fix);
        let simulated = 1.0 - wall(&after) as f64 / wall(&before) as f64;
        let Gain { share, low, high, .. } = gain;
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        let range = format!("{} to {}", percent(low), percent(high));
        writeln!(text, "{fix:22} {:>9}  {range:20} {:>9}  {what}", percent(share), percent(simulated))
            .unwrap();
        let same_sign = share * simulated > 0.0 || (share.abs() < 0.005 && simulated.abs() < 0.02);
        if !same_sign || !(low..=high).contains(&simulated) {
            wrong.push(format!("{fix} ({what})"));
        }
    }
    expect_test::expect_file!["data/pairs.txt"].assert_eq(&text);
    assert!(wrong.is_empty(), "outside of their ranges: {}", wrong.join(", "));
}

fn pairs() -> Vec<Pair> {
    let threads = |workers, connections| architectures::Case {
        workers,
        connections,
        launches: 100,
        iterations: 60,
        ..architectures::Case::default()
    };
    let wide = threads(8, Some(32));
    vec![
        Pair {
            model: "h200",
            fix: "more-connections",
            what: "8 threads on 2 hardware queues, on 32",
            before: threads(8, Some(2)).workload(),
            after: wide.workload(),
        },
        Pair {
            model: "h200",
            fix: "more-connections",
            what: "one thread's chains in 6 streams on 2 hardware queues, on 32",
            before: chains(6, 2),
            after: chains(6, 32),
        },
        Pair {
            model: "h200",
            fix: "more-connections",
            what: "one thread's chains in 16 streams on 8 hardware queues, on 32",
            before: chains(16, 8),
            after: chains(16, 32),
        },
        Pair {
            model: "h200",
            fix: "graph",
            what: "8 threads launch 100 kernels an iteration, as a graph",
            before: wide.workload(),
            after: architectures::Case { submit: Submit::Graph, ..wide.clone() }.workload(),
        },
        Pair {
            model: "h200",
            fix: "process-per-thread,mps",
            what: "8 threads, as processes under MPS",
            before: wide.workload(),
            after: architectures::Case { layout: Layout::ProcessesMps, ..wide.clone() }.workload(),
        },
        Pair {
            model: "h200",
            fix: "process-per-thread",
            what: "8 threads, as processes that take turns",
            before: wide.workload(),
            after: architectures::Case { layout: Layout::Processes, ..wide.clone() }.workload(),
        },
        Pair {
            model: "h200",
            fix: "pinned-reused",
            what: "one thread's pageable copies, pinned",
            before: architectures::Case { memory: HostMemory::Pageable, ..threads(1, None) }.workload(),
            after: threads(1, None).workload(),
        },
        staged(true, false, "launches beside pageable copies to the device, through own buffers"),
        staged(false, false, "launches beside pageable copies to the host, through own buffers"),
        staged(false, true, "the same, and the launching thread waits for its launches"),
        Pair {
            model: "h200",
            fix: "pinned-reused",
            what: "pageable copies, pinned, beside a thread that waits for its launches",
            before: waiting_beside(Memory::Pageable),
            after: waiting_beside(Memory::Pinned),
        },
        Pair {
            model: "h200",
            fix: "own-stream",
            what: "launches beside pageable copies",
            before: beside(true),
            after: beside(false),
        },
        Pair {
            model: "h200",
            fix: "pool-allocator",
            what: "an allocation and a free for each kernel",
            before: allocates(Memory::Device),
            after: allocates(Memory::Pool),
        },
        Pair {
            model: "h200",
            fix: "device-scalar",
            what: "4 bytes read after each kernel",
            before: reads(true),
            after: reads(false),
        },
        Pair {
            model: "h200",
            fix: "own-stream",
            what: "two threads that only launch",
            before: launches(true),
            after: launches(false),
        },
        issued("c1060", Order::DepthFirst, "one copy engine, breadth-first"),
        issued("c1060", Order::BreadthFirst, "one copy engine, depth-first"),
        issued("c2050", Order::DepthFirst, "two copy engines and one hardware queue, breadth-first"),
        issued("k20c", Order::DepthFirst, "hardware queues for each stream, breadth-first"),
        issued("h200", Order::DepthFirst, "hardware queues for each stream, breadth-first"),
    ]
}

/// A chain of kernels in each of several streams, one chain launched after the other, again and again.
fn chains(streams: u32, connections: u32) -> Workload {
    let mut workload = Workload::new("chains");
    workload.connections = Some(connections);
    let process = workload.process("main");
    let context = process.primary(0);
    let streams: Vec<StreamId> =
        (0..streams).map(|at| process.stream(format!("s{at}"), context, StreamKind::NonBlocking)).collect();
    let thread = process.thread("launches", context);
    for stream in streams {
        for _ in 0..5 {
            thread.body().launch(Kernel::Delay { cycles: 100_000 }, 4, 256, stream);
        }
    }
    thread.body().synchronize_context();
    thread.repeat = Repeat::Times(400);
    workload
}

/// Copies and kernels of four streams, in the other order (seed 002).
fn issued(model: &'static str, order: Order, what: &'static str) -> Pair {
    let other = if order == Order::DepthFirst { Order::BreadthFirst } else { Order::DepthFirst };
    let case = |order| overlap::Case { order, passes: 50, ..overlap::Case::default() }.workload();
    Pair { model, fix: "issue-order", what, before: case(order), after: case(other) }
}

/// A thread copies pageable memory to the host, another launches as many kernels as it may; on one stream, or on one each.
fn beside(same: bool) -> Workload {
    two(same, |process, context, [copies, launches]| {
        let device = process.buffer("device", context, Memory::Device, 16 << 20);
        let host = process.buffer("host", context, Memory::Pageable, 16 << 20);
        let copier = process.thread("copier", context);
        copier.before().allocate(device).allocate(host);
        copier.body().copy(device, host, 16 << 20, copies).work(Duration::from_micros(200));
        copier.after().free(host).free(device);
        copier.repeat = Repeat::Times(60);
        launcher(process, context, launches);
    })
}

/// A thread copies to the host and waits, another one launches into the same stream and waits.
fn waiting_beside(memory: Memory) -> Workload {
    two(true, |process, context, [stream, _]| {
        let device = process.buffer("device", context, Memory::Device, 16 << 20);
        let host = process.buffer("host", context, memory, 16 << 20);
        let copier = process.thread("copier", context);
        copier.before().allocate(device).allocate(host);
        copier
            .body()
            .copy(device, host, 16 << 20, stream)
            .synchronize(stream)
            .work(Duration::from_micros(200));
        copier.after().free(host).free(device);
        copier.repeat = Repeat::Times(60);
        waiting_launcher(process, context, stream);
    })
}

/// A thread that launches short kernels.
fn launcher(process: &mut Process, context: ContextId, stream: StreamId) {
    let launcher = process.thread("launcher", context);
    launcher.body().launch(Kernel::Delay { cycles: 40_000 }, 1, 32, stream).work(Duration::from_micros(50));
    launcher.repeat = Repeat::Times(1_500);
}

/// A thread that launches ten short kernels and waits for them, again and again.
fn waiting_launcher(process: &mut Process, context: ContextId, stream: StreamId) {
    let launcher = process.thread("launcher", context);
    let mut body = launcher.body();
    for _ in 0..10 {
        body.launch(Kernel::Delay { cycles: 40_000 }, 1, 32, stream).work(Duration::from_micros(20));
    }
    body.synchronize(stream).work(Duration::from_micros(100));
    launcher.repeat = Repeat::Times(400);
}

/// Copies of 16 MiB pageable memory beside launches into the same stream, for which the launching thread may wait; the driver stages
/// them, or the thread itself does.
fn staged(to_device: bool, waits: bool, what: &'static str) -> Pair {
    let [before, after] = [false, true].map(|own| {
        two(true, |process, context, [stream, _]| {
            copies(process, context, stream, to_device, own);
            match waits {
                true => waiting_launcher(process, context, stream),
                false => launcher(process, context, stream),
            }
        })
    });
    Pair { model: "h200", fix: "staged-copies", what, before, after }
}

/// A thread copies 16 MiB and works, again and again. `own`: in pieces of 1 MiB through two pinned buffers, at 0.8 of the driver's rate.
fn copies(process: &mut Process, context: workload::ContextId, stream: StreamId, to_device: bool, own: bool) {
    const PIECE: u64 = 1 << 20;
    let device = process.buffer("device", context, Memory::Device, 16 * PIECE);
    let host = process.buffer("host", context, Memory::Pageable, 16 * PIECE);
    let buffers = ["one", "other"].map(|name| process.buffer(name, context, Memory::Pinned, PIECE));
    let done = ["one is done", "other is done"].map(|name| process.event(name, context));
    let copier = process.thread("copier", context);
    let mut before = copier.before();
    before.allocate(device).allocate(host).allocate(buffers[0]).allocate(buffers[1]);
    done.iter().for_each(|done| _ = before.record(*done, stream));
    let mb_s = if to_device { 6_800 } else { 12_800 };
    let staged = Duration::from_nanos(PIECE * 1_000 / mb_s);
    let mut body = copier.body();
    match (own, to_device) {
        (false, true) => _ = body.copy(host, device, 16 * PIECE, stream),
        (false, false) => _ = body.copy(device, host, 16 * PIECE, stream),
        (true, true) => {
            for (buffer, done) in buffers.iter().zip(&done).cycle().take(16) {
                body.synchronize_event(*done).work(staged);
                body.copy(*buffer, device, PIECE, stream).record(*done, stream);
            }
        }
        (true, false) => {
            body.copy(device, buffers[0], PIECE, stream).record(done[0], stream);
            for at in 1..16 {
                body.copy(device, buffers[at % 2], PIECE, stream).record(done[at % 2], stream);
                body.synchronize_event(done[(at - 1) % 2]).work(staged);
            }
            body.synchronize_event(done[1]).work(staged);
        }
    }
    body.work(Duration::from_micros(200));
    let mut after = copier.after();
    after.synchronize(stream).free(buffers[0]).free(buffers[1]).free(host).free(device);
    copier.repeat = Repeat::Times(60);
}

fn launches(same: bool) -> Workload {
    two(same, |process, context, streams| {
        for (name, stream) in ["one", "other"].into_iter().zip(streams) {
            let thread = process.thread(name, context);
            thread.body().launch(Kernel::Empty, 1, 32, stream).work(Duration::from_micros(20));
            thread.repeat = Repeat::Times(3_000);
        }
    })
}

fn two(same: bool, add: impl FnOnce(&mut Process, workload::ContextId, [workload::StreamId; 2])) -> Workload {
    let mut workload = Workload::new("two threads");
    let process = workload.process("main");
    let context = process.primary(0);
    let first = process.stream("first", context, StreamKind::NonBlocking);
    let second = if same { first } else { process.stream("second", context, StreamKind::NonBlocking) };
    add(process, context, [first, second]);
    workload
}

fn allocates(memory: Memory) -> Workload {
    let mut workload = Workload::new("allocates");
    let process = workload.process("main");
    let context = process.primary(0);
    let stream = process.stream("s", context, StreamKind::NonBlocking);
    let buffer = process.buffer("buffer", context, memory, 64 << 20);
    let thread = process.thread("t", context);
    let kernel = Kernel::Delay { cycles: 400_000 };
    match memory {
        Memory::Pool => {
            thread.body().allocate_on(buffer, stream).launch(kernel, 1, 32, stream).free_on(buffer, stream)
        }
        _ => thread.body().allocate(buffer).launch(kernel, 1, 32, stream).free(buffer),
    };
    thread.after().synchronize(stream);
    thread.repeat = Repeat::Times(500);
    workload
}

fn reads(scalar: bool) -> Workload {
    let mut workload = Workload::new("reads");
    let process = workload.process("main");
    let context = process.primary(0);
    let stream = process.stream("s", context, StreamKind::NonBlocking);
    let device = process.buffer("device", context, Memory::Device, 4);
    let host = process.buffer("host", context, Memory::Pageable, 4);
    let thread = process.thread("t", context);
    thread.before().allocate(device).allocate(host);
    let mut body = thread.body();
    body.launch(Kernel::Delay { cycles: 40_000 }, 1, 32, stream).work(Duration::from_micros(15));
    if scalar {
        body.copy(device, host, 4, stream).synchronize(stream);
    }
    thread.after().synchronize(stream).free(host).free(device);
    thread.repeat = Repeat::Times(3_000);
    workload
}

fn run(workload: &Workload, model: &Model) -> Trace {
    sim::run(workload, model, Options { trace: true, ..Options::default() }).unwrap().1.unwrap()
}

/// From the first call to the end of the last one, ns.
fn wall(trace: &Trace) -> i64 {
    trace.calls.end.iter().max().unwrap() - trace.calls.start.iter().min().unwrap()
}

fn predicted(trace: &Trace, id: &str) -> Gain {
    let recovered = replay::recover(trace).unwrap();
    let replayed = recovered.replay().unwrap();
    let fit = Fit::of(trace, &recovered, &replayed);
    assert!(fit.fits, "{id}: {fit:?}");
    let predictor = Predictor::new(trace, &recovered, &fit, &|_| {}).unwrap();
    let prediction = predictor.predict(&replay::fixes(id).unwrap()).unwrap();
    prediction.map_or(Gain { share: 0.0, low: 0.0, high: 0.0, once: 0.0 }, |prediction| prediction.gain)
}
