//! A workload of the rounds of threads.

use super::chosen::Role;
use super::fold::{Folded, Round, median};
use super::made::{Devices, Made, Member, Parts};
use super::writer::Writer;
use std::collections::BTreeMap;
use trace::{Ns, ProcessId};
use workload::{Call, Process, Repeat, Step, Workload};

/// Most steps of all threads together: a run of the simulator makes a million in a second.
const MOST_STEPS: f64 = 100_000.0;

/// A millisecond in nanoseconds.
const MILLISECOND: Ns = 1_000_000;

/// Longest round that a thread does once before those that are timed, ns.
const LONGEST_WARM_UP: Ns = 250_000_000;

/// The workload of these threads on at most so many GPUs.
pub(super) fn build(parts: &Parts<'_>, members: &[Member], gpus: u32) -> Workload {
    let mut workload = Workload::new("reproduction");
    let devices = Devices::of(parts.trace, members, gpus);
    let lasts = lasts(parts, members);
    let mut processes: BTreeMap<ProcessId, Vec<&Member>> = BTreeMap::new();
    for member in members {
        processes.entry(parts.trace.process_of_thread(member.thread)).or_default().push(member);
    }
    let has_waiter = members.iter().any(|member| member.role == Role::Waiter);
    let mut counts: BTreeMap<Role, usize> = BTreeMap::new();
    for (number, (_, members)) in processes.into_iter().enumerate() {
        let process = workload.process(format!("process-{}", number + 1));
        let mut made = Made::new(parts, &devices);
        for member in members {
            let count = counts.entry(member.role).or_default();
            *count += 1;
            let name = format!("{}-{count}", member.role.word());
            let ends = member.role == Role::Waiter || !has_waiter;
            let repeat = if ends { Repeat::For(lasts) } else { Repeat::WhileOthers };
            thread(&mut made, process, member, &name, repeat);
        }
    }
    let (part, of) = parts.shares;
    if part < of && workload.processes.iter().any(|process| process.streams.len() > waits::HARDWARE_QUEUES) {
        // Streams that were on GPUs of their own share no hardware queue.
        workload.connections = Some(workload::MOST_CONNECTIONS);
    }
    workload
}

/// How long the rounds go on, ns: as long as there are not too many steps, and no shorter than the longest round.
fn lasts(parts: &Parts<'_>, members: &[Member]) -> u64 {
    let rate: f64 = members.iter().map(|member| rate(&member.round)).sum();
    let longest = longest(members);
    let most = (MOST_STEPS / rate.max(f64::MIN_POSITIVE)).min(parts.lasts as f64) as Ns;
    let millis = most.max(longest.min(parts.lasts)) / MILLISECOND;
    u64::try_from(millis.max(1) * MILLISECOND).unwrap_or(1)
}

/// The longest round, ns.
fn longest(members: &[Member]) -> Ns {
    members.iter().map(|member| member.round.ns).max().unwrap_or(0)
}

/// How often times and sizes are shorter than in the trace: rounds that are longer than the whole run is to be become as long as that.
pub(super) fn shrinks(members: &[Member], lasts: Ns) -> i64 {
    longest(members).div_euclid(lasts.max(1)) + 1
}

/// Steps that a thread makes in a nanosecond: fewer than if it waits for nothing, and more than in the trace, by their ratio in the middle.
fn rate(Round { body, ns }: &Round) -> f64 {
    /// Duration of a short call, ns: a launch takes 2 to 4 µs.
    const CALL: f64 = 2_000.0;
    fn sums(body: &[Folded]) -> (f64, f64) {
        body.iter().fold((0.0, 0.0), |(steps, ns), folded| match folded {
            Folded::Step { pauses, .. } => {
                (steps + 1.0, ns + CALL + median(pauses.iter().map(|pause| pause.all())) as f64)
            }
            Folded::Loop { times, body } => {
                let (times, (of_steps, of_ns)) = (median(times.iter().copied()) as f64, sums(body));
                (steps + times * of_steps, ns + times * of_ns)
            }
        })
    }
    let (steps, least) = sums(body);
    steps / (least.max(1.0) * (*ns).max(1) as f64).sqrt()
}

/// Adds a thread to a process.
fn thread(made: &mut Made<'_>, process: &mut Process, member: &Member, name: &str, repeat: Repeat) {
    let context = made.context_of(process, member);
    let mut writer = Writer::new(made, process, context, name);
    let body = writer.write(&member.round.body);
    let mut before = std::mem::take(&mut writer.before);
    let mut buffers = writer.lasting();
    buffers.sort_unstable();
    if made.parts.warms_up && member.round.ns <= LONGEST_WARM_UP {
        before.extend(body.iter().cloned());
        before.push(Step::Call(Call::SynchronizeContext));
    }
    let thread = process.thread(name, context);
    (thread.repeat, thread.before, thread.body) = (repeat, before, body);
    let mut after = thread.after();
    after.synchronize_context();
    buffers.into_iter().for_each(|buffer| _ = after.free(buffer));
}
