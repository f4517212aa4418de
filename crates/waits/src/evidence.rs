//! Evidence of a finding, and the confidence in it.

use crate::named;

named! {
    /// The evidence that a finding rests on.
    Evidence {
        /// The wait for the lock was recorded, with its holder where that is known.
        Lock = "lock",
        /// The GPU's own or the tracer's own records prove it.
        Record = "record",
        /// Samples of the thread, and the scheduler's numbers.
        Sample = "sample",
        /// Inferred from overlap in time.
        Timing = "timing",
    }
}

impl Evidence {
    /// The meaning, in one line.
    pub fn meaning(self) -> &'static str {
        match self {
            Evidence::Lock => "the wait for the lock and its holder were recorded",
            Evidence::Record => "the GPU's or the tracer's own records",
            Evidence::Sample => "samples of the thread and the scheduler's numbers",
            Evidence::Timing => "inferred from overlap in time",
        }
    }
}

named! {
    /// The confidence of a finding; the highest first.
    Confidence {
        /// Nothing else fits.
        Certain = "certain",
        /// Fits well.
        Likely = "likely",
        /// Fits, and so does something else.
        Possible = "possible",
    }
}
