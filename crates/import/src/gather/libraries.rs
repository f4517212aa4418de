//! Versions of CUDA's libraries, from the files that a program has loaded.

use std::path::Path;
use trace::Meta;

/// One of CUDA's libraries.
struct Library {
    /// How the name of its file begins.
    file: &'static str,
    name: &'static str,
    /// The Python package that it comes in.
    package: &'static str,
}

const KNOWN: [Library; 11] = [
    Library { file: "libcuda.so", name: "NVIDIA driver", package: "" },
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

/// Whether the version of a library is wanted.
pub(super) fn is_known(path: &str) -> bool {
    library(path).is_some()
}

/// Notes the version of the library at `path`, where it tells more than what is known.
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

/// The library of a path, and what follows `.so` there.
fn library(path: &str) -> Option<(&'static Library, &str)> {
    let file = path.rsplit('/').next().unwrap_or(path);
    KNOWN.iter().find_map(|library| Some((library, file.strip_prefix(library.file)?)))
}

/// The version that a path ends with: `13.1.0.3` of `libcublas.so.13.1.0.3`. The driver's `libcuda.so.1` ends with the
/// number of its interface, which is no version.
pub(super) fn version(path: &str) -> Option<String> {
    let version = library(path)?.1.strip_prefix('.')?;
    let numbers = version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    (numbers && !version.is_empty() && version != "1").then(|| version.to_owned())
}

/// The version of a file of this machine: links lead to the name that tells all of it, and Python's packages, whose
/// files have none but the first number, say so beside them.
pub(super) fn version_here(path: &Path) -> Option<String> {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let named = version(&real.to_string_lossy());
    match &named {
        Some(version) if version.contains('.') => named,
        _ => version_of_package(&real).or(named),
    }
}

/// The version of the Python package that a file is of: `site-packages/nvidia_cublas_cu12-12.8.4.1.dist-info` is there for
/// `site-packages/nvidia/cublas/lib/libcublas.so.12`.
fn version_of_package(file: &Path) -> Option<String> {
    let package = library(&file.to_string_lossy())?.0.package;
    let is_packages = |folder: &&Path| folder.ends_with("site-packages") || folder.ends_with("dist-packages");
    let folder = file.ancestors().find(is_packages).filter(|_| !package.is_empty())?;
    let entries = std::fs::read_dir(folder).ok()?.filter_map(Result::ok);
    entries.filter_map(|entry| entry.file_name().into_string().ok()).find_map(|name| {
        let (name, version) = name.strip_suffix(".dist-info")?.split_once('-')?;
        // `nvidia_cublas` or `nvidia_cublas_cu12`, and not `nvidia_cusparselt`.
        let of = name.strip_prefix(package)?;
        (of.is_empty() || of.starts_with("_cu")).then(|| version.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_tells_its_version() {
        let mut meta = Meta::default();
        for path in [
            "/usr/local/cuda/lib64/libcublas.so.13.1.0.3",
            "/opt/other/libcublas.so.13",
            "/lib/libcuda.so.1",
            "/lib/libcuda.so.580.95.05",
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
        assert_eq!(versions, ["NVIDIA driver 580.95.05", "cuBLAS 13.1.0.3", "cuDNN 9"]);
        assert_eq!(meta.runtime, "13.0.96");
        assert!(is_known("/x/libcublas.so") && !is_known("/x/libcublasLt.so.13") && !is_known(""));
    }

    #[cfg(unix)]
    #[test]
    fn links_and_packages_tell_what_a_name_does_not() {
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
