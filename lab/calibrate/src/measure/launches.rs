//! Costs of launches by the number of threads that launch: when the threads' mutex is never free, one launch follows the other
//! after the time that each holds it and hands it over.

use super::runs::{Runs, STREAM};
use crate::draft::{Draft, set};
use crate::sections::calls_of;
use crate::statistics::{Line, Sample, divided};
use sim::{Lock, Model, Use};
use workload::{Kernel, Workload};

/// Numbers of threads.
const THREADS: [u32; 5] = [2, 4, 8, 16, 32];

/// Launches of a thread in a burst: fewer than a stream keeps pending.
const BURST: u64 = 400;

/// Bursts, each of which gives one sample.
const BURSTS: usize = 5;

/// Runs it.
pub(super) fn measure(runs: &mut Runs<'_>) -> Result<(), String> {
    // Threads that share processors measure the scheduler.
    let most = if runs.facts.processors == 0 { u32::MAX } else { runs.facts.processors };
    let mut periods = Vec::new();
    for threads in THREADS.into_iter().filter(|threads| *threads <= most) {
        let ran = runs.run(&bursts(threads))?;
        let launches: Vec<Vec<(i64, i64)>> = (0..threads as usize)
            .map(|thread| {
                let calls = calls_of(&ran.trace, thread);
                let launches = calls.iter().filter(|call| call.name == "cuLaunchKernel");
                launches.map(|call| (call.start, call.end)).collect()
            })
            .collect();
        let sample = Sample::of((0..BURSTS).filter_map(|burst| period(&launches, burst)));
        periods.extend(sample.map(|sample| (threads, sample)));
    }
    read(&periods, runs.draft);
    Ok(())
}

/// Threads that launch into a stream each, in bursts that begin together.
fn bursts(threads: u32) -> Workload {
    let mut workload = Workload::new(format!("launches of {threads} threads"));
    let together = workload.barrier("together", threads);
    let process = workload.process("calibrate");
    let context = process.primary(0);
    for number in 0..threads {
        let stream = process.stream(format!("s{number}"), context, STREAM);
        let thread = process.thread(format!("t{number}"), context);
        thread.body().repeat(BURSTS as u64, |steps| {
            steps.synchronize(stream).meet(together).repeat(BURST, |steps| {
                steps.launch(Kernel::Empty, 1, 32, stream);
            });
        });
        thread.after().synchronize(stream);
    }
    workload
}

/// The time between two launches of any threads within a burst, while all threads launch, ns.
fn period(launches: &[Vec<(i64, i64)>], burst: usize) -> Option<i64> {
    let of_burst = |own: &Vec<(i64, i64)>| own.chunks(BURST as usize).nth(burst).map(<[_]>::to_vec);
    let own: Vec<Vec<(i64, i64)>> = launches.iter().map(of_burst).collect::<Option<_>>()?;
    let from = own.iter().filter_map(|calls| calls.first()).map(|(start, _)| *start).max()?;
    let to = own.iter().filter_map(|calls| calls.last()).map(|(_, end)| *end).min()?;
    let within = own.iter().flatten().filter(|(_, end)| (from..to).contains(end)).count();
    (within > 1 && to > from).then(|| (to - from) / within as i64)
}

/// Divides the time of a launch: the time from launch to launch shows how much of it holds the lock that lets one
/// through at a time, the launch mutex or else the context's lock.
fn read(periods: &[(u32, Sample)], draft: &mut Draft) {
    let rule = &draft.model.calls.launch;
    let locks = &draft.model.locks;
    let alone = rule.before_ns + rule.held_ns + rule.after_ns;
    let has_mutex = rule.mutex;
    let (lock, path) = match (rule.mutex, rule.lock) {
        (true, _) => (&locks.mutex, "locks.mutex"),
        (false, Use::Exclusive) => (&locks.context, "locks.context"),
        (false, _) => return,
    };
    if lock.wake_ns > 0 {
        draft.remarks.push(String::from(
            "Threads that wait to launch are woken: how long a launch holds its lock is not measured.",
        ));
        return;
    }
    let Some((line, count)) = turns(alone, periods) else { return };
    let per_turn = line.at_zero.round() as i64;
    let (held, handover) = held_of(per_turn, alone, rule.held_ns, lock.handover_ns);
    let [before, after] = divided(alone - held, [rule.before_ns, rule.after_ns]);
    let of = format!("of {per_turn} ns from launch to launch with up to {count} threads");
    set!(draft, calls.launch.held_ns = held, format!("measured: {of}, less the time to hand over"));
    let lock = lock_of(&mut draft.model, has_mutex);
    if handover != lock.handover_ns {
        lock.handover_ns = handover;
        draft
            .note(&format!("{path}.handover_ns"), format!("measured: {of}, which a launch does not hold it"));
    }
    let rest =
        format!("measured: what is left of {alone} ns of a launch alone; its parts as in {}", draft.base);
    set!(draft, calls.launch.before_ns = before, rest.clone());
    set!(draft, calls.launch.after_ns = after, rest);
    let lock = lock_of(&mut draft.model, has_mutex);
    lock.waiter_ns = line.per_unit.max(0.0).round() as i64;
    draft.note(&format!("{path}.waiter_ns"), format!("measured: what each further thread adds {of}"));
}

