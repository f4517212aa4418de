//! Other causes in words.

use crate::{Considered, RuledOut};
use report::document::{Block, Paragraph};
use report::units;

/// The causes that were ruled out, and what is not known.
pub(super) fn blocks(ruled_out: &RuledOut) -> Vec<Block> {
    let RuledOut { causes, unknown } = ruled_out;
    let mut blocks: Vec<Block> = vec![Paragraph::heading(2, "Ruled out").into()];
    let items = causes.iter().map(|one| sentence(*one));
    let unknown = unknown.iter().map(|question| format!("Not recorded: {question}."));
    blocks.extend(items.chain(unknown).map(|text| Paragraph::item(text).into()));
    if blocks.len() == 1 {
        blocks.push(Paragraph::new("No other cause can be ruled out by the numbers of this trace.").into());
    }
    blocks
}

fn sentence(considered: Considered) -> String {
    match considered {
        Considered::GpuFull(busy) => format!("The GPUs are not full: {} busy.", units::percent(busy)),
        Considered::NoCpu(ready, known) => format!(
            "No lack of processors: the threads were ready without one for {} of {}.",
            units::duration(ready),
            units::duration(known)
        ),
        Considered::FirstUse(calls, first, last) => format!(
            "Not the first use: {}, the first one took {}, the last one {}.",
            units::counted(calls, "slow call", "slow calls"),
            units::duration(first),
            units::duration(last)
        ),
        Considered::QueueFull(most, depth) => format!(
            "No stream is full: at most {}, a launch waits from {} on.",
            units::counted(most, "kernel pending", "kernels pending"),
            units::count(depth)
        ),
        Considered::DriverLock(ns) => {
            format!("No wait for CUDA's locks: the threads waited {} for them.", units::duration(ns))
        }
        Considered::Allocation(0) => String::from("No allocations: none in the time that repeats."),
        Considered::Allocation(count) => format!("Allocations: {}.", units::counted(count, "call", "calls")),
        Considered::Pageable(count) => {
            format!("No pageable memory: {} from or to it.", units::counted(count, "copy", "copies"))
        }
        Considered::Gil(ns) => {
            format!("Not Python's lock: the threads waited {} for it.", units::duration(ns))
        }
        Considered::TimeSlicing(contexts) => {
            format!(
                "No contexts that take turns: at most {} on a GPU.",
                units::counted(contexts, "context", "contexts")
            )
        }
        Considered::ConnectionAliasing(streams, queues) => format!(
            "No hardware queue is shared: at most {} on a GPU, which has {}.",
            units::counted(streams, "stream", "streams"),
            units::counted(queues, "queue", "queues")
        ),
        Considered::ProfilerOverhead(ns) => {
            format!("Not the tracer: it marked {} of its own work.", units::duration(ns))
        }
        Considered::Lost(count) => {
            format!("No lost records: {}.", units::counted(count, "record was lost", "records were lost"))
        }
    }
}
