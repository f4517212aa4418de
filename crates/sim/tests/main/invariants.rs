//! Rules for every trace, whatever the workload and the model.

use crate::support::traced;
use experiments::catalogue::interference::{self, Effect, Repeated};
use experiments::catalogue::{architectures, hidden_sync, launch_stall, multi_gpu, overlap, stagger};
use experiments::{HostMemory, Layout, Place, Submit, Word};
use sim::{Model, Options};
use std::collections::HashMap;
use std::time::Duration;
use trace::{CopyKind, OpKind, Trace};
use workload::Workload;

/// A few small workloads that use all kinds of calls.
fn workloads(model: &Model) -> Vec<Workload> {
    let architecture = |layout, submit, memory| {
        let case =
            architectures::Case { layout, submit, memory, workers: 4, iterations: 3, ..Default::default() };
        case.workload()
    };
    let mut all = vec![
        architecture(Layout::Threads, Submit::Launches, HostMemory::Pageable),
        architecture(Layout::Threads, Submit::Graph, HostMemory::Pinned),
        architecture(Layout::Processes, Submit::Launches, HostMemory::Pinned),
        architecture(Layout::Contexts, Submit::Launches, HostMemory::Pageable),
        stagger::Case { cycles: 1_000_000, ..Default::default() }.workload(),
        overlap::Case { order: overlap::Order::BreadthFirst, ..Default::default() }.workload(),
        hidden_sync::Case {
            length: 1 << 20,
            operation: hidden_sync::Operation::Normalize,
            ..Default::default()
        }
        .workload(),
        multi_gpu::Case { workers: 4, gpus: model.device.count, times: 1_200, ..Default::default() }
            .workload(),
        multi_gpu::Case { workers: 2, load: multi_gpu::Load::Starvation, times: 20, ..Default::default() }
            .workload(),
    ];
    for memory in HostMemory::ALL {
        let time = Duration::from_millis(20);
        all.push(
            launch_stall::Case { memory: *memory, bytes: 16 << 20, time, ..Default::default() }.workload(),
        );
    }
    all
}

/// Intervals that follow one another, by what they share.
fn in_turn<K: std::hash::Hash + Eq + std::fmt::Debug>(spans: impl Iterator<Item = (K, i64, i64)>) {
    let mut ends: HashMap<K, i64> = HashMap::new();
    for (key, start, end) in spans {
        assert!(start <= end);
        if let Some(before) = ends.get(&key) {
            assert!(start >= *before, "{key:?}: {start} before {before}");
        }
        ends.insert(key, end);
    }
}

fn check(trace: &Trace, model: &Model) {
    let ops = || trace.ops.ids().map(|id| trace.ops.row(id));
    let calls = trace.calls.ids().map(|id| trace.calls.row(id));
    in_turn(calls.map(|call| (call.thread, call.start, call.end)));
    in_turn(ops().map(|op| (op.stream, op.start, op.end)));
    let engine = |op: trace::Op| {
        let device = trace.device_of_stream(op.stream);
        let out = op.copy == CopyKind::DtoH && model.device.copy_engines > 1;
        let copies = op.kind == OpKind::Copy && matches!(op.copy, CopyKind::HtoD | CopyKind::DtoH);
        copies.then_some(((device, out), op.start, op.end))
    };
    in_turn(ops().filter_map(engine));
    for op in ops() {
        let call = trace.calls.row(op.call);
        assert!(op.start >= call.start, "no work before it is asked for");
        assert_eq!(op.correlation, call.correlation);
    }
    for id in trace.waits.ids() {
        let (wait, call) = (trace.waits.row(id), trace.calls.row(trace.waits.call[id]));
        assert!(wait.start >= call.start && wait.start <= wait.end && wait.end <= call.end);
        assert!(wait.holder != wait.thread && wait.holder.is_some() && wait.releaser.is_some());
        assert_eq!(wait.thread, call.thread);
    }
    for id in trace.syncs.ids() {
        assert_eq!(trace.syncs.correlation[id], trace.calls.correlation[trace.syncs.call[id].index()]);
    }
}

#[test]
fn every_trace_is_in_order() {
    for name in Model::names() {
        let model = Model::load(name).unwrap();
        for workload in workloads(&model) {
            println!("{name} {}", workload.name);
            let trace = traced(&workload, name);
            assert!(!trace.ops.is_empty() && trace.meta.lost == trace::Lost::default());
            check(&trace, &model);
        }
    }
}

#[test]
fn every_cell_of_the_matrix_runs() {
    let model = Model::load("h200x8").unwrap();
    for repeated in Repeated::ALL {
        for effect in Effect::ALL {
            for place in Place::ALL {
                let time = Duration::from_millis(10);
                let case = interference::Case {
                    repeated: *repeated,
                    effect: *effect,
                    place: *place,
                    time,
                    ..Default::default()
                };
                let outcome = sim::run(&case.workload(), &model, Options::default()).unwrap().0;
                let b = outcome.threads.last().unwrap();
                assert!(
                    b.rounds > 0 && b.elapsed_ns >= time.as_nanos() as u64,
                    "{repeated:?} {effect:?} {place:?}"
                );
            }
        }
    }
}

#[test]
fn the_nearest_model_is_not_newer_than_the_device() {
    let nearest = |compute| Model::nearest(compute, "").expect("built-in models load").name;
    let names = [(1, 0), (3, 7), (6, 0), (6, 1), (7, 5), (8, 9), (9, 0), (10, 0)].map(nearest);
    assert_eq!(names, ["c1060", "k20c", "p100", "p40", "v100", "a4000x10", "h200", "h200"]);
}

#[test]
fn of_models_for_the_same_capability_the_one_in_the_name_of_the_device_is_nearest() {
    let nearest = |name| Model::nearest((9, 0), name).expect("built-in models load").name;
    let names = ["NVIDIA H100 80GB HBM3", "NVIDIA H200", "NVIDIA GH200 480GB", "NVIDIA H800"].map(nearest);
    assert_eq!(names, ["h100", "h200", "h200", "h200"]);
}
