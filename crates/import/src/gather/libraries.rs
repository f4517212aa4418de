//! Versions of CUDA's libraries, from the files that a program loaded.

use std::path::Path;
use trace::Meta;

/// One of CUDA's libraries.
struct Library {
    /// The start of its file name.
    file: &'static str,
    name: &'static str,
    /// The Python package that contains it.
    package: &'static str,
}

const KNOWN: [Library; 12] = [
    Library { file: "libcuda.so", name: "NVIDIA driver", package: "" },
    Library { file: "libnvidia-ml.so", name: "NVML", package: "" },
    Library { file: "libcudart.so", name: "CUDA runtime", package: "nvidia_cuda_runtime" },
    Library { file: "libcublas.so", name: "cuBLAS", package: "nvidia_cublas" },
    Library { file: "libcudnn.so", name: "cuDNN", package: "nvidia_cudnn" },
    Library { file: "libnccl.so", name: "NCCL", package: "nvidia_nccl" },
    Library { file: "libcupti.so", name: "CUPTI", package: "nvidia_cuda_cupti" },
    Library { file: "libcufft.so", name: "cuFFT", package: "nvidia_cufft" },
    Library { file: "libcurand.so", name: "cuRAND", package: "nvidia_curand" },
    Library { file: "libcusolver.so", name: "cuSOLVER", package: "nvidia_cusolver" },
    Library { file: "libcusparse.so", name: "cuSPARSE", package: "nvidia_cusparse" },
    Library { file: "libnvrtc.so", name: "NVRTC", package: "nvidia_cuda_nvrtc" },
];

/// Whether the version of a library is recorded.
pub(super) fn is_known(path: &str) -> bool {
    library(path).is_some()
}

/// Records the version of the library at `path` if it is more precise than the known one.
pub(super) fn add(meta: &mut Meta, path: &str, version: &str) {
    let Some((library, _)) = library(path) else { return };
    let known = match library.name {
        "CUDA runtime" => &mut meta.runtime,
        name => meta.libraries.entry(name.to_owned()).or_default(),
    };
    if version.len() > known.len() {
        version.clone_into(known);
    }
}

/// The library at a path, and what follows `.so` in its name.
fn library(path: &str) -> Option<(&'static Library, &str)> {
    let file = path.rsplit('/').next().unwrap_or(path);
    KNOWN.iter().find_map(|library| Some((library, file.strip_prefix(library.file)?)))
}

/// The version at the end of a path: `13.1.0.3` for `libcublas.so.13.1.0.3`. The driver's `libcuda.so.1` ends with the
/// number of its interface, which is not a version.
pub(super) fn version(path: &str) -> Option<String> {
    let version = library(path)?.1.strip_prefix('.')?;
    let numbers = version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    (numbers && !version.is_empty() && version != "1").then(|| version.to_owned())
}

/// The version of a file on this machine. A link's target has the full version in its name. A file of a Python package
/// has only the first number in its name; its package has the full version.
pub(super) fn version_here(path: &Path) -> Option<String> {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let named = version(&real.to_string_lossy());
    match &named {
        Some(version) if version.contains('.') => named,
        _ => version_of_package(&real).or(named),
    }
}

/// The version of a file's Python package: `site-packages/nvidia_cublas_cu12-12.8.4.1.dist-info` belongs to
/// `site-packages/nvidia/cublas/lib/libcublas.so.12`.
fn version_of_package(file: &Path) -> Option<String> {
    let package = library(&file.to_string_lossy())?.0.package;
    let is_packages = |folder: &&Path| folder.ends_with("site-packages") || folder.ends_with("dist-packages");
    let folder = file.ancestors().find(is_packages).filter(|_| !package.is_empty())?;
    let entries = std::fs::read_dir(folder).ok()?.filter_map(Result::ok);
    entries.filter_map(|entry| entry.file_name().into_string().ok()).find_map(|name| {
        let (name, version) = name.strip_suffix(".dist-info")?.split_once('-')?;
        // `nvidia_cusparse` or `nvidia_cusparse_cu12`, but not `nvidia_cusparselt`.
        let of = name.strip_prefix(package)?;
        (of.is_empty() || of.starts_with("_cu")).then(|| version.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_contains_its_version() {
        let mut meta = Meta::default();
        for path in [
            "/usr/local/cuda/lib64/libcublas.so.13.1.0.3",
            "/opt/other/libcublas.so.13",
            "/lib/libcuda.so.1",
            "/lib/libcuda.so.580.95.05",
            "/lib/libnvidia-ml.so.1",
            "/lib/libnvidia-ml.so.580.95.05",
            "libcudart.so.13.0.96",
            "/x/libcudnn.so.9",
            "/x/libcublasLt.so.13.1.0.3",
            "/x/libnccl.so",
            "/x/libcufft.so.12-debug",
        ] {
            if let Some(version) = version(path) {
                add(&mut meta, path, &version);
            }
        }
        let versions: Vec<_> =
            meta.libraries.iter().map(|(name, version)| format!("{name} {version}")).collect();
        assert_eq!(versions, ["NVIDIA driver 580.95.05", "NVML 580.95.05", "cuBLAS 13.1.0.3", "cuDNN 9"]);
        assert_eq!(meta.runtime, "13.0.96");
        assert!(is_known("/x/libcublas.so") && !is_known("/x/libcublasLt.so.13") && !is_known(""));
    }

    #[cfg(unix)]
    #[test]
    fn links_and_packages_have_the_full_version() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        std::fs::write(at("libcublas.so.13.1.0.3"), "").unwrap();
        std::os::unix::fs::symlink("libcublas.so.13.1.0.3", at("libcublas.so.13")).unwrap();
        assert_eq!(version_here(&at("libcublas.so.13")).as_deref(), Some("13.1.0.3"));
        let packages = at("lib/python3.12/site-packages");
        for folder in [
            "nvidia/cu13/lib",
            "nvidia_cusparselt_cu13-0.8.0.dist-info",
            "nvidia_cusparse-12.6.3.3.dist-info",
        ] {
            std::fs::create_dir_all(packages.join(folder)).unwrap();
        }
        for (file, version) in
            [("libcusparse.so.12", Some("12.6.3.3")), ("libcudnn.so.9", Some("9")), ("libnccl.so", None)]
        {
            let file = packages.join("nvidia/cu13/lib").join(file);
            std::fs::write(&file, "").unwrap();
            assert_eq!(version_here(&file).as_deref(), version, "{}", file.display());
        }
        assert_eq!(version_here(Path::new("/nowhere/libcufft.so.12")).as_deref(), Some("12"));
    }
}
