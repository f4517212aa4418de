//! The host's processors: threads that wait for a device keep one busy, and where there are too few, all take turns.

use crate::calls::{LONGEST, whole};
use crate::machine::Machine;

impl Machine<'_> {
    /// A thread has or wants a processor from now on.
    pub(crate) fn wakes(&mut self, row: u32) {
        let slept = !std::mem::replace(&mut self.thread(row).awake, true);
        self.awake += u32::from(slept);
    }

    /// A thread needs no processor until it is woken.
    pub(crate) fn sleeps(&mut self, row: u32) {
        let was = std::mem::take(&mut self.thread(row).awake);
        self.awake -= u32::from(was);
    }

    /// Threads that are awake and have no processor, and how many processors there are.
    fn too_many(&self) -> Option<(i64, i64)> {
        let processors = self.model.host.processors;
        let without = self.awake.saturating_sub(processors);
        (processors > 0 && without > 0).then_some((i64::from(without), i64::from(processors)))
    }

    /// How long a thread takes for what takes `ns` on a processor of its own.
    pub(crate) fn on_processor(&self, ns: i64) -> i64 {
        let Some((without, processors)) = self.too_many() else { return ns };
        let longer = i128::from(ns) + i128::from(ns) * i128::from(without) / i128::from(processors);
        i64::try_from(longer).map_or(LONGEST, |longer| longer.min(LONGEST))
    }

    /// How long it takes on average until a thread that looks for something has its processor again: the time that it is
    /// without one, half of it, by how likely it is without.
    pub(crate) fn off_processor(&self) -> i64 {
        let Some((without, processors)) = self.too_many() else { return 0 };
        let (slice, without, processors) =
            (self.model.host.slice_ns as f64, without as f64, processors as f64);
        whole(slice * without / processors * (without / (without + processors)) / 2.0)
    }
}
