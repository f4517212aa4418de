//! Every step inside a capture can be captured.
//!
//! A capture begins with one stream. Another joins when it waits for an event that was recorded in a stream of the
//! capture, and the first stream must wait for it before the capture ends (CUDA C++ Programming Guide, "Creating a Graph
//! Using Stream Capture"). A clock has what a stream or an event has seen: the number of operations of each stream.

use std::collections::BTreeMap;

use super::walk::At;
use crate::error::Checked;
use crate::model::*;

/// Checks one step, if it is a capture.
pub fn check<'w>(step: &'w Step, at: &At<'w>) -> Checked {
    let Step::Capture { stream, steps, .. } = step else { return Ok(()) };
    let mut capture = Capture { streams: BTreeMap::from([(*stream, Clock::new())]), events: BTreeMap::new() };
    capture.steps(steps, &mut at.clone(), false)?;
    capture.ends(*stream, at)
}

/// The number of operations of each stream that are known to precede something.
type Clock = BTreeMap<StreamId, u64>;

/// The state of a capture.
struct Capture {
    /// The streams that are in it, and what each has seen, itself included.
    streams: BTreeMap<StreamId, Clock>,
    /// The events recorded in it.
    events: BTreeMap<EventId, Clock>,
}

impl Capture {
    /// Executes the steps, those of a loop twice, which finds the problems of every later round. `again`: an outer loop is in
    /// its second round.
    fn steps<'w>(&mut self, steps: &'w [Step], at: &mut At<'w>, again: bool) -> Checked {
        at.each_in(steps, |step, at| match step {
            Step::Call(call) => self.call(call, at),
            Step::Loop { times, steps } => {
                self.steps(steps, at, again)?;
                if *times > 1 && !again { self.steps(steps, at, true) } else { Ok(()) }
            }
            Step::Capture { .. } => {
                Err(at.problem("a capture inside a capture: capture one after the other"))
            }
        })
    }

    fn call(&mut self, call: &Call, at: &At<'_>) -> Checked {
        match *call {
            Call::Copy { stream: Some(stream), .. }
            | Call::Fill { stream: Some(stream), .. }
            | Call::CopyRows { stream, .. }
            | Call::Launch { stream, .. } => {
                *self.clock(stream, at)?.entry(stream).or_default() += 1;
            }
            Call::RecordEvent { event, stream } => {
                let seen = self.clock(stream, at)?.clone();
                self.events.insert(event, seen);
            }
            Call::WaitEvent { event, stream } => self.wait(event, stream, at)?,
            _ => {
                return Err(at.problem(
                    "cannot be captured; copies, fills, launches, records and waits in a stream can: move it out",
                ));
            }
        }
        Ok(())
    }

    /// The clock of a stream of the capture.
    fn clock(&mut self, stream: StreamId, at: &At<'_>) -> Result<&mut Clock, crate::error::Problem> {
        self.streams.get_mut(&stream).ok_or_else(|| {
            at.problem(format!(
                "stream {:?} is not in the capture: make it wait for an event that is recorded in the capture",
                at.process().streams[stream].name
            ))
        })
    }

    fn wait(&mut self, event: EventId, stream: StreamId, at: &At<'_>) -> Checked {
        let Some(seen) = self.events.get(&event) else {
            let name = &at.process().events[event].name;
            return Err(at.problem(format!(
                "event {name:?} is not recorded in the capture: record it there first, or wait before the capture"
            )));
        };
        let clock = self.streams.entry(stream).or_default();
        for (of, count) in seen {
            let known = clock.entry(*of).or_default();
            *known = (*known).max(*count);
        }
        Ok(())
    }

    /// Checks that the first stream has seen all operations of the others.
    fn ends(&self, first: StreamId, at: &At<'_>) -> Checked {
        let seen = &self.streams[&first];
        let known = |of: &StreamId| seen.get(of).copied().unwrap_or(0);
        let left = self.streams.iter().find(|(of, clock)| known(of) < clock.get(of).copied().unwrap_or(0));
        let Some((left, _)) = left else { return Ok(()) };
        let name = |id: StreamId| &at.process().streams[id].name;
        Err(at.problem(format!(
            "the capture ends with work of stream {:?} that stream {:?} does not wait for: record an event after it and wait for that",
            name(*left),
            name(first)
        )))
    }
}
