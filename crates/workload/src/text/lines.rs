//! The places of rows in a text.

use crate::error::{List, Part, Place};

/// Where each row begins, as a byte of the text.
#[derive(Default)]
pub struct Lines {
    pub connections: usize,
    pub barriers: Vec<usize>,
    pub processes: Vec<ProcessLines>,
}

/// Starts of the rows of a process.
#[derive(Default)]
pub struct ProcessLines {
    pub at: usize,
    pub contexts: Vec<usize>,
    pub streams: Vec<usize>,
    pub events: Vec<usize>,
    pub buffers: Vec<usize>,
    pub graphs: Vec<usize>,
    pub threads: Vec<ThreadLines>,
}

/// Starts of the rows of a thread.
pub struct ThreadLines {
    pub at: usize,
    pub before: Vec<StepLines>,
    pub body: Vec<StepLines>,
    pub after: Vec<StepLines>,
}

/// Starts of a step and of the steps inside it.
pub struct StepLines {
    pub at: usize,
    pub inside: Vec<StepLines>,
}

impl Lines {
    /// The start of a row; the start of the text if the row is not in it.
    pub fn at(&self, place: &Place) -> usize {
        self.find(place).unwrap_or(0)
    }

    fn find(&self, place: &Place) -> Option<usize> {
        let process = |row: usize| self.processes.get(row);
        match place {
            Place::Workload => None,
            Place::Connections => Some(self.connections),
            Place::Barrier(row) => self.barriers.get(*row).copied(),
            Place::Process(row) => Some(process(*row)?.at),
            Place::Row(row, list, item) => process(*row)?.list(*list).get(*item).copied(),
            Place::Thread(row, thread) => Some(process(*row)?.threads.get(*thread)?.at),
            Place::Step(row, thread, part, path) => process(*row)?.threads.get(*thread)?.step(*part, path),
        }
    }
}

impl ProcessLines {
    fn list(&self, list: List) -> &[usize] {
        match list {
            List::Contexts => &self.contexts,
            List::Streams => &self.streams,
            List::Events => &self.events,
            List::Buffers => &self.buffers,
            List::Graphs => &self.graphs,
        }
    }
}

impl ThreadLines {
    fn step(&self, part: Part, path: &[usize]) -> Option<usize> {
        let mut steps = match part {
            Part::Before => &self.before,
            Part::Body => &self.body,
            Part::After => &self.after,
        };
        let (last, around) = path.split_last()?;
        for row in around {
            steps = &steps.get(*row)?.inside;
        }
        Some(steps.get(*last)?.at)
    }
}
