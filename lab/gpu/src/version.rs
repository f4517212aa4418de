//! Versions of CUDA and its driver.

/// `cuDriverGetVersion`'s number as people write it.
pub(crate) fn version(number: i32) -> String {
    format!("{}.{}", number / 1000, number % 1000 / 10)
}

/// The version of the kernel's part of the driver, and of the CUDA it is for.
pub(crate) fn driver_version(cuda: i32) -> String {
    let module = std::fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    let is_version =
        |word: &&str| word.contains('.') && word.split('.').all(|part| part.parse::<u32>().is_ok());
    let module = module.lines().next().and_then(|line| line.split_ascii_whitespace().find(is_version));
    let cuda = if cuda > 0 { version(cuda) } else { return String::new() };
    module.map_or(format!("CUDA {cuda}"), |module| format!("{module} (CUDA {cuda})"))
}
