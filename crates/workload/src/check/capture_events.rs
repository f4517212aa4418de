//! No thread queries or waits for an event whose last record is inside a capture: such a record is part of a graph and never
//! completes (CUDA driver API, `CUDA_ERROR_CAPTURED_EVENT`).

use std::collections::{BTreeMap, BTreeSet};

use super::walk::{self, At};
use crate::error::{Checked, Part};
use crate::model::*;

/// Checks the events that only one thread records: of others the last record is unknown.
pub fn check(workload: &Workload) -> Checked {
    let recorders = recorders(workload)?;
    for whose in walk::threads(workload) {
        let alone =
            |event: EventId| recorders.get(&(whose.0, event)).is_some_and(|threads| threads.len() == 1);
        let mut events = Events { alone: &alone, captured: BTreeSet::new() };
        for part in Part::ALL {
            let mut at = At::new(workload, whose.0, whose.1, part);
            let steps = part.of(at.thread());
            let repeats = part == Part::Body && at.thread().repeat != Repeat::Times(1);
            (0..=u32::from(repeats)).try_for_each(|_| events.steps(steps, &mut at, false, repeats))?;
        }
    }
    Ok(())
}

/// The threads that record each event of each process.
fn recorders(
    workload: &Workload,
) -> Result<BTreeMap<(usize, EventId), BTreeSet<usize>>, crate::error::Problem> {
    let mut recorders: BTreeMap<_, BTreeSet<usize>> = BTreeMap::new();
    walk::each_step(workload, &mut |step, at| {
        if let Step::Call(Call::RecordEvent { event, .. }) = step {
            let (process, thread) = at.whose();
            recorders.entry((process, *event)).or_default().insert(thread);
        }
        Ok(())
    })?;
    Ok(recorders)
}

/// The state of events while a thread executes its steps.
struct Events<'e> {
    /// Whether no other thread records it.
    alone: &'e dyn Fn(EventId) -> bool,
    /// Events whose last record is inside a capture.
    captured: BTreeSet<EventId>,
}

impl Events<'_> {
    /// Executes the steps, those of a loop twice, because the last record of a round is the state at the start of the next.
    /// `again`: an outer loop runs twice already.
    fn steps<'w>(&mut self, steps: &'w [Step], at: &mut At<'w>, capturing: bool, again: bool) -> Checked {
        at.each_in(steps, |step, at| match step {
            Step::Call(call) => self.call(call, at, capturing),
            Step::Loop { times, steps } => {
                let rounds = if *times > 1 && !again { 2 } else { 1 };
                (0..rounds).try_for_each(|_| self.steps(steps, at, capturing, again || rounds == 2))
            }
            Step::Capture { steps, .. } => self.steps(steps, at, true, again),
        })
    }

    fn call(&mut self, call: &Call, at: &At<'_>, capturing: bool) -> Checked {
        match *call {
            Call::RecordEvent { event, .. } if capturing && (self.alone)(event) => {
                self.captured.insert(event);
            }
            Call::RecordEvent { event, .. } | Call::CreateEvent { event } => {
                self.captured.remove(&event);
            }
            Call::SynchronizeEvent { event } | Call::QueryEvent { event }
                if self.captured.contains(&event) =>
            {
                let name = &at.process().events[event].name;
                return Err(at.problem(format!(
                    "event {name:?} was last recorded inside a capture and never completes: record it outside first"
                )));
            }
            Call::Elapsed { from, to } => {
                self.call(&Call::QueryEvent { event: from }, at, capturing)?;
                self.call(&Call::QueryEvent { event: to }, at, capturing)?;
            }
            _ => {}
        }
        Ok(())
    }
}
