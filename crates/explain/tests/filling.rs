//! The part of a GPU for which its kernels have blocks.

mod timeline;

use explain::{Options, explain};

/// The part that kernels fill of a GPU of 132 multiprocessors; `None` if that is no news.
fn filled(kernels: &str) -> Option<f64> {
    let (trace, _) = timeline::parse(&format!("device 2 9 0 132\n{kernels}\n"));
    let explanation = explain(&trace, &Options::default());
    explanation.accounts.gpus[0].small_kernels.as_ref().map(|small| small.filled)
}

#[test]
fn kernels_with_few_blocks_do_not_fill_a_gpu() {
    assert_eq!(filled("A cudaLaunchKernel 0 5 | kernel align grid 33 512 7 10 90"), Some(0.25));
    let half = "A cudaLaunchKernel 0 5 | kernel align grid 66 512 7 10 90";
    assert_eq!(filled(half), None, "near miss");
    assert_eq!(filled("A cudaLaunchKernel 0 5 | kernel align grid 264 512 7 10 90"), None, "control");
    assert_eq!(filled("A cudaLaunchKernel 0 5 | kernel align 7 10 90"), None, "an unknown grid");
    let spins = "A cudaLaunchKernel 0 5 | kernel spin_kernel grid 1 1 7 10 90";
    assert_eq!(filled(spins), None, "it stands for another kernel");
}

/// Two kernels beside each other fill what both have blocks for; two in turns fill a part by their time.
#[test]
fn kernels_fill_a_gpu_together() {
    let first = "A cudaLaunchKernel 0 5 | kernel align grid 33 512 7 10 90\n";
    let beside = format!("{first}A cudaLaunchKernel 6 9 | kernel align grid 33 512 8 10 90");
    assert_eq!(filled(&beside), None);
    let large = format!("{first}A cudaLaunchKernel 6 9 | kernel align grid 132 512 7 90 100");
    assert_eq!(filled(&large), Some((80.0 * 0.25 + 10.0) / 90.0));
}

/// Kernels that exchange data between GPUs need few blocks.
#[test]
fn kernels_that_communicate_need_not_fill_a_gpu() {
    let kernels = "A cudaLaunchKernel 0 5 | kernel ncclDevKernel_AllReduce grid 8 512 7 10 90";
    assert_eq!(filled(kernels), None);
}
