//! Workloads that use all that there is, for the stand-in and for GPUs.

#![allow(dead_code, reason = "each test program uses a part")]

use std::path::PathBuf;
use std::time::Duration;
use workload::{Call, Kernel, Memory, Number, Process, StreamKind, Workload};

/// The program that is started as the processes of a workload.
pub fn gpu_try() -> PathBuf {
    let test = std::env::current_exe().expect("the test has a path");
    let target = test.ancestors().nth(2).expect("tests lie in <profile>/deps");
    let program = target.join("examples/gpu_try");
    assert!(program.exists(), "{} is missing: cargo build -p holdup-gpu --examples", program.display());
    program
}

/// A workload with one process, and that.
pub fn single(name: &str, fill: impl FnOnce(&mut Process)) -> Workload {
    let mut workload = Workload::new(name);
    fill(workload.process("main"));
    workload
}

/// Seed 000's iteration, as often as asked, by so many threads. What is checked comes from the last launch but one, in
/// which the numbers below 219 are added up.
pub fn architectures(threads: usize, iterations: u64, memory: Memory) -> Workload {
    single("architectures", |process| architectures_in(process, threads, iterations, memory))
}

/// The threads of [`architectures`], in a primary context.
pub fn architectures_in(process: &mut Process, threads: usize, iterations: u64, memory: Memory) {
    for thread in 0..threads {
        let context = process.primary(0);
        architectures_thread(process, context, &thread.to_string(), iterations, memory);
    }
}

/// One thread of [`architectures`].
pub fn architectures_thread(
    process: &mut Process,
    context: workload::ContextId,
    name: &str,
    iterations: u64,
    memory: Memory,
) {
    const LENGTH: u32 = 352 * 1024;
    let (bytes, checked) = (u64::from(LENGTH) * 4, u64::from(LENGTH / 64));
    let stream = process.stream(format!("stream {name}"), context, StreamKind::NonBlocking);
    let [input, output] =
        ["in", "out"].map(|end| process.buffer(format!("{end} {name}"), context, memory, bytes));
    let [a, b] =
        ["a", "b"].map(|end| process.buffer(format!("{end} {name}"), context, Memory::Device, bytes));
    let thread = process.thread(name, context);
    thread.before().allocate(input).allocate(output).fill(input, 0).allocate(a).allocate(b);
    thread.body().copy(input, a, bytes, stream).repeat(110, |steps| {
        let add =
            |from, to, value| Kernel::AddConstant { from, to, value, length: LENGTH / 64, rounds: 3072 };
        steps.launch(add(a, b, Number::index(0, 2)), 5, 64, stream);
        steps.launch(add(b, a, Number::index(1, 2)), 5, 64, stream);
    });
    thread.body().copy(b, output, bytes, stream).synchronize(stream).check(output, checked * 4, 23_871);
    thread.after().free(a).free(b).free(output).free(input);
    thread.repeat = workload::Repeat::Times(iterations);
}

/// Every kernel, each in its own thread, with a check of its result.
pub fn kernels() -> Workload {
    single("kernels", |process| {
        increment(process);
        product(process);
        norm(process);
        scale(process);
        architectures_in(process, 1, 2, Memory::Pinned);
    })
}

/// Adds 5 to 1,024 floats in four parts.
fn increment(process: &mut Process) {
    let context = process.primary(0);
    let stream = process.stream("i", context, StreamKind::Blocking);
    let floats = process.buffer("i floats", context, Memory::Device, 4096);
    let host = process.buffer("i host", context, Memory::Pageable, 4096);
    let thread = process.thread("increment", context);
    thread.before().allocate(floats).allocate(host).fill_on(floats, 0.5, stream);
    thread.body().repeat(4, |steps| {
        let offset = Number::index(0, 256);
        steps.launch(Kernel::Increment { buffer: floats, offset, length: 256, rounds: 5 }, 3, 96, stream);
    });
    thread.body().copy(floats, host, 4096, stream).synchronize(stream).check(host, 4096, 5.5);
    thread.after().free(host).free(floats);
}

