//! Recorded steps as a program of the machine.

use super::queues;
use super::replay::{Effect, Replay, plan};
use super::works::way;
use super::{CallOf, Does, Recorded, RecordedStep, Replayed, Until, WorkKind};
use crate::device::{Kind, Op, Part};
use crate::events::Event;
use crate::host::Wait;
use crate::machine::{Machine, Program};
use crate::plan::{LONGEST, Layout, NONE, Plan, Way};
use crate::{Error, Model, Options, Use};

/// Runs recorded steps.
///
/// # Errors
/// The errors of [`crate::run`].
pub fn run_recorded(recorded: &Recorded, model: &Model, options: Options) -> Result<Replayed, Error> {
    let workload = &recorded.workload;
    let layout = Layout::new(workload, model)?;
    let first = |process| layout.contexts.iter().position(|context| context.process == process);
    let contexts = (0..).zip(&workload.processes).flat_map(|(process, of)| {
        let context = first(process).unwrap_or(0) as u32;
        of.threads.iter().map(move |_| context)
    });
    let replay = Replay::new(recorded, contexts.collect());
    let mut machine = Machine::new(workload, model, layout, replay, options);
    machine.program.pools = queues::create(&mut machine, recorded);
    for (row, _) in (0..).zip(&recorded.exclusive).filter(|(_, exclusive)| **exclusive) {
        let stream = machine.layout.stream(row);
        machine.streams[stream as usize].exclusive = true;
    }
    // All threads begin when the last of them can.
    let mut starts = machine.starts();
    let last = starts.iter().copied().max().unwrap_or(0);
    starts.fill(last);
    machine.run(&starts)?;
    Ok(machine.program.replayed)
}

impl<'a> Program for Replay<'a> {
    /// `None` after a thread's last one.
    type Step = Option<&'a RecordedStep>;
    type Effect = Effect;

    fn step(machine: &mut Machine<'_, Self>, thread: u32, at: u32) -> Self::Step {
        let replay = &mut machine.program;
        replay.staging.get_mut(thread as usize).into_iter().for_each(|context| *context = NONE);
        replay.steps(thread).get(at as usize)
    }

    fn concerns_others(step: &Self::Step) -> bool {
        !matches!(step, Some(RecordedStep::Host(_) | RecordedStep::Call(_)))
    }

    fn execute(machine: &mut Machine<'_, Self>, row: u32, step: Self::Step, time: i64) -> Option<i64> {
        machine.program.begins(row, time);
        if !machine.make(1) {
            return None;
        }
        let Some(step) = step else {
            machine.end(row);
            return None;
        };
        match *step {
            RecordedStep::Host(ns) => return Some(time.saturating_add(ns.clamp(0, LONGEST))),
            RecordedStep::HostUntil { signal, ns } => {
                if machine.pauses_until(row, signal) {
                    return machine.times_out_at(row, signal, time + ns.clamp(0, LONGEST));
                }
            }
            RecordedStep::Post(signal) => machine.post(signal),
            RecordedStep::Await { signal, handoff_ns } => {
                return machine.is_posted(row, signal, handoff_ns).then_some(time);
            }
            RecordedStep::GiveUp { signal, ns } => {
                if !machine.is_posted(row, signal, 0) {
                    return machine.times_out_at(row, signal, time + ns.clamp(0, LONGEST));
                }
            }
            RecordedStep::Leave(signal) => machine.leaves(row, signal),
            RecordedStep::Acquire { lock, handoff_ns } => {
                return machine.acquires(row, lock, handoff_ns).then_some(time);
            }
            RecordedStep::Release(lock) => machine.releases(row, lock),
            RecordedStep::Call(ref call) => {
                machine.begins(row, call, time);
                return None;
            }
        }
        Some(time)
    }

    fn waits_for_others(_: &Machine<'_, Self>, _: u32) -> String {
        "waits for another thread".to_owned()
    }

    fn plan(&self, thread: u32) -> &Plan<Effect> {
        &self.plans[thread as usize]
    }

