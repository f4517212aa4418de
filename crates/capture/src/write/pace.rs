//! How fast a thread fills the buffers that CUPTI asks for, and how large the next one is to be.

use interpose::Ns;

/// Sizes of buffers that there are.
pub const SIZES: usize = 4;

/// A buffer that is full this soon makes the thread's next one larger; one that is not full by then, smaller, ns.
pub const SOON: Ns = 50_000_000;
pub const LATE: Ns = 250_000_000;

/// How fast buffers are filled.
#[derive(Clone, Copy)]
pub struct Pace {
    /// Size of the last one, as an index.
    pub size: usize,
    /// When CUPTI asked for it, by `CLOCK_MONOTONIC`; 0 before the first.
    pub asked: Ns,
}

impl Pace {
    /// Pace of a thread that has filled none.
    pub const NEW: Pace = Pace { size: 0, asked: 0 };

    /// The size of the buffer that CUPTI asks for now, since the last one is full.
    pub fn next(&mut self, now: Ns) -> usize {
        let since = now - self.asked;
        if self.asked != 0 && since < SOON {
            self.size = (self.size + 1).min(SIZES - 1);
        } else if since >= LATE {
            self.size = self.size.saturating_sub(1);
        }
        self.asked = now;
        self.size
    }
}