/// 64 × 96 by 96 × 128: ones by twos, except for the first 32 rows of the one, which are twos, and the first 32 columns of
/// the first row of the other, which are threes. Of the product, the first tile's first row is checked.
fn product(process: &mut Process) {
    const ROW: u64 = 128 * 4;
    let context = process.primary(0);
    let stream = process.stream("p", context, StreamKind::NonBlocking);
    let [a, b, c] = [("a", 64 * 96), ("b", 96 * 128), ("c", 64 * 128)]
        .map(|(name, length)| process.buffer(format!("p {name}"), context, Memory::Device, length * 4));
    let [first, all] = [("first", 32 * 4), ("all", 64 * ROW)]
        .map(|(name, bytes)| process.buffer(format!("p {name}"), context, Memory::Pageable, bytes));
    let [partial, norm] = [("partial", 64), ("norm", 4)]
        .map(|(name, bytes)| process.buffer(format!("p {name}"), context, Memory::Device, bytes));
    let thread = process.thread("product", context);
    let mut before = thread.before();
    before.allocate(a).allocate(b).allocate(c).allocate(first).allocate(all).allocate(partial).allocate(norm);
    before.fill_on(a, 1.0, stream).fill_on(b, 2.0, stream);
    let one_more = |buffer, length| Kernel::Increment { buffer, offset: Number::Is(0), length, rounds: 1 };
    before.launch(one_more(a, 32 * 96), 12, 256, stream).launch(one_more(b, 32), 1, 32, stream);
    let kernel = Kernel::MatrixProduct { a, b, c, rows: 64, inner: 96, columns: 128 };
    let mut body = thread.body();
    body.launch(kernel, 8, 1024, stream).copy(c, first, 32 * 4, stream).synchronize(stream);
    // Row 0, columns 0 to 31: 96 times 2 × 2, and 2 × 1 more.
    body.check(first, 32 * 4, 386.0);
    // Of all elements, 32 rows of 32 are 386 and of 96 are 384; 32 of 32 are 193 and of 96 are 192.
    body.launch(Kernel::NormPartial { from: c, partial, length: 64 * 128 }, 16, 256, stream);
    body.launch(Kernel::NormFinal { partial, to: norm, length: 16 }, 1, 32, stream);
    body.copy(norm, first, 4, stream).synchronize(stream);
    let squares: f64 =
        [(32, 386), (96, 384), (32, 193), (96, 192)].map(|(n, x)| f64::from(32 * n * x * x)).iter().sum();
    body.check(first, 4, squares.sqrt() as f32);
    thread.after().free(norm).free(partial).free(all).free(first).free(c).free(b).free(a);
}

/// The root of 10,000 squares of 2, with blocks that are powers of two and not.
fn norm(process: &mut Process) {
    let context = process.primary(0);
    let stream = process.default_stream(context);
    let [from, partial, to] = [("from", 40_000), ("partial", 132), ("to", 4)]
        .map(|(name, bytes)| process.buffer(format!("n {name}"), context, Memory::Device, bytes));
    let host = process.buffer("n host", context, Memory::Pinned, 4);
    let thread = process.thread("norm", context);
    thread.before().allocate(from).allocate(partial).allocate(to).allocate(host).fill_on(from, 2.0, stream);
    for (grid, block, second) in [(32, 256, 32), (33, 96, 7)] {
        let mut body = thread.body();
        body.launch(Kernel::NormPartial { from, partial, length: 10_000 }, grid, block, stream);
        body.launch(Kernel::NormFinal { partial, to, length: grid }, 1, second, stream);
        body.copy_blocking(to, host, 4).check(host, 4, 200.0);
    }
    thread.after().free(host).free(to).free(partial).free(from);
}

