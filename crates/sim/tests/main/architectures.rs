//! Seed 000 and section 3: threads, processes, MPS, graphs; iterations a second.

use crate::support::{Row, check, run};
use lab::experiments::architectures::Case;
use lab::{HostMemory, Layout, Submit};

/// Iterations a second, as the seed counts them.
fn per_s(case: &Case) -> f64 {
    let outcome = run(&case.workload(), "h200");
    let elapsed: u64 = outcome.threads.iter().map(|thread| thread.elapsed_ns).sum();
    let workers = f64::from(case.workers);
    1e9 / elapsed as f64 * case.iterations as f64 * workers * workers
}

/// What was measured with so many workers: from, to.
type Cell = (u32, f64, f64);

fn rows(what: &str, within: f64, case: &Case, cells: &[Cell]) -> Vec<Row> {
    let row = |(workers, low, high): &Cell| Row {
        what: format!("{what}: {workers}"),
        measured: (*low, *high),
        simulated: per_s(&Case { workers: *workers, ..case.clone() }),
        within,
    };
    cells.iter().map(row).collect()
}

fn cells(values: &[(u32, u32)]) -> Vec<Cell> {
    values.iter().map(|(workers, value)| (*workers, f64::from(*value), f64::from(*value))).collect()
}

#[test]
fn threads() {
    let pinned = Case::default();
    let pageable = Case { memory: HostMemory::Pageable, ..Case::default() };
    let with = |connections| Case { connections: Some(connections), ..Case::default() };
    let mut table = rows(
        "threads, pinned",
        0.15,
        &pinned,
        &cells(&[(1, 287), (2, 562), (4, 1036), (8, 1967), (16, 1976), (32, 2167)]),
    );
    table.extend(rows(
        "threads, pageable, synchronized",
        0.15,
        &Case { sync: true, ..pageable.clone() },
        &cells(&[(1, 274), (2, 532), (4, 989), (8, 1780), (16, 1934)]),
    ));
    table.extend(rows(
        "threads, pageable",
        0.15,
        &pageable,
        &cells(&[(1, 270), (2, 529), (4, 960), (8, 1662), (16, 1728)]),
    ));
    table.extend(rows(
        "threads, 16 connections",
        0.15,
        &with(16),
        &cells(&[(8, 1830), (16, 2293), (32, 2087)]),
    ));
    table.extend(rows(
        "threads, 32 connections",
        0.15,
        &with(32),
        &[(1, 288.0, 288.0), (8, 1846.0, 1941.0), (16, 2626.0, 3047.0), (32, 2352.0, 2988.0)],
    ));
    check(&table);
}

#[test]
fn processes() {
    let with = |layout| Case { layout, ..Case::default() };
    let mut table =
        rows("processes", 0.15, &with(Layout::Processes), &cells(&[(1, 284), (2, 271), (4, 270), (8, 270)]));
    table.extend(rows(
        "processes + MPS, pinned",
        0.15,
        &with(Layout::ProcessesMps),
        &cells(&[(1, 284), (2, 558), (4, 1030), (8, 1906), (16, 3227), (32, 3833)]),
    ));
    table.extend(rows(
        "processes + MPS, pageable",
        0.15,
        &Case { memory: HostMemory::Pageable, ..with(Layout::ProcessesMps) },
        &cells(&[(1, 274), (2, 536), (4, 988), (8, 1851), (16, 3199)]),
    ));
    check(&table);
}

#[test]
fn threads_under_mps() {
    let mps = Case { layout: Layout::ThreadsMps, ..Case::default() };
    let mut table =
        rows("threads + MPS", 0.15, &mps, &cells(&[(1, 284), (2, 559), (4, 575), (8, 580), (16, 564)]));
    table.extend(rows(
        "threads + MPS, 32 connections",
        0.15,
        &Case { connections: Some(32), ..mps },
        &cells(&[(8, 1828), (16, 2144), (32, 2567)]),
    ));
    check(&table);
}

#[test]
fn graphs() {
    let graph = Case { submit: Submit::Graph, connections: Some(32), ..Case::default() };
    check(&rows("threads, graph", 0.15, &graph, &cells(&[(1, 302), (8, 2352), (16, 4682), (32, 9223)])));
}

/// 16 contexts without MPS were once measured at 689. The H200 makes 100 contexts in a process; where earlier rounds
/// had left that many, some of the 16 threads were in one context together (762). With a context each it is 270.
#[test]
fn a_context_for_each_thread() {
    let with = |layout| Case { layout, ..Case::default() };
    let alone = cells(&[(1, 287), (8, 270), (16, 270), (32, 270)]);
    let mut table = rows("contexts", 0.30, &with(Layout::Contexts), &alone);
    table.extend(rows("contexts + MPS", 0.30, &with(Layout::ContextsMps), &cells(&[(16, 3157), (32, 3629)])));
    check(&table);
}
