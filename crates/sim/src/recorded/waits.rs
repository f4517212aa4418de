//! Waits of calls for those of other threads.

use super::Until;
use super::replay::{Effect, Progress, Replay};
use super::{Does, Waited};
use crate::events::Event;
use crate::machine::Machine;
use crate::plan::{Plan, Way};

impl Machine<'_, Replay<'_>> {
    /// A call wants its locks: it copies to pageable memory from now on, or it may cost more beside such a copy. Returns whether it goes on
    /// only later for that.
    pub(super) fn meets_staging(&mut self, row: u32, plan: &Plan<Effect>) -> bool {
        if self.program.staging.is_empty() {
            return false;
        }
        let copies = self.pageable_copy(plan).is_some_and(|(_, way)| way == Way::Out);
        let replay = &mut self.program;
        if copies {
            replay.staging[row as usize] = plan.context;
        }
        let mut staging = (0..).zip(&replay.staging);
        if plan.effect.beside == 0 || !staging.any(|(other, of)| *of == plan.context && other != row) {
            return false;
        }
        let own = &mut replay.plans[row as usize];
        let more = std::mem::take(&mut own.effect.beside);
        if let Does::Issue { .. } = plan.effect.does {
            self.events.plan(self.now + more, Event::Want(row));
            return true;
        }
        own.after += more;
        false
    }

    /// Whether a call has to wait behind another one; it tries again when that one lets it.
    pub(super) fn is_behind(&mut self, row: u32, plan: &Plan<Effect>) -> bool {
        let (replay, now) = (&mut self.program, self.now);
        for (number, handoff) in &replay.recorded.behind[plan.effect.behind.iter()] {
            // A number that no call has stands for nobody.
            let hold = replay.holds.get(*number as usize).filter(|hold| !hold.over);
            let Some((begun, by)) = hold.and_then(|hold| hold.begun) else { continue };
            if begun <= now && !replay.waits_for(by.thread, row) {
                replay.holds[*number as usize].waiting.push((row, now, *handoff));
                replay.stuck[row as usize] = Some(*number);
                return true;
            }
        }
        false
    }

    /// Nothing happens any more, and threads wait: gives up a wait of a call that began when it could not, in the recorded order,
    /// have waited any longer. Returns whether there was one.
    pub(super) fn gives_up(&mut self) -> bool {
        let replay = &mut self.program;
        let held = (0..).zip(&replay.holds).filter(|(_, hold)| !hold.waiting.is_empty());
        let first: Option<u32> = held.min_by_key(|(_, hold)| hold.begun).map(|(number, _)| number);
        let unknown = |work: &&u32| replay.works[**work as usize] == Progress::Unknown;
        let work = replay.waiting.keys().filter(unknown).min().copied();
        let lock = replay.locks.iter().position(|lock| !lock.waiting.is_empty());
        if let Some(alone) = replay.meetings.give_up() {
            replay.replayed.given_up += 1;
            self.exchange(alone);
            return true;
        }
        match (lock, first, work) {
            (Some(lock), ..) => {
                replay.replayed.given_up += 1;
                self.passes(lock as u32);
            }
            (None, Some(number), _) => {
                replay.replayed.given_up += replay.holds[number as usize].waiting.len() as u64;
                self.lets_go_on(number);
            }
            (None, None, Some(work)) => {
                let threads = replay.waiting.remove(&work).unwrap_or_default();
                replay.replayed.given_up += threads.len() as u64;
                threads.into_iter().for_each(|thread| self.arrived(thread));
            }
            (None, None, None) => return false,
        }
        true
    }

    /// A call that others wait behind has come to a moment.
    pub(super) fn comes_to(&mut self, plan: &Plan<Effect>, until: Until) {
        match plan.effect.holds {
            Some((number, at)) if at == until => self.lets_go_on(number),
            _ => {}
        }
    }

    /// Threads that wait behind a call go on.
    pub(super) fn lets_go_on(&mut self, number: u32) {
        let replay = &mut self.program;
        let hold = &mut replay.holds[number as usize];
        hold.over = true;
        let waiting = std::mem::take(&mut hold.waiting);
        let holder = hold.begun.map(|(_, by)| by);
        for (thread, start, handoff) in waiting {
            replay.stuck[thread as usize] = None;
            let end = self.now + handoff;
            let by = replay.at(thread);
            replay.replayed.waits.extend(holder.map(|holder| Waited {
                start,
                end,
                by,
                holder,
                exclusive: true,
            }));
            self.events.plan(end, Event::Want(thread));
        }
    }
}
