//! Reading spool files, complete and damaged.

use super::symbolizer::{NoSymbols, Symbol, Symbolizer};
use super::{Contents, gather};
use proptest::prelude::*;
use spool::*;
use std::mem::offset_of;
use trace::{Api, CopyKind, LockKind, LockMode, MemoryKind, Trace};

const MAIN: u32 = 100;
const OTHER: u32 = 101;

fn read(files: &[Vec<u8>]) -> Trace {
    read_with(files, &mut NoSymbols)
}

fn read_with(files: &[Vec<u8>], symbolizer: &mut dyn Symbolizer) -> Trace {
    let named = files.iter().enumerate().map(|(at, bytes)| Contents {
        name: format!("7-{at}.spool"),
        bytes,
        beside: None,
    });
    let named: Vec<_> = named.collect();
    gather(&named, None, symbolizer, &mut |_| {})
}

fn api(build: &mut Build, runtime: bool, name: &str, tid: u32, start: i64, end: i64, correlation: u32) {
    let name = build.text(MAIN, name);
    let call = ApiCall { start, end, correlation, tid, result: 0, runtime: runtime.into() };
    build.record(MAIN, ApiCall::KIND, name, &[call.bytes()]);
}

fn wrapped(build: &mut Build, name: &str, tid: u32, start: i64, end: i64) {
    let name = build.text(MAIN, name);
    let kinds = 3 << call::SOURCE_SHIFT | 1 << call::TARGET_SHIFT;
    let flags = 2 | kinds | call::HAS_STREAM;
    let record = Call { start, end, result: 0, flags, bytes: 64, stream: 0xabc0, fact: 0, correlation: 0 };
    build.record(tid, Call::KIND, name, &[record.bytes()]);
}

/// `MAIN` waits from 300 to 900 in `cuLaunchKernel`, entered at 250, for `OTHER`, in the copy that it
/// entered at 100.
fn wait(build: &mut Build) {
    let (library, launch) = (build.text(MAIN, "libcuda.so.1"), build.text(MAIN, "cuLaunchKernel"));
    let copy = build.text(MAIN, "cuMemcpyDtoHAsync");
    let wait = Wait {
        start: 300,
        end: 900,
        lock: 0x1000,
        kind: Lock::Rwlock as u32,
        mode: Mode::Shared as u32,
        holders: 1,
        holder: OTHER,
        holder_function: copy,
        holder_since: 100,
        releaser: OTHER,
        releaser_function: copy,
        releaser_since: 100,
        function: launch,
        since: 250,
    };
    build.record(MAIN, Wait::KIND, library, &[wait.bytes()]);
}

fn stack(build: &mut Build, tid: u32, start: i64, end: i64, native: &[u64], python: &[PythonFrame]) {
    let fixed = Stack { start, end, last: 7, python: python.len() as u64 };
    let native: Vec<u8> = native.iter().flat_map(|address| address.to_ne_bytes()).collect();
    let numbers = python.iter().flat_map(|frame| [frame.file, frame.function, frame.line, frame.zero]);
    let python: Vec<u8> = numbers.flat_map(u32::to_ne_bytes).collect();
    build.record(tid, Stack::KIND, native.len() as u32 / 8, &[fixed.bytes(), &native, &python]);
}

fn module(build: &mut Build, path: &str, start: u64) {
    let name = build.text(MAIN, path);
    let module = Module { base: start, start, end: start + 0x1000, seen: 1 };
    build.record(MAIN, Module::KIND, name, &[module.bytes()]);
}

fn full() -> Build {
    let mut build = Build::new(7, Level::Full);
    // In the order in which CUPTI hands them out: inner calls first.
    api(&mut build, false, "cuLaunchKernel", MAIN, 260, 950, 5);
    api(&mut build, true, "cudaLaunchKernel_v7000", MAIN, 200, 1000, 5);
    api(&mut build, false, "cuMemcpyDtoHAsync_v2", OTHER, 110, 890, 6);
    api(&mut build, true, "cudaMemcpyAsync_v3020", OTHER, 90, 920, 6);
    let kernel =
        Kernel { start: 1000, end: 1100, correlation: 5, stream: 7, context: 1, ..Kernel::default() };
    let name = build.text(MAIN, "_Z3addPf");
    build.record(MAIN, Kernel::KIND, name, &[kernel.bytes()]);
    let copy = Copy {
        start: 500,
        end: 880,
        bytes: 1 << 20,
        correlation: 6,
        stream: 7,
        context: 1,
        direction: 2,
        kinds: 3 | 1 << 16,
        ..Copy::default()
    };
    build.record(MAIN, Copy::KIND, 0, &[copy.bytes()]);
    let sync = Sync { start: 910, end: 915, correlation: 0, context: 1, stream: 7, event: u32::MAX };
    build.record(MAIN, Sync::KIND, 3, &[sync.bytes()]);
    wait(&mut build);
    build
}

