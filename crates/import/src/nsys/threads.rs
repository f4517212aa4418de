//! Activity of threads whether they called anything or not: the scheduler's events, samples, and waits that are calls of the
//! operating system's runtime library.

use super::blocking::{WaitTarget, awaited};
use super::files;
use super::reader::{Nsys, TIMES, thread};
use super::switches::{Processors, Stop, Switch};
use super::wakers;
use crate::Problem;
use crate::sqlite::{Builder, Fault, Value};
use rustc_hash::FxHashMap;
use trace::{
    Api, CallId, LockLayer, Ns, ProcessId, Sample, State, Sym, ThreadId, ThreadState, Trace, Wait, Within,
};

pub(super) const SCHEDULER: &str = "SCHED_EVENTS";
pub(super) const SAMPLES: &str = "COMPOSITE_EVENTS";

/// Calls below this are no waits, ns: Nsight Systems also lists calls that found their lock free. It is the threshold from
/// which `holdup record` lists waits for a program's locks.
const A_WAIT: Ns = 20_000;

/// The note on time off a processor.
const OFF: &str = "Nsight Systems does not tell a blocked thread from one that waits for a processor: its time off a \
                   processor counts as blocked.";

/// The note on inferred waits for a processor.
const TAKEN: &str = "Nsight Systems does not tell a blocked thread from one that waits for a processor: where another thread of the \
                     program had the only one that a thread ever ran on, it counts as waiting for it.";

/// The note on inferred releasers.
const WOKEN: &str = "Nsight Systems does not say which thread ends another one's wait: the one that posts then, or the only one that is awake.";

/// A call in which a thread waits.
struct Waiting {
    call: CallId,
    start: Ns,
    end: Ns,
    awaited: WaitTarget,
    /// The system call in which it is blocked.
    system_call: &'static str,
}

impl Nsys<'_> {
    /// Reads states, samples and waits; called when calls and ranges are read. Only threads of processes that are in the
    /// trace count: Nsight Systems can record all processes of the machine.
    pub(super) fn threads(&mut self) -> Result<(), Problem> {
        let processes = self.rows.trace.processes.ids().collect();
        let known = ProcessFilter { processes };
        let stacks = self.stacks(super::stacks::SAMPLES)?;
        self.samples(&known, &stacks)?;
        let switches = self.switches(&known)?;
        let trace = &mut self.rows.trace;
        let waiting = waiting(trace);
        add_waits(trace, &waiting);
        add_states(trace, switches, &waiting);
        if wakers::name(trace) > 0 {
            trace.meta.notes.push(WOKEN.to_owned());
        }
        Ok(())
    }

    fn samples(&mut self, known: &ProcessFilter, stacks: &super::stacks::StackIds) -> Result<(), Problem> {
        let Nsys { rows, kinds, .. } = self;
        let mut others = 0;
        let columns = ["id", "start", "threadState", "globalTid"];
        rows.each(SAMPLES, columns, |rows, [id, at, state, tid]| {
            let at = moment(at)?;
            let Some(thread) = known.thread(rows, tid)? else {
                others += 1;
                return Ok(());
            };
            let stack = id.int().and_then(|id| stacks.get(&id).copied()).unwrap_or_default();
            rows.trace.samples.push(Sample { at, thread, stack, state: kinds.state(state) });
            Ok(())
        })?;
        rows.trace.meta.leave_out("samples of other processes", others);
        Ok(())
    }

    fn switches(&mut self, known: &ProcessFilter) -> Result<Vec<Switch>, Problem> {
        let Nsys { rows, kinds, .. } = self;
        let (mut switches, mut others) = (Vec::new(), 0);
        let columns = ["start", "isSchedIn", "globalTid", "threadState", "cpu"];
        rows.each(SCHEDULER, columns, |rows, [at, runs, tid, state, cpu]| {
            let at = moment(at)?;
            let runs = runs.int().ok_or("no direction")? != 0;
            match known.thread(rows, tid)? {
                Some(thread) => {
                    let state =
                        if kinds.ended(state) { Stop::Ended } else { Stop::Known(kinds.state(state)) };
                    switches.push(Switch { thread, at, runs, state, cpu: cpu.int() });
                }
                None => others += 1,
            }
            Ok(())
        })?;
        rows.trace.meta.leave_out("scheduler events of other processes", others);
        switches.sort_unstable();
        Ok(switches)
    }
}

