//! What the ticks of this process's records are: how the reader learns it, and how many of them a
//! while is.

use crate::writer::Writer;
use interpose::{Moment, Ns, Ticks};
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;

/// The reader is told at least this often while there is something to be told in passing, ns.
const OFTEN: Ns = 100_000_000;

/// When the library was loaded, on both clocks.
static LOADED: (AtomicI64, AtomicI64) = (AtomicI64::new(0), AtomicI64::new(0));
/// When the reader was last told in passing.
static TOLD: AtomicI64 = AtomicI64::new(0);
/// [`OFTEN`] in ticks.
static PERIOD: AtomicI64 = AtomicI64::new(OFTEN);

/// The library was loaded.
pub fn loaded() {
    let Moment { ticks, ns } = interpose::moment();
    LOADED.0.store(ticks, Relaxed);
    LOADED.1.store(ns, Relaxed);
}

/// Recording begins: tells of the moment when the library was loaded. A chunk, also the first, tells
/// of the moment when it was made, so that two are known however the program ends.
pub fn begin(writer: &mut Writer, scale: &Scale) {
    PERIOD.store(scale.ticks(OFTEN), Relaxed);
    writer.clock(Moment { ticks: LOADED.0.load(Relaxed), ns: LOADED.1.load(Relaxed) });
}

/// Whether the reader is to be told in passing; once a period, whichever thread asks.
pub fn is_due(now: Ticks) -> bool {
    let told = TOLD.load(Relaxed);
    now.wrapping_sub(told) >= PERIOD.load(Relaxed)
        && TOLD.compare_exchange(told, now, Relaxed, Relaxed).is_ok()
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

    /// So many nanoseconds in ticks; those that never pass never do.
    pub fn ticks(&self, ns: Ns) -> Ticks {
        let ticks = i128::from(ns) * i128::from(self.ticks) / i128::from(self.ns);
        Ticks::try_from(ticks).unwrap_or(Ticks::MAX)
    }
}