/// The value of a 2.5 GHz counter, `ns` after it was 10¹⁵.
fn ticks(ns: i64) -> i64 {
    1_000_000_000_000_000 + ns * 5 / 2
}

fn clock(build: &mut Build, ns: i64) {
    build.record(OTHER, Clock::KIND, 0, &[Clock { ticks: ticks(ns), ns }.bytes()]);
}

/// Two consecutive launches of one thread, timed by CUPTI and by the counter; by the counter, CUPTI's record begins
/// 200 ns before the call was entered. The second waits for a lock, which another thread in such a launch releases.
fn counted() -> Build {
    const AT: i64 = 7_000_000;
    let mut build = Build::new(7, Level::Full);
    for (tid, start) in [(MAIN, AT), (MAIN, AT + 700), (OTHER, AT - 9_000)] {
        api(&mut build, false, "cuLaunchKernel", tid, start, start + 600, 0);
    }
    let (library, launch) = (build.text(MAIN, "libcuda.so.1"), build.text(MAIN, "cuLaunchKernel"));
    let wait = Wait {
        start: ticks(AT + 920),
        end: ticks(AT + 940),
        holder: OTHER,
        holder_function: launch,
        holder_since: ticks(AT - 8_800),
        releaser: OTHER,
        releaser_function: launch,
        releaser_since: ticks(AT - 8_800),
        function: launch,
        since: ticks(AT + 900),
        ..Wait::default()
    };
    build.record(MAIN, Wait::KIND, library, &[wait.bytes()]);
    stack(&mut build, MAIN, ticks(AT + 200), ticks(AT + 850), &[0x9], &[]);
    let range = Range { start: ticks(AT + 10), end: ticks(AT + 20), domain: 0 };
    build.record(MAIN, Range::KIND, launch, &[range.bytes()]);
    // The readings are last and not in order: the other thread wrote them.
    [9_000_000, 0, 5_000_000].into_iter().for_each(|ns| clock(&mut build, ns));
    build
}

#[test]
fn ticks_and_nanoseconds_meet() {
    let trace = read(&[counted().finish()]);
    let at = trace.calls.start.iter().copied().min().unwrap() + 9_000;
    let wait = trace.waits.row(trace.waits.ids().next().unwrap());
    assert_eq!((wait.start - at, wait.end - at), (920, 940));
    assert_eq!((trace.ranges.start[0] - at, trace.ranges.end[0] - at), (10, 20));
    let start = |call: trace::CallId| trace.calls.row(call).start - at;
    assert_eq!((start(wait.call), start(wait.holder_call), start(wait.releaser_call)), (700, -9_000, -9_000));
    let with_stack: Vec<_> =
        trace.calls.ids().filter(|call| trace.calls.row(*call).stack.some().is_some()).collect();
    assert_eq!(with_stack.iter().map(|call| start(*call)).collect::<Vec<_>>(), [0]);
    assert_eq!(trace.meta.lost.records, 0);
}

#[test]
fn wrapped_calls_are_timed_in_ticks() {
    let mut build = Build::new(7, Level::Light);
    wrapped(&mut build, "cuMemcpyDtoHAsync", MAIN, ticks(3_000_000), ticks(3_400_000));
    let launch = build.text(MAIN, "cuLaunchKernel");
    // 2.5 ticks per nanosecond.
    let gap = (ticks(5_000_000) - ticks(3_400_000)) as u32;
    build.brief(MAIN, BriefCall { function: launch, gap, duration: 2_500, flags: 0 });
    [2_000_000, 4_000_000].into_iter().for_each(|ns| clock(&mut build, ns));
    build.set(offset_of!(FileHeader, finished), &0u32.to_ne_bytes());
    let mut bytes = build.finish();
    let progress = ALIGN as usize + offset_of!(ChunkHeader, progress);
    let mut put = |at: usize, value: &[u8]| bytes[progress + at..][..value.len()].copy_from_slice(value);
    put(offset_of!(Progress, function), &launch.to_ne_bytes());
    put(offset_of!(Progress, since), &ticks(4_000_900).to_ne_bytes());
    let trace = read(&[bytes]);
    let durations: Vec<_> =
        trace.calls.start.iter().zip(&trace.calls.end).map(|(start, end)| end - start).collect();
    assert_eq!(durations, [400_000, 1_000]);
    assert_eq!(trace.calls.start[1] - trace.calls.start[0], 2_000_000);
    // Of 1.0001 ms.
    let never = trace.meta.notes.iter().find(|note| note.contains("never returned")).unwrap();
    assert!(never.contains("which began 1 ms before the end"), "{never}");
}

