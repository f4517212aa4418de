//! Seed 002: what overlaps on three generations?

use crate::support::{check, row, run};
use experiments::catalogue::overlap::{Case, Order};

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
