//! From when to when a process was recorded: recording may be switched on and off, and early records overwritten by later
//! ones.

use super::state::times::Time;
use super::state::{Gather, Process};
use spool::{Chunk, File};
use trace::{Ns, Trace};

/// From when to when recording was switched on, by when it was switched off, on, off and so on.
pub(super) fn requested(switches: &[Ns]) -> Vec<Time> {
    let from = std::iter::once(Ns::MIN).chain(switches.iter().copied());
    let to = switches.iter().copied().chain([Ns::MAX]);
    let times = from.zip(to).step_by(2).map(|(from, to)| Time { from, to });
    times.filter(|time| time.from < time.to).collect()
}

/// From when to when a process was recorded. It notices a request when a thread next makes a call: until then there is
/// nothing to record. `switches` are in order: when it was switched, and whether on.
pub(super) fn recorded(requested: &[Time], switches: &[(Ns, bool)]) -> Vec<Time> {
    let noticed = |time: &Time| {
        let before = &switches[..switches.partition_point(|(at, _)| *at < time.to)];
        let Some(off) = before.iter().rposition(|(_, is_on)| !is_on) else { return Some(*time) };
        let (on, _) = before.get(off + 1)?;
        Some(Time { from: time.from.max(*on), ..*time })
    };
    requested.iter().filter_map(noticed).collect()
}

impl Process<'_, '_> {
    /// Learns from when to when the process was recorded.
    pub(super) fn recorded_times(&mut self, file: &File<'_>, chunks: &[Chunk<'_>]) {
        self.switches.sort_unstable();
        // A file alone says when the process noticed.
        let alone: Vec<Ns> = self.switches.iter().map(|(at, _)| *at).collect();
        let requested = self.all.requested.clone().unwrap_or_else(|| requested(&alone));
        self.recorded = recorded(&requested, &self.switches);
        let until = chunks.iter().filter_map(Chunk::overwritten_until).max();
        self.complete_from = until.map(|until| self.clocks.ns(until));
        // The switch at the beginning of a file is older than all that the process did.
        self.began = file.began();
        self.all.add_times(&requested, &self.recorded, self.complete_from);
    }

    /// For which calls order decides what they issued.
    pub(super) fn ordered(&self) -> OrderedCalls<'_> {
        OrderedCalls {
            recorded: &self.recorded,
            is_complete: self.complete_from.is_none(),
            began: self.began,
        }
    }
}

/// The calls for which order decides what they issued.
#[derive(Clone, Copy)]
pub(super) struct OrderedCalls<'p> {
    recorded: &'p [Time],
    is_complete: bool,
    began: Ns,
}

impl OrderedCalls<'_> {
    /// Until when an operation of a call that began at `start` must have begun for the two to be joined by order; `None`
    /// where order does not decide: operations may be there whose calls are not.
    pub(super) fn joins_until(&self, start: Ns) -> Option<Ns> {
        let within = self.recorded.iter().find(|time| (time.from..time.to).contains(&start))?;
        (self.is_complete && within.from <= self.began).then_some(within.to)
    }
}

impl Gather<'_> {
    /// Learns from when to when a process was recorded.
    fn add_times(&mut self, requested: &[Time], recorded: &[Time], complete_from: Option<Ns>) {
        self.complete_from = self.complete_from.max(complete_from);
        for requested in requested {
            let own = recorded.iter().find(|time| time.to == requested.to);
            match self.times.iter_mut().find(|time| time.to == requested.to) {
                Some(known) => known.from = own.map_or(known.from, |own| known.from.min(own.from)),
                None => self.times.extend(own.copied()),
            }
        }
    }

    /// Keeps what was recorded from when on the recording is complete, and while it was switched on; says when that was.
    pub(super) fn cut(&mut self) {
        self.times.sort_unstable_by_key(|time| time.from);
        let complete_from = self.complete_from.unwrap_or(Ns::MIN);
        let trace = &mut self.trace;
        let Some((first, last)) = trace.span() else { return };
        let clip =
            |time: &Time| (time.from.max(complete_from).max(first), time.to.min(last.saturating_add(1)));
        let times: Vec<(Ns, Ns)> = self.times.iter().map(clip).filter(|(from, to)| from < to).collect();
        let is_always =
            complete_from <= first && self.times.iter().all(|time| time.from <= first && last < time.to);
        if is_always {
            return;
        }
        // Where nothing is complete, nothing stays.
        let none = last.saturating_add(1);
        trace.meta.recorded = if times.is_empty() { vec![(none, none)] } else { times };
        trace.join();
        // What is counted was so while recording was on; where records are overwritten, counts are, too.
        let tallies = std::mem::take(&mut trace.tallies);
        let (cut, removed) = std::mem::take(trace).cut_unrecorded();
        *trace = cut;
        if self.complete_from.is_none() {
            trace.tallies = tallies;
        }
        trace
            .meta
            .leave_out("recorded before the recording was complete, or while it was switched off", removed);
    }
}

/// Says from when to when a trace was recorded, in its own time.
pub(super) fn say(trace: &mut Trace) {
    if trace.meta.recorded.is_empty() {
        return;
    }
    let seconds = |ns: Ns| format!("{}.{:03} s", ns / 1_000_000_000, ns / 1_000_000 % 1_000);
    let time = |(from, to): &(Ns, Ns)| format!("{} to {}", seconds((*from).max(0)), seconds((*to).max(0)));
    let times: Vec<String> = trace.meta.recorded.iter().map(time).collect();
    trace.meta.notes.push(format!("recorded completely: {} of the trace's time", times.join(", ")));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(from: Ns, to: Ns) -> Time {
        Time { from, to }
    }

    #[test]
    fn recording_is_on_between_every_second_and_third_request() {
        assert_eq!(requested(&[]), [time(Ns::MIN, Ns::MAX)]);
        assert_eq!(requested(&[10]), [time(Ns::MIN, 10)]);
        assert_eq!(requested(&[10, 20, 30, 30, 30]), [time(Ns::MIN, 10), time(20, 30)]);
    }

    #[test]
    fn a_process_is_recorded_from_when_it_notices() {
        let requested = requested(&[0, 10, 20, 30]);
        assert_eq!(requested, [time(Ns::MIN, 0), time(10, 20), time(30, Ns::MAX)]);
        // It began with recording off; it noticed that it was on late, and late that it was off again.
        let noticed = [(0, false), (12, true), (25, false), (31, true)];
        let before = time(Ns::MIN, 0);
        assert_eq!(recorded(&requested, &noticed), [before, time(12, 20), time(31, Ns::MAX)]);
        // It made no call while recording was on.
        assert_eq!(recorded(&requested, &[(0, false), (33, true)]), [before, time(33, Ns::MAX)]);
        // It made none while recording was off.
        assert_eq!(recorded(&requested, &[]), requested);
        // It noticed that recording was off when it was on again.
        let late = [(0, false), (11, true), (31, false), (32, true)];
        assert_eq!(recorded(&requested, &late), [before, time(11, 20), time(32, Ns::MAX)]);
    }
}
