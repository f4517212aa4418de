//! Checks settings that make recordings incomplete.

use super::check::{Check, State};
use crate::environment::taken;
use spool::{VAR_CUDA_INJECTION, VAR_NVTX_INJECTION};

/// Checks whether other tools use the injection variables.
pub fn injection() -> Check {
    const NAME: &str = "injection variables";
    let library = crate::capture::find().unwrap_or_default();
    let others: Vec<(&str, String)> = [VAR_CUDA_INJECTION, VAR_NVTX_INJECTION]
        .into_iter()
        .filter_map(|name| Some((name, taken(name, &library)?.to_string_lossy().into_owned())))
        .collect();
    if others.is_empty() {
        return Check::ok(NAME, "free");
    }
    let names: Vec<&str> = others.iter().map(|(name, _)| *name).collect();
    let found = others.iter().map(|(name, value)| format!("{name} is another tool's: {value}")).collect();
    let remedy = Some(format!("unset {}, unless that tool must run too", names.join(" and ")));
    Check { name: NAME, state: State::Warn, found, remedy }
}

/// Checks who may read the GPUs' performance counters. holdup reads none: the check helps users who suspect this
/// restriction when records are missing.
pub fn counters() -> Check {
    const NAME: &str = "GPU counters";
    let parameters = std::fs::read_to_string("/proc/driver/nvidia/params").unwrap_or_default();
    Check::ok(
        NAME,
        match only_for_administrators(&parameters) {
            Some(true) => "for administrators only (RmProfilingAdminOnly: 1); holdup needs none",
            Some(false) => "for everyone",
            None => "unknown; holdup needs none",
        },
    )
}

fn only_for_administrators(parameters: &str) -> Option<bool> {
    let value = parameters.lines().find_map(|line| line.trim().strip_prefix("RmProfilingAdminOnly:"))?;
    Some(value.trim() != "0")
}

#[cfg(test)]
mod tests {
    use super::only_for_administrators;

    #[test]
    fn the_drivers_parameters() {
        let text = |value| {
            format!(
                "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: {value}\nPreserveVideoMemoryAllocations: 0\n"
            )
        };
        assert_eq!(only_for_administrators(&text(1)), Some(true));
        assert_eq!(only_for_administrators(&text(0)), Some(false));
        assert_eq!(only_for_administrators(""), None);
    }
}
