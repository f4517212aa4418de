//! Actions of host threads between their calls.

use crate::Error;
use crate::calls::{pages, transfer_ns, whole};
use crate::events::Event;
use crate::machine::Machine;
use crate::plan::Step;
use crate::thread::Stage;
use workload::Repeat;

/// The least time of a round of a body that repeats until something happens: at no cost it would repeat for ever.
const LEAST_ROUND: i64 = 1_000;

impl Machine<'_> {
    pub(crate) fn resume(&mut self, thread: u32) {
        self.wakes(thread);
        self.go_on(thread, self.now);
    }

    /// Executes the steps of a thread from `time` on, which may be in the future, up to its next call.
    pub(crate) fn go_on(&mut self, row: u32, mut time: i64) {
        loop {
            let thread = self.thread(row);
            thread.stage = Stage::Going;
            let at = thread.at;
            let step = self.step(row, at);
            let depends_on_others = matches!(
                step,
                Step::Hold(_) | Step::Meet { .. } | Step::EndBefore | Step::EndBody | Step::End
            ) || matches!(step, Step::Post { .. } | Step::Await { .. })
                || matches!(step, Step::GiveUp { .. } | Step::PauseUntil { .. } | Step::Leave { .. })
                || matches!(step, Step::Acquire { .. } | Step::Release { .. });
            if depends_on_others && time > self.now {
                return self.events.plan(time, Event::Resume(row));
            }
            self.thread(row).at += 1;
            if let Some(replay) = &mut self.replay {
                replay.step(row, time);
            }
            if !matches!(step, Step::Loop { .. } | Step::Again { .. }) && !self.make(1) {
                return;
            }
            let thread = &mut self.threads[row as usize];
            match step {
                Step::Call(plan) => return self.call(row, plan, time),
                Step::Loop { times: 0, end } => thread.at = end,
                Step::Loop { times, .. } => thread.loops.push(times),
                Step::Again { start } => {
                    if let Some(rounds) = thread.loops.last_mut() {
                        *rounds -= 1;
                        match *rounds {
                            0 => drop(thread.loops.pop()),
                            _ => thread.at = start,
                        }
                    }
                }
                Step::Pause(ns) => time = time.saturating_add(ns),
                Step::Map { buffer, touched } => time = time.saturating_add(self.map(buffer, touched)),
                Step::Unmap { buffer } => time = time.saturating_add(self.unmap(buffer)),
                Step::Write { buffer, bytes } => time = time.saturating_add(self.write(buffer, bytes)),
                Step::Hold(ns) => {
                    let has_it = self.holds(row, ns);
                    if has_it > time {
                        self.sleeps(row);
                        return self.events.plan(has_it, Event::Resume(row));
                    }
                }
                Step::Meet { barrier } => return self.meet(row, barrier),
                Step::Post { signal } => self.post(signal),
                Step::Await { signal, handoff } => {
                    if !self.is_posted(row, signal, handoff) {
                        return;
                    }
                }
                Step::GiveUp { signal, after } => {
                    if !self.is_posted(row, signal, 0) {
                        return self.events.plan(time + after, Event::GivesUp { thread: row, signal });
                    }
                }
                Step::PauseUntil { signal, ns } => {
                    if self.pauses_until(row, signal) {
                        return self.events.plan(time + ns, Event::GivesUp { thread: row, signal });
                    }
                }
                Step::Leave { signal } => self.leaves(row, signal),
                Step::Acquire { lock, handoff } => {
                    if !self.acquires(row, lock, handoff) {
                        return;
                    }
                }
                Step::Release { lock } => self.releases(row, lock),
                Step::EndBefore => return self.prepared(row),
                Step::EndBody => match self.end_of_body(row) {
                    Some(later) => time = later,
                    None => return,
                },
                Step::End => {
                    thread.stage = Stage::Finished;
                    return self.sleeps(row);
                }
            }
        }
    }

    /// Counts steps. Returns whether the limit allows them.
    pub(crate) fn make(&mut self, steps: usize) -> bool {
        self.made += steps as u64;
        let too_long = self.made > self.options.most_calls;
        if too_long {
            self.error = Some(Error::TooLong { most: self.options.most_calls });
        }
        !too_long
    }

    fn map(&mut self, buffer: u32, touched: bool) -> i64 {
        self.buffers[buffer as usize].touched = touched;
        let pages = if touched { pages(self.program.buffers[buffer as usize].bytes) } else { 0 };
        self.model.host.map_ns + whole(self.model.host.touch_page_ns as f64 * pages as f64)
    }

    fn unmap(&mut self, buffer: u32) -> i64 {
        let touched = std::mem::take(&mut self.buffers[buffer as usize].touched);
        let pages = if touched { pages(self.program.buffers[buffer as usize].bytes) } else { 0 };
        self.model.host.map_ns + whole(self.model.host.unmap_page_ns as f64 * pages as f64)
    }

    fn write(&mut self, buffer: u32, bytes: u64) -> i64 {
        let host = &self.model.host;
        let touched = std::mem::replace(&mut self.buffers[buffer as usize].touched, true);
        let faults = if touched { 0 } else { pages(bytes) };
        transfer_ns(bytes, host.mb_s) + whole(host.touch_page_ns as f64 * faults as f64)
    }

    /// When a thread has the lock of its process, which it holds for so long: after all that came before it.
    fn holds(&mut self, row: u32, ns: i64) -> i64 {
        let free_at = &mut self.free_at[self.program.threads[row as usize].process as usize];
        let wakes = free_at.saturating_add(self.model.host.handoff_ns);
        let has_it = if *free_at > self.now { wakes } else { self.now };
        *free_at = has_it.saturating_add(ns);
        has_it
    }

    fn meet(&mut self, row: u32, barrier: u32) {
        // The step stays at the barrier until the thread continues: an error names it.
        self.thread(row).at -= 1;
        self.thread(row).stage = Stage::Meeting;
        self.sleeps(row);
        let here = &mut self.meeting[barrier as usize];
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
        self.thread(row).stage = Stage::Prepared;
        self.sleeps(row);
        self.preparing -= 1;
        if self.preparing > 0 {
            return;
        }
        for row in 0..self.threads.len() {
            let (now, plan) = (self.now, &self.program.threads[row]);
            let thread = &mut self.threads[row];
            thread.released = now + plan.delay_ns;
            thread.round_began = thread.released;
            thread.in_body = true;
            self.events.plan(thread.released, Event::Resume(row as u32));
        }
    }

    /// Returns to the start of the body, or continues after it. Returns when, unless that is decided later.
    fn end_of_body(&mut self, row: u32) -> Option<i64> {
        let plan = &self.program.threads[row as usize];
        let thread = &mut self.threads[row as usize];
        let now = self.now;
        thread.rounds += 1;
        let again = match plan.repeat {
            Repeat::Times(times) => thread.rounds < times,
            Repeat::For(ns) => ((now - thread.released) as u64) < ns,
            Repeat::WhileOthers => self.leading > 0,
        };
        if !again {
            thread.elapsed = now - thread.released;
            thread.in_body = false;
            self.record.body(row, thread.released, now);
            self.leading -= usize::from(plan.repeat != Repeat::WhileOthers);
            return Some(now);
        }
        thread.at = plan.body;
        if now == thread.round_began && !matches!(plan.repeat, Repeat::Times(_)) {
            thread.round_began = now + LEAST_ROUND;
            self.events.plan(thread.round_began, Event::Resume(row));
            return None;
        }
        thread.round_began = now;
        Some(now)
    }
}
