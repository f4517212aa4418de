//! Findings of `explain` on seed 002's three programs on three generations: what keeps copies and kernels from overlapping.

use crate::support::traced;
use experiments::catalogue::overlap::{Case, Order};
use explain::{Confidence, Engine, LostOverlap, Overlap, OverlapRule, overlaps};
use trace::Selection;

/// One to warm up, ten by the host's clock, and ten between events.
const PASSES: u64 = 21;

fn overlap(model: &str, order: Order) -> Overlap {
    let trace = traced(&Case { order, ..Case::default() }.workload(), model);
    let mut found = overlaps(&trace, &Selection::default());
    assert_eq!(found.len(), 1);
    let found = found.remove(0);
    assert!(found.explained_ns() <= found.missed_ns(), "{model} {order:?}: more is lost than was possible");
    found
}

fn lost(overlap: &Overlap, rule: OverlapRule) -> Option<&LostOverlap> {
    overlap.lost.iter().find(|lost| lost.rule == rule)
}

fn share(part: i64, whole: i64) -> f64 {
    part as f64 / whole as f64
}

/// Asserts that the order of issue is named, with as much as the other order saves.
fn order_costs(model: &str, bad: Order, good: Order) -> LostOverlap {
    let (bad, good) = (overlap(model, bad), overlap(model, good));
    let order = lost(&bad, OverlapRule::IssueOrder).expect("the order is to blame").clone();
    assert_eq!(bad.lost.first().map(|lost| lost.rule), Some(OverlapRule::IssueOrder));
    let saved = bad.busy_ns - good.busy_ns;
    let off = share(order.lost_ns, saved) - 1.0;
    assert!(off.abs() < 0.02, "{model}: lost {} to the order, the other one saves {saved}", order.lost_ns);
    assert!(lost(&good, OverlapRule::IssueOrder).is_none());
    order
}

#[test]
fn on_a_c1060_a_copy_in_waits_for_the_copy_out_before_it() {
    let order = order_costs("c1060", Order::DepthFirst, Order::BreadthFirst);
    assert_eq!(order.confidence, Confidence::Certain);
    for late in &order.operations {
        let behind = late.behind.as_ref().expect("something was before it");
        assert_eq!((late.engine, behind.engine), (Engine::CopyIn, Some(Engine::CopyOut)));
        assert_eq!(behind.stream, Some(late.stream - 1));
    }
    // The first of four copies in is behind nothing.
    assert_eq!((order.kinds, order.count), (3, 3 * PASSES));
}

#[test]
fn on_a_c2050_copies_out_wait_for_the_last_kernel() {
    let order = order_costs("c2050", Order::BreadthFirst, Order::DepthFirst);
    assert_eq!(order.confidence, Confidence::Likely);
    let late = &order.operations[0];
    let behind = late.behind.as_ref().expect("something was before it");
    assert_eq!((late.engine, behind.engine), (Engine::CopyOut, Some(Engine::Compute)));
    assert_eq!((late.call.as_str(), behind.kernel.as_str()), ("cuMemcpyDtoHAsync", "increment"));
}

#[test]
fn on_a_k20c_the_order_costs_nothing() {
    for order in [Order::DepthFirst, Order::BreadthFirst] {
        assert!(lost(&overlap("k20c", order), OverlapRule::IssueOrder).is_none());
    }
}

/// Between passes all of them wait for the device; nothing else is left to blame but the ends of the pipeline.
#[test]
fn with_streams_only_the_wait_between_passes_remains() {
    for (model, order) in [
        ("c1060", Order::BreadthFirst),
        ("c2050", Order::DepthFirst),
        ("k20c", Order::DepthFirst),
        ("k20c", Order::BreadthFirst),
    ] {
        let overlap = overlap(model, order);
        let rules: Vec<_> = overlap.lost.iter().map(|lost| (lost.rule, lost.count)).collect();
        assert_eq!(rules, [(OverlapRule::Synchronization, PASSES - 1)], "{model} {order:?}");
        assert_eq!(overlap.lost[0].confidence, Confidence::Possible);
        let behind = overlap.lost[0].operations[0].behind.as_ref().unwrap();
        let waits = ["cuCtxSynchronize", "cuEventSynchronize"].contains(&behind.call.as_str());
        assert!(behind.engine.is_none() && waits, "{model} {order:?}: {behind:?}");
    }
}

#[test]
fn sequential_passes_use_one_stream() {
    for model in ["c1060", "c2050", "k20c"] {
        let overlap = overlap(model, Order::Sequential);
        assert_eq!((overlap.reached_ns, overlap.two_ns, overlap.three_ns), (0, 0, 0));
        let first = &overlap.lost[0];
        assert_eq!((first.rule, first.confidence), (OverlapRule::OneStream, Confidence::Likely));
        assert_eq!(first.also, [OverlapRule::DefaultStream, OverlapRule::Synchronization]);
        assert!(share(first.lost_ns, overlap.missed_ns()) > 0.9, "{model}");
        assert!(lost(&overlap, OverlapRule::IssueOrder).is_none());
    }
}

/// The blog's figures: of a pass, 4/12 are saved where one copy engine overlaps with kernels, 6/12 with two.
#[test]
fn overlap_depends_on_the_copy_engines() {
    for (model, engines) in [("c1060", 1), ("c2050", 2), ("k20c", 2)] {
        let overlap = overlap(model, Order::DepthFirst);
        assert_eq!(overlap.copy_engines, Some(engines));
        let [copies_in, copies_out, kernels] =
            [overlap.copies_in_ns, overlap.copies_out_ns, overlap.kernels_ns];
        let bound = match engines {
            1 => kernels.max(copies_in + copies_out),
            _ => kernels.max(copies_in).max(copies_out),
        };
        assert_eq!(overlap.possible_ns, copies_in + copies_out + kernels - bound);
        assert_eq!(overlap.reached_ns, copies_in + copies_out + kernels - overlap.busy_ns);
    }
}
