//! Times: of records, and those for which a process was recorded.

use std::ops::Range;
use trace::Ns;

/// Times for which later arithmetic cannot overflow, ns.
const TIMES: Range<Ns> = 0..1 << 61;

/// A time for which a process was recorded, ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Time {
    pub from: Ns,
    pub to: Ns,
}

/// The times of some records.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    pub first: Ns,
    pub last: Ns,
    /// Records whose times are invalid.
    pub invalid: u64,
}

impl Default for Times {
    fn default() -> Self {
        Times { first: Ns::MAX, last: 0, invalid: 0 }
    }
}

impl Times {
    /// A record's times, ns; `None` if they are invalid.
    pub fn check(&mut self, start: Ns, end: Ns) -> Option<(Ns, Ns)> {
        let sane = TIMES.contains(&start) && TIMES.contains(&end) && start <= end;
        if !sane {
            self.invalid += 1;
            return None;
        }
        self.first = self.first.min(start);
        self.last = self.last.max(end);
        Some((start, end))
    }
}
