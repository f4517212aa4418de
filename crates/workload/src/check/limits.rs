//! Limits of counts, and of sums that must fit in outcomes and traces.

use super::walk;
use crate::error::{Checked, List, Part, Place, Problem};
use crate::model::*;

/// The most threads a workload may have, in all its processes.
pub const MOST_THREADS: usize = 1024;

/// The most calls a workload may make, with a body that is repeated for a time counted once.
pub const MOST_CALLS: u64 = 1 << 40;

/// The most hardware connections of a process, the limit of `CUDA_DEVICE_MAX_CONNECTIONS` (CUDA C++
/// Programming Guide, "CUDA Environment Variables").
pub const MOST_CONNECTIONS: u32 = 32;

/// Checks counts and sums.
pub fn check(workload: &Workload) -> Checked {
    threads(workload)?;
    buffers(workload)?;
    walk::each_step(workload, &mut |step, at| match step {
        Step::Loop { times: 0, .. } => {
            Err(at.problem("repeats 0 times: repeat it at least once or remove it"))
        }
        Step::Loop { steps, .. } if steps.is_empty() => {
            Err(at.problem("repeats nothing: give it steps or remove it"))
        }
        Step::Capture { steps, .. } if steps.is_empty() => {
            Err(at.problem("captures nothing: give it steps or remove it"))
        }
        _ => Ok(()),
    })?;
    sums(workload)
}

/// The number of connections, of threads, and how often those do their bodies.
fn threads(workload: &Workload) -> Checked {
    let problem = |place, what: String| Err(Problem { place, what });
    if let Some(connections) = workload.connections
        && !(1..=MOST_CONNECTIONS).contains(&connections)
    {
        return problem(
            Place::Connections,
            format!("{connections} connections: say 1 to {MOST_CONNECTIONS}"),
        );
    }
    let count: usize = workload.processes.iter().map(|process| process.threads.len()).sum();
    if count == 0 {
        return problem(Place::Workload, "there is no thread: add one to a process".to_owned());
    }
    if count > MOST_THREADS {
        return problem(Place::Workload, format!("{count} threads: {MOST_THREADS} is the most"));
    }
    for (row, process) in workload.processes.iter().enumerate() {
        if process.threads.is_empty() {
            return problem(Place::Process(row), "has no thread: add one or remove the process".to_owned());
        }
    }
    walk::threads(workload).try_for_each(|(process, thread)| repeat(workload, process, thread))
}

fn repeat(workload: &Workload, row: usize, item: usize) -> Checked {
    let thread = &workload.processes[row].threads[item];
    let problem = |what: &str| Err(Problem { place: Place::Thread(row, item), what: what.to_owned() });
    let mut others = workload.processes.iter().flat_map(|process| &process.threads);
    match thread.repeat {
        Repeat::Times(0) => problem("repeats its body 0 times: repeat it at least once"),
        Repeat::For(0) => problem("repeats its body for no time: use a longer time"),
        Repeat::WhileOthers if others.all(|other| other.repeat == Repeat::WhileOthers) => problem(
            "repeats while others run, but no other thread ends by itself: give one thread a number of times",
        ),
        Repeat::Times(1) => Ok(()),
        _ if thread.body.is_empty() => problem("repeats an empty body: give it steps"),
        _ => Ok(()),
    }
}

/// The sizes of buffers.
fn buffers(workload: &Workload) -> Checked {
    let mut sum = 0u64;
    for (row, process) in workload.processes.iter().enumerate() {
        for (item, buffer) in process.buffers.iter().enumerate() {
            let problem = |what: &str| {
                Err(Problem { place: Place::Row(row, List::Buffers, item), what: what.to_owned() })
            };
            if buffer.bytes == 0 {
                return problem("has 0 bytes: use a size");
            }
            match sum.checked_add(buffer.bytes) {
                Some(more) => sum = more,
                None => return problem("the buffers together have more than 2^64 bytes: make them smaller"),
            }
        }
    }
    Ok(())
}

/// The sums of a thread's steps.
#[derive(Clone, Copy, Default)]
struct Sums {
    calls: u128,
    ns: u128,
    bytes: u128,
    cycles: u128,
}

