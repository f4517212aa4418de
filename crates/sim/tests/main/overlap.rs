//! Seed 002 and section 4: what overlaps?

use crate::support::{check, row, run};
use lab::HostMemory;
use lab::experiments::overlap::{Case, Order};

/// Milliseconds a pass takes.
fn ms(model: &str, case: &Case) -> f64 {
    let outcome = run(&case.workload(), model);
    outcome.threads[0].elapsed_ns as f64 / case.passes as f64 / 1e6
}

#[test]
fn seed_002_on_three_generations() {
    let measured =
        [("c1060", [12.92, 13.64, 8.85]), ("c2050", [9.98, 5.74, 7.60]), ("k20c", [7.10, 3.97, 3.97])];
    let mut rows = Vec::new();
    for (model, times) in measured {
        for (order, time) in
            [Order::Sequential, Order::DepthFirst, Order::BreadthFirst].into_iter().zip(times)
        {
            let simulated = ms(model, &Case { order, ..Case::default() });
            rows.push(row(format!("{model} {order:?}"), time, simulated, 0.05));
        }
    }
    check(&rows);
}

#[test]
fn on_h200() {
    let measured = [
        (HostMemory::Pinned, 1, [2.746, 1.704, 1.693]),
        (HostMemory::Pageable, 1, [11.768, 12.173, 11.863]),
        (HostMemory::Pinned, 32, [11.025, 9.167, 9.157]),
        (HostMemory::Pageable, 32, [19.847, 20.460, 16.957]),
    ];
    let mut rows = Vec::new();
    for (memory, rounds, times) in measured {
        for (order, time) in
            [Order::Sequential, Order::DepthFirst, Order::BreadthFirst].into_iter().zip(times)
        {
            let case = Case { order, memory, rounds, bytes: 64 << 20, ..Case::default() };
            rows.push(row(format!("{memory:?} {rounds} {order:?}"), time, ms("h200", &case), 0.15));
        }
    }
    check(&rows);
}
