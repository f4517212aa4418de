//! Effects of recorded threads on each other outside of calls: locks that they hold, and signals that they wait for.

use super::replay::Replay;
use super::{CallOf, Does, RecordedStep};
use crate::events::Event;
use crate::machine::Machine;

impl Machine<'_, Replay<'_>> {
    /// Whether a thread goes on with a lock; if not, it sleeps until it has acquired it. When a thread began to hold a lock is not
    /// always known: one that would wait for itself goes on without it.
    pub(super) fn acquires(&mut self, row: u32, lock: u32, handoff: i64) -> bool {
        let replay = &mut self.program;
        let held = &mut replay.locks[lock as usize];
        let Some(by) = held.by.filter(|by| *by != row) else {
            held.by = Some(row);
            return true;
        };
        if replay.waits_for(by, row) {
            replay.replayed.given_up += 1;
            return true;
        }
        replay.locks[lock as usize].waiting.push_back((row, handoff));
        replay.wants[row as usize] = Some(lock);
        self.sleeps_between(row);
        false
    }

    pub(super) fn releases(&mut self, row: u32, lock: u32) {
        if self.program.locks[lock as usize].by == Some(row) {
            self.passes(lock);
        }
    }

    /// A thread that waits for another one holds no lock meanwhile: Python releases its own, and a wait for a condition its mutex.
    fn releases_all(&mut self, row: u32) {
        (0..self.program.locks.len() as u32).for_each(|lock| self.releases(row, lock));
    }

    /// A lock passes to the first thread that waits for it.
    pub(super) fn passes(&mut self, lock: u32) {
        let replay = &mut self.program;
        let held = &mut replay.locks[lock as usize];
        let next = held.waiting.pop_front();
        held.by = next.map(|(thread, _)| thread);
        if let Some((thread, handoff)) = next {
            replay.wants[thread as usize] = None;
            self.events.plan(self.now + handoff, Event::Resume(thread));
        }
    }

    pub(super) fn post(&mut self, signal: u32) {
        let signal = &mut self.program.signals[signal as usize];
        signal.posted = true;
        for (thread, handoff) in std::mem::take(&mut signal.waiting) {
            self.events.plan(self.now + handoff, Event::Resume(thread));
        }
    }

    /// Whether a signal has been posted; if not, the thread sleeps until it is.
    pub(super) fn is_posted(&mut self, row: u32, signal: u32, handoff: i64) -> bool {
        let signal = &mut self.program.signals[signal as usize];
        if !signal.posted {
            signal.waiting.push((row, handoff));
            self.releases_all(row);
            self.sleeps_between(row);
            return false;
        }
        true
    }

    /// A thread computes, and may be told to stop by a signal; false if that has been posted.
    pub(super) fn pauses_until(&mut self, row: u32, signal: u32) -> bool {
        let signal = &mut self.program.signals[signal as usize];
        if !signal.posted {
            signal.waiting.push((row, 0));
        }
        !signal.posted
    }

    /// A thread goes on at its next wait for a signal, if that has been posted.
    pub(super) fn leaves(&mut self, row: u32, signal: u32) {
        if !self.program.signals[signal as usize].posted {
            return;
        }
        let steps = self.program.steps(row);
        let rest = steps.get(self.threads[row as usize].at as usize..).unwrap_or_default();
        let is_wait =
            |step: &RecordedStep| matches!(step, RecordedStep::Await { signal: of, .. } if *of == signal);
        let Some(count) = rest.iter().position(is_wait) else { return };
        for step in &rest[..count] {
            self.leaves_out(row, step);
        }
        self.thread(row).at += count as u32;
    }

    /// A thread does not make a step.
    fn leaves_out(&mut self, row: u32, step: &RecordedStep) {
        self.program.begins(row, self.now);
        match *step {
            RecordedStep::Post(signal) => self.post(signal),
            RecordedStep::Release(lock) => self.releases(row, lock),
            RecordedStep::Call(CallOf { does: Does::Issue { works, .. }, .. }) => {
                works.iter().for_each(|work| self.is_done(work as u32, self.now));
            }
            _ => {}
        }
    }

    /// A thread has waited for a signal, or computed, for as long as it would; nothing if the signal has been posted meanwhile.
    pub(super) fn stops_waiting(&mut self, row: u32, signal: u32) {
        let waiting = &mut self.program.signals[signal as usize].waiting;
        let before = waiting.len();
        waiting.retain(|(thread, _)| *thread != row);
        if waiting.len() < before {
            self.resume(row);
        }
    }
}
