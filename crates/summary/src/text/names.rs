//! Kinds of rows, by their names.

use crate::model::{Memory, WorkKind};

/// Whether a name is that of a function of CUDA's or HIP's APIs: one word that begins with `cuda`, `cu` or `hip` and a capital.
pub(super) fn is_call(name: &str) -> bool {
    let bare = ["cuda", "cu", "hip"].iter().find_map(|prefix| {
        name.strip_prefix(prefix).filter(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
    });
    bare.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
}

/// Whether a name is one that PyTorch's tables have for the tracer's or the driver's own work.
pub(super) fn is_overhead(name: &str) -> bool {
    const NAMES: [&str; 8] = [
        "Command Buffer Full",
        "Runtime Triggered Module Loading",
        "Lazy Function Loading",
        "Activity Buffer Request",
        "Buffer Flush",
        "Instrumentation",
        "Resource",
        "Unrecognized",
    ];
    NAMES.contains(&name)
}

/// Kind of a GPU's work.
pub(super) fn work(name: &str) -> WorkKind {
    let lower = name.to_lowercase();
    let has = |word: &str| lower.contains(word);
    let is_tools = lower.starts_with(['[']) || lower.starts_with("memcpy ") || lower.starts_with("memset ");
    let of_pages = ["host to device", "device to host", "gpu page fault groups", "page throttle", "thrashes"];
    match () {
        () if of_pages.contains(&lower.as_str()) || (is_tools && has("unified")) => WorkKind::Migration,
        () if is_tools && (has("memset") || has("[set ")) => WorkKind::Fill,
        () if is_tools && (has("memcpy") || has("[copy ")) => WorkKind::Copy { memory: memory(&lower) },
        () => WorkKind::Kernel,
    }
}

/// Memory of the host in a copy of that name, in lower case.
fn memory(name: &str) -> Memory {
    let stays = ["dtod", "device-to-device", "device to device", "ptop", "peer"];
    match () {
        () if name.contains("pageable") => Memory::Pageable,
        () if name.contains("pinned") => Memory::Pinned,
        () if stays.iter().any(|kind| name.contains(kind)) => Memory::None,
        () => Memory::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_told_apart_by_name() {
        assert!(is_call("cudaMalloc") && is_call("cuMemcpyDtoHAsync_v2") && is_call("hipLaunchKernel"));
        for kernel in ["cudapy::f", "cutlass_80_gemm", "cub::Scan", "cuFunc(int)", "cuda", "culling"] {
            assert!(!is_call(kernel), "{kernel}");
        }
        let copy = |memory| WorkKind::Copy { memory };
        assert_eq!(work("[copy device to pageable memory]"), copy(Memory::Pageable));
        assert_eq!(work("Memcpy DtoH (Device -> Pinned)"), copy(Memory::Pinned));
        assert_eq!(work("[CUDA memcpy Device-to-Device]"), copy(Memory::None));
        assert_eq!(work("[CUDA memcpy HtoD]"), copy(Memory::Unknown));
        assert_eq!(work("[CUDA Unified Memory memcpy HtoD]"), WorkKind::Migration);
        assert_eq!(work("Gpu page fault groups"), WorkKind::Migration);
        assert_eq!(work("[CUDA memset]"), WorkKind::Fill);
        assert_eq!(work("memcpy_kernel(int)"), WorkKind::Kernel);
    }
}
