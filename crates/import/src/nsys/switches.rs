//! The scheduler's events, and which threads had the processors.

use rustc_hash::FxHashMap;
use trace::{Ns, State, ThreadId, ThreadState};

/// A thread starts or stops running.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Switch {
    pub thread: ThreadId,
    pub at: Ns,
    pub runs: bool,
    /// Its state when it stops.
    pub state: Stop,
    /// The processor, if the trace names it.
    pub cpu: Option<i64>,
}

/// The state of a thread that stops running.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stop {
    Known(ThreadState),
    Ended,
}

/// The part of a time, in percent, for which others have to run: switches take the rest. A choice.
const ALL: Ns = 90;

/// The threads that ran on each processor, for those that never ran on another one.
pub(super) struct Processors {
    /// The processor of each thread that had only one.
    only: FxHashMap<ThreadId, i64>,
    /// The times for which threads of the program ran on each processor, by start.
    ran: FxHashMap<i64, Vec<Ran>>,
}

struct Ran {
    start: Ns,
    end: Ns,
    thread: ThreadId,
}

impl Processors {
    /// Of switches by thread and time.
    pub fn of(switches: &[Switch]) -> Processors {
        let (mut only, mut ran) = (FxHashMap::default(), FxHashMap::<i64, Vec<Ran>>::default());
        for of_thread in switches.chunk_by(|a, b| a.thread == b.thread) {
            let cpu = of_thread[0].cpu;
            if let Some(cpu) = cpu.filter(|_| of_thread.iter().all(|switch| switch.cpu == cpu)) {
                only.insert(of_thread[0].thread, cpu);
            }
            for pair in of_thread.windows(2).filter(|pair| pair[0].runs && !pair[1].runs) {
                let [Switch { at: start, thread, cpu, .. }, Switch { at: end, .. }] = [pair[0], pair[1]];
                if let Some(cpu) = cpu {
                    ran.entry(cpu).or_default().push(Ran { start, end, thread });
                }
            }
        }
        ran.values_mut().for_each(|ran| ran.sort_by_key(|ran| (ran.start, ran.end)));
        Processors { only, ran }
    }

    /// Whether other threads of the program had the only processor of a thread while it did not run.
    pub fn are_taken(&self, off: &State) -> bool {
        let ran = self.only.get(&off.thread).and_then(|cpu| self.ran.get(cpu));
        let Some(ran) = ran else { return false };
        let first = ran.partition_point(|ran| ran.end <= off.start);
        let within = ran[first..].iter().take_while(|ran| ran.start < off.end);
        let others = within.filter(|ran| ran.thread != off.thread);
        let taken: Ns = others.map(|ran| ran.end.min(off.end) - ran.start.max(off.start)).sum();
        taken.saturating_mul(100) >= (off.end - off.start).saturating_mul(ALL)
    }
}
