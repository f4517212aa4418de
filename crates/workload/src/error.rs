//! Errors of a Workload.

use crate::model::*;

/// An error of a Workload: one line with its place, the problem, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct Error {
    place: String,
    what: String,
}

impl Error {
    /// An error in a workload that was built, with its process, thread and step.
    pub(crate) fn built(workload: &Workload, problem: Problem) -> Error {
        let mut place = format!("workload {:?}", workload.name);
        if let Some(words) = problem.place.words(workload) {
            place = format!("{place}, {words}");
        }
        Error { place, what: problem.what }
    }

    /// An error in a line of a text.
    pub(crate) fn text(file: &str, line: usize, what: String) -> Error {
        Error { place: format!("{file}:{line}"), what }
    }

    /// An error of a check in a workload from a text, with process and thread, because one line may be many of them.
    pub(crate) fn checked(file: &str, line: usize, workload: &Workload, problem: Problem) -> Error {
        let whose = match problem.place {
            Place::Step(process, thread, ..) => Place::Thread(process, thread),
            place => place,
        };
        match whose.words(workload) {
            Some(whose) => Error::text(file, line, format!("{whose}: {}", problem.what)),
            None => Error::text(file, line, problem.what),
        }
    }
}

/// The result of a check.
pub(crate) type Checked = Result<(), Problem>;

/// A problem that a check found.
#[derive(Debug)]
pub(crate) struct Problem {
    pub place: Place,
    pub what: String,
}

/// A row of a workload; a row that is in no list is given by numbers one to a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Workload,
    /// [`Workload::connections`].
    Connections,
    /// Row of [`Workload::barriers`].
    Barrier(usize),
    /// Row of [`Workload::processes`].
    Process(usize),
    /// Process, list and row.
    Row(usize, List, usize),
    /// Process and row of [`Process::threads`].
    Thread(usize, usize),
    /// Process, thread, part, and the rows that lead to the step: the first in the part, the next in that step, and
    /// so on.
    Step(usize, usize, Part, Vec<usize>),
}

/// A list of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    Contexts,
    Streams,
    Events,
    Buffers,
    Graphs,
}

/// A list of steps of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Before,
    Body,
    After,
}

impl Part {
    pub const ALL: [Part; 3] = [Part::Before, Part::Body, Part::After];

    /// The thread's steps of this part.
    pub fn of(self, thread: &Thread) -> &[Step] {
        match self {
            Part::Before => &thread.before,
            Part::Body => &thread.body,
            Part::After => &thread.after,
        }
    }

    /// Its name, in the text form too.
    pub fn name(self) -> &'static str {
        match self {
            Part::Before => "before",
            Part::Body => "body",
            Part::After => "after",
        }
    }
}

impl Place {
    /// The place as text; `None` for the whole workload. Steps count from 1; those inside follow a point.
    fn words(&self, workload: &Workload) -> Option<String> {
        let process = |row: usize| format!("process {:?}", workload.processes[row].name);
        Some(match self {
            Place::Workload | Place::Connections => return None,
            Place::Barrier(row) => format!("barrier {:?}", workload.barriers[*row].name),
            Place::Process(row) => process(*row),
            Place::Row(in_process, list, row) => {
                format!("{}, {}", process(*in_process), list.words(&workload.processes[*in_process], *row))
            }
            Place::Thread(in_process, row) => {
                let thread = &workload.processes[*in_process].threads[*row];
                format!("{}, thread {:?}", process(*in_process), thread.name)
            }
            Place::Step(in_process, thread, part, path) => {
                let steps: Vec<String> = path.iter().map(|row| (row + 1).to_string()).collect();
                let thread = Place::Thread(*in_process, *thread).words(workload)?;
                format!("{thread}, {} step {}", part.name(), steps.join("."))
            }
        })
    }
}

impl List {
    /// The row of this list, with its kind and name.
    fn words(self, process: &Process, row: usize) -> String {
        match self {
            List::Contexts => format!("context {row}"),
            List::Streams => format!("stream {:?}", process.streams[row].name),
            List::Events => format!("event {:?}", process.events[row].name),
            List::Buffers => format!("buffer {:?}", process.buffers[row].name),
            List::Graphs => format!("graph {:?}", process.graphs[row].name),
        }
    }
}