/// The lock that lets one launch through at a time.
fn lock_of(model: &mut Model, has_mutex: bool) -> &mut Lock {
    if has_mutex { &mut model.locks.mutex } else { &mut model.locks.context }
}

/// How long a launch holds its lock and how long handing over takes, ns, from the time of a turn and of a launch alone. `held` and
/// `handover` are those of the base: its handover counts, unless a launch alone would not last as long as it held the lock.
fn held_of(per_turn: i64, alone: i64, held: i64, handover: i64) -> (i64, i64) {
    match per_turn - handover {
        rest if (0..=alone).contains(&rest) => (rest, handover),
        _ => {
            let held = held.min(alone).min(per_turn);
            (held, per_turn - held)
        }
    }
}

/// The time of a turn without others that wait, and what each of those adds; and the most threads. From the times between
/// launches with so many threads; `alone` is the time of a launch alone, ns. `None` if the threads never had to wait.
fn turns(alone: i64, periods: &[(u32, Sample)]) -> Option<(Line, u32)> {
    let mut points = Vec::new();
    for (threads, sample) in periods {
        let period = sample.median.max(1);
        // Without a common lock it would be this; close to it, the mutex is free at times.
        let free = alone / i64::from(*threads);
        if period * 10 > free * 13 {
            // One holds the mutex, one is handed it, and some are outside of it.
            let outside = (alone - period).max(0) as f64 / period as f64;
            points.push((f64::from(*threads) - 2.0 - outside, period as f64));
        }
    }
    let most = periods.iter().map(|(threads, _)| *threads).max()?;
    match points.as_slice() {
        [] => None,
        [(_, period)] => Some((Line { at_zero: *period, per_unit: 0.0 }, most)),
        several => Line::through(several).map(|line| (line, most)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(median: i64) -> Sample {
        Sample { median, spread: 0, count: 5 }
    }

    #[test]
    fn turns_take_longer_with_more_threads() {
        // 1,450 ns a turn, and 10 ns more for each thread that waits, of 3,500 ns alone.
        let waits = |threads: u32| 1_450 + 10 * (i64::from(threads) - 3);
        let periods = [4, 8, 16].map(|threads| (threads, sample(waits(threads))));
        let (line, most) = turns(3_500, &periods).expect("threads wait");
        assert_eq!(most, 16);
        assert!((line.at_zero - 1_450.0).abs() < 15.0 && (line.per_unit - 10.0).abs() < 2.0, "{line:?}");
    }

    #[test]
    fn a_turn_longer_than_a_launch_is_handing_over() {
        assert_eq!(held_of(1_450, 3_500, 1_000, 200), (1_250, 200));
        assert_eq!(held_of(33_000, 6_500, 2_500, 200), (2_500, 30_500));
        assert_eq!(held_of(33_300, 6_500, 2_000, 30_800), (2_500, 30_800));
    }

    #[test]
    fn threads_that_never_wait_have_no_turns() {
        let periods = [2, 4, 8].map(|threads| (threads, sample(3_500 / i64::from(threads))));
        assert_eq!(turns(3_500, &periods), None);
    }

    #[test]
    fn a_period_is_that_while_all_threads_launch() {
        // The second thread begins late and ends late: only what lies between counts.
        let every =
            |first: i64| (0..BURST as i64).map(|at| (first + at * 10, first + at * 10 + 10)).collect();
        let launches: Vec<Vec<(i64, i64)>> = vec![every(0), every(2_000)];
        assert_eq!(period(&launches, 0), Some(5));
        assert_eq!(period(&launches, 1), None, "there is no second burst");
    }
}
