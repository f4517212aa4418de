//! Output of nvprof and nsys, changed in many ways; `cases.rs` has the listings.

mod dump;

use dump::read;
use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use trace::Ns;

#[test]
fn a_listing_is_found_behind_any_output_and_in_gzip() {
    let listing = include_str!("data/printed/nvprof-api-text/input.txt");
    let whole = read(listing.as_bytes());
    assert!(whole.contains("call "), "{whole}");
    let behind = format!("[info] epoch\n{}{listing}", "loss 0.125, step 12\n".repeat(1000));
    // A bracket at the start of more output than recognition reads is JSON.
    assert_eq!(read(behind.trim_start_matches("[info] epoch\n").as_bytes()), whole);
    assert_eq!(read(format!("[info] epoch\n{listing}").as_bytes()), whole);
    assert_eq!(read(listing.replace('\n', "\r\n").as_bytes()), whole);
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(listing.as_bytes()).unwrap();
    assert_eq!(read(&packed.finish().unwrap()), whole);
}

/// The four threads of a program whose copies and launches wait for each other.
#[test]
fn threads_are_inferred_from_calls_that_overlap() {
    let trace = import::read_bytes(include_bytes!("data/printed/nvprof-api-text/input.txt"), "test").unwrap();
    assert!(trace.meta.threads_inferred);
    // The listing begins at 162.11 ms, which is the trace's time 0.
    let thread = |printed: Ns| {
        let start = printed - 162_110_000;
        let at = trace.calls.start.iter().position(|own| (own - start).abs() < 100_000);
        trace.threads.tid[trace.calls.thread[at.expect("a call then")].index()]
    };
    let copies = [545_680_000, 554_540_000, 564_610_000, 574_700_000].map(thread);
    // Each thread's next call: a free, two launches, and another after the 10.5 s copy.
    assert_eq!([6_575_830_000, 6_576_910_000, 6_577_990_000, 11_097_500_000].map(thread), copies);
    let mut distinct = copies.to_vec();
    distinct.sort_unstable();
    assert_eq!(distinct, [1, 2, 3, 4]);
    // The copy after the launch of 8.28 s, and the frees after the last copies.
    assert_eq!([14_861_200_000, 20_131_500_000].map(thread), [copies[1]; 2]);
    assert_eq!(thread(20_129_000_000), copies[3]);
}

/// A listing of calls in nvprof's CSV, from threads with the given busy and idle times.
fn listing(threads: &[Vec<(u32, u32)>]) -> (String, BTreeMap<i64, usize>) {
    let mut calls = Vec::new();
    for (thread, spans) in threads.iter().enumerate() {
        let mut at = 0;
        for (idle, busy) in spans {
            at += i64::from(*idle);
            calls.push((at, i64::from(*busy), thread));
            at += i64::from(*busy);
        }
    }
    calls.sort_unstable();
    let mut text = String::from(
        "======== Profiling result:\n\"Start\",\"Duration\",\"Name\",\"Correlation_ID\"\nns,ns,,\n",
    );
    let mut of = BTreeMap::new();
    for (at, (start, duration, thread)) in calls.into_iter().enumerate() {
        writeln!(text, "{start},{duration},\"cudaLaunchKernel\",{}", at + 1).unwrap();
        of.insert(at as i64 + 1, thread);
    }
    (text, of)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// There are as few inferred threads as possible, and no two calls of one overlap.
    #[test]
    fn no_thread_is_in_two_calls_at_once(
        threads in prop::collection::vec(prop::collection::vec((0u32..50, 1u32..50), 1..12), 1..6)
    ) {
        let (text, of) = listing(&threads);
        let trace = import::read_bytes(text.as_bytes(), "test").unwrap();
        prop_assert_eq!(trace.calls.len(), of.len());
        prop_assert!(trace.threads.len() <= threads.len());
        let mut calls: Vec<_> =
            (0..of.len()).map(|at| (trace.calls.thread[at], trace.calls.start[at], trace.calls.end[at])).collect();
        calls.sort_unstable();
        for pair in calls.windows(2) {
            prop_assert!(pair[0].0 != pair[1].0 || pair[0].2 <= pair[1].1, "{:?}", pair);
        }
        // The most threads that were in a call at one time.
        let most = calls.iter().map(|(_, start, _)| calls.iter().filter(|(_, from, to)| from <= start && start < to).count());
        prop_assert_eq!(trace.threads.len(), most.max().unwrap_or(0));
    }

    /// Any listing is read or refused.
    #[test]
    fn damage_never_panics(
        case in 0usize..4, cut in 0.0f64..1.0, at in 0.0f64..1.0, junk in "[\\PC\n\",]{0,12}"
    ) {
        let listing = [
            include_str!("data/printed/nvprof-merged-text/input.txt"),
            include_str!("data/printed/nvprof-merged-csv/input.txt"),
            include_str!("data/printed/nsys-two-reports/input.txt"),
            include_str!("data/printed/nvprof-api-text/input.txt"),
        ][case];
        let place = |share: f64| (0..=(listing.len() as f64 * share) as usize).rev().find(|at| listing.is_char_boundary(*at)).unwrap();
        let (cut, at) = (place(cut), place(at));
        let (front, back) = listing.split_at(at);
        _ = read(format!("{front}{junk}{back}").as_bytes());
        _ = read(&listing.as_bytes()[..cut]);
        _ = read(format!("{front}{}", &listing[cut..]).as_bytes());
    }
}
