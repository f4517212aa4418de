//! Variables of the environment that change what CUDA does, and in how many processes they are set.

use serde::Serialize;
use std::collections::BTreeMap;
use trace::{LAUNCH_BLOCKING, MAX_CONNECTIONS, MODULE_LOADING, Trace};

/// A value of a variable, or none, and the processes that have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The variable.
    pub name: &'static str,
    /// Its value; `None` where the trace states none.
    pub value: Option<String>,
    /// How many processes with CUDA's work have it.
    pub processes: u64,
}

/// The variables that the trace states of a process at least, each value and the lack of one; `used` tells the processes with
/// CUDA's work.
pub(super) fn settings(trace: &Trace, used: &[bool]) -> Vec<Setting> {
    let of = |name: &'static str| {
        let mut values: BTreeMap<Option<&str>, u64> = BTreeMap::new();
        for (process, _) in trace.processes.ids().zip(used).filter(|(_, used)| **used) {
            *values.entry(trace.setting(process, name)).or_default() += 1;
        }
        let is_stated = values.keys().any(Option::is_some);
        let setting = move |(value, processes): (Option<&str>, u64)| Setting {
            name,
            value: value.map(str::to_owned),
            processes,
        };
        // Values before the lack of one.
        values.into_iter().rev().filter(move |_| is_stated).map(setting)
    };
    [MODULE_LOADING, MAX_CONNECTIONS, LAUNCH_BLOCKING].into_iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::Process;

    #[test]
    fn values_are_counted_and_so_is_their_lack() {
        let mut trace = Trace::default();
        for text in ["CUDA_MODULE_LOADING=LAZY", "", "CUDA_MODULE_LOADING=LAZY", "CUDA_MODULE_LOADING=EAGER"]
        {
            let settings = trace.strings.intern(text);
            trace.processes.push(Process { settings, ..Process::default() });
        }
        // The last one makes no use of CUDA.
        let found = settings(&trace, &[true, true, true, false]);
        let setting = |value: Option<&str>, processes| Setting {
            name: MODULE_LOADING,
            value: value.map(str::to_owned),
            processes,
        };
        assert_eq!(found, [setting(Some("LAZY"), 2), setting(None, 1)]);
        assert_eq!(settings(&trace, &[false, true, false, false]), [], "nothing is stated of it");
    }
}
