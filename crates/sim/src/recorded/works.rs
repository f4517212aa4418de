//! Recorded operations.

use super::replay::{Progress, Replay};
use super::{Rows, Work, WorkKind};
use crate::device::{COMPUTE, Op, Part, WITHIN};
use crate::events::Event;
use crate::machine::Machine;
use crate::plan::{LONGEST, NONE, OpPlan, Way};
use trace::CopyKind;

/// The direction of a copy.
pub(super) fn way(kind: CopyKind) -> Way {
    match kind {
        CopyKind::HtoD => Way::In,
        CopyKind::DtoH => Way::Out,
        CopyKind::PtoP => Way::Between,
        _ => Way::Within,
    }
}

impl Machine<'_, Replay<'_>> {
    /// Issues recorded operations.
    pub(super) fn issue_works(&mut self, row: u32, works: Rows, waits: bool) {
        let recorded = self.program.recorded;
        for at in works.iter() {
            let Some(work) = recorded.works.get(at) else { continue };
            let op = self.work(row, at as u32, work);
            if let Some(Progress::Issued(after)) = work.after.map(|after| self.program.works[after as usize])
            {
                self.ops.name_in(&mut self.streams[op.stream as usize].awaited, after);
            }
            let op = if work.is_launched() { self.enter_recorded_queue(op, work.alone) } else { op };
            let issued = self.enqueue(op);
            self.program.works[at] = Progress::Issued(issued);
            if waits {
                self.await_op(issued, row);
            }
        }
    }

    /// A recorded operation of a thread, not issued yet.
    fn work(&self, row: u32, at: u32, work: &Work) -> Op {
        let device = &self.model.device;
        let (engine, kind, slots) = match work.kind {
            WorkKind::Kernel { threads, in_graph } => {
                let room = device.multiprocessors * device.threads_per_multiprocessor;
                let kind = OpPlan::Kernel { plan: 0, node: u32::from(in_graph) };
                (COMPUTE, kind, threads.clamp(1, room))
            }
            WorkKind::Copy { kind, pinned } => {
                let way = way(kind);
                (self.engine(way, pinned), OpPlan::Copy { way, pinned, bytes: 0 }, 0)
            }
            WorkKind::Fill => (WITHIN, OpPlan::Fill { bytes: 0 }, 0),
        };
        let op = self.op(row, self.layout.stream(work.stream), engine, kind, work.ns.clamp(0, LONGEST));
        Op {
            slots,
            earliest: work.latency_ns.filter(|ns| *ns >= 0).unwrap_or(op.earliest),
            gap: work.gap_ns.unwrap_or(-1),
            work: at,
            ..op
        }
    }

    /// Makes a thread wait for recorded operations. One that a thread will issue only after this one has gone on is not waited for; if `alone`,
    /// none that another thread has yet to issue is: it needs the lock that this one holds.
    pub(super) fn await_works(&mut self, row: u32, works: Rows, alone: bool) {
        let replay = &mut self.program;
        for work in &replay.recorded.awaited[works.iter()] {
            let progress = replay.works[*work as usize];
            let by = replay.issuers[*work as usize];
            let is_others = progress == Progress::Unknown && by != NONE && by != row;
            if is_others && alone {
                continue;
            }
            if is_others && replay.waits_for(by, row) {
                replay.replayed.given_up += 1;
            } else if progress != Progress::Done {
                replay.waiting.entry(*work).or_default().push(row);
                replay.awaits[row as usize] = Some(*work);
                self.threads[row as usize].awaited += 1;
            }
        }
    }

    /// A part of a kernel begins at a time: a row of [`super::Recorded::works`]. Returns whether that part, if there is one, waits for the
    /// other kernels of its collective.
    pub(super) fn meets(&mut self, part: Option<Part>, work: u32, time: i64) -> bool {
        let replay = &mut self.program;
        let meets = replay.recorded.works.get(work as usize).and_then(|work| work.meets);
        let Some(meets) = meets else { return false };
        let together = replay.meetings.begin(part, work, meets, time);
        self.exchange(together);
        part.is_some()
    }

    /// Kernels of a collective exchange data until their ends.
    pub(super) fn exchange(&mut self, together: Vec<(Part, i64)>) {
        for (Part { op, slots, generation }, end) in together {
            self.events.plan(end.max(self.now), Event::Ran { op, slots, generation });
        }
    }

    /// An operation that began then is done; nothing if it is none of the recorded ones.
    pub(super) fn is_done(&mut self, work: u32, begin: i64) {
        let replay = &mut self.program;
        let Some(times) = replay.replayed.works.get_mut(work as usize) else { return };
        *times = (begin, self.now);
        replay.works[work as usize] = Progress::Done;
        for thread in replay.waiting.remove(&work).unwrap_or_default() {
            self.arrived(thread);
        }
    }
}