impl Sums {
    fn of(steps: &[Step]) -> Sums {
        steps.iter().map(Sums::of_step).fold(Sums::default(), Sums::plus)
    }

    fn of_step(step: &Step) -> Sums {
        let call = Sums { calls: 1, ..Sums::default() };
        match step {
            Step::Call(of) => Sums::of_call(of),
            Step::Loop { times, steps } => Sums::of(steps).times(*times),
            Step::Capture { steps, .. } => call.plus(Sums::of(steps)),
        }
    }

    fn of_call(of: &Call) -> Sums {
        let call = Sums { calls: 1, ..Sums::default() };
        match *of {
            Call::Sleep { ns } | Call::Work { ns } | Call::Hold { ns } => Sums { ns: ns.into(), ..call },
            Call::Copy { bytes, .. } => Sums { bytes: bytes.into(), ..call },
            Call::CopyRows { width, height, depth, .. } => {
                let rows = u128::from(height).saturating_mul(depth.unwrap_or(1).into());
                Sums { bytes: rows.saturating_mul(width.into()), ..call }
            }
            Call::Launch { kernel: Kernel::Delay { cycles }, .. } => Sums { cycles: cycles.into(), ..call },
            Call::Launch { .. }
            | Call::Allocate { .. }
            | Call::Free { .. }
            | Call::Register { .. }
            | Call::Unregister { .. }
            | Call::Fill { .. }
            | Call::Check { .. }
            | Call::BlasNorm { .. }
            | Call::LaunchGraph { .. }
            | Call::RecordEvent { .. }
            | Call::WaitEvent { .. }
            | Call::QueryEvent { .. }
            | Call::SynchronizeEvent { .. }
            | Call::Elapsed { .. }
            | Call::QueryStream { .. }
            | Call::SynchronizeStream { .. }
            | Call::SynchronizeContext
            | Call::CreateStream { .. }
            | Call::DestroyStream { .. }
            | Call::CreateEvent { .. }
            | Call::DestroyEvent { .. }
            | Call::LoadModule
            | Call::Meet { .. } => call,
        }
    }

    fn plus(self, other: Sums) -> Sums {
        Sums {
            calls: self.calls.saturating_add(other.calls),
            ns: self.ns.saturating_add(other.ns),
            bytes: self.bytes.saturating_add(other.bytes),
            cycles: self.cycles.saturating_add(other.cycles),
        }
    }

    fn times(self, times: u64) -> Sums {
        let times = u128::from(times);
        Sums {
            calls: self.calls.saturating_mul(times),
            ns: self.ns.saturating_mul(times),
            bytes: self.bytes.saturating_mul(times),
            cycles: self.cycles.saturating_mul(times),
        }
    }
}

/// Calls, times, bytes and cycles, added up over threads.
fn sums(workload: &Workload) -> Checked {
    let mut all = Sums::default();
    for (row, item) in walk::threads(workload) {
        let thread = &workload.processes[row].threads[item];
        all = all.plus(thread_sums(thread));
        let what = if all.calls > u128::from(MOST_CALLS) {
            format!("makes more calls than the 2^{} a workload may: repeat less", MOST_CALLS.ilog2())
        } else if all.ns > i64::MAX as u128 {
            "delays, sleeps and work add up to more than 292 years: make them shorter".to_owned()
        } else if all.bytes > u128::from(u64::MAX) {
            "copies add up to more than 2^64 bytes: copy less".to_owned()
        } else if all.cycles > u128::from(u64::MAX) {
            "delay kernels add up to more than 2^64 cycles: make them shorter".to_owned()
        } else {
            continue;
        };
        return Err(Problem { place: Place::Thread(row, item), what });
    }
    Ok(())
}

fn thread_sums(thread: &Thread) -> Sums {
    let (times, lasting) = match thread.repeat {
        Repeat::Times(times) => (times, 0),
        Repeat::For(ns) => (1, ns),
        Repeat::WhileOthers => (1, 0),
    };
    let host = Sums { ns: u128::from(thread.delay_ns) + u128::from(lasting), ..Sums::default() };
    let [before, body, after] = Part::ALL.map(|part| Sums::of(part.of(thread)));
    host.plus(before).plus(body.times(times)).plus(after)
}