/// Divides 48 by 2, in the device's memory, and by 3, on the host.
fn scale(process: &mut Process) {
    let context = process.primary(0);
    let stream = process.stream("s", context, StreamKind::NonBlocking);
    let floats = process.buffer("s floats", context, Memory::Managed, 4096);
    let two = process.buffer("s two", context, Memory::Device, 4);
    let three = process.buffer("s three", context, Memory::Pageable, 4);
    let host = process.buffer("s host", context, Memory::Pageable, 4096);
    let thread = process.thread("scale", context);
    let mut before = thread.before();
    before.allocate(floats).allocate(two).allocate(three).allocate(host);
    before.fill_on(floats, 48.0, stream).fill_on(two, 2.0, stream).fill(three, 3.0);
    let mut body = thread.body();
    for by in [two, three] {
        body.launch(Kernel::Scale { buffer: floats, length: 1024, by }, 2, 128, stream);
    }
    body.copy(floats, host, 4096, stream).synchronize(stream).check(host, 4096, 8.0);
    thread.after().free(host).free(three).free(two).free(floats);
}

/// Every kind of call, in one thread.
pub fn every_call() -> Workload {
    single("every call", |process| {
        let context = process.primary(0);
        let stream = process.stream("s", context, StreamKind::NonBlocking);
        let blocking = process.stream("b", context, StreamKind::Blocking);
        let late = process.stream("late", context, StreamKind::NonBlocking);
        let default = process.default_stream(context);
        let event = process.timing_event("e", context);
        let later = process.timing_event("f", context);
        let late_event = process.event("late", context);
        let graph = process.graph("g");
        let buffers = [
            ("device", Memory::Device),
            ("pool", Memory::Pool),
            ("managed", Memory::Managed),
            ("pinned", Memory::Pinned),
            ("pageable", Memory::Pageable),
            ("fresh", Memory::Fresh),
        ];
        let [device, pool, managed, pinned, pageable, fresh] =
            buffers.map(|(name, memory)| process.buffer(name, context, memory, 8192));
        let thread = process.thread("all", context);
        let mut before = thread.before();
        before.allocate(device).allocate(managed).allocate(pinned).allocate(pageable).allocate(fresh);
        before.allocate_on(pool, stream).register(pageable).fill(pageable, 1);
        let mut body = thread.body();
        body.fill(pinned, 7).copy(pinned, device, 8192, stream).copy(device, pool, 8192, stream);
        body.copy(pool, pageable, 8192, stream).synchronize(stream).check(pageable, 8192, 7);
        body.copy_blocking(pageable, managed, 8192).copy_blocking(managed, device, 8192);
        body.copy_blocking(device, fresh, 8192).check(fresh, 8192, 7).fill(fresh, 9);
        body.copy_blocking(fresh, pinned, 4096).check(pinned, 4096, 9).copy_blocking(pinned, fresh, 8192);
        body.fill_on(device, 3, blocking).launch(Kernel::Delay { cycles: 1000 }, 1, 1, blocking);
        body.record(event, stream).wait(event, blocking).query_event(event).synchronize_event(event);
        body.query(stream).record(later, blocking).synchronize_context().elapsed(event, later);
        body.capture(graph, stream, |steps| {
            steps.repeat(2, |steps| {
                let value = Number::index(10, 5);
                let add = Kernel::AddConstant { from: device, to: device, value, length: 2048, rounds: 1 };
                steps.launch(add, 4, 64, stream);
            });
            steps.copy(device, pinned, 8192, stream);
        });
        body.synchronize(blocking)
            .launch_graph(graph, stream)
            .launch_graph(graph, stream)
            .synchronize(stream);
        body.check(pinned, 8192, 3 + 2 * (10 + 15));
        body.create_stream(late).create_event(late_event).record(late_event, late).destroy_event(late_event);
        body.synchronize(late).destroy_stream(late).load_module();
        body.sleep(Duration::from_micros(100)).work(Duration::from_micros(100));
        body.launch(Kernel::Empty, 1, 32, default);
        thread.repeat = workload::Repeat::Times(2);
        let mut after = thread.after();
        after.unregister(pageable).free_on(pool, stream).free(fresh).free(pageable).free(pinned);
        after.free(managed).free(device);
    })
}