fn name(trace: &Trace, call: trace::CallId) -> &str {
    trace.text(trace.calls.row(call).name)
}

#[test]
fn waits_find_the_calls_of_both_sides() {
    let trace = read(&[full().finish()]);
    let wait = trace.waits.row(trace.waits.ids().next().unwrap());
    assert_eq!(name(&trace, wait.call), "cuLaunchKernel");
    assert_eq!(name(&trace, wait.holder_call), "cuMemcpyDtoHAsync_v2");
    assert_eq!(wait.releaser_call, wait.holder_call);
    assert_eq!((wait.kind, wait.mode, wait.holders), (LockKind::RwLock, LockMode::Shared, 1));
    assert_eq!(trace.text(wait.library), "libcuda.so.1");
    assert_eq!(trace.threads.row(wait.holder).tid, i64::from(OTHER));
    assert_eq!(wait.end - wait.start, 600);
    assert!(trace.meta.locks_watched);
    assert_eq!(trace.meta.notes, [""; 0]);
}

#[test]
fn operations_join_the_runtime_call_though_the_driver_call_was_written_first() {
    let trace = read(&[full().finish()]);
    let of_ops: Vec<_> = trace.ops.call.iter().map(|call| name(&trace, *call)).collect();
    assert_eq!(of_ops, ["cudaLaunchKernel", "cudaMemcpyAsync"]);
    assert_eq!((trace.ops.copy[1], trace.ops.dst[1]), (CopyKind::DtoH, MemoryKind::Pageable));
    assert_eq!(trace.syncs.stream[0], trace.ops.stream[0]);
    assert_eq!((trace.meta.lost.records, trace.meta.lost.unmatched_calls), (0, 0));
}

#[test]
fn images_of_one_process_are_separate() {
    let trace = read(&[full().finish(), full().finish()]);
    assert_eq!(trace.processes.pid, [7, 7]);
    let calls: Vec<_> = trace.ops.call.iter().map(|call| call.index()).collect();
    assert!(calls[0] < 4 && calls[2] >= 4, "{calls:?}");
}

#[test]
fn processes_know_which_one_started_them() {
    let process = |pid: u32, parent: u32, began: i64| {
        let mut build = Build::new(pid, Level::Light);
        wrapped(&mut build, "cuMemcpyDtoHAsync", pid, 100, 900);
        build.set(offset_of!(FileHeader, parent), &parent.to_ne_bytes());
        build.set(offset_of!(FileHeader, monotonic_ns), &began.to_ne_bytes());
        build.finish()
    };
    // The first to use CUDA is a child; the shell that started their parent is in no file.
    let trace = read(&[process(8, 7, 10), process(7, 2, 20), process(9, 8, 30)]);
    let parent = |row: usize| trace.processes.parent[row].some().map(|parent| trace.processes.pid[parent]);
    assert_eq!(trace.processes.pid, [8, 7, 9]);
    assert_eq!([0, 1, 2].map(parent), [Some(7), None, Some(8)]);
}

