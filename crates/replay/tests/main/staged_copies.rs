//! Copies through page-locked buffers of the program's own.

use crate::support::{add_beside, add_process};
use replay::{Fit, Predictor, fixes, recover};
use sim::{Model, Options};
use std::time::Duration;
use trace::*;
use workload::{Kernel, Memory, Repeat, StreamKind, Workload};

/// A thread copies memory to the device beside one that launches into the same stream.
fn beside_launches(memory: Memory, bytes: u64) -> Trace {
    let mut workload = Workload::new("copies beside launches");
    let process = workload.process("main");
    let context = process.primary(0);
    let stream = process.stream("s", context, StreamKind::NonBlocking);
    let device = process.buffer("device", context, Memory::Device, bytes);
    let host = process.buffer("host", context, memory, bytes);
    let copier = process.thread("copier", context);
    copier.before().allocate(device).allocate(host);
    copier.body().copy(host, device, bytes, stream).synchronize(stream).work(Duration::from_micros(200));
    copier.after().free(host).free(device);
    copier.repeat = Repeat::Times(50);
    let launcher = process.thread("launcher", context);
    launcher.body().launch(Kernel::Delay { cycles: 40_000 }, 1, 32, stream).work(Duration::from_micros(50));
    launcher.repeat = Repeat::Times(1_000);
    let options = Options { trace: true, ..Options::default() };
    sim::run(&workload, &Model::load("h200").unwrap(), options).unwrap().1.unwrap()
}

/// The gains of some sets of changes, as parts of the time; `None`: nothing to change.
fn gains<const N: usize>(trace: &Trace, sets: [&str; N]) -> [Option<f64>; N] {
    let base = recover(trace).unwrap();
    let fit = Fit::of(trace, &base, &base.replay().unwrap());
    assert!(fit.fits, "{fit:?}");
    let predictor = Predictor::new(trace, &base, &fit, &|_| {}).unwrap();
    sets.map(|set| predictor.gain(&replay::fixes(set).unwrap()).unwrap().map(|(gain, _)| gain.share))
}

#[test]
fn a_copy_that_stalls_launches_gains_and_pinned_memory_gains_more() {
    let trace = beside_launches(Memory::Pageable, 16 << 20);
    let [staged, pinned] = gains(&trace, ["staged-copies", "pinned-reused"]).map(Option::unwrap);
    assert!(staged > 0.02, "{staged}");
    assert!(pinned > staged, "{pinned} and {staged}");
}

#[test]
fn pinned_copies_stay() {
    assert_eq!(gains(&beside_launches(Memory::Pinned, 16 << 20), ["staged-copies"]), [None]);
}

#[test]
fn copies_below_the_threshold_stay() {
    let [small, enough] =
        [65_535, 65_536].map(|bytes| gains(&beside_launches(Memory::Pageable, bytes), ["staged-copies"]));
    assert_eq!(small, [None]);
    assert_ne!(enough, [None]);
}

#[test]
fn what_is_pinned_already_is_not_staged() {
    let trace = beside_launches(Memory::Pageable, 16 << 20);
    assert_eq!(gains(&trace, ["pinned-reused,staged-copies"]), [None]);
}

/// When the last kernel ends with staged copies, ns: a thread copies 4 MiB to the host, and another one launches kernels of 10 µs that begin
/// behind the copy, into the same stream or into its own.
fn kernels_beside_pieces(same: bool, tracer: &str) -> Ns {
    let mut trace = Trace::default();
    trace.meta.source_version = tracer.to_owned();
    let (copier, one) = add_process(&mut trace, 1);
    let (launcher, other) = add_beside(&mut trace, copier, one);
    let [launch, copy] = ["cudaLaunchKernel", "cudaMemcpyAsync"].map(|name| trace.strings.intern(name));
    let mut add = |thread, name, (start, end), (starts, ends), op: Op| {
        let correlation = trace.calls.len() as i64 + 1;
        trace.calls.push(Call { start, end, thread, name, correlation, ..Call::default() });
        trace.ops.push(Op { start: starts, end: ends, correlation, ..op });
    };
    let plain = Op { stream: one, ..Op::default() };
    let to_host =
        Op { kind: OpKind::Copy, copy: CopyKind::DtoH, dst: MemoryKind::Pageable, bytes: 4 << 20, ..plain };
    add(copier, copy, (0, 400_000), (5_000, 395_000), to_host);
    for at in 0..100 {
        let (start, ends) = (1_000 + 3_000 * at, 400_000 + 11_000 * at);
        let stream = if same { one } else { other };
        let kernel = Op { kind: OpKind::Kernel, stream, grid_x: 64, block_x: 64, ..plain };
        add(launcher, launch, (start, start + 2_500), (ends, ends + 10_000), kernel);
    }
    trace.join();
    let base = recover(&trace).unwrap();
    let fit = Fit::of(&trace, &base, &base.replay().unwrap());
    let predictor = Predictor::new(&trace, &base, &fit, &|_| {}).unwrap();
    let changed = predictor.trace(&fixes("staged-copies").unwrap()).unwrap().unwrap();
    changed.ops.end.iter().copied().max().unwrap_or_default()
}

#[test]
fn pieces_hold_up_the_kernels_of_their_stream() {
    // The device's signals between pieces and kernels, in the simulator as on a machine.
    let held_up = ["CUPTI 2025.3.1", ""]
        .map(|tracer| kernels_beside_pieces(true, tracer) - kernels_beside_pieces(false, tracer));
    assert_eq!(held_up, [4_000, 4_000]);
}