/// The processes whose threads count; all if none is known.
struct ProcessFilter {
    processes: Vec<ProcessId>,
}

impl ProcessFilter {
    fn thread(&self, rows: &mut Builder<'_>, global: Value) -> Result<Option<ThreadId>, Fault> {
        let (pid, tid) = thread(global)?;
        let process = rows.ids.known_process(pid);
        let counts = self.processes.is_empty() || process.is_some_and(|of| self.processes.contains(&of));
        // Thread 0 is the idle one.
        Ok((counts && tid != 0).then(|| rows.ids.thread(&mut rows.trace, pid, tid)))
    }
}

fn moment(at: Value) -> Result<Ns, Fault> {
    let at = at.int().ok_or("no start time")?;
    if TIMES.contains(&at) { Ok(at) } else { Err("time out of range".into()) }
}

/// The outermost calls in which each thread waits, by start.
fn waiting(trace: &Trace) -> FxHashMap<ThreadId, Vec<Waiting>> {
    let calls = &trace.calls;
    let known: Vec<Option<WaitTarget>> = trace.strings.iter().map(|(_, name)| awaited(name)).collect();
    let mut waiting = FxHashMap::<ThreadId, Vec<Waiting>>::default();
    for call in calls.ids().filter(|call| calls.api[*call] == Api::Os) {
        let at = call.index();
        if let Some(awaited) = known[calls.name[at].index()] {
            let (start, end) = (calls.start[at], calls.end[at]);
            let system_call = awaited.system_call();
            waiting.entry(calls.thread[at]).or_default().push(Waiting {
                call,
                start,
                end,
                awaited,
                system_call,
            });
        }
    }
    for of_thread in waiting.values_mut() {
        of_thread.sort_by_key(|waiting| (waiting.start, std::cmp::Reverse(waiting.end)));
        let mut over = Ns::MIN;
        of_thread.retain(|waiting| {
            let outermost = waiting.start >= over;
            over = over.max(waiting.end);
            outermost
        });
        let on_files = files::system_calls(trace, of_thread.iter().map(|waiting| waiting.call));
        for (waiting, on_file) in of_thread.iter_mut().zip(on_files) {
            waiting.system_call = on_file.unwrap_or(waiting.system_call);
        }
    }
    waiting
}

/// Makes waits of long calls that wait for locks and threads. In CUDA's calls and in waits for the GIL there are none: the
/// call itself, or the wait for the GIL, is the record.
fn add_waits(trace: &mut Trace, waiting: &FxHashMap<ThreadId, Vec<Waiting>>) {
    let (calls, waits) = (&trace.calls, &trace.waits);
    let is_cuda = |at: &usize| matches!(calls.api[*at], Api::Runtime | Api::Driver);
    let in_calls =
        (0..calls.len()).filter(is_cuda).map(|at| (calls.thread[at], calls.start[at], calls.end[at]));
    let in_waits = (0..waits.len()).map(|at| (waits.thread[at], waits.start[at], waits.end[at]));
    let within = Within::of(in_calls.chain(in_waits).collect());
    let mut found: Vec<Wait> = Vec::new();
    for (&thread, all) in waiting {
        for &Waiting { call, start, end, awaited, .. } in all {
            let WaitTarget::Lock(kind, mode) = awaited else { continue };
            if end - start < A_WAIT || within.holds(thread, start) {
                continue;
            }
            let (layer, stack) = (LockLayer::Program, calls.stack[call]);
            found.push(Wait { start, end, thread, call, kind, mode, layer, stack, ..Wait::default() });
        }
    }
    found.sort_by_key(|wait| (wait.start, wait.thread));
    found.into_iter().for_each(|wait| _ = trace.waits.push(wait));
}

