//! Variables of a process's environment that change what CUDA does: [`Process::settings`](crate::Process::settings).

use crate::{ProcessId, Trace};

/// How many hardware queues the streams of a process share (CUDA C++ programming guide).
pub const MAX_CONNECTIONS: &str = "CUDA_DEVICE_MAX_CONNECTIONS";
/// When kernels are loaded: with their module or at their first launch (CUDA C++ programming guide).
pub const MODULE_LOADING: &str = "CUDA_MODULE_LOADING";
/// Whether each launch waits for its kernel (CUDA C++ programming guide).
pub const LAUNCH_BLOCKING: &str = "CUDA_LAUNCH_BLOCKING";

/// The text of some variables that are set, for [`Process::settings`](crate::Process::settings): a value with a space is
/// left out, since CUDA knows none.
pub fn settings_text<'a>(set: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let is_word = |value: &str| !value.is_empty() && !value.contains(char::is_whitespace);
    let set = set.into_iter().filter(|(_, value)| is_word(value));
    set.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

impl Trace {
    /// The variables that a process had set, each with its value.
    pub fn settings(&self, process: ProcessId) -> impl Iterator<Item = (&str, &str)> {
        let text = process.some().map_or("", |process| self.text(self.processes.settings[process.index()]));
        text.split(' ').filter_map(|word| word.split_once('='))
    }

    /// The value of a variable in a process; `None` where it was not set, or the source does not state it.
    pub fn setting(&self, process: ProcessId, name: &str) -> Option<&str> {
        self.settings(process).find_map(|(own, value)| (own == name).then_some(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Process;

    #[test]
    fn a_process_has_the_settings_that_were_written() {
        let mut trace = Trace::default();
        let text =
            settings_text([(MAX_CONNECTIONS, "32"), (LAUNCH_BLOCKING, "no word"), (MODULE_LOADING, "LAZY")]);
        let settings = trace.strings.intern(&text);
        let process = trace.processes.push(Process { pid: 1, settings, ..Process::default() });
        let other = trace.processes.push(Process { pid: 2, ..Process::default() });
        let value = |process, name| trace.setting(process, name);
        assert_eq!(value(process, MAX_CONNECTIONS), Some("32"));
        assert_eq!(value(process, MODULE_LOADING), Some("LAZY"));
        assert_eq!(value(process, LAUNCH_BLOCKING), None, "a value that CUDA does not know");
        assert_eq!(value(process, "CUDA_MODULE"), None, "near miss");
        assert_eq!(value(other, MODULE_LOADING), None);
        assert_eq!(value(ProcessId::NONE, MODULE_LOADING), None);
    }
}
