//! How long another thread's launch waits behind calls that hold the context's lock.
//!
//! One thread makes the calls, with pauses between them, the other launches all the time. A launch that waited went on when the
//! call released its locks: what the call still took from then on, it took without them.

use super::runs::{Runs, STREAM, script, workload};
use crate::draft::{Draft, RuleField};
use crate::sections::{Label, Sections, TimedCall, calls_of};
use crate::statistics::Sample;
use sim::Use;
use std::time::Duration;
use workload::{Kernel, Memory, Workload};

/// Bytes of device memory of each allocation.
const DEVICE: u64 = 64 << 20;

/// Bytes of host memory.
const HOST: u64 = 4 << 20;

/// A call: the field of its rule, its section, its name, and the rule.
pub(super) type Call = (&'static str, &'static str, &'static str, RuleField);

const CALLS: &[Call] = &[
    ("allocate", "allocate", "cuMemAlloc", |model| &mut model.calls.allocate),
    ("free", "allocate", "cuMemFree", |model| &mut model.calls.free),
    ("host_allocate", "host", "cuMemHostAlloc", |model| &mut model.calls.host_allocate),
    ("host_free", "host", "cuMemFreeHost", |model| &mut model.calls.host_free),
    ("register", "register", "cuMemHostRegister", |model| &mut model.calls.register),
    ("unregister", "register", "cuMemHostUnregister", |model| &mut model.calls.unregister),
    ("stream", "stream", "cuStreamCreate", |model| &mut model.calls.stream),
    ("stream_destroy", "stream", "cuStreamDestroy", super::alone::destroy),
    ("module_load", "module", "cuModuleLoadData", |model| &mut model.calls.module_load),
    ("module_unload", "module", "cuModuleUnload", |model| &mut model.calls.module_unload),
];

/// The calls whose whole time is known before this measurement.
const KNOWN: [&str; 4] = ["stream", "stream_destroy", "module_load", "module_unload"];

/// Runs it.
pub(super) fn measure(runs: &mut Runs<'_>) -> Result<(), String> {
    let (workload, labels) = beside(runs);
    let ran = runs.run(&workload)?;
    let sections = Sections::of(&ran.trace, 0, &labels);
    let launches: Vec<TimedCall<'_>> = calls_of(&ran.trace, 1);
    let launches: Vec<TimedCall<'_>> =
        launches.into_iter().filter(|call| call.name == "cuLaunchKernel").collect();
    for call in CALLS {
        read(call, &sections, &launches, runs);
    }
    Ok(())
}

fn beside(runs: &Runs<'_>) -> (Workload, Vec<Label>) {
    let pause = Duration::from_nanos(10 * runs.launch_ns() as u64);
    workload("behind", |process, context| {
        let [s, other] = ["s", "made"].map(|name| process.stream(name, context, STREAM));
        let device = process.buffer("device", context, Memory::Device, DEVICE);
        let pinned = process.buffer("pinned", context, Memory::Pinned, HOST);
        let pageable = process.buffer("pageable", context, Memory::Pageable, HOST);
        let thread = process.thread("caller", context);
        thread.before().allocate(pageable).register(pageable).unregister(pageable);
        thread.before().allocate(device).free(device).allocate(pinned).free(pinned).load_module();
        thread.after().free(pageable);
        let labels = script(thread, |script| {
            script.rounds("allocate", 0, 20, |steps| {
                steps.allocate(device).work(pause).free(device).work(pause);
            });
            script.rounds("host", 0, 12, |steps| {
                steps.allocate(pinned).work(pause).free(pinned).work(pause);
            });
            script.rounds("register", 0, 12, |steps| {
                steps.register(pageable).work(pause).unregister(pageable).work(pause);
            });
            script.rounds("stream", 0, 30, |steps| {
                steps.create_stream(other).work(pause).destroy_stream(other).work(pause);
            });
            script.rounds("module", 0, 10, |steps| {
                steps.load_module().work(pause);
            });
        });
        let launcher = process.thread("launcher", context);
        launcher.before().launch(Kernel::Empty, 1, 32, s).synchronize(s);
        launcher.body().repeat(4, |steps| {
            steps.launch(Kernel::Empty, 1, 32, s);
        });
        launcher.body().synchronize(s);
        launcher.repeat = workload::Repeat::WhileOthers;
        labels
    })
}

/// Effect of calls on launches beside them.
#[derive(Debug, PartialEq)]
struct Interference {
    /// The number of calls.
    calls: usize,
    /// The number of calls that a launch waited for.
    waited: usize,
    /// From the release of its locks to the return, ns.
    after: Option<Sample>,
}

/// Compares calls with launches. `launch` is the time of one that does not wait, `last` its part from the lock on, ns.
fn beside_launches(
    calls: &[TimedCall<'_>],
    launches: &[TimedCall<'_>],
    launch: i64,
    last: i64,
) -> Interference {
    let released = |call: &&TimedCall<'_>| {
        let first = launches.partition_point(|other| other.end <= call.start);
        let beside = launches[first..].iter().take_while(|other| other.start < call.end);
        let waited = beside.filter(|other| other.took() > launch + launch / 2);
        let release = waited.map(|other| other.end - last).max()?;
        (release > call.start).then_some((call.end - release).max(0))
    };
    let after: Vec<i64> = calls.iter().filter_map(|call| released(&call)).collect();
    Interference { calls: calls.len(), waited: after.len(), after: Sample::of(after) }
}

fn read(call: &Call, sections: &Sections<'_>, launches: &[TimedCall<'_>], runs: &mut Runs<'_>) {
    let (field, section, name, rule) = *call;
    let launch_ns = runs.launch_ns();
    let draft = &mut *runs.draft;
    let Some(section) = sections.get(section) else { return };
    let calls: Vec<TimedCall<'_>> = section.calls.iter().filter(|call| call.name == name).copied().collect();
    let launch = &draft.model.calls.launch;
    // With the time until the lock is handed over.
    let last = launch.held_ns + launch.after_ns + draft.model.locks.context.handover_ns;
    let beside = beside_launches(&calls, launches, launch_ns, last);
    let waits = beside.waited * 2 >= beside.calls;
    // A launch that waits for a shorter call is no longer than others.
    let long = Sample::of(calls.iter().map(TimedCall::took)).is_some_and(|took| took.median > 5 * launch_ns);
    if !long || draft.model.calls.launch.lock == Use::None {
        return;
    }
    let origin = match waits {
        true => {
            format!("measured: launches of another thread wait for {} of {}", beside.waited, beside.calls)
        }
        false => format!(
            "measured: launches of another thread wait for only {} of {}",
            beside.waited, beside.calls
        ),
    };
    let lock = &mut rule(&mut draft.model).lock;
    *lock = match waits {
        true => Use::Exclusive,
        false if *lock == Use::Exclusive => Use::Shared,
        false => *lock,
    };
    draft.note(&format!("calls.{field}.lock"), origin);
    // A thread that sleeps in between is woken long after the release.
    if waits && draft.model.locks.context.wake_ns == 0 {
        draft.after_locks.extend(beside.after.map(|after| (field, after)));
    }
    if KNOWN.contains(&field) {
        let times = rule(&mut draft.model);
        let whole = times.before_ns + times.held_ns + times.after_ns;
        divide_at_release(draft, field, rule, whole);
    }
}

/// Sets the times of a call from those of all of it, and from what launches waited for, if they did.
pub(super) fn settle(draft: &mut Draft, field: &'static str, rule: RuleField, whole: Sample) {
    draft.divide(field, rule, whole);
    divide_at_release(draft, field, rule, whole.median);
}

/// Divides the time of a call, ns, where launches went on that waited for it. Without such launches it stays as it is.
fn divide_at_release(draft: &mut Draft, field: &'static str, rule: RuleField, whole: i64) {
    let after = draft.after_locks.get(field).copied();
    // A call that takes no longer than that is too short for that.
    let Some(after) = after.filter(|after| after.median < whole) else { return };
    let parts = draft.outside(rule, whole, after.median);
    let rule = rule(&mut draft.model);
    [rule.before_ns, rule.held_ns, rule.after_ns] = parts;
    let origin = format!("measured: {:.2} µs as a whole; after its locks {after}", whole as f64 / 1e3);
    draft.note_parts(field, &origin);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(start: i64, end: i64) -> TimedCall<'static> {
        TimedCall { name: "", start, end }
    }

    #[test]
    fn a_call_ends_after_the_launch_that_waited_for_it_went_on() {
        let calls = [timed(1_000, 9_000), timed(21_000, 29_000)];
        // Launches take 300 ns, 200 of them from the lock on.
        let launches = [timed(600, 900), timed(1_100, 8_700), timed(8_700, 9_000), timed(21_500, 28_600)];
        let beside = beside_launches(&calls, &launches, 300, 200);
        assert_eq!((beside.calls, beside.waited), (2, 2));
        assert_eq!(beside.after, Some(Sample { median: 550, spread: 0, count: 2 }));
    }

    #[test]
    fn launches_that_go_on_beside_a_call_do_not_wait_for_it() {
        let calls = [timed(1_000, 9_000)];
        let launches: Vec<_> = (0..30).map(|at| timed(at * 310, at * 310 + 300)).collect();
        let beside = beside_launches(&calls, &launches, 300, 200);
        assert_eq!(beside, Interference { calls: 1, waited: 0, after: None });
    }
}