    fn launches_into(machine: &Machine<'_, Self>, plan: &Plan<Effect>) -> Option<u32> {
        let work = machine.program.first_work(plan).filter(|work| work.is_launched());
        work.map(|work| machine.layout.stream(work.stream))
    }

    fn issues_to(machine: &Machine<'_, Self>, plan: &Plan<Effect>) -> Option<u32> {
        machine.program.first_work(plan).map(|work| machine.layout.stream(work.stream))
    }

    fn pageable_copy(machine: &Machine<'_, Self>, plan: &Plan<Effect>) -> Option<(u32, Way)> {
        machine.pageable_copy(plan).filter(|_| plan.lock != Use::None)
    }

    fn defers(machine: &mut Machine<'_, Self>, thread: u32, plan: &Plan<Effect>) -> bool {
        machine.meets_staging(thread, plan) || machine.is_behind(thread, plan)
    }

    fn act(machine: &mut Machine<'_, Self>, thread: u32, plan: &Plan<Effect>) {
        match plan.effect.does {
            Does::Nothing => {}
            Does::Issue { works, waits } => machine.issue_works(thread, works, waits),
            Does::Await(works) => {
                machine.await_works(thread, works, plan.keep && plan.lock == Use::Exclusive);
            }
            Does::Synchronize(stream) => machine.await_stream(machine.layout.stream(stream), thread),
        }
        machine.comes_to(plan, Until::Effect);
    }

    fn done(machine: &mut Machine<'_, Self>, plan: &Plan<Effect>) {
        machine.comes_to(plan, Until::Done);
    }

    fn returns(machine: &mut Machine<'_, Self>, _: u32, plan: &Plan<Effect>, end: i64) {
        machine.comes_to(plan, Until::Done);
        if let Some((number, Until::Return)) = plan.effect.holds {
            machine.events.plan(end, Event::LetsGoOn(number));
        }
    }

    fn waited(machine: &mut Machine<'_, Self>, thread: u32, wait: &Wait, _: Kind) {
        machine.program.waited(thread, wait, machine.now);
    }

    fn completed(machine: &mut Machine<'_, Self>, op: &Op) {
        machine.is_done(op.work, op.begin);
    }

    fn kernel_begins(machine: &mut Machine<'_, Self>, op: &Op, part: Option<Part>, time: i64) -> bool {
        machine.meets(part, op.work, time)
    }

    fn times_out(machine: &mut Machine<'_, Self>, thread: u32, signal: u32) {
        machine.stops_waiting(thread, signal);
    }

    fn lets_go_on(machine: &mut Machine<'_, Self>, call: u32) {
        machine.lets_go_on(call);
    }

    fn gives_up(machine: &mut Machine<'_, Self>) -> bool {
        machine.gives_up()
    }
}

impl Machine<'_, Replay<'_>> {
    /// A thread makes a call; others may wait behind it.
    fn begins(&mut self, row: u32, call: &CallOf, time: i64) {
        let replay = &mut self.program;
        if let Does::Issue { works, .. } = call.does
            && let Some(work) = replay.recorded.works.get(works.first as usize)
        {
            let stream = self.layout.stream(work.stream);
            replay.contexts[row as usize] = self.layout.streams[stream as usize].context;
        }
        replay.plans[row as usize] = plan(call, replay.contexts[row as usize]);
        let at = replay.at(row);
        if let Some((number, _)) = call.holds {
            replay.holds[number as usize].begun = Some((time, at));
        }
        self.call(row, row, at.step, time);
    }

    /// The pageable copy that a call issues: its stream and direction.
    pub(super) fn pageable_copy(&self, plan: &Plan<Effect>) -> Option<(u32, Way)> {
        let work = self.program.first_work(plan)?;
        match work.kind {
            WorkKind::Copy { kind, pinned: false } => Some((self.layout.stream(work.stream), way(kind))),
            _ => None,
        }
    }

    fn times_out_at(&mut self, thread: u32, signal: u32, time: i64) -> Option<i64> {
        self.events.plan(time, Event::TimesOut { thread, signal });
        None
    }
}
