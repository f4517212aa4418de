//! Legacy default streams, and the streams that synchronize with them.

use trace::{Ns, StreamId, Trace};

/// The number that CUPTI gives the legacy default stream of a process's first context.
const DEFAULT_STREAM: i64 = 7;

/// Whether this is, by its number, a legacy default stream.
pub fn is_default(trace: &Trace, stream: StreamId) -> bool {
    stream.some().is_some_and(|stream| trace.streams.number[stream.index()] == DEFAULT_STREAM)
}

/// Whether each stream ran beside its context's default stream; of operations, by start, with their streams and times.
pub fn beside_default(trace: &Trace, ops: impl Iterator<Item = (StreamId, Ns, Ns)>) -> Vec<bool> {
    let mut beside = vec![false; trace.streams.len()];
    // When the last operation ends: of each context's default stream, and of its other streams.
    let mut default_end = vec![Ns::MIN; trace.contexts.len()];
    let mut end = vec![Ns::MIN; trace.streams.len()];
    // The other streams of each context that may still run.
    let mut running = vec![Vec::<StreamId>::new(); trace.contexts.len()];
    for (stream, start, until) in ops {
        let Some(context) = trace.context_of_stream(stream).some() else { continue };
        let running = &mut running[context.index()];
        if is_default(trace, stream) {
            running.retain(|stream| {
                let runs = end[stream.index()] > start;
                beside[stream.index()] |= runs;
                end[stream.index()] = if runs { end[stream.index()] } else { Ns::MIN };
                runs
            });
            default_end[context.index()] = until.max(default_end[context.index()]);
        } else {
            let end = &mut end[stream.index()];
            if *end == Ns::MIN {
                running.push(stream);
            }
            *end = until.max(*end);
            beside[stream.index()] |= default_end[context.index()] > start;
        }
    }
    beside
}