/// Makes states of the scheduler's events. A thread without them has those of its calls that wait, for data too: it copies these besides,
/// but does nothing else. `ioctl` is not among them: it is the driver's, within CUDA's calls.
fn add_states(trace: &mut Trace, switches: Vec<Switch>, waiting: &FxHashMap<ThreadId, Vec<Waiting>>) {
    let mut names = FxHashMap::<&'static str, Sym>::default();
    let (mut scheduled, mut unpaired, mut unknown) = (vec![false; trace.threads.len()], 0, false);
    let mut taken = false;
    let processors = Processors::of(&switches);
    for pair in switches.chunk_by(|a, b| a.thread == b.thread).flat_map(|of_thread| of_thread.windows(2)) {
        let [first, second] = [pair[0], pair[1]];
        let (thread, length) = (first.thread, second.at - first.at);
        scheduled[thread] = true;
        let row = State { start: first.at, end: second.at, thread, ..State::default() };
        match (first.runs, second.runs) {
            (true, false) => {
                let state = ThreadState::Running;
                trace.states.push(State { running: length, state, ..row });
            }
            (false, true) if first.state == Stop::Ended => {}
            (false, true) => {
                let of_thread = waiting.get(&thread).map_or(&[][..], Vec::as_slice);
                let mut row = off(row, first.state, of_thread, trace, &mut names);
                if row.state == ThreadState::Unknown && processors.are_taken(&row) {
                    row = State { runnable: length, state: ThreadState::Runnable, ..row };
                    taken = true;
                }
                unknown |= row.state == ThreadState::Unknown;
                trace.states.push(row);
            }
            _ => unpaired += 1,
        }
    }
    trace.meta.leave_out("scheduler events without their counterpart", unpaired);
    if unknown {
        trace.meta.notes.push(OFF.to_owned());
    }
    if taken {
        trace.meta.notes.push(TAKEN.to_owned());
    }
    let mut blocked = Vec::new();
    for (&thread, all) in waiting.iter().filter(|(thread, _)| !scheduled[**thread]) {
        for Waiting { start, end, awaited, system_call, .. } in all {
            if *awaited == WaitTarget::Data("ioctl") || end - start < A_WAIT {
                continue;
            }
            let call = name(system_call, trace, &mut names);
            let state = ThreadState::Blocked;
            blocked.push(State { start: *start, end: *end, thread, state, call, ..State::default() });
        }
    }
    blocked.sort_by_key(|state| (state.start, state.thread));
    blocked.into_iter().for_each(|state| _ = trace.states.push(state));
}

/// A thread off a processor: its state as it stopped, or by the call around it.
fn off(
    row: State,
    stop: Stop,
    waiting: &[Waiting],
    trace: &mut Trace,
    names: &mut FxHashMap<&'static str, Sym>,
) -> State {
    if stop == Stop::Known(ThreadState::Running) {
        return State { runnable: row.end - row.start, state: ThreadState::Runnable, ..row };
    }
    let begun = waiting.partition_point(|waiting| waiting.start <= row.start);
    let around = waiting[..begun].last().filter(|waiting| waiting.end >= row.end);
    let call = around.map_or(Sym::EMPTY, |waiting| name(waiting.system_call, trace, names));
    let state = match stop {
        Stop::Known(ThreadState::Unknown) if around.is_some() => ThreadState::Blocked,
        Stop::Known(state) => state,
        Stop::Ended => ThreadState::Unknown,
    };
    State { state, call, ..row }
}

fn name(text: &'static str, trace: &mut Trace, names: &mut FxHashMap<&'static str, Sym>) -> Sym {
    *names.entry(text).or_insert_with(|| trace.strings.intern(text))
}
