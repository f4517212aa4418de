//! A workload as a program of the machine.

use super::compile::compile;
use super::plan::{Act, Copy, Effect, Step};
use super::record::Recorder;
use super::state::Script;
use crate::delays::{Delays, Observer};
use crate::device::{Kind, Op};
use crate::host::Wait;
use crate::machine::{Machine, Program};
use crate::plan::{Layout, Plan, Way};
use crate::{Error, Model, Options};
use trace::Trace;
use workload::{Outcome, Workload};

/// Results of a run.
pub(crate) struct Results {
    pub outcome: Outcome,
    pub trace: Option<Trace>,
    /// Of each operation of the trace, if that was requested.
    pub delays: Vec<Delays>,
}

/// Runs a workload, and keeps what delays its operations if `observed`.
///
/// # Errors
/// The errors of [`crate::run`].
pub(crate) fn run(
    workload: &Workload,
    model: &Model,
    options: Options,
    observed: bool,
) -> Result<Results, Error> {
    workload.check()?;
    run_unchecked(workload, model, options, observed)
}

fn run_unchecked(
    workload: &Workload,
    model: &Model,
    options: Options,
    observed: bool,
) -> Result<Results, Error> {
    let layout = Layout::new(workload, model)?;
    layout.accepted(workload, model)?;
    let script = compile(workload, model, &layout, options)?;
    let mut machine = Machine::new(workload, model, layout, script, options);
    machine.observer = observed.then(Observer::default);
    for (context, (start, end)) in machine.layout.contexts.iter().zip(machine.creations()) {
        machine.program.record.context(context, start, end);
    }
    let starts = machine.starts();
    machine.run(&starts)?;
    let outcome =
        Outcome { threads: machine.program.threads.iter().map(|thread| thread.rounds.outcome()).collect() };
    if !options.trace {
        return Ok(Results { outcome, trace: None, delays: Vec::new() });
    }
    let record = std::mem::replace(&mut machine.program.record, Recorder::new(options));
    let (trace, serials) = record.trace(workload, model, &machine.layout, &machine.program.kernels);
    let delays = machine.observer.map(|observer| observer.delays(model, &trace, &serials));
    Ok(Results { outcome, trace: Some(trace), delays: delays.unwrap_or_default() })
}

impl Program for Script {
    type Step = Step;
    type Effect = Effect;

    fn step(machine: &mut Machine<'_, Self>, thread: u32, at: u32) -> Step {
        machine.program.threads[thread as usize].steps[at as usize]
    }

    fn concerns_others(step: &Step) -> bool {
        matches!(step, Step::Hold(_) | Step::Meet { .. } | Step::EndBefore | Step::EndBody | Step::End)
    }

    fn execute(machine: &mut Machine<'_, Self>, thread: u32, step: Step, time: i64) -> Option<i64> {
        machine.execute(thread, step, time)
    }

    fn waits_for_others(machine: &Machine<'_, Self>, thread: u32) -> String {
        let script = &machine.program.threads[thread as usize];
        let at = machine.threads[thread as usize].at;
        match script.steps.get(at as usize) {
            Some(Step::Meet { barrier }) if at != script.body || script.rounds.in_body => {
                let came = machine.program.meeting[*barrier as usize].len();
                let barrier = &machine.workload.barriers[*barrier as usize];
                format!("waits at {}, where {came} of {} threads are", barrier.name, barrier.parties)
            }
            _ => "waits to be released".to_owned(),
        }
    }

    fn plan(&self, plan: u32) -> &Plan<Effect> {
        &self.plans[plan as usize]
    }

    fn launches_into(_: &Machine<'_, Self>, plan: &Plan<Effect>) -> Option<u32> {
        match plan.effect.act {
            Act::Launch { stream, .. } => Some(stream),
            _ => None,
        }
    }

    fn issues_to(_: &Machine<'_, Self>, plan: &Plan<Effect>) -> Option<u32> {
        match plan.effect.act {
            Act::Launch { stream, .. } | Act::Graph { stream, .. } | Act::Fill { stream, .. } => Some(stream),
            Act::Copy(copy) => Some(copy.stream),
            _ => None,
        }
    }

    fn pageable_copy(_: &Machine<'_, Self>, plan: &Plan<Effect>) -> Option<(u32, Way)> {
        match plan.effect.act {
            Act::Copy(Copy { stream, way, pinned: false, .. }) => Some((stream, way)),
            _ => None,
        }
    }

    fn waits_first(plan: &Plan<Effect>) -> bool {
        matches!(plan.effect.act, Act::Release { waits: true, .. } | Act::Unload)
    }

    fn held_longer(machine: &mut Machine<'_, Self>, plan: &Plan<Effect>) -> (i64, bool) {
        machine.held_longer(plan)
    }

    fn act(machine: &mut Machine<'_, Self>, thread: u32, plan: &Plan<Effect>) {
        machine.act(thread, plan);
    }

    fn returns(machine: &mut Machine<'_, Self>, row: u32, plan: &Plan<Effect>, end: i64) {
        let Machine { program, threads, .. } = machine;
        let thread = &threads[row as usize];
        let Script { record, threads, .. } = program;
        threads[row as usize].rounds.add(plan.effect.name, end - thread.started);
        record.returned(thread.call, end);
        record.synchronized(&plan.effect.act, (thread.started, end), thread.call, thread.process);
    }

    fn waited(machine: &mut Machine<'_, Self>, thread: u32, wait: &Wait, kind: Kind) {
        let releaser = machine.locks[wait.lock as usize].releaser;
        let call = machine.threads[thread as usize].call;
        machine.program.record.wait((thread, call), wait, machine.now, releaser, kind != Kind::Context);
    }

    fn completed(machine: &mut Machine<'_, Self>, op: &Op) {
        machine.program.record.op(op, machine.now);
    }

    fn passed(machine: &mut Machine<'_, Self>, event: u32) {
        machine.program.passed[event as usize] = machine.now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [`Workload::check`] refuses this workload. If it misses one, the run ends with the threads that wait.
    #[test]
    fn a_deadlock_is_reported() {
        let mut workload = Workload::new("stuck");
        let [one, other] = ["one", "other"].map(|name| workload.barrier(name, 2));
        let process = workload.process("main");
        let context = process.primary(0);
        process.thread("A", context).body().meet(one).meet(other);
        process.thread("B", context).body().meet(other).meet(one);
        let model = Model::load("h200").unwrap();
        let error = run_unchecked(&workload, &model, Options::default(), false).err().unwrap();
        let waiting = "A of main waits at one, where 1 of 2 threads are; B of main waits at other, where 1 of 2 threads are";
        // Both meet as soon as there is a context.
        let at_ms = model.calls.context_create.held_ns / 1_000_000;
        assert_eq!(error, Error::Deadlock { at_ms, waiting: waiting.to_owned() });
    }
}
