//! Seed 004 and section 6: one worker for each GPU; microseconds for each product.

use crate::support::{Row, check, row, run};
use experiments::Layout;
use experiments::catalogue::multi_gpu::{Case, Load};

fn us(model: &str, case: &Case) -> f64 {
    let outcome = run(&case.workload(), model);
    let elapsed: u64 = outcome.threads.iter().map(|thread| thread.elapsed_ns).sum();
    elapsed as f64 / 1e3 / outcome.threads.len() as f64 / case.times as f64
}

#[test]
fn ten_a4000() {
    let with = |layout, workers| us("a4000x10", &Case { layout, workers, gpus: 10, ..Case::default() });
    let mut rows = vec![
        row("one thread", 91.0, with(Layout::Threads, 1), 0.05),
        row("ten processes", 91.0, with(Layout::Processes, 10), 0.05),
    ];
    let simulated = with(Layout::Threads, 10);
    rows.push(Row { what: "ten threads".to_owned(), measured: (317.0, 339.0), simulated, within: 0.02 });
    check(&rows);
    let times: Vec<f64> = (1..=10).map(|workers| with(Layout::Threads, workers)).collect();
    println!("{times:.1?}");
    assert!(times.is_sorted_by(|a, b| *a <= *b * 1.01), "more threads are never faster: {times:?}");
}

/// Pools of the machine free unused memory at each synchronization: 150 µs an allocation, its free and the
/// synchronization with one GPU, 422 with four. Here they keep it, as they do where a release threshold is set.
#[test]
fn pools_that_free_memory_are_not_reproduced() {
    for workers in [1, 4] {
        let case = Case { workers, gpus: 8, load: Load::Pool, sync: true, times: 1_000, ..Case::default() };
        let time = us("h200x8", &case);
        println!("{workers} GPUs: simulated {time:.1} µs");
        assert!((0.5..10.0).contains(&time), "{workers}: {time}");
    }
}

/// Seed 004: a thread with long kernels starves beside threads with short ones on other GPUs; beside other processes it does not.
#[test]
fn a_thread_with_long_kernels_starves() {
    let with = |layout, workers| {
        let load = Load::Starvation;
        let case = Case { layout, workers, gpus: 10, load, sync: true, times: 20, ..Case::default() };
        run(&case.workload(), "a4000x10").threads[0].elapsed_ns as f64 / 1e6 / case.times as f64
    };
    let (alone, threads, processes) =
        (with(Layout::Threads, 1), with(Layout::Threads, 10), with(Layout::Processes, 10));
    println!(
        "ms a long kernel: alone {alone:.2}, beside nine threads {threads:.2}, nine processes {processes:.2}"
    );
    assert!(threads > 10.0 * alone && processes < 1.05 * alone);
}

/// Seed 004: modules load slowly while others launch, the slower the more of them.
#[test]
fn a_module_load_waits_for_launches_of_other_threads() {
    let ms = |others: u32| {
        let case = Case { workers: others + 1, gpus: 10, times: 1_500, ..Case::default() };
        let mut workload = case.workload();
        let loader = &mut workload.processes[0].threads[0];
        loader.body = Vec::new();
        loader.body().load_module();
        let outcome = run(&workload, "a4000x10");
        let calls = &outcome.threads[0].calls;
        calls.iter().find(|call| call.name == "cuModuleLoadData").unwrap().max_ns as f64 / 1e6
    };
    let times = [0, 1, 4, 9].map(ms);
    println!("ms to load a module beside 0, 1, 4 and 9 threads that launch: {times:.2?}");
    assert!(times.is_sorted() && times[3] > 3.0 * times[1] && times[3] > 5.0 * times[0], "{times:?}");
}
