//! Threads that a change lets run ahead of another one's calls in a stream that they share.
//!
//! A replay waits for the operations that the trace waited for. Where one thread runs ahead of another one, its synchronization of the
//! shared stream comes before operations that it waited for, and after others: then it waits for what is in the stream by then, as the
//! driver does. Only there: a replay without changes would often decide otherwise than the trace where a launch and a synchronization
//! were microseconds apart.

use crate::predict::fixes::Scene;
use crate::{Recovered, StepOf};
use rustc_hash::FxHashMap;
use sim::{CallOf, Does, RecordedStep};

impl Recovered {
    /// All changes were made: a synchronization of a stream into which several threads issue, operations among them that were overtaken,
    /// waits for what is there by then.
    pub(crate) fn synchronizes_shared(&mut self, scene: &Scene<'_>) {
        let shared = self.shared();
        if !shared.iter().any(|shared| *shared) {
            return;
        }
        let Recovered { recorded, steps, .. } = self;
        for (steps, of) in recorded.threads.iter_mut().zip(steps.iter()) {
            for (step, of) in steps.iter_mut().zip(of) {
                let (RecordedStep::Call(CallOf { does, .. }), StepOf::Call(id)) = (step, of) else {
                    continue;
                };
                let Does::Await(awaited) = *does else { continue };
                if awaited.count == 1 && scene.name(*id).contains("StreamSynchronize") {
                    let work = recorded.awaited[awaited.first as usize];
                    let stream = recorded.works[work as usize].stream;
                    if shared[stream as usize] {
                        *does = Does::Synchronize(stream);
                    }
                }
            }
        }
    }

    /// Whether each stream has operations that were overtaken, and several threads issue into it.
    fn shared(&self) -> Vec<bool> {
        let works = &self.recorded.works;
        let mut overtaken = vec![false; works.iter().map(|work| work.stream as usize + 1).max().unwrap_or(0)];
        for work in &self.overtaken {
            overtaken[works[*work as usize].stream as usize] = true;
        }
        let mut issuers = FxHashMap::<u32, usize>::default();
        let mut shared = vec![false; overtaken.len()];
        for (thread, steps) in self.recorded.threads.iter().enumerate() {
            for step in steps {
                let RecordedStep::Call(CallOf { does: Does::Issue { works: rows, .. }, .. }) = step else {
                    continue;
                };
                for row in rows.iter() {
                    let stream = works[row].stream;
                    let first = *issuers.entry(stream).or_insert(thread);
                    shared[stream as usize] |= overtaken[stream as usize] && first != thread;
                }
            }
        }
        shared
    }
}
