//! Suffixes that tools append to the name of an API function.

use trace::Api;

/// The function's own name.
///
/// CUPTI appends to a runtime function the CUDA version that last changed it (`cudaMemcpyAsync_v3020`), and to runtime
/// and driver functions the meaning of the default stream (`_ptsz`, `_ptds`). `_v2` is part of a name
/// (`cuMemcpyHtoDAsync_v2`, `cudaEventElapsedTime_v2`): no CUDA version has fewer than four digits.
pub(crate) fn strip(api: Api, name: &str) -> &str {
    match api {
        Api::Runtime => stream_suffix(version_suffix(name)),
        Api::Driver => stream_suffix(name),
        _ => name,
    }
}

/// The function without the version that is part of its name: `cuMemcpyDtoHAsync` for `cuMemcpyDtoHAsync_v2`. Programs
/// and CUPTI may use either name for one function.
pub(crate) fn bare(name: &str) -> &str {
    let name = stream_suffix(name);
    let digits = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if digits.len() == name.len() { name } else { digits.strip_suffix("_v").unwrap_or(name) }
}

fn version_suffix(name: &str) -> &str {
    match name.rsplit_once("_v") {
        Some((rest, version)) if version.len() >= 4 && version.bytes().all(|byte| byte.is_ascii_digit()) => {
            rest
        }
        _ => name,
    }
}

fn stream_suffix(name: &str) -> &str {
    name.strip_suffix("_ptsz").or_else(|| name.strip_suffix("_ptds")).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_go_and_names_stay() {
        let runtime = |name| strip(Api::Runtime, name);
        assert_eq!(runtime("cudaMemcpyAsync_v3020"), "cudaMemcpyAsync");
        assert_eq!(runtime("cudaMemcpyAsync_ptsz_v7000"), "cudaMemcpyAsync");
        assert_eq!(runtime("cudaMemcpy_ptds_v7000"), "cudaMemcpy");
        assert_eq!(runtime("cudaEventElapsedTime_v2_v12080"), "cudaEventElapsedTime_v2");
        assert_eq!(runtime("cudaEventElapsedTime_v2"), "cudaEventElapsedTime_v2");
        assert_eq!(runtime("cudaLaunchKernel"), "cudaLaunchKernel");
        let driver = |name| strip(Api::Driver, name);
        assert_eq!(driver("cuMemcpyHtoDAsync_v2_ptsz"), "cuMemcpyHtoDAsync_v2");
        assert_eq!(driver("cuMemcpyHtoDAsync_v2"), "cuMemcpyHtoDAsync_v2");
        assert_eq!(strip(Api::Os, "open_v3020"), "open_v3020");
        assert_eq!(bare("cuMemcpyHtoDAsync_v2_ptsz"), "cuMemcpyHtoDAsync");
        assert_eq!((bare("cuMemsetD8"), bare("cuLaunchKernel")), ("cuMemsetD8", "cuLaunchKernel"));
    }
}
