//! Every reference is to a row that exists, and every name is unique.

use std::collections::BTreeMap;

use super::walk::{self, At, Name};
use crate::error::{Checked, List, Place, Problem};
use crate::model::*;

/// The deepest nesting of steps in loops and captures.
///
/// The text form is read to a depth of 80 tables and arrays, of which a step takes two.
pub const DEEPEST: usize = 32;

/// Checks names and rows.
pub fn check(workload: &Workload) -> Checked {
    distinct("barrier", workload.barriers.iter().map(|barrier| &barrier.name), Place::Barrier)?;
    distinct("process", workload.processes.iter().map(|process| &process.name), Place::Process)?;
    for (row, process) in workload.processes.iter().enumerate() {
        names(row, process)?;
        contexts(row, process)?;
    }
    depths(workload)?;
    walk::each_step(workload, &mut |step, at| rows(step, at))
}

/// Checks that the names of each list are different.
fn names(row: usize, process: &Process) -> Checked {
    let place = |list| move |item| Place::Row(row, list, item);
    distinct("stream", process.streams.iter().map(|stream| &stream.name), place(List::Streams))?;
    distinct("event", process.events.iter().map(|event| &event.name), place(List::Events))?;
    distinct("buffer", process.buffers.iter().map(|buffer| &buffer.name), place(List::Buffers))?;
    distinct("graph", process.graphs.iter().map(|graph| &graph.name), place(List::Graphs))?;
    distinct("thread", process.threads.iter().map(|thread| &thread.name), |item| Place::Thread(row, item))
}

fn distinct<'w>(
    kind: &str,
    names: impl Iterator<Item = &'w String>,
    place: impl Fn(usize) -> Place,
) -> Checked {
    let mut seen = BTreeMap::new();
    for (row, name) in names.enumerate() {
        let what = match seen.insert(name, row) {
            Some(_) => format!("a second {kind} is named {name:?}: rename one"),
            None if name.is_empty() => format!("a {kind} has no name: give it one"),
            None => continue,
        };
        return Err(Problem { place: place(row), what });
    }
    Ok(())
}

/// Checks that contexts exist, and that a device's primary context is declared once.
fn contexts(row: usize, process: &Process) -> Checked {
    for (item, context) in process.contexts.iter().enumerate() {
        if context.primary && process.contexts[..item].contains(context) {
            let what = format!("device {}'s primary context is declared twice: remove one", context.device);
            return Err(Problem { place: Place::Row(row, List::Contexts, item), what });
        }
    }
    let streams = process.streams.iter().map(|stream| stream.context).enumerate();
    let events = process.events.iter().map(|event| event.context).enumerate();
    let buffers = process.buffers.iter().map(|buffer| buffer.context).enumerate();
    let threads = process.threads.iter().map(|thread| thread.context).enumerate();
    let used = streams
        .map(|(item, context)| (Place::Row(row, List::Streams, item), context))
        .chain(events.map(|(item, context)| (Place::Row(row, List::Events, item), context)))
        .chain(buffers.map(|(item, context)| (Place::Row(row, List::Buffers, item), context)))
        .chain(threads.map(|(item, context)| (Place::Thread(row, item), context)));
    for (place, context) in used {
        if context.index() >= process.contexts.len() {
            let count = process.contexts.len();
            let what =
                format!("there is no context {}, the process has {count}: add it to the process", context.0);
            return Err(Problem { place, what });
        }
    }
    Ok(())
}

/// Checks that no step lies deeper than [`DEEPEST`], so that everything else may go down by calling itself.
fn depths(workload: &Workload) -> Checked {
    for (process, thread) in walk::threads(workload) {
        for part in crate::error::Part::ALL {
            let mut at = At::new(workload, process, thread, part);
            depth(part.of(at.thread()), &mut at)?;
        }
    }
    Ok(())
}

fn depth<'w>(steps: &'w [Step], at: &mut At<'w>) -> Checked {
    at.each_in(steps, |step, at| match step {
        _ if at.depth() > DEEPEST => {
            Err(at.problem(format!("lies deeper than {DEEPEST} loops and captures: unroll some")))
        }
        Step::Call(_) => Ok(()),
        Step::Loop { steps, .. } | Step::Capture { steps, .. } => depth(steps, at),
    })
}

/// Checks that everything that a step names exists.
fn rows(step: &Step, at: &At<'_>) -> Checked {
    let names = match step {
        Step::Call(call) => walk::names(call),
        Step::Loop { .. } => vec![],
        Step::Capture { graph, stream, .. } => vec![Name::Graph(*graph), Name::Stream(*stream)],
    };
    let process = at.process();
    for name in names {
        let (kind, row, count) = match name {
            Name::Buffer(id) => ("buffer", id.index(), process.buffers.len()),
            Name::Stream(id) => ("stream", id.index(), process.streams.len()),
            Name::Event(id) => ("event", id.index(), process.events.len()),
            Name::Graph(id) => ("graph", id.index(), process.graphs.len()),
            Name::Barrier(id) => ("barrier", id.index(), at.workload.barriers.len()),
        };
        if row >= count {
            let what = format!("there is no {kind} {row}, only {count}: use one of this process");
            return Err(at.problem(what));
        }
    }
    Ok(())
}
