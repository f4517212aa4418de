//! Going through the steps of threads.

use crate::error::{Checked, Part, Place, Problem};
use crate::model::*;

/// Where a walk is.
#[derive(Clone)]
pub struct At<'w> {
    pub workload: &'w Workload,
    process: usize,
    thread: usize,
    pub part: Part,
    /// The rows that lead to the step.
    path: Vec<usize>,
    /// The rounds of the innermost loop around the step.
    pub rounds: Option<u64>,
}

impl<'w> At<'w> {
    /// At the start of a thread's part.
    pub fn new(workload: &'w Workload, process: usize, thread: usize, part: Part) -> At<'w> {
        At { workload, process, thread, part, path: Vec::new(), rounds: None }
    }

    pub fn process(&self) -> &'w Process {
        &self.workload.processes[self.process]
    }

    pub fn thread(&self) -> &'w Thread {
        &self.process().threads[self.thread]
    }

    /// The rows of process and thread.
    pub fn whose(&self) -> (usize, usize) {
        (self.process, self.thread)
    }

    /// How deep the step lies, from 1.
    pub fn depth(&self) -> usize {
        self.path.len()
    }

    pub fn place(&self) -> Place {
        Place::Step(self.process, self.thread, self.part, self.path.clone())
    }

    pub fn problem(&self, what: impl Into<String>) -> Problem {
        Problem { place: self.place(), what: what.into() }
    }

    /// Does `visit` at each of the steps, which are those of the step here, or of the part.
    pub fn each_in(
        &mut self,
        steps: &'w [Step],
        mut visit: impl FnMut(&'w Step, &mut At<'w>) -> Checked,
    ) -> Checked {
        steps.iter().enumerate().try_for_each(|(row, step)| self.within(row, |at| visit(step, at)))
    }

    /// Does something at the row's step.
    pub fn within<T>(&mut self, row: usize, visit: impl FnOnce(&mut At<'w>) -> T) -> T {
        self.path.push(row);
        let done = visit(self);
        self.path.pop();
        done
    }
}

/// Every thread's rows: its process's and its own.
pub fn threads(workload: &Workload) -> impl Iterator<Item = (usize, usize)> {
    workload
        .processes
        .iter()
        .enumerate()
        .flat_map(|(process, rows)| (0..rows.threads.len()).map(move |thread| (process, thread)))
}

/// Visits every step of every thread, a step before those inside it.
pub fn each_step<'w>(workload: &'w Workload, visit: &mut dyn FnMut(&'w Step, &At<'w>) -> Checked) -> Checked {
    for (process, thread) in threads(workload) {
        for part in Part::ALL {
            let mut at = At::new(workload, process, thread, part);
            let steps = part.of(at.thread());
            inside(steps, &mut at, visit)?;
        }
    }
    Ok(())
}

fn inside<'w>(
    steps: &'w [Step],
    at: &mut At<'w>,
    visit: &mut dyn FnMut(&'w Step, &At<'w>) -> Checked,
) -> Checked {
    at.each_in(steps, |step, at| {
        visit(step, at)?;
        match step {
            Step::Call(_) => Ok(()),
            Step::Loop { times, steps } => {
                let around = at.rounds.replace(*times);
                inside(steps, at, visit)?;
                at.rounds = around;
                Ok(())
            }
            Step::Capture { steps, .. } => inside(steps, at, visit),
        }
    })
}

/// A row that a call names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    Buffer(BufferId),
    Stream(StreamId),
    Event(EventId),
    Graph(GraphId),
    Barrier(BarrierId),
}

/// Every row that a call names.
pub fn names(call: &Call) -> Vec<Name> {
    use Name::{Barrier, Buffer, Event, Graph, Stream};
    let (mut names, stream) = match call {
        Call::Allocate { buffer, stream }
        | Call::Free { buffer, stream }
        | Call::Fill { buffer, stream, .. } => (vec![Buffer(*buffer)], *stream),
        Call::Register { buffer } | Call::Unregister { buffer } | Call::Check { buffer, .. } => {
            (vec![Buffer(*buffer)], None)
        }
        Call::CopyRows { from, to, stream, .. } | Call::BlasNorm { from, to, stream, .. } => {
            (vec![Buffer(*from), Buffer(*to)], Some(*stream))
        }
        Call::Elapsed { from, to } => (vec![Event(*from), Event(*to)], None),
        Call::Copy { from, to, stream, .. } => (vec![Buffer(*from), Buffer(*to)], *stream),
        Call::Launch { kernel, stream, .. } => {
            (operands(kernel).into_iter().map(Buffer).collect(), Some(*stream))
        }
        Call::LaunchGraph { graph, stream } => (vec![Graph(*graph)], Some(*stream)),
        Call::RecordEvent { event, stream } | Call::WaitEvent { event, stream } => {
            (vec![Event(*event)], Some(*stream))
        }
        Call::QueryEvent { event }
        | Call::SynchronizeEvent { event }
        | Call::CreateEvent { event }
        | Call::DestroyEvent { event } => (vec![Event(*event)], None),
        Call::QueryStream { stream }
        | Call::SynchronizeStream { stream }
        | Call::CreateStream { stream }
        | Call::DestroyStream { stream } => (vec![], Some(*stream)),
        Call::Meet { barrier } => (vec![Barrier(*barrier)], None),
        Call::SynchronizeContext
        | Call::LoadModule
        | Call::Sleep { .. }
        | Call::Work { .. }
        | Call::Hold { .. } => (vec![], None),
    };
    names.extend(stream.map(Stream));
    names
}

/// The buffers a kernel reads or writes.
fn operands(kernel: &Kernel) -> Vec<BufferId> {
    match *kernel {
        Kernel::Empty | Kernel::Delay { .. } => vec![],
        Kernel::AddConstant { from, to, .. } => vec![from, to],
        Kernel::Increment { buffer, .. } => vec![buffer],
        Kernel::MatrixProduct { a, b, c, .. } => vec![a, b, c],
        Kernel::NormPartial { from, partial, .. } => vec![from, partial],
        Kernel::NormFinal { partial, to, .. } => vec![partial, to],
        Kernel::Scale { buffer, by, .. } => vec![buffer, by],
    }
}
