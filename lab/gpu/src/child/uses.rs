//! Threads that use streams and events first, and so create them.

use workload::{Call, EventId, Process, Step, StreamId};

/// The threads that use each stream and each event first; none for those that a step creates.
pub fn first_users(asked: &Process) -> (Vec<Option<usize>>, Vec<Option<usize>>) {
    let (mut streams, mut events) = (vec![None; asked.streams.len()], vec![None; asked.events.len()]);
    let (mut new_streams, mut new_events) = (Vec::new(), Vec::new());
    for (number, thread) in asked.threads.iter().enumerate() {
        for steps in [&thread.before, &thread.body, &thread.after] {
            uses(steps, &mut |used| match used {
                Use::Stream(stream) => drop(streams[stream].get_or_insert(number)),
                Use::Event(event) => drop(events[event].get_or_insert(number)),
                Use::NewStream(stream) => new_streams.push(stream),
                Use::NewEvent(event) => new_events.push(event),
            });
        }
    }
    new_streams.into_iter().for_each(|stream| streams[stream] = None);
    new_events.into_iter().for_each(|event| events[event] = None);
    (streams, events)
}

/// Whether steps call cuBLAS.
pub fn needs_blas(steps: &[Step]) -> bool {
    steps.iter().any(|step| match step {
        Step::Loop { steps, .. } => needs_blas(steps),
        Step::Call(call) => matches!(call, Call::BlasNorm { .. }),
        // Nothing of it can be captured.
        Step::Capture { .. } => false,
    })
}

/// Stream or event that a step uses.
enum Use {
    Stream(StreamId),
    /// One that a step creates does not exist before.
    NewStream(StreamId),
    Event(EventId),
    NewEvent(EventId),
}

/// Lists the streams and events that steps use, in order.
fn uses(steps: &[Step], tell: &mut dyn FnMut(Use)) {
    for step in steps {
        match step {
            Step::Loop { steps, .. } => uses(steps, tell),
            Step::Capture { stream, steps, .. } => {
                tell(Use::Stream(*stream));
                uses(steps, tell);
            }
            Step::Call(call) => uses_of_call(call, tell),
        }
    }
}

fn uses_of_call(call: &Call, tell: &mut dyn FnMut(Use)) {
    match *call {
        Call::Allocate { stream, .. }
        | Call::Free { stream, .. }
        | Call::Copy { stream, .. }
        | Call::Fill { stream, .. } => stream.into_iter().for_each(|stream| tell(Use::Stream(stream))),
        Call::CopyRows { stream, .. }
        | Call::BlasNorm { stream, .. }
        | Call::Launch { stream, .. }
        | Call::LaunchGraph { stream, .. }
        | Call::QueryStream { stream }
        | Call::SynchronizeStream { stream }
        | Call::DestroyStream { stream } => tell(Use::Stream(stream)),
        Call::RecordEvent { event, stream } | Call::WaitEvent { event, stream } => {
            tell(Use::Stream(stream));
            tell(Use::Event(event));
        }
        Call::QueryEvent { event } | Call::SynchronizeEvent { event } | Call::DestroyEvent { event } => {
            tell(Use::Event(event));
        }
        Call::Elapsed { from, to } => {
            tell(Use::Event(from));
            tell(Use::Event(to));
        }
        Call::CreateStream { stream } => tell(Use::NewStream(stream)),
        Call::CreateEvent { event } => tell(Use::NewEvent(event)),
        Call::Register { .. }
        | Call::Unregister { .. }
        | Call::Check { .. }
        | Call::SynchronizeContext
        | Call::LoadModule
        | Call::Sleep { .. }
        | Call::Work { .. }
        | Call::Hold { .. }
        | Call::Meet { .. } => {}
    }
}