/// The file of a process that runs a kernel on each of its GPUs, which it knows by UUID and PCI bus; 0 for unknown.
fn on_gpus(began: i64, gpus: &[(u64, u32)]) -> Vec<u8> {
    let mut build = Build::new(7, Level::Full);
    build.set(offset_of!(FileHeader, monotonic_ns), &began.to_ne_bytes());
    for (device, (uuid_front, bus)) in (0..).zip(gpus) {
        let name = build.text(MAIN, &format!("GPU on bus {bus}"));
        let (times, context) = ((1000, 1100), device + 1);
        let kernel = Kernel { start: times.0, end: times.1, device, context, stream: 7, ..Kernel::default() };
        build.record(MAIN, Kernel::KIND, name, &[kernel.bytes()]);
        build.record(MAIN, Device::KIND, name, &[Device { ordinal: device, ..Device::default() }.bytes()]);
        let (uuid_front, pci_place) = (*uuid_front, bus << 8);
        let identity = DeviceIdentity { uuid_front, pci_place, ..DeviceIdentity::default() };
        build.record(MAIN, DeviceIdentity::KIND, device, &[identity.bytes()]);
    }
    build.finish()
}

/// The names of the GPUs of operations with their numbers, and whether a note says that processes number them differently.
fn gpus_of(files: &[Vec<u8>]) -> (Vec<(String, i64)>, bool) {
    let trace = read(files);
    let gpu = |stream: &trace::StreamId| {
        let row = trace.devices.row(trace.device_of_stream(*stream));
        (trace.text(row.name).to_owned(), row.ordinal)
    };
    let is_noted = trace.meta.notes.iter().any(|note| note.contains("told apart by UUID"));
    (trace.ops.stream.iter().map(gpu).collect(), is_noted)
}

#[test]
fn gpus_are_told_apart_by_uuid() {
    let on = |bus: u32, number| (format!("GPU on bus {bus}"), number);
    // Two processes see one GPU each, the same one, and one beside that of another process.
    let apart = [on_gpus(1, &[(0xb, 5)]), on_gpus(2, &[(0xa, 4)])];
    assert_eq!(gpus_of(&apart), (vec![on(5, 1), on(4, 0)], true));
    let same = [on_gpus(1, &[(0xa, 4)]), on_gpus(2, &[(0xa, 4)])];
    assert_eq!(gpus_of(&same), (vec![on(4, 0), on(4, 0)], false));
    let one_of_two = [on_gpus(1, &[(0xa, 4), (0xb, 5)]), on_gpus(2, &[(0xb, 5)])];
    assert_eq!(gpus_of(&one_of_two), (vec![on(4, 0), on(5, 1), on(5, 1)], true));
    // Instances of one GPU under MIG have one PCI address.
    let instances = [on_gpus(1, &[(0xa, 4)]), on_gpus(2, &[(0xb, 4)])];
    assert_eq!(gpus_of(&instances), (vec![on(4, 0), on(4, 1)], true));
    let unknown = [on_gpus(1, &[(0, 0)]), on_gpus(2, &[(0, 0)])];
    assert_eq!(gpus_of(&unknown), (vec![on(0, 0), on(0, 0)], false));
}

#[test]
fn a_uuid_is_written_as_nvidia_smi_does() {
    let [uuid_front, uuid_back] =
        [[0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe], [0xab; 8]].map(u64::from_ne_bytes);
    let identity = DeviceIdentity { uuid_front, uuid_back, ..DeviceIdentity::default() };
    let mut build = Build::new(7, Level::Full);
    build.record(MAIN, DeviceIdentity::KIND, 0, &[identity.bytes()]);
    let trace = read(&[build.finish()]);
    assert_eq!(trace.text(trace.devices.uuid[0]), "10325476-98ba-dcfe-abab-abababababab");
}

#[test]
fn without_cupti_the_wrappers_record_the_arguments() {
    let mut build = Build::new(7, Level::Light);
    wrapped(&mut build, "cuMemcpyDtoHAsync", OTHER, 100, 900);
    wrapped(&mut build, "cuLaunchKernel", MAIN, 250, 950);
    let launch = build.text(MAIN, "cuLaunchKernel");
    build.brief(MAIN, BriefCall { function: launch, gap: 10, duration: 7, flags: call::HAS_STREAM });
    wait(&mut build);
    let trace = read(&[build.finish()]);
    let brief = trace.calls.row(trace.arguments.call[1]);
    assert_eq!((brief.end - brief.start, trace.text(brief.name)), (7, "cuLaunchKernel"));
    let wait = trace.waits.row(trace.waits.ids().next().unwrap());
    assert_eq!(name(&trace, wait.call), "cuLaunchKernel");
    let of_holder = |row: &trace::ArgumentId| trace.arguments.row(*row).call == wait.holder_call;
    let argument = trace.arguments.row(trace.arguments.ids().find(of_holder).unwrap());
    assert_eq!((argument.bytes, argument.copy), (64, CopyKind::DtoH));
    assert_eq!((argument.src, argument.dst), (MemoryKind::Device, MemoryKind::Pageable));
    assert_eq!(trace.streams.row(argument.stream).number, 1);
    assert_eq!(trace.arguments.stream, [argument.stream; 3]);
    assert!(trace.meta.notes[0].contains("light"), "{:?}", trace.meta.notes);
}

