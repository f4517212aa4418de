//! The records by which a reader converts this process's ticks to nanoseconds, and how long a tick is.

use crate::write::writer::Writer;
use interpose::{Moment, Ns, Ticks};
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;

/// Longest time between two clock records while slow calls come, ns.
const OFTEN: Ns = 100_000_000;

/// When the library was loaded, on both clocks.
static LOADED: (AtomicI64, AtomicI64) = (AtomicI64::new(0), AtomicI64::new(0));
/// When a slow call last wrote a clock record.
static WRITTEN: AtomicI64 = AtomicI64::new(0);
/// [`OFTEN`] in ticks.
static PERIOD: AtomicI64 = AtomicI64::new(OFTEN);

/// The library was loaded.
pub fn loaded() {
    let Moment { ticks, ns } = interpose::moment();
    LOADED.0.store(ticks, Relaxed);
    LOADED.1.store(ns, Relaxed);
}

/// Recording begins: writes what the clocks showed when the library was loaded. Each chunk begins with what they show
/// then: so a reader knows two moments, however the program ends.
pub fn begin(writer: &mut Writer, scale: &Scale) {
    PERIOD.store(scale.ticks(OFTEN), Relaxed);
    writer.clock(Moment { ticks: LOADED.0.load(Relaxed), ns: LOADED.1.load(Relaxed) });
}

/// Whether a slow call writes a clock record: true once a period, for all threads together.
pub fn is_due(now: Ticks) -> bool {
    let written = WRITTEN.load(Relaxed);
    now.wrapping_sub(written) >= PERIOD.load(Relaxed)
        && WRITTEN.compare_exchange(written, now, Relaxed, Relaxed).is_ok()
}

/// How many ticks are how many nanoseconds, about.
pub struct Scale {
    ticks: i64,
    ns: i64,
}

impl Scale {
    /// From what passed since the library was loaded.
    pub fn measured() -> Scale {
        let now = interpose::moment();
        let (ticks, ns) = (now.ticks - LOADED.0.load(Relaxed), now.ns - LOADED.1.load(Relaxed));
        if ticks > 0 && ns > 0 { Scale { ticks, ns } } else { Scale { ticks: 1, ns: 1 } }
    }

    /// So many nanoseconds in ticks; `Ns::MAX` is never reached in either.
    pub fn ticks(&self, ns: Ns) -> Ticks {
        let ticks = i128::from(ns) * i128::from(self.ticks) / i128::from(self.ns);
        Ticks::try_from(ticks).unwrap_or(Ticks::MAX)
    }
}
