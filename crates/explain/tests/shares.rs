//! A finding's share of its thread's time when only a part of the time is selected.

mod timeline;

use explain::{Options, explain};

/// The shares of all findings; the timelines have calls of 400 µs at 0 and at 600 µs.
fn shares(selected: &str) -> Vec<f64> {
    let text = format!(
        "{selected}\n\
         A cudaLaunchKernel 0 5 | kernel sin 7 5 390\n\
         A cudaStreamSynchronize 10 400\n\
         A cudaLaunchKernel 500 505 | kernel sin 7 506 990\n\
         A cudaStreamSynchronize 600 1000\n"
    );
    let (trace, selection) = timeline::parse(&text);
    let explanation = explain(&trace, &Options { selection, ..Options::default() });
    explanation.findings.iter().map(|finding| finding.share).collect()
}

#[test]
fn a_share_is_of_the_threads_time() {
    assert_eq!(shares(""), [790.0 / 1000.0]);
}

/// A call that extends beyond the selected time counts whole, in what was lost and in the time that it is a part of.
#[test]
fn a_call_across_the_edge_of_the_selected_time_counts_whole() {
    // 200 to 1000 µs are selected, the first call began 190 µs earlier.
    assert_eq!(shares("only 200 2000"), [790.0 / 990.0]);
    // 700 to 800 µs of one call of 400 µs.
    assert_eq!(shares("only 700 800"), [1.0]);
}