/// Rows to a device and back, in two dimensions or, with slices, three; what lies between them on the device is not touched.
pub fn rows(slices: Option<u64>) -> Workload {
    const WIDTH: u64 = 64;
    const HEIGHT: u64 = 8;
    const WIDE: u64 = 160;
    let all = HEIGHT * slices.unwrap_or(1);
    single("rows", |process| {
        let context = process.primary(0);
        let stream = process.stream("s", context, StreamKind::NonBlocking);
        let mut buffer = |name, memory, bytes| process.buffer(name, context, memory, bytes);
        let input = buffer("input", Memory::Pinned, WIDTH * all);
        let output = buffer("output", Memory::Pageable, WIDTH * all);
        let device = buffer("device", Memory::Device, WIDE * all);
        let between = buffer("between", Memory::Pageable, WIDE);
        let thread = process.thread("rows", context);
        let buffers = [input, output, device, between];
        for buffer in buffers {
            thread.before().allocate(buffer);
        }
        let mut body = thread.body();
        body.fill(input, 7).fill(output, 1).fill(between, 3).fill_on(device, 3, stream);
        for (from, to, from_pitch, to_pitch) in [(input, device, WIDTH, WIDE), (device, output, WIDE, WIDTH)]
        {
            let (width, height, depth) = (WIDTH, HEIGHT, slices);
            body.call(Call::CopyRows { from, to, width, height, depth, from_pitch, to_pitch, stream });
        }
        body.copy_part(device, between, WIDTH, WIDE - WIDTH, stream).synchronize(stream);
        body.check(output, WIDTH * all, 7).check(between, WIDE, 3);
        for buffer in buffers {
            thread.after().free(buffer);
        }
    })
}

/// The norm of 1,024 twos by cuBLAS, into the host's memory and into the device's: 64 both times.
pub fn norms() -> Workload {
    const LENGTH: u32 = 1024;
    single("norms", |process| {
        let context = process.primary(0);
        let stream = process.stream("s", context, StreamKind::NonBlocking);
        let mut buffer =
            |name, memory, floats: u32| process.buffer(name, context, memory, u64::from(floats) * 4);
        let vector = buffer("vector", Memory::Device, LENGTH);
        let there = buffer("there", Memory::Device, 1);
        let [here, fetched] = ["here", "fetched"].map(|name| buffer(name, Memory::Pageable, 1));
        let thread = process.thread("norms", context);
        let buffers = [vector, there, here, fetched];
        for buffer in buffers {
            thread.before().allocate(buffer);
        }
        let mut body = thread.body();
        body.fill_on(vector, 2.0, stream);
        body.blas_norm(vector, here, LENGTH, stream).check(here, 4, 64.0);
        body.blas_norm(vector, there, LENGTH, stream);
        body.copy(there, fetched, 4, stream).synchronize(stream).check(fetched, 4, 64.0);
        for buffer in buffers {
            thread.after().free(buffer);
        }
    })
}

/// Threads on two devices: the first adds 5 to what it has and hands it to the second, which adds 3 and checks it.
pub fn two_devices() -> Workload {
    let mut workload = Workload::new("two devices");
    let [handed, done] = ["handed", "done"].map(|name| workload.barrier(name, 2));
    let process = workload.process("main");
    let [first, second] = [0, 1].map(|device| process.primary(device));
    let [a, b] = [("a", first), ("b", second)]
        .map(|(name, context)| process.buffer(name, context, Memory::Device, 1 << 20));
    let host = process.buffer("host", second, Memory::Pageable, 1 << 20);
    let add = |buffer, rounds| Kernel::Increment { buffer, offset: Number::Is(0), length: 1 << 18, rounds };

    let stream = process.stream("s0", first, StreamKind::NonBlocking);
    let thread = process.thread("t0", first);
    thread.before().allocate(a).fill_on(a, 0.0, stream);
    thread
        .body()
        .launch(add(a, 5), 1024, 256, stream)
        .copy(a, b, 1 << 20, stream)
        .synchronize(stream)
        .meet(handed);
    thread.after().meet(done).free(a);

    let stream = process.stream("s1", second, StreamKind::NonBlocking);
    let thread = process.thread("t1", second);
    thread.before().allocate(b).allocate(host);
    thread.body().meet(handed).launch(add(b, 3), 1024, 256, stream).copy(b, host, 1 << 20, stream);
    thread.body().synchronize(stream).check(host, 1 << 20, 8.0);
    thread.after().meet(done).free(host).free(b);
    workload
}