#[test]
fn a_call_that_cupti_recorded_too_counts_once() {
    let mut build = Build::new(7, Level::Light);
    api(&mut build, false, "cuLaunchKernel", MAIN, 260, 950, 5);
    wrapped(&mut build, "cuLaunchKernel", MAIN, 250, 960);
    wrapped(&mut build, "cuLaunchKernel", MAIN, 970, 980);
    let trace = read(&[build.finish()]);
    assert_eq!(trace.calls.len(), 2);
    assert_eq!(trace.calls.end[1] - trace.calls.start[0], 980 - 260);
}

/// Names every address after itself.
struct Named;

impl Symbolizer for Named {
    fn symbolize(&mut self, module: &str, address: u64, found: &mut dyn FnMut(Symbol<'_>)) {
        let function = format!("{module}+{address:x}");
        found(Symbol { function: &function, file: "a.cu", line: 3 });
    }
}

/// The functions of a call's stack, innermost first.
fn functions(trace: &Trace, call: trace::CallId) -> Vec<&str> {
    let stack = trace.calls.row(call).stack.some();
    let stacks = std::iter::successors(stack, |stack| trace.stacks.row(*stack).caller.some());
    stacks.map(|stack| trace.text(trace.frames.row(trace.stacks.row(stack).frame).function)).collect()
}

#[test]
fn python_stands_for_its_interpreter_and_holdup_for_nothing() {
    let mut build = full();
    module(&mut build, "/x/libholdup_capture.so", 0x1000);
    module(&mut build, "/x/libtorch.so", 0x3000);
    module(&mut build, "/x/libpython3.12.so.1", 0x5000);
    let line =
        PythonFrame { file: build.text(MAIN, "a.py"), function: build.text(MAIN, "f"), line: 9, zero: 0 };
    stack(&mut build, MAIN, 250, 955, &[0x1001, 0x3011, 0x5001, 0x3021], &[line]);
    let trace = read_with(&[build.finish()], &mut Named);
    for call in trace.calls.ids().filter(|call| name(&trace, *call).ends_with("LaunchKernel")) {
        assert_eq!(functions(&trace, call), ["/x/libtorch.so+10", "f"]);
    }
    let other = trace.calls.ids().find(|call| name(&trace, *call) == "cudaMemcpyAsync").unwrap();
    assert_eq!(functions(&trace, other), [""; 0]);
}

/// Knows the targets of a machine's links.
struct Linked;

impl Symbolizer for Linked {
    fn symbolize(&mut self, _: &str, _: u64, _: &mut dyn FnMut(Symbol<'_>)) {}

    fn version(&mut self, module: &str) -> Option<String> {
        let versions = [("/x/libcublas.so.13", "13.1.0.3"), ("/x/libcuda.so.1", "580.95.05")];
        versions.into_iter().find(|(path, _)| *path == module).map(|(_, version)| version.to_owned())
    }
}

#[test]
fn loaded_libraries_have_versions() {
    let mut build = full();
    for (at, path) in ["/x/libcublas.so.13", "/x/libcuda.so.1", "/x/libtorch.so"].into_iter().enumerate() {
        module(&mut build, path, 0x1000 * (at as u64 + 1));
    }
    let file = build.finish();
    let versions = |trace: Trace| {
        trace
            .meta
            .libraries
            .into_iter()
            .map(|(name, version)| format!("{name} {version}"))
            .collect::<Vec<_>>()
    };
    let files = [file];
    assert_eq!(versions(read_with(&files, &mut Linked)), ["NVIDIA driver 580.95.05", "cuBLAS 13.1.0.3"]);
    assert_eq!(versions(read(&files)), ["cuBLAS 13"], "only what the recorded name contains");
}

#[test]
fn without_symbols_a_place_is_a_library_and_an_address() {
    let mut build = full();
    module(&mut build, "/x/libtorch.so", 0x3000);
    module(&mut build, "/x/python3", 0x5000);
    stack(&mut build, OTHER, 100, 900, &[0x3011, 0x5001, 0x9999], &[]);
    let trace = read(&[build.finish()]);
    let call = trace.calls.ids().find(|call| name(&trace, *call) == "cudaMemcpyAsync").unwrap();
    assert_eq!(functions(&trace, call), ["0x10", "0x0", "0x9998"]);
}

#[test]
fn what_a_killed_process_could_not_write_is_counted() {
    let mut build = full();
    build.set(offset_of!(FileHeader, finished), &0u32.to_ne_bytes());
    build.set(offset_of!(FileHeader, dropped), &3u64.to_ne_bytes());
    let mut bytes = build.finish();
    let chunk = ALIGN as usize;
    let mut put = |at: usize, value: &[u8]| bytes[chunk + at..][..value.len()].copy_from_slice(value);
    put(offset_of!(ChunkHeader, dropped), &4u64.to_ne_bytes());
    let progress = offset_of!(ChunkHeader, progress);
    put(progress + offset_of!(Progress, launches), &14u32.to_ne_bytes());
    put(progress + offset_of!(Progress, function), &1u32.to_ne_bytes());
    put(progress + offset_of!(Progress, since), &900i64.to_ne_bytes());
    let trace = read(&[bytes]);
    let reasons: Vec<u64> = trace.meta.lost.reasons.values().copied().collect();
    // Fourteen launches began. The runtime's and the driver's record of one are there, and seven may be among the
    // dropped records.
    assert_eq!((reasons, trace.meta.lost.records), (vec![5, 7], 12));
    assert!(trace.meta.notes.iter().any(|note| note.contains("never returned from cuLaunchKernel")));
    assert!(!trace.meta.locks_watched);
}

/// A process that began `begun` calls, wrote one, dropped `dropped` records and was killed.
fn killed_when_full(begun: u64, dropped: u64, full: u32) -> Trace {
    let mut build = Build::new(7, Level::Light);
    wrapped(&mut build, "cuMemcpyDtoHAsync", MAIN, 100, 900);
    build.set(offset_of!(FileHeader, finished), &0u32.to_ne_bytes());
    build.set(offset_of!(FileHeader, full), &full.to_ne_bytes());
    let mut file = build.finish();
    let mut put =
        |at: usize, value: u64| file[ALIGN as usize + at..][..8].copy_from_slice(&value.to_ne_bytes());
    put(offset_of!(ChunkHeader, dropped), dropped);
    put(offset_of!(ChunkHeader, progress) + offset_of!(Progress, calls), begun);
    read(&[file])
}

#[test]
fn a_call_is_lost_for_one_reason() {
    let lost = |begun| killed_when_full(begun, 9, 0).meta.lost;
    assert_eq!(lost(10).records, 9);
    let both = lost(12);
    assert_eq!((both.records, both.reasons["no room left in the spool"]), (11, 9));
}

#[test]
fn the_reason_for_a_full_spool_is_noted() {
    let said = |full| killed_when_full(10, 9, full).meta.notes.join("\n");
    // Files that state no reason, and those of a later holdup.
    for full in [0, Full::Limit as u32, 99] {
        assert!(said(full).contains("--max-size makes it larger"), "{}", said(full));
    }
    for (full, word) in [
        (Full::Disk, "the disk was full"),
        (Full::FileSize, "ulimit -f"),
        (Full::Descriptors, "ulimit -n"),
        (Full::Gone, "changed its user"),
        (Full::Memory, "vm.max_map_count"),
        (Full::Seccomp, "seccomp"),
    ] {
        let said = said(full as u32);
        assert!(said.contains(word) && !said.contains("--max-size"), "{said}");
    }
}

#[test]
fn room_ends_where_the_thread_that_lost_most_had_none() {
    let mut build = Build::new(7, Level::Light);
    wrapped(&mut build, "cuMemcpyDtoHAsync", MAIN, 1_000_000, 4_000_000);
    wrapped(&mut build, "cuMemcpyDtoHAsync", OTHER, 1_000_000, 9_000_000);
    let file = build.finish();
    let said = |dropped: [u64; 2]| {
        let mut file = file.clone();
        for (chunk, dropped) in [1, 2].into_iter().zip(dropped) {
            let at = chunk * ALIGN as usize + offset_of!(ChunkHeader, dropped);
            file[at..at + 8].copy_from_slice(&dropped.to_ne_bytes());
        }
        read(&[file]).meta.notes.join("\n")
    };
    for (dropped, room) in [([9, 0], "3 ms"), ([9, 2], "3 ms"), ([2, 9], "8 ms")] {
        assert!(said(dropped).contains(&format!("the spool had room for {room};")), "{}", said(dropped));
    }
    assert!(!said([0, 0]).contains("room"), "{}", said([0, 0]));
}

#[test]
fn a_file_that_is_not_a_spool_file_is_counted() {
    let trace = read(&[vec![0; 70_000], full().finish()]);
    assert_eq!((trace.meta.lost.records, trace.calls.len()), (1, 4));
    assert!(!trace.meta.notes.concat().contains("disk"), "{:?}", trace.meta.notes);
    // What a full disk leaves of them, which is noted once.
    let trace = read(&[vec![], vec![0; 4096], full().finish()]);
    assert_eq!(trace.meta.lost.reasons["spool file shorter than its header"], 2);
    assert_eq!((trace.calls.len(), trace.meta.notes.concat().matches("the disk was full").count()), (4, 1));
}

#[test]
fn a_spool_file_of_another_version_is_not_misread() {
    let mut other = full().finish();
    other[spool::ANY_VERSION.len()] = b'1';
    let trace = read(&[other, full().finish()]);
    let reasons: Vec<_> = trace.meta.lost.reasons.keys().map(|reason| reason.to_string()).collect();
    assert_eq!((reasons, trace.calls.len()), (vec!["spool file of another version of holdup".to_owned()], 4));
}

#[test]
fn a_directory_or_a_file_of_a_spool_is_a_trace() {
    let directory = tempfile::tempdir().unwrap();
    let refused = crate::open(directory.path(), &mut |_| {}).err().unwrap().to_string();
    assert!(refused.contains("a directory"), "{refused}");
    std::fs::write(directory.path().join("7-0.spool"), full().finish()).unwrap();
    let trace = crate::open(directory.path(), &mut |_| {}).unwrap();
    let runtime = trace.calls.api.iter().filter(|api| **api == Api::Runtime);
    assert_eq!(runtime.count(), 2);
    let one = crate::open(&directory.path().join("7-0.spool"), &mut |_| {}).unwrap();
    assert_eq!(one.calls, trace.calls);
}

proptest! {
    /// Any remains of a file become a trace that can be written and read again.
    #[test]
    fn any_bytes_become_a_sound_trace(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..60),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut build = full();
        [5, 0, 700].into_iter().for_each(|ns| clock(&mut build, ns));
        wrapped(&mut build, "cuMemcpyDtoHAsync", OTHER, 100, 900);
        module(&mut build, "/x/libtorch.so", 0x3000);
        stack(&mut build, OTHER, 100, 900, &[0x3011], &[PythonFrame::default()]);
        let mut bytes = build.finish();
        for (at, value) in changes {
            // Not the zeros after the records.
            let region = at.index(3) * ALIGN as usize;
            let at = region + at.index(1500);
            bytes[at] = value;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        let trace = read(&[bytes]);
        let mut file = std::io::Cursor::new(Vec::new());
        trace::write(&trace, &mut file).unwrap();
        let again = trace::read(file.get_ref());
        prop_assert!(again.is_ok(), "{:?}", again.err());
    }
}

#[test]
fn kernels_of_cuda_fortran_have_the_names_of_the_source() {
    let kernels = |library: &str| {
        let mut build = Build::new(7, Level::Full);
        module(&mut build, library, 0x1000);
        for (at, name) in (1..).zip(["simpleops_m_increment_", "_Z3addPf", "Other_"]) {
            let name = build.text(MAIN, name);
            let kernel = Kernel { start: at * 100, end: at * 100 + 50, ..Kernel::default() };
            build.record(MAIN, Kernel::KIND, name, &[kernel.bytes()]);
        }
        let trace = read(&[build.finish()]);
        trace.ops.name.iter().map(|name| trace.text(*name).to_owned()).collect::<Vec<_>>()
    };
    let of_fortran = kernels("/opt/nvidia/hpc_sdk/compilers/lib/libcudafor_120.so");
    assert_eq!(of_fortran, ["simpleops_m_increment", "add(float*)", "Other_"]);
    assert_eq!(kernels("/lib/libc.so.6"), ["simpleops_m_increment_", "add(float*)", "Other_"]);
}
