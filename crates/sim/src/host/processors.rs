//! The host's processors: threads that poll a device keep one busy, and if there are too few, all threads take turns.

use crate::machine::{Machine, Program};
use crate::plan::{LONGEST, whole};

impl<P: Program> Machine<'_, P> {
    /// A thread uses or waits for a processor from now on.
    pub(crate) fn wakes(&mut self, row: u32) {
        let slept = !std::mem::replace(&mut self.thread(row).awake, true);
        self.awake += u32::from(slept);
    }

    /// A thread needs no processor until it is woken.
    pub(crate) fn sleeps(&mut self, row: u32) {
        let was = std::mem::take(&mut self.thread(row).awake);
        self.awake -= u32::from(was);
    }

    /// The number of threads that are awake without a processor, and the number of processors.
    fn too_many(&self) -> Option<(i64, i64)> {
        let processors = self.model.host.processors;
        let without = self.awake.saturating_sub(processors);
        (processors > 0 && without > 0).then_some((i64::from(without), i64::from(processors)))
    }

    /// The time that a thread needs for what takes `ns` on its own processor.
    pub(crate) fn on_processor(&self, ns: i64) -> i64 {
        let Some((without, processors)) = self.too_many() else { return ns };
        let longer = i128::from(ns) + i128::from(ns) * i128::from(without) / i128::from(processors);
        i64::try_from(longer).map_or(LONGEST, |longer| longer.min(LONGEST))
    }

    /// The mean time until a thread that polls has its processor again: half of the time without one, times the probability
    /// of being without.
    pub(crate) fn off_processor(&self) -> i64 {
        let Some((without, processors)) = self.too_many() else { return 0 };
        let (slice, without, processors) =
            (self.model.host.slice_ns as f64, without as f64, processors as f64);
        whole(slice * without / processors * (without / (without + processors)) / 2.0)
    }
}
