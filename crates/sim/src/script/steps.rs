//! Steps of host threads between their calls.

use super::plan::{Act, Step};
use super::state::Script;
use crate::events::Event;
use crate::machine::Machine;
use workload::Repeat;

/// The least time of a round of a body that repeats until something happens: at no cost it would repeat for ever.
const LEAST_ROUND: i64 = 1_000;

impl Machine<'_, Script> {
    pub(super) fn execute(&mut self, row: u32, step: Step, time: i64) -> Option<i64> {
        if !matches!(step, Step::Loop { .. } | Step::Again { .. }) && !self.make(1) {
            return None;
        }
        let thread = &mut self.threads[row as usize];
        let loops = &mut self.program.threads[row as usize].rounds.loops;
        match step {
            Step::Call(plan) => {
                let plan = self.as_it_is(plan);
                let name = self.program.plans[plan as usize].effect.name;
                let call = self.program.record.call(row, name, time);
                self.call(row, plan, call, time);
                return None;
            }
            Step::Loop { times: 0, end } => thread.at = end,
            Step::Loop { times, .. } => loops.push(times),
            Step::Again { start } => {
                if let Some(rounds) = loops.last_mut() {
                    *rounds -= 1;
                    match *rounds {
                        0 => drop(loops.pop()),
                        _ => thread.at = start,
                    }
                }
            }
            Step::Pause(ns) => return Some(time.saturating_add(ns)),
            Step::Map { buffer, touched } => return Some(time.saturating_add(self.map(buffer, touched))),
            Step::Unmap { buffer } => return Some(time.saturating_add(self.unmap(buffer))),
            Step::Write { buffer, bytes } => return Some(time.saturating_add(self.write(buffer, bytes))),
            Step::Hold(ns) => {
                let has_it = self.holds(row, ns);
                if has_it > time {
                    self.sleeps(row);
                    self.events.plan(has_it, Event::Resume(row));
                    return None;
                }
            }
            Step::Meet { barrier } => {
                self.meet(row, barrier);
                return None;
            }
            Step::EndBefore => {
                self.prepared(row);
                return None;
            }
            Step::EndBody => return self.end_of_body(row),
            Step::End => {
                self.end(row);
                return None;
            }
        }
        Some(time)
    }

    /// The call of a copy: another one if its pageable memory has been page-locked.
    fn as_it_is(&self, plan: u32) -> u32 {
        match self.program.plans[plan as usize].effect.act {
            Act::Copy(copy) if !copy.pinned && self.program.buffers[copy.host as usize].pinned => {
                copy.registered
            }
            _ => plan,
        }
    }

    /// When a thread has the lock of its process, which it holds for so long: after all that came before it.
    fn holds(&mut self, row: u32, ns: i64) -> i64 {
        let free_at = &mut self.program.free_at[self.threads[row as usize].process as usize];
        let wakes = free_at.saturating_add(self.model.host.handoff_ns);
        let has_it = if *free_at > self.now { wakes } else { self.now };
        *free_at = has_it.saturating_add(ns);
        has_it
    }

    fn meet(&mut self, row: u32, barrier: u32) {
        // The step stays at the barrier until the thread continues: an error names it.
        self.thread(row).at -= 1;
        self.sleeps_between(row);
        let here = &mut self.program.meeting[barrier as usize];
        here.push(row);
        if here.len() >= self.workload.barriers[barrier as usize].parties as usize {
            for thread in std::mem::take(here) {
                self.thread(thread).at += 1;
                self.events.plan(self.now, Event::Resume(thread));
            }
        }
    }

    /// A thread is ready; the last one releases all.
    fn prepared(&mut self, row: u32) {
        self.sleeps_between(row);
        self.program.preparing -= 1;
        if self.program.preparing > 0 {
            return;
        }
        for (row, thread) in (0..).zip(&mut self.program.threads) {
            let released = self.now + thread.delay_ns;
            thread.rounds.released = released;
            thread.rounds.began = released;
            thread.rounds.in_body = true;
            self.events.plan(released, Event::Resume(row));
        }
    }

    /// Returns to the start of the body, or continues after it. Returns when, unless that is decided later.
    fn end_of_body(&mut self, row: u32) -> Option<i64> {
        let now = self.now;
        let Script { threads, leading, record, .. } = &mut self.program;
        let script = &mut threads[row as usize];
        let rounds = &mut script.rounds;
        rounds.count += 1;
        let again = match script.repeat {
            Repeat::Times(times) => rounds.count < times,
            Repeat::For(ns) => ((now - rounds.released) as u64) < ns,
            Repeat::WhileOthers => *leading > 0,
        };
        if !again {
            rounds.elapsed = now - rounds.released;
            rounds.in_body = false;
            record.body(row, rounds.released, now);
            *leading -= usize::from(script.repeat != Repeat::WhileOthers);
            return Some(now);
        }
        self.threads[row as usize].at = script.body;
        if now == rounds.began && !matches!(script.repeat, Repeat::Times(_)) {
            rounds.began = now + LEAST_ROUND;
            self.events.plan(rounds.began, Event::Resume(row));
            return None;
        }
        rounds.began = now;
        Some(now)
    }
}
