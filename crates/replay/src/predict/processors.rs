//! Threads that are awake without a processor, because others poll the device.

use crate::Recovered;
use crate::predict::fixes::{Scene, more_cpus};
use rustc_hash::FxHashMap;
use sim::{RecordedStep, Replayed, Waited};
use trace::{Ns, ThreadId, Trace};

/// Processors are too few if threads were ready without one for this part of the time in which they were awake, in percent. 24 threads of
/// which a third polls, on 16 processors: 15 (H100).
const READY: i128 = 5;

/// Whether a thread slept in a step that took at least this long, the scheduler's numbers say; it is awake in shorter ones, ns. They are 10
/// ms apart.
const LONG: Ns = 1_000_000;

/// For how long a thread has a processor while others wait for it: Linux's `base_slice_ns`, 0.75 ms times one more than the binary logarithm
/// of the number of processors, of at most eight.
fn slice_ns(count: u32) -> Ns {
    750_000 * Ns::from(1 + count.clamp(1, 8).ilog2())
}

/// The processors of a program that are too few for its threads.
pub(crate) struct Processors {
    count: u32,
    /// By thread, the steps in which it slept.
    asleep: Vec<Vec<u32>>,
}

impl Processors {
    /// `None` if threads hardly waited for a processor, or if there are no more of them than processors.
    pub fn of(trace: &Trace, base: &Recovered) -> Option<Processors> {
        let (states, limits) = (&trace.states, &trace.limits);
        let allowed = |at: usize| {
            let quota = u32::try_from((limits.quota[at] + 999) / 1000).unwrap_or(u32::MAX);
            Some(limits.processors[at])
                .filter(|count| *count > 0)
                .map(|count| if quota > 0 { count.min(quota) } else { count })
        };
        let count = (0..limits.len()).filter_map(allowed).max()?;
        let sum = |times: &[Ns]| times.iter().map(|ns| i128::from(*ns)).sum::<i128>();
        let (running, ready) = (sum(&states.running), sum(&states.runnable));
        if 100 * ready < READY * (running + ready) || base.threads.iter().flatten().count() <= count as usize
        {
            return None;
        }
        let mut awake: FxHashMap<ThreadId, Vec<(Ns, Ns, Ns)>> = FxHashMap::default();
        for at in 0..states.len() {
            let ns = states.running[at] + states.runnable[at];
            awake.entry(states.thread[at]).or_default().push((states.start[at], states.end[at], ns));
        }
        let asleep = |row: usize| match base.threads[row].and_then(|thread| awake.get(&thread)) {
            Some(intervals) => asleep(&base.begins[row], base.start, intervals),
            None => Vec::new(),
        };
        Some(Processors { count, asleep: (0..base.threads.len()).map(asleep).collect() })
    }

    /// Threads take turns at the processors, as in the simulator's model, instead of waiting for one for as long as in the trace: with a
    /// change other threads are awake at other times. 24 threads on 16 processors are predicted to gain 54 to 57 % with more hardware queues,
    /// and gained 55 to 57; 32 threads 64 to 70 %, and gained 62 to 67 (two H200, an H100). With the trace's waits it would be 51 to 60.
    pub fn take_turns(&self, scene: &Scene<'_>, to: &mut Recovered) {
        more_cpus::apply(scene, to);
        (to.model.host.processors, to.model.host.slice_ns) = (self.count, slice_ns(self.count));
    }

    /// For how long threads of a replay are awake beyond the number of processors, ns, summed over these threads.
    pub fn beyond(&self, of: &Recovered, replayed: &Replayed) -> Ns {
        let mut changes: Vec<(Ns, i64)> = Vec::new();
        for (row, times) in replayed.steps.iter().enumerate() {
            let mut asleep = self.asleep.get(row).into_iter().flatten().peekable();
            for ((at, step), time) in (0..).zip(&of.recorded.threads[row]).zip(times.windows(2)) {
                let slept = asleep.next_if(|step| **step == at).is_some();
                let waits = matches!(step, RecordedStep::Await { .. } | RecordedStep::Acquire { .. });
                if slept || waits || matches!(step, RecordedStep::GiveUp { .. }) {
                    changes.extend([(time[0], -1), (time[1], 1)]);
                }
            }
            changes.extend(times.first().map(|start| (*start, 1)));
            changes.extend(times.last().map(|end| (*end, -1)));
        }
        // A wait of a step in which the thread slept is a part of that.
        let slept = |wait: &Waited| {
            self.asleep
                .get(wait.by.thread as usize)
                .is_some_and(|steps| steps.binary_search(&wait.by.step).is_ok())
        };
        let waits = replayed.waits.iter().filter(|wait| !slept(wait));
        changes.extend(waits.flat_map(|wait| [(wait.start, -1), (wait.end, 1)]));
        changes.sort_unstable();
        let (mut awake, mut sum) = (0, 0_i128);
        for two in changes.windows(2) {
            awake += two[0].1;
            sum += i128::from(two[1].0 - two[0].0) * i128::from((awake - i64::from(self.count)).max(0));
        }
        Ns::try_from(sum).unwrap_or(Ns::MAX)
    }
}

/// The steps that began at these moments, ns from `start`, in which a thread slept for most of the time. `intervals`: start, end and the
/// time awake.
fn asleep(begins: &[Ns], start: Ns, intervals: &[(Ns, Ns, Ns)]) -> Vec<u32> {
    let slept = |from: Ns, until: Ns| {
        let first = intervals.partition_point(|(_, end, _)| *end <= from);
        let within = intervals[first..].iter().take_while(|(start, ..)| *start < until);
        let (all, awake) =
            within.fold((0, 0), |(all, awake), (start, end, ns)| (all + end - start, awake + ns));
        2 * awake < all
    };
    let long = (0..).zip(begins.windows(2)).filter(|(_, step)| step[1] - step[0] >= LONG);
    long.filter(|(_, step)| slept(step[0] + start, step[1] + start)).map(|(at, _)| at).collect()
}
