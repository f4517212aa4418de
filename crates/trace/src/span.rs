//! The time that a trace spans.

use crate::{Ns, Trace};

impl Trace {
    /// Moves the trace's time 0 to its first event, keeping [`crate::Meta::epoch_unix_ns`] true.
    pub fn rebase(&mut self) {
        let Some((first, _)) = self.span() else { return };
        let (states, limits) = (&mut self.states, &mut self.limits);
        let columns = [
            [&mut self.calls.start, &mut self.calls.end],
            [&mut self.ops.start, &mut self.ops.end],
            [&mut self.syncs.start, &mut self.syncs.end],
            [&mut self.waits.start, &mut self.waits.end],
            [&mut self.ranges.start, &mut self.ranges.end],
            [&mut states.start, &mut states.end],
            [&mut limits.start, &mut limits.end],
        ];
        for column in columns.into_iter().flatten().chain([&mut self.samples.at]) {
            column.iter_mut().for_each(|time| *time -= first);
        }
        for (from, to) in &mut self.meta.recorded {
            (*from, *to) = (from.saturating_sub(first), to.saturating_sub(first));
        }
        self.meta.epoch_unix_ns = self.meta.epoch_unix_ns.map(|epoch| epoch + first);
    }

    /// First start and last end over calls, GPU operations, synchronizations, waits, ranges, states, limits and
    /// samples, ns; `None` when there are none of them.
    pub fn span(&self) -> Option<(Ns, Ns)> {
        let columns: [(&[Ns], &[Ns]); 8] = [
            (&self.calls.start, &self.calls.end),
            (&self.ops.start, &self.ops.end),
            (&self.syncs.start, &self.syncs.end),
            (&self.waits.start, &self.waits.end),
            (&self.ranges.start, &self.ranges.end),
            (&self.states.start, &self.states.end),
            (&self.limits.start, &self.limits.end),
            (&self.samples.at, &self.samples.at),
        ];
        let first = columns.iter().flat_map(|(start, _)| *start).min()?;
        let last = columns.iter().flat_map(|(_, end)| *end).max()?;
        Some((*first, *last))
    }
}

#[cfg(test)]
mod tests {
    use crate::*;

    #[test]
    fn time_begins_with_the_first_event_of_any_table() {
        let mut trace = Trace::default();
        assert_eq!(trace.span(), None);
        trace.meta.epoch_unix_ns = Some(5);
        trace.waits.push(Wait { start: 100, end: 200, ..Wait::default() });
        assert_eq!(trace.span(), Some((100, 200)));
        trace.calls.push(Call { start: 150, end: 300, ..Call::default() });
        trace.syncs.push(Sync { start: 90, end: 400, ..Sync::default() });
        trace.states.push(State { start: 95, end: 410, ..State::default() });
        trace.limits.push(Limit { start: 91, end: 420, ..Limit::default() });
        trace.samples.push(Sample { at: 430, ..Sample::default() });
        trace.rebase();
        assert_eq!(trace.span(), Some((0, 340)));
        assert_eq!((trace.syncs.start[0], trace.waits.start[0], trace.calls.start[0]), (0, 10, 60));
        assert_eq!((trace.states.end[0], trace.limits.start[0], trace.samples.at[0]), (320, 1, 340));
        assert_eq!(trace.meta.epoch_unix_ns, Some(95));
        trace.samples.push(Sample { at: -1, ..Sample::default() });
        assert_eq!(trace.span(), Some((-1, 340)));
    }
}
